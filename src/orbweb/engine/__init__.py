"""One crawl at work: lease -> fetch -> process -> commit. Read `loop.py` first."""
