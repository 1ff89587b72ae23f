"""The window: places that are leased and not yet committed, in the order of each lane.

Owns what is known of a place between its lease and its commit. Decides nothing: when a slot is finished,
committed or given back is for the engine.
"""

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
"""What a link takes besides its texts, and what a text takes besides its characters."""
EARLIER_BYTES = 16
"""What a link takes that is known by its id."""
FRAMES_BYTES = 1_000
"""What the frames of an empty body and of its document take, with what is stated about it."""
ESCAPED = 3
"""What a byte of an href becomes at most, in UTF-8: a percent sign and two digits."""


class Slot:
    """A leased place on its way to its commit."""

    __slots__ = (
        "answer",
        "asked",
        "fetched_at",
        "held_bytes",
        "is_page",
        "item",
        "looked",
        "offer",
        "outcome",
        "place",
        "resends",
        "reuse",
        "ticket",
        "timer",
        "tries",
        "under_way",
        "waits",
    )

    def __init__(self, item: Item, ticket: int) -> None:
        self.item = item
        self.place = item.place
        self.ticket = ticket
        self.asked: tuple[str, ...] = (item.url,)
        self.tries = 0
        self.waits = 0
        self.resends = 0
        self.under_way = False
        self.is_page = True
        self.fetched_at = 0
        self.held_bytes = 0
        self.timer: asyncio.TimerHandle | None = None
        self.answer: Fetched | None = None
        self.looked = False
        self.offer: Offer | None = None
        self.reuse: Reuse | None = None
        self.outcome: Outcome | Unchanged | None = None


def bytes_of(processed: ProcessedPage) -> int:
    """What a result takes in memory while it waits for its turn."""
    parsed, document = processed.parsed, processed.document
    frames = len(processed.blob.frame) + (len(document.frame) if document is not None else 0)
    return frames + _link_bytes(parsed.links) + _link_bytes(parsed.resources)


def most_bytes(job: Job, *, with_resources: bool) -> int:
    """What the result of a body may take: a relative link takes more than what is written of it."""
    size = len(job.body)
    attributes, others, has_base = references(job.body)
    links = min(attributes + (others if with_resources else 0), MAX_LINKS)
    texts = min(links * (MAX_URL if has_base else len(job.url)) + ESCAPED * size, MAX_LINK_CHARACTERS)
    return FRAMES_BYTES + 2 * size + links * (LINK_BYTES + TEXT_BYTES) + texts


def _head_bytes(answer: Fetched | Failed | Refused) -> int:
    return 0 if isinstance(answer, Refused) or answer.head is None else len(answer.head.values)


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
            slot.held_bytes = len(outcome.capture.packed or b"") + _head_bytes(outcome.answer)
        elif outcome is not None and outcome.processed is not None:
            slot.held_bytes = bytes_of(outcome.processed)
        if isinstance(outcome, Outcome):
            slot.held_bytes += _head_bytes(outcome.answer)
        self.bytes += slot.held_bytes

    def release(self, slot: Slot) -> None:
        """The outcome is not what it comes to: the slot has none again."""
        self.bytes -= slot.held_bytes
        slot.outcome, slot.held_bytes = None, 0

    def head(self, lane: str) -> Slot | None:
        places = self._lanes.get(lane)
        return self._slots[places[0][1]] if places else None

    def is_head(self, slot: Slot) -> bool:
        """Whether nothing that is leased comes before the slot."""
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
