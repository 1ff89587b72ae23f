"""Progress of a crawl or an extraction, as callbacks receive it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Progress of a crawl. Counts are of the run; `settled` and `seconds` are of this crawl."""

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
class ExtractProgress:
    """Progress of an extraction: pages extracted again, pages that failed, and pages to extract in all."""

    done: int
    failed: int
    total: int
    seconds: float

    @property
    def rate(self) -> float:
        """Pages extracted per second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0
