"""Pages that have vanished: which a recrawl cannot reach any more, and since when they are gone.

A page is gone when it answers 404 or 410, or when a recrawl that has read everything finds no way to it: no link,
no redirect, no sitemap entry, over whatever pages, from a base URL. The second is marked in the row of the URL;
all else is derived from the runs that there are. Always holds: a page that could not be read, for a reason that
may pass, still has the links it had. Never deletes anything.
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
    """A URL in one run; a row of `past_of`."""

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
    """What a recrawl has to change in its rows, now that it has read everything."""
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
    """For each id whether a walk from the base URLs and the sitemaps comes by."""
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
    """What a URL linked to when it was last read, as ids of this run."""
    row = db.one("latest_links", project_id=run.project_id, number=run.number, key=key)
    if row is None:
        return []
    keys = (db.value("key_of", run_id=row[0], id=target) for target in packed_links.targets(row[1]))
    known = (db.one("known_url", run_id=run.id, key=each) for each in keys)
    return [found[0] for found in known if found is not None]


def since(db: Queries, run: Run, key: str) -> Report | None:
    """Since which run a page is gone, as seen from this run, why, and which run had it last; None if it is not."""
    past = db.each("past_of", project_id=run.project_id, number=run.number, key=key)
    return tombstone(Past(*row) for row in past)


def tombstones(db: Queries, run: Run) -> Iterator[Report]:
    """The pages that are gone, as seen from this run, in the order of their keys."""
    for (key,) in db.all("gone_keys", project_id=run.project_id, number=run.number):
        found = since(db, run, key)
        if found is not None:
            yield found


def tombstone(past: Iterable[Past]) -> Report | None:
    """What is told of a page by its past, the latest run first; None if it is not gone, or never was a page."""
    known = list(past)
    gone = list(takewhile(lambda seen: seen.why_gone is not None, known))
    last = next((seen.run for seen in known if seen.role in (Role.PRIMARY, Role.ALTERNATE)), None)
    if not gone or last is None:
        return None
    return {"url": gone[-1].url, "since": gone[-1].run, "why": gone[0].why_gone, "last": last}
