"""How long the event loop has stood still: the process was stopped, suspended or starved of processor time.

A timeout says something about a server only if we were there to listen. Time that the loop spends waiting for
sockets is no standstill; a beat that comes late is.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

BEAT_S = 0.25
LEAST_S = 0.5
"""A beat that comes less late than this is not counted: pages are read in the same loop."""


class Moment(NamedTuple):
    """An instant of the loop's clock, and how long the loop had stood still by then."""

    at: float
    total_s: float


class SuspensionClock:
    """Counts while it beats."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._total_s = 0.0
        self._handle = self._next()

    def _next(self) -> asyncio.TimerHandle:
        self._due = self._loop.time() + BEAT_S
        return self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self.total_s()
        self._handle = self._next()

    def total_s(self) -> float:
        """Seconds so far. After a standstill it may be called before the beat that is due."""
        now = self._loop.time()
        late = now - self._due
        if late >= LEAST_S:
            self._total_s += late
            self._due = now
        return self._total_s

    def took(self, since: Moment) -> bool:
        """Whether at least half of the time since then was standstill."""
        stood_s = self.total_s() - since.total_s
        return stood_s > 0 and 2 * stood_s >= self._loop.time() - since.at

    def now(self) -> Moment:
        return Moment(self._loop.time(), self.total_s())

    def close(self) -> None:
        self._handle.cancel()
