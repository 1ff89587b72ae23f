"""Stop after 100 pages; the run can be resumed later."""

import sys
from itertools import islice

import orbweb

for page in islice(orbweb.crawl_iter(sys.argv[1]), 100):
    print(page.status, page.title)
