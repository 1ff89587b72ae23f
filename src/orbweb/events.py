"""Progress of a crawl or an extraction, and its visits, as callbacks receive them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A URL that is being requested or read, and for how long."""

    url: str
    age_s: float


@dataclass(frozen=True, slots=True)
class HostQueue:
    """A host with leased URLs that wait for their turn, or that is requested more slowly than others: the next
    request is due in `due_s` seconds, and two are `gap_s` apart.

    `cause` says why: `rate` is the rate that is set, `crawl_delay` that of its robots.txt, `busy` a rate that was
    halved after `status`, `retry_after` a pause that the host asked for with `status`. With `robots`, its
    robots.txt is requested again after `error`; with `robots_unavailable`, no longer. `busy_s`: seconds since it
    was slowed down last.
    """

    host: str
    waiting: int
    due_s: float
    gap_s: float
    cause: str = "rate"
    status: int = 0
    busy_s: float | None = None
    error: str = ""

    @property
    def drained_s(self) -> float:
        """Seconds until the last of the waiting requests may be sent."""
        return self.due_s + max(self.waiting - 1, 0) * self.gap_s


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Progress of a crawl. Counts are of the run; `settled` and `seconds` are of this crawl, without the time on
    hold. `in_progress` are the URLs that are being requested, the first sent first, and those that workers have
    read for long; `slowest` a few hosts that take longest to drain, or are slowed down; `workers` how many
    requests may be in flight; `host_rate` how many requests a second one host gets if nothing slows it down, None
    for no limit."""

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
    is_recrawl: bool = False
    in_progress: tuple[OpenRequest, ...] = ()
    slowest: tuple[HostQueue, ...] = ()
    workers: int = 0
    host_rate: float | None = None

    @property
    def found(self) -> int:
        """URLs known in the run, whatever became of them."""
        return self.visited + self.failed + self.queued + self.skipped

    @property
    def state(self) -> Literal["in_progress", "on_hold", "stopping"]:
        """What the crawl is doing."""
        return "stopping" if self.stopping else "on_hold" if self.held else "in_progress"

    @property
    def total(self) -> int | None:
        """How many URLs this crawl settles, if its end is known: the budget or, of a recrawl, what is queued."""
        known = self.settled + self.queued
        if not self.is_recrawl:
            return self.budget
        return known if self.budget is None else min(known, self.budget)

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
class Visit:
    """One visit, committed and durable. `number` counts the visits of the run, in their order.

    `kind` and `error` say why a visit failed. `role` is `primary` for a page, `alternate` for a URL with the
    content of an earlier one, `-` for everything else. `reused`: an earlier run has the content. `truncated`: the
    body ends too early.
    """

    number: int
    url: str
    state: Literal["visited", "failed"]
    status: int | None
    kind: str | None
    error: str | None
    depth: int
    source: str
    referrer: str | None
    role: Literal["primary", "alternate", "-"]
    title: str | None
    content_type: str | None
    final_url: str
    redirect_to: str | None
    bytes: int
    latency_ms: int
    tries: int
    reused: bool
    truncated: bool
    at: datetime


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
