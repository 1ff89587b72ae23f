"""Brakes pause a crawl without a command: too little disk space, or a spool backlog that is too large.

A brake returns the reason to pause, or None. It releases only when its value is clearly better than the limit, so
a crawl does not stop and start at the edge. While a brake holds, the engine leases and sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

RELEASE = 0.8
"""A brake releases at this share of its limit."""
CHECK_EVERY_S = 1.0

Brake = Callable[[], str | None]


@dataclass(slots=True)
class Threshold:
    """Holds while a value is above its limit or, with `minimum`, below it.

    `limit` is read each time, because settings can be reloaded. `describe` makes the reason from value and limit.
    """

    value: Callable[[], float]
    limit: Callable[[], float]
    describe: Callable[[float, float], str]
    clock: Callable[[], float]
    minimum: bool = False
    every_s: float = CHECK_EVERY_S
    _checked_at: float = -CHECK_EVERY_S
    _reason: str | None = None

    def __call__(self) -> str | None:
        now = self.clock()
        if now - self._checked_at >= self.every_s:
            self._checked_at = now
            value, limit = self.value(), self.limit()
            self._reason = self.describe(value, limit) if self._is_beyond(value, limit) else None
        return self._reason

    def _is_beyond(self, value: float, limit: float) -> bool:
        holds = self._reason is not None
        if self.minimum:
            return value < (limit / RELEASE if holds else limit)
        return value > (limit * RELEASE if holds else limit)


def backlog_reason(unread: float, limit: float) -> str:
    """Why discovery waits for the scraper."""
    return (
        f"{unread / 1e6:.4g} MB of the spool are not scraped yet; resumes below {RELEASE:.0%} of the "
        f"{limit / 1e6:.4g} MB allowed (spool.max_backlog_gb)"
    )


def disk_reason(free: float, reserve: float) -> str:
    """Why a crawl waits for disk space."""
    return (
        f"{free / 1e6:.0f} MB of disk space are free, less than the reserve of {reserve / 1e6:.0f} MB "
        "(store.reserve_mb); resumes when there is space"
    )
