"""The spool as the source of URLs of a scrape run, and the bookmark of that run.

The bookmark never passes a line whose URL is not settled and durable. So after a crash lines may be drawn again,
and are recognized by their key, but none is skipped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark, SpoolLine, SpoolPlace
from orbweb.frontier.spool.reader import SpoolReader

POLL_S = 0.2
MARK_EVERY = 100
TRACKED = 8_192
"""Lines after one that is not settled. When there are more, those that are settled are forgotten."""


class Ahead(Enum):
    """What to expect after the last line was drawn."""

    MORE = "discovery is running, or may resume"
    OVER = "discovery is completed, and all of it is in the spool"
    NOTHING = "discovery is not completed, and no process works on it"


class DrawnLine(NamedTuple):
    """A line for the engine. `start` is None if it has no place in the files; `passed_by` is the rule if the
    bookmark was set past it by hand."""

    line: SpoolLine
    start: Bookmark | None = None
    passed_by: str | None = None


class _Unsettled(NamedTuple):
    """A line of which it is not known that it is scraped; `number` counts the lines of this crawl."""

    number: int
    url_id: int
    start: Bookmark


@dataclass(frozen=True, slots=True)
class Producer:
    """What the source knows of the producer. `ahead` is called before lines are read, so that its result is valid
    if there are none. `lost` returns the lines that the files should have had. `on_mark` stores a bookmark that is
    written."""

    ahead: Callable[[], Ahead]
    lost: Callable[[], list[SpoolLine]]
    on_mark: Callable[[Bookmark], None]


class SpoolSource:
    """The lines of one run. Those before `skip_to` are passed over: the bookmark was set past them by hand."""

    def __init__(
        self,
        place: SpoolPlace,
        reader: SpoolReader,
        producer: Producer,
        *,
        skip_to: Bookmark | None,
        keep: str,
        clock: Callable[[], float],
    ) -> None:
        self._place = place
        self._reader = reader
        self._producer = producer
        self._skip_to = skip_to
        self._keep = keep
        self._clock = clock
        self._is_first_draw = True
        self._are_lost_drawn = False
        self._unsettled: deque[_Unsettled] = deque()
        self._most_tracked = TRACKED
        self._settled = self._marked_at = 0
        self._marked = reader.position
        self._poll_at = 0.0
        self.ahead = Ahead.MORE

    @property
    def is_passing(self) -> bool:
        """Whether lines before `skip_to` may be left."""
        return self._skip_to is not None

    def draw(self, room: int, most: int) -> list[DrawnLine]:
        """The next lines, in order. If there are none, `ahead` says why; the disk is polled at intervals.

        Lines that the last crawl has read and not scraped are queued already, so the first draw needs no room.
        """
        wanted = most if self._is_first_draw or self.is_passing else room if room >= most // 4 else 0
        if wanted <= 0 or self._clock() < self._poll_at:
            return []
        self._is_first_draw = False
        expected = self._producer.ahead()
        found = [DrawnLine(line, start, self._passed_by(start)) for line, start in self._reader.take(wanted)]
        if len(found) < wanted:
            self._poll_at = self._clock() + POLL_S
            self._skip_to = None
        self.ahead = Ahead.MORE if found else expected
        return found

    def _passed_by(self, start: Bookmark) -> str | None:
        if self._skip_to is None or start.at >= self._skip_to.at:
            self._skip_to = None
            return None
        return f"{self._place.bookmark}: {self._skip_to.file}, byte {self._skip_to.offset}"

    def lost(self) -> list[DrawnLine]:
        """Lines that the files should have had, determined once, when all that they have is durable."""
        if self._are_lost_drawn:
            return []
        self._are_lost_drawn = True
        return [DrawnLine(line) for line in self._producer.lost()]

    def admitted(self, drawn: DrawnLine, number: int, url_id: int) -> None:
        """The line, number `number` of this crawl, stands for this URL, which is known now."""
        if drawn.start is not None:
            self._unsettled.append(_Unsettled(number, url_id, drawn.start))

    def settle(self, durable: int, is_settled: Callable[[int], bool]) -> None:
        """Move on over the lines that are scraped: among the first `durable` ones, with a URL that is settled.
        Write the bookmark every hundred lines and when none is left."""

        def is_scraped(line: _Unsettled) -> bool:
            return line.number <= durable and is_settled(line.url_id)

        while self._unsettled and is_scraped(self._unsettled[0]):
            self._unsettled.popleft()
            self._settled += 1
        if len(self._unsettled) > self._most_tracked:
            self._unsettled = deque(each for each in self._unsettled if not is_scraped(each))
            self._most_tracked = max(TRACKED, 2 * len(self._unsettled))
        if self._settled - self._marked_at >= MARK_EVERY or not self._unsettled:
            self.mark()

    @property
    def _position(self) -> Bookmark | None:
        return self._unsettled[0].start if self._unsettled else self._reader.position

    def mark(self) -> None:
        """Write the bookmark, if it has moved."""
        position = self._position
        self._marked_at = self._settled
        if position is None or position == self._marked:
            return
        spool_files.write_bookmark(self._place, position)
        self._producer.on_mark(position)
        self._marked = position
        spool_files.remove_consumed(self._place, position, self._keep)

    def close(self) -> None:
        self._reader.close()
