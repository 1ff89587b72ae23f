"""One run in memory, with the meaning of the named queries of SQLite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from operator import attrgetter

from memory import changes, reachable
from memory.changes import QUEUED, SKIPPED
from memory.database import MemoryDatabase
from memory.tables import RunTables
from orbweb.errors import StoreError
from orbweb.lifecycle import ENDING_STATE, CrawlState, RunState, run_after
from orbweb.model import FamilyRow, Item, Known, Place, SkipReason, Source
from orbweb.store import RunStore
from orbweb.store.bodies import Location
from orbweb.store.rows import CarryRow, Ending, Progress, RejudgeRow, StoredUrl, Tally, UrlRow
from orbweb.store.runs import Base, Crawl, Run
from orbweb.store.unit import UnitOfWork

PORTION = 500
KEEPS_PLACE = frozenset(
    each.value
    for each in (
        SkipReason.ROBOTS,
        SkipReason.ROBOTS_UNAVAILABLE,
        SkipReason.NOINDEX,
        SkipReason.PAGE_LIMIT,
        SkipReason.FINISHED,
    )
)
"""Why a URL with a place was skipped, if it still counts as one that has it."""

by_id = attrgetter("id")


class MemoryRunStore:
    """One run, opened by the crawl that owns it."""

    def __init__(self, db: MemoryDatabase, run: Run, crawl: Crawl, *, portion: int = PORTION) -> None:
        self._db = db
        self._portion = portion
        self.run = run
        self.run_id = run.id
        self.crawl = crawl

    @property
    def _now(self) -> RunTables:
        return self._db.tables.runs[self.run_id]

    def _writable(self) -> RunTables:
        self._db.check_writable()
        return self._now

    # The transaction.

    def begin(self) -> UnitOfWork:
        return UnitOfWork(self.run_id)

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
        tables = self._writable()
        for start in range(0, len(unit.urls), self._portion):
            for row in unit.urls[start : start + self._portion]:
                changes.add_url(tables, row, now)
            yield
        for start in range(0, len(unit.changes), self._portion):
            for change in unit.changes[start : start + self._portion]:
                changes.change_url(tables, change, now)
            yield
        self._settle(tables, unit, now)
        for packed in unit.documents:
            self._db.tables.documents.setdefault(packed.sha256, packed)
        for sha256, location in unit.bodies:
            self._db.tables.bodies[sha256] = location
        for base in unit.bases.values():
            changes.save_base(tables, base)
        tables.outlinks |= {url_id: links for _, url_id, links in unit.outlinks}
        tables.spool_lines |= {url_id: facts for _, url_id, *facts in unit.spool_lines}
        self.save_families(unit.families)
        self._writable().marks.update(sha256 for _, sha256 in unit.marks)
        self.add_tallies(unit.tallies)
        self.advance(progress)
        self._replace_crawl(
            visited=progress.visited,
            failed=progress.failed,
            pages=progress.pages,
            bytes=progress.bytes,
            updated_at=now,
        )

    def _settle(self, tables: RunTables, unit: UnitOfWork, now: int) -> None:
        for settled in unit.settled:
            changes.settle(tables, settled, now)
        for base, rule in unit.limited.items():
            changes.skip_base(tables, base, rule, now)
        for visit in unit.visits:
            changes.add_visit(tables, visit, now)
        for page in unit.pages:
            changes.add_page(tables, *page[1:])

    def _replace_crawl(self, **values: object) -> None:
        tables = self._writable()
        tables.crawls = [
            replace(crawl, **values) if crawl.id == self.crawl.id else crawl  # type: ignore[arg-type]
            for crawl in tables.crawls
        ]

    def advance(self, progress: Progress) -> None:
        tables = self._writable()
        tables.run = replace(
            tables.run,
            next_url=progress.next_url,
            next_rank=progress.next_rank,
            next_visit=progress.next_visit,
            scope_fixed=progress.scope_fixed,
            surveyed=progress.surveyed,
        )

    def end(self, ending: Ending, now: int) -> None:
        tables = self._writable()
        crawl = next(each for each in tables.crawls if each.id == self.crawl.id)
        if crawl.state is not CrawlState.IN_PROGRESS:
            raise StoreError(f"memory: end_crawl found another state than expected: {crawl.state}")
        state = ENDING_STATE[ending.ended_by]
        self._replace_crawl(state=state, ended_by=ending.ended_by, error=ending.error, updated_at=now)
        self._db.tables.ended += 1
        self.move(RunState.IN_PROGRESS, run_after(ending.ended_by), now)

    def move(self, old: RunState, new: RunState, now: int) -> None:
        changes.move_run(self._writable(), old, new, now)

    # What the engine counts and remembers.

    def roles(self) -> dict[str, int]:
        return dict(Counter(visit.role for visit in self._now.visits.values()))

    def reused(self) -> int:
        return sum(visit.reuse is not None for visit in self._now.visits.values())

    def queued_by_base(self) -> dict[int, int]:
        return dict(Counter(row.base for row in self._queued()))

    def page_hashes(self, most: int) -> list[bytes]:
        return list(self._now.pages)[:most]

    def has_page(self, content_sha256: bytes) -> bool:
        return content_sha256 in self._now.pages

    def body_hashes(self, most: int) -> list[bytes]:
        return list(self._db.tables.bodies)[:most]

    def has_body(self, sha256: bytes) -> bool:
        return sha256 in self._db.tables.bodies

    def has_marks(self) -> bool:
        return bool(self._now.marks)

    def has_mark(self, sha256: bytes) -> bool:
        return sha256 in self._now.marks

    def body_location(self, sha256: bytes) -> Location | None:
        return self._db.tables.bodies.get(sha256)

    def redirect_of(self, url_id: int) -> int | None:
        visit = self._now.visit_of(url_id)
        return visit.redirect_to if visit else None

    def bases(self) -> list[Base]:
        return sorted(self._now.bases.values())

    def open_bases(self) -> dict[int, int]:
        return dict(Counter(row.base for row in self._queued() if row.depth == 0))

    def scope_moved(self, *, several: bool, recrawls: bool) -> bool:
        before = self._earlier_scopes() if recrawls else {}
        for base in self._now.bases.values():
            row = self._now.urls.get(base.number + 1)
            if row is None:
                continue
            moved_since = any(base.scope_key != key for key in before.get(base.url, [row.key]))
            if (several and base.scope_key != row.key) or (recrawls and moved_since):
                return True
        return False

    def _earlier_scopes(self) -> dict[str, list[str]]:
        """Where the scopes of the recrawled run lie, by base URL."""
        found: dict[str, list[str]] = {}
        recalls = self._now.run.recalls
        for base in self._db.tables.runs[recalls].bases.values() if recalls is not None else ():
            found.setdefault(base.url, []).append(base.scope_key)
        return found

    # Earlier runs.

    def earlier_id(self, run_id: int, key: str) -> int | None:
        return self._db.tables.runs[run_id].ids.get(key) if run_id in self._db.tables.runs else None

    def highest_id(self, run_id: int) -> int:
        return max(self._urls_of(run_id), default=0)

    def earlier_keys(self, run_id: int, first: int, last: int) -> list[tuple[int, str]]:
        rows = sorted(self._urls_of(run_id).values(), key=by_id)
        return [(row.id, row.key) for row in rows if first <= row.id <= last]

    def _urls_of(self, run_id: int) -> dict[int, UrlRow]:
        found = self._db.tables.runs.get(run_id)
        return found.urls if found else {}

    def looks_at(self, key: str, most: int) -> list[tuple[int, bytes]]:
        looks = set()
        for tables in self._db.tables.runs_before(self.run):
            visit = tables.visit_of(tables.ids.get(key, 0))
            if visit is not None and visit.kind is None and visit.body_sha256 is not None:
                looks.add((visit.fetched_at, visit.content_sha256 or visit.body_sha256))
        return sorted(looks, reverse=True)[:most]

    def lastmod_of(self, key: str) -> str | None:
        row = self._now.url_of(key)
        return row.lastmod if row else None

    # The frontier.

    def known_url(self, key: str) -> Known | None:
        row = self._now.url_of(key)
        return Known(row.id, row.depth, row.hops, row.reason) if row else None

    def known_urls(self) -> Iterator[tuple[str, Known]]:
        for row in list(self._now.urls.values()):
            yield row.key, Known(row.id, row.depth, row.hops, row.reason)

    def queued_lanes(self) -> list[str]:
        return sorted({row.lane for row in self._queued()})

    def queued_from(self, lane: str, place: Place, count: int) -> list[tuple[Item, int | None]]:
        items = sorted((_item(row) for row in self._queued() if row.lane == lane), key=attrgetter("place"))
        later = [item for item in items if item.place >= place]
        return [(item, self._now.due_at.get(item.id)) for item in later[:count]]

    def _queued(self) -> Iterator[UrlRow]:
        return (row for row in self._now.urls.values() if row.state == QUEUED)

    # Judging again.

    def tallies(self) -> Counter[Tally]:
        return Counter({tally: count for tally, count in sorted(self._now.tallies.items()) if count})

    def add_tallies(self, changes: Counter[Tally]) -> None:
        self._writable().tallies.update(changes)

    def state_of(self, url_id: int) -> str | None:
        row = self._now.urls.get(url_id)
        return row.state if row else None

    def key_of(self, url_id: int) -> str | None:
        row = self._now.urls.get(url_id)
        return row.key if row else None

    def is_known(self, key: str) -> bool:
        return key in self._now.ids

    def urls_to_judge(self, after: int, count: int) -> list[StoredUrl]:
        rows = (row for row in self._now.urls.values() if row.id > after and row.state in (QUEUED, SKIPPED))
        return [self._stored(row) for row in sorted(rows, key=by_id)[:count]]

    def _stored(self, row: UrlRow) -> StoredUrl:
        return StoredUrl(
            row.id,
            row.key,
            row.source,
            row.reason,
            row.rule,
            row.depth,
            row.rank,
            row.hops,
            row.base,
            row.found_hops,
            row.found_base,
            row.referrer,
            row.family_member,
            row.parked,
            row.listed,
            row.carried is not None,
            self._is_later(row),
        )

    def _is_later(self, row: UrlRow) -> bool | None:
        """Whether it came into a later level than that of the page that led to it, or a recrawl knew it."""
        if row.depth == 0 or row.carried is not None:
            return row.depth > 0
        page = self._now.urls.get(row.referrer or 0)
        return row.depth > page.depth if page else None

    def admitted_urls(self) -> Iterable[tuple[int, str, str, str | None]]:
        return [
            (row.id, row.key, row.state, row.reason)
            for row in sorted(self._now.urls.values(), key=by_id)
            if row.rank is not None and (row.state != SKIPPED or row.reason in KEEPS_PLACE)
        ]

    def rejudge(self, rows: Sequence[RejudgeRow], now: int) -> None:
        tables = self._writable()
        for change in rows:
            changes.rejudge(tables, change, now)

    def families(self) -> list[FamilyRow]:
        return sorted(self._now.families.values(), key=attrgetter("pattern"))

    def listed_bases(self) -> set[int]:
        outside = ("out_of_scope", "excluded", "not_included")
        return {
            url.base
            for url in self._now.urls.values()
            if url.listed and url.depth and not url.hops and url.reason not in outside
        }

    def save_families(self, rows: Sequence[FamilyRow]) -> None:
        """The kind of a family never changes."""
        families = self._writable().families
        for row in rows:
            known = families.get(row.pattern)
            families[row.pattern] = row._replace(kind=known.kind) if known else row

    def unpark_family(self, pattern: str) -> int:
        urls = self._writable().urls
        parked = [row for row in urls.values() if row.state == SKIPPED and row.parked == pattern]
        urls |= {row.id: row._replace(parked="") for row in parked}
        return len(parked)

    def save_rules(self, rules: str) -> None:
        tables = self._writable()
        tables.run = replace(tables.run, rules=rules)

    def nofollow_page(self, url_id: int) -> tuple[str, bool] | None:
        row = self._now.urls.get(url_id)
        return (row.url or row.key, self._says_nofollow(row)) if row else None

    def link_records(self) -> Iterator[tuple[bytes, bool]]:
        for url_id, packed in list(self._now.outlinks.items()):
            if url_id in self._now.urls:
                yield packed, self._says_nofollow(self._now.urls[url_id])

    def _says_nofollow(self, row: UrlRow) -> bool:
        """A page that asks not to be kept has no visit; what it asks is in its rule."""
        visit = self._now.visit_of(row.id)
        if visit is not None:
            return bool(visit.nofollow)
        rule = (row.rule or "").lower()
        return row.reason == SkipReason.NOINDEX and ("nofollow" in rule or "none" in rule)

    def unlinked(self) -> list[CarryRow]:
        return reachable.marks(self._db.tables, self._now)

    def mark_carried(self, rows: Sequence[CarryRow]) -> None:
        for row in rows:
            changes.change_url(self._writable(), row, 0)


def _item(row: UrlRow) -> Item:
    assert row.rank is not None
    return Item(
        row.id,
        row.key,
        row.url or row.key,
        Source(row.source),
        row.depth,
        row.rank,
        row.lane,
        row.hops,
        row.redirects,
        row.base,
        bool(row.family_member),
    )


def _proof(run: MemoryRunStore) -> RunStore:
    """For mypy: the class is what the protocol asks for."""
    return run
