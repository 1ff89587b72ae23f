"""Files that follow a run: each commit, in its order, becomes lines.

Owns when they are written and how far each has come. Always: a file holds each visit up to its cursor once, in the
order of commits; the database is the truth, and a file that is lost is made again from it. Never holds up a crawl:
a call works for a moment and leaves the rest to the next one, and nothing is synced more often than every few
seconds; the crash that this risks costs nothing but making the lines again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from orbweb.store import Queries, journal
from orbweb.store.journal import Cursor

PORTION = 256
"""Visits that become lines at once."""
TURN_S = 0.02
SYNC_S = 5.0

Derive = Callable[[int, int], tuple[bytes, int]]
"""The lines of so many visits after one, and the last of these visits, which is the same if there are none."""


class Sink(Protocol):
    """What grows with a run, such as a file (see tail). `visit` is the last one in it."""

    visit: int

    def append(self, data: bytes, visit: int) -> None:
        """Take the lines of the visits up to that one."""

    def sync(self) -> Cursor | None:
        """Make everything durable; the cursor that may be stored now, None if nothing has changed."""

    def close(self) -> None:
        """Let go of what is open."""


class Followed(NamedTuple):
    """A file, the name of its cursor, and how its lines are made."""

    name: str
    sink: Sink
    derive: Derive


class Follower:
    """The files of one run while a crawl works on it."""

    def __init__(
        self,
        db: Queries,
        run_id: int,
        files: Sequence[Followed],
        renew: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`renew` is called before the database is looked at again."""
        self._db, self._run_id, self._files, self._renew, self._clock = db, run_id, files, renew, clock
        self._synced_at = clock()

    def follow(self) -> None:
        """Write what was committed since, as far as a moment allows. Nothing while a commit is under way."""
        if self._db.is_writing:
            return
        until = self._clock() + TURN_S
        for _ in self._steps():
            if self._clock() >= until:
                break
        if self._clock() - self._synced_at >= SYNC_S:
            self.sync()

    def catch_up(self) -> None:
        """Write everything that is committed, and make it durable."""
        for _ in self._steps():
            pass
        self.sync()

    def _steps(self) -> Iterator[None]:
        """A portion of each file that is behind, until none is."""
        latest = journal.latest(self._db, self._run_id)
        behind = [file for file in self._files if file.sink.visit < latest]
        while behind:
            self._renew()
            for file in behind:
                file.sink.append(*file.derive(file.sink.visit, PORTION))
            yield
            behind = [file for file in behind if file.sink.visit < latest]

    def sync(self) -> None:
        """Make the files durable, then say so in the database."""
        moved = [(file.name, cursor) for file in self._files if (cursor := file.sink.sync()) is not None]
        if moved:
            journal.move(self._db, self._run_id, moved)
        self._synced_at = self._clock()
