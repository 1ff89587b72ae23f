"""Which leased place may be sent now.

Owns the waiting places of each site and the moment its next request may leave. Always holds: two requests
to one site leave at least an interval apart, counted from the moment of sending, whichever process sends
them; a site that is busy is left alone as long as it asks; earlier places of a site leave first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from orbweb.frontier import politeness
from orbweb.model import Place
from orbweb.store import Limiter

LOOK_AGAIN = 100_000


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """How fast a site is asked. Times are microseconds."""

    interval: int
    slowest: int
    connections: int | None = None


@dataclass(slots=True)
class _Site:
    """`interval` is the usual one, `pace` what a busy site was slowed down to; the longer one counts. `asked` is
    what the site itself asks for."""

    interval: int
    pace: int
    looked_at: int
    slowed_at: int = 0
    good: int = 0
    waiting: list[tuple[Place, int]] = field(default_factory=list)
    sending: int | None = None
    in_flight: int = 0
    listed: bool = False
    asked: int = 0

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

    def _site(self, name: str) -> _Site:
        """The site. Without an interval it is looked up now and then: another process may hold it."""
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = _Site(self._settings.interval, self._limiter.pace(name), self._clock())
        elif not site.gap and self._clock() - site.looked_at > LOOK_AGAIN:
            site.pace, site.looked_at = self._limiter.pace(name), self._clock()
        return site

    def adjust(self, settings: DispatchSettings) -> None:
        """Ask as fast as that from now on. A site that asked for more time keeps it."""
        self._settings = settings
        for name, site in self._sites.items():
            site.interval = max(settings.interval, site.asked)
            self._list(name, site, 0)

    # What a site asks for.

    def slow(self, name: str, interval: int) -> None:
        """The site asks for more time between requests; the slower of it and the rate wins. Counted from now."""
        site = self._site(name)
        site.asked = max(site.asked, interval)
        if interval > site.interval:
            site.interval = interval
            now = self._clock()
            if self._limiter.take(name, now, site.gap):
                self._limiter.sent(name, now, site.gap)

    def busy(self, name: str, left_at: int, wait: int) -> bool:
        """The site answered 429 or 503 to what left then: half the rate, and nothing at all for `wait`.

        Answers to what had left before the rate was halved are of the same moment and halve it no further.
        Whether the site is now left alone for longer than before.
        """
        site, now = self._site(name), self._clock()
        if not site.slowed_at or left_at > site.slowed_at:
            site.pace = politeness.slower(site.pace, site.interval, self._settings.slowest)
            site.slowed_at = now
        site.good = 0
        longer = now + wait > self._limiter.due(name)
        self._limiter.hold(name, now + max(wait, site.gap), site.pace)
        return longer

    def fine(self, name: str) -> None:
        """The site gave a good answer. Ten of them raise the rate of one that was slowed down."""
        site = self._sites.get(name)
        if site is None or not site.pace:
            return
        site.good += 1
        if site.good >= politeness.GOOD_ANSWERS:
            site.good = 0
            site.pace = politeness.faster(site.pace, site.interval)
            self._limiter.set_pace(name, site.pace)

    def wait_for(self, name: str) -> int:
        """Microseconds until the site may be asked again."""
        return max(0, self._limiter.due(name) - self._clock())

    # The way of a ticket.

    def add(self, ticket: int, name: str, place: Place) -> None:
        """This ticket waits to be sent."""
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
        """This ticket is not to be sent after all. One that was taken stays until `done` tells of it."""
        self._free = [entry for entry in self._free if entry[1] != ticket]
        heapq.heapify(self._free)
        site = self._sites.get(self._site_of.get(ticket, ""))
        if site is None or all(each != ticket for _, each in site.waiting):
            return
        del self._site_of[ticket]
        site.waiting = [entry for entry in site.waiting if entry[1] != ticket]
        heapq.heapify(site.waiting)

    def take(self, is_wanted: Callable[[int], bool] | None = None) -> int | None:
        """A ticket to send now, if one is due; with `is_wanted`, one of those."""
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
        """The ticket's request leaves now, or came to nothing before it could."""
        name = self._site_of.get(ticket)
        if name is None or self._sites[name].sending != ticket:
            return
        site, now = self._sites[name], self._clock()
        self._sent_at[ticket] = now
        self._limiter.sent(name, now, site.gap)
        site.sending = None
        self._list(name, site, now + site.gap)

    def done(self, ticket: int) -> int:
        """The ticket's request is over. When it left; 0 where no one has to know."""
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

    def wait_s(self) -> float | None:
        """Seconds until the next ticket may be due; None when nothing waits for a moment."""
        if not self._due:
            return None
        return max(0.0, (self._due[0][0] - self._clock()) / 1_000_000)


def _first(site: _Site, is_wanted: Callable[[int], bool] | None) -> tuple[Place, int] | None:
    """The earliest place that waits for the site, of those that are wanted."""
    if is_wanted is None:
        return site.waiting[0] if site.waiting else None
    return min((entry for entry in site.waiting if is_wanted(entry[1])), default=None)
