"""Figures that need a pass over a run: alternates, tokens, rules, and how it differs from the one before.

A page waits for one of them at most, and only a moment: they are counted in a thread, one after the other, and
shown by the next page that asks. What was counted stays in memory as long as the run has not changed.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from fastapi import Request

from orbweb.app import RunHistory, RunTotals, Workspace
from orbweb.app.jobs.service import JobService
from orbweb.app.results.sections import RunSections, SectionLinks
from orbweb.errors import OrbwebError

PATIENCE_S = 0.06
"""How long a page waits for a figure."""
LARGEST = 200_000
"""Pages of a run up to which it is compared with the one before without being asked."""
KEPT = 1_000
SHORTEST_S, TIMES = 2.0, 20


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """How many pages were added, removed and changed, and differ in another way, from one run to the next."""

    old: int
    new: int
    added: int
    removed: int
    changed: int
    others: int

    @property
    def total(self) -> int:
        return self.added + self.removed + self.changed + self.others


@dataclass(slots=True)
class _Figure:
    """A figure, the state of the run that it was counted in, whether it is counted now, and when it is counted
    again while a crawl is at work."""

    mark: Hashable = None
    value: Any = None
    wanted: Hashable = None
    due: float = 0.0
    done: threading.Event = field(default_factory=threading.Event)


class Figures:
    """Counts in a thread of its own. Any thread may ask."""

    def __init__(self, workspace: Workspace, jobs: JobService, kept: int = KEPT) -> None:
        self._workspace, self._jobs, self._kept = workspace, jobs, kept
        self._known: OrderedDict[Hashable, _Figure] = OrderedDict()
        self._lock = threading.Lock()
        self._counting = 0
        self._work: SimpleQueue[tuple[_Figure, Hashable, Callable[[], Any]]] = SimpleQueue()
        threading.Thread(target=self._count, name="orbweb-figures", daemon=True).start()

    def totals(self, project: str, run: RunHistory) -> RunTotals | None:
        """The totals of a run; while it is in progress, those of a moment ago. None if they are not known yet."""
        found: RunTotals | None = self.ask(
            ("totals", project, run.run),
            run.mark,
            lambda: self._jobs.totals(project, run=run.run),
            at_work=run.state == "in_progress",
        )
        return found

    def changes(self, project: str, old: RunHistory, new: RunHistory) -> ChangeCounts | None:
        """How a completed run differs from the one before; None if that is not known yet."""
        if new.state != "completed" or max(old.pages, new.pages) > LARGEST:
            return None
        found: ChangeCounts | None = self.ask(
            ("changes", project, old.run, new.run),
            (old.mark, new.mark),
            lambda: self._compare(project, old.run, new.run),
        )
        return found

    def sections(self, project: str, run: RunHistory) -> RunSections | None:
        """A run by sections; while it is in progress, those of a moment ago. None if they are not known yet."""
        found: RunSections | None = self.ask(
            ("sections", project, run.run),
            run.mark,
            lambda: self._jobs.reading.sections(project, run=run.run),
            at_work=run.state == "in_progress",
        )
        return found

    def section_links(self, project: str, run: RunHistory, prefix: str) -> SectionLinks | None:
        """The links out of a section; None if they are not known yet."""
        found: SectionLinks | None = self.ask(
            ("links", project, run.run, prefix),
            run.mark,
            lambda: self._jobs.reading.section_links(project, prefix, run=run.run),
            at_work=run.state == "in_progress",
        )
        return found

    def _compare(self, project: str, old: int, new: int) -> ChangeCounts:
        found = self._workspace.diff(project, old, new)
        others = len(found.moved) + len(found.redirected) + len(found.failing)
        return ChangeCounts(old, new, len(found.added), len(found.removed), len(found.changed), others)

    def ask(
        self,
        key: Hashable,
        mark: Hashable,
        count: Callable[[], Any],
        *,
        at_work: bool = False,
        patience_s: float | None = PATIENCE_S,
    ) -> Any:
        """Any figure; None if it is not known yet. While it is counted again, the one before; `at_work`: it is
        counted again only after many times as long as that takes. Without a limit, it is waited for."""
        with self._lock:
            figure = self._known.setdefault(key, _Figure())
            self._known.move_to_end(key)
            if len(self._known) > self._kept:
                self._known.popitem(last=False)
            is_recent = at_work and figure.mark is not None and time.monotonic() < figure.due
            if figure.mark == mark or is_recent:
                return figure.value
            is_new = figure.wanted is None
            is_next = is_new and not self._counting
            if is_new:
                figure.wanted = mark
                figure.done.clear()
                self._counting += 1
        if is_new:
            self._work.put((figure, mark, count))
        if is_next or patience_s is None:
            figure.done.wait(patience_s)
        return figure.value

    def forget(self, key: Hashable) -> None:
        """Count a figure anew when it is asked for again."""
        with self._lock:
            self._known.pop(key, None)

    def _count(self) -> None:
        while True:
            figure, mark, count = self._work.get()
            begun = time.monotonic()
            try:
                value = count()
            except OrbwebError:
                value = None
            with self._lock:
                self._counting -= 1
                figure.mark, figure.value, figure.wanted = mark, value, None
                figure.due = time.monotonic() + max(SHORTEST_S, TIMES * (time.monotonic() - begun))
            figure.done.set()


def figures_of(request: Request) -> Figures:
    found: Figures = request.app.state.figures
    return found
