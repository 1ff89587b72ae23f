"""What holds a crawl though nobody asked it to: too little disk, too much that nobody has read.

A brake is asked now and then and answers with the reason, or None. Always holds: it lets go only when its figure
is clearly better than what made it hold, so a crawl does not stop and start at the edge. Never acts: the engine
leases and sends nothing while a brake holds, and goes on by itself afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LETS_GO = 0.8
ASKED_EVERY_S = 1.0

Brake = Callable[[], str | None]


@dataclass(slots=True)
class Threshold:
    """Holds while a figure is beyond its limit: above it, or below it for one of which there must be `enough`.

    `most` is asked each time: it may be reloaded. `say` makes the reason of figure and limit.
    """

    figure: Callable[[], float]
    most: Callable[[], float]
    say: Callable[[float, float], str]
    clock: Callable[[], float]
    enough: bool = False
    _asked_at: float = -ASKED_EVERY_S
    _reason: str | None = None

    def __call__(self) -> str | None:
        now = self.clock()
        if now - self._asked_at >= ASKED_EVERY_S:
            self._asked_at = now
            figure, limit = self.figure(), self.most()
            self._reason = self.say(figure, limit) if self._is_beyond(figure, limit) else None
        return self._reason

    def _is_beyond(self, figure: float, limit: float) -> bool:
        held = self._reason is not None
        if self.enough:
            return figure < (limit / LETS_GO if held else limit)
        return figure > (limit * LETS_GO if held else limit)


def backlog_reason(unread: float, limit: float) -> str:
    """For a producer whose consumer is behind."""
    return (
        f"{unread / 1e6:.4g} MB of the spool are not scraped yet, more than {LETS_GO:.0%} of the "
        f"{limit / 1e6:.4g} MB allowed (spool.max_backlog_gb); it goes on below that"
    )


def disk_reason(free: float, reserve: float) -> str:
    """For whoever writes."""
    return (
        f"{free / 1e6:.0f} MB of disk are free, and {reserve / 1e6:.0f} MB are kept in reserve "
        "(store.reserve_mb); it goes on when there is space"
    )
