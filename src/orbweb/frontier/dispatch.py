"""Which leased place may be sent now.

Two requests to one site are sent at least an interval apart, counted from the moment of sending, whichever process
sends them. A busy site gets no request until its Retry-After has passed. Earlier places of a site are sent first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from orbweb.events import HostQueue
from orbweb.frontier import politeness
from orbweb.model import Place
from orbweb.store import Limiter

RECHECK = 100_000
"""Microseconds after which the shared limiter is read again for a site without an interval."""
SLOWED = 32
"""Sites that are slower than others and stay in reports though nothing of them waits: the latest ones."""


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """How fast requests are sent to a site. Times are microseconds."""

    interval: int
    slowest: int
    connections: int | None = None


@dataclass(slots=True)
class _Site:
    """`interval` is the usual one, `pace` what a busy site was slowed down to; the longer one counts.
    `crawl_delay` is what the site itself demands; `status` is how it last said that it is busy, until `held_until`
    it wants no request, and `noted_at` is when it was slowed down last."""

    interval: int
    pace: int
    checked_at: int
    slowed_at: int = 0
    good: int = 0
    waiting: list[tuple[Place, int]] = field(default_factory=list)
    sending: int | None = None
    in_flight: int = 0
    listed: bool = False
    crawl_delay: int = 0
    status: int = 0
    held_until: int = 0
    noted_at: int = 0

    @property
    def gap(self) -> int:
        return max(self.interval, self.pace)


class Dispatcher:
    """Hands out tickets in the order of their places, as fast as politeness allows."""

    def __init__(self, limiter: Limiter, settings: DispatchSettings, clock: Callable[[], int]) -> None:
        self._limiter = limiter
        self._settings = settings
        self._clock = clock
        self._sites: dict[str, _Site] = {}
        self._due: list[tuple[int, str]] = []
        self._free: list[tuple[Place, int, str]] = []
        self._site_of: dict[int, str] = {}
        self._sent_at: dict[int, int] = {}
        self._slowed: dict[str, None] = {}

    def _site(self, name: str) -> _Site:
        """The site. Without an interval the limiter is read now and then: another process may slow it down."""
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = _Site(self._settings.interval, self._limiter.pace(name), self._clock())
        elif not site.gap and self._clock() - site.checked_at > RECHECK:
            site.pace, site.checked_at = self._limiter.pace(name), self._clock()
        return site

    def adjust(self, settings: DispatchSettings) -> None:
        """Change the rate of all sites. The crawl delay of a site stays."""
        self._settings = settings
        for name, site in self._sites.items():
            site.interval = max(settings.interval, site.crawl_delay)
            self._list(name, site, 0)

    # Rates.

    def slow(self, name: str, interval: int) -> None:
        """Set the crawl delay of a site; the longer of it and the interval counts, from now on."""
        site = self._site(name)
        self._note_slow(name, site)
        site.crawl_delay = max(site.crawl_delay, interval)
        if interval > site.interval:
            site.interval = interval
            now = self._clock()
            if self._limiter.take(name, now, site.gap):
                self._limiter.sent(name, now, site.gap)

    def busy(self, name: str, left_at: int, wait: int, status: int = 429) -> bool:
        """The site returned `status`, 429 or 503, to a request sent at `left_at`: halve the rate, and send nothing
        for `wait`.

        A response to a request that was sent before the rate was halved does not halve it again. Returns whether
        the site has to wait longer than before.
        """
        site, now = self._site(name), self._clock()
        if not site.slowed_at or left_at > site.slowed_at:
            site.pace = politeness.slower(site.pace, site.interval, self._settings.slowest)
            site.slowed_at = now
        site.good, site.status = 0, status
        site.held_until = max(site.held_until, now + wait)
        self._note_slow(name, site)
        longer = now + wait > self._limiter.due(name)
        self._limiter.hold(name, now + max(wait, site.gap), site.pace)
        return longer

    def _note_slow(self, name: str, site: _Site) -> None:
        site.noted_at = self._clock()
        self._slowed.pop(name, None)
        self._slowed[name] = None
        if len(self._slowed) > SLOWED:
            del self._slowed[next(iter(self._slowed))]

    def fine(self, name: str) -> None:
        """The site returned a good response. Several of them raise the rate of a site that was slowed down."""
        site = self._sites.get(name)
        if site is None or not site.pace:
            return
        site.good += 1
        if site.good >= politeness.GOOD_ANSWERS:
            site.good = 0
            site.pace = politeness.faster(site.pace, site.interval)
            self._limiter.set_pace(name, site.pace)

    def wait_for(self, name: str) -> int:
        """Microseconds until the next request to the site may be sent."""
        return max(0, self._limiter.due(name) - self._clock())

    # Tickets.

    def add(self, ticket: int, name: str, place: Place) -> None:
        """Queue a ticket."""
        site = self._site(name)
        if not site.gap and self._settings.connections is None:
            heapq.heappush(self._free, (place, ticket, name))
        else:
            self._wait(ticket, name, site, place)

    def _wait(self, ticket: int, name: str, site: _Site, place: Place) -> None:
        self._site_of[ticket] = name
        heapq.heappush(site.waiting, (place, ticket))
        self._list(name, site, 0)

    def discard(self, ticket: int) -> None:
        """Remove a waiting ticket. One that was taken stays until `done`."""
        self._free = [entry for entry in self._free if entry[1] != ticket]
        heapq.heapify(self._free)
        site = self._sites.get(self._site_of.get(ticket, ""))
        if site is None or all(each != ticket for _, each in site.waiting):
            return
        del self._site_of[ticket]
        site.waiting = [entry for entry in site.waiting if entry[1] != ticket]
        heapq.heapify(site.waiting)

    def take(self, is_wanted: Callable[[int], bool] | None = None) -> int | None:
        """A ticket to send now, if one is due; with `is_wanted`, only one that it accepts."""
        passed_over: list[tuple[Place, int, str]] = []
        taken = None
        while self._free and taken is None:
            place, ticket, name = heapq.heappop(self._free)
            site = self._sites[name]
            if site.gap:
                self._wait(ticket, name, site, place)
            elif is_wanted is None or is_wanted(ticket):
                taken = ticket
            else:
                passed_over.append((place, ticket, name))
        for entry in passed_over:
            heapq.heappush(self._free, entry)
        return self._take_due(is_wanted) if taken is None else taken

    def _take_due(self, is_wanted: Callable[[int], bool] | None) -> int | None:
        now, taken = self._clock(), None
        passed_over: list[tuple[int, str]] = []
        while self._due and self._due[0][0] <= now and taken is None:
            due_at, name = heapq.heappop(self._due)
            first = _first(self._sites[name], is_wanted)
            if first is None and is_wanted is not None:
                passed_over.append((due_at, name))
            else:
                taken = self._take_from(name, first, now)
        for entry in passed_over:
            heapq.heappush(self._due, entry)
        return taken

    def _take_from(self, name: str, first: tuple[Place, int] | None, now: int) -> int | None:
        site = self._sites[name]
        site.listed = False
        if site.sending is not None or first is None or self._full(site):
            return None
        due_at = self._limiter.take(name, now, site.gap) if site.gap else 0
        if due_at:
            self._list(name, site, due_at)
            return None
        if first is site.waiting[0]:
            heapq.heappop(site.waiting)
        else:
            site.waiting.remove(first)
            heapq.heapify(site.waiting)
        ticket = first[1]
        site.in_flight += 1
        if site.gap:
            site.sending = ticket
        else:
            self._list(name, site, now)
        return ticket

    def _full(self, site: _Site) -> bool:
        most = self._settings.connections
        return most is not None and site.in_flight >= most

    def sent(self, ticket: int) -> None:
        """The ticket's request is sent now, or failed before it could be."""
        name = self._site_of.get(ticket)
        if name is None or self._sites[name].sending != ticket:
            return
        site, now = self._sites[name], self._clock()
        self._sent_at[ticket] = now
        self._limiter.sent(name, now, site.gap)
        site.sending = None
        self._list(name, site, now + site.gap)

    def done(self, ticket: int) -> int:
        """The ticket's request is finished. Returns when it was sent; 0 if its site has no interval."""
        self.sent(ticket)
        name = self._site_of.pop(ticket, None)
        if name is not None:
            site = self._sites[name]
            site.in_flight -= 1
            self._list(name, site, 0)
        return self._sent_at.pop(ticket, 0)

    def _list(self, name: str, site: _Site, due_at: int) -> None:
        if site.waiting and not site.listed and site.sending is None and not self._full(site):
            site.listed = True
            heapq.heappush(self._due, (due_at, name))

    def slowest(self, most: int) -> list[HostQueue]:
        """The hosts whose waiting tickets take longest to send, as far as this process knows, and those that are
        slower than the rate that is set."""
        now = self._clock()
        due = {name: due_at for due_at, name in self._due}
        due |= {name: self._sites[name].held_until for name in self._slowed if name not in due}
        found = [self._report(name, due_at, now) for name, due_at in due.items()]
        worth = (host for host in found if host.waiting or host.cause != "rate")
        return heapq.nlargest(most, worth, key=lambda host: host.drained_s)

    def _report(self, name: str, due_at: int, now: int) -> HostQueue:
        site = self._sites[name]
        return HostQueue(
            name,
            len(site.waiting),
            max(due_at - now, 0) / politeness.SECOND,
            site.gap / politeness.SECOND,
            self._cause(site, now),
            site.status,
            (now - site.noted_at) / politeness.SECOND if site.noted_at else None,
        )

    def _cause(self, site: _Site, now: int) -> str:
        if site.held_until > now:
            return "retry_after"
        if site.pace > site.interval:
            return "busy"
        return "crawl_delay" if site.crawl_delay > self._settings.interval else "rate"

    @property
    def host_rate(self) -> float | None:
        """Requests per second to a site that nothing slows down; None for no limit."""
        return politeness.rate_of(self._settings.interval)

    def wait_s(self) -> float | None:
        """Seconds until the next ticket may be due; None if no ticket waits for its time."""
        if not self._due:
            return None
        return max(0.0, (self._due[0][0] - self._clock()) / 1_000_000)


def _first(site: _Site, is_wanted: Callable[[int], bool] | None) -> tuple[Place, int] | None:
    """The earliest waiting place of the site that is wanted."""
    if is_wanted is None:
        return site.waiting[0] if site.waiting else None
    return min((entry for entry in site.waiting if is_wanted(entry[1])), default=None)
