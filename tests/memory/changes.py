"""What a unit of work does to the rows of a run, guarded as the SQL is.

A change that does not apply to a URL leaves it as it was; a row that is there already is an error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from memory.tables import RunTables
from orbweb.errors import StoreError
from orbweb.lifecycle import ItemState, RunState
from orbweb.model import Carried, Reuse, SkipReason
from orbweb.store.rows import (
    BaseRow,
    CarryRow,
    Change,
    DateRow,
    DeferRow,
    ListRow,
    ReadmitRow,
    RefuseRow,
    RejudgeRow,
    SettleRow,
    ShortenRow,
    UrlRow,
    VisitRow,
)

QUEUED, SKIPPED, VISITED = (each.value for each in (ItemState.QUEUED, ItemState.SKIPPED, ItemState.VISITED))
STORED = frozenset(state.value for state in ItemState if state is not ItemState.LEASED)
CARRIED = frozenset((None, *(each.value for each in Carried)))


def checked(row: UrlRow) -> UrlRow:
    """The row, if its states are ones that can be stored."""
    if row.state not in STORED or row.carried not in CARRIED:
        raise StoreError(f"memory: URL {row.id} cannot have the state {row.state!r}, carried {row.carried!r}")
    return row


def applies(row: UrlRow, change: Change) -> bool:
    """Whether the URL is in a state in which it can be changed so."""
    match change:
        case ReadmitRow():
            return row.state == SKIPPED
        case RefuseRow() | DeferRow():
            return row.state == QUEUED
        case CarryRow():
            return row.carried is not None
        case DateRow() | ListRow() | ShortenRow():
            return True
        case _:
            assert_never(change)


def changed(row: UrlRow, change: Change) -> UrlRow:
    """The URL after a change that applies. A due time is no field of it."""
    match change:
        case ReadmitRow() | DateRow() | CarryRow():
            return checked(row._replace(**change._asdict()))
        case RefuseRow():
            return row._replace(state=SKIPPED, **change._asdict())
        case DeferRow():
            return row._replace(rank=change.rank)
        case ListRow():
            return row._replace(listed=True)
        case ShortenRow():
            return row._replace(hops=change.hops, found_hops=change.hops - 1)
        case _:
            assert_never(change)


def rejudged(row: UrlRow, change: RejudgeRow) -> UrlRow:
    """The URL after it was judged again; one that was requested stays as it is."""
    return checked(row._replace(**change._asdict())) if row.state in (QUEUED, SKIPPED) else row


def add_url(tables: RunTables, row: UrlRow, now: int) -> None:
    if row.id in tables.urls or row.key in tables.ids:
        raise StoreError(f"memory: URL {row.id} {row.key} is there already")
    tables.urls[row.id] = checked(row)
    tables.ids[row.key] = row.id
    tables.found_at[row.id] = now


def move_run(tables: RunTables, old: RunState, new: RunState, now: int) -> None:
    if tables.run.state is not old:
        raise StoreError(f"memory: move_run found another state than expected: {tables.run.state}")
    tables.run = replace(tables.run, state=new, ended_at=now if new is RunState.COMPLETED else None)


def change_url(tables: RunTables, change: Change, now: int) -> None:
    row = tables.urls.get(change.id)
    if row is None or not applies(row, change):
        return
    tables.urls[row.id] = after = changed(row, change)
    if isinstance(change, DeferRow):
        tables.due_at[row.id] = change.due_at
    if isinstance(change, DeferRow) or is_other_state(row, after):
        tables.changed_at[row.id] = now


def is_other_state(before: UrlRow, after: UrlRow) -> bool:
    return (before.state, before.reason) != (after.state, after.reason)


def rejudge(tables: RunTables, change: RejudgeRow, now: int) -> None:
    row = tables.urls.get(change.id)
    if row is None:
        return
    tables.urls[row.id] = after = rejudged(row, change)
    if is_other_state(row, after):
        tables.changed_at[row.id] = now


def settle(tables: RunTables, settled: SettleRow, now: int) -> None:
    row = tables.urls.get(settled.id)
    if row is None or row.state != QUEUED:
        raise StoreError("memory: a URL was changed by another process; this unit of work was not stored")
    if settled.state == VISITED:
        settled = settled._replace(reason=None, rule=None)
    else:
        tables.changed_at[row.id] = now
    tables.urls[row.id] = checked(row._replace(**settled._asdict()))


def skip_base(tables: RunTables, base: int, rule: str, now: int) -> None:
    reason = SkipReason.PAGE_LIMIT.value
    for row in list(tables.urls.values()):
        if row.base == base and row.state == QUEUED:
            tables.urls[row.id] = row._replace(state=SKIPPED, reason=reason, rule=rule)
            tables.changed_at[row.id] = now


def add_visit(tables: RunTables, visit: VisitRow, now: int) -> None:
    if visit.number in tables.visits or visit.url_id in tables.visit_numbers:
        raise StoreError(f"memory: visit {visit.number} of URL {visit.url_id} is there already")
    if visit.reuse is not None and visit.reuse not in list(Reuse):
        raise StoreError(f"memory: a visit cannot be reused as {visit.reuse!r}")
    tables.visits[visit.number] = visit
    tables.visit_numbers[visit.url_id] = visit.number
    tables.settled_at[visit.number] = now


def add_page(tables: RunTables, content_sha256: bytes, url_id: int, base: int, document: bytes) -> None:
    if content_sha256 in tables.pages:
        raise StoreError(f"memory: the page {content_sha256.hex()} is there already")
    tables.pages[content_sha256] = (url_id, base, document)


def save_base(tables: RunTables, row: BaseRow) -> None:
    base = tables.bases.get(row.number)
    if base is not None:
        tables.bases[row.number] = base._replace(scope_key=row.scope_key, pages=row.pages)
