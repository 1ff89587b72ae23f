"""How long the event loop was suspended: the process was stopped, the machine slept, or there was no CPU time.

A timeout counts against a server only if this process was running to receive its response. A timer that fires late
measures suspension; waiting for sockets does not count.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

BEAT_S = 0.25
LEAST_S = 0.5
"""A timer that is less late than this is not counted, because pages may be processed in the same loop."""


class Moment(NamedTuple):
    """An instant of the loop's clock, and how long the loop had been suspended by then."""

    at: float
    total_s: float


class SuspensionClock:
    """Measures suspension with a repeating timer."""

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
        """Seconds so far. After a suspension this may be called before the overdue timer fires."""
        now = self._loop.time()
        late = now - self._due
        if late >= LEAST_S:
            self._total_s += late
            self._due = now
        return self._total_s

    def took(self, since: Moment) -> bool:
        """Whether the loop was suspended for at least half of the time since then."""
        suspended_s = self.total_s() - since.total_s
        return suspended_s > 0 and 2 * suspended_s >= self._loop.time() - since.at

    def now(self) -> Moment:
        return Moment(self._loop.time(), self.total_s())

    def close(self) -> None:
        self._handle.cancel()
