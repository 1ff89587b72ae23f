"""One run on SQLite: the transaction of each unit of work, and the queries of the engine and the frontier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from orbweb.errors import StoreError
from orbweb.failpoints import failpoint
from orbweb.lifecycle import RunState
from orbweb.model import FamilyRow, Item, Known, Place, Source
from orbweb.store import Row, body_rows, heads, runs, unit_times
from orbweb.store.bodies import Location
from orbweb.store.queries import vanished
from orbweb.store.robots_cache import StoredRobots
from orbweb.store.rows import (
    VISITED,
    CarryRow,
    Change,
    DateRow,
    DeferRow,
    Ending,
    ListRow,
    Progress,
    ReadmitRow,
    RefuseRow,
    RejudgeRow,
    SettleRow,
    ShortenRow,
    StoredUrl,
    Tally,
)
from orbweb.store.runs import Base, Crawl, Run
from orbweb.store.sqlite.db import Database
from orbweb.store.unit import UnitOfWork

PORTION = 500
"""Rows that are written per step of a transaction in portions."""

_CHANGES: dict[type[Change], str] = {
    ReadmitRow: "readmit_url",
    RefuseRow: "refuse_url",
    DeferRow: "defer_url",
    DateRow: "date_url",
    ListRow: "list_url",
    CarryRow: "carry_url",
    ShortenRow: "shorten_path",
}
_SOURCES = {source.value: source for source in Source}


class SqliteStore:
    """The state of a workspace in its database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def open_run(self, run: Run) -> SqliteRunStore:
        return SqliteRunStore(self._db, run, runs.crawls_of(self._db, run.id)[-1])

    def robots(self) -> StoredRobots:
        return StoredRobots(self._db)


class SqliteRunStore:
    """One run, opened by the crawl that owns it."""

    def __init__(self, db: Database, run: Run, crawl: Crawl) -> None:
        self._db = db
        self.run = run
        self.run_id = run.id
        self.crawl = crawl

    # The transaction.

    def begin(self) -> UnitOfWork:
        return UnitOfWork(self.run.id)

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    def write(self, unit: UnitOfWork, progress: Progress, now: int) -> None:
        for _ in self._rows(unit, progress, now):
            pass

    def write_in_portions(
        self, unit: UnitOfWork, progress: Progress, now: int, on_durable: Callable[[], None]
    ) -> None:
        self._db.start(self._rows(unit, progress, now), on_durable)

    @property
    def is_writing(self) -> bool:
        return self._db.is_writing

    def step(self) -> None:
        self._db.step()

    def _rows(self, unit: UnitOfWork, progress: Progress, now: int) -> Iterator[None]:
        """Write a unit inside a transaction; yields after each portion of URLs and changes, which may be very
        many.

        Inserts come first, then changes in their order: a row may be inserted and changed in the same unit.
        """
        db, run_id = self._db, self.run.id
        if not unit.is_empty or unit.limited:
            ends = {"next_url": progress.next_url, "next_visit": progress.next_visit}
            unit_times.record(db, run_id, now, **ends)
        for start in range(0, len(unit.urls), PORTION):
            db.many("add_url", unit.urls[start : start + PORTION])
            failpoint("portion_written")
            yield
        for start in range(0, len(unit.changes), PORTION):
            for row in unit.changes[start : start + PORTION]:
                db.many(_CHANGES[type(row)], [row])
            yield
        if self._settle(unit.settled) != len(unit.settled):
            raise StoreError(f"{db.path}: a URL was changed by another process; this unit of work was not stored")
        for base, rule in unit.limited.items():
            db.run("skip_base", run_id=run_id, base=base, rule=rule)
        db.many("add_visit", heads.with_ids(db, unit.visits))
        db.many("add_document", unit.documents)
        db.many("add_page", unit.pages)
        db.many("save_family", unit.families)
        db.many("add_mark", unit.marks)
        db.many("add_outlinks", unit.outlinks)
        db.many("add_spool_line", unit.spool_lines)
        self._add_bodies(unit)
        db.many("save_base", list(unit.bases.values()))
        self.add_tallies(unit.tallies)
        self.advance(progress)
        db.run(
            "count_crawl",
            crawl_id=self.crawl.id,
            visited=progress.visited,
            failed=progress.failed,
            pages=progress.pages,
            bytes=progress.bytes,
            now=now,
        )
        failpoint("rows_written")

    def _settle(self, rows: Sequence[SettleRow]) -> int:
        """Settle URLs; returns how many were queued. The ids of visited URLs nearly always form one range."""
        others = [row for row in rows if row.state != VISITED[0]]
        ranges: list[list[int]] = []
        for number in sorted(row.id for row in rows if row.state == VISITED[0]):
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        visited = [(self.run.id, *ends) for ends in ranges]
        return self._db.many("settle_url", others) + self._db.many("settle_stretch", visited)

    def _add_bodies(self, unit: UnitOfWork) -> None:
        self._db.many("add_body", [(sha256, *at) for sha256, at in unit.bodies])
        ends = {at.segment: at.offset + at.length for _, at in unit.bodies if at.offset is not None}
        for segment, committed in ends.items():
            self._db.run("extend_segment", segment=segment, committed=committed)

    def advance(self, progress: Progress) -> None:
        runs.advance(self._db, self.run.id, progress)

    def end(self, ending: Ending, now: int) -> None:
        runs.end(self._db, self.run.id, self.crawl.id, ending, now)

    # Counters and hashes.

    def roles(self) -> dict[str, int]:
        return dict(self._db.all("count_roles", run_id=self.run.id))

    def reused(self) -> int:
        return sum(count for reuse, count, _ in self._db.all("count_reuses", run_id=self.run.id) if reuse)

    def queued_by_base(self) -> dict[int, int]:
        return dict(self._db.all("queued_by_base", run_id=self.run.id))

    def page_hashes(self, most: int) -> list[bytes]:
        return [sha256 for (sha256,) in self._db.each("page_hashes", run_id=self.run.id, most=most)]

    def has_page(self, content_sha256: bytes) -> bool:
        return self._db.one("page_exists", run_id=self.run.id, content_sha256=content_sha256) is not None

    def body_hashes(self, most: int) -> list[bytes]:
        return [sha256 for (sha256,) in self._db.each("body_hashes", most=most)]

    def has_body(self, sha256: bytes) -> bool:
        return self._db.one("body_exists", sha256=sha256) is not None

    def has_marks(self) -> bool:
        return self._db.one("any_mark", run_id=self.run.id) is not None

    def has_mark(self, sha256: bytes) -> bool:
        return self._db.one("mark_exists", run_id=self.run.id, sha256=sha256) is not None

    def state_of(self, url_id: int) -> str | None:
        found: str | None = self._db.value("state_of", run_id=self.run.id, id=url_id)
        return found

    def body_location(self, sha256: bytes) -> Location | None:
        return body_rows.location(self._db, sha256)

    def redirect_of(self, url_id: int) -> int | None:
        found: int | None = self._db.value("redirect_of", run_id=self.run.id, url_id=url_id)
        return found

    def bases(self) -> list[Base]:
        return runs.bases_of(self._db, self.run.id)

    def open_bases(self) -> dict[int, int]:
        return dict(self._db.all("open_base_places", run_id=self.run.id))

    def scope_moved(self, *, several: bool, recrawls: bool) -> bool:
        queries = [name for name, wanted in (("moved_base", several), ("moved_since", recrawls)) if wanted]
        return any(self._db.value(query, run_id=self.run.id) is not None for query in queries)

    # Earlier runs.

    def earlier_id(self, run_id: int, key: str) -> int | None:
        found: int | None = self._db.value("known_url", run_id=run_id, key=key)
        return found

    def highest_id(self, run_id: int) -> int:
        return int(self._db.value("most_urls", run_id=run_id))

    def earlier_keys(self, run_id: int, first: int, last: int) -> list[tuple[int, str]]:
        rows = self._db.all("urls_between", run_id=run_id, first=first, last=last)
        return [(number, key) for number, key, _ in rows]

    def looks_at(self, key: str, most: int) -> list[tuple[int, bytes]]:
        run = self.run
        rows: list[Any] = self._db.all(
            "looks_at", project_id=run.project_id, number=run.number, key=key, most=most
        )
        return rows

    def lastmod_of(self, key: str) -> str | None:
        found: str | None = self._db.value("lastmod_of", run_id=self.run.id, key=key)
        return found

    # The frontier.

    def known_url(self, key: str) -> Known | None:
        row = self._db.one("known_url", run_id=self.run.id, key=key)
        return Known(*row) if row else None

    def known_urls(self) -> Iterator[tuple[str, Known]]:
        for row in self._db.each("known_urls", run_id=self.run.id):
            yield row[0], Known(*row[1:])

    def queued_lanes(self) -> list[str]:
        return [lane for (lane,) in self._db.all("queued_lanes", run_id=self.run.id)]

    def queued_from(self, lane: str, place: Place, count: int) -> list[tuple[Item, int | None]]:
        rows = self._db.all(
            "queued_in_order",
            run_id=self.run.id,
            lane=lane,
            depth=place.depth,
            rank=place.rank,
            count=count,
        )
        return [(_item(row), row[11]) for row in rows]

    # Judging again.

    def tallies(self) -> Counter[Tally]:
        rows = self._db.all("tallies_of", run_id=self.run.id)
        return Counter({(state, reason): count for state, reason, count in rows})

    def add_tallies(self, changes: Counter[Tally]) -> None:
        for (state, reason), change in changes.items():
            self._db.run("add_tally", run_id=self.run.id, state=state, reason=reason, change=change)

    def key_of(self, url_id: int) -> str | None:
        found: str | None = self._db.value("key_of", run_id=self.run.id, id=url_id)
        return found

    def is_known(self, key: str) -> bool:
        return self._db.one("known_url", run_id=self.run.id, key=key) is not None

    def urls_to_judge(self, after: int, count: int) -> list[StoredUrl]:
        rows = self._db.all("urls_to_judge", run_id=self.run.id, after=after, count=count)
        return list(map(StoredUrl._make, rows))

    def admitted_urls(self) -> Iterable[tuple[int, str, str, str | None]]:
        rows: list[Any] = self._db.all("admitted_urls", run_id=self.run.id)
        return rows

    def rejudge(self, rows: Sequence[RejudgeRow], now: int) -> None:
        if rows:
            unit_times.record(self._db, self.run.id, now)
        self._db.many("rejudge_url", rows)

    def families(self) -> list[FamilyRow]:
        rows = self._db.all("families_of", run_id=self.run.id)
        return [FamilyRow(self.run.id, *row)._replace(released=bool(row[4])) for row in rows]

    def save_families(self, rows: Sequence[FamilyRow]) -> None:
        self._db.many("save_family", rows)

    def unpark_family(self, pattern: str) -> int:
        return self._db.run("unpark_family", run_id=self.run.id, pattern=pattern)

    def listed_bases(self) -> set[int]:
        return {base for (base,) in self._db.all("listed_bases", run_id=self.run.id)}

    def save_rules(self, rules: str) -> None:
        self._db.run("rule_run", run_id=self.run.id, rules=rules)

    def nofollow_page(self, url_id: int) -> tuple[str, bool] | None:
        row = self._db.one("said_nofollow", run_id=self.run.id, id=url_id)
        return (row[0], bool(row[1])) if row else None

    def link_records(self) -> Iterator[tuple[bytes, bool]]:
        for packed, nofollow in self._db.each("link_records", run_id=self.run.id):
            yield packed, bool(nofollow)

    def unlinked(self) -> list[CarryRow]:
        return list(vanished.marks(self._db, self.run))

    def mark_carried(self, rows: Sequence[CarryRow]) -> None:
        self._db.many("carry_url", rows)

    def move(self, old: RunState, new: RunState, now: int) -> None:
        runs.move_run(self._db, self.run.id, old, new, now)


def _item(row: Row) -> Item:
    number, key, url, source, depth, rank, lane, hops, redirects, base, family_member = row[:11]
    return Item(
        number, key, url or key, _SOURCES[source], depth, rank, lane, hops, redirects, base, bool(family_member)
    )
