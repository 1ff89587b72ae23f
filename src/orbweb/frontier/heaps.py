"""A frontier in bounded memory over a store.

Each lane has the places before its horizon in a heap; later ones are only in the store. Rows admitted in a unit of
work that is not written yet exist only in memory, so the caller writes the unit before `refill`. The cache of
known URLs has two halves; what is dropped from it was found before a unit that is written.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from orbweb.model import Item, Known, Place
from orbweb.store import UrlReader

CHUNK = 2048
FULL = 4 * CHUNK
LOW = CHUNK // 4
REMEMBERED = 100_000

_Entry = tuple[int, int, Item]


@dataclass(slots=True)
class _Lane:
    """The places of one lane that are in memory; `horizon` is None if these are all."""

    heap: list[_Entry] = field(default_factory=list)
    horizon: Place | None = None

    def add(self, item: Item) -> None:
        if self.horizon is not None and item.place >= self.horizon:
            return
        heapq.heappush(self.heap, (item.depth, item.rank, item))
        if len(self.heap) > FULL:
            self._cut()

    def _cut(self) -> None:
        self.heap.sort()
        self.horizon = self.heap[CHUNK][2].place
        del self.heap[CHUNK:]


class HeapFrontier:
    """The frontier of one run."""

    def __init__(
        self,
        store: UrlReader,
        *,
        known_urls: int,
        clock: Callable[[], int],
        longest_wait: Callable[[Item], int] | None = None,
    ) -> None:
        self._longest_wait = longest_wait
        self._store = store
        self._clock = clock
        self._young: dict[str, Known] = {}
        self._old: dict[str, Known] = {}
        self._complete = known_urls <= REMEMBERED
        self._lanes: dict[str, _Lane] = {}
        self._leased: set[int] = set()
        self._deferred: dict[int, tuple[int, Item]] = {}
        self.reload()

    def reload(self) -> None:
        self._old, self._young = {}, {}
        if self._complete:
            self._young = dict(self._store.known_urls())
        self._deferred.clear()
        self._lanes = {lane: _Lane(horizon=Place(0, 0)) for lane in self._store.queued_lanes()}
        self.refill()

    def lanes(self) -> Iterator[str]:
        return iter(self._lanes)

    def lane_count(self) -> int:
        return len(self._lanes)

    def next(self, lane: str) -> Item | None:
        heap = self._lanes[lane].heap if lane in self._lanes else None
        return heap[0][2] if heap else None

    def precedes(self, lane: str, place: Place) -> bool:
        waiting = self._lanes.get(lane)
        if waiting is None:
            return False
        if waiting.heap:
            return waiting.heap[0] < place
        return waiting.horizon is not None and waiting.horizon < place

    def lease(self, lane: str) -> Item:
        item = heapq.heappop(self._lanes[lane].heap)[2]
        self._leased.add(item.id)
        return item

    def is_leased(self, url_id: int) -> bool:
        return url_id in self._leased

    def committed(self, item: Item) -> None:
        self._leased.discard(item.id)

    def starved(self) -> bool:
        return any(not lane.heap and lane.horizon is not None for lane in self._lanes.values())

    def admit(self, item: Item) -> None:
        self._lanes.setdefault(item.lane, _Lane()).add(item)

    def give_back(self, item: Item) -> None:
        """Beyond the horizon it is not needed in memory: the store has it."""
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
        for lane in self._lanes.values():
            lane.heap = [entry for entry in lane.heap if entry[2].base != base]
            heapq.heapify(lane.heap)

    def known(self, key: str) -> Known | None:
        found = self._young.get(key)
        if found is None:
            found = self._recall(key)
        return found

    def remember(self, key: str, known: Known) -> None:
        self._young[key] = known

    def _recall(self, key: str) -> Known | None:
        found = self._old.get(key)
        if found is None and not self._complete:
            found = self._store.known_url(key)
        if found is not None:
            self._young[key] = found
        return found

    def forget(self) -> None:
        """URLs of the current unit of work are in the younger half, which stays in memory as the older one."""
        if len(self._young) > REMEMBERED:
            self._old, self._young = self._young, {}
            self._complete = False

    def refill(self) -> None:
        for name in list(self._lanes):
            lane = self._lanes[name]
            while lane.horizon is not None and len(lane.heap) < LOW:
                self._load(name, lane, lane.horizon)
            if not lane.heap and lane.horizon is None and name:
                del self._lanes[name]

    def _load(self, name: str, lane: _Lane, start: Place) -> None:
        """Load the next places. Some may be leased: earlier places can be admitted after a lease."""
        items = self._store.queued_from(name, start, CHUNK + 1)
        lane.horizon = items[CHUNK][0].place if len(items) > CHUNK else None
        now = self._clock()
        for item, due_at in items[:CHUNK]:
            if item.id in self._leased or item.id in self._deferred:
                continue
            if due_at is not None and due_at > now:
                self._deferred[item.id] = (now + self._most(item, due_at - now), item)
            else:
                lane.heap.append((item.depth, item.rank, item))
        heapq.heapify(lane.heap)

    def _most(self, item: Item, wait: int) -> int:
        """A due time was written by the wall clock of another process, which may have been ahead."""
        return wait if self._longest_wait is None else min(wait, self._longest_wait(item))
