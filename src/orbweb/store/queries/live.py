"""What follows a crawl: visits since the last look, the head of the queue, and its shares."""

from __future__ import annotations

from typing import TypeAlias

from orbweb.model import Place
from orbweb.store import Queries

VisitRow: TypeAlias = tuple[int, str, int | None, str | None, str | None, int, int, str | None]
STRICT = ""
"""The lane of all URLs of a crawl that keeps one order."""


def visits_after(db: Queries, run_id: int, after: int, count: int) -> list[VisitRow]:
    """Number, URL, status, kind, error, latency, time and reuse of the next visits, in the order of commits."""
    found: list[VisitRow] = db.all("visits_after", run_id=run_id, after=after, count=count)
    return found


def head(db: Queries, run_id: int, count: int) -> list[tuple[str, str, str]]:
    """URL, source and place of the next URLs of a run in strict order."""
    rows = db.all("head_of_lane", run_id=run_id, lane=STRICT, count=count)
    return [(url, source, str(Place(depth, rank))) for url, source, depth, rank in rows]


def shares(db: Queries, run_id: int, hosts: int) -> tuple[dict[str, int], dict[str, int]]:
    """The queue by source and by host; reads all of it."""
    by_source: dict[str, int] = dict(db.all("queued_by_source", run_id=run_id))
    return by_source, dict(db.all("queued_by_host", run_id=run_id, count=hosts))
