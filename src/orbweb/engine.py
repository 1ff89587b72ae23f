"""The loop: lease -> fetch -> digest -> commit. Read this file first.

Places are leased in order and fetched concurrently; a finished one waits in the window until every place
before it is committed (`Ledger.settle`). So the result is a function of the site's answers, not of their
timing. Always holds: at most `window` places are leased and not yet durable, plus the head of each lane;
leases never exceed what is left of the budget or of a page limit; with scores no place is leased before the depth
above it is committed; the crawl ends exactly when nothing is queued and nothing is under way. In relaxed order
each site is a lane with an order of its own.

The engine decides when; what an answer means is decided in `answers`, what a visit means in `ledger`.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orbweb import politeness, traps, urls
from orbweb.answers import BUSY, Again, Anew, Follow, Read, Reread, Settle, Wait, next_step, to_read
from orbweb.brakes import Brake
from orbweb.control import Command, ControlFiles
from orbweb.digest import Job
from orbweb.dispatch import Dispatcher
from orbweb.errands import Errands
from orbweb.errors import OrbwebError, StoreError
from orbweb.events import Snapshot
from orbweb.feed import Ahead, Feed
from orbweb.fetch import ANYTHING, PAGE, STYLE, Fetcher, Want
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.gate import Ask, Gate, Known
from orbweb.ledger import Ledger
from orbweb.lifecycle import EndedBy
from orbweb.model import (
    Capture,
    Digest,
    Failed,
    Fetched,
    Item,
    Outcome,
    Refused,
    Resources,
    Reuse,
    Reused,
    Role,
)
from orbweb.pool import Pool
from orbweb.reuse import Shelf, confirmed, taken
from orbweb.store import FAILED, VISITED, Ending
from orbweb.survey import Survey
from orbweb.urls import UrlRules
from orbweb.window import Slot, Window

GRACE_S = 4.0
POLL_S = 0.2
BACKLOG_BYTES = 16_000_000
"""Ordinary bodies that may wait to be read: more keep nobody busier."""
ORDINARY_BYTES = 1_000_000
"""A larger body counts as one of this size: it takes its time, and must not keep others from being asked for."""
PROBES = 64
HELD_UP = 4
"""A group that takes one part in so many of a full window holds up the work."""
WAIT_BASE_S = 1.0
WAIT_CAP_S = 15.0
SHOWN_WAIT_S = 1.0
TAKEN_AT_ONCE = 32
WANTED = {Resources.OFF: PAGE, Resources.CHECK: STYLE, Resources.STORE: ANYTHING}


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings the loop itself needs."""

    workers: int
    window: int
    window_bytes: int
    group_pages: int
    group_s: float
    budget: int | None
    tries: int
    backoff_s: float
    backoff_cap_s: float
    waits: int
    longest_wait_s: float
    defer_s: float
    url_rules: UrlRules
    resources: Resources
    relaxed: bool
    by_level: bool = False
    only_plan: bool = False


class Engine:
    """One crawl at work. Also the listener of its fetcher and its pool."""

    def __init__(
        self,
        settings: EngineSettings,
        *,
        ledger: Ledger,
        frontier: SqliteFrontier,
        dispatcher: Dispatcher,
        gate: Gate,
        survey: Survey | None,
        shelf: Shelf,
        control: ControlFiles,
        clock: Callable[[], int],
        brakes: Sequence[Brake],
        on_progress: Callable[[Snapshot], None],
        note: Callable[[str], None],
        on_written: Callable[[], None],
        on_held: Callable[[str | None], None],
        feed: Feed | None = None,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._frontier = frontier
        self._dispatcher = dispatcher
        self._gate = gate
        self._shelf = shelf
        self._control = control
        self._clock = clock
        self._brakes = brakes
        self._on_progress = on_progress
        self._note = note
        self._on_written = on_written
        self._on_held = on_held
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        self._window = Window()
        self._touched: set[str] = set()
        self._unfinished: Counter[str] = Counter()
        self._rotation: deque[str] = deque()
        self._head: tuple[int, float] | None = None
        self._stalled: dict[str, int] = {}
        self._fresh: deque[Slot] = deque()
        self._slowed: set[str] = set()
        self._next_ticket = 0
        self._fetching = 0
        self._digesting: dict[int, int] = {}
        self._backlog = self._ordinary = 0
        self._held: str | None = None
        self._groups = 0
        self._stop_at: float | None = None
        self._rules_at: float | None = None
        self._group_since: float | None = None
        self._polled_at = 0.0
        self._started = self._loop.time()
        self._waker: asyncio.Future[None] | None = None
        self._broken: OrbwebError | None = None
        self._errands = Errands(
            self,
            gate=gate,
            survey=survey,
            ledger=ledger,
            dispatcher=dispatcher,
            url_rules=settings.url_rules,
        )
        self.finish_asked = False

    def attach(self, fetcher: Fetcher, pool: Pool) -> None:
        """Fetcher and pool report to this engine, so they are made after it."""
        self._fetcher = fetcher
        self._pool = pool

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
            ending = self._ending()
            if ending is not None:
                self._give_back_all()
                self._ledger.flush(ending)
                self._tell_written()
                self._on_progress(self.snapshot())
                return ending
            if self._is_over(self._rules_at):
                self._errands.close()
                self._give_back_all()
                self._ledger.flush()
                return None
            if self._stop_at is None and self._rules_at is None and not self._held:
                self._errands.begin_surveys()
                self._draw()
                self._fill()
                self._take_fresh()
            self._flush_if_due()
            self._tell_written()
            await self._wait()

    # What others tell the engine.

    def tell(self, command: Command) -> None:
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
        self._settings = replace(self._settings, workers=workers, group_s=group_s, budget=budget)
        self.wake()

    def _on_fault(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """A callback raised: without this the crawl would wait for ever for what it never reported."""
        error = OrbwebError(f"internal error: {context.get('exception') or context['message']}")
        cause = context.get("exception")
        error.__cause__ = cause if isinstance(cause, BaseException) else None
        self.broke(error)

    def broke(self, error: OrbwebError) -> None:
        """A part cannot go on: the crawl ends with this error."""
        self._broken = error
        self.wake()

    def sent(self, ticket: int) -> None:
        self._dispatcher.sent(ticket)

    def answered(self, ticket: int, answer: Fetched | Failed) -> None:
        """The fetcher is done with a ticket."""
        self._fetching -= 1
        left_at = self._dispatcher.done(ticket)
        if isinstance(answer, Fetched):
            self._heed(answer, left_at)
        self.wake()
        slot = self._window.get(ticket)
        if slot is None:
            self._errands.answered(ticket, answer)
            return
        slot.under_way = False
        slot.fetched_at = self._clock()
        self._advance(slot, answer)

    def _heed(self, answer: Fetched, left_at: int) -> None:
        """Slow down for a host that is busy and leave it alone as long as it asks; speed up when it is well."""
        site = urls.site(answer.url)
        if answer.status not in BUSY:
            self._dispatcher.fine(site)
            return
        asked = politeness.retry_after(answer.retry_after, self._clock() / politeness.SECOND) or 0.0
        wait = min(asked, self._settings.longest_wait_s)
        longer = self._dispatcher.busy(site, left_at, round(wait * politeness.SECOND))
        if site not in self._slowed and wait < SHOWN_WAIT_S:
            self._note(f"{site} answers {answer.status}: it is asked half as often, until it answers well again")
        self._slowed.add(site)
        if longer and wait >= SHOWN_WAIT_S:
            cut = f", cut to {wait:g} s (fetch.max_retry_after_s)" if wait < asked else ""
            self._note(f"{site} answers {answer.status} and asks for a pause of {asked:.6g} s (Retry-After){cut}")

    def digested(self, ticket: int, digest: Digest | Failed) -> None:
        """The pool is done with a page."""
        size = self._digesting.pop(ticket)
        self._backlog -= size
        self._ordinary -= min(size, ORDINARY_BYTES)
        self.wake()
        slot = self._window.get(ticket)
        if slot is None:
            return
        if isinstance(digest, Failed):
            proxy = slot.answer.proxy if slot.answer is not None else None
            self._finish(slot, Settle(replace(digest, proxy=proxy)))
        elif slot.answer is not None:
            self._finish(slot, Settle(slot.answer), digest)

    # The life of a slot.

    def _advance(self, slot: Slot, answer: Fetched | Failed) -> None:
        slot.tries += 1
        step = next_step(
            answer,
            key=slot.item.key,
            asked=slot.asked,
            tries_left=self._settings.tries - slot.tries,
            waits_left=self._settings.waits - slot.waits,
            rules=self._settings.url_rules,
            resources=self._settings.resources,
            capture=_asked_about(slot),
        )
        match step:
            case Again():
                self._try_later(slot, slot.tries, self._settings.backoff_s, self._settings.backoff_cap_s)
            case Wait():
                slot.tries -= 1
                slot.waits += 1
                self._try_later(slot, slot.waits, WAIT_BASE_S, WAIT_CAP_S)
            case Follow(url):
                slot.asked = (*slot.asked, url)
                slot.tries = 0
                self._pass_gate(slot)
            case Read(body, is_page) if isinstance(answer, Fetched):
                self._digest(slot, answer, body, is_page=is_page)
            case Reread(capture) if isinstance(answer, Fetched):
                self._reread(slot, confirmed(answer, capture), capture, Reuse.NOT_MODIFIED)
            case Anew():
                self._ask_anew(slot)
            case Settle():
                self._finish(slot, step)

    def _digest(self, slot: Slot, answer: Fetched, body: bytes, *, is_page: bool) -> None:
        slot.answer = answer
        slot.is_page = is_page
        self._digesting[slot.ticket] = len(body)
        self._backlog += len(body)
        self._ordinary += min(len(body), ORDINARY_BYTES)
        self._pool.submit(Job(slot.ticket, answer.url, answer.content_type, body, answer.robots_tags))

    def _try_later(self, slot: Slot, times: int, base_s: float, cap_s: float) -> None:
        delay = politeness.backoff(times, base_s=base_s, cap_s=cap_s, jitter=random.random())  # noqa: S311
        slot.timer = self._loop.call_later(delay, self._queue, slot)

    def _queue(self, slot: Slot) -> None:
        slot.timer = None
        self._dispatcher.add(slot.ticket, urls.site(slot.asked[-1]), slot.place)
        self.wake()

    # What earlier runs captured.

    def _ask(self, slot: Slot) -> None:
        """Queue the slot, unless an earlier run has captured it so lately that nothing has to be asked."""
        if not slot.looked:
            slot.looked = True
            slot.offer = self._shelf.offer(slot.item.key)
            if slot.offer is not None and slot.offer.is_fresh:
                slot.under_way = True
                self._fresh.append(slot)
                return
        self._queue(slot)

    def _take_fresh(self) -> None:
        """Take some of what is fresh; the rest has its turn when sockets and signals had theirs."""
        for _ in range(min(TAKEN_AT_ONCE, len(self._fresh))):
            slot = self._fresh.popleft()
            if slot.offer is not None and self._window.get(slot.ticket) is slot:
                capture = slot.offer.capture
                slot.under_way, slot.fetched_at = False, capture.fetched_at
                self._reread(slot, taken(capture), capture, Reuse.CACHED)

    def _reread(self, slot: Slot, answer: Fetched, capture: Capture, how: Reuse) -> None:
        """Settle the slot with what was read out of the captured body; where rules have changed, read it again."""
        slot.reuse = how
        known = answer.robots_tags == capture.robots_tags
        try:
            digest = self._shelf.captures.digest(capture) if known else None
        except StoreError as error:
            self._give_up(slot, error)
            return
        if capture.role is Role.ALTERNATE and traps.needs_sketch(answer.url):
            digest = None
        if digest is None and capture.body_sha256 is not None:
            self._reread_body(slot, answer, capture)
        elif known:
            slot.is_page = capture.role is not Role.NONE
            self._finish(slot, Settle(answer), digest)
        else:
            self._ask_anew(slot)

    def _reread_body(self, slot: Slot, answer: Fetched, capture: Capture) -> None:
        try:
            body = self._shelf.captures.body(capture) or b""
        except StoreError as error:
            self._give_up(slot, error)
            return
        step = to_read(answer, body, self._settings.resources)
        if isinstance(step, Read):
            self._digest(slot, answer, body, is_page=step.is_page)
        else:
            self._finish(slot, step)

    def _give_up(self, slot: Slot, error: StoreError) -> None:
        self._note(f"{slot.item.url} is fetched again: {error}; `orbweb doctor` tells more")
        self._ask_anew(slot)

    def _lacks_document(self, outcome: Outcome) -> bool:
        """Whether an alternate of an earlier run, which has no document, is to be the page now."""
        digest = outcome.digest
        if digest is None or digest.document is not None or outcome.reused is None or not outcome.is_page:
            return False
        return not self._ledger.has_page(digest.content_sha256)

    def _read_after_all(self, slot: Slot, outcome: Outcome) -> None:
        """The place keeps its turn until its body is read."""
        self._window.release(slot)
        self._unfinished[slot.item.lane] += 1
        if isinstance(outcome.answer, Fetched) and slot.offer is not None:
            self._reread_body(slot, outcome.answer, slot.offer.capture)

    def _ask_anew(self, slot: Slot) -> None:
        """The capture is of no use after all: ask as if there were none."""
        slot.offer = slot.reuse = None
        slot.tries = 0
        self._queue(slot)

    # robots.txt, asked for before the first page of an origin.

    def _pass_gate(self, slot: Slot) -> None:
        """Let the slot through, settle it as refused, or let it wait for the rules of its origin."""
        verdict = self._gate.judge(slot.ticket, slot.asked[-1])
        if isinstance(verdict, Refused):
            slot.fetched_at = self._clock()
            self._finish(slot, Settle(verdict))
        elif isinstance(verdict, Ask):
            self._errands.act(verdict)
        elif verdict:
            self._ask(slot)

    def rules_known(self, known: Known) -> None:
        """The places that waited for the rules of an origin are judged, or fail with its server."""
        for slot in filter(None, map(self._window.get, known.waiting)):
            if known.failed is None:
                self._pass_gate(slot)
            else:
                slot.tries, slot.fetched_at = known.tries, self._clock()
                self._finish(slot, Settle(known.failed))

    def _finish(self, slot: Slot, step: Settle, digest: Digest | None = None) -> None:
        answer = step.answer
        if isinstance(answer, Fetched) and answer.body is not None:
            answer = answer._replace(body=None)
        slot.answer = None
        reused = Reused(slot.reuse, slot.offer.capture.run_id) if slot.reuse and slot.offer else None
        slot.outcome = Outcome(
            max(slot.tries + slot.waits, 1), slot.fetched_at, answer, digest, slot.is_page, step.redirect, reused
        )
        self._window.hold(slot)
        self._unfinished[slot.item.lane] -= 1
        self._touched.add(slot.item.lane)

    # Commit.

    def _commit_ready(self) -> None:
        self._ledger.go_on()
        self._touched |= self._ledger.freed()
        while self._touched and self._group_has_room():
            lane = self._touched.pop()
            while (slot := self._ready_head(lane)) is not None and slot.outcome is not None:
                if self._lacks_document(slot.outcome):
                    self._read_after_all(slot, slot.outcome)
                    break
                self._window.pop(lane)
                self._ledger.settle(slot.item, slot.outcome)
                if self._group_since is None:
                    self._group_since = self._loop.time()
                if self._ledger.unwritten >= self._settings.group_pages:
                    self._flush()
                if not self._group_has_room():
                    self._touched.add(lane)
                    return

    def _group_has_room(self) -> bool:
        if self._ledger.is_large:
            self._flush()
        return not self._ledger.is_large

    def _ready_head(self, lane: str) -> Slot | None:
        """The head of the lane if its turn has come: a redirect may have put a place before it."""
        head = self._window.head(lane)
        if head is None or head.outcome is None or self._ledger.settles(lane):
            return None
        return None if self._frontier.precedes(lane, head.place) else head

    def _flush(self) -> None:
        """Begin to write the group, if the one before is written and no page is in the middle of its commit."""
        may_end = not self._ledger.queued and self._feed is None
        if not may_end and self._ledger.begin_flush():
            self._group_since = None

    def _tell_written(self) -> None:
        """Those who follow the run do so after each group that is durable."""
        if self._groups != self._ledger.groups:
            self._groups = self._ledger.groups
            self._on_written()
        if self._feed is not None:
            self._feed.safe(self._ledger.fed_durable)

    def _flush_if_due(self) -> None:
        """A group waits for more only as long as its time, and never while it holds up the work."""
        if self._frontier.starved():
            self._ledger.flush()
            self._group_since = None
            self._touched.update(self._window.lanes())
            self._fill()
        if self._group_since is None:
            return
        idle = not self._fetching and not self._digesting and not self._fresh
        if idle or self._is_held_up() or self._loop.time() - self._group_since >= self._settings.group_s:
            self._flush()

    def _is_held_up(self) -> bool:
        """Whether the window is full because of the group. It is also full when pages come in faster than they are
        read: written for each of them, groups would be tiny."""
        unwritten, window = self._ledger.unwritten, self._settings.window
        return len(self._window) + unwritten >= window and (not self._digesting or unwritten * HELD_UP >= window)

    # A head that cannot be settled for a long time does not hold up the others.

    def _defer_stalled(self) -> None:
        """Give the head of the order a later turn when its host has kept everyone waiting for `defer_s`.

        Places of that host that become the head meanwhile follow it at once. In relaxed order a host holds up
        nobody but itself.
        """
        if self._settings.relaxed or self._ledger.is_settling or self._held:
            self._head = None
            return
        while (slot := self._waiting_head()) is not None:
            site, now = urls.site(slot.asked[-1]), self._clock()
            due_at = self._stalled.get(site, 0)
            if due_at <= now:
                if self._head is None or self._head[0] != slot.ticket:
                    self._head = (slot.ticket, self._loop.time())
                if self._loop.time() - self._head[1] < self._settings.defer_s:
                    return
                due_at = self._stall(site, now)
            self._retract(slot)
            self._ledger.defer(slot.item, due_at)
            self._group_since = self._group_since or self._loop.time()
            self._touched.add(slot.item.lane)
            self._commit_ready()

    def _waiting_head(self) -> Slot | None:
        """The head of the strict order, if it is its turn and it waits for leave to be sent."""
        head = self._window.head("")
        if head is None or head.outcome is not None or head.under_way or head.ticket in self._digesting:
            self._head = None
            return None
        return None if self._frontier.precedes("", head.place) else head

    def _stall(self, site: str, now: int) -> int:
        wait = max(self._dispatcher.wait_for(site), round(self._settings.defer_s * politeness.SECOND))
        self._note(f"{site} keeps everyone waiting: its URLs are deferred for {wait / politeness.SECOND:.0f} s")
        self._stalled[site] = now + wait
        return now + wait

    # Lease and send.

    def _draw(self) -> None:
        """Take lines of the spool while few URLs are queued; after the last of them the run has all there is."""
        if self._feed is None or not self._ledger.is_fed_now:
            return
        room = self._settings.window - self._ledger.queued
        lines = self._feed.draw(room) if room >= self._settings.window // 4 else []
        if not lines and self._feed.ahead is Ahead.OVER and self._ledger.is_fed_durable:
            lines = self._feed.lost()
            if not lines:
                self._ledger.end_feed()
        if lines:
            self._ledger.feed(lines)
            self._group_since = self._group_since or self._loop.time()

    def _fill(self) -> None:
        while self._fetching < self._settings.workers and not self._has_backlog():
            ticket = self._dispatcher.take()
            if ticket is not None:
                self._send(ticket)
            elif not self._lease_one():
                return

    def _has_backlog(self) -> bool:
        return self._backlog >= self._settings.window_bytes or self._ordinary >= BACKLOG_BYTES

    def _send(self, ticket: int) -> None:
        slot = self._window.get(ticket)
        request = self._errands.request(ticket)
        if slot is not None:
            slot.under_way = True
            request = slot.asked[-1], _wanted(slot, self._settings.resources)
        if request is not None:
            self._fetching += 1
            self._fetcher.start(ticket, *request)

    def _lease_one(self) -> bool:
        if not self._settings.relaxed:
            return self._lease_from("")
        for _ in range(PROBES):
            if not self._rotation:
                self._rotation.extend(self._open_lanes())
                if not self._rotation:
                    return False
            if self._lease_from(self._rotation.popleft()):
                return True
        return False

    def _lease_from(self, lane: str) -> bool:
        item = self._frontier.next(lane)
        if item is None or not self._ledger.is_ripe(item):
            return False
        head = self._window.head(lane)
        is_head = head is None or (item.depth, item.rank) < head.place
        if self._settings.by_level and not self._is_begun(item, head):
            return False
        if not self._has_room(item, is_head=is_head):
            return False
        self._frontier.lease(lane)
        slot = Slot(item, self.ticket())
        self._window.add(slot)
        self._unfinished[lane] += 1
        self._pass_gate(slot)
        return True

    def _is_begun(self, item: Item, head: Slot | None) -> bool:
        """With scores a level begins when the one before is committed: until then better places may come in."""
        return not self._ledger.settles(item.lane) if head is None else item.depth <= head.item.depth

    def _open_lanes(self) -> list[str]:
        """The lanes worth a try: at the outset many wait for base URLs that are not settled."""
        lanes = list(self._frontier.lanes())
        if self._ledger.surveyed:
            return lanes
        heads = ((lane, self._frontier.next(lane)) for lane in lanes)
        return [lane for lane, item in heads if item is not None and self._ledger.is_ripe(item)]

    def ticket(self) -> int:
        self._next_ticket += 1
        return self._next_ticket

    def _has_room(self, item: Item, *, is_head: bool) -> bool:
        """The head of a lane always gets in: a place behind it makes room where something must be exact."""
        if not is_head and self._crowded(item.lane):
            return False
        budget_left = self._budget_left()
        if budget_left is not None and budget_left <= 0 and not (is_head and self._evict(item.lane, None)):
            return False
        room = self._ledger.page_room(item.base)
        if room is None or room > self._window.by_base[item.base]:
            return True
        return is_head and self._evict(item.lane, item.base)

    def _crowded(self, lane: str) -> bool:
        settings = self._settings
        if len(self._window) + self._ledger.unwritten >= settings.window:
            return True
        if self._window.bytes >= settings.window_bytes:
            return True
        return settings.relaxed and self._unfinished[lane] >= self._share()

    def _share(self) -> int:
        """Workers that one lane may keep busy in relaxed order, so that a slow host cannot take them all."""
        return -(-self._settings.workers // max(1, self._frontier.lane_count()))

    def _budget_left(self) -> int | None:
        if self._settings.budget is None:
            return None
        return self._settings.budget - self._ledger.crawl_settled - len(self._window)

    def _evict(self, lane: str, base: int | None) -> bool:
        """Give the latest lease back in favour of an earlier place."""
        slot = self._window.last(lane, base)
        if slot is None:
            return False
        self._give_back(slot)
        return True

    def _give_back(self, slot: Slot) -> None:
        self._retract(slot)
        self._frontier.give_back(slot.item)

    def _retract(self, slot: Slot) -> None:
        """Take the slot out of the window, and out of everything that would send it."""
        if slot.timer is not None:
            slot.timer.cancel()
        if slot.outcome is None:
            self._unfinished[slot.item.lane] -= 1
        self._window.remove(slot)
        self._dispatcher.discard(slot.ticket)

    def _give_back_all(self) -> None:
        self._fetcher.cancel_all()
        for slot in self._window.slots():
            self._give_back(slot)

    # The end, and waiting for it.

    def _ending(self) -> Ending | None:
        ledger, budget = self._ledger, self._settings.budget
        if not ledger.queued and ledger.surveyed and not ledger.is_settling and not ledger.readmit_waiting():
            return Ending(EndedBy.PAGE_LIMIT if ledger.every_limit_reached else EndedBy.EXHAUSTED)
        if (
            self._feed is not None
            and self._feed.ahead is Ahead.NOTHING
            and not ledger.queued
            and not self._stop_at
        ):
            return Ending(EndedBy.DRAINED)
        if budget is not None and ledger.crawl_settled >= budget and ledger.queued:
            return Ending(EndedBy.BUDGET)
        if self._settings.only_plan and ledger.surveyed:
            return Ending(EndedBy.BUDGET)
        return Ending(EndedBy.CANCELLED) if self._is_over(self._stop_at) else None

    def _is_over(self, at: float | None) -> bool:
        """Whether what is under way is done, or has had its time."""
        if at is None:
            return False
        return not (self._fetching or self._digesting) or self._loop.time() >= at

    def _poll(self) -> None:
        now = self._loop.time()
        if now - self._polled_at < POLL_S:
            return
        self._polled_at = now
        self._frontier.wake()
        self._hold(self._control.paused() or next(filter(None, (brake() for brake in self._brakes)), None))
        command = self._control.asked()
        if command is not None:
            self.tell(command)
        self._on_progress(self.snapshot())

    def _hold(self, reason: str | None) -> None:
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
        if self._touched or self._ledger.is_busy or (self._fresh and not self._held):
            return 0.0
        wait = POLL_S
        due = self._dispatcher.wait_s()
        if (
            due is not None
            and self._stop_at is None
            and self._rules_at is None
            and not self._held
            and self._fetching < self._settings.workers
        ):
            wait = min(wait, due)
        if self._group_since is not None:
            wait = min(wait, max(0.0, self._group_since + self._settings.group_s - self._loop.time()))
        return wait

    def snapshot(self) -> Snapshot:
        counts = self._ledger.counts
        known = (VISITED, FAILED)
        skipped = sum(number for (state, _), number in counts.items() if state == "skipped")
        return Snapshot(
            visited=counts[known[0]],
            failed=counts[known[1]],
            queued=self._ledger.queued,
            pages=self._ledger.pages,
            skipped=skipped,
            settled=self._ledger.crawl_settled,
            in_flight=self._fetching,
            seconds=self._loop.time() - self._started,
            budget=self._settings.budget,
            held=self._held is not None,
            stopping=self._stop_at is not None,
            reused=self._ledger.reused,
            held_by=self._held,
        )


def _asked_about(slot: Slot) -> Capture | None:
    """The capture that a request for the slot names as known: validators are for the very URL that gave them."""
    offer = slot.offer
    return (
        offer.capture if offer is not None and offer.validators and offer.capture.url == slot.asked[-1] else None
    )


def _wanted(slot: Slot, resources: Resources) -> Want:
    want = WANTED[resources]
    if slot.offer is None or _asked_about(slot) is None:
        return want
    return want._replace(unless=slot.offer.validators)
