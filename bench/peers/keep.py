"""How both Scrapy peers keep what they fetch, and the settings they share.

Owns one append-only file of bodies and one index line a body, the cheapest way to keep them; no fsync,
no compression, no deduplication of content, all of which orbweb does. Never differs between the peers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler


class Keep:
    """Item pipeline: appends each body to `bodies` and a line about it to `index.jsonl`."""

    def __init__(self, directory: Path) -> None:
        self.bodies = (directory / "bodies").open("wb")
        self.index = (directory / "index.jsonl").open("w")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Keep:
        return cls(Path(crawler.settings["KEEP_DIR"]))

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        body = item.pop("body")
        item["offset"], item["length"] = self.bodies.tell(), len(body)
        self.bodies.write(body)
        self.index.write(json.dumps(item) + "\n")
        return item

    def close_spider(self) -> None:
        self.bodies.close()
        self.index.close()


def settings(directory: Path, workers: int) -> dict[str, Any]:
    """No delay, no robots, no log, no listening ports; the queue and the seen set on disk."""
    return {
        "CONCURRENT_REQUESTS": workers,
        "CONCURRENT_REQUESTS_PER_DOMAIN": workers,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "JOBDIR": str(directory / "job"),
        "KEEP_DIR": str(directory),
        "ITEM_PIPELINES": {Keep: 100},
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
    }


def crawl(spider: type[Spider], url: str, chosen: dict[str, Any]) -> None:
    """Run one spider from one URL to its end."""
    process = AsyncCrawlerProcess(chosen)
    process.crawl(spider, url=url)
    process.start()
