"""From lease to outcome: robots.txt, request, retries, worker.

Every started place gets an outcome, unless it is retracted; the lane of one that has is in `touched`. What a
response means is decided in `responses`, whether an earlier capture can be used in `revalidation`; when places are
leased and committed, in `leasing` and `loop`.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
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
    with_response,
)
from orbweb.engine.revalidation import Revalidation
from orbweb.engine.robots_gate import FetchRobots, OriginKnown
from orbweb.engine.window import Slot, Window
from orbweb.engine.workers import Pool
from orbweb.engine.workers.page import Job
from orbweb.events import OpenRequest
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
LONG_READ_S = 1.0
"""A body that a worker has had for less is not worth a line."""
WANTED = {Resources.OFF: PAGE, Resources.CHECK: STYLE, Resources.STORE: ANYTHING}


@dataclass(frozen=True, slots=True)
class InFlightSettings:
    """How often and how long a request is repeated, and which responses are read."""

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

    `fetching` counts open requests; `unfinished` counts the places of each lane without an outcome.
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
        self._sent_at: dict[int, float] = {}
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
        """Fetcher and pool report to this object, so they are created after it."""
        self._fetcher = fetcher
        self.processing.attach(pool)

    @property
    def fetching(self) -> int:
        return len(self._sent_at)

    @property
    def is_idle(self) -> bool:
        """Whether no event is pending that would give a place its outcome."""
        return not self.fetching and not self.processing and not self.revalidation.fresh

    def waits(self, slot: Slot) -> bool:
        """Whether the slot waits for its request to be sent."""
        return slot.outcome is None and not slot.in_flight and slot.response is None

    def start(self, item: Item, refused: Refused | None = None) -> None:
        """Start a leased place; one that is refused gets that outcome at once."""
        slot = Slot(item, self.ticket())
        self._window.add(slot)
        self.unfinished[item.lane] += 1
        if refused is None:
            self._check_robots(slot)
        else:
            slot.fetched_at = self._clock()
            self.finish(slot, Finish(refused))

    def ticket(self) -> int:
        """A new ticket, unique in this crawl."""
        self._next_ticket += 1
        return self._next_ticket

    def send(self, ticket: int) -> None:
        """Send the request of a ticket that is due."""
        slot = self._window.get(ticket)
        request = self._request(slot) if slot is not None else self.auxiliary.request(ticket)
        if request is not None:
            self._sent_at[ticket] = self._loop.time()
            self._fetcher.start(ticket, *request)

    def in_progress(self) -> tuple[OpenRequest, ...]:
        """The requests in flight, the first sent first, as a dict keeps the order of insertion; then the bodies
        that workers have had for long."""
        now = self._loop.time()
        found = ((self._url(ticket), sent_at) for ticket, sent_at in self._sent_at.items())
        requests = (OpenRequest(url, now - sent_at) for url, sent_at in found if url is not None)
        return (*requests, *self._long_read())

    def _long_read(self) -> Iterator[OpenRequest]:
        """Bodies are submitted in the order in which they arrive, but for a few: the first young one ends it."""
        now = self._clock()
        for slot in filter(None, map(self._window.get, self.processing.submitted())):
            age_s = (now - slot.fetched_at) / politeness.SECOND
            if age_s < LONG_READ_S:
                return
            yield OpenRequest(slot.requested[-1], age_s)

    def _url(self, ticket: int) -> str | None:
        """The URL of a ticket; None if its place was given back."""
        slot = self._window.get(ticket)
        if slot is not None:
            return slot.requested[-1]
        request = self.auxiliary.request(ticket)
        return None if request is None else request[0]

    def _request(self, slot: Slot) -> tuple[str, Want]:
        slot.in_flight = True
        return slot.requested[-1], _wanted(slot, self._settings.resources)

    def retract(self, slot: Slot) -> None:
        """Remove the slot from the window, the timers and the queues."""
        if slot.timer is not None:
            slot.timer.cancel()
        if slot.outcome is None:
            self.unfinished[slot.item.lane] -= 1
        self.processing.discard(slot.ticket)
        self._window.remove(slot)
        self._dispatcher.discard(slot.ticket)

    def cancel(self) -> None:
        """Cancel all requests."""
        self._fetcher.cancel_all()

    # Events of the fetcher and the pool.

    def sent(self, ticket: int) -> None:
        """The request is about to be sent."""
        self._dispatcher.sent(ticket)

    def answered(self, ticket: int, response: Fetched | Failed) -> None:
        """The response to a ticket, or its failure."""
        del self._sent_at[ticket]
        left_at = self._dispatcher.done(ticket)
        if isinstance(response, Fetched):
            self._adapt_rate(response, left_at)
        self.wake()
        slot = self._window.get(ticket)
        if slot is None:
            self.auxiliary.on_response(ticket, response)
            return
        slot.in_flight = False
        slot.fetched_at = self._clock()
        self._advance(slot, response)

    def _adapt_rate(self, response: Fetched, left_at: int) -> None:
        """Slow down for a busy host and honor its Retry-After; speed up when it recovers."""
        site = urls.site(response.url)
        if response.status not in BUSY:
            self._dispatcher.fine(site)
            return
        now = self._clock() / politeness.SECOND
        retry_after = politeness.retry_after(response.retry_after, date=response.date, now=now) or 0.0
        wait = min(retry_after, self._settings.longest_wait_s)
        longer = self._dispatcher.busy(site, left_at, round(wait * politeness.SECOND), response.status)
        if site not in self._slowed and wait < SHOWN_WAIT_S:
            self._note(f"{site} returned {response.status}; halving the request rate until it recovers")
        self._slowed.add(site)
        if longer and wait >= SHOWN_WAIT_S:
            cut = f", cut to {wait:g} s (fetch.max_retry_after_s)" if wait < retry_after else ""
            self._note(f"{site} returned {response.status} with Retry-After: {retry_after:.6g} s{cut}")

    def processed(self, ticket: int, page: ProcessedPage | Failed) -> None:
        """The result of a body, or its failure."""
        self.processing.done(ticket)
        self.wake()
        slot = self._window.get(ticket)
        if slot is None:
            return
        if isinstance(page, Failed):
            self.finish(slot, Finish(page if slot.response is None else with_response(page, slot.response)))
        elif slot.response is not None:
            self.finish(slot, Finish(slot.response), page)

    # The life of a slot.

    def _advance(self, slot: Slot, response: Fetched | Failed) -> None:
        slot.tries += 1
        step = next_step(
            response,
            key=slot.item.key,
            requested=slot.requested,
            tries_left=self._settings.tries - slot.tries,
            waits_left=self._settings.waits - slot.waits,
            resends_left=RESENDS - slot.resends,
            rules=self._settings.url_rules,
            resources=self._settings.resources,
            capture=_capture_to_revalidate(slot),
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
                slot.requested = (*slot.requested, url)
                slot.tries = 0
                self._check_robots(slot)
            case Process(body, is_page) if isinstance(response, Fetched):
                self.process(slot, response, body, is_page=is_page)
            case UseCapture(capture) if isinstance(response, Fetched):
                self.revalidation.confirm(slot, response, capture)
            case Unconditional():
                self.revalidation.refetch(slot)
            case Finish():
                self.finish(slot, step)

    def process(self, slot: Slot, response: Fetched, body: bytes, *, is_page: bool) -> None:
        """Queue the body for a worker."""
        slot.response = response
        slot.is_page = is_page
        self.processing.add(
            slot, Job(slot.ticket, response.url, response.content_type, body, response.robots_tags)
        )

    def _try_later(self, slot: Slot, times: int, base_s: float, cap_s: float) -> None:
        delay = politeness.backoff(times, base_s=base_s, cap_s=cap_s, jitter=random.random())  # noqa: S311
        slot.timer = self._loop.call_later(delay, self.queue, slot)

    def queue(self, slot: Slot) -> None:
        """Send the request of the slot as soon as politeness allows."""
        slot.timer = None
        self._dispatcher.add(slot.ticket, urls.site(slot.requested[-1]), slot.place)
        self.wake()

    # robots.txt, fetched before the first page of an origin.

    def _check_robots(self, slot: Slot) -> None:
        """Let the slot pass, finish it as refused, or let it wait for the rules of its origin."""
        verdict = self._robots.judge(slot.ticket, slot.requested[-1])
        if isinstance(verdict, Refused):
            slot.fetched_at = self._clock()
            self.finish(slot, Finish(verdict))
        elif isinstance(verdict, FetchRobots):
            self.auxiliary.apply(verdict)
        elif verdict:
            self.revalidation.request(slot)

    def rules_known(self, known: OriginKnown) -> None:
        """Judge the places that waited for the rules of an origin; if its server is unreachable, they fail."""
        for slot in filter(None, map(self._window.get, known.waiting)):
            if known.failed is None:
                self._check_robots(slot)
            else:
                slot.tries, slot.fetched_at = known.tries, self._clock()
                self.finish(slot, Finish(known.failed))

    # The outcome.

    def finish(self, slot: Slot, step: Finish, processed: ProcessedPage | None = None) -> None:
        response = step.response
        if isinstance(response, Fetched) and response.body is not None:
            response = response._replace(body=None)
        slot.response = None
        reused = Reused(slot.reuse, slot.offer.capture.run_id) if slot.reuse and slot.offer else None
        tries = max(slot.tries + slot.waits, 1)
        self.end(slot, Outcome(tries, slot.fetched_at, response, processed, slot.is_page, step.redirect, reused))

    def end(self, slot: Slot, outcome: Outcome | Unchanged) -> None:
        slot.outcome = outcome
        self._window.hold(slot)
        self.unfinished[slot.item.lane] -= 1
        self.touched.add(slot.item.lane)

    def reopen(self, slot: Slot) -> None:
        """Discard the outcome of the slot; it keeps its place and gets another one."""
        self._window.release(slot)
        self.unfinished[slot.item.lane] += 1


def _capture_to_revalidate(slot: Slot) -> Capture | None:
    """The capture whose validators the request sends: only to the exact URL that they came from."""
    offer = slot.offer
    if offer is None or not offer.validators or offer.capture.url != slot.requested[-1]:
        return None
    return offer.capture


def _wanted(slot: Slot, resources: Resources) -> Want:
    want = WANTED[resources]
    unless = slot.offer.validators if slot.offer is not None and _capture_to_revalidate(slot) is not None else None
    anew = slot.tries > 0 or slot.resends > 0
    return want if unless is None and not anew else want._replace(unless=unless, new_connection=anew)
