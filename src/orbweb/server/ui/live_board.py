"""What live pages show, read once for all that are open: a look at a crawl is at most a quarter of a second old.

A crawl that nobody looks at costs nothing. The visits of a large run that was not followed yet are added in
portions, one at each look. The shares of the queue need a pass over it, so they are counted in a thread of their
own, and rarely where that takes long.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from fastapi import Request

from orbweb.app.jobs.reading import RunReader
from orbweb.app.results.live import FollowedRun, QueueShares
from orbweb.errors import OrbwebError
from orbweb.events import OpenRequest
from orbweb.server.ui.live_chart import ChartWindow
from orbweb.server.ui.live_figures import FINE, FINE_S, VisitFigures
from orbweb.server.ui.live_hosts import Note, notes_between, with_notes
from orbweb.server.ui.live_view import SLOTS, LiveView, SeenCrawl, placed, view_of
from orbweb.server.ui.templating import now

FRESH_S = 0.2
PORTION = 1_000
"""Visits that one look adds."""
KEPT = 32
"""Projects whose figures are kept."""
NOTES_S = 15
"""Notes that an event has again, so that none is lost with an event."""
PATIENCE_S = 0.05
SHARES_S = 2.0
SHARES_COST = 50
"""The shares of the queue are counted again after so many times as long as that took."""


@dataclass(slots=True)
class _Followed:
    """What is known of a project."""

    figures: VisitFigures
    lock: threading.Lock = field(default_factory=threading.Lock)
    slots: list[OpenRequest | None] = field(default_factory=list)
    view: LiveView | None = None
    looked_at: float = 0.0
    shares: QueueShares | None = None
    counting: Future[QueueShares | None] | None = None
    shares_due: float = 0.0
    notes: list[Note] = field(default_factory=list)


class LiveBoard:
    """Any thread may ask."""

    def __init__(self, reading: RunReader) -> None:
        self._reading = reading
        self._known: OrderedDict[str, _Followed] = OrderedDict()
        self._lock = threading.Lock()
        self._counters = ThreadPoolExecutor(1, "orbweb-shares")

    def look(self, project: str) -> LiveView:
        """The project as it is now. UnknownProject if there is none."""
        found = self._of(project)
        with found.lock:
            if found.view is None or time.monotonic() - found.looked_at >= FRESH_S:
                found.view = self._view(project, found)
                found.looked_at = time.monotonic()
            return found.view

    def window(self, project: str, seconds: int | None) -> ChartWindow:
        """The chart of the last seconds, or of all that is kept. Of a crawl that has ended, its last seconds."""
        view, found = self.look(project), self._of(project)
        with found.lock:
            steps = found.figures.fine if seconds is not None and seconds <= 900 else found.figures.coarse
            end = now().timestamp() if view.at_work else steps.newest + steps.seconds
            if steps.first is None:
                return ChartWindow(steps.seconds, end - (seconds or FINE), end, (), ())
            begin = steps.first if seconds is None else end - seconds
            points = tuple(steps.points(max(begin, steps.first), end))
            return ChartWindow(steps.seconds, begin, end, points, notes_between(found.notes, begin, end))

    def latest(self, project: str) -> ChartWindow:
        """The last whole seconds, for a chart that goes on."""
        found = self._of(project)
        with found.lock:
            end, fine = now().timestamp(), found.figures.fine
            begin = max(end - 4 * FINE_S, fine.first or end)
            notes = notes_between(found.notes, end - NOTES_S, end)
            return ChartWindow(FINE_S, begin, end, tuple(fine.points(begin, end)), notes)

    def _of(self, project: str) -> _Followed:
        with self._lock:
            found = self._known.setdefault(project, _Followed(VisitFigures(None)))
            self._known.move_to_end(project)
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
            return found

    def _view(self, project: str, found: _Followed) -> LiveView:
        run = self._reading.follow(project, after=found.figures.last, limit=PORTION)
        outline = run.outline
        if found.figures.run != outline.run or found.figures.count + len(run.visits) > (
            outline.visited + outline.failed
        ):
            found.figures = VisitFigures(outline.run)
            found.notes.clear()
            run = self._reading.follow(project, limit=PORTION)
        found.figures.add(run.visits)
        if run.snapshot is not None:
            found.notes = with_notes(found.notes, run.snapshot.slowest, now().timestamp())
        requests = run.snapshot.in_progress if run.snapshot is not None else ()
        workers = run.snapshot.workers if run.snapshot is not None else 0
        found.slots = placed(found.slots, requests, workers or (SLOTS if outline.running else 0))
        self._count_shares(project, found, run)
        return view_of(project, SeenCrawl(run, found.figures, found.shares, found.slots, now()))

    def _count_shares(self, project: str, found: _Followed, run: FollowedRun) -> None:
        """Ask for the shares of the queue again if they are due, and take those that are counted."""
        if run.outline.run is None:
            return
        if found.counting is None and time.monotonic() >= found.shares_due:
            found.counting = self._counters.submit(self._shares, project, found)
        if found.counting is not None:
            with suppress(TimeoutError):
                found.shares = found.counting.result(PATIENCE_S if found.shares is None else 0)
                found.counting = None

    def _shares(self, project: str, found: _Followed) -> QueueShares | None:
        begun = time.monotonic()
        try:
            return self._reading.queue_shares(project)
        except OrbwebError:
            return None
        finally:
            took = time.monotonic() - begun
            found.shares_due = time.monotonic() + max(SHARES_S, SHARES_COST * took)


def board_of(request: Request) -> LiveBoard:
    found: LiveBoard = request.app.state.live
    return found
