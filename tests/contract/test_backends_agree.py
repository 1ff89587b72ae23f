"""Any units of work, good or bad: every backend of the store says the same of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backends import NOW, Backend, MemoryBackend, SqliteBackend
from books import Books, readmitted, rejudged
from orbweb.errors import StoreError
from orbweb.lifecycle import EndedBy
from orbweb.model import Carried, FamilyRow, Place
from orbweb.store.bodies import Location

BODY, OTHER, DOCUMENT = (bytes([number]) * 32 for number in (1, 2, 3))
CARRIED = {"a": "known", "b": "known", "c": "listed"}
IDS, TARGETS, RANKS = st.integers(1, 10), st.lists(st.integers(1, 5), max_size=3), st.integers(0, 30)
BASES = st.integers(0, 2)
REASONS = st.sampled_from(["robots", "noindex", "trap", "page_limit", "robots_unavailable", "max_depth"])
URLS = st.fixed_dictionaries(
    {
        "depth": st.integers(0, 3),
        "lane": st.sampled_from(["", "a:80"]),
        "base": BASES,
        "hops": st.integers(0, 2),
        "referrer": st.none() | IDS,
        "source": st.sampled_from(["spider", "sitemap"]),
        "carried": st.sampled_from([None, None, "known", "listed", "unlinked"]),
        "parked": st.sampled_from([None, "", "p"]),
    }
)
VISITS = st.fixed_dictionaries(
    {
        "status": st.sampled_from([200, 404, 503]),
        "kind": st.sampled_from([None, None, "http_4xx"]),
        "redirect_to": st.none() | IDS,
        "nofollow": st.booleans(),
        "body_sha256": st.sampled_from([None, BODY, OTHER]),
        "role": st.sampled_from(["primary", "alternate", "-"]),
        "reuse": st.sampled_from([None, "cached"]),
        "fetched_at": st.integers(NOW, NOW + 3),
    }
)

Operation = tuple[str, tuple[Any, ...]]


def visit(books: Books, number: int, targets: list[int], fields: dict[str, Any]) -> None:
    if books.visit(number, **fields).kind is None:
        books.link(number, *targets)


OPERATIONS: dict[str, tuple[Callable[..., object], st.SearchStrategy[Any]]] = {
    "find": (
        lambda books, name, reason, fields: books.find(name, reason=reason, **fields),
        st.tuples(st.sampled_from("abcdefghijklmnop"), st.none() | REASONS, URLS),
    ),
    "visit": (visit, st.tuples(IDS, TARGETS, VISITS)),
    "settle": (
        lambda books, number, state, rule: books.unit.settle(number, state, "noindex", rule),
        st.tuples(
            IDS,
            st.sampled_from(["visited", "failed", "skipped"]),
            st.sampled_from(["noindex", "nofollow", "none"]),
        ),
    ),
    "refuse": (lambda books, *fields: books.unit.refuse(*fields, "rule"), st.tuples(IDS, REASONS)),
    "defer": (lambda books, *fields: books.unit.defer(*fields), st.tuples(IDS, RANKS, st.integers(0, 9))),
    "readmit": (
        lambda books, number, rank: books.unit.readmit(readmitted(books, number, rank=rank)),
        st.tuples(IDS, RANKS),
    ),
    "shorten": (lambda books, *fields: books.unit.shorten_path(*fields), st.tuples(IDS, st.integers(0, 2))),
    "list": (
        lambda books, *fields: books.unit.list_in_sitemap(*fields),
        st.tuples(IDS, st.sampled_from([None, "2025", "2026"])),
    ),
    "carry": (lambda books, *fields: books.unit.carry(*fields), st.tuples(IDS, st.sampled_from(Carried))),
    "page": (
        lambda books, sha256: books.unit.add_page(sha256, 1, 0, DOCUMENT),
        st.tuples(st.sampled_from([BODY, OTHER])),
    ),
    "body": (
        lambda books, sha256: books.unit.add_body(sha256, Location(None, None, 1, 1)),
        st.tuples(st.sampled_from([BODY, OTHER])),
    ),
    "limit": (lambda books, base: books.unit.skip_base(base, "rule"), st.tuples(BASES)),
    "base": (
        lambda books, number, name: books.unit.save_base(number, f"https://h/{name}", 1),
        st.tuples(BASES, st.sampled_from(["", "a"])),
    ),
    "family": (
        lambda books, *fields: books.unit.families.append(FamilyRow(books.run.id, "p", *fields, b"")),
        st.tuples(st.sampled_from(["query", "growth"]), st.integers(0, 2), st.integers(0, 2), st.booleans()),
    ),
    "mark": (lambda books, sha256: books.unit.add_mark(sha256), st.tuples(st.sampled_from([BODY, OTHER]))),
}
UNITS = st.lists(
    st.one_of(*(st.tuples(st.just(name), fields) for name, (_, fields) in OPERATIONS.items())), max_size=10
)


def outcome(books: Books, unit: list[Operation], now: int) -> str:
    """Whether a unit of these operations was written."""
    for name, fields in unit:
        OPERATIONS[name][0](books, *fields)
    try:
        books.write(now=now)
    except StoreError:
        books.open(books.backend.run_now(books.run))
        return "refused"
    return "written"


def judge_again(books: Books) -> int:
    with books.store.transaction():
        books.store.rejudge([rejudged(books, number, rank=number) for number in (2, 3)], NOW + 40)
        books.store.mark_carried(books.store.unlinked())
        return books.store.unpark_family("p")


def all_that_is_read(books: Books) -> Iterator[object]:
    store, ids, keys = books.store, range(12), [f"https://h/{name}" for name in "abx"]
    yield books.backend.urls(books.run)
    yield books.backend.times(books.run)
    yield books.backend.visits(books.run)
    yield books.backend.run_now(books.run)
    yield dict(store.known_urls())
    yield {lane: store.queued_from(lane, Place(0, 0), 9) for lane in sorted(store.queued_lanes())}
    yield store.tallies()
    yield store.urls_to_judge(0, 9)
    yield sorted(store.admitted_urls())
    yield sorted(store.families())
    yield [store.has_marks(), store.has_mark(BODY), store.has_mark(OTHER)]
    yield sorted(store.link_records())
    yield store.unlinked()
    yield [store.bases(), store.open_bases(), store.queued_by_base(), store.roles(), store.reused()]
    yield [sorted(store.page_hashes(9)), sorted(store.body_hashes(9)), store.listed_bases()]
    yield [store.body_location(sha256) for sha256 in sorted(store.body_hashes(9))]
    yield [(store.redirect_of(number), store.nofollow_page(number), store.key_of(number)) for number in ids]
    yield [store.scope_moved(several=flag, recrawls=not flag) for flag in (True, False)]
    yield [(store.known_url(key), store.looks_at(key, 9), store.lastmod_of(key)) for key in keys]


def told(backend: Backend, first: list[list[Operation]], later: list[list[Operation]]) -> Iterator[object]:
    """What a backend says during two runs of which the second recrawls the first."""
    earlier = Books(backend, "h", "i", carried=CARRIED)
    for number, unit in enumerate(first):
        yield outcome(earlier, unit, NOW + 10 + number)
    yield from all_that_is_read(earlier)
    earlier.write(EndedBy.BUDGET)
    again = Books(backend, "h", "i", carried=CARRIED, recalls=earlier.run)
    for number, unit in enumerate(later):
        yield outcome(again, unit, NOW + 20 - number)
        yield from all_that_is_read(again)
    yield judge_again(again)
    yield from all_that_is_read(again)


@settings(max_examples=40, deadline=None, database=None, derandomize=True)
@given(first=st.lists(UNITS, max_size=3), later=st.lists(UNITS, max_size=3))
def test_all_backends_say_the_same_of_any_units(
    first: list[list[Operation]], later: list[list[Operation]]
) -> None:
    with tempfile.TemporaryDirectory() as directory, closing(SqliteBackend(Path(directory))) as sqlite:
        memory = MemoryBackend(Path(directory))
        for said, expected in zip(told(memory, first, later), told(sqlite, first, later), strict=True):
            assert said == expected
