"""Peer: a Scrapy spider tuned by hand. Usage: tuned_spider.py URL DIR WORKERS.

Differs from the CrawlSpider by uvloop, one XPath for the hrefs of a page instead of a link extractor, and links
deduplicated as strings before a Request is made. Everything around the spider is Scrapy's default.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keep import crawl, settings
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS

IGNORED = frozenset(IGNORED_EXTENSIONS)


class TunedSpider(Spider):
    """Makes a Request only for a URL it has not seen."""

    name = "tuned"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.start_urls = [url]
        self.root = url
        self.seen = {url}

    def parse(self, response: Response, **_: Any) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url, "status": response.status, "body": response.body}
        if isinstance(response, HtmlResponse):
            yield from map(Request, self._new_urls(response))

    def _new_urls(self, response: HtmlResponse) -> Iterator[str]:
        hrefs = response.xpath("//a/@href | //area/@href").getall()
        for href in dict.fromkeys(href.partition("#")[0].strip() for href in hrefs):
            target = response.urljoin(href)
            if target not in self.seen and self._wanted(target):
                self.seen.add(target)
                yield target

    def _wanted(self, url: str) -> bool:
        return url.startswith(self.root) and url.rpartition(".")[2].lower() not in IGNORED


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    tuned = settings(Path(sys.argv[2]), int(sys.argv[3])) | {"ASYNCIO_EVENT_LOOP": "uvloop.Loop"}
    crawl(TunedSpider, sys.argv[1], tuned)
