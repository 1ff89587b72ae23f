"""The simplest frontier: one sorted list of places per lane, and a dict of all known URLs."""

from __future__ import annotations

import sys
from bisect import insort
from collections.abc import Callable, Iterator
from operator import attrgetter

from orbweb.frontier import Frontier
from orbweb.model import Item, Known, Place
from orbweb.store import UrlReader

by_place = attrgetter("place")


class MemoryFrontier:
    """Has no horizon and no cache: `starved` is never true, and nothing is ever forgotten or loaded later."""

    def __init__(self, store: UrlReader, *, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self._leased: set[int] = set()
        self.reload()

    def reload(self) -> None:
        self._known = dict(self._store.known_urls())
        self._places: dict[str, list[Item]] = {}
        self._deferred: dict[int, tuple[int, Item]] = {}
        for lane in self._store.queued_lanes():
            for item, due_at in self._store.queued_from(lane, Place(0, 0), sys.maxsize):
                if item.id not in self._leased:
                    self._deferred[item.id] = (due_at or 0, item)
        self.wake()

    def lanes(self) -> Iterator[str]:
        return (lane for lane, places in self._places.items() if places)

    def lane_count(self) -> int:
        return sum(1 for _ in self.lanes())

    def next(self, lane: str) -> Item | None:
        places = self._places.get(lane)
        return places[0] if places else None

    def precedes(self, lane: str, place: Place) -> bool:
        item = self.next(lane)
        return item is not None and item.place < place

    def lease(self, lane: str) -> Item:
        item = self._places[lane].pop(0)
        self._leased.add(item.id)
        return item

    def is_leased(self, url_id: int) -> bool:
        return url_id in self._leased

    def committed(self, item: Item) -> None:
        self._leased.discard(item.id)

    def starved(self) -> bool:
        return False

    def admit(self, item: Item) -> None:
        insort(self._places.setdefault(item.lane, []), item, key=by_place)

    def give_back(self, item: Item) -> None:
        self._leased.discard(item.id)
        self.admit(item)

    def defer(self, item: Item, due_at: int) -> None:
        self._leased.discard(item.id)
        self._deferred[item.id] = (due_at, item)

    def wake(self) -> None:
        now = self._clock()
        for due_at, item in list(self._deferred.values()):
            if due_at <= now:
                del self._deferred[item.id]
                self.admit(item)

    def drop(self, base: int) -> None:
        self._deferred = {number: held for number, held in self._deferred.items() if held[1].base != base}
        for lane, places in self._places.items():
            self._places[lane] = [item for item in places if item.base != base]

    def known(self, key: str) -> Known | None:
        return self._known.get(key)

    def remember(self, key: str, known: Known) -> None:
        self._known[key] = known

    def forget(self) -> None:
        """Everything stays in memory."""

    def refill(self) -> None:
        """Everything is in memory."""


def _proof(frontier: MemoryFrontier) -> Frontier:
    """For mypy: the class is what the protocol asks for."""
    return frontier
