"""Feed an index, exactly once per page: start it again after a crash, and it continues where it was."""

import sqlite3
import sys

import orbweb

index = sqlite3.connect("index.db")
index.execute("CREATE TABLE IF NOT EXISTS pages (url PRIMARY KEY, text)")
for page in orbweb.crawl_iter(sys.argv[1], cursor="index"):
    with index:
        index.execute("REPLACE INTO pages VALUES (?, ?)", (page.url, page.text))
