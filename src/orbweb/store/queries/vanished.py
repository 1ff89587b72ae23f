"""Vanished pages: those that a recrawl cannot reach any more, and since which run.

A page is gone if it returns 404 or 410, or if a complete recrawl finds no path to it from a base URL by links,
redirects or sitemap entries. The second case is marked in the row of the URL; everything else is derived from the
stored runs. A page that failed for a temporary reason keeps its earlier links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from orbweb.model import Carried, Role
from orbweb.store import Queries
from orbweb.store import links as packed_links
from orbweb.store.rows import CarryRow
from orbweb.store.runs import Run

Report = dict[str, Any]

STATUSES = (404, 410)
NO_LONGER_LINKED = "no longer linked"


class Past(NamedTuple):
    """A URL in one run: a row of `past_of`."""

    run: int
    url: str
    carried: str | None
    status: int | None
    role: str | None

    @property
    def why_gone(self) -> str | None:
        if self.status in STATUSES:
            return f"HTTP {self.status}"
        return NO_LONGER_LINKED if self.carried == Carried.UNLINKED else None


def marks(db: Queries, run: Run) -> list[CarryRow]:
    """The rows that a recrawl has to change after it has visited everything."""
    carried = db.all("carried_urls", run_id=run.id)
    if not carried:
        return []
    reached = _reached(db, run)
    right = (Carried.UNLINKED.value, Carried.KNOWN.value)
    return [
        CarryRow(right[reached[number]], run.id, number)
        for number, was in carried
        if was != right[reached[number]]
    ]


def _reached(db: Queries, run: Run) -> bytearray:
    """For each id, whether it is reachable from the base URLs and the sitemaps."""
    reached = bytearray(db.value("most_urls", run_id=run.id) + 1)
    for (number,) in db.each("graph_roots", run_id=run.id):
        reached[number] = 1
    unread: dict[int, str] = dict(db.all("unread_urls", run_id=run.id))
    passed = list(unread)
    for number, packed in db.each("graph_records", run_id=run.id):
        if reached[number]:
            _mark(reached, packed_links.targets(packed))
        else:
            passed.append(number)
    while found := [number for number in passed if reached[number]]:
        passed = [number for number in passed if not reached[number]]
        for number in found:
            earlier = number in unread
            _mark(reached, _earlier_links(db, run, unread[number]) if earlier else _links(db, run.id, number))
    return reached


def _mark(reached: bytearray, targets: Iterable[int]) -> None:
    for target in targets:
        reached[target] = 1


def _links(db: Queries, run_id: int, url_id: int) -> Iterable[int]:
    return packed_links.targets(db.value("outlinks_of", run_id=run_id, url_id=url_id))


def _earlier_links(db: Queries, run: Run, key: str) -> list[int]:
    """The links of a URL at its last successful visit, as ids of this run."""
    row = db.one("latest_links", project_id=run.project_id, number=run.number, key=key)
    if row is None:
        return []
    keys = (db.value("key_of", run_id=row[0], id=target) for target in packed_links.targets(row[1]))
    known = (db.one("known_url", run_id=run.id, key=each) for each in keys)
    return [found[0] for found in known if found is not None]


def since(db: Queries, run: Run, key: str) -> Report | None:
    """Since which run a page is gone, as of this run, why, and which run had it last; None if it is not gone."""
    past = db.each("past_of", project_id=run.project_id, number=run.number, key=key)
    return tombstone(Past(*row) for row in past)


def tombstones(db: Queries, run: Run) -> Iterator[Report]:
    """The pages that are gone as of this run, in the order of their keys."""
    for (key,) in db.all("gone_keys", project_id=run.project_id, number=run.number):
        found = since(db, run, key)
        if found is not None:
            yield found


def tombstone(past: Iterable[Past]) -> Report | None:
    """The report on a page from its runs, latest first; None if it is not gone, or never was a page."""
    known = list(past)
    gone = list(takewhile(lambda seen: seen.why_gone is not None, known))
    last = next((seen.run for seen in known if seen.role in (Role.PRIMARY, Role.ALTERNATE)), None)
    if not gone or last is None:
        return None
    return {"url": gone[-1].url, "since": gone[-1].run, "why": gone[0].why_gone, "last": last}
