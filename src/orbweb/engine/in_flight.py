"""The way of a leased place to its outcome: past robots.txt, to a server and back, through a worker.

Owns what is under way: requests, bodies that are read, places that are tried again later, and the tickets that
name them. Where an earlier run captured the URL it is asked for conditionally, or not at all. Always holds: a
place that is begun has its outcome some time, unless it is retracted; the lane of one that has is in `touched`.
What an answer means is decided in `answers`; when places are leased and committed, in `leasing` and `engine`.
"""

from __future__ import annotations

import asyncio
import bisect
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from orbweb import urls
from orbweb.engine.auxiliary import RESENDS, AuxiliaryRequests
from orbweb.engine.batch import Batch
from orbweb.engine.responses import (
    BUSY,
    Finish,
    Follow,
    Process,
    Resend,
    Retry,
    Unconditional,
    UseCapture,
    Wait,
    next_step,
    spoilt,
    to_read,
)
from orbweb.engine.robots_gate import FetchRobots, OriginKnown, RobotsGate
from orbweb.engine.scope import ScopeTracker
from orbweb.engine.sitemaps import SitemapReader
from orbweb.engine.window import Slot, Window, most_bytes
from orbweb.engine.workers.page import Job
from orbweb.engine.workers.pool import Pool
from orbweb.errors import StoreError
from orbweb.fetching import ANYTHING, PAGE, STYLE, Fetcher, Want
from orbweb.fetching.revalidation import Revalidator, confirmed, taken
from orbweb.frontier import politeness
from orbweb.frontier.dispatch import Dispatcher
from orbweb.model import (
    Capture,
    Failed,
    Fetched,
    Item,
    Outcome,
    Place,
    ProcessedPage,
    Refused,
    Resources,
    Reuse,
    Reused,
    Role,
    Unchanged,
)
from orbweb.policy import traps
from orbweb.urls import UrlRules

BACKLOG_BYTES = 16_000_000
"""Ordinary bodies that may wait to be read: more keep nobody busier."""
ORDINARY_BYTES = 1_000_000
"""A larger body counts as one of this size: it takes its time, and must not keep others from being asked for."""
WAIT_BASE_S = 1.0
WAIT_CAP_S = 15.0
RESEND_BASE_S = 0.05
RESEND_CAP_S = 2.0
SHOWN_WAIT_S = 1.0
TAKEN_AT_ONCE = 32
WANTED = {Resources.OFF: PAGE, Resources.CHECK: STYLE, Resources.STORE: ANYTHING}


@dataclass(frozen=True, slots=True)
class InFlightSettings:
    """How often and how long a server is asked, and what of its answers is read."""

    window_bytes: int
    tries: int
    backoff_s: float
    backoff_cap_s: float
    waits: int
    longest_wait_s: float
    url_rules: UrlRules
    resources: Resources


class _PendingBody(NamedTuple):
    """A body that is to be read, in its order, and what its result may take."""

    place: Place
    ticket: int
    job: Job
    expected: int


class InFlight:
    """What is under way in one crawl. The listener of its fetcher and its pool, and who sends its auxiliary.

    `fetching` counts requests, `processing` has each body that is read, by its ticket;
    `unfinished` counts the places of each lane without an outcome. A body whose result might not have room beside
    those that wait for their turn is not read yet, unless it is its turn: `_unread` has these, in order.
    """

    def __init__(
        self,
        settings: InFlightSettings,
        *,
        window: Window,
        dispatcher: Dispatcher,
        gate: RobotsGate,
        survey: SitemapReader | None,
        shelf: Revalidator,
        books: Batch,
        scopes: ScopeTracker,
        clock: Callable[[], int],
        note: Callable[[str], None],
        wake: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._window = window
        self._dispatcher = dispatcher
        self._gate = gate
        self._shelf = shelf
        self._clock = clock
        self._note = note
        self.wake = wake
        self._loop = asyncio.get_running_loop()
        self.touched: set[str] = set()
        self.unfinished: Counter[str] = Counter()
        self.fetching = 0
        self.processing: dict[int, _PendingBody] = {}
        self._expected = 0
        self._unread: list[_PendingBody] = []
        self.fresh: deque[Slot] = deque()
        self._slowed: set[str] = set()
        self._next_ticket = 0
        self._backlog = self._ordinary = 0
        self.auxiliary = AuxiliaryRequests(
            self,
            gate=gate,
            survey=survey,
            books=books,
            scopes=scopes,
            dispatcher=dispatcher,
            url_rules=settings.url_rules,
        )

    def attach(self, fetcher: Fetcher, pool: Pool) -> None:
        """Fetcher and pool report to this passage, so they are made after it."""
        self._fetcher = fetcher
        self._pool = pool

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way that brings an outcome by itself."""
        return not self.fetching and not self.processing and not self.fresh

    def has_backlog(self) -> bool:
        """Whether so much waits to be read that nothing more should be fetched."""
        return self._backlog >= self._settings.window_bytes or self._ordinary >= BACKLOG_BYTES

    def waits(self, slot: Slot) -> bool:
        """Whether the slot waits for leave to be sent."""
        return slot.outcome is None and not slot.under_way and slot.answer is None

    def start(self, item: Item) -> None:
        """Set out with a place that is leased."""
        slot = Slot(item, self.ticket())
        self._window.add(slot)
        self.unfinished[item.lane] += 1
        self._check_robots(slot)

    def ticket(self) -> int:
        """A number no request has had."""
        self._next_ticket += 1
        return self._next_ticket

    def send(self, ticket: int) -> None:
        """Ask for what the ticket stands for: it is due."""
        slot = self._window.get(ticket)
        request = self._request(slot) if slot is not None else self.auxiliary.request(ticket)
        if request is not None:
            self.fetching += 1
            self._fetcher.start(ticket, *request)

    def _request(self, slot: Slot) -> tuple[str, Want]:
        slot.under_way = True
        return slot.asked[-1], _wanted(slot, self._settings.resources)

    def retract(self, slot: Slot) -> None:
        """Take the slot out of the window, and out of everything that would send it."""
        if slot.timer is not None:
            slot.timer.cancel()
        if slot.outcome is None:
            self.unfinished[slot.item.lane] -= 1
        self._leave_unread(slot.ticket)
        self._window.remove(slot)
        self._dispatcher.discard(slot.ticket)

    def cancel(self) -> None:
        """Drop every request."""
        self._fetcher.cancel_all()

    # What fetcher and pool tell.

    def sent(self, ticket: int) -> None:
        """The request is about to leave."""
        self._dispatcher.sent(ticket)

    def answered(self, ticket: int, answer: Fetched | Failed) -> None:
        """The fetcher is done with a ticket."""
        self.fetching -= 1
        left_at = self._dispatcher.done(ticket)
        if isinstance(answer, Fetched):
            self._adapt_rate(answer, left_at)
        self.wake()
        slot = self._window.get(ticket)
        if slot is None:
            self.auxiliary.answered(ticket, answer)
            return
        slot.under_way = False
        slot.fetched_at = self._clock()
        self._advance(slot, answer)

    def _adapt_rate(self, answer: Fetched, left_at: int) -> None:
        """Slow down for a host that is busy and leave it alone as long as it asks; speed up when it is well."""
        site = urls.site(answer.url)
        if answer.status not in BUSY:
            self._dispatcher.fine(site)
            return
        now = self._clock() / politeness.SECOND
        asked = politeness.retry_after(answer.retry_after, date=answer.date, now=now) or 0.0
        wait = min(asked, self._settings.longest_wait_s)
        longer = self._dispatcher.busy(site, left_at, round(wait * politeness.SECOND))
        if site not in self._slowed and wait < SHOWN_WAIT_S:
            self._note(f"{site} answers {answer.status}: it is asked half as often, until it answers well again")
        self._slowed.add(site)
        if longer and wait >= SHOWN_WAIT_S:
            cut = f", cut to {wait:g} s (fetch.max_retry_after_s)" if wait < asked else ""
            self._note(f"{site} answers {answer.status} and asks for a pause of {asked:.6g} s (Retry-After){cut}")

    def processed(self, ticket: int, processed: ProcessedPage | Failed) -> None:
        """The pool is done with a page."""
        read = self.processing.pop(ticket)
        self._expected -= read.expected
        self._weigh(-1, read.job)
        self.wake()
        slot = self._window.get(ticket)
        if slot is None:
            return
        if isinstance(processed, Failed):
            self._finish(slot, Finish(processed if slot.answer is None else spoilt(processed, slot.answer)))
        elif slot.answer is not None:
            self._finish(slot, Finish(slot.answer), processed)

    # The life of a slot.

    def _advance(self, slot: Slot, answer: Fetched | Failed) -> None:
        slot.tries += 1
        step = next_step(
            answer,
            key=slot.item.key,
            asked=slot.asked,
            tries_left=self._settings.tries - slot.tries,
            waits_left=self._settings.waits - slot.waits,
            resends_left=RESENDS - slot.resends,
            rules=self._settings.url_rules,
            resources=self._settings.resources,
            capture=_asked_about(slot),
        )
        match step:
            case Retry():
                self._try_later(slot, slot.tries, self._settings.backoff_s, self._settings.backoff_cap_s)
            case Resend():
                slot.tries -= 1
                slot.resends += 1
                self._try_later(slot, slot.resends, RESEND_BASE_S, RESEND_CAP_S)
            case Wait():
                slot.tries -= 1
                slot.waits += 1
                self._try_later(slot, slot.waits, WAIT_BASE_S, WAIT_CAP_S)
            case Follow(url):
                slot.asked = (*slot.asked, url)
                slot.tries = 0
                self._check_robots(slot)
            case Process(body, is_page) if isinstance(answer, Fetched):
                self._processed(slot, answer, body, is_page=is_page)
            case UseCapture(capture) if isinstance(answer, Fetched):
                self._keep(slot, answer, capture)
            case Unconditional():
                self._ask_anew(slot)
            case Finish():
                self._finish(slot, step)

    def _processed(self, slot: Slot, answer: Fetched, body: bytes, *, is_page: bool) -> None:
        slot.answer = answer
        slot.is_page = is_page
        job = Job(slot.ticket, answer.url, answer.content_type, body, answer.robots_tags)
        self._weigh(1, job)
        expected = most_bytes(job, with_resources=self._settings.resources is not Resources.OFF)
        reading = _PendingBody(slot.place, slot.ticket, job, expected)
        if self._may_read(reading):
            self._read(reading)
        else:
            bisect.insort(self._unread, reading)

    def _weigh(self, sign: int, job: Job) -> None:
        """A body came, or went."""
        size = len(job.body)
        self._backlog += sign * size
        self._ordinary += sign * min(size, ORDINARY_BYTES)

    def is_head(self, slot: Slot) -> bool:
        """Whether nothing that is leased comes before the slot."""
        return self._window.head(slot.item.lane) is slot

    def _may_read(self, reading: _PendingBody) -> bool:
        """Whether it is its turn, or its result has room beside those that wait and those that may come."""
        slot = self._window.get(reading.ticket)
        if slot is not None and self.is_head(slot):
            return True
        taken = self._window.bytes + self._expected
        return not self._unread and taken + reading.expected <= self._settings.window_bytes

    def _read(self, reading: _PendingBody) -> None:
        self._expected += reading.expected
        self.processing[reading.ticket] = reading
        self._pool.submit(reading.job)

    def read_more(self) -> None:
        """Read what has room by now: in order, and each head of a lane whatever comes before it."""
        if not self._unread:
            return
        unread, self._unread = self._unread, []
        for reading in unread:
            if self._may_read(reading):
                self._read(reading)
            else:
                self._unread.append(reading)

    def _leave_unread(self, ticket: int) -> None:
        for at, reading in enumerate(self._unread):
            if reading.ticket == ticket:
                self._weigh(-1, reading.job)
                del self._unread[at]
                return

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
            slot.offer = self._shelf.lookup(slot.item.key)
            if slot.offer is not None and slot.offer.is_fresh:
                slot.under_way = True
                self.fresh.append(slot)
                return
        self._queue(slot)

    def take_fresh(self) -> None:
        """Take some of what is fresh; the rest has its turn when sockets and signals had theirs."""
        for _ in range(min(TAKEN_AT_ONCE, len(self.fresh))):
            slot = self.fresh.popleft()
            if slot.offer is not None and self._window.get(slot.ticket) is slot:
                capture = slot.offer.capture
                slot.under_way, slot.fetched_at = False, capture.fetched_at
                self._reread(slot, taken(capture), capture, Reuse.CACHED)

    def _keep(self, slot: Slot, answer: Fetched, capture: Capture) -> None:
        """The server has what was captured. Where that says it all, nothing is made of it before its turn."""
        if answer.robots_tags or not self._shelf.captures.stands(capture):
            self._reread(slot, confirmed(answer, capture), capture, Reuse.NOT_MODIFIED)
        else:
            self._end(slot, Unchanged(slot.tries + slot.waits, slot.fetched_at, answer, capture))

    def reread(self, slot: Slot, seen: Unchanged) -> None:
        """Taking the capture over is not all there is to do: the place has another outcome, now or later."""
        self._window.release(slot)
        self.unfinished[slot.item.lane] += 1
        self._reread(slot, confirmed(seen.answer, seen.capture), seen.capture, Reuse.NOT_MODIFIED)

    def _reread(self, slot: Slot, answer: Fetched, capture: Capture, how: Reuse) -> None:
        """Settle the slot with what was read out of the captured body; where rules have changed, read it again."""
        slot.reuse = how
        known = answer.robots_tags == capture.robots_tags
        try:
            processed = self._shelf.captures.process(capture) if known else None
        except StoreError as error:
            self._give_up(slot, error)
            return
        if capture.role == Role.ALTERNATE and traps.needs_sketch(answer.url):
            processed = None
        if processed is None and capture.body_sha256 is not None:
            self._reread_body(slot, answer, capture)
        elif known:
            slot.is_page = capture.role != Role.NONE
            self._finish(slot, Finish(answer), processed)
        else:
            self._ask_anew(slot)

    def _reread_body(self, slot: Slot, answer: Fetched, capture: Capture) -> None:
        try:
            body = self._shelf.captures.body(capture) or b""
        except StoreError as error:
            self._give_up(slot, error)
            return
        step = to_read(answer, body, self._settings.resources)
        if isinstance(step, Process):
            self._processed(slot, answer, body, is_page=step.is_page)
        else:
            self._finish(slot, step)

    def _give_up(self, slot: Slot, error: StoreError) -> None:
        self._note(f"{slot.item.url} is fetched again: {error}; `orbweb doctor` tells more")
        self._ask_anew(slot)

    def read_after_all(self, slot: Slot, outcome: Outcome) -> None:
        """The place keeps its turn until its body is read."""
        self._window.release(slot)
        self.unfinished[slot.item.lane] += 1
        if isinstance(outcome.answer, Fetched) and slot.offer is not None:
            self._reread_body(slot, outcome.answer, slot.offer.capture)

    def _ask_anew(self, slot: Slot) -> None:
        """The capture is of no use after all: ask as if there were none."""
        slot.offer = slot.reuse = None
        slot.tries = 0
        self._queue(slot)

    # robots.txt, asked for before the first page of an origin.

    def _check_robots(self, slot: Slot) -> None:
        """Let the slot through, settle it as refused, or let it wait for the rules of its origin."""
        verdict = self._gate.judge(slot.ticket, slot.asked[-1])
        if isinstance(verdict, Refused):
            slot.fetched_at = self._clock()
            self._finish(slot, Finish(verdict))
        elif isinstance(verdict, FetchRobots):
            self.auxiliary.apply(verdict)
        elif verdict:
            self._ask(slot)

    def rules_known(self, known: OriginKnown) -> None:
        """The places that waited for the rules of an origin are judged, or fail with its server."""
        for slot in filter(None, map(self._window.get, known.waiting)):
            if known.failed is None:
                self._check_robots(slot)
            else:
                slot.tries, slot.fetched_at = known.tries, self._clock()
                self._finish(slot, Finish(known.failed))

    def _finish(self, slot: Slot, step: Finish, processed: ProcessedPage | None = None) -> None:
        answer = step.answer
        if isinstance(answer, Fetched) and answer.body is not None:
            answer = answer._replace(body=None)
        slot.answer = None
        reused = Reused(slot.reuse, slot.offer.capture.run_id) if slot.reuse and slot.offer else None
        tries = max(slot.tries + slot.waits, 1)
        self._end(slot, Outcome(tries, slot.fetched_at, answer, processed, slot.is_page, step.redirect, reused))

    def _end(self, slot: Slot, outcome: Outcome | Unchanged) -> None:
        slot.outcome = outcome
        self._window.hold(slot)
        self.unfinished[slot.item.lane] -= 1
        self.touched.add(slot.item.lane)


def _asked_about(slot: Slot) -> Capture | None:
    """The capture that a request for the slot names as known: validators are for the very URL that gave them."""
    offer = slot.offer
    return (
        offer.capture if offer is not None and offer.validators and offer.capture.url == slot.asked[-1] else None
    )


def _wanted(slot: Slot, resources: Resources) -> Want:
    want = WANTED[resources]
    unless = slot.offer.validators if slot.offer is not None and _asked_about(slot) is not None else None
    anew = slot.tries > 0 or slot.resends > 0
    return want if unless is None and not anew else Want(want.any_type, want.styles, unless=unless, anew=anew)
