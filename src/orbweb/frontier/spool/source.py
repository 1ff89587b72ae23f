"""What a scraper visits: the lines of the spool, drawn a few at a time, and the bookmark behind what is safe.

Owns the reader and the bookmark of one scrape run. Always holds: the bookmark never passes a line whose URL is not
durable in the run; so after a crash lines may be drawn again, and are recognised by their key, but none is passed
over. Never decides what a line means (see `ledger`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark, SpoolLine, SpoolReader

LOOK_S = 0.2
MARKED = 100


class Ahead(Enum):
    """What is to be expected when every line is drawn."""

    MORE = "discovery goes on, or may"
    OVER = "discovery is completed, and the spool has all of it"
    NOTHING = "discovery is not completed, and nobody works on it"


class SpoolSource:
    """The lines of one run. `ahead` is asked before lines are looked for, so that its answer holds if there are
    none."""

    def __init__(
        self,
        root: Path,
        reader: SpoolReader,
        *,
        ahead: Callable[[], Ahead],
        lost: Callable[[], list[SpoolLine]],
        keep: str,
        clock: Callable[[], float],
    ) -> None:
        self._root = root
        self._reader = reader
        self._ahead = ahead
        self._lost: Callable[[], list[SpoolLine]] | None = lost
        self._keep = keep
        self._clock = clock
        self._drawn = 0
        self._ends: deque[tuple[int, Bookmark]] = deque()
        self._safe: Bookmark | None = None
        self._count = self._marked = 0
        self._look_at = 0.0
        self.ahead = Ahead.MORE

    def draw(self, most: int) -> list[SpoolLine]:
        """Lines in their order. Without any, `ahead` says what that means; the disk is looked at now and then."""
        if most <= 0 or self._clock() < self._look_at:
            return []
        expected = self._ahead()
        found = self._reader.take(most)
        self._drawn += len(found)
        if found:
            self._ends.append((self._drawn, found[-1][1]))
        if len(found) < most:
            self._look_at = self._clock() + LOOK_S
        self.ahead = Ahead.MORE if found else expected
        return [line for line, _ in found]

    def lost(self) -> list[SpoolLine]:
        """Lines that the files should have had, asked for once, when all that they have is durable."""
        ask, self._lost = self._lost, None
        found = ask() if ask is not None else []
        self._drawn += len(found)
        return found

    def safe(self, drawn: int) -> None:
        """The first so many lines are durable: the bookmark follows, every hundred lines and when none waits."""
        while self._ends and self._ends[0][0] <= drawn:
            self._count, self._safe = self._ends.popleft()
        if self._safe is not None and (self._count - self._marked >= MARKED or not self._ends):
            self.mark()

    def mark(self) -> None:
        """Write the bookmark, if it has moved."""
        if self._safe is None or self._count == self._marked:
            return
        spool_files.write_bookmark(self._root, self._safe)
        self._marked = self._count
        spool_files.put_away(self._root, self._safe, self._keep)

    def close(self) -> None:
        self._reader.close()
