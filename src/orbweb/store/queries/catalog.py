"""Lists of a large run: what they are filtered, counted and sorted by, and single rows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from orbweb.model import Place
from orbweb.store import Queries
from orbweb.store.queries import listings
from orbweb.store.rows import moment
from orbweb.store.runs import Run

Report = dict[str, Any]

STEP = 50_000
"""Ids of URLs that are looked through at once."""


class RunMark(NamedTuple):
    """Differs if anything of the run does: a row of `run_mark`."""

    started_at: int
    state: str
    unit: int | None
    unit_at: int | None
    next_visit: int | None
    crawls: int
    crawled_at: int | None

    @property
    def rewritten_at(self) -> int:
        """When something else than a crawl has last changed the run; 0 if a crawl did since."""
        changed = self.unit_at or 0
        return changed if changed > (self.crawled_at or 0) else 0


class PageColumns(NamedTuple):
    """A page, or an alternate of the page `page_id`: a row of `page_columns`. `since` compares it with an earlier
    run."""

    number: int
    role: str
    page_id: int | None
    url: str
    key: str
    title: str
    status: int | None
    depth: int
    bytes: int
    language: str | None
    words: int | None
    tokens: int | None
    confidence: float | None
    since: str


class FailureColumns(NamedTuple):
    """A failure: a row of `failure_columns`, and the run since which the URL has failed without interruption."""

    number: int
    url_id: int
    key: str
    kind: str
    status: int | None
    reason: str
    at: int
    since: int


def mark(db: Queries, run_id: int) -> RunMark:
    return RunMark(*db.all("run_mark", run_id=run_id)[0])


def page_columns(db: Queries, run_id: int, before: int | None, after: int, count: int) -> list[PageColumns]:
    """The pages and alternates of a run after a visit, compared with those of another run."""
    rows = db.all("page_columns", run_id=run_id, before=before, after=after, count=count)
    return list(map(PageColumns._make, rows))


def visit_number(db: Queries, run_id: int, url_id: int | None) -> int | None:
    """The number of the visit of a URL."""
    found: int | None = db.value("visit_number_of", run_id=run_id, url_id=url_id)
    return found


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


def page_row_at(db: Queries, run_id: int, number: int) -> Report | None:
    """As `page_at`, as programs read it."""
    row = db.one("page_row_at", run_id=run_id, number=number)
    return listings.page_report(row) if row is not None else None


def failure_columns(db: Queries, run: Run, after: int, count: int) -> list[FailureColumns]:
    """The failures of a run after a visit."""
    rows = db.all("failure_columns", run_id=run.id, after=after, count=count)
    return [FailureColumns._make((*row, _failing_since(db, run, row[2]))) for row in rows]


def _failing_since(db: Queries, run: Run, key: str) -> int:
    since = run.number
    for earlier, failed in db.all("failed_in", project_id=run.project_id, key=key, number=run.number):
        if not failed:
            break
        since = earlier
    return since


def failure_at(db: Queries, run: Run, number: int, since: int) -> Report | None:
    """One failure by the number of its visit; None if it is none any more."""
    row = db.one("failure_at", run_id=run.id, number=number)
    if row is None:
        return None
    names = "id url kind status reason tries at source found_on"
    found: Report = dict(zip(names.split(), row, strict=True))
    return {**found, "at": moment(found["at"]), "since": since}


def skipped_columns(db: Queries, run_id: int, after: int) -> Iterator[Sequence[tuple[int, str, str | None]]]:
    """Id, reason and rule of the skipped URLs after an id, in portions."""
    last = db.value("most_urls", run_id=run_id)
    for begin in range(after, last, STEP):
        yield db.all("skipped_columns", run_id=run_id, after=begin, beyond=begin + STEP)


def skipped_at(db: Queries, run_id: int, url_id: int) -> Report | None:
    """One skipped URL by its id; None if it is skipped no more."""
    row = db.one("skipped_at", run_id=run_id, id=url_id)
    return (
        None
        if row is None
        else dict(zip(["url", "reason", "rule", "source", "depth", "referrer"], row, strict=True))
    )


def queue_columns(db: Queries, run_id: int) -> Iterator[tuple[int, str, int, int]]:
    """Id, source, depth and rank of the queue, in its order, read as they are consumed."""
    rows = db.each("queue_columns", run_id=run_id)
    return ((number, source, depth, rank) for number, source, depth, rank in rows)


def queue_from(db: Queries, run_id: int, after: Place | None, count: int) -> list[tuple[int, int, int]] | None:
    """Id, depth and rank of the queue after a place, in strict order; None if it has lanes."""
    if db.value("last_lane", run_id=run_id):
        return None
    depth, rank = (after.depth, after.rank) if after else (-1, -1)
    rows: list[tuple[int, int, int]] = db.all("queue_from", run_id=run_id, depth=depth, rank=rank, count=count)
    return rows


def queued_at(db: Queries, run_id: int, url_id: int) -> Report | None:
    """One queued URL by its id; None if it is queued no more."""
    row = db.one("queued_at", run_id=run_id, id=url_id)
    if row is None:
        return None
    url, source, depth, rank, hops, rule = row
    place = str(Place(depth, rank))
    return {"url": url, "source": source, "place": place, "depth": depth, "hops": hops, "rule": rule}


def alternates(db: Queries, run_id: int, content: bytes) -> list[str]:
    """The other URLs with this content."""
    return [row[0] for row in db.all("alternates_with", run_id=run_id, content_sha256=content)]
