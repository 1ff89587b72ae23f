"""What crawls are doing, as events: of every crawl of the workspace, whichever face started it.

An event is the whole small state of a project's crawl. It is a row with a number, at most four a second for each
project, so that a client that reconnects continues where it was. The latest ones are in memory too, once for all
clients, however many there are and however slowly they read.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbweb.app import reports
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.jobs.records import JobKind, JobState
from orbweb.errors import OrbwebError
from orbweb.events import Snapshot
from orbweb.lifecycle import RunState
from orbweb.store import lock, runs
from orbweb.store.queries.overview import outline
from orbweb.store.server_rows import EventRow, ServerStore

TICK_S = 0.25
RATE_S = 5.0
"""The rate is that of the last seconds."""
IN_MEMORY = 2_000
URLS_SHOWN = 64
AT_WORK = ("in_progress", "on_hold", "stopping")
"""The states of a project that is being crawled."""


class EventLog:
    """The events of a workspace: the latest in memory, the others in the store. Any thread may call."""

    def __init__(self, store: ServerStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._latest: deque[EventRow] = deque(
            store.events_after(store.last_event() - IN_MEMORY, IN_MEMORY), IN_MEMORY
        )
        self._last = self._latest[-1].seq if self._latest else store.last_event()

    @property
    def last(self) -> int:
        return self._last

    def add(self, project_id: int, data: str) -> None:
        with self._lock:
            seq = self._store.add_event(project_id, data, now_us())
            self._latest.append(EventRow(seq, project_id, data))
            self._last = seq

    def after(self, seq: int, count: int, project_id: int | None) -> list[EventRow]:
        """The events after a number, of a project or of all; at most so many. May read the store: not for a
        loop."""
        found = self.recent(seq, count, project_id)
        return self._store.events_after(seq, count, project_id) if found is None else found

    def recent(self, seq: int, count: int, project_id: int | None) -> list[EventRow] | None:
        """As `after`, from memory alone; None if that does not reach back far enough."""
        with self._lock:
            if self._latest and seq < self._latest[0].seq - 1:
                return None
            found = [each for each in self._latest if each.seq > seq and project_id in (None, each.project_id)]
            return found[:count]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was last said of a project's crawl, and how many URLs it had settled when."""

    project_id: int
    said: dict[str, Any]
    settled: tuple[tuple[float, int], ...] = ()


class CrawlFollower:
    """Looks at all crawls four times a second, in a thread of its own."""

    def __init__(self, path: Path, store: ServerStore, log: EventLog, clock: Callable[[], float]) -> None:
        self._path, self._store, self._log, self._clock = path, store, log, clock
        self._seen: dict[str, _Seen] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="orbweb-events", daemon=True)

    def start(self) -> None:
        """Begin with what an earlier server said last, which may have been killed before a crawl ended."""
        for row in self._store.last_events():
            said = json.loads(row.data)
            if said["state"] in AT_WORK:
                self._seen[said["project"]] = _Seen(row.project_id, said)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(OpenWorkspace(self._path)) as workspace:
                    self._follow(workspace)
            except OrbwebError:
                logging.getLogger("orbweb.server").exception("events: cannot go on at the moment")
                self._stopping.wait(1.0)

    def _follow(self, workspace: OpenWorkspace) -> None:
        while not self._stopping.wait(TICK_S):
            self.look(workspace)

    def look(self, workspace: OpenWorkspace) -> None:
        """Say what has changed."""
        directory = self._path / "locks"
        running = {name for name in lock.names(directory) if lock.owner_pid(directory, name) is not None}
        for name in sorted(running | self._seen.keys()):
            found = runs.find_project(workspace.db, name)
            if found is None:
                self._seen.pop(name, None)
                continue
            self._say(workspace, found, is_running=name in running)
            if name not in running:
                del self._seen[name]

    def _say(self, workspace: OpenWorkspace, project: runs.Project, *, is_running: bool) -> None:
        before = self._seen.get(project.name)
        snapshot = reports.snapshot(workspace, project.name) if is_running else None
        if is_running and snapshot is None and before is not None:
            return
        settled = self._settled(before, snapshot)
        said = state_of(workspace, project, snapshot, rate=_rate(settled), is_running=is_running)
        said["jobID"] = self._job_of(project.id, said["runID"])
        self._seen[project.name] = _Seen(project.id, said, settled)
        if before is None or said != before.said:
            self._log.add(project.id, json.dumps(said, separators=(",", ":")))

    def _settled(self, before: _Seen | None, snapshot: Snapshot | None) -> tuple[tuple[float, int], ...]:
        if snapshot is None:
            return ()
        now = self._clock()
        recent = tuple(each for each in (before.settled if before else ()) if now - each[0] <= RATE_S)
        return (*recent, (now, snapshot.settled))

    def _job_of(self, project_id: int, run_id: int | None) -> int | None:
        for job in self._store.jobs_in(JobState.RUNNING):
            if job.kind == JobKind.CRAWL and job.project_id == project_id and job.run_id in (None, run_id):
                return job.id
        return None


def _rate(settled: tuple[tuple[float, int], ...]) -> float:
    """URLs per second between the first and the last look."""
    if len(settled) < 2:
        return 0.0
    (begun, first), (now, last) = settled[0], settled[-1]
    return round(max(0, last - first) / (now - begun), 2) if now > begun else 0.0


def state_of(
    workspace: OpenWorkspace, project: runs.Project, snapshot: Snapshot | None, *, rate: float, is_running: bool
) -> dict[str, Any]:
    """The small state of a project's crawl: what it is doing or, without one, how the latest run stands."""
    latest = runs.latest_run(workspace.db, project.id)
    crawls = runs.crawls_of(workspace.db, latest.id) if latest is not None else []
    if snapshot is not None:
        visited, failed, queued = snapshot.visited, snapshot.failed, snapshot.queued
    elif latest is not None:
        found = outline(workspace.db, latest, alive=is_running)
        visited, failed, queued = found["visited"], found["failed"], found["queued"]
    else:
        visited, failed, queued = 0, 0, 0
    in_progress = snapshot.in_progress[:URLS_SHOWN] if snapshot is not None else ()
    return {
        "projectID": project.id,
        "project": project.name,
        "runID": latest.id if latest is not None else None,
        "crawlID": crawls[-1].id if crawls else None,
        "pagesFound": visited + failed + queued,
        "pagesProcessed": visited,
        "pagesFailed": failed,
        "queueSize": queued,
        "inProgress": [each.url for each in in_progress],
        "rate": rate,
        "state": _state(latest, snapshot, is_running=is_running),
    }


def _state(latest: runs.Run | None, snapshot: Snapshot | None, *, is_running: bool) -> str:
    if snapshot is not None and snapshot.stopping:
        return "stopping"
    if snapshot is not None and snapshot.held:
        return "on_hold"
    if is_running:
        return "in_progress"
    if latest is None:
        return "never_crawled"
    return "paused" if latest.state is RunState.IN_PROGRESS else latest.state.value


def monotonic() -> float:
    return time.monotonic()
