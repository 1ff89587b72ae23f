"""What the export of a run's state reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from orbweb.store import Queries, Row

_FAMILY = ("pattern", "kind", "barren", "tried", "released", "sketch")


class RunFacts(NamedTuple):
    """The settings of the project as JSON, and how far the run has come."""

    settings: str = "{}"
    next_rank: int = 0
    scope_fixed: int = 0
    surveyed: int = 0


def facts(db: Queries, run_id: int) -> RunFacts:
    row = db.one("state_of_run", run_id=run_id)
    return RunFacts(*row) if row else RunFacts()


def families(db: Queries, run_id: int) -> list[dict[str, Any]]:
    return [dict(zip(_FAMILY, row, strict=True)) for row in db.each("families_of", run_id=run_id)]


def marks(db: Queries, run_id: int) -> Iterator[bytes]:
    """The SHA-256 of URLs that an imported crawl has seen."""
    for (sha256,) in db.each("marks_of", run_id=run_id):
        yield sha256


def visits(db: Queries, run_id: int) -> int:
    """The number of the latest visit."""
    return int(db.value("latest_visit", run_id=run_id))


def queued(db: Queries, run_id: int) -> Iterator[Row]:
    """The queued URLs, in order."""
    return db.each("state_frontier", run_id=run_id)


def skipped(db: Queries, run_id: int) -> Iterator[Row]:
    """The skipped URLs; the last two columns are reason and rule."""
    return db.each("state_skipped", run_id=run_id)
