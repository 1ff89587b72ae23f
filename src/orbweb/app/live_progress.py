"""What a running crawl is doing, as other processes see it: the latest snapshot, in a file.

The crawl replaces `control/PROJECT.progress` a few times a second. A reader believes it only if the process and
the crawl that wrote it are the owner of the project and its latest crawl: what a killed crawl left behind says
nothing. Nothing depends on the file; where it cannot be written, there is none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from orbweb.app.callbacks import AlsoOnHold, Watch
from orbweb.app.results.record import plain, record
from orbweb.engine.control import ControlFiles
from orbweb.events import Snapshot

INTERVAL_S = 0.25
_SECOND = 1_000_000


class ProgressFile:
    """The progress of one crawl, written by its process."""

    def __init__(self, control: ControlFiles, crawl_id: int, *, clock: Callable[[], int]) -> None:
        """`clock` gives UTC microseconds."""
        self._control = control
        self._crawl_id = crawl_id
        self._clock = clock
        self._written_at = 0

    def watch(self, now: Snapshot) -> None:
        """Write the snapshot, unless the last one is recent."""
        at = self._clock()
        if 0 <= at - self._written_at < INTERVAL_S * _SECOND:
            return
        self._written_at = at
        written = {"pid": os.getpid(), "crawl": self._crawl_id, "at": at, "snapshot": plain(now)}
        self._control.save_progress(json.dumps(written, separators=(",", ":")).encode())


def read_progress(control: ControlFiles, *, owner: int, crawl_id: int, now: int) -> Snapshot | None:
    """The latest snapshot of the crawl that this process owns, with the ages that its URLs have now; None if there
    is none. `now` is in UTC microseconds."""
    with suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
        text = control.progress()
        if text is None:
            return None
        written = json.loads(text)
        if (written["pid"], written["crawl"]) != (owner, crawl_id):
            return None
        since_s = max(0, now - written["at"]) / _SECOND
        found = record(Snapshot, written["snapshot"])
        aged = tuple(replace(each, age_s=round(each.age_s + since_s, 3)) for each in found.in_progress)
        return replace(found, in_progress=aged)
    return None


class CallerWatch:
    """The caller's `on_progress`: silent while the crawl is on hold, from the snapshot on that says so, unless it
    is `AlsoOnHold`."""

    def __init__(self, on_progress: Watch) -> None:
        self._on_progress = on_progress
        self._is_always = isinstance(on_progress, AlsoOnHold)
        self._is_silent = False

    def watch(self, now: Snapshot) -> None:
        was_silent, self._is_silent = self._is_silent, now.held and not now.stopping
        if self._is_always or not (was_silent and self._is_silent):
            self._on_progress(now)
