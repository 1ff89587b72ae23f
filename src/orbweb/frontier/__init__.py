"""The frontier: every URL a run has seen, and whose turn is next.

The life of a URL: it is found on a page and looked up (`known`). A new one is admitted with a place
`(depth, rank)`, or recorded as skipped. When its turn comes it is leased. After its fetch it is committed in the
order of places, given back when the crawl stops first, or deferred when its host blocks the crawl.

Within a lane, `lease` hands out places in order, and never one twice. In strict order there is one lane; in
relaxed order each site has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orbweb.model import Item, Known, Place


class Frontier(Protocol):
    """The frontier of one run. Rows it was given may still be on their way to the store."""

    def lanes(self) -> Iterator[str]:
        """The lanes that may have a place to lease."""

    def lane_count(self) -> int: ...

    def next(self, lane: str) -> Item | None:
        """The item whose turn is next in the lane, if it is in memory."""

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
        """A new place; its row is on its way to the store."""

    def give_back(self, item: Item) -> None:
        """The lease ended without a commit."""

    def defer(self, item: Item, due_at: int) -> None:
        """The lease ended without a commit, and the item may not be leased before `due_at`."""

    def wake(self) -> None:
        """Let the deferred places that are due take their turn."""

    def drop(self, base: int) -> None:
        """Forget the queued places of a base URL; they are skipped."""

    def known(self, key: str) -> Known | None: ...

    def remember(self, key: str, known: Known) -> None:
        """A URL was found, or what is known of it changed."""

    def forget(self) -> None:
        """A unit of work begins to be written, and those before it are: memory may rely on the store for them."""

    def refill(self) -> None:
        """Load places of lanes that run low. All admitted rows are written."""

    def reload(self) -> None:
        """Read the queue and the known URLs again; leases stay, and every admitted row is written."""
