"""Reading stored pages again with the extractor of today, without any request.

Owns which pages of a run are read, and the group of documents that is not yet written. Always: a page names its
old document or its new one, at any moment; nothing else of the run changes, not even where two pages now have
the same text. A body that cannot be read is named, and its page keeps the document it has. Never: fetches, or
decides how a page is read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from orbweb.engine.control import Command
from orbweb.engine.workers.page import Job
from orbweb.engine.workers.pool import Pool
from orbweb.errors import OrbwebError, StoreError
from orbweb.events import Reading
from orbweb.extraction import VERSION
from orbweb.failpoints import failpoint
from orbweb.model import Failed, PackedDocument, ProcessedPage
from orbweb.store import Queries

AHEAD = 256
"""Bodies that are with the pool at once."""
AHEAD_BYTES = 64_000_000
GROUP = 256
"""Documents of one transaction, and pages that are looked up at once."""
WATCH_S = 0.2

Watch = Callable[[Reading], None]
Read = Callable[[bytes], bytes]
Alone = Callable[[], bool]


class StoredPage(NamedTuple):
    """A page to be read again; the fields of `pages_to_read`."""

    number: int
    content_sha256: bytes
    document: bytes
    url: str
    final_url: str | None
    content_type: str | None
    body_sha256: bytes


class Reextraction:
    """One run, read again."""

    def __init__(
        self, db: Queries, run_id: int, *, everything: bool, body: Read, alone: Alone, watch: Watch
    ) -> None:
        self._db = db
        self._run_id = run_id
        self._body = body
        self._alone = alone
        self._watch = watch
        self._which = {"run_id": run_id, "everything": everything, "extractor": VERSION}
        self.pages = int(db.value("count_pages_to_read", **self._which))
        self.extracted = 0
        self.problems: list[tuple[str, str]] = []
        self._group: list[tuple[StoredPage, PackedDocument]] = []
        self._away: dict[int, tuple[StoredPage, int]] = {}
        self._bytes_away = 0
        self._returned = asyncio.Event()
        self._stopped = False
        self._broken: OrbwebError | None = None
        self._started = time.monotonic()
        self._watched = 0.0

    @property
    def left(self) -> int:
        return self.pages - self.extracted - len(self.problems)

    def tell(self, _command: Command) -> None:
        """Stop: what is with the pool is still taken."""
        self._stopped = True

    def broke(self, error: OrbwebError) -> None:
        self._broken = error
        self._returned.set()

    def processed(self, ticket: int, processed: ProcessedPage | Failed) -> None:
        page, size = self._away.pop(ticket)
        self._bytes_away -= size
        self._returned.set()
        if isinstance(processed, Failed):
            self.problems.append((page.url, processed.error))
        elif processed.document is not None:
            self._group.append((page, processed.document))

    async def run(self, pool: Pool) -> None:
        """Read every page, or as many as there is time for until it is told to stop."""
        for page, body in self._bodies():
            self._away[page.number] = (page, len(body))
            self._bytes_away += len(body)
            pool.submit(Job(page.number, page.final_url or page.url, page.content_type, body))
            await asyncio.sleep(0)
            await self._settle(AHEAD, AHEAD_BYTES)
            if self._stopped:
                break
        await self._settle(1, 1)
        self._write()
        if not self._stopped:
            self._forget()

    def _bodies(self) -> Iterator[tuple[StoredPage, bytes]]:
        for page in self._pages():
            try:
                body = self._body(page.body_sha256)
            except StoreError as error:
                self.problems.append((page.url, str(error)))
            else:
                yield page, body

    def _pages(self) -> Iterator[StoredPage]:
        after = 0
        while rows := self._db.all("pages_to_read", after=after, count=GROUP, **self._which):
            for row in rows:
                page = StoredPage(*row)
                yield page
                after = page.number

    async def _settle(self, most: int, most_bytes: int) -> None:
        """Wait until fewer pages are with the pool, and write what came back."""
        while True:
            if self._broken is not None:
                raise self._broken
            if len(self._group) >= GROUP:
                self._write()
            self._tell_progress()
            if len(self._away) < most and self._bytes_away < most_bytes:
                return
            self._returned.clear()
            await self._returned.wait()

    def _tell_progress(self) -> None:
        now = time.monotonic()
        if now - self._watched >= WATCH_S:
            self._watched = now
            done = self.extracted + len(self._group)
            self._watch(Reading(done, len(self.problems), self.pages, now - self._started))

    def _write(self) -> None:
        """The documents of the group and the pages that name them, in one transaction."""
        if not self._group:
            return
        with self._db.transaction():
            self._db.many("add_document", [document for _, document in self._group])
            for page, document in self._group:
                self._db.run(
                    "change_document",
                    run_id=self._run_id,
                    content_sha256=page.content_sha256,
                    document=document.sha256,
                    replaced=page.document,
                )
            failpoint("documents_written")
        self.extracted += len(self._group)
        self._group.clear()
        failpoint("documents_committed")

    def _forget(self) -> None:
        """Delete what no page names, unless a crawl of another project is at work.

        Such a crawl may be about to name a document that it found in this workspace. One that begins now writes
        its run first, and so waits for this transaction.
        """
        with self._db.transaction():
            if self._alone():
                self._db.run("forget_documents")
