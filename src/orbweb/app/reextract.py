"""The verb `extract`: stored pages are extracted again with the current extractor, without requests.

At any moment a page refers to its old document or to its new one. Nothing else of the run changes, not even where
two pages now have the same text. A page whose body cannot be read keeps the document it has, and is reported.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from orbweb.app import build
from orbweb.app.callbacks import ExtractWatch, Note
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.request import Request, configure, name_of
from orbweb.app.settings import processor_settings
from orbweb.config.schema import Config
from orbweb.engine.control import Command, signals
from orbweb.engine.workers import Pool
from orbweb.engine.workers.page import Job
from orbweb.errors import OrbwebError, StoreError, UsageError
from orbweb.events import ExtractProgress
from orbweb.extraction import VERSION
from orbweb.failpoints import failpoint
from orbweb.model import Failed, PackedDocument, ProcessedPage
from orbweb.store import Queries, reextraction, runs
from orbweb.store.queries.reports import Report
from orbweb.store.reextraction import OutdatedPages, StoredPage
from orbweb.store.runs import DISCOVERY, Run

AHEAD = 256
"""Bodies that are with the pool at once."""
AHEAD_BYTES = 64_000_000
GROUP = 256
"""Documents per transaction, and pages per query."""
WATCH_S = 0.2

Read = Callable[[bytes], bytes]
Alone = Callable[[], bool]


def extract(
    workspace: OpenWorkspace,
    request: Request,
    *,
    number: int | None,
    everything: bool,
    on_progress: ExtractWatch,
    note: Note,
) -> Report:
    """Extract the stored pages of a run again: those of another extractor version, or all of them."""
    known = runs.project(workspace.db, name_of(workspace, request))
    if known.name.endswith(DISCOVERY):
        raise UsageError(f"project {known.name!r} stores no page bodies, so there is nothing to re-extract")
    with workspace.own(known.name):
        config, _ = configure(known, request)
        if runs.settle_crashed(workspace.db, known.id, now_us()):
            note("the last crawl was killed; nothing it had committed is lost")
        run = runs.run_of(workspace.db, known, number)
        started = time.monotonic()
        done = asyncio.run(reextract(workspace, config, run, everything=everything, on_progress=on_progress))
        return {
            "project": known.name,
            "run": run.number,
            "extractor": VERSION,
            "pages": done.pages,
            "extracted": done.extracted,
            "failed": [{"url": url, "problem": problem} for url, problem in done.problems],
            "left": done.left,
            "seconds": round(time.monotonic() - started, 3),
            "workspace": str(workspace.path),
        }


async def reextract(
    workspace: OpenWorkspace, config: Config, run: Run, *, everything: bool, on_progress: ExtractWatch
) -> Reextraction:
    """Extract the pages of a run again; this process owns the project."""
    with workspace.reader() as body:
        extraction = Reextraction(
            workspace.db,
            run.id,
            everything=everything,
            body=body,
            alone=lambda: workspace.idle_but_for(run.project_id),
            on_progress=on_progress,
        )
        settings = replace(processor_settings(config), resources=False)
        pool = await build.pool(config, settings, extraction.processed, extraction.broke)
        try:
            with signals(extraction.stop):
                await extraction.run(pool)
        finally:
            pool.close()
    return extraction


class Reextraction:
    """One run, extracted again."""

    def __init__(
        self, db: Queries, run_id: int, *, everything: bool, body: Read, alone: Alone, on_progress: ExtractWatch
    ) -> None:
        self._db = db
        self._run_id = run_id
        self._body = body
        self._alone = alone
        self._on_progress = on_progress
        self._outdated = OutdatedPages(db, run_id, VERSION, everything)
        self.pages = self._outdated.count()
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

    def stop(self, _command: Command) -> None:
        """Submit nothing more; results of submitted pages are still written."""
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
        """Extract every page, or those submitted before `stop`."""
        for page, body in self._bodies():
            self._away[page.number] = (page, len(body))
            self._bytes_away += len(body)
            pool.submit(Job(page.number, page.final_url or page.url, page.content_type, body))
            await asyncio.sleep(0)
            await self._wait_for_pool(AHEAD, AHEAD_BYTES)
            if self._stopped:
                break
        await self._wait_for_pool(1, 1)
        self._write()
        if not self._stopped:
            self._forget()

    def _bodies(self) -> Iterator[tuple[StoredPage, bytes]]:
        for page in self._outdated:
            try:
                body = self._body(page.body_sha256)
            except StoreError as error:
                self.problems.append((page.url, str(error)))
            else:
                yield page, body

    async def _wait_for_pool(self, most: int, most_bytes: int) -> None:
        """Wait until the pool has fewer pages than this, and write the results."""
        while True:
            if self._broken is not None:
                raise self._broken
            if len(self._group) >= GROUP:
                self._write()
            self._report_progress()
            if len(self._away) < most and self._bytes_away < most_bytes:
                return
            self._returned.clear()
            await self._returned.wait()

    def _report_progress(self) -> None:
        now = time.monotonic()
        if now - self._watched >= WATCH_S:
            self._watched = now
            done = self.extracted + len(self._group)
            self._on_progress(ExtractProgress(done, len(self.problems), self.pages, now - self._started))

    def _write(self) -> None:
        """Write the group and the pages that refer to it, in one transaction."""
        if not self._group:
            return
        reextraction.replace(self._db, self._run_id, self._group, now_us())
        self.extracted += len(self._group)
        self._group.clear()
        failpoint("documents_committed")

    def _forget(self) -> None:
        """Delete documents without a page, unless another project is being crawled.

        Such a crawl may be about to refer to a document that it found in this workspace. One that starts now
        writes its run first, and so waits for this transaction.
        """
        with self._db.transaction():
            if self._alone():
                reextraction.forget_unused(self._db)
