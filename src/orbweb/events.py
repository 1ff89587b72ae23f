"""Progress of a crawl or an extraction, as it is passed to callbacks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The progress of a crawl. Counts are of the run; `settled` (committed URLs) and `seconds` are of this
    crawl."""

    visited: int
    failed: int
    queued: int
    pages: int
    skipped: int
    settled: int
    in_flight: int
    seconds: float
    budget: int | None
    held: bool
    stopping: bool
    reused: int = 0
    held_by: str | None = None

    @property
    def rate(self) -> float:
        """Committed URLs per second."""
        return self.settled / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta_s(self) -> float | None:
        """Estimated seconds until the queue is empty or the budget used; None before the first commit."""
        left = self.queued if self.budget is None else min(self.queued, self.budget - self.settled)
        return left / self.rate if self.rate else None


@dataclass(frozen=True, slots=True)
class Reading:
    """The progress of an extraction: pages done, pages that could not be read, and their total."""

    done: int
    failed: int
    total: int
    seconds: float

    @property
    def rate(self) -> float:
        """Pages per second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0
