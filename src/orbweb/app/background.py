"""A crawl in a thread of its own, which the caller follows, holds back and stops.

Needed where the caller consumes pages meanwhile, and where its thread has an event loop at work, such as that of a
notebook. The thread is a daemon that is stopped when the program ends: a stream that nobody closed must not keep
the program from ending.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from threading import Condition, Thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from orbweb.engine.control import Command
from orbweb.store.runs import Run

AHEAD = 200
"""Visits that a crawl may be ahead of its consumer; a crawl on hold continues at half of it."""
EXIT_S = 10.0

Result = TypeVar("Result")


class BackgroundCrawl(Generic[Result]):
    """The `Attachment` of a crawl, with its thread.

    `future` is done when the work is. `durable` is the last visit that can be read.
    """

    def __init__(self, work: Callable[[BackgroundCrawl[Result]], Result]) -> None:
        self.future: Future[Result] = Future()
        self.future.set_running_or_notify_cancel()
        self.run: Run | None = None
        self.durable = 0
        self._consumed: int | None = None
        self._is_held = self._stopping = False
        self._engine: tuple[asyncio.AbstractEventLoop, Callable[[Command], None]] | None = None
        self._changed = Condition()
        self._thread = Thread(target=copy_context().run, args=(self._do, work), name="orbweb-crawl", daemon=True)
        _RUNNING.add(self)
        self._thread.start()

    def _do(self, work: Callable[[BackgroundCrawl[Result]], Result]) -> None:
        try:
            self.future.set_result(work(self))
        except BaseException as error:  # noqa: BLE001
            self.future.set_exception(error)
        with self._changed:
            self._changed.notify_all()

    # Called by the crawl.

    def opened(self, run: Run) -> None:
        with self._changed:
            self.run = run
            self._changed.notify_all()

    def written(self, visit: int) -> None:
        with self._changed:
            self.durable = visit
            self._changed.notify_all()

    def brake(self) -> str | None:
        """Nothing piles up in memory, so that the limit need not be exact."""
        if self._consumed is None:
            return None
        unread = self.durable - self._consumed
        self._is_held = unread > (AHEAD // 2 if self._is_held else AHEAD)
        return f"{unread} visits are not consumed yet" if self._is_held else None

    def attach(self, loop: asyncio.AbstractEventLoop, handle: Callable[[Command], None]) -> None:
        with self._changed:
            self._engine = loop, handle
            if self._stopping:
                handle(Command.STOP_NOW)

    def detach(self) -> None:
        with self._changed:
            self._engine = None

    # Called by the consumer.

    def consume(self, visit: int) -> None:
        """Everything up to this visit is consumed. From the first call on, the crawl waits for a slow consumer."""
        self._consumed = visit

    def wait(self, seen: int) -> None:
        """Wait until more than the visits seen can be read, or the work is done."""
        with self._changed:
            self._changed.wait_for(lambda: self.future.done() or (self.run is not None and self.durable > seen))

    def wait_opened(self) -> None:
        """Wait until the run is known, or the work is done."""
        with self._changed:
            self._changed.wait_for(lambda: self.future.done() or self.run is not None)

    def stop(self) -> None:
        """Stop the crawl at once; what is in flight stays queued. Does not wait."""
        with self._changed:
            self._stopping = True
            if self._engine is not None:
                loop, handle = self._engine
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(handle, Command.STOP_NOW)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end of the thread."""
        self._thread.join(timeout_s)

    def result(self) -> Result:
        """Wait for the result; an exception in the waiting thread, such as KeyboardInterrupt, stops the crawl."""
        try:
            return self.future.result()
        except BaseException:
            self.stop()
            self.join()
            raise


_RUNNING: WeakSet[BackgroundCrawl[Any]] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for crawl in list(_RUNNING):
        crawl.stop()
    for crawl in list(_RUNNING):
        crawl.join(EXIT_S)


async def result_of(crawl: BackgroundCrawl[Result]) -> Result:
    """Its result, without blocking the event loop; cancelling this stops the crawl and waits for its end."""
    done = asyncio.wrap_future(crawl.future)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        crawl.stop()
        await asyncio.wait((done,))
        done.exception()
        raise
