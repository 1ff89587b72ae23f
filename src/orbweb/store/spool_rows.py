"""The files of the spool, the discovery run that wrote each, how much of each is durable, and bookmarks.

A file has its row before it has a line. `visit` is the last visit of the run that was processed when the first
`size` bytes of the file were durable. The files themselves are in `frontier.spool`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from orbweb.model import Role
from orbweb.store import Queries, Row
from orbweb.store.runs import DISCOVERY

MOST_HOPS = 10
PORTION = 512


class SpoolFile(NamedTuple):
    """A file of the spool as the database knows it."""

    name: str
    run_id: int
    visit: int
    size: int


class DiscoveredVisit(NamedTuple):
    """A visit of discovery; one with a page becomes a line of the spool."""

    visit: int
    url: str
    key: str
    depth: int
    referrer: str | None
    status: int
    length: int
    latency_ms: int
    is_page: bool
    found_on: int | None


def files(db: Queries) -> list[SpoolFile]:
    """Every file ever created, ordered by name."""
    return [SpoolFile(*row) for row in db.all("spool_files")]


def latest(db: Queries, run_id: int) -> SpoolFile | None:
    """The file that the run wrote last."""
    row = db.one("latest_spool_file", run_id=run_id)
    return SpoolFile(*row) if row else None


def begin(db: Queries, file: SpoolFile) -> None:
    """Add the row of a file that is about to be created."""
    with db.transaction():
        db.many("add_spool_file", [file])


def advance(db: Queries, file: SpoolFile) -> None:
    """Record how much of the file is durable."""
    with db.transaction():
        db.moved("advance_spool_file", name=file.name, visit=file.visit, size=file.size)


def found(db: Queries, run_id: int, after: int, most: int = PORTION) -> list[DiscoveredVisit]:
    """The next portion of visits of a run after this one, in order."""
    return [_found(db, run_id, row) for row in db.all("spool_visits", run_id=run_id, after=after, most=most)]


def unfed(db: Queries, run_id: int, fed_run: int) -> list[DiscoveredVisit]:
    """Pages of a discovery run that the scraping run does not know, or knows only from links."""
    return [_found(db, run_id, row) for row in db.all("unfed_pages", run_id=run_id, fed_run=fed_run)]


def _found(db: Queries, run_id: int, row: Row) -> DiscoveredVisit:
    number, url, key, depth, referrer, status, size, latency, role = row
    page = _page_before(db, run_id, referrer)
    return DiscoveredVisit(
        number, url or key, key, depth, page, status or 0, size, latency, role != Role.NONE, referrer
    )


def pipelines(db: Queries) -> list[str]:
    """The projects that are scraped from a spool, the oldest first, whether a discovery feeds them or not."""
    names = (name.removesuffix(DISCOVERY) for (name,) in db.all("pipelines", discoveries=f"%{DISCOVERY}"))
    return list(dict.fromkeys(names))


def bookmark(db: Queries, run_id: int) -> tuple[str, int] | None:
    """File and position of the bookmark as the scraper of this run wrote it last; None if it has never begun."""
    row = db.one("bookmark_of", run_id=run_id)
    return (row[0], row[1]) if row else None


def save_bookmark(db: Queries, run_id: int, file: str, position: int) -> None:
    with db.transaction():
        db.run("save_bookmark", run_id=run_id, file=file, position=position)


def is_behind(db: Queries, run_id: int) -> bool:
    """Whether the run has pages that are not in the spool, as after a crash."""
    file = latest(db, run_id)
    return db.value("page_after", run_id=run_id, after=file.visit if file else 0) is not None


def trail(db: Queries, run_id: int, visit: DiscoveredVisit) -> list[str]:
    """The chain of URLs that led to a visit, the nearest first; some of them may be redirects."""
    return [url for url, _ in _led(db, run_id, visit.found_on)]


def _page_before(db: Queries, run_id: int, referrer: int | None) -> str | None:
    """The URL of the page that led here, directly or through redirects."""
    return next((url for url, redirects in _led(db, run_id, referrer) if not redirects), None)


def _led(db: Queries, run_id: int, referrer: int | None) -> Iterator[tuple[str, bool]]:
    """Each URL on the way back from a referrer, and whether it redirects."""
    for _ in range(MOST_HOPS):
        row = db.one("spool_referrer", run_id=run_id, id=referrer) if referrer is not None else None
        if row is None:
            return
        url, redirects, referrer = row
        yield str(url), bool(redirects)
