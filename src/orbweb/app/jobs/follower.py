"""What crawls are doing, as events: of every crawl of the workspace, whichever face started it.

An event is the whole small state of a project's crawl. It is a row with a number, at most four a second for each
project, so that a client that reconnects continues where it was. The latest ones are in memory too, once for all
clients, however many there are and however slowly they read. Where no crawl is at work, a look is one question to
the database: whether anything was written.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from orbweb.app import reports
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.jobs.records import CRAWLS, JobState
from orbweb.errors import OrbwebError
from orbweb.events import Snapshot
from orbweb.lifecycle import CrawlState, RunState
from orbweb.store import runs
from orbweb.store.queries import identities
from orbweb.store.queries.identities import Standing
from orbweb.store.queries.overview import outline
from orbweb.store.server_rows import EventRow, ServerStore

TICK_S = 0.25
SURVEY_S = 1.0
"""How often projects without a crawl at work are looked at, if anything was written."""
RATE_S = 5.0
"""The rate is that of the last seconds."""
IN_MEMORY = 1_000
URLS_SHOWN, URLS_BYTES = 64, 4_096
AT_WORK = ("in_progress", "on_hold", "stopping")
"""The states of a project that is being crawled."""


class EventLog:
    """The events of a workspace: the latest in memory, the others in the store. Any thread may call."""

    def __init__(self, store: ServerStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._last = store.last_event()
        self._latest: deque[EventRow] = deque(store.events_after(self._last - IN_MEMORY, IN_MEMORY), IN_MEMORY)

    @property
    def last(self) -> int:
        return self._last

    def add(self, project_id: int, data: str) -> None:
        with self._lock:
            seq = self._store.add_event(project_id, data, now_us())
            self._latest.append(EventRow(seq, project_id, data))
            self._last = seq

    def forget(self, project_id: int) -> None:
        """Of a project that was deleted."""
        with self._lock:
            self._latest = deque((each for each in self._latest if each.project_id != project_id), IN_MEMORY)

    def has_all_after(self, seq: int) -> bool:
        """Whether every event after a number is still there; not if the number is one that was never used."""
        if seq > self._last:
            return False
        return self.recent(seq, 0, None) is not None or 0 < self._store.first_event() <= seq + 1

    def after(self, seq: int, count: int, project_id: int | None) -> list[EventRow]:
        """The events after a number, of a project or of all; at most so many. May read the store: not for a
        loop."""
        found = self.recent(seq, count, project_id)
        return self._store.events_after(seq, count, project_id) if found is None else found

    def recent(self, seq: int, count: int, project_id: int | None) -> list[EventRow] | None:
        """As `after`, from memory alone; None if that does not reach back far enough."""
        if seq >= self._last:
            return []
        with self._lock:
            if not self._latest or seq < self._latest[0].seq - 1:
                return None
            newer = (each for each in self._latest if each.seq > seq and project_id in (None, each.project_id))
            return list(islice(newer, count))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was last said of a project's crawl, and how many URLs it had settled when."""

    said: dict[str, Any]
    settled: tuple[tuple[float, int], ...] = ()


class CrawlFollower:
    """Looks at all crawls four times a second, in a thread of its own."""

    def __init__(self, path: Path, store: ServerStore, log: EventLog, clock: Callable[[], float]) -> None:
        self._path, self._store, self._log, self._clock = path, store, log, clock
        self._seen: dict[int, _Seen] = {}
        self._at_work: set[int] = set()
        self._standings: dict[int, Standing] | None = None
        self._version, self._surveyed, self._surveyed_at = -1, -1, -SURVEY_S
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="orbweb-events", daemon=True)

    def start(self) -> None:
        """Begin with what an earlier server said last, which may have been killed before a crawl ended."""
        for row in self._store.last_events():
            said = json.loads(row.data)
            self._seen[row.project_id] = _Seen(said)
            if said["state"] in AT_WORK:
                self._at_work.add(row.project_id)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        trouble = ""
        while not self._stopping.is_set():
            try:
                with closing(OpenWorkspace(self._path)) as workspace:
                    self._version = -1
                    while not self._stopping.wait(TICK_S):
                        self.look(workspace)
                        trouble = ""
            except (OrbwebError, OSError) as error:
                if str(error) != trouble:
                    trouble = str(error)
                    logging.getLogger("orbweb.server").exception("events: cannot go on at the moment")
                self._stopping.wait(SURVEY_S)

    def look(self, workspace: OpenWorkspace) -> None:
        """Say what has changed."""
        version = identities.data_version(workspace.db)
        if version != self._version or self._at_work:
            self._look_at(workspace, {*self._at_work, *identities.projects_at_work(workspace.db)})
            self._version = version
        if version != self._surveyed and self._clock() - self._surveyed_at >= SURVEY_S:
            self._survey(workspace)
            self._surveyed, self._surveyed_at = version, self._clock()

    def _look_at(self, workspace: OpenWorkspace, numbers: Iterable[int]) -> None:
        for number in sorted(numbers):
            project = identities.project_by_id(workspace.db, number)
            is_owned = project is not None and workspace.owner(project.name) is not None
            if project is not None and (is_owned or number in self._at_work):
                self._say(workspace, project, is_owned=is_owned)
            if is_owned:
                self._at_work.add(number)
            else:
                self._at_work.discard(number)

    def _survey(self, workspace: OpenWorkspace) -> None:
        """Say what has changed where no crawl is at work: one was too short to be seen, or a command has changed
        the latest run. Projects that are gone are forgotten."""
        found = {each.project_id: each for each in identities.standings(workspace.db)}
        before = self._standings if self._standings is not None else self._first_standings(found.values())
        for number in self._seen.keys() - found.keys():
            del self._seen[number]
            self._log.forget(number)
        for number, standing in found.items():
            if number in self._at_work or standing.run_id is None or before.get(number) == standing:
                continue
            project = identities.project_by_id(workspace.db, number)
            if project is not None and workspace.owner(project.name) is None:
                self._say(workspace, project, is_owned=False)
        self._standings = found

    def _first_standings(self, found: Iterable[Standing]) -> dict[int, Standing]:
        """What needs no event at the start: what was there before the last event. With no events, all of it."""
        last = max((each.said["crawlID"] or 0 for each in self._seen.values()), default=None)
        return {
            each.project_id: each
            for each in found
            if each.project_id not in self._seen and (last is None or (each.crawl_id or 0) <= last)
        }

    def _say(self, workspace: OpenWorkspace, project: runs.Project, *, is_owned: bool) -> None:
        before = self._seen.get(project.id)
        was_at_work = project.id in self._at_work
        snapshot = reports.snapshot(workspace, project.name) if is_owned else None
        settled = self._settled(before, snapshot)
        said = state_of(workspace, project, snapshot, rate=_rate(settled), is_owned=is_owned)
        if was_at_work and snapshot is None and said["state"] in AT_WORK:
            return
        is_same_crawl = before is not None and before.said["crawlID"] == said["crawlID"]
        said["jobID"] = job_at_work(self._store, project.id, said) or (
            before.said["jobID"] if before is not None and is_same_crawl else None
        )
        if before is None or said != before.said:
            self._log.add(project.id, json.dumps(said, separators=(",", ":")))
        self._seen[project.id] = _Seen(said, settled)

    def _settled(self, before: _Seen | None, snapshot: Snapshot | None) -> tuple[tuple[float, int], ...]:
        if snapshot is None:
            return ()
        now = self._clock()
        recent = tuple(each for each in (before.settled if before else ()) if now - each[0] <= RATE_S)
        return (*recent, (now, snapshot.settled))


def job_at_work(store: ServerStore, project_id: int, said: dict[str, Any]) -> int | None:
    """The job whose crawl this is, while it is at work."""
    for job in store.jobs_in(JobState.RUNNING):
        if job.kind in CRAWLS and job.project_id == project_id and job.run_id == said["runID"]:
            return job.id
    return None


def _rate(settled: tuple[tuple[float, int], ...]) -> float:
    """URLs per second between the first and the last look."""
    if len(settled) < 2:
        return 0.0
    (begun, first), (now, last) = settled[0], settled[-1]
    return round(max(0, last - first) / (now - begun), 2) if now > begun else 0.0


def state_of(
    workspace: OpenWorkspace, project: runs.Project, snapshot: Snapshot | None, *, rate: float, is_owned: bool
) -> dict[str, Any]:
    """The small state of a project's crawl: what it is doing or, without one, how the latest run stands.
    `is_owned`: a process owns the project, which may do something else than crawl it."""
    latest = runs.latest_run(workspace.db, project.id)
    crawls = runs.crawls_of(workspace.db, latest.id) if latest is not None else []
    is_running = is_owned and bool(crawls) and crawls[-1].state is CrawlState.IN_PROGRESS
    # The last snapshot of a crawl stays until its process ends, and is older than the end of its run.
    snapshot = snapshot if is_running else None
    if snapshot is not None:
        visited, failed, queued = snapshot.visited, snapshot.failed, snapshot.queued
    elif latest is not None:
        found = outline(workspace.db, latest, alive=is_running)
        visited, failed, queued = found["visited"], found["failed"], found["queued"]
    else:
        visited, failed, queued = 0, 0, 0
    return {
        "projectID": project.id,
        "project": project.name,
        "runID": latest.id if latest is not None else None,
        "crawlID": crawls[-1].id if crawls else None,
        "pagesFound": visited + failed + queued,
        "pagesProcessed": visited,
        "pagesFailed": failed,
        "queueSize": queued,
        "inProgress": _urls(snapshot) if is_running else [],
        "rate": rate if is_running else 0.0,
        "state": _state(latest, snapshot, is_running=is_running),
    }


def _urls(snapshot: Snapshot | None) -> list[str]:
    """The URLs in flight: so many that the state stays small."""
    found: list[str] = []
    left = URLS_BYTES
    for each in snapshot.in_progress if snapshot is not None else ():
        if len(each.url) <= left and len(found) < URLS_SHOWN:
            found.append(each.url)
            left -= len(each.url)
    return found


def _state(latest: runs.Run | None, snapshot: Snapshot | None, *, is_running: bool) -> str:
    if latest is None:
        return "never_crawled"
    if not is_running:
        return "paused" if latest.state is RunState.IN_PROGRESS else latest.state.value
    if snapshot is not None and snapshot.stopping:
        return "stopping"
    return "on_hold" if snapshot is not None and snapshot.held else "in_progress"


def monotonic() -> float:
    return time.monotonic()
