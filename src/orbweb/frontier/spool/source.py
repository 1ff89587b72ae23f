"""The spool as the source of URLs of a scrape run, and the bookmark of that run.

The bookmark never passes a line whose URL is not durable in the run. So after a crash lines may be drawn again,
and are recognized by their key, but none is skipped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark, SpoolLine
from orbweb.frontier.spool.reader import SpoolReader

POLL_S = 0.2
MARK_EVERY = 100


class Ahead(Enum):
    """What to expect after the last line was drawn."""

    MORE = "discovery is running, or may resume"
    OVER = "discovery is completed, and all of it is in the spool"
    NOTHING = "discovery is not completed, and no process works on it"


class SpoolSource:
    """The lines of one run. `ahead` is called before lines are read, so that its result is valid if there are
    none.

    `lost` returns the lines that the files should have had."""

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
        self._poll_at = 0.0
        self.ahead = Ahead.MORE

    def draw(self, most: int) -> list[SpoolLine]:
        """The next lines, in order. If there are none, `ahead` says why; the disk is polled at intervals."""
        if most <= 0 or self._clock() < self._poll_at:
            return []
        expected = self._ahead()
        found = self._reader.take(most)
        self._drawn += len(found)
        if found:
            self._ends.append((self._drawn, found[-1][1]))
        if len(found) < most:
            self._poll_at = self._clock() + POLL_S
        self.ahead = Ahead.MORE if found else expected
        return [line for line, _ in found]

    def lost(self) -> list[SpoolLine]:
        """Lines that the files should have had, determined once, when all that they have is durable."""
        find, self._lost = self._lost, None
        found = find() if find is not None else []
        self._drawn += len(found)
        return found

    def safe(self, drawn: int) -> None:
        """The first `drawn` lines are durable: write the bookmark, every hundred lines and when none is
        pending."""
        while self._ends and self._ends[0][0] <= drawn:
            self._count, self._safe = self._ends.popleft()
        if self._safe is not None and (self._count - self._marked >= MARK_EVERY or not self._ends):
            self.mark()

    def mark(self) -> None:
        """Write the bookmark, if it has moved."""
        if self._safe is None or self._count == self._marked:
            return
        spool_files.write_bookmark(self._root, self._safe)
        self._marked = self._count
        spool_files.remove_consumed(self._root, self._safe, self._keep)

    def close(self) -> None:
        self._reader.close()
