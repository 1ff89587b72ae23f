"""A workspace and its verbs: what the command line and `import orbweb` call.

A `Workspace` is only a path. Each call opens what it needs and closes it, so any thread may call. An option has
the name that it has on the command line, with underscores. Verbs that crawl have an event loop of their own: where
one is running, they work in another thread meanwhile. Nothing is printed: notes go to `note`, or to the logger
`orbweb`.

Long, because one class has every verb; the bodies are in one module per verb, loaded when it is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from orbweb.app import reports
from orbweb.app.callbacks import (
    UNATTACHED,
    AlsoOnHold,
    Attachment,
    Count,
    CrawlCallbacks,
    ExtractWatch,
    Note,
    VisitWatch,
    Watch,
    ignore_count,
    ignore_progress,
    log,
)
from orbweb.app.directory import OpenWorkspace, exists, open_workspace
from orbweb.app.options import (
    CrawlOptions,
    PolicyOptions,
    RecrawlOptions,
    ResumeOptions,
    RuleOptions,
    SettingsOptions,
    file_of,
)
from orbweb.app.results.crawls import CrawlResult, ExtractResult, PipelineResult, crawl_result, extract_result
from orbweb.app.results.record import record, records
from orbweb.events import Snapshot

if TYPE_CHECKING:
    from concurrent.futures import Future

    from orbweb.app.pages import Page
    from orbweb.app.request import Request
    from orbweb.app.results.changes import RunDiff
    from orbweb.app.results.files import (
        ConfiguredWorkspace,
        DeletedProject,
        Deletion,
        DoctorReport,
        ImportResult,
        RenamedProject,
        ReplayResult,
        ResetWorkspace,
        WrittenReport,
    )
    from orbweb.app.results.pages import FailedUrl, FailureCounts, GonePage, IndexEntry, PageSummary, SearchHit
    from orbweb.app.results.plans import CrawlPlan, RecrawlPlan
    from orbweb.app.results.rules import PolicyVerdict, ProjectRules, ProjectSettings
    from orbweb.app.results.runs import ProjectStatus, QueueStatus, RunSummary
    from orbweb.app.results.urls import UrlDetails, UrlExplanation
    from orbweb.app.stream import AsyncPageStream, PageStream
    from orbweb.errors import NoPage
    from orbweb.export import Exported
    from orbweb.model import Document
    from orbweb.parsing.http_heads import Exchange
    from orbweb.store.documents import Captured

    PageWatch = Callable[[Page], None]
    AsyncPageWatch = Callable[[Page], Awaitable[None] | None]
    Verb = Callable[[Request, CrawlCallbacks], CrawlResult]

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory that holds everything, with the verbs of the command line.

    What a verb returns is a frozen record with the fields of `--json`; its `report()` is that object.
    """

    path: Path

    # Verbs that crawl take `on_page`, which receives each page that they commit, and hold the crawl back while it
    # works.

    def _open(self, *, create: bool = False) -> AbstractContextManager[OpenWorkspace]:
        return open_workspace(self.path, create=create)

    def _settle(self, request: Request, note: Note, *, create: bool = False) -> None:
        """Record the paths that the settings of a call name, before anything is opened there."""
        from orbweb.app.paths import settle

        if create or exists(self.path):
            settle(self.path, request, os.environ, note)

    # Crawling.

    def crawl(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        on_page: PageWatch | None = None,
        note: Note = log.info,
        **options: Unpack[CrawlOptions],
    ) -> CrawlResult:
        """Start a run, or resume the paused one; returns when the crawl has ended.

        `on_progress` is called several times a second, `on_visit` for each visit when it is durable, in order;
        both in the thread of the crawl, and never while it is on hold. `on_page` is called for each page, in this
        thread, while the crawl continues in another and waits if it gets too far ahead. An exception that a
        callback raises ends the crawl; the run can be resumed.
        """
        request = _request("crawl", options, urls, project)
        return self._run(self._crawl, request, _callbacks(on_progress, note, on_visit), on_page)

    def _crawl(self, request: Request, callbacks: CrawlCallbacks) -> CrawlResult:
        from orbweb.app import crawl

        crawl.check_new(self.path, request)
        self._settle(request, callbacks.note, create=True)
        with self._open(create=True) as opened:
            return crawl_result(crawl.crawl(opened, request, callbacks))

    def _resume(self, request: Request, callbacks: CrawlCallbacks) -> CrawlResult:
        from orbweb.app import crawl

        self._settle(request, callbacks.note)
        with self._open() as opened:
            return crawl_result(crawl.resume(opened, request, callbacks))

    def _recrawl(self, request: Request, callbacks: CrawlCallbacks) -> CrawlResult:
        from orbweb.app import crawl

        self._settle(request, callbacks.note)
        with self._open() as opened:
            return crawl_result(crawl.recrawl(opened, request, callbacks))

    def _run(
        self, verb: Verb, request: Request, callbacks: CrawlCallbacks, on_page: PageWatch | None
    ) -> CrawlResult:
        """Call a verb here or, if pages are wanted or this thread has an event loop at work, in a thread."""
        if on_page is None:
            return _apart(lambda attached: verb(request, replace(callbacks, attachment=attached)))
        with self._stream(verb, request, callbacks, only_new=True) as pages:
            for page in pages:
                on_page(page)
        return pages.outcome()

    def _stream(
        self,
        verb: Verb,
        request: Request,
        callbacks: CrawlCallbacks,
        *,
        cursor: str | None = None,
        after: str | None = None,
        only_new: bool = False,
    ) -> PageStream:
        from orbweb.app.background import BackgroundCrawl
        from orbweb.app.stream import Consumer, PageStream

        def start() -> BackgroundCrawl[CrawlResult]:
            return BackgroundCrawl(lambda attached: verb(request, replace(callbacks, attachment=attached)))

        return PageStream(Consumer(self.path, cursor, after, only_new), request, start)

    def crawl_iter(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        cursor: str | None = None,
        after: str | None = None,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        note: Note = log.info,
        **options: Unpack[CrawlOptions],
    ) -> PageStream:
        """The pages of a crawl as they are committed, those of a resumed run from its first page on.

        With `cursor`, a name, from the first page on that was not acknowledged; with `after`, the `cursor` of a
        page, from the next one on. If the run is completed, its remaining pages, without a crawl. Leaving the loop
        stops the crawl.
        """
        request = _request("crawl", options, urls, project)
        callbacks = _callbacks(on_progress, note, on_visit)
        return self._stream(self._crawl, request, callbacks, cursor=cursor, after=after)

    def stream(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        cursor: str | None = None,
        after: str | None = None,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        note: Note = log.info,
        **options: Unpack[CrawlOptions],
    ) -> AsyncPageStream:
        """As `crawl_iter`, for `async for`. Cancelling the task stops the crawl."""
        from orbweb.app.stream import AsyncPageStream

        request = _request("crawl", options, urls, project)
        callbacks = _callbacks(on_progress, note, on_visit)
        return AsyncPageStream(self._stream(self._crawl, request, callbacks, cursor=cursor, after=after))

    async def acrawl(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        on_page: AsyncPageWatch | None = None,
        note: Note = log.info,
        **options: Unpack[CrawlOptions],
    ) -> CrawlResult:
        """As `crawl`, without blocking the event loop; `on_page` may be a coroutine function.

        Cancelling it stops the crawl. `on_progress` and `on_visit` are called in the thread of the crawl.
        """
        from orbweb.app.background import BackgroundCrawl, result_of
        from orbweb.app.stream import AsyncPageStream

        request, callbacks = _request("crawl", options, urls, project), _callbacks(on_progress, note, on_visit)
        if on_page is None:
            return await result_of(
                BackgroundCrawl(lambda attached: self._crawl(request, replace(callbacks, attachment=attached)))
            )
        async with AsyncPageStream(self._stream(self._crawl, request, callbacks, only_new=True)) as pages:
            async for page in pages:
                done = on_page(page)
                if done is not None:
                    await done
        return pages.outcome()

    def start(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        **options: Unpack[CrawlOptions],
    ) -> Future[CrawlResult]:
        """As `crawl`, in a thread; returns when the crawl has started, so that it can be paused and stopped."""
        from concurrent.futures import ThreadPoolExecutor
        from threading import Event

        started = Event()

        def watch(now: Snapshot) -> None:
            started.set()
            if on_progress is not None:
                on_progress(now)

        thread = ThreadPoolExecutor(1, thread_name_prefix="orbweb-crawl")
        told = AlsoOnHold(watch) if isinstance(on_progress, AlsoOnHold) else watch
        future = thread.submit(self.crawl, urls, project=project, on_progress=told, on_visit=on_visit, **options)
        future.add_done_callback(lambda _: started.set())
        thread.shutdown(wait=False)
        started.wait()
        return future

    def resume(
        self,
        project: str,
        *,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        on_page: PageWatch | None = None,
        note: Note = log.info,
        **options: Unpack[ResumeOptions],
    ) -> CrawlResult:
        """Resume the paused run; NothingToDo if there is none. Options are for this crawl, unless `save`."""
        request = _request("resume", options, (), project)
        return self._run(self._resume, request, _callbacks(on_progress, note, on_visit), on_page)

    def recrawl(
        self,
        project: str,
        *,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        on_page: PageWatch | None = None,
        note: Note = log.info,
        **options: Unpack[RecrawlOptions],
    ) -> CrawlResult:
        """Start a run that visits the URLs of the latest one first; returns when the crawl has ended.

        Options are for this crawl, unless `save`.
        """
        request = _request("recrawl", options, (), project)
        return self._run(self._recrawl, request, _callbacks(on_progress, note, on_visit), on_page)

    def discover(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        note: Note = log.info,
        **options: Unpack[CrawlOptions],
    ) -> CrawlResult:
        """Find pages and spool one line for each; returns when discovery has ended. No page is stored."""
        name = f"{self._pipeline_name(urls, project, options)}.discovery"
        return self.crawl(urls, project=name, on_progress=on_progress, on_visit=on_visit, note=note, **options)

    def scrape(
        self,
        project: str | None = None,
        *,
        spool: str | PathLike[str] | None = None,
        follow: bool = False,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        note: Note = log.info,
        **options: Unpack[ResumeOptions],
    ) -> CrawlResult:
        """Visit the pages that discovery has spooled; with `follow`, wait for more until stopped.

        `spool` is a directory with the lines of another producer. A workspace is created for it, or around spool
        files that are in `spool/discoveries` already.

        NothingToDo if there is nothing to scrape; ScraperIdle if it was stopped before there was.
        """
        from orbweb.app import pipeline, scrape

        request = replace(_request("scrape", options, (), project), spool=None if spool is None else Path(spool))
        is_new = follow or spool is not None or pipeline.is_spool(self.path)

        def work(attached: Attachment) -> CrawlResult:
            callbacks = scrape.ScrapeCallbacks(
                on_progress or ignore_progress, note, on_visit, attached, lambda: follow
            )
            self._settle(request, note, create=is_new)
            with self._open(create=is_new) as opened:
                return crawl_result(scrape.scrape(opened, request, callbacks))

        return _apart(work)

    def run(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Watch | None = None,
        on_visit: VisitWatch | None = None,
        note: Note = log.info,
        **options: Unpack[CrawlOptions],
    ) -> PipelineResult:
        """Discover in a process of its own and scrape in this one, until both are done."""
        from orbweb.app import scrape

        _request("run", options)
        name = self._pipeline_name(urls, project, options)
        given = (urls,) if isinstance(urls, str) else urls
        callbacks = scrape.ScrapeCallbacks(on_progress or ignore_progress, note, on_visit)
        quiet = on_progress is None
        return _apart(
            lambda attached: scrape.discover_and_scrape(
                self.path, given, name, options, replace(callbacks, attachment=attached), quiet=quiet
            )
        )

    def _pipeline_name(self, urls: str | Sequence[str], project: str | None, options: CrawlOptions) -> str:
        from orbweb.app import pipeline

        given = (urls,) if isinstance(urls, str) else urls
        return pipeline.pipeline_name(self.path, given, project, file_of(options, "seeds"))

    def plan(
        self, urls: str | Sequence[str], *, note: Note = log.info, **options: Unpack[CrawlOptions]
    ) -> CrawlPlan | RecrawlPlan:
        """What a crawl of these URLs would do: visits them, robots.txt and sitemaps, and stores nothing.

        For a project: what its next recrawl would visit with these options, computed from its latest run.
        """
        from orbweb.app import plan
        from orbweb.app.results.plans import CrawlPlan, RecrawlPlan

        request = _request("crawl", options, urls)
        if plan.names_project(self.path, request.urls):
            project = _request("crawl", options, (), request.urls[0])
            found = _apart(lambda _: plan.replan(project, of=self.path, note=log.debug))
            return record(RecrawlPlan, found)
        return record(CrawlPlan, _apart(lambda _: plan.plan(request, beside=self.path, note=note)))

    def fetch(self, url: str, **options: Unpack[CrawlOptions]) -> Page:
        """One page, requested as in a crawl; NoPage if there is none. Nothing is stored."""
        from orbweb.app import plan

        request = _request("crawl", options, url)
        return _apart(lambda attached: plan.fetch(request, beside=self.path, attachment=attached))

    async def afetch(self, url: str, **options: Unpack[CrawlOptions]) -> Page:
        """As `fetch`, without blocking the event loop."""
        from orbweb.app import plan
        from orbweb.app.background import BackgroundCrawl, result_of

        request = _request("crawl", options, url)
        return await result_of(
            BackgroundCrawl(lambda attached: plan.fetch(request, beside=self.path, attachment=attached))
        )

    def fetch_each(self, urls: Sequence[str], **options: Unpack[CrawlOptions]) -> Iterator[Page | NoPage]:
        """As `fetch`, for several URLs, one after the other; a URL without a page gives its NoPage."""
        from orbweb.app import plan

        yield from plan.fetch_each(_request("crawl", options, urls), beside=self.path)

    # Control.

    def pause(self, project: str) -> None:
        """Pause the running crawl; in-flight requests finish."""
        from orbweb.app import control

        with self._open() as opened:
            control.pause(opened, project)

    def unpause(self, project: str) -> None:
        """Let a crawl that is on hold continue."""
        from orbweb.app import control

        with self._open() as opened:
            control.unpause(opened, project)

    def stop(self, project: str, *, wait: bool = True) -> bool:
        """Stop the running crawl; its queue is kept. Returns whether it has ended; unless `wait`, at once."""
        from orbweb.app import control

        with self._open() as opened:
            return control.stop(opened, project, wait=wait)

    def finish(self, project: str, *, wait: bool = True) -> ProjectStatus:
        """Complete the run: queued URLs are skipped. Returns the status; unless `wait`, at once."""
        from orbweb.app import control
        from orbweb.app.results.runs import ProjectStatus

        with self._open() as opened:
            return record(ProjectStatus, control.finish(opened, project, wait=wait))

    def clear_queue(self, project: str) -> int:
        """Skip the queued URLs, which completes the run. Returns how many."""
        from orbweb.app import control

        with self._open() as opened:
            return control.clear_queue(opened, project)

    def release(self, project: str, pattern: str) -> int:
        """Queue the parked URLs of a family, or those that match the RE2 pattern. Returns how many."""
        from orbweb.app import control

        with self._open() as opened:
            return control.release(opened, project, pattern)

    def retry(self, project: str, *, kind: str | Sequence[str] | None = None, host: str | None = None) -> int:
        """Queue failed URLs again, all or those of a kind or a host; `resume` visits them. Returns how many."""
        from orbweb.app.retry import retry

        kinds = () if kind is None else (kind,) if isinstance(kind, str) else tuple(kind)
        with self._open() as opened:
            return retry(opened, project, kinds, host)

    def rules(self, project: str, *, note: Note = log.info, **options: Unpack[RuleOptions]) -> ProjectRules:
        """Change which URLs a project visits, also during a crawl; without options, show the rules."""
        from orbweb.app import rules
        from orbweb.app.results.rules import ProjectRules

        request = _request("rules", options, (), project)
        with self._open() as opened:
            return record(ProjectRules, rules.rules(opened, request, note=note))

    # Reports.

    def settings(self, project: str, **options: Unpack[SettingsOptions]) -> ProjectSettings:
        """Every setting as the next `crawl` would use it: value, default, and where the value comes from."""
        from orbweb.app.results.rules import ProjectSettings
        from orbweb.app.setting_sources import settings

        request = _request("settings", options, (), project)
        with self._open() as opened:
            return record(ProjectSettings, settings(opened, request))

    def projects(self) -> list[str]:
        """The names of all projects."""
        with self._open() as opened:
            return reports.projects(opened)

    def status(self, project: str) -> ProjectStatus:
        """The latest run of a project, and whether a crawl is running."""
        from orbweb.app.results.runs import ProjectStatus

        with self._open() as opened:
            return record(ProjectStatus, reports.status(opened, project))

    def snapshot(self, project: str) -> Snapshot | None:
        """What the crawl of a project is doing now, whichever process it runs in; None if none is running.

        A few times a second there is a new one.
        """
        with self._open() as opened:
            return reports.snapshot(opened, project)

    def statuses(self) -> list[ProjectStatus]:
        """The status of every project."""
        from orbweb.app.results.runs import ProjectStatus

        with self._open() as opened:
            return records(ProjectStatus, reports.statuses(opened))

    def runs(self, project: str) -> list[RunSummary]:
        """The runs of a project with their crawls."""
        from orbweb.app.results.runs import RunSummary

        with self._open() as opened:
            return records(RunSummary, reports.runs(opened, project))

    def queue(self, project: str) -> QueueStatus:
        """What is queued, by source, and what is next."""
        from orbweb.app.results.runs import QueueStatus

        with self._open() as opened:
            return record(QueueStatus, reports.queue(opened, project))

    def pages(
        self,
        project: str,
        *,
        run: int | None = None,
        match: str | None = None,
        sort: Literal["place", "url", "title", "words", "tokens", "bytes", "depth"] = "place",
        limit: int | None = None,
    ) -> list[PageSummary]:
        """The unique pages of a run, with their alternates: all, or those whose URL matches an RE2 pattern.

        Words, tokens and bytes are sorted from the largest down.
        """
        from orbweb.app.results.pages import PageSummary

        with self._open() as opened:
            found = reports.pages(opened, project, run, match=match, sort=sort, limit=limit)
            return records(PageSummary, found)

    def gone(self, project: str, *, run: int | None = None) -> list[GonePage]:
        """The pages that have vanished, as seen from a run: since which run, why, and the last run with them."""
        from orbweb.app.results.pages import GonePage

        with self._open() as opened:
            return records(GonePage, reports.gone(opened, project, run))

    def failed(
        self,
        project: str,
        *,
        run: int | None = None,
        kind: str | None = None,
        host: str | None = None,
        match: str | None = None,
        limit: int | None = None,
    ) -> list[FailedUrl]:
        """The URLs that failed, why, and the pages that link to them; all, or those of a kind or a host, or whose
        URL matches an RE2 pattern."""
        from orbweb.app.failures import FailureFilter, failed
        from orbweb.app.results.pages import FailedUrl

        with self._open() as opened:
            return records(FailedUrl, failed(opened, project, run, FailureFilter(kind, host, match, limit)))

    def failure_counts(
        self,
        project: str,
        *,
        run: int | None = None,
        kind: str | None = None,
        host: str | None = None,
        match: str | None = None,
    ) -> FailureCounts:
        """How many URLs failed, by kind and by host."""
        from orbweb.app.failures import FailureFilter, counts
        from orbweb.app.results.pages import FailureCounts

        with self._open() as opened:
            return record(FailureCounts, counts(opened, project, run, FailureFilter(kind, host, match)))

    def near_duplicates(self, project: str, *, run: int | None = None, within: int = 6) -> list[list[PageSummary]]:
        """Groups of pages with nearly the same text: at most `within` of 64 bits differ from one to the next."""
        from orbweb.app.results.pages import PageSummary

        with self._open() as opened:
            groups = reports.near_duplicates(opened, project, run, within=within)
            return [records(PageSummary, group) for group in groups]

    def manifest(self, project: str, *, run: int | None = None) -> Iterator[str]:
        """One line per visit, in order; read as they are consumed."""
        with self._open() as opened:
            yield from reports.manifest(opened, project, run)

    def manifest_hash(self, project: str, *, run: int | None = None) -> str:
        """One SHA-256 over the lines of the manifest."""
        with self._open() as opened:
            return reports.manifest_hash(opened, project, run)

    def show(self, project: str, url: str, *, run: int | None = None) -> UrlDetails | None:
        """Everything known about one URL; None if the run has never seen it."""
        from orbweb.app.results.urls import UrlDetails

        with self._open() as opened:
            found = reports.show(opened, project, url, run)
            return None if found is None else record(UrlDetails, found)

    def explain(self, project: str, url: str, *, run: int | None = None, referrers: bool = True) -> UrlExplanation:
        """Why a URL was visited, skipped or failed; for one never seen, what the rules decide now.

        Without `referrers`, what links to it is not searched for, which takes a pass over the run.
        """
        from orbweb.app.explain import explain
        from orbweb.app.results.urls import UrlExplanation

        with self._open() as opened:
            return record(UrlExplanation, explain(opened, project, url, run, referrers=referrers))

    def document(self, project: str, url: str, *, run: int | None = None) -> Document | None:
        """The document of a page, also by an alternate or a URL that redirects to it. None if there is no page."""
        with self._open() as opened:
            return reports.document(opened, project, url, run)

    def documents(self, project: str, *, run: int | None = None) -> Iterator[Captured]:
        """The pages of a run with their documents, in order; read as they are consumed."""
        with self._open() as opened:
            yield from reports.captured(opened, project, run)

    def head(self, project: str, url: str, *, run: int | None = None) -> Exchange | None:
        """The heads of the request, without secrets, and of the response; None if none are stored."""
        with self._open() as opened:
            return reports.head(opened, project, url, run)

    def body(self, sha256: str) -> bytes:
        """A stored body by its `body_sha256`, verified."""
        with self._open() as opened:
            return opened.body(sha256)

    def page_index(self, project: str, *, run: int | None = None) -> Iterator[IndexEntry]:
        """The validators and hashes of each URL that was fetched, for conditional requests of a later run."""
        from orbweb.app.results.pages import IndexEntry

        with self._open() as opened:
            for entry in reports.page_index(opened, project, run):
                yield record(IndexEntry, entry)

    def search(
        self,
        project: str,
        query: str,
        *,
        run: int | None = None,
        limit: int = 20,
        on_progress: Count | None = None,
    ) -> list[SearchHit]:
        """The pages that have every word of the query, best first. `on_progress` counts the pages indexed."""
        from orbweb.app.results.pages import SearchHit

        with self._open() as opened:
            watch = on_progress or ignore_count
            found = reports.search(opened, project, query, run, limit=limit, on_progress=watch)
            return records(SearchHit, found)

    def diff(
        self, project: str, old: int | None = None, new: int | None = None, *, keep_noise: bool = False
    ) -> RunDiff:
        """How two runs differ: the latest and the one before it, unless others are named."""
        from orbweb.app.results.changes import RunDiff

        with self._open() as opened:
            return record(RunDiff, reports.diff(opened, project, old, new, keep_noise=keep_noise))

    # Files.

    def export(
        self,
        project: str,
        *,
        to: Literal["markdown", "jsonl", "csv", "zip", "llms", "files", "state"],
        out: str | PathLike[str] | IO[bytes],
        run: int | None = None,
        raw: bool = False,
        on_progress: Count | None = None,
    ) -> Exported:
        """Write the pages of a run to a folder, a file or, as JSON lines or CSV, a binary stream.

        `on_progress` counts the pages written.
        """
        from orbweb.app import export

        place = Path(out) if isinstance(out, str | PathLike) else out
        form = export.check_format(to, place, self.path)
        with self._open() as opened:
            return export.export(
                opened, project, form, place, run, raw=raw, on_progress=on_progress or ignore_count
            )

    def write_report(
        self, project: str, *, out: str | PathLike[str] | IO[bytes], run: int | None = None
    ) -> WrittenReport:
        """Write a run as one HTML file for a browser, or to a binary stream: what was found, what failed and why,
        what was skipped, a map, and the changes since the run before."""
        from orbweb.app.report import check_place, write_report

        place = Path(out) if isinstance(out, str | PathLike) else out
        check_place(self.path, place)
        with self._open() as opened:
            return write_report(opened, project, place, run)

    def extract(
        self,
        project: str,
        *,
        run: int | None = None,
        everything: bool = False,
        processes: int | None = None,
        on_progress: ExtractWatch | None = None,
        note: Note = log.info,
    ) -> ExtractResult:
        """Extract stored pages again with this version's extractor; only documents change."""
        from orbweb.app.reextract import extract

        options = {} if processes is None else {"processes": processes}
        request, watch = _request("extract", options, (), project), on_progress or ignore_progress

        def work(_: Attachment) -> ExtractResult:
            with self._open() as opened:
                return extract_result(
                    extract(opened, request, number=run, everything=everything, on_progress=watch, note=note)
                )

        return _apart(work)

    def replay(
        self,
        project: str | None = None,
        *,
        run: int | None = None,
        out: str | PathLike[str] | None = None,
        verify: bool = False,
        on_progress: Count | None = None,
        note: Note = log.info,
    ) -> ReplayResult:
        """Rebuild the output files and the Markdown of a run from stored data; with `verify`, check every body."""
        from orbweb.app.replay import replay
        from orbweb.app.results.files import ReplayResult

        place, watch = None if out is None else Path(out), on_progress or ignore_count

        def work(_: Attachment) -> ReplayResult:
            with self._open() as opened:
                done = replay(opened, project, number=run, out=place, verify=verify, on_progress=watch, note=note)
                return record(ReplayResult, done)

        return _apart(work)

    def import_state(
        self,
        path: str | PathLike[str],
        *,
        project: str | None = None,
        bases: Sequence[str] = (),
        bodies: str | PathLike[str] | None = None,
        on_progress: Count | None = None,
    ) -> ImportResult:
        """Import the state of a crawl from plain files, as a new project with a paused run."""
        from orbweb.app.import_state import import_state
        from orbweb.app.results.files import ImportResult

        place, watch = None if bodies is None else Path(bodies), on_progress or ignore_count
        with self._open(create=True) as opened:
            done = import_state(opened, Path(path), project=project, bases=bases, bodies=place, on_progress=watch)
            return record(ImportResult, done)

    # The workspace itself.

    def prepare(self) -> None:
        """Create the workspace if it is missing; upgrade one of an earlier version."""
        with self._open(create=True):
            pass

    def configure(
        self, *, profile: Literal["docs", "site", "github"] = "docs", force: bool = False
    ) -> ConfiguredWorkspace:
        """Write settings to edit, a seeds file and the folders of the workspace.

        What is missing is written again, and what was edited is left, unless `force` is given.
        """
        from orbweb.app.configure import configure
        from orbweb.app.results.files import ConfiguredWorkspace

        return record(ConfiguredWorkspace, configure(self.path, profile, force=force))

    def reset(self, *, confirm: Callable[[], None] | None = None) -> ResetWorkspace:
        """Delete everything that was crawled; settings and seeds stay. Busy while a crawl is running.

        `confirm` is called before anything is deleted, once the directory is known to be a workspace.
        """
        from orbweb.app import configure
        from orbweb.app.results.files import ResetWorkspace

        configure.check(self.path)
        if confirm is not None:
            confirm()
        return record(ResetWorkspace, configure.reset(self.path))

    def delete(
        self, project: str, *, run: int | None = None, confirm: Callable[[Deletion], None] | None = None
    ) -> DeletedProject:
        """Delete a project, or one run of it, and every body that nothing else needs. Busy while a crawl runs.

        `confirm` is called with what will be deleted, before anything is; an exception leaves everything.
        """
        from orbweb.app.delete import delete
        from orbweb.app.results.files import DeletedProject, Deletion

        def ask(found: dict[str, Any]) -> None:
            if confirm is not None:
                confirm(record(Deletion, found))

        with self._open() as opened:
            return record(DeletedProject, delete(opened, project, run, ask))

    def rename(self, project: str, name: str) -> RenamedProject:
        """Give a project another name. Busy while it is crawled."""
        from orbweb.app.delete import rename
        from orbweb.app.results.files import RenamedProject

        with self._open() as opened:
            return record(RenamedProject, rename(opened, project, name))

    def validate_policy(
        self,
        urls: str | Sequence[str] = (),
        *,
        file: str | PathLike[str] | None = None,
        **options: Unpack[PolicyOptions],
    ) -> list[PolicyVerdict]:
        """The policy's verdict on each URL, those of the file first; by orbweb.yaml if no settings are given."""
        from orbweb.app.results.rules import PolicyVerdict
        from orbweb.app.validate_policy import validate

        request = _request("validate_policy", options)
        given = (urls,) if isinstance(urls, str) else tuple(urls)
        found = validate(request, given, None if file is None else Path(file), beside=self.path)
        return records(PolicyVerdict, found)

    def doctor(self, *, repair: bool = False, on_progress: Count | None = None) -> DoctorReport:
        """Every damage of the workspace, or its repair. `on_progress` counts bodies and documents."""
        from orbweb.app.doctor import doctor
        from orbweb.app.results.files import DoctorReport

        return record(DoctorReport, doctor(self.path, repair=repair, on_progress=on_progress or ignore_count))


def _request(verb: str, options: Any, urls: str | Sequence[str] = (), project: str | None = None) -> Request:
    from orbweb.app.request import request_of

    return request_of(verb, options, urls, project)


def _callbacks(on_progress: Watch | None, note: Note, on_visit: VisitWatch | None) -> CrawlCallbacks:
    return CrawlCallbacks(on_progress or ignore_progress, note, on_visit)


def _apart(work: Callable[[Attachment], Made]) -> Made:
    """Work that has an event loop of its own, which needs another thread if one is running in this one."""
    if not _is_in_event_loop():
        return work(UNATTACHED)
    from orbweb.app.background import BackgroundCrawl

    return BackgroundCrawl(work).result()


def _is_in_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    try:
        return asyncio is not None and bool(asyncio.get_running_loop())
    except RuntimeError:
        return False
