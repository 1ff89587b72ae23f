"""The frontier: every URL of a run, and which is next.

The life of a URL: it is found on a page and looked up (`known`). A new one is admitted with a place `(depth,
rank)`, or recorded as skipped. When it is the next in its lane it is leased. After its fetch it is committed in
the order of places, given back if the crawl stops first, or deferred if its host blocks the crawl.

Within a lane, `lease` hands out places in order, and never one twice. In strict order there is one lane; in
relaxed order each site has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orbweb.model import Item, Known, Place


class Frontier(Protocol):
    """The frontier of one run. Admitted rows may not be written to the store yet."""

    def lanes(self) -> Iterator[str]:
        """The lanes that may have a place to lease."""

    def lane_count(self) -> int: ...

    def next(self, lane: str) -> Item | None:
        """The next item of the lane, if it is in memory."""

    def precedes(self, lane: str, place: Place) -> bool:
        """Whether a waiting place of the lane may come before this one."""

    def lease(self, lane: str) -> Item:
        """Take the next item."""

    def is_leased(self, url_id: int) -> bool: ...

    def committed(self, item: Item) -> None:
        """The lease ended in a commit."""

    def starved(self) -> bool:
        """Whether a lane has no place in memory while the store has more."""

    def admit(self, item: Item) -> None:
        """Queue an item; its row is part of a unit of work."""

    def give_back(self, item: Item) -> None:
        """The lease ended without a commit."""

    def defer(self, item: Item, due_at: int) -> None:
        """The lease ended without a commit, and the item may not be leased before `due_at`."""

    def wake(self) -> None:
        """Queue the deferred items that are due."""

    def drop(self, base: int) -> None:
        """Remove the queued items of a base URL, which are skipped."""

    def known(self, key: str) -> Known | None: ...

    def remember(self, key: str, known: Known) -> None:
        """Record a new URL, or a change of a known one."""

    def forget(self) -> None:
        """A unit of work is about to be written, and all before it are: drop what those found from memory."""

    def refill(self) -> None:
        """Load items of lanes that run low. All admitted rows are written."""

    def reload(self) -> None:
        """Read the queue and the known URLs again; leases stay, and every admitted row is written."""
