"""Peer: Crawlee's ParselCrawler, the fastest of its own. Usage: crawlee_parsel.py URL DIR WORKERS STORAGE.

STORAGE is `files`, Crawlee's default, which keeps the queue on disk as Scrapy's JOBDIR does, or `memory`, which is
faster and forgets it with the process. Concurrency is fixed: nothing scales up or down while it is measured.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path

from crawlee import ConcurrencySettings, Glob
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import FileSystemStorageClient, MemoryStorageClient

STORAGES = {"files": FileSystemStorageClient, "memory": MemoryStorageClient}


async def crawl(url: str, directory: Path, workers: int, storage: str) -> None:
    """Follow every link below the URL and append every body to one file, as the Scrapy peers do."""
    crawler = ParselCrawler(
        configuration=Configuration(storage_dir=str(directory / "storage")),
        storage_client=STORAGES[storage](),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=workers, desired_concurrency=workers, max_concurrency=workers
        ),
        configure_logging=False,
        respect_robots_txt_file=False,
        max_session_rotations=0,
        retry_on_blocked=False,
    )
    with (directory / "bodies").open("wb") as bodies, (directory / "index.jsonl").open("w") as index:

        @crawler.router.default_handler
        async def keep(context: ParselCrawlingContext) -> None:
            body = await context.http_response.read()
            line = {"url": context.request.url, "status": context.http_response.status_code}
            index.write(json.dumps(line | {"offset": bodies.tell(), "length": len(body)}) + "\n")
            bodies.write(body)
            await context.enqueue_links(include=[Glob(f"{url}**")])

        await crawler.run([url])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(crawl(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
