"""Print one field of every page: its first heading, found by a CSS selector."""

import sys

import orbweb

for page in orbweb.crawl_iter(sys.argv[1]):
    heading = page.select_one("main h1")
    if heading is not None:
        print(page.url, heading.text, sep="\t")
