"""Lists of runs that are kept in memory: made by one pass in the background, valid as long as they are.

A list of pages or failures only grows while its run is crawled, so that it is continued from its last visit. What
else changes a run (a retry, an extraction, further rules, a deletion) is a unit of work that no crawl has written,
or makes another run; then the list is made anew. A list of what is queued or skipped changes with every commit:
while a crawl is at work it is a snapshot of a moment ago. Nobody waits for a pass longer than asked for: as long
as it is not finished, the list has the rows so far, and says so.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from orbweb.app.columns import Columns
from orbweb.app.directory import OpenWorkspace
from orbweb.store import runs
from orbweb.store.queries import catalog
from orbweb.store.runs import Project, Run

MOST_ROWS = 4_000_000
"""Rows of all lists that are kept; the list that was used last is always."""
THREADS = 2
SHORTEST_S, TIMES = 2.0, 20
"""A list of a run that is crawled is continued after so long, or so many times as long as its pass took."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a list is made of. `at_work`: a crawl changes the run meanwhile."""

    workspace: OpenWorkspace
    project: Project
    run: Run
    before: Run | None
    at_work: bool


class ListMaker(Protocol):
    """How a kind of list is made. `grows`: the rows of a run that is crawled stay, and others follow them."""

    @property
    def name(self) -> str: ...

    @property
    def grows(self) -> bool: ...

    def columns(self) -> Columns: ...

    def append(self, subject: Subject, columns: Columns, after: int, extra: Any) -> Iterable[tuple[int, Any]]:
        """Append the rows after a key in portions; yields the last key and what else is known by then, which are
        given when the list is continued: 0 and None at first."""


@dataclass(frozen=True, slots=True)
class KeptList:
    """A list as it is now. `is_whole`: it has all rows of its run or, while a crawl is at work, had them when it
    was made, and `is_snapshot`; `extra`: what its maker knows besides."""

    columns: Columns
    is_whole: bool
    is_snapshot: bool
    made_at: datetime
    extra: Any


@dataclass(slots=True)
class _Kept:
    """A list, what it is made of, how far it is made, and the one that is shown until it is."""

    columns: Columns
    origin: Hashable
    older: KeptList | None = None
    version: Hashable = None
    last: int = 0
    extra: Any = None
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    next_at: float = 0.0
    is_running: bool = False
    pass_done: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None

    def view(self, version: Hashable, *, at_work: bool) -> KeptList:
        is_whole = self.version is not None and (at_work or self.version == version)
        if self.older is not None and not is_whole:
            return self.older
        return KeptList(self.columns, is_whole, self.version != version, self.made_at, self.extra)


class KeptLists:
    """The lists of a workspace. Any thread may ask."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._known: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._passes = ThreadPoolExecutor(THREADS, "orbweb-lists")

    def close(self) -> None:
        """End the passes that are being made."""
        self._closed.set()
        self._passes.shutdown(cancel_futures=True)

    def whole(self, maker: ListMaker, project: str, number: int | None, *, fresh: bool = False) -> KeptList:
        """A list when it has all rows."""
        found = self.look(maker, project, number, patience_s=None, fresh=fresh)
        while not found.is_whole:
            found = self.look(maker, project, number, patience_s=None)
        return found

    def look(
        self, maker: ListMaker, project: str, number: int | None, *, patience_s: float | None, fresh: bool = False
    ) -> KeptList:
        """A list of a run as far as it is made. Waits for its pass at most so long, or until it is done; `fresh`:
        a list that is a snapshot is made anew."""
        with closing(OpenWorkspace(self._path)) as workspace:
            subject = subject_of(workspace, project, number)
            origin, version = _origin(maker, subject), _version(subject)
        with self._lock:
            kept = self._kept(maker, subject, origin, version, fresh=fresh)
            self._forget()
        kept.pass_done.wait(patience_s)
        if kept.error is not None:
            raise kept.error
        return kept.view(version, at_work=subject.at_work)

    def _kept(
        self, maker: ListMaker, subject: Subject, origin: Hashable, version: Hashable, *, fresh: bool
    ) -> _Kept:
        """The list, with a pass at work for it unless it is valid."""
        key = (maker.name, subject.run.id)
        kept = self._known.get(key)
        if kept is None or kept.error is not None or kept.origin != origin:
            kept = self._known[key] = _Kept(maker.columns(), origin)
        self._known.move_to_end(key)
        is_recent = subject.at_work and not fresh and time.monotonic() < kept.next_at
        if kept.is_running or kept.version == version or (kept.version is not None and is_recent):
            return kept
        if not maker.grows and kept.version is not None:
            older = kept.view(version, at_work=True) if subject.at_work else None
            kept = self._known[key] = _Kept(maker.columns(), origin, older)
        kept.is_running = True
        kept.pass_done.clear()
        self._passes.submit(self._pass, kept, maker, subject.project.name, subject.run.number)
        return kept

    def _pass(self, kept: _Kept, maker: ListMaker, project: str, number: int) -> None:
        begun = time.monotonic()
        try:
            self._append(kept, maker, project, number)
        except Exception as error:  # noqa: BLE001 - raised where the list is asked for
            kept.error = error
        kept.next_at = time.monotonic() + max(SHORTEST_S, TIMES * (time.monotonic() - begun))
        with self._lock:
            kept.is_running = False
        kept.pass_done.set()

    def _append(self, kept: _Kept, maker: ListMaker, project: str, number: int) -> None:
        """Append the rows that the run has more than the list, unless it is another run by now."""
        at = datetime.now(UTC)
        with closing(OpenWorkspace(self._path)) as workspace:
            subject = subject_of(workspace, project, number)
            if _origin(maker, subject) != kept.origin:
                kept.origin = None
                return
            version = _version(subject)
            for last, extra in maker.append(subject, kept.columns, kept.last, kept.extra):
                kept.last, kept.extra = last, extra
                if self._closed.is_set():
                    return
        kept.version, kept.made_at, kept.older = version, at, None

    def _forget(self) -> None:
        rows = sum(len(kept.columns) for kept in self._known.values())
        while rows > MOST_ROWS and len(self._known) > 1:
            _, kept = self._known.popitem(last=False)
            rows -= len(kept.columns)


def subject_of(workspace: OpenWorkspace, project: str, number: int | None) -> Subject:
    known = runs.project(workspace.db, project)
    run = runs.run_of(workspace.db, known, number)
    at_work = workspace.owner(project) is not None and run.ended_at is None
    return Subject(workspace, known, run, runs.run_before(workspace.db, run), at_work)


def _origin(maker: ListMaker, subject: Subject) -> Hashable:
    """Differs if rows that a list has may be others. The settings decide the page types; a run before the one that
    is listed may be deleted, and another one may get its id."""
    run, before = subject.run, subject.before
    settings = hashlib.sha256(json.dumps(subject.project.settings, sort_keys=True).encode()).digest()
    earlier = (before.id, before.started_at) if before is not None else None
    found = (run.id, run.started_at, earlier, settings)
    if not maker.grows:
        return found
    mark = catalog.mark(subject.workspace.db, run.id)
    return (*found, mark.crawls, 0 if subject.at_work else mark.rewritten_at)


def _version(subject: Subject) -> Hashable:
    """Differs if anything of the run does."""
    return catalog.mark(subject.workspace.db, subject.run.id)
