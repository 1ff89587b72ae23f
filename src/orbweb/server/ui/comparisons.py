"""Comparisons of two runs. A page waits a moment for one, and is shown again when it is done.

A comparison reads both runs, so the latest few are kept; those of a run that has changed since are made anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from fastapi import Request

from orbweb.app import RunDiff, RunOutline, Workspace
from orbweb.errors import OrbwebError

PATIENCE_S = 0.1
KEPT = 4


@dataclass(slots=True)
class _Made:
    """A comparison, what it was made of, and the one before it."""

    mark: Hashable
    value: RunDiff | None = None
    error: OrbwebError | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Comparisons:
    """Compares in threads, one per pair of runs. Any thread may ask."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[str, int, int, bool], _Made] = OrderedDict()

    def compared(self, old: RunOutline, new: RunOutline, *, keep_noise: bool) -> RunDiff | None:
        """How two runs differ; of a run in progress, as of a moment ago. None if they are still compared."""
        key = (new.project, old.run or 0, new.run or 0, keep_noise)
        mark = (old.mark, new.mark)
        with self._lock:
            made = self._made.get(key)
            if made is None or (made.done.is_set() and made.mark != mark):
                made = self._made[key] = _Made(mark, made.value if made is not None else None)
                threading.Thread(
                    target=self._compare, args=(key, made), name="orbweb-compare", daemon=True
                ).start()
            self._made.move_to_end(key)
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        made.done.wait(PATIENCE_S)
        if made.error is not None:
            raise made.error
        return made.value

    def _compare(self, key: tuple[str, int, int, bool], made: _Made) -> None:
        project, old, new, keep_noise = key
        try:
            made.value = self._workspace.diff(project, old, new, keep_noise=keep_noise)
        except OrbwebError as error:
            made.error = error
        finally:
            made.done.set()


def comparisons_of(request: Request) -> Comparisons:
    found: Comparisons = request.app.state.comparisons
    return found
