"""A long list as columns of numbers in memory: rows are appended in portions, and a query takes one pass.

A row has an id, which grows from row to row; a value for each facet; a number for each figure; and, where a list
can be searched, texts. One thread appends while any thread selects: a query sees the portions that were there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import NamedTuple

from orbweb.app import column_scan

PORTION = 20_000
LARGEST = 0xFFFF_FFFF
"""The largest figure; larger ones count as this."""
SEARCHES = 4
"""Searches whose rows are remembered."""
BETWEEN = "\x1f"
"""Separates the texts of a row."""
_BETWEEN = BETWEEN.encode()


class ColumnRow(NamedTuple):
    """A row to append; `values`, `figures` and `texts` are in the order of the columns."""

    id: int
    values: tuple[str, ...]
    figures: tuple[int, ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnQuery:
    """Which rows, in which order. `facets`: a value for some of them; `words`: what a text has; `sort`: a figure
    or a text, '' for the order of ids; `after`: the id that the part before ends with; `rows`: how many."""

    facets: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    sort: str = ""
    descending: bool = False
    after: int | None = None
    rows: int = 50


@dataclass(frozen=True, slots=True)
class Selected:
    """Some rows of a query by their ids. `total`: all rows of it; `begin`: how many are before the first of these;
    `previous`: the id after which the rows before them begin, 0 if that is the beginning, None if there are none;
    `counts`: how many rows each value of a facet would leave if that facet alone were not asked for."""

    ids: tuple[int, ...]
    total: int
    begin: int
    previous: int | None
    counts: Mapping[str, Mapping[str, int]]

    @property
    def next(self) -> int | None:
        """The id after which the next rows begin; None at the end."""
        return self.ids[-1] if self.ids and self.begin + len(self.ids) < self.total else None


@dataclass(frozen=True, slots=True)
class _Chunk:
    first: int
    ids: array[int]
    facets: tuple[array[int], ...]
    figures: tuple[array[int], ...]
    texts: bytes
    starts: array[int]
    found: dict[bytes, bytes]


class Columns:
    """The rows of a list, in the order of their ids."""

    def __init__(self, facets: Sequence[str], figures: Sequence[str], texts: Sequence[str] = ()) -> None:
        self.facets, self.figures, self.texts = tuple(facets), tuple(figures), tuple(texts)
        self._ranks: dict[str, tuple[int, list[array[int]]]] = {}
        self._values: tuple[dict[str, int], ...] = tuple({} for _ in facets)
        self._chunks: tuple[_Chunk, ...] = ()

    def __len__(self) -> int:
        return _length(self._chunks)

    def append(self, rows: Iterable[ColumnRow]) -> None:
        """Add rows, whose ids are larger than all before."""
        given = iter(rows)
        while part := list(islice(given, PORTION)):
            chunks = self._chunks
            if chunks and len(chunks[-1].ids) + len(part) <= PORTION:
                self._chunks = (*chunks[:-1], self._chunk(part, chunks[-1]))
            else:
                self._chunks = (*chunks, self._chunk(part, None))

    def _chunk(self, rows: list[ColumnRow], old: _Chunk | None) -> _Chunk:
        """A new chunk of a part, or of an old one and a part: those who read the old one still do."""
        ids = array("Q", [row.id for row in rows])
        codes = [
            array("I", [known.setdefault(row.values[at], len(known)) for row in rows])
            for at, known in enumerate(self._values)
        ]
        figures = [array("I", [min(row.figures[at], LARGEST) for row in rows]) for at in range(len(self.figures))]
        texts = [_text(BETWEEN.join(row.texts)) + b"\n" for row in rows]
        starts, at = array("I"), len(old.texts) if old else 0
        for text in texts:
            starts.append(at)
            at += len(text)
        joined = b"".join(texts)
        if old is None:
            return _Chunk(len(self), ids, tuple(codes), tuple(figures), joined, starts, {})
        return _Chunk(
            old.first,
            old.ids + ids,
            tuple(before + after for before, after in zip(old.facets, codes, strict=True)),
            tuple(before + after for before, after in zip(old.figures, figures, strict=True)),
            old.texts + joined,
            old.starts + starts,
            {},
        )

    def change(self, number: int, *, facet: str, value: str, figure: str, add: int) -> None:
        """Change the row with this id, if there is one, by the thread that appends."""
        place = _place(self._chunks, number)
        if place is not None:
            chunk, at = place
            known = self._values[self.facets.index(facet)]
            chunk.facets[self.facets.index(facet)][at] = known.setdefault(value, len(known))
            chunk.figures[self.figures.index(figure)][at] += add

    def figure(self, name: str, number: int) -> int | None:
        """A figure of the row with this id; None if there is no such row."""
        place = _place(self._chunks, number)
        return place[0].figures[self.figures.index(name)][place[1]] if place is not None else None

    def column(self, name: str) -> list[int]:
        """A figure of all rows."""
        at = self.figures.index(name)
        return [figure for chunk in self._chunks for figure in chunk.figures[at]]

    def has(self, number: int) -> bool:
        return _place(self._chunks, number) is not None

    def select(self, query: ColumnQuery) -> Selected:
        chunks = self._chunks
        keys = self._keys(chunks, query.sort)
        after = _key(chunks, query.after, keys, descending=query.descending) if query.after is not None else None
        known = [dict(values) for values in self._values]
        wanted = [_code(values, query.facets.get(name)) for name, values in zip(self.facets, known, strict=True)]
        counts = [array("Q", bytes(8 * len(values))) for values in known]
        words = _text(query.words)
        total = begin = 0
        ahead: list[int] = []
        behind: list[int] = []
        for at, chunk in enumerate(chunks):
            found = column_scan.scan(
                list(chunk.facets),
                wanted,
                counts,
                keys[at] if keys else None,
                query.descending,
                _having(chunk, words) if words else None,
                chunk.first,
                after,
                query.rows,
                query.rows + 1,
            )
            total, begin = total + found[0], begin + found[1]
            ahead = sorted(ahead + found[2])[: query.rows]
            behind = sorted(behind + found[3])[-query.rows - 1 :]
        previous = None if not begin else _id(chunks, behind[0]) if begin > query.rows else 0
        return Selected(
            tuple(_id(chunks, key) for key in ahead),
            total,
            begin,
            previous,
            {
                name: {value: counted[code] for value, code in values.items() if counted[code]}
                for name, values, counted in zip(self.facets, known, counts, strict=True)
            },
        )

    def _keys(self, chunks: Sequence[_Chunk], sort: str) -> list[array[int]]:
        """What the rows of each chunk are sorted by; nothing for the order of ids."""
        if not sort:
            return []
        if sort in self.figures:
            return [chunk.figures[self.figures.index(sort)] for chunk in chunks]
        known, ranks = self._ranks.get(sort, (-1, []))
        if known != _length(chunks):
            ranks = _ranks(chunks, self.texts.index(sort))
            self._ranks[sort] = _length(chunks), ranks
        return ranks


def _ranks(chunks: Sequence[_Chunk], text: int) -> list[array[int]]:
    """The rank of each row by one of its texts. Chunks are sorted one by one, so that other threads go on."""
    ranks = [array("I", bytes(4 * len(chunk.ids))) for chunk in chunks]
    ordered = []
    for at, chunk in enumerate(chunks):
        lines = (line.split(_BETWEEN)[text] for line in chunk.texts.split(b"\n")[:-1])
        ordered.append(sorted((line, at, row) for row, line in enumerate(lines)))
    for rank, (_, at, row) in enumerate(merge(*ordered)):
        ranks[at][row] = rank
    return ranks


def _text(text: str) -> bytes:
    """A text as it is searched and sorted: without case, and on one line."""
    return text.casefold().replace("\n", " ").encode("utf-8", "replace")


def _length(chunks: Sequence[_Chunk]) -> int:
    return chunks[-1].first + len(chunks[-1].ids) if chunks else 0


def _code(known: Mapping[str, int], value: str | None) -> int:
    """The code of a value that is asked for; one that no row has if it is unknown."""
    return column_scan.ANY if value is None else known.get(value, column_scan.ANY - 1)


def _having(chunk: _Chunk, words: bytes) -> bytes:
    found = chunk.found.get(words)
    if found is None:
        found = column_scan.having(chunk.texts, chunk.starts, words)
        while len(chunk.found) >= SEARCHES:
            chunk.found.pop(next(iter(chunk.found)), None)
        chunk.found[words] = found
    return found


def _place(chunks: Sequence[_Chunk], number: int) -> tuple[_Chunk, int] | None:
    at = bisect_left(chunks, number, key=lambda chunk: chunk.ids[-1])
    if at == len(chunks):
        return None
    chunk = chunks[at]
    row = bisect_left(chunk.ids, number)
    return (chunk, row) if chunk.ids[row] == number else None


def _key(chunks: Sequence[_Chunk], after: int, keys: Sequence[array[int]], *, descending: bool) -> int | None:
    """The place of the row that a part begins after, in the order of the query; of an unknown row in the order of
    ids, that of the row before it."""
    if keys:
        place = _place(chunks, after)
        if place is None:
            return None
        chunk, row = place
        figure = keys[chunks.index(chunk)][row]
        return ((figure ^ LARGEST) if descending else figure) << 32 | (chunk.first + row)
    at = bisect_left(chunks, after, key=lambda chunk: chunk.ids[-1])
    if at == len(chunks):
        return _length(chunks) - 1 if chunks else None
    row = bisect_left(chunks[at].ids, after + 1) - 1
    position = chunks[at].first + row
    return position if position >= 0 else None


def _id(chunks: Sequence[_Chunk], key: int) -> int:
    position = key & LARGEST
    chunk = chunks[bisect_left(chunks, position + 1, key=lambda each: each.first) - 1]
    return chunk.ids[position - chunk.first]
