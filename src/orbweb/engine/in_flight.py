"""From lease to outcome: robots.txt, request, retries, worker.

Every started place gets an outcome, unless it is retracted; the lane of one that has is in `touched`. What a
response means is decided in `responses`, whether an earlier capture can be used in `revalidation`; when places are
leased and committed, in `leasing` and `loop`.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from orbweb import urls
from orbweb.engine.auxiliary import RESENDS, AuxiliaryRequests
from orbweb.engine.parts import EngineEvents, EngineParts
from orbweb.engine.processing import ProcessingQueue
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
)
from orbweb.engine.revalidation import Revalidation
from orbweb.engine.robots_gate import FetchRobots, OriginKnown
from orbweb.engine.window import Slot, Window
from orbweb.engine.workers.page import Job
from orbweb.engine.workers.pool import Pool
from orbweb.fetching import ANYTHING, PAGE, STYLE, Fetcher, Want
from orbweb.frontier import politeness
from orbweb.model import (
    Capture,
    Failed,
    Fetched,
    Item,
    Outcome,
    ProcessedPage,
    Refused,
    Resources,
    Reused,
    Unchanged,
)
from orbweb.urls import UrlRules

WAIT_BASE_S = 1.0
WAIT_CAP_S = 15.0
RESEND_BASE_S = 0.05
RESEND_CAP_S = 2.0
SHOWN_WAIT_S = 1.0
WANTED = {Resources.OFF: PAGE, Resources.CHECK: STYLE, Resources.STORE: ANYTHING}


@dataclass(frozen=True, slots=True)
class InFlightSettings:
    """How often and how long a server is tried, and which responses are read."""

    window_bytes: int
    tries: int
    backoff_s: float
    backoff_cap_s: float
    waits: int
    longest_wait_s: float
    url_rules: UrlRules
    resources: Resources


class InFlight:
    """The places of one crawl that are leased and not finished. Listens to its fetcher and its pool.

    `fetching` counts requests; `unfinished` counts the places of each lane without an outcome.
    """

    def __init__(
        self,
        settings: InFlightSettings,
        parts: EngineParts,
        events: EngineEvents,
        window: Window,
        wake: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._window = window
        self._dispatcher = parts.dispatcher
        self._robots = parts.robots
        self._clock = parts.clock
        self._note = events.note
        self.wake = wake
        self._loop = asyncio.get_running_loop()
        self.touched: set[str] = set()
        self.unfinished: Counter[str] = Counter()
        self.fetching = 0
        self._slowed: set[str] = set()
        self._next_ticket = 0
        self.processing = ProcessingQueue(
            window, settings.window_bytes, with_resources=settings.resources is not Resources.OFF
        )
        self.revalidation = Revalidation(
            self, parts.revalidator, window, resources=settings.resources, note=events.note
        )
        self.auxiliary = AuxiliaryRequests(self, parts, settings.url_rules)

    def attach(self, fetcher: Fetcher, pool: Pool) -> None:
        """Fetcher and pool report to this object, so they are made after it."""
        self._fetcher = fetcher
        self.processing.attach(pool)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight that brings an outcome by itself."""
        return not self.fetching and not self.processing and not self.revalidation.fresh

    def waits(self, slot: Slot) -> bool:
        """Whether the slot waits to be sent."""
        return slot.outcome is None and not slot.under_way and slot.answer is None

    def start(self, item: Item) -> None:
        """Begin with a leased place."""
        slot = Slot(item, self.ticket())
        self._window.add(slot)
        self.unfinished[item.lane] += 1
        self._check_robots(slot)

    def ticket(self) -> int:
        """A number that no request has had."""
        self._next_ticket += 1
        return self._next_ticket

    def send(self, ticket: int) -> None:
        """Send the request of the ticket: it is due."""
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
        self.processing.discard(slot.ticket)
        self._window.remove(slot)
        self._dispatcher.discard(slot.ticket)

    def cancel(self) -> None:
        """Drop every request."""
        self._fetcher.cancel_all()

    # Reports of the fetcher and the pool.

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
        """Slow down for a busy host and honor its Retry-After; speed up when it recovers."""
        site = urls.site(answer.url)
        if answer.status not in BUSY:
            self._dispatcher.fine(site)
            return
        now = self._clock() / politeness.SECOND
        asked = politeness.retry_after(answer.retry_after, date=answer.date, now=now) or 0.0
        wait = min(asked, self._settings.longest_wait_s)
        longer = self._dispatcher.busy(site, left_at, round(wait * politeness.SECOND))
        if site not in self._slowed and wait < SHOWN_WAIT_S:
            self._note(f"{site} returned {answer.status}; halving the request rate until it recovers")
        self._slowed.add(site)
        if longer and wait >= SHOWN_WAIT_S:
            cut = f", cut to {wait:g} s (fetch.max_retry_after_s)" if wait < asked else ""
            self._note(f"{site} returned {answer.status} with Retry-After: {asked:.6g} s{cut}")

    def processed(self, ticket: int, page: ProcessedPage | Failed) -> None:
        """The pool is done with a body."""
        self.processing.done(ticket)
        self.wake()
        slot = self._window.get(ticket)
        if slot is None:
            return
        if isinstance(page, Failed):
            self.finish(slot, Finish(page if slot.answer is None else spoilt(page, slot.answer)))
        elif slot.answer is not None:
            self.finish(slot, Finish(slot.answer), page)

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
                self.process(slot, answer, body, is_page=is_page)
            case UseCapture(capture) if isinstance(answer, Fetched):
                self.revalidation.confirm(slot, answer, capture)
            case Unconditional():
                self.revalidation.refetch(slot)
            case Finish():
                self.finish(slot, step)

    def process(self, slot: Slot, answer: Fetched, body: bytes, *, is_page: bool) -> None:
        """Give the body to a worker, when there is room for its result."""
        slot.answer = answer
        slot.is_page = is_page
        self.processing.add(slot, Job(slot.ticket, answer.url, answer.content_type, body, answer.robots_tags))

    def _try_later(self, slot: Slot, times: int, base_s: float, cap_s: float) -> None:
        delay = politeness.backoff(times, base_s=base_s, cap_s=cap_s, jitter=random.random())  # noqa: S311
        slot.timer = self._loop.call_later(delay, self.queue, slot)

    def queue(self, slot: Slot) -> None:
        """Send the slot as soon as its host may be requested."""
        slot.timer = None
        self._dispatcher.add(slot.ticket, urls.site(slot.asked[-1]), slot.place)
        self.wake()

    # robots.txt, fetched before the first page of an origin.

    def _check_robots(self, slot: Slot) -> None:
        """Let the slot through, finish it as refused, or let it wait for the rules of its origin."""
        verdict = self._robots.judge(slot.ticket, slot.asked[-1])
        if isinstance(verdict, Refused):
            slot.fetched_at = self._clock()
            self.finish(slot, Finish(verdict))
        elif isinstance(verdict, FetchRobots):
            self.auxiliary.apply(verdict)
        elif verdict:
            self.revalidation.request(slot)

    def rules_known(self, known: OriginKnown) -> None:
        """The places that waited for the rules of an origin are judged, or fail with its server."""
        for slot in filter(None, map(self._window.get, known.waiting)):
            if known.failed is None:
                self._check_robots(slot)
            else:
                slot.tries, slot.fetched_at = known.tries, self._clock()
                self.finish(slot, Finish(known.failed))

    # The outcome.

    def finish(self, slot: Slot, step: Finish, processed: ProcessedPage | None = None) -> None:
        answer = step.answer
        if isinstance(answer, Fetched) and answer.body is not None:
            answer = answer._replace(body=None)
        slot.answer = None
        reused = Reused(slot.reuse, slot.offer.capture.run_id) if slot.reuse and slot.offer else None
        tries = max(slot.tries + slot.waits, 1)
        self.end(slot, Outcome(tries, slot.fetched_at, answer, processed, slot.is_page, step.redirect, reused))

    def end(self, slot: Slot, outcome: Outcome | Unchanged) -> None:
        slot.outcome = outcome
        self._window.hold(slot)
        self.unfinished[slot.item.lane] -= 1
        self.touched.add(slot.item.lane)

    def reopen(self, slot: Slot) -> None:
        """The slot gets another outcome than the one it has; it keeps its turn."""
        self._window.release(slot)
        self.unfinished[slot.item.lane] += 1


def _asked_about(slot: Slot) -> Capture | None:
    """The capture whose validators a request sends: they are for the very URL that gave them."""
    offer = slot.offer
    return (
        offer.capture if offer is not None and offer.validators and offer.capture.url == slot.asked[-1] else None
    )


def _wanted(slot: Slot, resources: Resources) -> Want:
    want = WANTED[resources]
    unless = slot.offer.validators if slot.offer is not None and _asked_about(slot) is not None else None
    anew = slot.tries > 0 or slot.resends > 0
    return want if unless is None and not anew else want._replace(unless=unless, new_connection=anew)
