"""Long lists in memory: what a query selects is what filtering and sorting the rows selects."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from orbweb.app import columns
from orbweb.app.columns import ColumnQuery, ColumnRow, Columns

HOSTS, LANGUAGES = ("a", "b", "c"), ("en", "de")
WORDS = ("alpha", "beta", "Straße", "ÅNGSTRÖM", "x\ny")


def rows(count: int, seed: int = 7) -> list[ColumnRow]:
    pick = random.Random(seed)
    made, number = [], 0
    for _ in range(count):
        number += pick.randint(1, 3)
        texts = (f"https://{pick.choice(HOSTS)}/{number}", pick.choice(WORDS))
        values = (pick.choice(HOSTS), pick.choice(LANGUAGES))
        made.append(ColumnRow(number, values, (pick.randrange(5), pick.randrange(2**40)), texts))
    return made


def filled(made: list[ColumnRow], parts: int) -> Columns:
    found = Columns(("host", "language"), ("tokens", "bytes"), ("url", "title"))
    step = max(1, len(made) // parts)
    for begin in range(0, len(made), step):
        found.append(made[begin : begin + step])
    return found


def expected(made: list[ColumnRow], query: ColumnQuery) -> list[ColumnRow]:
    def has(row: ColumnRow, facets: dict[str, str]) -> bool:
        values = dict(zip(("host", "language"), row.values, strict=True))
        texts = [text.casefold().replace("\n", " ") for text in row.texts]
        return any(query.words.casefold() in text for text in texts) and all(
            values[name] == value for name, value in facets.items()
        )

    found = [row for row in made if has(row, dict(query.facets))]
    if query.sort in ("url", "title"):
        at = ("url", "title").index(query.sort)
        found.sort(key=lambda row: row.texts[at].casefold().encode(), reverse=query.descending)
        if query.descending:
            found.sort(key=lambda row: row.id, reverse=True)
            found.sort(key=lambda row: row.texts[at].casefold().encode(), reverse=True)
    elif query.sort:
        at = ("tokens", "bytes").index(query.sort)
        sign = -1 if query.descending else 1
        found.sort(key=lambda row: (sign * min(row.figures[at], columns.LARGEST), row.id))
    return found


QUERIES: dict[str, dict[str, Any]] = {
    "all": {},
    "a facet": {"facets": {"host": "b"}},
    "two facets": {"facets": {"host": "b", "language": "de"}},
    "a value that no row has": {"facets": {"host": "nowhere"}},
    "the smallest first": {"sort": "tokens"},
    "the largest first, of a facet": {"sort": "bytes", "descending": True, "facets": {"language": "en"}},
    "by a text": {"sort": "url", "facets": {"host": "a"}},
    "by a text that is not unique": {"sort": "title"},
    "by a text, the last first": {"sort": "title", "descending": True},
    "words": {"words": "BETA"},
    "words beyond ASCII": {"words": "strasse"},
    "words, a facet and an order": {
        "words": "ångström",
        "facets": {"host": "c"},
        "sort": "tokens",
        "descending": True,
    },
    "words that no text has": {"words": "gamma"},
}


@pytest.mark.parametrize("parts", [1, 6])
@pytest.mark.parametrize("asked", QUERIES)
def test_parts_of_a_list_are_what_sorting_gives(asked: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "PORTION", 70)
    made = rows(400)
    found = filled(made, parts)
    whole = [row.id for row in expected(made, ColumnQuery(**QUERIES[asked]))]
    after, begins, read = None, [None], []
    while True:
        part = found.select(ColumnQuery(**QUERIES[asked], after=after, rows=37))
        assert part.total == len(whole)
        assert part.begin == len(read)
        assert part.previous == (None if len(begins) == 1 else begins[-2] or 0)
        read += part.ids
        after = part.next
        if after is None:
            break
        begins.append(after)
    assert read == whole


@pytest.mark.parametrize("asked", QUERIES)
def test_a_facet_counts_what_each_of_its_values_would_leave(asked: str) -> None:
    made = rows(300)
    query = ColumnQuery(**QUERIES[asked])
    counts = filled(made, 4).select(query).counts
    for at, name in enumerate(("host", "language")):
        others = {facet: value for facet, value in query.facets.items() if facet != name}
        left = expected(made, ColumnQuery(facets=others, words=query.words))
        assert counts[name] == Counter(row.values[at] for row in left)


def test_a_list_continues_after_a_row_that_is_not_in_it() -> None:
    found = filled([ColumnRow(number, ("a", "en"), (0, 0)) for number in (5, 7, 9)], 1)
    assert found.select(ColumnQuery(after=6)).ids == (7, 9)
    assert found.select(ColumnQuery(after=1)).ids == (5, 7, 9)
    assert found.select(ColumnQuery(after=99)).ids == ()
    assert found.select(ColumnQuery(after=6, sort="tokens")).ids == (5, 7, 9)


def test_an_empty_list_has_nothing() -> None:
    found = Columns(("host",), ("tokens",)).select(ColumnQuery(facets={"host": "a"}, words="a", after=4))
    assert (found.ids, found.total, found.next, found.previous) == ((), 0, None, None)


def test_a_row_that_is_changed_is_counted_as_it_is_now() -> None:
    found = filled(rows(50), 3)
    number = rows(50)[20].id
    before = found.figure("tokens", number) or 0
    found.change(number, facet="language", value="fr", figure="tokens", add=3)
    found.change(number + 10_000, facet="language", value="fr", figure="tokens", add=3)
    assert found.figure("tokens", number) == before + 3
    assert found.select(ColumnQuery(facets={"language": "fr"})).ids == (number,)
