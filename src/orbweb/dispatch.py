"""Which leased place may be sent now.

Owns the waiting places of each site and the moment its next request may leave. Always holds: two requests
to one site leave at least an interval apart, counted from the moment of sending, whichever process sends
them; earlier places of a site leave first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from orbweb.model import Place
from orbweb.store.limiter import Limiter


@dataclass(slots=True)
class _Site:
    waiting: list[tuple[Place, int]] = field(default_factory=list)
    sending: int | None = None
    listed: bool = False


class Dispatcher:
    """Hands out tickets in the order of their places, as fast as politeness allows."""

    def __init__(self, limiter: Limiter, interval: int, clock: Callable[[], int]) -> None:
        self._limiter = limiter
        self._interval = interval
        self._clock = clock
        self._sites: dict[str, _Site] = {}
        self._due: list[tuple[int, str]] = []
        self._free: list[tuple[Place, int]] = []
        self._site_of: dict[int, str] = {}
        self._slower: dict[str, int] = {}

    def slow(self, site: str, interval: int) -> None:
        """The site asks for more time between requests; the slower of it and the rate wins. Counted from now."""
        if interval > self._interval_of(site):
            self._slower[site] = interval
            now = self._clock()
            if self._limiter.take(site, now, interval):
                self._limiter.sent(site, now, interval)

    def _interval_of(self, site: str) -> int:
        return self._slower.get(site, self._interval)

    def add(self, ticket: int, site: str, place: Place) -> None:
        """This ticket waits to be sent."""
        if not self._interval_of(site):
            heapq.heappush(self._free, (place, ticket))
            return
        self._site_of[ticket] = site
        state = self._sites.setdefault(site, _Site())
        heapq.heappush(state.waiting, (place, ticket))
        self._list(site, state, 0)

    def discard(self, ticket: int) -> None:
        """This ticket is not to be sent after all. One that was taken stays until `sent` tells of it."""
        self._free = [entry for entry in self._free if entry[1] != ticket]
        heapq.heapify(self._free)
        site = self._site_of.get(ticket)
        if site is None or self._sites[site].sending == ticket:
            return
        del self._site_of[ticket]
        state = self._sites[site]
        state.waiting = [entry for entry in state.waiting if entry[1] != ticket]
        heapq.heapify(state.waiting)

    def take(self) -> int | None:
        """A ticket to send now, if one is due."""
        if self._free:
            return heapq.heappop(self._free)[1]
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            site = heapq.heappop(self._due)[1]
            ticket = self._take_from(site, self._sites[site], now)
            if ticket is not None:
                return ticket
        return None

    def _take_from(self, site: str, state: _Site, now: int) -> int | None:
        state.listed = False
        if state.sending is not None or not state.waiting:
            return None
        due_at = self._limiter.take(site, now, self._interval_of(site))
        if due_at:
            self._list(site, state, due_at)
            return None
        state.sending = heapq.heappop(state.waiting)[1]
        return state.sending

    def sent(self, ticket: int) -> None:
        """The ticket's request leaves now, or came to nothing before it could."""
        site = self._site_of.pop(ticket, None)
        if site is None:
            return
        state, now = self._sites[site], self._clock()
        if state.sending != ticket:
            return
        self._limiter.sent(site, now, self._interval_of(site))
        state.sending = None
        self._list(site, state, now + self._interval_of(site))

    def _list(self, site: str, state: _Site, due_at: int) -> None:
        if state.waiting and not state.listed and state.sending is None:
            state.listed = True
            heapq.heappush(self._due, (due_at, site))

    def wait_s(self) -> float | None:
        """Seconds until the next ticket may be due; None when nothing waits for a moment."""
        if not self._due:
            return None
        return max(0.0, (self._due[0][0] - self._clock()) / 1_000_000)
