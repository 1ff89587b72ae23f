"""The state of a crawl as plain files: lines, places, and the dump."""
