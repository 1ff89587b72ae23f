"""Leasing: whose turn is next, and whether there is room for it.

Places of a lane are leased in order. At most `window` places are leased and not yet durable, plus the head of
each lane. Leases never exceed the rest of the budget or of a page limit. With scores, no place is leased before
the depth above it is committed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from orbweb.engine.in_flight import InFlight
from orbweb.engine.parts import EngineParts
from orbweb.engine.window import Slot, Window
from orbweb.frontier.spool.source import Ahead
from orbweb.model import Item, Refused, SkipReason

PROBES = 64


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Limits on what is in flight. `by_level`: with scores, one depth at a time."""

    workers: int
    window: int
    window_bytes: int
    budget: int | None
    relaxed: bool
    by_level: bool = False


class Leasing:
    """The leases of one crawl."""

    def __init__(self, settings: LeaseSettings, parts: EngineParts, in_flight: InFlight, window: Window) -> None:
        self.settings = settings
        self._in_flight = in_flight
        self._window = window
        self._frontier = parts.frontier
        self._committer = parts.committer
        self._batch = parts.committer.batch
        self._scope = parts.committer.scope
        self._dispatcher = parts.dispatcher
        self._spool = parts.spool
        self._rotation: deque[str] = deque()

    def adjust(self, *, workers: int, budget: int | None) -> None:
        """Change the limits of the running crawl."""
        self.settings = replace(self.settings, workers=workers, budget=budget)

    def pull_from_spool(self) -> bool:
        """Read lines of the spool while few URLs are queued; after the last one the run has all its URLs.

        True if there were any.
        """
        if self._spool is None or not self._scope.is_fed_now:
            return False
        lines = self._spool.draw(self.settings.window - self._batch.queued, self.settings.window)
        if not lines and self._spool.ahead is Ahead.OVER and self._batch.is_fed_durable:
            lines = self._spool.lost()
            if not lines:
                self._scope.end_feed()
        for line in lines:
            number = self._scope.feed(line)
            if number is not None:
                self._spool.admitted(line, self._batch.fed, number)
        if self._batch.is_large:
            self._committer.flush()
        return bool(lines)

    @property
    def is_passing(self) -> bool:
        """Whether lines are passed over that the bookmark was set past: until then nothing is leased."""
        return self._spool is not None and self._spool.is_passing and self._scope.is_fed_now

    def fill(self) -> None:
        """Send the requests that are due and lease more places, while workers are free.

        If the backlog of bodies is full and no worker is busy, only requests that the backlog waits for are sent.
        """
        refused: set[str] = set()
        if self.is_passing:
            return
        while self._in_flight.fetching < self.settings.workers:
            has_backlog = self._in_flight.processing.is_full
            if has_backlog and self._in_flight.processing:
                return
            ticket = self._dispatcher.take(self._is_awaited if has_backlog else None)
            if ticket is not None:
                self._in_flight.send(ticket)
            elif not self._lease_one(refused):
                return

    def _is_awaited(self, ticket: int) -> bool:
        """Whether the backlog may wait for it: the head of a lane, or an auxiliary request."""
        slot = self._window.get(ticket)
        return slot is None or self._window.is_head(slot)

    def _lease_one(self, refused: set[str]) -> bool:
        """Lease from a lane that has not refused: one without room now has none before the next call of `fill`."""
        if not self.settings.relaxed:
            return self._lease_from("")
        for _ in range(min(PROBES, self._frontier.lane_count())):
            if not self._rotation:
                self._rotation.extend(lane for lane in self._open_lanes() if lane not in refused)
                if not self._rotation:
                    return False
            lane = self._rotation.popleft()
            if lane not in refused and self._lease_from(lane):
                return True
            refused.add(lane)
        return False

    def _lease_from(self, lane: str) -> bool:
        item = self._frontier.next(lane)
        if item is None or not self._scope.may_fetch(item):
            return False
        head = self._window.head(lane)
        is_head = head is None or (item.depth, item.rank) < head.place
        if self.settings.by_level and not self._is_begun(item, head):
            return False
        if not self._has_room(item, is_head=is_head):
            return False
        self._frontier.lease(lane)
        rule = self._scope.passed.pop(item.id, None)
        self._in_flight.start(item, Refused(SkipReason.BEFORE_BOOKMARK, rule) if rule is not None else None)
        return True

    def _is_begun(self, item: Item, head: Slot | None) -> bool:
        """With scores a depth begins when the one above is committed: until then better places may be found."""
        return not self._committer.is_begun(item.lane) if head is None else item.depth <= head.item.depth

    def _open_lanes(self) -> list[str]:
        """The lanes that can have a place to lease: at first many wait until base URLs are committed."""
        lanes = list(self._frontier.lanes())
        if self._batch.surveyed:
            return lanes
        heads = ((lane, self._frontier.next(lane)) for lane in lanes)
        return [lane for lane, item in heads if item is not None and self._scope.may_fetch(item)]

    def _has_room(self, item: Item, *, is_head: bool) -> bool:
        """The head of a lane always gets in; where a limit must be exact, a later place is given back for it."""
        if not is_head and self._crowded(item.lane):
            return False
        budget_left = self._budget_left()
        if budget_left is not None and budget_left <= 0 and not (is_head and self._evict(item.lane, None)):
            return False
        room = self._scope.page_room(item.base)
        if room is None or room > self._window.by_base[item.base]:
            return True
        return is_head and self._evict(item.lane, item.base)

    def _crowded(self, lane: str) -> bool:
        settings = self.settings
        if len(self._window) + self._batch.unwritten >= settings.window:
            return True
        if self._window.bytes >= settings.window_bytes or self._in_flight.processing.is_full:
            return True
        return settings.relaxed and self._in_flight.unfinished[lane] >= self._share()

    def _share(self) -> int:
        """Workers that one lane may keep busy in relaxed order, so that a slow host cannot take them all."""
        return -(-self.settings.workers // max(1, self._frontier.lane_count()))

    def _budget_left(self) -> int | None:
        if self.settings.budget is None:
            return None
        return self.settings.budget - self._batch.crawl_settled - len(self._window)

    def _evict(self, lane: str, base: int | None) -> bool:
        """Give back the latest lease in favor of an earlier place."""
        slot = self._window.last(lane, base)
        if slot is None:
            return False
        self._give_back(slot)
        return True

    def _give_back(self, slot: Slot) -> None:
        self._in_flight.retract(slot)
        self._frontier.give_back(slot.item)

    def give_back_all(self) -> None:
        """Cancel all requests and give back all leases: the crawl ends."""
        self._in_flight.cancel()
        for slot in self._window.slots():
            self._give_back(slot)
