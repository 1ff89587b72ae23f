"""Output files that follow a crawl: CSV and JSON lines derived from the database.

A file contains the visits of its run in commit order, and nothing that is not in the database; if it is deleted or
damaged, it is rebuilt. `catalog` lists the files, `file` and `follower` append to them during a crawl,
`run_outputs` combines them with the counters, `rebuild` writes them again.
"""
