"""What a plan reads of the run that it made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orbweb.store import Queries
from orbweb.store.runs import Run


def planned_visits(db: Queries, before: Run, after: Run) -> Iterator[tuple[str, str | None, str | None]]:
    """The URLs that a recrawl would visit, each with its state and reason in the run before."""
    rows: Iterator[Any] = db.each("planned_visits", run_id=after.id, before=before.id)
    return rows


def no_longer_visited(db: Queries, before: Run, after: Run) -> Iterator[tuple[str, str | None, str | None]]:
    """The URLs that the run before visited and a recrawl would not: URL, reason, rule."""
    rows: Iterator[Any] = db.each("no_longer_visited", run_id=after.id, before=before.id)
    return rows


def queued_urls(db: Queries, run: Run) -> Iterator[tuple[str, str]]:
    """The queued URLs with their sources."""
    rows: Iterator[Any] = db.each("queued_urls", run_id=run.id)
    return rows


def skipped_examples(db: Queries, run: Run, reason: str, count: int) -> list[tuple[str, str]]:
    """Some URLs that were skipped for a reason, each with its rule."""
    rows: list[Any] = db.all("skipped_examples", run_id=run.id, reason=reason, count=count)
    return rows


def robots_files(db: Queries) -> dict[str, tuple[bytes, int]]:
    """Every robots.txt that is cached, by origin, and when it was requested."""
    return {origin: (body, fetched_at) for origin, body, fetched_at in db.all("robots_files")}
