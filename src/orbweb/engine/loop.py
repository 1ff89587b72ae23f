"""The loop: lease -> fetch -> process -> commit. Read this file first.

Places are leased in order and fetched concurrently; a finished one waits in the window until every place before
it is committed (`Committer.commit`). So the result is a function of the site's responses, not of their timing.
The crawl ends exactly when nothing is queued and nothing is in flight, or when it may do no more; everything is
durable then. In relaxed order each site is a lane with an order of its own.

The engine decides when places are committed and units of work written. Which place is leased is decided in
`leasing`, how it gets its outcome in `in_flight`, what a response means in `responses`, what a visit means in
`commit`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from orbweb import urls
from orbweb.engine.control import Command
from orbweb.engine.in_flight import InFlight, InFlightSettings
from orbweb.engine.leasing import LeaseSettings, Leasing
from orbweb.engine.parts import EngineEvents, EngineParts
from orbweb.engine.window import Slot, Window
from orbweb.errors import OrbwebError
from orbweb.events import HostQueue, Snapshot
from orbweb.frontier import politeness
from orbweb.frontier.spool.source import Ahead
from orbweb.lifecycle import EndedBy
from orbweb.model import Outcome, Unchanged
from orbweb.store.rows import FAILED, VISITED, Ending

GRACE_S = 4.0
POLL_S = 0.2
HELD_UP = 4
"""A unit of work that fills 1/HELD_UP of the window holds up the crawl."""
SHOWN = 8
"""Hosts in a snapshot."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of the loop, of leasing and of places in flight."""

    leasing: LeaseSettings
    in_flight: InFlightSettings
    group_pages: int
    group_s: float
    defer_s: float
    only_plan: bool = False
    is_recrawl: bool = False


class Engine:
    """One crawl at work. Its fetcher and its pool report to `in_flight`."""

    def __init__(self, settings: EngineSettings, parts: EngineParts, events: EngineEvents) -> None:
        self._settings = settings
        self._parts = parts
        self._events = events
        self._committer = parts.committer
        self._batch = parts.committer.batch
        self._frontier = parts.frontier
        self._loop = asyncio.get_running_loop()
        self._window = Window()
        self._head: tuple[int, float] | None = None
        self._stalled: dict[str, int] = {}
        self._paused_by: str | None = None
        self._has_told_pause = False
        self._written = 0
        self._stop_at: float | None = None
        self._rules_at: float | None = None
        self._group_since: float | None = None
        self._polled_at = 0.0
        self._started = self._loop.time()
        self._paused_at: float | None = None  # time on hold moves _started on
        self._waker: asyncio.Future[None] | None = None
        self._failure: OrbwebError | None = None
        self.finish_requested = False
        self.in_flight = InFlight(settings.in_flight, parts, events, self._window, self.wake)
        self._leasing = Leasing(settings.leasing, parts, self.in_flight, self._window)

    async def run(self) -> Ending | None:
        """Crawl until nothing is left or a limit is reached; everything is durable when it returns.

        None: the rules changed, and the crawl continues with a new engine.
        """
        self._loop.set_exception_handler(self._on_fault)
        while True:
            if self._failure is not None:
                raise self._failure
            self._poll()
            self._commit_ready()
            self._defer_stalled()
            self.in_flight.processing.submit_waiting()
            ending = self._ending()
            if ending is not None and self._committer.end(ending):
                self._leasing.give_back_all()
                self._report_written()
                if self._parts.spool is not None:
                    self._parts.spool.mark()
                self._events.on_progress(self.snapshot())
                return ending
            if self._is_over(self._rules_at):
                self.in_flight.auxiliary.close()
                self._leasing.give_back_all()
                self._committer.flush()
                return None
            if self._stop_at is None and self._rules_at is None and not self._paused_by:
                if not self._batch.surveyed:
                    self.in_flight.auxiliary.begin_surveys()
                if self._leasing.pull_from_spool():
                    self._group_since = self._group_since or self._loop.time()
                self._leasing.fill()
                self.in_flight.revalidation.take_fresh()
            self._flush_if_due()
            self._report_written()
            await self._wait()

    def handle(self, command: Command) -> None:
        """Obey a command from a signal or a control file."""
        now = self._loop.time()
        if command is Command.RULES:
            self._rules_at = self._rules_at or now + GRACE_S
        elif command is Command.STOP_NOW:
            self._stop_at = now
        elif self._stop_at is None:
            self._stop_at = now + GRACE_S
            self.finish_requested = command is Command.FINISH
        self.wake()

    def adjust(self, *, workers: int, group_s: float, budget: int | None) -> None:
        """Change the limits of the running crawl."""
        self._settings = replace(self._settings, group_s=group_s)
        self._leasing.adjust(workers=workers, budget=budget)
        self.wake()

    def _on_fault(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """A callback raised: without this handler the crawl would wait forever for its result."""
        cause = context.get("exception")
        if isinstance(cause, OrbwebError):
            self.fail(cause)
            return
        error = OrbwebError(f"internal error: {cause or context['message']}")
        error.__cause__ = cause if isinstance(cause, BaseException) else None
        self.fail(error)

    def fail(self, error: OrbwebError) -> None:
        """End the crawl with this error."""
        self._failure = error
        self.wake()

    # Commit.

    def _commit_ready(self) -> None:
        self._committer.step()
        self.in_flight.touched |= self._committer.take_freed()
        while self.in_flight.touched and self._group_has_room():
            lane = self.in_flight.touched.pop()
            while (slot := self._ready_head(lane)) is not None and self._commit(slot):
                if self._group_since is None:
                    self._group_since = self._loop.time()
                if self._batch.unwritten >= self._settings.group_pages:
                    self._flush()
                if not self._group_has_room():
                    self.in_flight.touched.add(lane)
                    return

    def _commit(self, slot: Slot) -> bool:
        """Commit the head of its lane; False if a body must be processed or fetched first after all."""
        if isinstance(slot.outcome, Unchanged):
            if self._committer.commit_unchanged(slot.item, slot.outcome):
                self._window.pop(slot.item.lane)
                return True
            self.in_flight.revalidation.use_capture(slot, slot.outcome)
        outcome = slot.outcome
        if not isinstance(outcome, Outcome):
            return False
        if self._lacks_document(outcome):
            self.in_flight.revalidation.process_body(slot, outcome)
            return False
        self._window.pop(slot.item.lane)
        self._committer.commit(slot.item, outcome)
        return True

    def _lacks_document(self, outcome: Outcome) -> bool:
        """Whether an alternate of an earlier run, which has no document, becomes the page in this one."""
        processed = outcome.processed
        if processed is None or processed.document is not None or outcome.reused is None or not outcome.is_page:
            return False
        return not self._committer.has_page(processed.content_sha256)

    def _group_has_room(self) -> bool:
        if self._batch.is_large:
            self._flush()
        return not self._batch.is_large

    def _ready_head(self, lane: str) -> Slot | None:
        """The head of the lane, unless a redirect has put a place before it."""
        head = self._window.head(lane)
        if head is None or head.outcome is None or self._committer.is_begun(lane):
            return None
        return None if self._frontier.precedes(lane, head.place) else head

    def _flush(self) -> None:
        """Begin to write the unit of work, if the previous one is written and no page is committed in part."""
        may_end = not self._batch.queued and self._parts.spool is None
        if not may_end and self._committer.begin_flush():
            self._group_since = None

    def _report_written(self) -> None:
        """Let outputs and the spool catch up with the units that are durable."""
        if self._written != self._batch.written:
            self._written = self._batch.written
            self._events.on_written()
        if self._parts.spool is not None and not self._batch.store.is_writing:
            self._parts.spool.settle(self._batch.fed_durable, self._batch.is_settled)

    def _flush_if_due(self) -> None:
        """A unit of work collects changes for at most `group_s`; it is written sooner if it holds up the crawl."""
        if self._frontier.starved():
            self._committer.flush()
            self._group_since = None
            self.in_flight.touched.update(self._window.lanes())
            self._leasing.fill()
        if self._group_since is None:
            return
        if (
            self.in_flight.is_idle
            or self._is_held_up()
            or self._loop.time() - self._group_since >= self._settings.group_s
        ):
            self._flush()

    def _is_held_up(self) -> bool:
        """Whether the window is full because of the unit of work. When pages arrive faster than they are processed
        it is full as well, and writing then would make units tiny."""
        unwritten, window = self._batch.unwritten, self._leasing.settings.window
        return len(self._window) + unwritten >= window and (
            not self.in_flight.processing or unwritten * HELD_UP >= window
        )

    # Deferral: a head that cannot be fetched for a long time does not block the others.

    def _defer_stalled(self) -> None:
        """Move the head to a later place when its host has blocked the order for `defer_s`.

        Other places of that host that become the head meanwhile are moved at once. In relaxed order a host blocks
        only itself.
        """
        if self._leasing.settings.relaxed or self._committer.has_begun or self._paused_by:
            self._head = None
            return
        while (slot := self._waiting_head()) is not None:
            site, now = urls.site(slot.requested[-1]), self._parts.steady()
            due_at = self._stalled.get(site, 0)
            if due_at <= now:
                if self._head is None or self._head[0] != slot.ticket:
                    self._head = (slot.ticket, self._loop.time())
                if self._loop.time() - self._head[1] < self._settings.defer_s:
                    return
                due_at = self._stall(site, now)
            self.in_flight.retract(slot)
            self._committer.defer(slot.item, due_at)
            self._group_since = self._group_since or self._loop.time()
            self.in_flight.touched.add(slot.item.lane)
            self._commit_ready()

    def _waiting_head(self) -> Slot | None:
        """The head of the strict order, if it is its turn and its request is not sent yet."""
        head = self._window.head("")
        if head is None or not self.in_flight.waits(head):
            self._head = None
            return None
        return None if self._frontier.precedes("", head.place) else head

    def _stall(self, site: str, now: int) -> int:
        wait = max(self._parts.dispatcher.wait_for(site), round(self._settings.defer_s * politeness.SECOND))
        self._events.note(f"{site} is blocking the crawl; deferring its URLs for {wait / politeness.SECOND:.0f} s")
        self._stalled[site] = now + wait
        return now + wait

    # Waiting, and the end.

    def _ending(self) -> Ending | None:
        batch, budget, spool = self._batch, self._leasing.settings.budget, self._parts.spool
        if not batch.queued and batch.surveyed and not self._committer.has_begun:
            full = self._committer.scope.every_limit_reached
            return Ending(EndedBy.PAGE_LIMIT if full else EndedBy.EXHAUSTED)
        if spool is not None and spool.ahead is Ahead.NOTHING and not batch.queued and not self._stop_at:
            return Ending(EndedBy.DRAINED)
        if budget is not None and batch.crawl_settled >= budget and batch.queued:
            return Ending(EndedBy.BUDGET)
        if self._settings.only_plan and batch.surveyed:
            return Ending(EndedBy.BUDGET)
        return Ending(EndedBy.CANCELLED) if self._is_over(self._stop_at) else None

    def _is_over(self, at: float | None) -> bool:
        """Whether everything in flight is done, or the deadline has passed."""
        if at is None:
            return False
        return not (self.in_flight.fetching or self.in_flight.processing) or self._loop.time() >= at

    def _poll(self) -> None:
        now = self._loop.time()
        if now - self._polled_at < POLL_S:
            return
        self._polled_at = now
        self._frontier.wake()
        control = self._parts.control
        self._set_pause(control.paused() or next(filter(None, (brake() for brake in self._parts.brakes)), None))
        command = control.command()
        if command is not None:
            self.handle(command)
        self._events.on_progress(self.snapshot())

    def _set_pause(self, reason: str | None) -> None:
        """Begin or end a hold; the last snapshot before it, and the first after it, say so. What an earlier engine
        of the crawl said of a hold may be out of date, so the first poll always tells."""
        if reason == self._paused_by and self._has_told_pause:
            return
        begins, ends = reason and not self._paused_by, self._paused_by and not reason
        if begins or ends:
            self._events.note(f"paused: {reason}" if reason else "resumed")
            now = self._loop.time()
            if self._paused_at is not None:
                self._started += now - self._paused_at
            self._paused_at = now if reason else None
        self._paused_by = reason
        if begins:
            self._events.on_progress(self.snapshot())
        self._has_told_pause = True
        self._events.on_paused(reason)

    def wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    async def _wait(self) -> None:
        """Sleep until an event, or until a request, a unit of work or a poll of the control files is due."""
        self._waker = self._loop.create_future()
        timer = self._loop.call_later(self._wait_s(), self.wake)
        await self._waker
        self._waker = None
        timer.cancel()

    def _wait_s(self) -> float:
        fresh = self.in_flight.revalidation.fresh
        if self.in_flight.touched or self._committer.is_busy or (fresh and not self._paused_by):
            return 0.0
        if self._leasing.is_passing and not self._paused_by:
            return 0.0
        wait = POLL_S
        due = self._parts.dispatcher.wait_s()
        if (
            due is not None
            and self._stop_at is None
            and self._rules_at is None
            and not self._paused_by
            and self.in_flight.fetching < self._leasing.settings.workers
            and not self.in_flight.processing.is_full
        ):
            wait = min(wait, due)
        if self._group_since is not None:
            wait = min(wait, max(0.0, self._group_since + self._settings.group_s - self._loop.time()))
        return wait

    def snapshot(self) -> Snapshot:
        counts = self._batch.counts
        known = (VISITED, FAILED)
        skipped = sum(number for (state, _), number in counts.items() if state == "skipped")
        return Snapshot(
            visited=counts[known[0]],
            failed=counts[known[1]],
            queued=self._batch.queued,
            pages=self._batch.pages,
            skipped=skipped,
            settled=self._batch.crawl_settled,
            in_flight=self.in_flight.fetching,
            seconds=(self._paused_at or self._loop.time()) - self._started,
            budget=self._leasing.settings.budget,
            held=self._paused_by is not None,
            stopping=self._stop_at is not None,
            reused=self._batch.reused,
            held_by=self._paused_by,
            is_recrawl=self._settings.is_recrawl,
            in_progress=self.in_flight.in_progress(),
            slowest=self._slow_hosts(),
            workers=self._leasing.settings.workers,
            host_rate=self._parts.dispatcher.host_rate,
        )

    def _slow_hosts(self) -> tuple[HostQueue, ...]:
        """Hosts without a robots.txt first: nothing of them is requested."""
        without = {each.host: each for each in self._parts.robots.failing(SHOWN)}
        others = [each for each in self._parts.dispatcher.slowest(SHOWN) if each.host not in without]
        return (*without.values(), *others)
