"""Crawl for at most ten seconds; the cancelled crawl leaves a run that can be resumed."""

import asyncio
import sys

import orbweb

try:
    print(asyncio.run(asyncio.wait_for(orbweb.acrawl(sys.argv[1]), timeout=10)).pages, "pages")
except TimeoutError:
    print("not all pages, resume later")
