"""Every frontier, on every store, against a simple model; and the plans of SQLite's queries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from backends import Backend, MemoryBackend, SqliteBackend
from memory.frontier import MemoryFrontier
from orbweb.frontier import Frontier
from orbweb.frontier import heaps as module
from orbweb.frontier.heaps import HeapFrontier
from orbweb.lifecycle import EndedBy
from orbweb.model import Item, Known, Place, Source
from orbweb.store import RunStore
from orbweb.store.rows import Ending, Progress, ReadmitRow, SettleRow, UrlRow
from orbweb.store.sqlite.db import Database, load_queries
from orbweb.store.unit import UnitOfWork

LANES = ("", "a:80")
BASES = 3

Clock = Callable[[], int]


@dataclass(frozen=True)
class Setup:
    """A frontier and the store it stands on."""

    open_backend: Callable[[], Backend]
    make_frontier: Callable[[RunStore, int, Clock], Frontier]


def in_heaps(store: RunStore, known_urls: int, clock: Clock) -> Frontier:
    return HeapFrontier(store, known_urls=known_urls, clock=clock)


def in_memory(store: RunStore, known_urls: int, clock: Clock) -> Frontier:
    return MemoryFrontier(store, clock=clock)


def memory() -> Backend:
    return MemoryBackend(Path())


@pytest.fixture(params=["heaps-sqlite", "heaps-memory", "memory"])
def setup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Setup]:
    if request.param == "heaps-sqlite":
        with closing(SqliteBackend(tmp_path)) as shared:
            yield Setup(lambda: shared, in_heaps)
    else:
        yield Setup(memory, in_heaps if request.param == "heaps-memory" else in_memory)


@pytest.fixture(scope="session")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with closing(Database(tmp_path_factory.mktemp("frontier") / "orbweb.db")) as opened:
        yield opened


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little memory that most places lie beyond the horizon and most keys are forgotten."""
    for name, value in {"CHUNK": 4, "FULL": 9, "LOW": 2, "REMEMBERED": 5}.items():
        monkeypatch.setattr(module, name, value)


class Books:
    """What the ledger does around a frontier, and a model of what the frontier must answer."""

    def __init__(self, setup: Setup) -> None:
        self.make_frontier = setup.make_frontier
        backend = setup.open_backend()
        self.run = backend.start_run([], [])
        self.store = backend.store.open_run(self.run)
        self.group = self.store.begin()
        self.writing: UnitOfWork | None = None
        self.next_id = 1
        self.next_rank = 0
        self.queued: dict[Place, Item] = {}
        self.leased: dict[Place, Item] = {}
        self.known: dict[str, Known] = {}
        self.refused: dict[str, Item] = {}
        self.full: set[int] = set()
        self.deferred: dict[int, tuple[int, Item]] = {}
        self.now = 0
        self.frontier = self.make_frontier(self.store, 0, self.clock)

    def clock(self) -> int:
        return self.now

    def place(self, depth: int, lane: str, base: int) -> Item:
        number, rank = self.next_id, self.next_rank
        self.next_id += 1
        self.next_rank += 1
        key = f"https://h/{number}"
        url = key if number % 2 else key + "/"
        return Item(number, key, url, Source.SPIDER, depth, rank, lane, number % 3, 0, base)

    def insert(self, item: Item, reason: str | None) -> None:
        url = None if item.url == item.key else item.url
        state, rank = ("skipped", None) if reason else ("queued", item.rank)
        self.group.urls.append(
            UrlRow(self.run.id, item.id, item.key, url, state, reason, "rule", item.source.value, item.depth, rank,
                   item.lane, item.hops, item.redirects, item.base, None)
        )  # fmt: skip
        self.remember(item.key, Known(item.id, item.depth, item.hops, reason))

    def remember(self, key: str, known: Known) -> None:
        self.known[key] = known
        self.frontier.remember(key, known)

    def admit(self, item: Item) -> None:
        self.frontier.admit(item)
        self.queued[item.place] = item

    def flush(self, ending: Ending | None = None) -> None:
        self.written()
        self.begin_to_write()
        self.written(ending)
        self.frontier.refill()

    def begin_to_write(self) -> None:
        """The group is on its way to the database, which does not show it yet; more comes in meanwhile."""
        self.written()
        self.frontier.forget()
        self.writing, self.group = self.group, self.store.begin()

    def written(self, ending: Ending | None = None) -> None:
        if self.writing is not None:
            progress = Progress(self.next_id, self.next_rank, 1, True, True, 0, 0, 0, 0)
            with self.store.transaction():
                self.store.write(self.writing, progress, 1)
                if ending is not None:
                    self.store.end(ending, 1)
            self.writing = None

    def restart(self) -> None:
        """As after a crash: leases are forgotten, what was written is there."""
        self.queued |= self.leased
        self.leased.clear()
        self.wake_model()
        self.frontier = self.make_frontier(self.store, self.next_id, self.clock)

    def defer(self, item: Item, due_at: int) -> None:
        later = item._replace(rank=self.next_rank)
        self.next_rank += 1
        del self.leased[item.place]
        self.deferred[item.id] = (due_at, later)
        self.group.defer(item.id, later.rank, due_at)
        self.frontier.defer(later, due_at)

    def wake(self, now: int) -> None:
        self.now = now
        self.frontier.wake()
        self.wake_model()

    def wake_model(self) -> None:
        for due_at, item in list(self.deferred.values()):
            if due_at <= self.now:
                del self.deferred[item.id]
                self.queued[item.place] = item

    def first(self, lane: str) -> Item | None:
        return min((item for item in self.queued.values() if item.lane == lane), key=place_of, default=None)

    def lease(self, lane: str) -> Item | None:
        if self.frontier.next(lane) is None and self.frontier.starved():
            self.flush()
        expected = self.first(lane)
        assert identity(self.frontier.next(lane)) == identity(expected)
        if expected is not None:
            assert identity(self.frontier.lease(lane)) == identity(expected)
            self.leased[expected.place] = self.queued.pop(expected.place)
        return expected

    def check(self) -> None:
        for lane in LANES:
            shown, expected = self.frontier.next(lane), self.first(lane)
            if shown is None:
                assert expected is None or self.frontier.starved()
            else:
                assert identity(shown) == identity(expected)
            for place in (*self.leased, *([expected.place] if expected else ())):
                is_behind = expected is not None and expected.place < place
                assert self.frontier.precedes(lane, place) is is_behind or self.frontier.starved()
        assert all(self.frontier.is_leased(item.id) for item in self.leased.values())
        assert not any(self.frontier.is_leased(item.id) for item in self.queued.values())


def place_of(item: Item) -> Place:
    return item.place


def identity(item: Item | None) -> Item | None:
    """An item but for its hops: those of a queued URL may shrink, and `known` has the word on them."""
    return item and item._replace(hops=0)


class FrontierMachine(RuleBasedStateMachine):
    """Any order of what a crawl does to its frontier."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self.books = Books(setup)

    def teardown(self) -> None:
        """What is left comes in the order of places, each once."""
        books = self.books
        books.wake(books.now + 100)
        for lane in LANES:
            while (item := books.lease(lane)) is not None:
                assert item.lane == lane
        assert not books.queued
        for key, known in books.known.items():
            assert books.frontier.known(key) == known
        books.flush(Ending(EndedBy.CANCELLED))

    def open_base(self, base: int) -> int | None:
        return next(
            (each % BASES for each in range(base, base + BASES) if each % BASES not in self.books.full), None
        )

    @rule(
        depth=st.integers(0, 3),
        lane=st.sampled_from(LANES),
        base=st.integers(0, BASES - 1),
        count=st.integers(1, 12),
    )
    def admit(self, depth: int, lane: str, base: int, count: int) -> None:
        owner = self.open_base(base)
        for _ in range(count if owner is not None else 0):
            item = self.books.place(depth, lane, owner or 0)
            self.books.insert(item, None)
            self.books.admit(item)

    @rule(depth=st.integers(0, 3), lane=st.sampled_from(LANES))
    def refuse(self, depth: int, lane: str) -> None:
        item = self.books.place(depth, lane, 0)
        self.books.refused[item.key] = item
        self.books.insert(item, "max_depth")

    @precondition(lambda self: self.books.refused)
    @rule(data=st.data(), depth=st.integers(0, 3))
    def readmit(self, data: st.DataObject, depth: int) -> None:
        owner = self.open_base(0)
        if owner is None:
            return
        books = self.books
        key = data.draw(st.sampled_from(sorted(books.refused)))
        item = books.refused.pop(key)._replace(depth=depth, rank=books.next_rank, base=owner)
        books.next_rank += 1
        url = None if item.url == key else item.url
        row = ReadmitRow(
            url, "queued", None, None, "spider", depth, item.rank, item.lane, item.hops, 0, item.base, None, False,
            0, 0, None, books.run.id, item.id,
        )  # fmt: skip
        books.group.readmit(row)
        books.remember(key, Known(item.id, depth, item.hops, None))
        books.admit(item)

    @precondition(lambda self: self.books.leased)
    @rule(data=st.data(), wait=st.integers(1, 5))
    def defer(self, data: st.DataObject, wait: int) -> None:
        place = data.draw(st.sampled_from(sorted(self.books.leased)))
        self.books.defer(self.books.leased[place], self.books.now + wait)

    @rule(steps=st.integers(1, 4))
    def wake(self, steps: int) -> None:
        self.books.wake(self.books.now + steps)

    @precondition(lambda self: self.books.known)
    @rule(data=st.data())
    def shorten(self, data: st.DataObject) -> None:
        books = self.books
        key = data.draw(st.sampled_from(sorted(books.known)))
        known = books.known[key]
        books.group.shorten_path(known.id, 0)
        books.remember(key, known._replace(hops=0))

    @rule(lane=st.sampled_from(LANES), count=st.integers(1, 6))
    def lease(self, lane: str, count: int) -> None:
        for _ in range(count):
            self.books.lease(lane)

    @precondition(lambda self: self.books.leased)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(sorted(self.books.leased)))
        item = self.books.leased.pop(place)
        self.books.frontier.give_back(item)
        self.books.queued[place] = item

    @precondition(lambda self: self.books.leased)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(sorted(self.books.leased)))
        item = self.books.leased.pop(place)
        self.books.frontier.committed(item)
        self.books.group.settled.append(SettleRow("visited", None, None, self.books.run.id, item.id))

    @rule(base=st.integers(0, BASES - 1))
    def reach_page_limit(self, base: int) -> None:
        books = self.books
        if base in books.full or any(item.base == base for item in books.leased.values()):
            return
        books.full.add(base)
        books.frontier.drop(base)
        books.group.limited[base] = "limits.page_limit: 1"
        for held in [item for _, item in books.deferred.values() if item.base == base]:
            books.queued[held.place] = books.deferred.pop(held.id)[1]
        for item in [item for item in books.queued.values() if item.base == base]:
            del books.queued[item.place]
            books.remember(item.key, books.known[item.key]._replace(reason="page_limit"))

    @rule()
    def flush(self) -> None:
        self.books.flush()

    @rule()
    def begin_to_write(self) -> None:
        self.books.begin_to_write()

    @rule()
    def written(self) -> None:
        self.books.written()

    @rule()
    def reload(self) -> None:
        self.books.flush()
        self.books.frontier.reload()

    @rule()
    def restart(self) -> None:
        self.books.flush()
        self.books.restart()

    @rule(number=st.integers(1, 200))
    def look_up(self, number: int) -> None:
        key = f"https://h/{number}"
        assert self.books.frontier.known(key) == self.books.known.get(key)

    @invariant()
    def the_next_place_is_the_smallest(self) -> None:
        self.books.check()


@pytest.mark.usefixtures("small")
def test_leases_come_in_order_and_each_once_whatever_happens(setup: Setup) -> None:
    run_state_machine_as_test(
        lambda: FrontierMachine(setup),
        settings=settings(
            max_examples=100, stateful_step_count=60, deadline=None, derandomize=True, database=None
        ),
    )


@pytest.fixture
def books(setup: Setup) -> Iterator[Books]:
    made = Books(setup)
    yield made
    made.flush(Ending(EndedBy.CANCELLED))


def admitted(books: Books, depth: int, count: int, lane: str = "") -> list[Item]:
    items = [books.place(depth, lane, 0) for _ in range(count)]
    for item in items:
        books.insert(item, None)
        books.admit(item)
    return items


def drained(books: Books, lane: str = "") -> list[int]:
    found = []
    while (item := books.lease(lane)) is not None:
        found.append(item.id)
    return found


@pytest.mark.usefixtures("small")
def test_places_beyond_the_horizon_come_back_from_the_database(books: Books) -> None:
    deep, shallow = admitted(books, 2, 30), admitted(books, 1, 30)
    assert drained(books) == [item.id for item in shallow + deep]
    assert not books.frontier.starved()


@pytest.mark.usefixtures("small")
def test_a_lease_given_back_beyond_the_horizon_is_not_leased_twice(books: Books) -> None:
    late = admitted(books, 2, 1)
    item = books.lease("")
    assert item == late[0]
    early = admitted(books, 1, 20)
    books.frontier.give_back(item)
    books.queued[item.place] = books.leased.pop(item.place)
    assert drained(books) == [each.id for each in early + late]


@pytest.mark.usefixtures("small")
def test_a_lease_that_earlier_places_overtake_is_not_leased_twice(books: Books) -> None:
    late = admitted(books, 2, 6)
    assert [books.lease("") for _ in late] == late
    early = admitted(books, 1, 20)
    assert drained(books) == [each.id for each in early]


@pytest.mark.usefixtures("small")
def test_known_is_exact_after_the_cache_has_forgotten(books: Books) -> None:
    items = admitted(books, 1, 40)
    for _ in range(3):
        books.flush()
    assert [books.frontier.known(item.key) for item in items] == [books.known[item.key] for item in items]
    assert books.frontier.known("https://h/never") is None


def test_lanes_that_ran_dry_are_forgotten_and_come_back(books: Books) -> None:
    admitted(books, 1, 2, "a:80")
    admitted(books, 1, 1)
    assert set(books.frontier.lanes()) == {"", "a:80"}
    assert len(drained(books, "a:80")) == 2
    books.flush()
    assert list(books.frontier.lanes()) == [""]
    assert books.frontier.next("a:80") is None
    admitted(books, 2, 1, "a:80")
    assert books.frontier.lane_count() == 2
    assert len(drained(books, "a:80")) == 1


def plan(db: Database, name: str) -> str:
    query = load_queries("queries.sql")[name]
    with closing(sqlite3.connect(db.path)) as connection:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {query.sql}", [None] * len(query.params)).fetchall()
    return "; ".join(row[3] for row in rows)


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("queued_in_order", "USING INDEX urls_in_order (run_id=? AND lane=? AND (depth,rank)>(?,?))"),
        ("known_url", "urls USING INDEX urls_by_key (run_id=? AND key=?)"),
        ("page_exists", "pages USING PRIMARY KEY (run_id=? AND content_sha256=?)"),
        ("body_exists", "bodies USING PRIMARY KEY (sha256=?)"),
        ("body_location", "bodies USING PRIMARY KEY (sha256=?)"),
        ("visit_of", "visits USING INDEX visits_by_url (run_id=? AND url_id=?)"),
        ("redirect_of", "visits USING INDEX visits_by_url (run_id=? AND url_id=?)"),
        ("forget_visit", "visits USING COVERING INDEX visits_by_url (run_id=? AND url_id=?)"),
        ("settle_url", "urls USING PRIMARY KEY (run_id=? AND id=?)"),
        ("readmit_url", "urls USING PRIMARY KEY (run_id=? AND id=?)"),
        ("requeue_url", "urls USING PRIMARY KEY (run_id=? AND id=?)"),
        ("shorten_path", "urls USING PRIMARY KEY (run_id=? AND id=?)"),
        ("key_of", "urls USING PRIMARY KEY (run_id=? AND id=?)"),
        ("outlinks_of", "outlinks USING PRIMARY KEY (run_id=? AND url_id=?)"),
        ("captures_from", "asked USING COVERING INDEX urls_by_key (run_id=? AND key=?)"),
        ("captures_from", "first USING COVERING INDEX visits_by_url (run_id=? AND url_id=?)"),
        ("captures_from", "visits USING PRIMARY KEY (run_id=? AND number>?)"),
        ("captures_from", "bodies USING PRIMARY KEY (sha256=?)"),
        ("captures_from", "outlinks USING PRIMARY KEY (run_id=? AND url_id=?)"),
        ("captures_from", "pages USING PRIMARY KEY (run_id=? AND content_sha256=?)"),
        ("captures_from", "documents USING INDEX sqlite_autoindex_documents_1 (sha256=?)"),
        ("urls_between", "urls USING PRIMARY KEY (run_id=? AND id>? AND id<?)"),
        ("queued_lanes", "urls USING INDEX urls_in_order (run_id=?)"),
        ("tallies_of", "tallies USING PRIMARY KEY (run_id=?)"),
        ("manifest", "visits USING PRIMARY KEY (run_id=? AND number>?)"),
    ],
)
def test_a_query_of_the_hot_path_uses_its_index_and_nothing_else(db: Database, name: str, index: str) -> None:
    steps = plan(db, name)
    assert index in steps
    assert "SCAN" not in steps
    assert "TEMP B-TREE" not in steps


def test_no_query_scans_a_table_that_grows_with_the_crawl(db: Database) -> None:
    growing = ("urls", "visits", "pages", "outlinks", "bodies")
    scans = {
        name for name in load_queries("queries.sql") if any(f"SCAN {table}" in plan(db, name) for table in growing)
    }
    assert scans == {"body_hashes", "forget_documents", "stored_bodies"}
