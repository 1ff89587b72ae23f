"""Peer: the Scrapy CrawlSpider of the tutorial, with JOBDIR. Usage: crawl_spider.py URL DIR WORKERS."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keep import crawl, settings
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class DocumentationSpider(CrawlSpider):
    """Follows every link below the start URL and keeps every body."""

    name = "documentation"

    def __init__(self, url: str) -> None:
        self.start_urls = [url]
        self.rules = [Rule(LinkExtractor(allow="^" + re.escape(url)), callback="parse_page", follow=True)]
        super().__init__()

    def parse_start_url(self, response: Response, **_: Any) -> Iterator[dict[str, Any]]:
        return self.parse_page(response)

    def parse_page(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "status": response.status, "body": response.body}


if __name__ == "__main__":
    crawl(DocumentationSpider, sys.argv[1], settings(Path(sys.argv[2]), int(sys.argv[3])))
