"""When each URL of a run was found, and when its state last changed.

A state changes with the transaction that writes its unit of work, so the time belongs to the unit and not to the
URL. Ids of URLs and numbers of visits grow from unit to unit: the ranges that a unit gave out tell when a URL was
found, and when its visit settled it. Any other change of state refers to its unit by number (`urls.changed_in`).

A row of the table `units` is a stretch of consecutive units. `packed` has three varints per unit: how many ids and
how many visit numbers it gave out, and the microseconds since the unit before it (since 1970 for the first one of
the row), folded so that small negative numbers are short too. The row repeats their sums, which shows damage.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from orbweb.errors import StoreError
from orbweb.parsing.http_heads import packed as varint
from orbweb.store import Queries

PACKED_BYTES = 480
"""A row that has this many bytes is full. All bytes of a row that is not full are written with each unit."""


class Times(NamedTuple):
    """Microseconds since 1970; None if an earlier schema did not record it, or if it was lost."""

    found_at: int | None
    changed_at: int | None


class Unit(NamedTuple):
    """A unit of work: the next id and the next visit number after it, and when it was written."""

    number: int
    next_url: int
    next_visit: int
    at: int


class Stretch(NamedTuple):
    """A row of `units`; the fields of `save_units`. Without a unit `last` is below `number`."""

    run_id: int
    number: int
    last: int
    first_url: int
    next_url: int
    first_visit: int
    next_visit: int
    at: int
    packed: bytes

    def extended(self, unit: Unit) -> Stretch:
        counts = unit.next_url - self.next_url, unit.next_visit - self.next_visit
        added = b"".join(map(varint, (*counts, _folded(unit.at - self.at))))
        return self._replace(
            last=unit.number,
            next_url=unit.next_url,
            next_visit=unit.next_visit,
            at=unit.at,
            packed=self.packed + added,
        )


# Writing.


def record(
    db: Queries, run_id: int, now: int, *, next_url: int | None = None, next_visit: int | None = None
) -> None:
    """Begin a unit, inside a transaction and before the counters of the run advance to these.

    The changes of state that the transaction writes from now on belong to it.
    """
    url, visit, *latest = db.all("latest_units", run_id=run_id)[0]
    ends = url if next_url is None else next_url, visit if next_visit is None else next_visit
    tail = Stretch(run_id, *latest) if latest[0] is not None else None
    if tail is not None and (tail.next_url, tail.next_visit, tail.at) == (url, visit, now) == (*ends, now):
        return
    if tail is None or (tail.next_url, tail.next_visit) != (url, visit) or len(tail.packed) >= PACKED_BYTES:
        tail = _empty(run_id, tail.last + 1 if tail else 1, url, visit)
    db.many("save_units", [tail.extended(Unit(tail.last + 1, *ends, now))])


def adopt(
    db: Queries, run_id: int, found: Mapping[int, int], settled: Sequence[int], changed: Mapping[int, int]
) -> None:
    """Record the times of an imported run, inside a transaction: of its URLs by id, of its visits in order, and of
    the last change of URLs that were not visited."""
    latest = db.all("latest_units", run_id=run_id)[0][3] or 0
    after, visits = max(found, default=0) + 1, len(settled) + 1
    starts = [(number, at) for number, at in sorted(found.items())]
    ends = [number for number, _ in starts[1:]] + [after]
    steps = [(end, 1, at) for (_, at), end in zip(starts, ends, strict=True)]
    steps += [(after, number, at) for number, at in enumerate(settled, 2)]
    instants = {at: number for number, at in enumerate(sorted(set(changed.values())))}
    merged = list(_merged(steps))
    first = latest + 1 + len(merged)
    merged += [(after, visits, at) for at in instants]
    units = (Unit(number, *step) for number, step in enumerate(merged, latest + 1))
    db.many("save_units", list(_stretches(run_id, latest + 1, units)))
    db.many("set_change", [(first + instants[at], run_id, number) for number, at in changed.items()])


def _merged(steps: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Neighbours with the same time are one unit."""
    last: tuple[int, int, int] | None = None
    for step in steps:
        if last is not None and last[2] != step[2]:
            yield last
        last = step
    if last is not None:
        yield last


def _stretches(run_id: int, number: int, units: Iterable[Unit]) -> Iterator[Stretch]:
    tail = _empty(run_id, number, 1, 1)
    for unit in units:
        if len(tail.packed) >= PACKED_BYTES:
            yield tail
            tail = _empty(run_id, unit.number, tail.next_url, tail.next_visit)
        tail = tail.extended(unit)
    if tail.packed:
        yield tail


def _empty(run_id: int, number: int, url: int, visit: int) -> Stretch:
    return Stretch(run_id, number, number - 1, url, url, visit, visit, 0, b"")


# Reading.


class UnitTimes:
    """The times of one run. Ids that are lost and given out again have the times of the later unit."""

    def __init__(self, db: Queries, run_id: int) -> None:
        rows = [Stretch(run_id, *row) for row in db.each("units_of", run_id=run_id)]
        self._numbers = [row.last + 1 for row in rows]
        self._stretches = rows
        self._urls = _Ranges(rows, attrgetter("first_url"), attrgetter("next_url"))
        self._visits = _Ranges(rows, attrgetter("first_visit"), attrgetter("next_visit"))

    def of(self, url_id: int, visit: int | None, changed_in: int | None) -> Times:
        """The times of a URL, by the number of its visit and by `changed_in`, which is older than the visit."""
        found = self._urls.at(url_id)
        if visit is not None:
            return Times(found, self._visits.at(visit))
        return Times(found, found if changed_in is None else self._unit_at(changed_in))

    def _unit_at(self, number: int) -> int | None:
        place = bisect_right(self._numbers, number)
        stretch = self._stretches[place] if place < len(self._stretches) else None
        if stretch is None or number < stretch.number:
            return None
        return _units(stretch)[number - stretch.number].at


class _Ranges:
    """The stretch that a number belongs to; of two, the later one."""

    def __init__(
        self, stretches: Sequence[Stretch], first: Callable[[Stretch], int], end: Callable[[Stretch | Unit], int]
    ) -> None:
        self._ends: list[int] = []
        self._stretches: list[Stretch | None] = []
        self._end_of = end
        for each in stretches:
            if first(each) < end(each):
                self._cut(first(each))
                self._add(end(each), each)

    def _cut(self, start: int) -> None:
        """Drop what lies after the start; what is missing before it is unknown."""
        while self._ends and self._ends[-1] > start:
            cut, owner = self._ends.pop(), self._stretches.pop()
            if (self._ends[-1] if self._ends else 0) < start < cut:
                self._add(start, owner)
        if (self._ends[-1] if self._ends else 0) < start:
            self._add(start, None)

    def _add(self, end: int, stretch: Stretch | None) -> None:
        self._ends.append(end)
        self._stretches.append(stretch)

    def at(self, number: int) -> int | None:
        place = bisect_right(self._ends, number)
        stretch = self._stretches[place] if place < len(self._ends) else None
        if stretch is None:
            return None
        units = _units(stretch)
        return units[bisect_right(units, number, key=self._end_of)].at


@lru_cache(maxsize=64)
def _units(stretch: Stretch) -> tuple[Unit, ...]:
    wrong = problem(stretch)
    if wrong is not None:
        raise StoreError(
            f"the times of units {stretch.number} to {stretch.last} are damaged: {wrong}. "
            "orbweb doctor --repair removes them"
        )
    return tuple(_unpacked(stretch))


def _unpacked(stretch: Stretch) -> Iterator[Unit]:
    url, visit, at = stretch.first_url, stretch.first_visit, 0
    values = _varints(stretch.packed)
    for number, (urls, visits, passed) in enumerate(zip(values, values, values, strict=True), stretch.number):
        url, visit, at = url + urls, visit + visits, at + _unfolded(passed)
        yield Unit(number, url, visit, at)


def problem(stretch: Stretch) -> str | None:
    """Why a row cannot have been written by orbweb; None if it can."""
    try:
        units = list(_unpacked(stretch))
    except ValueError:
        return "the packed record ends in the middle of a unit"
    ends = Unit(stretch.last, stretch.next_url, stretch.next_visit, stretch.at)
    return None if units and units[-1] == ends else "the packed record and the row differ"


# Numbers in as many bytes as they need, seven bits each.


def _varints(packed: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in packed:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0
    if shift:
        raise ValueError("the last number is cut off")


def _folded(number: int) -> int:
    return 2 * number if number >= 0 else -2 * number - 1


def _unfolded(number: int) -> int:
    return number >> 1 if not number & 1 else -(number + 1 >> 1)
