"""Pages of a crawl as they are committed, for a loop or an asynchronous one.

The crawl is at work in another thread. A stream reads durable pages from the database, one when it is requested:
nothing piles up in memory, and a page is safe before the caller sees it. A crawl that is too far ahead waits. A
named cursor stores the position of the stream: after a crash the same stream gives each page that was not
acknowledged, even if the crawl itself was completed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from orbweb.app.background import BackgroundCrawl
from orbweb.app.callbacks import ignore_note
from orbweb.app.cursors import NamedCursor, Position, check_name, cursor_of
from orbweb.app.directory import OpenWorkspace, exists, open_workspace
from orbweb.app.pages import Page, page_of
from orbweb.app.request import Request, name_of, with_seeds
from orbweb.app.results.crawls import CrawlResult
from orbweb.errors import UsageError, option
from orbweb.lifecycle import RunState
from orbweb.store import runs
from orbweb.store.queries.page_stream import PageReader
from orbweb.store.runs import Run

Start = Callable[[], BackgroundCrawl[CrawlResult]]


@dataclass(frozen=True, slots=True)
class Consumer:
    """Whose stream it is, and where it continues: after a position that the caller has stored, or at a named
    cursor; without either, at the first page of the run."""

    workspace: Path
    cursor: str | None = None
    after: str | None = None
    only_new: bool = False
    """Only what this crawl commits."""

    def __post_init__(self) -> None:
        if self.after is not None:
            Position.parse(self.after)
        if self.cursor is not None:
            check_name(self.cursor)
        if self.cursor is not None and self.after is not None:
            raise UsageError(f"give either {option('cursor')} or {option('after')}, not both")


class PageStream(Iterator[Page]):
    """The pages of a crawl. Leaving the loop, or `close`, stops the crawl; its run can be resumed.

    `result` is that of the crawl, after the last page; None if it had ended before the stream was opened.
    """

    def __init__(self, consumer: Consumer, request: Request, start: Start) -> None:
        self._outcome = _Outcome()
        self._pages = _pages(consumer, request, start, self._outcome)

    @property
    def result(self) -> CrawlResult | None:
        return self._outcome.result

    def outcome(self) -> CrawlResult:
        """The result of a crawl that has ended."""
        if self._outcome.result is None:
            raise UsageError("the crawl has not ended: the result is there after the last page")
        return self._outcome.result

    def __next__(self) -> Page:
        return next(self._pages)

    def stop(self) -> None:
        """Stop the crawl, from any thread; the loop ends with the last page that is durable."""
        self._outcome.stop()

    def close(self) -> None:
        """Stop the crawl and wait for its end."""
        self.stop()
        self._pages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncPageStream(AsyncIterator[Page]):
    """As `PageStream`, for `async for`. Cancelling the task that waits for a page stops the crawl."""

    def __init__(self, stream: PageStream) -> None:
        self._stream = stream
        self._pages = _without_blocking(stream)

    @property
    def result(self) -> CrawlResult | None:
        return self._stream.result

    def outcome(self) -> CrawlResult:
        """The result of a crawl that has ended."""
        return self._stream.outcome()

    async def __anext__(self) -> Page:
        return await anext(self._pages)

    async def aclose(self) -> None:
        """Stop the crawl and wait for its end."""
        await self._pages.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Outcome:
    """What a stream shares with its generator: the stream can be dropped, which closes the generator."""

    def __init__(self) -> None:
        self.result: CrawlResult | None = None
        self._crawl: BackgroundCrawl[CrawlResult] | None = None
        self._stopped = False

    def begin(self, start: Start) -> BackgroundCrawl[CrawlResult]:
        self._crawl = start()
        if self._stopped:
            self._crawl.stop()
        return self._crawl

    def stop(self) -> None:
        """May be called while another thread waits for a page."""
        self._stopped = True
        if self._crawl is not None:
            self._crawl.stop()


async def _without_blocking(stream: PageStream) -> AsyncGenerator[Page, None]:
    """The same pages, read in one thread: a connection to the database belongs to its thread."""
    thread, loop = ThreadPoolExecutor(1, thread_name_prefix="orbweb-stream"), asyncio.get_running_loop()
    try:
        while (page := await loop.run_in_executor(thread, next, stream, None)) is not None:
            yield page
    finally:
        stream.stop()
        closed = loop.run_in_executor(thread, stream.close)
        thread.shutdown(wait=False)
        await asyncio.shield(closed)


def _pages(consumer: Consumer, request: Request, start: Start, outcome: _Outcome) -> Generator[Page, None, None]:
    with ExitStack() as open_things:
        run, crawl = _unfinished(consumer, request), None
        if run is None:
            crawl = _begun(outcome, start, open_things)
            run = crawl.run or _run_of(consumer.workspace, crawl.future.result())
        opened = open_things.enter_context(open_workspace(consumer.workspace))
        named = _named(consumer, opened, run)
        if named is not None:
            open_things.enter_context(named.own())
        first = _first(consumer, named, run)
        if named is not None:
            named.move(Position(run.number, run.started_at, first))
        last = yield from _followed(opened, run, named, first, crawl)
        if crawl is not None:
            outcome.result = crawl.future.result()
        if named is not None and _now(opened, run).state is RunState.COMPLETED:
            named.move(Position(run.number, run.started_at, last, ended=True))


def _begun(outcome: _Outcome, start: Start, open_things: ExitStack) -> BackgroundCrawl[CrawlResult]:
    """The crawl, when its run is known or it has ended."""
    crawl = outcome.begin(start)
    open_things.callback(crawl.join)
    open_things.callback(crawl.stop)
    crawl.wait_opened()
    return crawl


def _run_of(workspace: Path, result: CrawlResult) -> Run:
    """The run of a crawl that had nothing to do, because the rules of now leave nothing queued."""
    with open_workspace(workspace) as opened:
        return opened.run(result.project, result.run)


def _followed(
    opened: OpenWorkspace,
    run: Run,
    named: NamedCursor | None,
    number: int,
    crawl: BackgroundCrawl[CrawlResult] | None,
) -> Generator[Page, None, int]:
    """The pages after that visit, until the crawl has ended and all are read; the last visit."""
    reader, store = PageReader(opened.db, run.id), opened.paths.store
    while True:
        is_over = crawl is None or crawl.future.done()
        durable = crawl.durable if crawl is not None else 0
        found = reader.after(number)
        if found is not None:
            yield page_of(found, run, store, named)
            number = found.number
            if named is not None:
                named.move(Position(run.number, run.started_at, number))
        elif is_over:
            return number
        else:
            number = max(number, durable)
        if crawl is not None:
            crawl.consume(number)
            if found is None:
                crawl.wait(number)


def _unfinished(consumer: Consumer, request: Request) -> Run | None:
    """The completed run whose pages the caller has not all acknowledged; it needs no crawl. None to crawl."""
    if consumer.cursor is None and consumer.after is None:
        return None
    project, latest = _latest(consumer, request)
    position = _stored(consumer, project)
    is_there = position is not None and latest is not None and position.is_in(latest) and not request.new_run
    if consumer.after is not None and not is_there:
        raise _of_another_run(consumer.after)
    if position is None or latest is None or not is_there:
        return None
    return latest if latest.state is RunState.COMPLETED and not position.ended else None


def _latest(consumer: Consumer, request: Request) -> tuple[str | None, Run | None]:
    """The project that the request is about, and its latest run; None for each that does not exist yet."""
    if not exists(consumer.workspace):
        return None, None
    with open_workspace(consumer.workspace) as opened:
        name = name_of(opened, with_seeds(opened, request, ignore_note))
        project = runs.find_project(opened.db, name)
        return name, runs.latest_run(opened.db, project.id) if project is not None else None


def _stored(consumer: Consumer, project: str | None) -> Position | None:
    """The position that the caller gave, or that of the named cursor."""
    if consumer.after is not None:
        return Position.parse(consumer.after)
    return cursor_of(consumer.workspace, project, consumer.cursor or "").read() if project is not None else None


def _of_another_run(after: str) -> UsageError:
    return UsageError(f"{option('after')}: {after!r} is the cursor of a page of another run")


def _named(consumer: Consumer, opened: OpenWorkspace, run: Run) -> NamedCursor | None:
    if consumer.cursor is None:
        return None
    project = next(each.name for each in runs.projects(opened.db) if each.id == run.project_id)
    return cursor_of(consumer.workspace, project, consumer.cursor)


def _first(consumer: Consumer, named: NamedCursor | None, run: Run) -> int:
    """The visit after which the stream begins."""
    if consumer.only_new:
        return run.next_visit - 1
    position = named.read() if named is not None else None
    if consumer.after is not None:
        position = Position.parse(consumer.after)
    if position is not None and position.is_in(run):
        return position.visit
    if consumer.after is not None:
        raise _of_another_run(consumer.after)
    return 0


def _now(opened: OpenWorkspace, run: Run) -> Run:
    return next(each for each in runs.runs_of(opened.db, run.project_id) if each.id == run.id)
