"""Lists of a large run, by one pass over its pages or failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from orbweb.model import Place
from orbweb.store import Queries
from orbweb.store.rows import moment
from orbweb.store.runs import Run

Report = dict[str, Any]


class CatalogRow(NamedTuple):
    """A page, and what lists are filtered and sorted by. `since` compares it with an earlier run."""

    number: int
    key: str
    depth: int
    bytes: int
    language: str | None
    tokens: int | None
    confidence: float | None
    alternates: int
    since: str


def pages(db: Queries, run_id: int, before: int | None) -> Iterator[CatalogRow]:
    """The pages of a run in the order of their visits, compared with those of another run."""
    return map(CatalogRow._make, db.each("page_catalog", run_id=run_id, before=before))


def pages_with(db: Queries, run_id: int, words: str) -> list[int]:
    """The visits of pages with these words in their URL or title."""
    return [row[0] for row in db.each("pages_with", run_id=run_id, words=words)]


def pages_from(db: Queries, run_id: int, after: int, count: int) -> list[int]:
    return [row[0] for row in db.all("pages_from", run_id=run_id, after=after, count=count)]


def page_at(db: Queries, run_id: int, number: int) -> Report | None:
    """One page by the number of its visit; None if it is a page no more."""
    row = db.one("page_at", run_id=run_id, number=number)
    if row is None:
        return None
    names = "number depth rank url title status bytes content_type captured_at language words tokens confidence"
    found: Report = dict(zip(names.split(), row, strict=True))
    found["place"] = str(Place(found["depth"], found.pop("rank")))
    found["captured_at"] = moment(found["captured_at"])
    return found


def failures(db: Queries, run: Run) -> Iterator[Report]:
    """The failures of a run, each with the run since which it has failed without interruption."""
    for number, key, url, kind, status, reason, tries, at, source, found_on in db.each(
        "failure_rows", run_id=run.id
    ):
        since = run.number
        for earlier, failed in db.all("failed_in", project_id=run.project_id, key=key, number=run.number):
            if not failed:
                break
            since = earlier
        yield {
            "id": number,
            "url": url,
            "kind": kind,
            "status": status,
            "reason": reason,
            "tries": tries,
            "at": moment(at),
            "source": source,
            "found_on": found_on,
            "since": since,
        }


def alternates(db: Queries, run_id: int, content: bytes) -> list[str]:
    """The other URLs with this content."""
    return [row[0] for row in db.all("alternates_with", run_id=run_id, content_sha256=content)]
