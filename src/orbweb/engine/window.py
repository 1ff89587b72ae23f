"""The window: places that are leased and not yet committed, in the order of each lane, and their memory."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Sequence

from orbweb.engine.workers.codec import PackedLinks
from orbweb.engine.workers.page import Job
from orbweb.fetching.revalidation import Offer
from orbweb.model import Failed, Fetched, Item, Link, Outcome, Place, ProcessedPage, Refused, Reuse, Unchanged
from orbweb.parsing.html.reference_count import references
from orbweb.parsing.page import MAX_LINK_CHARACTERS, MAX_LINKS
from orbweb.store.captures import EarlierLinks
from orbweb.urls import MAX_URL

LINK_BYTES = 88
TEXT_BYTES = 49
"""Bytes of a link besides its strings, and of a string besides its characters."""
EARLIER_BYTES = 16
"""Bytes of a link that is known by its id."""
FRAMES_BYTES = 1_000
"""Bytes of the frames of an empty body and its document, with its metadata."""
ESCAPED = 3
"""Characters that a byte of an href becomes at most: a percent sign and two digits."""


class Slot:
    """A leased place that is not committed. `requested` are its URLs so far: the item's, then redirect targets."""

    __slots__ = (
        "fetched_at",
        "held_bytes",
        "in_flight",
        "is_page",
        "item",
        "looked_up",
        "offer",
        "outcome",
        "place",
        "requested",
        "resends",
        "response",
        "reuse",
        "ticket",
        "timer",
        "tries",
        "waits",
    )

    def __init__(self, item: Item, ticket: int) -> None:
        self.item = item
        self.place = item.place
        self.ticket = ticket
        self.requested: tuple[str, ...] = (item.url,)
        self.tries = 0
        self.waits = 0
        self.resends = 0
        self.in_flight = False
        self.is_page = True
        self.fetched_at = 0
        self.held_bytes = 0
        self.timer: asyncio.TimerHandle | None = None
        self.response: Fetched | None = None
        self.looked_up = False
        self.offer: Offer | None = None
        self.reuse: Reuse | None = None
        self.outcome: Outcome | Unchanged | None = None


def bytes_of(processed: ProcessedPage) -> int:
    """Memory of a result that waits for its commit."""
    parsed, document = processed.parsed, processed.document
    frames = len(processed.blob.frame) + (len(document.frame) if document is not None else 0)
    return frames + _link_bytes(parsed.links) + _link_bytes(parsed.resources)


def most_bytes(job: Job, *, with_resources: bool) -> int:
    """Upper bound of the memory that the result of a body takes: a relative link grows when it is resolved."""
    size = len(job.body)
    attributes, others, has_base = references(job.body)
    links = min(attributes + (others if with_resources else 0), MAX_LINKS)
    texts = min(links * (MAX_URL if has_base else len(job.url)) + ESCAPED * size, MAX_LINK_CHARACTERS)
    return FRAMES_BYTES + 2 * size + links * (LINK_BYTES + TEXT_BYTES) + texts


def _head_bytes(response: Fetched | Failed | Refused) -> int:
    return 0 if isinstance(response, Refused) or response.head is None else len(response.head.values)


def _link_bytes(links: Sequence[Link]) -> int:
    if type(links) is PackedLinks:
        return TEXT_BYTES + sum(map(len, links.sections))
    if type(links) is EarlierLinks or not links:
        return EARLIER_BYTES * len(links)
    texts = [link.key for link in links] + [link.url for link in links if link.url is not link.key]
    return LINK_BYTES * len(links) + TEXT_BYTES * len(texts) + sum(map(len, texts))


class Window:
    """The leased places of every lane, in order."""

    def __init__(self) -> None:
        self._lanes: dict[str, list[tuple[Place, int]]] = {}
        self._slots: dict[int, Slot] = {}
        self.by_base: Counter[int] = Counter()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, ticket: int) -> Slot | None:
        return self._slots.get(ticket)

    def slots(self) -> list[Slot]:
        return list(self._slots.values())

    def lanes(self) -> list[str]:
        return list(self._lanes)

    def add(self, slot: Slot) -> None:
        self._slots[slot.ticket] = slot
        self.by_base[slot.item.base] += 1
        heapq.heappush(self._lanes.setdefault(slot.item.lane, []), (slot.place, slot.ticket))

    def hold(self, slot: Slot) -> None:
        """The slot has its outcome, which takes memory until it is committed."""
        outcome = slot.outcome
        if isinstance(outcome, Unchanged):
            slot.held_bytes = len(outcome.capture.packed or b"") + _head_bytes(outcome.response)
        elif outcome is not None and outcome.processed is not None:
            slot.held_bytes = bytes_of(outcome.processed)
        if isinstance(outcome, Outcome):
            slot.held_bytes += _head_bytes(outcome.response)
        self.bytes += slot.held_bytes

    def release(self, slot: Slot) -> None:
        """Discard the outcome of the slot."""
        self.bytes -= slot.held_bytes
        slot.outcome, slot.held_bytes = None, 0

    def head(self, lane: str) -> Slot | None:
        places = self._lanes.get(lane)
        return self._slots[places[0][1]] if places else None

    def is_head(self, slot: Slot) -> bool:
        """Whether no leased place of the lane comes before the slot."""
        return self.head(slot.item.lane) is slot

    def pop(self, lane: str) -> Slot:
        return self._forget(heapq.heappop(self._lanes[lane])[1], lane)

    def last(self, lane: str, base: int | None) -> Slot | None:
        """The latest place of the lane, or of one base URL in it."""
        slots = [self._slots[ticket] for _, ticket in self._lanes.get(lane, ())]
        fitting = [slot for slot in slots if base is None or slot.item.base == base]
        return max(fitting, key=lambda slot: slot.place, default=None)

    def remove(self, slot: Slot) -> None:
        lane = slot.item.lane
        self._lanes[lane].remove((slot.place, slot.ticket))
        heapq.heapify(self._lanes[lane])
        self._forget(slot.ticket, lane)

    def _forget(self, ticket: int, lane: str) -> Slot:
        slot = self._slots.pop(ticket)
        self.by_base[slot.item.base] -= 1
        self.bytes -= slot.held_bytes
        if not self._lanes[lane]:
            del self._lanes[lane]
        return slot
