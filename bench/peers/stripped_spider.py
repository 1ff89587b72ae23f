"""Peer: Scrapy stripped to the bone, as fast as we could make it. Usage: stripped_spider.py URL DIR WORKERS.

Differs from the CrawlSpider by uvloop, one lxml parse with one XPath a page, links deduplicated as
strings before a Request is made, one item task a response instead of a hundred, and no middleware it
has no use for. The JOBDIR, its seen set and the way bodies are kept stay the same.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from keep import crawl, settings
from lxml import etree
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS

IGNORED = frozenset(IGNORED_EXTENSIONS)
HREFS = etree.XPath("//a/@href | //area/@href")
PARSER = etree.HTMLParser(encoding="utf-8")

UNUSED = {
    "DOWNLOADER_MIDDLEWARES": dict.fromkeys(
        (
            "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",
            "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware",
            "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware",
            "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware",
            "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",
            "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware",
            "scrapy.downloadermiddlewares.stats.DownloaderStats",
        )
    ),
    "SPIDER_MIDDLEWARES": dict.fromkeys(
        (
            "scrapy.spidermiddlewares.referer.RefererMiddleware",
            "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware",
            "scrapy.spidermiddlewares.depth.DepthMiddleware",
            "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware",
        )
    ),
    "EXTENSIONS": dict.fromkeys(
        (
            "scrapy.extensions.corestats.CoreStats",
            "scrapy.extensions.logcount.LogCount",
            "scrapy.extensions.memusage.MemoryUsage",
            "scrapy.extensions.logstats.LogStats",
        )
    ),
}
STRIPPED = {
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    # Scrapy starts this many tasks for every response to consume its items; the default is 100.
    "CONCURRENT_ITEMS": 1,
    **UNUSED,
}


class StrippedSpider(Spider):
    """Makes a Request only for a URL it has not seen."""

    name = "stripped"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.start_urls = [url]
        self.root = url
        self.seen = {url}

    def parse(self, response: Response, **_: Any) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url, "status": response.status, "body": response.body}
        if isinstance(response, HtmlResponse):
            yield from map(Request, self._new_urls(response.url, response.body))

    def _new_urls(self, url: str, body: bytes) -> Iterator[str]:
        document = etree.fromstring(body, PARSER)
        if document is None:
            return
        for href in dict.fromkeys(href.partition("#")[0].strip() for href in HREFS(document)):
            target = urljoin(url, href)
            if target not in self.seen and self._wanted(target):
                self.seen.add(target)
                yield target

    def _wanted(self, url: str) -> bool:
        return url.startswith(self.root) and url.rpartition(".")[2].lower() not in IGNORED


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    crawl(StrippedSpider, sys.argv[1], settings(Path(sys.argv[2]), int(sys.argv[3])) | STRIPPED)
