"""One suite for every `RunStore`: a unit is written whole or not at all, and is read back as it was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from backends import NOW, Backend
from books import Books, readmitted, rejudged, url_row
from orbweb.errors import StoreError
from orbweb.lifecycle import CrawlState, EndedBy, RunState
from orbweb.model import Carried, FamilyRow, Item, Known, PackedDocument, Place, Reuse, Role, Source
from orbweb.store.bodies import Location
from orbweb.store.robots_cache import STORED_BYTES, RobotsFile
from orbweb.store.rows import (
    FAILED,
    QUEUED,
    VISITED,
    CarryRow,
    Progress,
    SettleRow,
    StoredUrl,
    skipped,
)
from orbweb.store.runs import Base, Run

BODY, OTHER, THIRD = (bytes([number]) * 32 for number in (1, 2, 3))


@pytest.fixture
def books(backend: Backend) -> Books:
    return Books(backend)


# A unit of work is written whole.


def test_a_unit_is_written_whole(books: Books) -> None:
    backend, run_id = books.backend, books.run.id
    a, b, c = books.find("a", "b", "c", lastmod="2026-11-16", family_member=True, parked="")
    books.find("d", "e", reason="out_of_scope", hops=2, found_hops=1, listed=True)
    added = list(books.unit.urls)
    visits = [
        books.visit(1, body_sha256=BODY, content_sha256=OTHER, role="primary", title=None, robots_tags="x\ny"),
        books.visit(a, body_sha256=BODY, content_sha256=OTHER, role="alternate", reuse="cached", reused_run=7),
        books.visit(b, kind="http_4xx", status=404, error="HTTP 404", proxy="p"),
    ]
    document = PackedDocument(THIRD, 4, "T", "en", 3, 4, "estimate", 0.5, 9, b"sketch", 10, b"frame")
    books.unit.add_document(document)
    books.unit.add_page(OTHER, 1, 0, THIRD)
    books.unit.add_body(BODY, Location(None, None, 10, 5))
    books.unit.families.append(FamilyRow(run_id, "https://h/?", "query", 1, 2, False, b"s"))
    books.unit.save_base(0, "https://h/moved", 1)
    packed = books.link(1, a, c)
    books.pages = 1
    books.write()
    assert [row.state for row in backend.urls(books.run)] == ["visited", "visited", "failed", "queued"] + (
        ["skipped"] * 2
    )
    settled = {a: "visited", b: "failed"}
    assert backend.urls(books.run)[1:] == [row._replace(state=settled.get(row.id, row.state)) for row in added]
    assert backend.visits(books.run) == visits
    assert backend.documents() == {THIRD: document}
    assert books.store.has_page(OTHER)
    assert books.store.has_body(BODY)
    assert list(books.store.link_records()) == [(packed, False)]
    assert books.store.families() == [FamilyRow(run_id, "https://h/?", "query", 1, 2, False, b"s")]
    assert books.store.bases() == [Base(0, "https://h/", "https://h/moved", 1)]
    assert books.is_balanced()
    now = backend.run_now(books.run)
    assert (now.next_url, now.next_rank, now.next_visit) == (7, 4, 4)
    assert (now.scope_fixed, now.surveyed, now.state) == (True, False, RunState.IN_PROGRESS)
    (crawl,) = backend.crawls(books.run)
    assert (crawl.visited, crawl.failed, crawl.pages, crawl.bytes, crawl.updated_at) == (2, 1, 1, 10, NOW + 9)
    assert crawl.state is CrawlState.IN_PROGRESS


def test_an_empty_unit_moves_the_numbers_alone(books: Books) -> None:
    assert books.unit.is_empty
    before = books.backend.urls(books.run)
    books.next_url = 40
    books.write()
    assert books.backend.run_now(books.run).next_url == 40
    assert books.backend.urls(books.run) == before
    assert books.backend.visits(books.run) == []


def _settle(books: Books, number: int, state: str = "visited") -> None:
    books.unit.settled.append(SettleRow(state, None, None, books.run.id, number))


CULPRITS: dict[str, Callable[[Books], object]] = {
    "a URL that was settled before": lambda books: _settle(books, 1),
    "a URL that is settled twice": lambda books: _settle(books, 2),
    "a URL that fails and is visited": lambda books: _settle(books, 2, "failed"),
    "a URL that is not known": lambda books: _settle(books, 99),
    "a URL that is skipped": lambda books: _settle(books, books.find("s", reason="robots")[0]),
    "a state that does not exist": lambda books: _settle(books, books.find("s")[0], "asleep"),
    "the number of a visit": lambda books: books.unit.add_visit(books.visit_row(3)._replace(number=1)),
    "the URL of a visit": lambda books: books.unit.add_visit(books.visit_row(2)),
    "a way of reuse that does not exist": lambda books: books.visit(*books.find("s"), reuse="stolen"),
    "a page": lambda books: [books.unit.add_page(BODY, 1, 0, OTHER) for _ in range(2)],
    "the id of a URL": lambda books: books.find("s", id=1),
    "the key of a URL": lambda books: books.find("a"),
    "a URL that is stored as leased": lambda books: books.find("s", state="leased"),
    "a carried that does not exist": lambda books: books.find("s", carried="lost"),
    "a URL that is readmitted as leased": lambda books: books.unit.readmit(
        readmitted(books, books.find("s", reason="max_depth")[0], state="leased")
    ),
}


@pytest.mark.parametrize("culprit", CULPRITS)
def test_one_bad_row_leaves_nothing(books: Books, culprit: str) -> None:
    books.find("a")
    books.visit(1)
    books.write()
    before = books.backend.contents()
    books.find("b")
    books.visit(2, body_sha256=BODY, role="primary")
    books.unit.add_body(BODY, Location(None, None, 10, 5))
    books.unit.skip_base(0, "limits.page_limit: 1")
    CULPRITS[culprit](books)
    with pytest.raises(StoreError):
        books.write(EndedBy.EXHAUSTED)
    assert books.backend.contents() == before
    assert not books.store.is_writing
    books.open(books.backend.run_now(books.run))
    books.visit(2)
    books.write()
    assert books.is_balanced()
    assert books.store.tallies() == {VISITED: 2}


def test_a_url_that_was_settled_is_named_as_the_cause(books: Books) -> None:
    books.visit(1)
    books.write()
    books.visit(1)
    with pytest.raises(StoreError, match="changed by another process; this unit of work was not stored"):
        books.write()


def test_what_an_earlier_unit_stored_of_a_document_or_a_body_stays(books: Books) -> None:
    for at, title in enumerate(("first", "second")):
        books.unit.add_document(PackedDocument(THIRD, at, title))
        books.unit.add_body(BODY, Location(None, None, at, at))
        books.write()
    assert books.backend.documents()[THIRD].title == "first"
    assert books.store.body_hashes(10) == [BODY]


def test_the_links_of_a_page_are_replaced(books: Books) -> None:
    books.link(1, 1)
    books.write()
    again = books.link(1, 1, 1)
    books.write()
    assert [packed for packed, _ in books.store.link_records()] == [again]


# Changes of URLs.


def test_changes_follow_inserts_in_the_order_they_came(books: Books) -> None:
    (number,) = books.find("a", reason="max_depth", lastmod="2026")
    books.unit.readmit(readmitted(books, number))
    books.unit.count(skipped("max_depth"), QUEUED, 1)
    books.unit.shorten_path(number, 1)
    books.visit(number)
    books.write()
    assert books.is_balanced()
    assert books.row(number) == url_row(
        number, "https://h/a", rank=70, run_id=books.run.id, url="https://h/a/", state="visited",
        source="redirect", depth=0, lane="lane", hops=1, redirects=1, referrer=5, family_member=True, found_hops=0,
        found_base=3, parked="p", lastmod="2026",
    )  # fmt: skip


def test_the_later_of_two_changes_counts(books: Books) -> None:
    (number,) = books.find("a")
    books.unit.list_in_sitemap(number, "2025")
    books.unit.list_in_sitemap(number, "2026")
    books.unit.list_in_sitemap(number, None)
    books.write()
    assert books.store.lastmod_of("https://h/a") == "2026"
    assert books.row(number).listed


def test_a_refused_url_is_skipped(books: Books) -> None:
    (number,) = books.find("a")
    books.unit.refuse(number, "robots", "Disallow: /a")
    books.unit.count(QUEUED, skipped("robots"), 1)
    books.write()
    row = books.row(number)
    assert (row.state, row.reason, row.rule, row.rank) == ("skipped", "robots", "Disallow: /a", 1)
    assert books.store.known_url("https://h/a") == Known(number, 1, 0, "robots")
    assert books.is_balanced()


def test_a_deferred_url_has_a_later_turn(books: Books) -> None:
    a, b = books.find("a", "b")
    books.unit.defer(a, 9, NOW + 60)
    books.write()
    later = books.store.queued_from("", Place(1, 0), 10)
    assert [(item.id, item.rank, due_at) for item, due_at in later] == [(b, 2, None), (a, 9, NOW + 60)]


def test_a_change_that_does_not_apply_changes_nothing(books: Books) -> None:
    visited, queued = books.find("a", "b")
    (refused,) = books.find("c", reason="robots")
    books.visit(visited)
    books.write()
    before = books.backend.urls(books.run)
    for number in (visited, refused, 99):
        books.unit.refuse(number, "trap", "rule")
        books.unit.defer(number, 50, NOW)
    for number in (visited, queued, 99):
        books.unit.readmit(readmitted(books, number))
        books.unit.carry(number, Carried.LISTED)
    books.unit.shorten_path(99, 1)
    books.unit.list_in_sitemap(99, "2026")
    books.write()
    assert books.backend.urls(books.run) == before


def test_the_page_limit_of_a_base_skips_what_it_has_queued(books: Books) -> None:
    a, b = books.find("a", "b")
    (other,) = books.find("c", base=1)
    books.visit(1)
    books.unit.skip_base(0, "limits.page_limit: 1")
    books.unit.count(QUEUED, skipped("page_limit"), 2)
    books.write()
    assert books.is_balanced()
    assert {(books.row(number).state, books.row(number).rule) for number in (a, b)} == {
        ("skipped", "limits.page_limit: 1")
    }
    assert books.row(other).state == "queued"
    assert books.row(1).state == "visited"
    assert books.store.queued_by_base() == {1: 1}


# Transactions.


def write_in_portions(books: Books, done: list[int]) -> None:
    unit, books.unit = books.unit, books.store.begin()
    books.store.write_in_portions(unit, books.progress(), NOW, lambda: done.append(books.next_url))


def test_a_large_unit_is_written_in_portions_and_is_durable_at_the_end(books: Books) -> None:
    numbers = books.find(*map(str, range(1200)))
    for number in numbers:
        books.unit.shorten_path(number, 1)
    done: list[int] = []
    write_in_portions(books, done)
    steps = 0
    while books.store.is_writing:
        assert not done
        books.store.step()
        steps += 1
    assert done == [1202]
    assert steps >= 6
    assert books.is_balanced()
    assert {row.hops for row in books.backend.urls(books.run)[1:]} == {1}
    books.store.step()
    assert done == [1202]


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_transaction_waits_for_the_end_of_one_in_portions(books: Books, steps: int) -> None:
    books.find(*map(str, range(1200)))
    done: list[int] = []
    write_in_portions(books, done)
    for _ in range(steps):
        books.store.step()
    books.find("later")
    books.write()
    assert done == [1203]
    assert not books.store.is_writing
    assert len(books.backend.urls(books.run)) == 1202


def test_one_in_portions_waits_for_the_end_of_the_one_before(books: Books) -> None:
    done: list[int] = []
    for name in ("a", "b"):
        books.find(*(f"{name}{number}" for number in range(600)))
        write_in_portions(books, done)
        books.store.step()
    assert done == [1202]
    with books.store.transaction():
        pass
    assert done == [1202, 1202]
    assert books.is_balanced()


def test_a_bad_row_in_the_last_portion_leaves_nothing(books: Books) -> None:
    before = books.backend.contents()
    books.find(*map(str, range(1200)))
    books.unit.urls[-1] = books.unit.urls[-1]._replace(id=1)
    done: list[int] = []
    write_in_portions(books, done)
    books.store.step()
    books.store.step()
    with pytest.raises(StoreError):
        books.store.step()
    assert not books.store.is_writing
    assert (done, books.backend.contents()) == ([], before)
    books.open(books.run)
    books.visit(1)
    books.write()
    assert books.is_balanced()


def _fail_after_writing(books: Books, error: BaseException) -> None:
    books.find("a")
    with books.store.transaction():
        books.store.write(books.unit, books.progress(), NOW)
        assert books.store.is_known("https://h/a")
        raise error


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), StoreError("x")])
def test_any_error_undoes_the_transaction(books: Books, error: BaseException) -> None:
    before = books.backend.contents()
    with pytest.raises(type(error)):
        _fail_after_writing(books, error)
    assert books.backend.contents() == before
    assert not books.store.is_known("https://h/a")


def test_transactions_are_not_nested(books: Books) -> None:
    before = books.backend.contents()
    with pytest.raises(StoreError), books.store.transaction(), books.store.transaction():
        pass
    assert books.backend.contents() == before


# What the frontier reads.


def test_a_url_is_known_as_it_is_now(books: Books) -> None:
    books.find("a", hops=2)
    books.find("b", reason="max_depth", depth=4)
    books.write()
    expected = {
        "https://h/": Known(1, 0, 0, None),
        "https://h/a": Known(2, 1, 2, None),
        "https://h/b": Known(3, 4, 0, "max_depth"),
    }
    assert dict(books.store.known_urls()) == expected
    assert {key: books.store.known_url(key) for key in expected} == expected
    assert books.store.known_url("https://h/c") is None
    assert [books.store.is_known(f"https://h/{name}") for name in "abc"] == [True, True, False]
    assert [books.store.key_of(number) for number in (1, 3, 4)] == ["https://h/", "https://h/b", None]


def test_queued_urls_come_by_lane_in_order(books: Books) -> None:
    far, near = books.find("far", "near", depth=2)
    books.find("other", lane="a:80", url="https://h/Other", hops=1, redirects=2, base=3, family_member=True)
    books.find("refused", reason="robots", lane="b:80")
    (early,) = books.find("early")
    books.visit(1)
    books.write()
    assert sorted(books.store.queued_lanes()) == ["", "a:80"]

    def queued(place: Place, count: int = 10) -> list[int]:
        return [item.id for item, _ in books.store.queued_from("", place, count)]

    assert queued(Place(0, 0)) == [early, far, near]
    assert queued(Place(0, 0), 2) == [early, far]
    assert queued(Place(2, 1)) == [far, near]
    assert queued(Place(2, 2)) == [near]
    assert queued(Place(3, 0)) == []
    assert books.store.queued_from("b:80", Place(0, 0), 10) == []
    assert books.store.queued_from("a:80", Place(0, 0), 10) == [
        (
            Item(
                4, "https://h/other", "https://h/Other", Source.SPIDER, 1, 3, "a:80", hops=1, redirects=2, base=3,
                family_member=True,
            ),
            None,
        )
    ]  # fmt: skip


# What the engine counts and remembers.


def test_tallies_show_what_there_is(books: Books) -> None:
    assert books.store.tallies() == {QUEUED: 1}
    books.visit(1)
    books.write()
    assert dict(books.store.tallies()) == {VISITED: 1}
    with books.store.transaction():
        books.store.add_tallies(Counter({VISITED: -1, FAILED: 1}))
    assert dict(books.store.tallies()) == {FAILED: 1}


def test_roles_and_reuses_are_counted(books: Books) -> None:
    assert (books.store.roles(), books.store.reused()) == ({}, 0)
    for name, role, reuse in (
        ("a", Role.PRIMARY, None),
        ("b", Role.PRIMARY, Reuse.CACHED),
        ("c", Role.ALTERNATE, Reuse.NOT_MODIFIED),
        ("d", Role.NONE, None),
    ):
        books.visit(*books.find(name), role=role.value, reuse=reuse and reuse.value)
    books.write()
    assert books.store.roles() == {"primary": 2, "alternate": 1, "-": 1}
    assert books.store.reused() == 2


def test_pages_are_of_the_run_and_bodies_of_the_workspace(backend: Backend) -> None:
    first, second = Books(backend), Books(backend, project="other")
    hashes = [bytes([number]) * 32 for number in range(5)]
    for number, sha256 in enumerate(hashes):
        first.unit.add_page(sha256, number, 0, OTHER)
        first.unit.add_body(sha256, Location(None, None, 1, 1))
    first.write()
    assert sorted(first.store.page_hashes(9)) == sorted(second.store.body_hashes(9)) == hashes
    assert len(first.store.page_hashes(3)) == len(second.store.body_hashes(3)) == 3
    assert second.store.page_hashes(9) == []
    assert [books.store.has_page(hashes[4]) for books in (first, second)] == [True, False]
    assert [books.store.has_body(hashes[4]) for books in (first, second)] == [True, True]
    assert not first.store.has_body(BODY[:31] + b"x")


def test_where_a_url_redirected_to(books: Books) -> None:
    a, b, c = books.find("a", "b", "c")
    books.visit(a, redirect_to=b)
    books.visit(b)
    books.write()
    assert [books.store.redirect_of(number) for number in (a, b, c, 99)] == [b, None, None, None]


# Base URLs.


def test_base_urls_and_what_they_have_queued(backend: Backend) -> None:
    books = Books(backend, "h", "i", "j")
    assert [base.url for base in books.store.bases()] == ["https://h/", "https://i/", "https://j/"]
    books.find("a", "b", base=1)
    books.find("moved", base=2, depth=0)
    books.find("refused", base=2, depth=0, reason="robots")
    books.visit(1)
    books.unit.save_base(1, "https://i/there", 4)
    books.unit.save_base(7, "https://nowhere/", 1)
    books.write()
    assert books.store.bases()[1] == Base(1, "https://i/", "https://i/there", 4)
    assert len(books.store.bases()) == 3
    assert books.store.open_bases() == {1: 1, 2: 2}
    assert books.store.queued_by_base() == {1: 3, 2: 2}


def moved(books: Books) -> tuple[bool, bool]:
    return (
        books.store.scope_moved(several=True, recrawls=False),
        books.store.scope_moved(several=False, recrawls=True),
    )


def test_a_scope_has_moved_from_its_base_url_or_since_the_run_before(backend: Backend) -> None:
    first = Books(backend, "h", "i")
    assert moved(first) == (False, False)
    first.unit.save_base(1, "https://i/there", 0)
    first.write(EndedBy.BUDGET)
    assert moved(first) == (True, True)
    again = Books(backend, "h", "i", recalls=first.run)
    assert moved(again) == (False, True)
    again.unit.save_base(1, "https://i/there", 0)
    again.write()
    assert moved(again) == (True, False)
    assert not again.store.scope_moved(several=False, recrawls=False)
    other = Books(backend, "j", "k", recalls=first.run)
    assert moved(other) == (False, False)


# The end of a crawl.

ENDINGS = [
    (EndedBy.EXHAUSTED, CrawlState.COMPLETED, RunState.COMPLETED),
    (EndedBy.PAGE_LIMIT, CrawlState.COMPLETED, RunState.COMPLETED),
    (EndedBy.BUDGET, CrawlState.COMPLETED, RunState.PAUSED),
    (EndedBy.DRAINED, CrawlState.COMPLETED, RunState.PAUSED),
    (EndedBy.CANCELLED, CrawlState.FAILED, RunState.PAUSED),
    (EndedBy.ERROR, CrawlState.FAILED, RunState.PAUSED),
    (EndedBy.CRASHED, CrawlState.FAILED, RunState.PAUSED),
]


def test_every_ending_is_tested() -> None:
    assert {ended_by for ended_by, *_ in ENDINGS} == set(EndedBy)


@pytest.mark.parametrize(("ended_by", "crawl_state", "run_state"), ENDINGS)
def test_every_ending(books: Books, ended_by: EndedBy, crawl_state: CrawlState, run_state: RunState) -> None:
    books.visit(1)
    books.write(ended_by, "because", now=NOW + 50)
    (crawl,) = books.backend.crawls(books.run)
    assert (crawl.state, crawl.ended_by, crawl.error) == (crawl_state, ended_by, "because")
    assert (crawl.updated_at, crawl.visited) == (NOW + 50, 1)
    now = books.backend.run_now(books.run)
    assert (now.state, now.ended_at) == (run_state, NOW + 50 if run_state is RunState.COMPLETED else None)
    before = books.backend.contents()
    books.next_url = 70
    with pytest.raises(StoreError, match="end_crawl found another state"):
        books.write(ended_by)
    assert books.backend.contents() == before


def test_a_run_moves_from_the_state_it_has(books: Books) -> None:
    books.write(EndedBy.BUDGET)
    before = books.backend.contents()
    with pytest.raises(StoreError, match="move_run found another state"), books.store.transaction():
        books.store.move(RunState.COMPLETED, RunState.PAUSED, NOW)
    assert books.backend.contents() == before
    with books.store.transaction():
        books.store.move(RunState.PAUSED, RunState.COMPLETED, NOW + 3)
    now = books.backend.run_now(books.run)
    assert (now.state, now.ended_at) == (RunState.COMPLETED, NOW + 3)
    with books.store.transaction():
        books.store.move(RunState.COMPLETED, RunState.PAUSED, NOW + 4)
    assert books.backend.run_now(books.run).ended_at is None


def test_a_run_is_opened_with_its_latest_crawl(books: Books) -> None:
    books.visit(*books.find("a"))
    books.write(EndedBy.BUDGET)
    (first,) = books.backend.crawls(books.run)
    books.open(books.backend.continue_run(books.run))
    assert (books.store.crawl.number, books.store.crawl.visited) == (2, 0)
    assert (books.store.run.next_url, books.store.run.next_visit) == (3, 2)
    books.visit(1)
    books.write(EndedBy.EXHAUSTED)
    crawls = books.backend.crawls(books.run)
    assert crawls[0] == first
    assert (crawls[1].visited, crawls[1].ended_by) == (1, EndedBy.EXHAUSTED)
    assert [visit.crawl_id for visit in books.backend.visits(books.run)] == [crawl.id for crawl in crawls]


# When URLs were found, and when their state changed.


def test_a_url_has_the_time_of_the_unit_that_found_it_and_of_the_one_that_settled_it(books: Books) -> None:
    a, b, c = books.find("a", "b", "c")
    books.visit(1)
    books.write(now=NOW + 10)
    (d,) = books.find("d", reason="robots")
    books.visit(a)
    books.visit(b, kind="http_4xx")
    books.write(now=NOW + 7)
    assert books.backend.times(books.run) == {
        1: (NOW, NOW + 10),
        a: (NOW + 10, NOW + 7),
        b: (NOW + 10, NOW + 7),
        c: (NOW + 10, NOW + 10),
        d: (NOW + 7, NOW + 7),
    }, "as the clock told, which may be set back"


def test_a_url_that_is_refused_deferred_or_left_out_has_changed_then(books: Books) -> None:
    refused, deferred, noindex, left, carried = books.find("a", "b", "c", "d", "e")
    books.write(now=NOW + 10)
    books.unit.refuse(refused, "robots", "rule")
    books.unit.defer(deferred, 20, NOW + 99)
    books.unit.settle(noindex, "skipped", "noindex", "rule")
    books.unit.shorten_path(carried, 1)
    books.unit.list_in_sitemap(carried, "2026")
    books.write(now=NOW + 20)
    times = books.backend.times(books.run)
    assert {times[number] for number in (refused, deferred, noindex)} == {(NOW + 10, NOW + 20)}
    assert times[left] == times[carried] == (NOW + 10, NOW + 10)
    books.visit(carried)
    books.unit.skip_base(0, "rule")
    books.write(now=NOW + 30)
    times = books.backend.times(books.run)
    assert times[left] == times[deferred] == times[carried] == (NOW + 10, NOW + 30)
    assert times[refused] == (NOW + 10, NOW + 20)


def test_a_visit_is_later_than_a_deferral(books: Books) -> None:
    (a,) = books.find("a")
    books.unit.defer(a, 20, NOW + 99)
    books.write(now=NOW + 10)
    books.visit(a)
    books.write(now=NOW + 20)
    assert books.backend.times(books.run)[a] == (NOW + 10, NOW + 20)


def test_another_verdict_is_another_state_and_another_place_is_not(books: Books) -> None:
    same, other, queued, moved = books.find("a", "b", reason="max_depth") + books.find("c", "d")
    books.write(now=NOW + 10)
    books.unit.readmit(readmitted(books, same, state="skipped", reason="max_depth", rule="another"))
    books.unit.readmit(readmitted(books, other))
    books.write(now=NOW + 20)
    with books.store.transaction():
        books.store.rejudge([rejudged(books, moved, rank=90)], NOW + 30)
        books.store.rejudge([rejudged(books, queued, state="skipped", reason="excluded")], NOW + 30)
    times = books.backend.times(books.run)
    assert [times[number][1] for number in (same, other, queued, moved)] == [
        *(NOW + 10, NOW + 20),
        *(NOW + 30, NOW + 10),
    ]


def test_a_unit_that_fails_leaves_no_time(books: Books) -> None:
    books.find("a")
    before = books.backend.times(books.run)
    books.unit.settle(99, "visited")
    with pytest.raises(StoreError):
        books.write(now=NOW + 50)
    assert books.backend.times(books.run) == before
    books.open(books.backend.run_now(books.run))
    (a,) = books.find("a")
    books.write(now=NOW + 60)
    assert books.backend.times(books.run)[a] == (NOW + 60, NOW + 60)


def test_a_thousand_units_keep_their_times_through_a_further_crawl(books: Books) -> None:
    """A second apart, or after days, or back."""
    steps = [1_000_003, 5, 86_400_000_000, -70]
    at, expected = NOW, {1: (NOW, NOW)}
    for number in range(1000):
        if number == 500:
            books.write(EndedBy.BUDGET, now=at)
            books.open(books.backend.continue_run(books.run))
        at += steps[number % 4]
        (found,) = books.find(f"p{number}")
        books.visit(found - 1)
        books.write(now=at)
        expected[found - 1] = (expected[found - 1][0], at)
        expected[found] = (at, at)
    assert books.backend.times(books.run) == expected


# Judging again.


def test_urls_are_judged_by_what_is_stored_with_them(books: Books) -> None:
    a, b = books.find("a", "b", hops=3, found_hops=2, found_base=1, base=2)
    (c,) = books.find("c", reason="trap", referrer=a, depth=2, family_member=True, parked="p")
    (d,) = books.find("d", referrer=a, listed=True)
    (e,) = books.find("e", referrer=None)
    (f,) = books.find("f", referrer=None, carried="known")
    (g,) = books.find("g", depth=0, carried="known")
    books.visit(b)
    books.write()
    found = books.store.urls_to_judge(0, 100)
    assert [row.id for row in found] == [1, a, c, d, e, f, g]
    assert found[1] == StoredUrl(
        a, "https://h/a", "spider", None, None, 1, 1, 3, 2, 2, 1, 1, False, None, False, False, True
    )
    assert found[2] == StoredUrl(
        c, "https://h/c", "spider", "trap", "rule of trap", 2, None, 0, 0, 0, 0, a, True, "p", False, False, True
    )
    assert [row.later for row in found] == [False, True, True, False, None, True, False]
    assert [bool(row.carried) for row in found] == [False] * 5 + [True] * 2
    assert [bool(row.listed) for row in found] == [False] * 3 + [True] + [False] * 3
    assert [row.id for row in books.store.urls_to_judge(a, 2)] == [c, d]
    assert books.store.urls_to_judge(g, 2) == []


def test_only_what_was_not_requested_is_judged_again(books: Books) -> None:
    visited, queued = books.find("a", "b")
    (refused,) = books.find("c", reason="trap")
    books.visit(visited)
    books.write()
    before = books.row(visited)
    with books.store.transaction():
        books.store.rejudge(
            [
                rejudged(books, visited),
                rejudged(books, queued, state="skipped", reason="excluded", rule="r", rank=None),
                rejudged(books, refused),
                rejudged(books, 99),
            ],
            NOW + 10,
        )
    assert books.row(visited) == before
    row = books.row(queued)
    assert (row.state, row.reason, row.rule, row.rank) == ("skipped", "excluded", "r", None)
    row = books.row(refused)
    assert (row.state, row.reason, row.rule, row.rank, row.lane) == ("queued", None, None, 80, "lane")
    assert (row.hops, row.base, row.family_member, row.parked) == (1, 2, True, "")


def test_admitted_urls_have_a_place_that_no_rule_took(books: Books) -> None:
    reasons = ("robots", "robots_unavailable", "noindex", "page_limit", "finished", "excluded", "cap", "trap")
    numbers = [books.find(reason, reason=reason, rank=9)[0] for reason in reasons]
    books.find("without", reason="robots")
    (queued,) = books.find("queued")
    books.visit(1)
    books.write()
    found = sorted(books.store.admitted_urls())
    assert [number for number, *_ in found] == [1, *numbers[:5], queued]
    assert found[0] == (1, "https://h/", "visited", None)
    assert found[1] == (numbers[0], "https://h/robots", "skipped", "robots")
    assert found[-1] == (queued, "https://h/queued", "queued", None)


def test_the_rules_of_a_run_and_where_it_stands_are_stored(books: Books) -> None:
    with books.store.transaction():
        books.store.save_rules('{"rules": {}}')
        books.store.advance(Progress(9, 8, 7, True, True, 6, 5, 4, 3))
    now = books.backend.run_now(books.run)
    assert now.rules == '{"rules": {}}'
    assert (now.next_url, now.next_rank, now.next_visit, now.scope_fixed, now.surveyed) == (9, 8, 7, True, True)
    (crawl,) = books.backend.crawls(books.run)
    assert (crawl.visited, crawl.failed) == (0, 0)


def test_a_family_keeps_its_kind_and_has_what_it_has_shown_last(books: Books) -> None:
    run_id = books.run.id
    books.unit.families += [FamilyRow(run_id, pattern, "query", 0, 1, False, b"") for pattern in ("b", "a")]
    books.write()
    with books.store.transaction():
        books.store.save_families([FamilyRow(run_id, "a", "growth", 2, -1, True, b"s")])
    assert sorted(books.store.families()) == [
        FamilyRow(run_id, "a", "query", 2, -1, True, b"s"),
        FamilyRow(run_id, "b", "query", 0, 1, False, b""),
    ]


def test_marks_belong_to_their_run(backend: Backend) -> None:
    first = Books(backend)
    assert not first.store.has_marks()
    for sha256 in (b"a" * 32, b"b" * 32, b"a" * 32):
        first.unit.add_mark(sha256)
    first.write(EndedBy.EXHAUSTED)
    assert first.store.has_marks()
    assert [first.store.has_mark(letter * 32) for letter in (b"a", b"b", b"c")] == [True, True, False]
    again = Books(backend, recalls=first.run)
    assert not again.store.has_marks()
    assert not again.store.has_mark(b"a" * 32)


def test_only_released_families_are_known_to_a_recrawl(backend: Backend) -> None:
    first = Books(backend)
    for pattern, released in (("a", True), ("b", False)):
        first.unit.families.append(FamilyRow(first.run.id, pattern, "query", 2, 3, released, b"s"))
    first.write(EndedBy.EXHAUSTED)
    again = Books(backend, recalls=first.run)
    assert again.store.families() == [FamilyRow(again.run.id, "a", "released", 0, 0, True, b"")]


def test_a_family_that_is_not_parked_any_more(books: Books) -> None:
    for pattern in ("p", "q"):
        books.find(f"{pattern}1", f"{pattern}2", reason="trap", parked=pattern)
    books.find("queued", parked="p")
    books.write()
    with books.store.transaction():
        assert [books.store.unpark_family(pattern) for pattern in ("p", "p", "r")] == [2, 0, 0]
    assert [row.parked for row in books.backend.urls(books.run)[1:]] == ["", "", "q", "q", "p"]


def test_whether_a_page_asks_that_its_links_are_not_followed(books: Books) -> None:
    a, b, c = books.find("a", "b", "c", url="https://h/?x")
    d, e, f = books.find("d", "e", "f", reason="noindex")
    (g,) = books.find("g", reason="robots", rule="nofollow")
    for at, rule in ((0, "noindex, NoFollow"), (1, "None"), (2, "noindex")):
        books.unit.urls[3 + at] = books.unit.urls[3 + at]._replace(rule=rule)
    books.visit(a, nofollow=True)
    books.visit(b)
    records = {number: books.link(number, number) for number in (a, b, c, d, e, f, g)}
    books.write()
    expected = {a: True, b: False, c: False, d: True, e: True, f: False, g: False}
    found = {number: books.store.nofollow_page(number) for number in expected}
    assert found[a] == ("https://h/?x", True)
    assert found[d] == ("https://h/d", True)
    assert {number: page and page[1] for number, page in found.items()} == expected
    assert books.store.nofollow_page(99) is None
    assert sorted(books.store.link_records()) == sorted(
        (records[number], nofollow) for number, nofollow in expected.items()
    )


# Earlier runs.


def test_ids_and_keys_of_an_earlier_run(backend: Backend) -> None:
    first = Books(backend)
    first.find("a", "b", "c")
    first.write(EndedBy.BUDGET)
    store = Books(backend, project="other").store
    assert store.earlier_id(first.run.id, "https://h/b") == 3
    assert store.earlier_id(first.run.id, "https://h/x") is None
    assert store.earlier_id(99, "https://h/b") is None
    assert [store.highest_id(run_id) for run_id in (first.run.id, store.run_id, 99)] == [4, 1, 0]
    assert store.earlier_keys(first.run.id, 2, 3) == [(2, "https://h/a"), (3, "https://h/b")]
    assert store.earlier_keys(first.run.id, 4, 9) == [(4, "https://h/c")]
    assert store.earlier_keys(99, 0, 9) == []


def test_looks_at_a_page_by_earlier_runs_of_the_project(backend: Backend) -> None:
    fields: list[dict[str, Any]] = [
        {"fetched_at": NOW + 1, "content_sha256": OTHER, "body_sha256": BODY},
        {"fetched_at": NOW + 1, "content_sha256": OTHER, "body_sha256": BODY, "reuse": "cached"},
        {"fetched_at": NOW + 2, "body_sha256": BODY},
        {"fetched_at": NOW + 3},
        {"fetched_at": NOW + 4, "body_sha256": BODY, "kind": "timeout"},
        {"fetched_at": NOW + 5, "body_sha256": THIRD},
    ]
    for visit in fields:
        books = Books(backend)
        books.visit(1, **visit)
        books.write(EndedBy.BUDGET)
    elsewhere = Books(backend, project="other")
    elsewhere.visit(1, body_sha256=THIRD)
    elsewhere.write(EndedBy.BUDGET)
    now = Books(backend)
    now.visit(1, body_sha256=BODY)
    now.write()
    looks = [(NOW + 5, THIRD), (NOW + 2, BODY), (NOW + 1, OTHER)]
    assert now.store.looks_at("https://h/", 9) == looks
    assert now.store.looks_at("https://h/", 2) == looks[:2]
    assert now.store.looks_at("https://h/x", 9) == []
    assert books.store.looks_at("https://h/", 9) == looks[1:]


def test_the_date_of_a_sitemap_is_of_this_run(backend: Backend) -> None:
    first = Books(backend)
    first.find("a", lastmod="2025")
    first.write(EndedBy.BUDGET)
    now = Books(backend)
    now.find("b", lastmod="2026")
    now.write()
    assert [now.store.lastmod_of(f"https://h/{name}") for name in ("a", "b", "")] == [None, "2026", None]


# What a recrawl cannot reach any more.


def recrawled(backend: Backend, *names: str, links: dict[str, str]) -> tuple[Run, dict[str, int]]:
    """A first run that found these pages on its base URL, and whose pages have these links besides."""
    first = Books(backend)
    ids = dict(zip(names, first.find(*names), strict=True)) | {"": 1}
    for name, number in ids.items():
        first.visit(number, body_sha256=BODY, role="primary")
        targets = [ids[each] for each in names] if not name else [ids[each] for each in links.get(name, "")]
        first.link(number, *targets)
    first.write(EndedBy.EXHAUSTED)
    return first.run, ids


def marks(books: Books) -> dict[str, str]:
    found = {row.id: row.carried for row in books.store.unlinked()}
    with books.store.transaction():
        books.store.mark_carried(books.store.unlinked())
    assert books.store.unlinked() == []
    return {row.key[-1]: found[row.id] for row in books.backend.urls(books.run) if row.id in found}


def test_what_nothing_leads_to_is_marked_and_comes_back(backend: Backend) -> None:
    first, _ = recrawled(backend, "a", "b", "c", "d", links={})
    again = Books(backend, carried=dict.fromkeys("abcd", "known"), recalls=first)
    for number in range(1, 6):
        again.visit(number, body_sha256=BODY)
    again.link(1, 2)
    again.link(2, 3)
    again.link(4, 5)
    again.write()
    assert marks(again) == {"c": "unlinked", "d": "unlinked"}
    assert [row.carried for row in backend.urls(again.run)] == [None, "known", "known", "unlinked", "unlinked"]
    again.link(3, 4)
    again.write()
    assert marks(again) == {"c": "known", "d": "known"}


def test_a_walk_begins_at_base_urls_and_sitemaps(backend: Backend) -> None:
    first, _ = recrawled(backend, "a", "b", "c", "d", links={})
    again = Books(backend, carried={"a": "listed", "b": "known", "c": "known", "d": "known"}, recalls=first)
    (new,) = again.find("e", source="sitemap")
    for number in range(1, new + 1):
        again.visit(number, body_sha256=BODY)
    again.link(1)
    again.link(2, 3)
    again.link(new, 4)
    again.write()
    assert marks(again) == {"d": "unlinked"}


@pytest.mark.parametrize(
    ("visit", "reason", "is_reached"),
    [
        ({"status": 503, "kind": "http_5xx"}, None, True),
        ({"status": None, "kind": "timeout"}, None, True),
        ({"status": 404, "kind": "http_4xx"}, None, False),
        ({"status": 410, "kind": "http_4xx"}, None, False),
        ({"status": 200}, None, False),
        (None, None, True),
        (None, "robots_unavailable", True),
        (None, "robots", False),
    ],
)
def test_a_page_that_could_not_be_read_still_has_the_links_it_had(
    backend: Backend, visit: dict[str, Any] | None, reason: str | None, is_reached: bool
) -> None:
    first, ids = recrawled(backend, "a", "b", links={"a": "b"})
    assert ids == {"": 1, "a": 2, "b": 3}
    between = Books(backend, carried={"b": "known"}, recalls=first)
    between.write(EndedBy.CANCELLED)
    again = Books(backend, carried={"b": "known", "a": "known"}, recalls=first)
    again.visit(1)
    again.visit(2)
    again.link(1, 3)
    if visit is not None:
        again.visit(3, **visit)
    elif reason is not None:
        again.unit.refuse(3, reason, "rule")
    again.write()
    assert marks(again) == ({} if is_reached else {"b": "unlinked"})


def test_what_was_not_requested_or_was_found_anew_is_not_marked(backend: Backend) -> None:
    first, _ = recrawled(backend, "a", "b", links={})
    again = Books(backend, carried={"a": "known", "b": "known"}, recalls=first)
    (new,) = again.find("c")
    again.visit(1)
    again.visit(new)
    again.unit.refuse(2, "robots", "rule")
    again.write()
    assert marks(again) == {}


def test_carried_urls_are_listed_by_a_sitemap(backend: Backend) -> None:
    books = Books(backend, carried={"a": "known"})
    books.unit.carry(2, Carried.LISTED)
    books.write()
    assert books.row(2).carried == "listed"
    with books.store.transaction():
        books.store.mark_carried([CarryRow("unlinked", books.run.id, number) for number in (1, 2, 99)])
    assert [row.carried for row in backend.urls(books.run)] == [None, "unlinked"]


# robots.txt.


def test_a_robots_file_is_loaded_while_it_is_young_enough(backend: Backend) -> None:
    robots = backend.store.robots()
    file = RobotsFile("https://h", NOW, 200, b"User-agent: *")
    assert robots.load("https://h", 0) is None
    robots.save(file)
    assert robots.load("https://h", NOW - 1) == file
    assert robots.load("https://h", NOW) is None
    assert robots.load("https://i", 0) is None
    newer = RobotsFile("https://h", NOW + 5, 404, b"")
    robots.save(newer)
    assert backend.store.robots().load("https://h", NOW) == newer


def test_a_robots_file_is_kept_up_to_its_limit(backend: Backend) -> None:
    backend.store.robots().save(RobotsFile("https://h", NOW, 200, b"x" * (STORED_BYTES + 1)))
    found = backend.store.robots().load("https://h", 0)
    assert found is not None
    assert len(found.body) == STORED_BYTES
