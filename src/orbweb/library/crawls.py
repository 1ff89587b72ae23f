"""The verbs that ask servers: crawl, discover, scrape, start, resume, recrawl, plan, fetch.

Always holds: what is given is stored with the project as it is on the command line, except by `plan` and `fetch`,
which keep nothing. Sync outside, async inside: where an event loop is running, only `start` may be called.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Unpack

from orbweb import app
from orbweb.app import Request
from orbweb.app import plan as planning
from orbweb.errors import NothingToDo
from orbweb.events import Snapshot
from orbweb.library.handle import Handle, check_thread, unwatched
from orbweb.library.options import (
    CrawlOptions,
    RecrawlOptions,
    ResumeOptions,
    check_names,
    config_file,
    file_of,
    settings_of,
    trusted,
)
from orbweb.library.results import CrawlResult, result_of
from orbweb.store.queries.reports import Report
from orbweb.store.runs import DISCOVERY

Progress = Callable[[Snapshot], None]

_log = logging.getLogger("orbweb")


class Crawls(Handle):
    """Verbs that ask servers."""

    __slots__ = ()

    def crawl(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Progress | None = None,
        **options: Unpack[CrawlOptions],
    ) -> CrawlResult:
        """Start a run, or go on with the paused one; returns when the crawl has ended."""
        check_thread()
        given = dict(options)
        check_names(given, CrawlOptions.__optional_keys__)
        bases = (urls,) if isinstance(urls, str) else tuple(urls)
        request = Request(
            bases,
            project,
            config_file(given),
            settings_of(given),
            bool(given.get("new_run")),
            refresh=bool(given.get("refresh")),
            seeds=file_of(given, "seeds"),
            metrics_port=options.get("metrics_port"),
            trust=trusted(given),
        )
        app.check_new(self.path, request)
        with self._opened(create=True) as opened:
            return result_of(app.crawl(opened, request, watch=on_progress or unwatched, note=_log.info))

    def discover(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str,
        on_progress: Progress | None = None,
        **options: Unpack[CrawlOptions],
    ) -> CrawlResult:
        """Find pages and spool a line for each; returns when discovery has ended. Nothing of them is kept."""
        name = project.removesuffix(DISCOVERY) + DISCOVERY
        return self.crawl(urls, project=name, on_progress=on_progress, **options)

    def scrape(
        self,
        project: str | None = None,
        *,
        follow: bool = False,
        on_progress: Progress | None = None,
        **options: Unpack[ResumeOptions],
    ) -> CrawlResult:
        """Visit what was spooled; returns when all of it is scraped, or with `follow` when it is stopped.

        NothingToDo if there is nothing to scrape, or was not when it was stopped.
        """
        check_thread()
        given = dict(options)
        check_names(given, ResumeOptions.__optional_keys__)
        refresh = bool(given.get("refresh"))
        request = Request(
            (), project, config_file(given), settings_of(given), refresh=refresh, trust=trusted(given)
        )
        with self._opened() as opened:
            watch = on_progress or unwatched
            report = app.scrape(opened, request, follows=lambda: follow, watch=watch, note=_log.info)
        if report["run"] is None:
            raise NothingToDo(f"the scraper of project {report['project']!r} was stopped: {report['why']}")
        return result_of(report)

    def start(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Progress | None = None,
        **options: Unpack[CrawlOptions],
    ) -> Future[CrawlResult]:
        """As `crawl`, in a thread; returns when the crawl is at work, so that it can be paused and stopped."""
        at_work = Event()

        def watch(now: Snapshot) -> None:
            at_work.set()
            if on_progress is not None:
                on_progress(now)

        thread = ThreadPoolExecutor(1, thread_name_prefix="orbweb-crawl")
        future = thread.submit(self.crawl, urls, project=project, on_progress=watch, **options)
        future.add_done_callback(lambda _: at_work.set())
        thread.shutdown(wait=False)
        at_work.wait()
        return future

    def resume(
        self, project: str, *, on_progress: Progress | None = None, **options: Unpack[ResumeOptions]
    ) -> CrawlResult:
        """Go on with the paused run; NothingToDo if there is none."""
        check_thread()
        given = dict(options)
        check_names(given, ResumeOptions.__optional_keys__)
        refresh = bool(given.get("refresh"))
        port = options.get("metrics_port")
        request = Request(
            (),
            project,
            config_file(given),
            settings_of(given),
            refresh=refresh,
            metrics_port=port,
            trust=trusted(given),
        )
        with self._opened() as opened:
            return result_of(app.resume(opened, request, watch=on_progress or unwatched, note=_log.info))

    def recrawl(
        self, project: str, *, on_progress: Progress | None = None, **options: Unpack[RecrawlOptions]
    ) -> CrawlResult:
        """Start a run that visits first what the latest one knew; returns when the crawl has ended."""
        check_thread()
        given = dict(options)
        check_names(given, RecrawlOptions.__optional_keys__)
        refresh = bool(given.get("refresh"))
        request = Request(
            (),
            project,
            config_file(given),
            settings_of(given),
            refresh=refresh,
            due=bool(given.get("due")),
            metrics_port=options.get("metrics_port"),
            trust=trusted(given),
        )
        with self._opened() as opened:
            return result_of(app.recrawl(opened, request, watch=on_progress or unwatched, note=_log.info))

    def plan(self, urls: str | Sequence[str], **options: Unpack[CrawlOptions]) -> Report:
        """What a crawl of these URLs would do: visits them and reads robots.txt and sitemaps, keeps nothing.

        For a project: what its next recrawl would visit by these options, told from its latest run.
        """
        check_thread()
        given = dict(options)
        check_names(given, CrawlOptions.__optional_keys__)
        bases = (urls,) if isinstance(urls, str) else tuple(urls)
        if planning.names_project(self.path, bases):
            request = Request((), bases[0], config_file(given), settings_of(given))
            return planning.replan(request, of=self.path, note=_log.debug)
        request = Request(bases, None, config_file(given), settings_of(given), trust=trusted(given))
        return planning.plan(request, beside=self.path, note=_log.info)

    def fetch(self, url: str, **options: Unpack[CrawlOptions]) -> planning.FetchedPage:
        """One page, asked for as a crawl would, or the problem; nothing is kept."""
        check_thread()
        given = dict(options)
        check_names(given, CrawlOptions.__optional_keys__)
        request = Request((url,), None, config_file(given), settings_of(given), trust=trusted(given))
        return planning.fetch(request, beside=self.path)
