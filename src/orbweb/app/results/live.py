"""What follows a crawl: the visits since the last look, and where the next ones come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from orbweb.app.results.record import Record
from orbweb.app.results.runs import CrawlSummary, RunOutline
from orbweb.events import Snapshot


class FollowedVisit(NamedTuple):
    """A visit in the order of commits. `at` is when its response arrived, in UTC seconds; `reused`: without a
    request."""

    number: int
    url: str
    status: int | None
    kind: str | None
    error: str | None
    latency_ms: int
    at: float
    reused: bool


class NextUrl(NamedTuple):
    """A URL of the head of the queue."""

    url: str
    source: str
    place: str


@dataclass(frozen=True, slots=True)
class FollowedRun:
    """The latest run of a project, all of it read at one time. `snapshot` is None if no crawl is at work, `crawl`
    the latest crawl, `visits` those after the number that was asked for, `next` the head of the queue: known only
    if the crawl keeps one order for all hosts."""

    outline: RunOutline
    snapshot: Snapshot | None
    crawl: CrawlSummary | None
    visits: tuple[FollowedVisit, ...]
    next: tuple[NextUrl, ...]


@dataclass(frozen=True, slots=True)
class QueueShares(Record):
    """The queue by source and by host: the hosts with most of it, the most first."""

    run: int
    by_source: Mapping[str, int]
    by_host: Mapping[str, int]
