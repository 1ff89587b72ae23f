"""Appends committed visits to the output files of a run, in commit order.

A file contains each visit up to its cursor once. The crawl is not delayed: a call works for a moment and leaves
the rest to the next one, and files are synced only every few seconds; a crash in between costs only writing the
lines again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from orbweb.store import Queries, journal
from orbweb.store.journal import Cursor

PORTION = 256
"""Visits that are read and written at once."""
TURN_S = 0.02
SYNC_S = 5.0

Derive = Callable[[int, int], tuple[bytes, int]]
"""(after, count) -> the lines of the next `count` visits after `after`, and the last of them, or `after` if
none."""


class Sink(Protocol):
    """Something that grows with a run, such as an `AppendFile`. `visit` is the last one in it."""

    visit: int

    def append(self, data: bytes, visit: int) -> None:
        """Append the lines of the visits up to that one."""

    def sync(self) -> Cursor | None:
        """Make everything durable; return the cursor that may be stored now, None if nothing has changed."""

    def close(self) -> None:
        """Close what is open."""


class Followed(NamedTuple):
    """A sink, the name of its cursor, and the function that derives its lines."""

    name: str
    sink: Sink
    derive: Derive


class Follower:
    """The files of one run during a crawl."""

    def __init__(
        self,
        db: Queries,
        run_id: int,
        files: Sequence[Followed],
        renew: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`renew` is called before the database is read again."""
        self._db, self._run_id, self._files, self._renew, self._clock = db, run_id, files, renew, clock
        self._synced_at = clock()

    def follow(self) -> None:
        """Write newly committed visits for a moment; do nothing during a commit."""
        if self._db.is_writing:
            return
        until = self._clock() + TURN_S
        for _ in self._steps():
            if self._clock() >= until:
                break
        if self._clock() - self._synced_at >= SYNC_S:
            self.sync()

    def catch_up(self) -> None:
        """Write all committed visits, and make them durable."""
        for _ in self._steps():
            pass
        self.sync()

    def _steps(self) -> Iterator[None]:
        """Write a portion to each file that is behind, until none is."""
        latest = journal.latest(self._db, self._run_id)
        behind = [file for file in self._files if file.sink.visit < latest]
        while behind:
            self._renew()
            for file in behind:
                file.sink.append(*file.derive(file.sink.visit, PORTION))
            yield
            behind = [file for file in behind if file.sink.visit < latest]

    def sync(self) -> None:
        """Make the files durable, then store their cursors."""
        moved = [(file.name, cursor) for file in self._files if (cursor := file.sink.sync()) is not None]
        if moved:
            journal.move(self._db, self._run_id, moved)
        self._synced_at = self._clock()
