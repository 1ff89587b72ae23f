"""The workspace's database and the one transaction that everything rests on.

`Group` collects what many ordered commits change; `commit` writes it in a single transaction. Always
holds: the bodies a group names are durable before the transaction starts, and a state never changes
without its tally, its visit and the ids given out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orbweb.errors import StoreError
from orbweb.failpoints import failpoint
from orbweb.lifecycle import ENDING_STATE, EndedBy, ItemState, RunState, run_after
from orbweb.model import FamilyRow, PackedDocument
from orbweb.store import heads
from orbweb.store.sqlite.db import Database

PORTION = 500
"""Rows that are written, or links that are followed, between two looks at what else there is to do."""


HeadPart = bytes | None


class UrlRow(NamedTuple):
    """A URL found for the first time; the fields of `add_url`."""

    run_id: int
    id: int
    key: str
    url: str | None
    state: str
    reason: str | None
    rule: str | None
    source: str
    depth: int
    rank: int | None
    lane: str
    hops: int
    redirects: int
    base: int
    referrer: int | None
    lastmod: str | None = None
    kin: bool = False
    carried: str | None = None
    found_hops: int = 0
    found_base: int = 0
    parked: str | None = None
    listed: bool = False


class SettleRow(NamedTuple):
    """A queued URL that was asked for: visited, failed, or refused by its page; the fields of `settle_url`."""

    state: str
    reason: str | None
    rule: str | None
    run_id: int
    id: int


class ReadmitRow(NamedTuple):
    """A skipped URL that was judged anew; the fields of `readmit_url`."""

    url: str | None
    state: str
    reason: str | None
    rule: str | None
    source: str
    depth: int
    rank: int | None
    lane: str
    hops: int
    redirects: int
    base: int
    referrer: int | None
    kin: bool
    found_hops: int
    found_base: int
    parked: str | None
    run_id: int
    id: int


class RejudgeRow(NamedTuple):
    """A URL whose verdict changed with the scope or the rules; the fields of `rejudge_url`."""

    state: str
    reason: str | None
    rule: str | None
    rank: int | None
    lane: str
    hops: int
    base: int
    kin: bool
    parked: str | None
    run_id: int
    id: int


class RefuseRow(NamedTuple):
    """A leased URL that may not be asked for; the fields of `refuse_url`."""

    reason: str
    rule: str
    run_id: int
    id: int


class DeferRow(NamedTuple):
    """A leased URL whose turn comes later; the fields of `defer_url`."""

    rank: int
    due_at: int
    run_id: int
    id: int


class DateRow(NamedTuple):
    """When a known URL was last changed; the fields of `date_url`."""

    lastmod: str
    run_id: int
    id: int


class ListRow(NamedTuple):
    """A known URL that a sitemap names; the fields of `list_url`."""

    run_id: int
    id: int


class CarryRow(NamedTuple):
    """What became of a URL that a recrawl knew; the fields of `carry_url`."""

    carried: str
    run_id: int
    id: int


class ShortenRow(NamedTuple):
    """A URL found with fewer hops; the fields of `shorten_path`."""

    hops: int
    run_id: int
    id: int


class VisitRow(NamedTuple):
    """One visit; the fields of `add_visit`. `head` is the template, for which the row has its id."""

    run_id: int
    number: int
    url_id: int
    crawl_id: int
    depth: int
    rank: int
    status: int | None
    kind: str | None
    error: str | None
    tries: int
    final_url: str | None
    redirect_to: int | None
    content_type: str | None
    encoding: str | None
    etag: str | None
    last_modified: str | None
    title: str | None
    canonical: str | None
    noindex: bool
    nofollow: bool
    links_cut: bool
    truncated: bool
    body_sha256: bytes | None
    content_sha256: bytes | None
    role: str
    bytes: int
    wire_bytes: int
    latency_ms: int
    fetched_at: int
    proxy: str | None = None
    robots_tags: str | None = None
    reuse: str | None = None
    reused_run: int | None = None
    head_values: HeadPart = None
    head: HeadPart = None


class BaseRow(NamedTuple):
    """The moving part of a base URL; the fields of `save_base`."""

    scope_key: str
    pages: int
    run_id: int
    number: int


class Progress(NamedTuple):
    """Where the run and its crawl stand after a group."""

    next_url: int
    next_rank: int
    next_visit: int
    scope_fixed: bool
    surveyed: bool
    visited: int
    failed: int
    pages: int
    bytes: int


class Ending(NamedTuple):
    """How the crawl ends with this group."""

    ended_by: EndedBy
    error: str | None = None


Change = ReadmitRow | RefuseRow | DeferRow | DateRow | ListRow | CarryRow | ShortenRow


@dataclass(slots=True)
class Group:
    """The changes of many commits, in order, on their way to one transaction."""

    urls: list[UrlRow] = field(default_factory=list)
    settled: list[SettleRow] = field(default_factory=list)
    changes: list[tuple[str, Change]] = field(default_factory=list)
    visits: list[VisitRow] = field(default_factory=list)
    pages: list[tuple[int, bytes, int, int, bytes]] = field(default_factory=list)
    documents: list[PackedDocument] = field(default_factory=list)
    outlinks: list[tuple[int, int, bytes]] = field(default_factory=list)
    bodies: list[tuple[bytes, int | None, int | None, int, int]] = field(default_factory=list)
    families: list[FamilyRow] = field(default_factory=list)
    segments: dict[int, int] = field(default_factory=dict)
    bases: dict[int, BaseRow] = field(default_factory=dict)
    limited: dict[int, str] = field(default_factory=dict)
    tallies: Counter[Tally] = field(default_factory=Counter)


Tally = tuple[str, str]

QUEUED = (ItemState.QUEUED.value, "")
VISITED = (ItemState.VISITED.value, "")
FAILED = (ItemState.FAILED.value, "")


def skipped(reason: str) -> Tally:
    """The tally of a skip reason."""
    return ItemState.SKIPPED.value, reason


def commit(
    db: Database,
    run_id: int,
    crawl_id: int,
    group: Group,
    progress: Progress,
    now: int,
    ending: Callable[[], Ending | None],
) -> Ending | None:
    """Write a group in one durable transaction. How the crawl ends with it, if it does: `ending` says so when all
    rows are there, inside the transaction."""
    with db.transaction():
        for _ in _rows(db, run_id, crawl_id, group, progress, now):
            pass
        ended = ending()
        if ended is not None:
            end(db, run_id, crawl_id, ended, now)
    failpoint("crawl_ended" if ended else "group_committed")
    return ended


def commit_in_portions(
    db: Database,
    run_id: int,
    crawl_id: int,
    group: Group,
    progress: Progress,
    now: int,
    done: Callable[[], None],
) -> None:
    """Begin to write a large group in one transaction; `db.step` goes on, `done` is told when it is durable."""

    def committed() -> None:
        failpoint("group_committed")
        done()

    db.start(_rows(db, run_id, crawl_id, group, progress, now), committed)


def _rows(
    db: Database,
    run_id: int,
    crawl_id: int,
    group: Group,
    progress: Progress,
    now: int,
) -> Iterator[None]:
    """Write a group inside a transaction, with a pause after each portion of what there may be very much of.

    Long because it is the one place that touches every table; the order of the statements matters only
    where a row is inserted and changed in the same group: inserts come first, then changes as they came.
    """
    for start in range(0, len(group.urls), PORTION):
        db.many("add_url", group.urls[start : start + PORTION])
        failpoint("portion_written")
        yield
    for start in range(0, len(group.changes), PORTION):
        for name, row in group.changes[start : start + PORTION]:
            db.many(name, [row])
        yield
    if _settle(db, run_id, group.settled) != len(group.settled):
        raise StoreError(f"{db.path}: a URL was settled by someone else; nothing of this group was kept")
    for base, rule in group.limited.items():
        db.run("skip_base", run_id=run_id, base=base, rule=rule)
    db.many("add_visit", heads.with_ids(db, group.visits))
    db.many("add_document", group.documents)
    db.many("add_page", group.pages)
    db.many("save_family", group.families)
    db.many("add_outlinks", group.outlinks)
    db.many("add_body", group.bodies)
    for segment, committed in group.segments.items():
        db.run("extend_segment", segment=segment, committed=committed)
    db.many("save_base", list(group.bases.values()))
    for (state, reason), change in group.tallies.items():
        db.run("add_tally", run_id=run_id, state=state, reason=reason, change=change)
    advance(db, run_id, progress)
    db.run(
        "count_crawl",
        crawl_id=crawl_id,
        visited=progress.visited,
        failed=progress.failed,
        pages=progress.pages,
        bytes=progress.bytes,
        now=now,
    )
    failpoint("rows_written")


def _settle(db: Database, run_id: int, rows: Sequence[SettleRow]) -> int:
    """Settle URLs; how many were queued. Those that were just visited are nearly always found in one stretch."""
    others = [row for row in rows if row.state != VISITED[0]]
    stretches: list[list[int]] = []
    for number in sorted(row.id for row in rows if row.state == VISITED[0]):
        if stretches and stretches[-1][1] == number - 1:
            stretches[-1][1] = number
        else:
            stretches.append([number, number])
    return db.many("settle_url", others) + db.many("settle_stretch", [(run_id, *ends) for ends in stretches])


def advance(db: Database, run_id: int, progress: Progress) -> None:
    """Say where the run stands. Runs inside a transaction."""
    db.run(
        "advance_run",
        run_id=run_id,
        next_url=progress.next_url,
        next_rank=progress.next_rank,
        next_visit=progress.next_visit,
        scope_fixed=progress.scope_fixed,
        surveyed=progress.surveyed,
    )


def end(db: Database, run_id: int, crawl_id: int, ending: Ending, now: int) -> None:
    """Move crawl and run to where the ending leaves them. Runs inside a transaction."""
    db.moved(
        "end_crawl",
        crawl_id=crawl_id,
        to_state=ENDING_STATE[ending.ended_by].value,
        ended_by=ending.ended_by.value,
        error=ending.error,
        now=now,
    )
    after = run_after(ending.ended_by)
    db.moved(
        "move_run",
        run_id=run_id,
        from_state=RunState.IN_PROGRESS.value,
        to_state=after.value,
        ended_at=now if after is RunState.COMPLETED else None,
    )
