"""Which URLs of a recrawl nothing leads to any more: a walk over the links from base URLs and sitemaps."""

from __future__ import annotations

from collections.abc import Iterator

from memory.tables import RunTables, Tables
from orbweb.lifecycle import ItemState
from orbweb.model import Carried, SkipReason, Source
from orbweb.store import links as packed_links
from orbweb.store.rows import CarryRow, UrlRow

GONE = (404, 410)
KNOWN, LISTED, UNLINKED = (each.value for each in (Carried.KNOWN, Carried.LISTED, Carried.UNLINKED))
MAY_PASS = (SkipReason.PAGE_LIMIT, SkipReason.FINISHED, SkipReason.ROBOTS_UNAVAILABLE)
REQUESTED = (ItemState.VISITED, ItemState.FAILED)


def marks(tables: Tables, run: RunTables) -> list[CarryRow]:
    """The URLs that a recrawl knew and requested, and that are marked otherwise than the walk finds."""
    carried = [row for row in run.urls.values() if row.carried in (KNOWN, UNLINKED) and row.state in REQUESTED]
    reached = _reached(tables, run) if carried else set()
    rows = [CarryRow(KNOWN if row.id in reached else UNLINKED, run.run.id, row.id) for row in carried]
    return sorted((row for row in rows if row.carried != run.urls[row.id].carried), key=lambda row: row.id)


def _reached(tables: Tables, run: RunTables) -> set[int]:
    reached = {row.id for row in run.urls.values() if _is_root(row)}
    waiting = list(reached)
    while waiting:
        found = set(_targets(tables, run, run.urls[waiting.pop()])) - reached
        reached |= found
        waiting += found
    return reached


def _is_root(row: UrlRow) -> bool:
    return row.depth == 0 or row.carried == LISTED or (row.source == Source.SITEMAP and row.carried is None)


def _targets(tables: Tables, run: RunTables, row: UrlRow) -> Iterator[int]:
    """What a URL links to; one that could not be read still has the links it had."""
    if row.id in run.outlinks:
        yield from packed_links.targets(run.outlinks[row.id])
    if _is_unread(run, row):
        yield from _earlier_targets(tables, run, row.key)


def _is_unread(run: RunTables, row: UrlRow) -> bool:
    visit = run.visit_of(row.id)
    if row.state == ItemState.FAILED:
        return visit is None or visit.status not in GONE
    return row.state == ItemState.QUEUED or row.reason in MAY_PASS


def _earlier_targets(tables: Tables, run: RunTables, key: str) -> Iterator[int]:
    for earlier in tables.runs_before(run.run):
        number = earlier.ids.get(key, 0)
        if number in earlier.outlinks:
            keys = (earlier.urls[target].key for target in packed_links.targets(earlier.outlinks[number]))
            yield from (run.ids[each] for each in keys if each in run.ids)
            return
