"""The loop: lease -> fetch -> processed -> commit. Read this file first.

Places are leased in order and fetched concurrently; a finished one waits in the window until every place before
it is committed (`Ledger.settle`). So the result is a function of the site's answers, not of their timing.
Always holds: the crawl ends exactly when nothing is queued and nothing is under way, or when it may do no more;
everything is durable then. In relaxed order each site is a lane with an order of its own.

The engine decides when places are committed and groups written. Which place is leased is decided in `leasing`,
how it gets its outcome in `passage`, what an answer means in `answers`, what a visit means in `ledger`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orbweb import urls
from orbweb.engine.backpressure import Brake
from orbweb.engine.batch import Batch
from orbweb.engine.commit import Committer
from orbweb.engine.control import Command, ControlFiles
from orbweb.engine.in_flight import InFlight, InFlightSettings
from orbweb.engine.leasing import LeaseSettings, Leasing
from orbweb.engine.robots_gate import RobotsGate
from orbweb.engine.scope import ScopeTracker
from orbweb.engine.sitemaps import SitemapReader
from orbweb.engine.window import Slot, Window
from orbweb.errors import OrbwebError
from orbweb.events import Snapshot
from orbweb.fetching.revalidation import Revalidator
from orbweb.frontier import politeness
from orbweb.frontier.dispatch import Dispatcher
from orbweb.frontier.spool.source import Ahead, SpoolSource
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.lifecycle import EndedBy
from orbweb.model import Outcome, Unchanged
from orbweb.store import FAILED, VISITED, Ending

GRACE_S = 4.0
POLL_S = 0.2
HELD_UP = 4
"""A group that takes one part in so many of a full window holds up the work."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of the loop itself, and of leasing and of the passage of places."""

    leasing: LeaseSettings
    in_flight: InFlightSettings
    group_pages: int
    group_s: float
    defer_s: float
    only_plan: bool = False


class Engine:
    """One crawl at work. Its fetcher and its pool report to `passage`."""

    def __init__(
        self,
        settings: EngineSettings,
        *,
        books: Batch,
        scopes: ScopeTracker,
        ledger: Committer,
        frontier: SqliteFrontier,
        dispatcher: Dispatcher,
        gate: RobotsGate,
        survey: SitemapReader | None,
        shelf: Revalidator,
        control: ControlFiles,
        clock: Callable[[], int],
        steady: Callable[[], int],
        brakes: Sequence[Brake],
        on_progress: Callable[[Snapshot], None],
        note: Callable[[str], None],
        on_written: Callable[[], None],
        on_held: Callable[[str | None], None],
        feed: SpoolSource | None = None,
    ) -> None:
        self._settings = settings
        self._books = books
        self._scopes = scopes
        self._ledger = ledger
        self._frontier = frontier
        self._dispatcher = dispatcher
        self._control = control
        self._steady = steady
        self._brakes = brakes
        self._on_progress = on_progress
        self._note = note
        self._on_written = on_written
        self._on_held = on_held
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        self._window = Window()
        self._head: tuple[int, float] | None = None
        self._stalled: dict[str, int] = {}
        self._held: str | None = None
        self._groups = 0
        self._stop_at: float | None = None
        self._rules_at: float | None = None
        self._group_since: float | None = None
        self._polled_at = 0.0
        self._started = self._loop.time()
        self._waker: asyncio.Future[None] | None = None
        self._broken: OrbwebError | None = None
        self.finish_asked = False
        self.in_flight = InFlight(
            settings.in_flight,
            window=self._window,
            dispatcher=dispatcher,
            gate=gate,
            survey=survey,
            shelf=shelf,
            books=books,
            scopes=scopes,
            clock=clock,
            note=note,
            wake=self.wake,
        )
        self._leasing = Leasing(
            settings.leasing,
            in_flight=self.in_flight,
            window=self._window,
            frontier=frontier,
            books=books,
            scopes=scopes,
            dispatcher=dispatcher,
            feed=feed,
        )

    async def run(self) -> Ending | None:
        """Work until there is nothing left, or nothing more may be done; everything is then durable.

        None: the crawl is to go on by other rules, with another engine.
        """
        self._loop.set_exception_handler(self._on_fault)
        while True:
            if self._broken is not None:
                raise self._broken
            self._poll()
            self._commit_ready()
            self._defer_stalled()
            self.in_flight.read_more()
            ending = self._ending()
            if ending is not None and self._ledger.end(ending):
                self._leasing.give_back_all()
                self._report_written()
                self._on_progress(self.snapshot())
                return ending
            if self._is_over(self._rules_at):
                self.in_flight.auxiliary.close()
                self._leasing.give_back_all()
                self._books.flush()
                return None
            if self._stop_at is None and self._rules_at is None and not self._held:
                self.in_flight.auxiliary.begin_surveys()
                if self._leasing.pull_from_spool():
                    self._group_since = self._group_since or self._loop.time()
                self._leasing.fill()
                self.in_flight.take_fresh()
            self._flush_if_due()
            self._report_written()
            await self._wait()

    def handle(self, command: Command) -> None:
        """A command from a signal or a control file."""
        now = self._loop.time()
        if command is Command.RULES:
            self._rules_at = self._rules_at or now + GRACE_S
        elif command is Command.STOP_NOW:
            self._stop_at = now
        elif self._stop_at is None:
            self._stop_at = now + GRACE_S
            self.finish_asked = command is Command.FINISH
        self.wake()

    def adjust(self, *, workers: int, group_s: float, budget: int | None) -> None:
        """Go on with other limits."""
        self._settings = replace(self._settings, group_s=group_s)
        self._leasing.adjust(workers=workers, budget=budget)
        self.wake()

    def _on_fault(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """A callback raised: without this the crawl would wait for ever for what it never reported."""
        error = OrbwebError(f"internal error: {context.get('exception') or context['message']}")
        cause = context.get("exception")
        error.__cause__ = cause if isinstance(cause, BaseException) else None
        self.fail(error)

    def fail(self, error: OrbwebError) -> None:
        """A part cannot go on: the crawl ends with this error."""
        self._broken = error
        self.wake()

    # Commit.

    def _commit_ready(self) -> None:
        self._books.step()
        self.in_flight.touched |= self._books.freed()
        while self.in_flight.touched and self._group_has_room():
            lane = self.in_flight.touched.pop()
            while (slot := self._ready_head(lane)) is not None and self._commit(slot):
                if self._group_since is None:
                    self._group_since = self._loop.time()
                if self._books.unwritten >= self._settings.group_pages:
                    self._flush()
                if not self._group_has_room():
                    self.in_flight.touched.add(lane)
                    return

    def _commit(self, slot: Slot) -> bool:
        """Commit the head of its lane; False where something is to be read or asked for first, after all."""
        if isinstance(slot.outcome, Unchanged):
            if self._ledger.take_over(slot.item, slot.outcome):
                self._window.pop(slot.item.lane)
                return True
            self.in_flight.reread(slot, slot.outcome)
        outcome = slot.outcome
        if not isinstance(outcome, Outcome):
            return False
        if self._lacks_document(outcome):
            self.in_flight.read_after_all(slot, outcome)
            return False
        self._window.pop(slot.item.lane)
        self._ledger.settle(slot.item, outcome)
        return True

    def _lacks_document(self, outcome: Outcome) -> bool:
        """Whether an alternate of an earlier run, which has no document, is to be the page now."""
        processed = outcome.processed
        if processed is None or processed.document is not None or outcome.reused is None or not outcome.is_page:
            return False
        return not self._ledger.has_page(processed.content_sha256)

    def _group_has_room(self) -> bool:
        if self._books.is_large:
            self._flush()
        return not self._books.is_large

    def _ready_head(self, lane: str) -> Slot | None:
        """The head of the lane if its turn has come: a redirect may have put a place before it."""
        head = self._window.head(lane)
        if head is None or head.outcome is None or self._books.settles(lane):
            return None
        return None if self._frontier.precedes(lane, head.place) else head

    def _flush(self) -> None:
        """Begin to write the group, if the one before is written and no page is in the middle of its commit."""
        may_end = not self._books.queued and self._feed is None
        if not may_end and self._books.begin_flush():
            self._group_since = None

    def _report_written(self) -> None:
        """Those who follow the run do so after each group that is durable."""
        if self._groups != self._books.groups:
            self._groups = self._books.groups
            self._on_written()
        if self._feed is not None:
            self._feed.safe(self._books.fed_durable)

    def _flush_if_due(self) -> None:
        """A group waits for more only as long as its time, and never while it holds up the work."""
        if self._frontier.starved():
            self._books.flush()
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
        """Whether the window is full because of the group. It is also full when pages come in faster than they are
        read: written for each of them, groups would be tiny."""
        unwritten, window = self._books.unwritten, self._leasing.settings.window
        return len(self._window) + unwritten >= window and (
            not self.in_flight.processing or unwritten * HELD_UP >= window
        )

    # A head that cannot be settled for a long time does not hold up the others.

    def _defer_stalled(self) -> None:
        """Give the head of the order a later turn when its host has kept everyone waiting for `defer_s`.

        Places of that host that become the head meanwhile follow it at once. In relaxed order a host holds up
        nobody but itself.
        """
        if self._leasing.settings.relaxed or self._books.is_settling or self._held:
            self._head = None
            return
        while (slot := self._waiting_head()) is not None:
            site, now = urls.site(slot.asked[-1]), self._steady()
            due_at = self._stalled.get(site, 0)
            if due_at <= now:
                if self._head is None or self._head[0] != slot.ticket:
                    self._head = (slot.ticket, self._loop.time())
                if self._loop.time() - self._head[1] < self._settings.defer_s:
                    return
                due_at = self._stall(site, now)
            self.in_flight.retract(slot)
            self._ledger.defer(slot.item, due_at)
            self._group_since = self._group_since or self._loop.time()
            self.in_flight.touched.add(slot.item.lane)
            self._commit_ready()

    def _waiting_head(self) -> Slot | None:
        """The head of the strict order, if it is its turn and it waits for leave to be sent."""
        head = self._window.head("")
        if head is None or not self.in_flight.waits(head):
            self._head = None
            return None
        return None if self._frontier.precedes("", head.place) else head

    def _stall(self, site: str, now: int) -> int:
        wait = max(self._dispatcher.wait_for(site), round(self._settings.defer_s * politeness.SECOND))
        self._note(f"{site} keeps everyone waiting: its URLs are deferred for {wait / politeness.SECOND:.0f} s")
        self._stalled[site] = now + wait
        return now + wait

    # The end, and waiting for it.

    def _ending(self) -> Ending | None:
        books, budget = self._books, self._leasing.settings.budget
        if not books.queued and books.surveyed and not books.is_settling:
            return Ending(EndedBy.PAGE_LIMIT if self._scopes.every_limit_reached else EndedBy.EXHAUSTED)
        if self._feed is not None and self._feed.ahead is Ahead.NOTHING and not books.queued and not self._stop_at:
            return Ending(EndedBy.DRAINED)
        if budget is not None and books.crawl_settled >= budget and books.queued:
            return Ending(EndedBy.BUDGET)
        if self._settings.only_plan and books.surveyed:
            return Ending(EndedBy.BUDGET)
        return Ending(EndedBy.CANCELLED) if self._is_over(self._stop_at) else None

    def _is_over(self, at: float | None) -> bool:
        """Whether what is under way is done, or has had its time."""
        if at is None:
            return False
        return not (self.in_flight.fetching or self.in_flight.processing) or self._loop.time() >= at

    def _poll(self) -> None:
        now = self._loop.time()
        if now - self._polled_at < POLL_S:
            return
        self._polled_at = now
        self._frontier.wake()
        self._set_pause(self._control.paused() or next(filter(None, (brake() for brake in self._brakes)), None))
        command = self._control.asked()
        if command is not None:
            self.handle(command)
        self._on_progress(self.snapshot())

    def _set_pause(self, reason: str | None) -> None:
        if reason == self._held:
            return
        if reason is None or self._held is None:
            self._note(f"held: {reason}" if reason else "going on")
        self._held = reason
        self._on_held(reason)

    def wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    async def _wait(self) -> None:
        """Sleep until something was reported, a request is due, a group is, or control files are."""
        self._waker = self._loop.create_future()
        timer = self._loop.call_later(self._wait_s(), self.wake)
        await self._waker
        self._waker = None
        timer.cancel()

    def _wait_s(self) -> float:
        if self.in_flight.touched or self._books.is_busy or (self.in_flight.fresh and not self._held):
            return 0.0
        wait = POLL_S
        due = self._dispatcher.wait_s()
        if (
            due is not None
            and self._stop_at is None
            and self._rules_at is None
            and not self._held
            and self.in_flight.fetching < self._leasing.settings.workers
            and not self.in_flight.has_backlog()
        ):
            wait = min(wait, due)
        if self._group_since is not None:
            wait = min(wait, max(0.0, self._group_since + self._settings.group_s - self._loop.time()))
        return wait

    def snapshot(self) -> Snapshot:
        counts = self._books.counts
        known = (VISITED, FAILED)
        skipped = sum(number for (state, _), number in counts.items() if state == "skipped")
        return Snapshot(
            visited=counts[known[0]],
            failed=counts[known[1]],
            queued=self._books.queued,
            pages=self._books.pages,
            skipped=skipped,
            settled=self._books.crawl_settled,
            in_flight=self.in_flight.fetching,
            seconds=self._loop.time() - self._started,
            budget=self._leasing.settings.budget,
            held=self._held is not None,
            stopping=self._stop_at is not None,
            reused=self._books.reused,
            held_by=self._held,
        )
