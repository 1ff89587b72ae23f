"""Starts the processes of jobs, at most so many crawls at once, and settles the jobs of processes that died.

Always: who starts a process for a job has claimed its row first. The process is a session of its own, so a signal
for the server does not reach it; it is found again by its lock after a crash of the server.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.job_files import LOGS, log_name
from orbweb.app.jobs.process import ROLE, joined_run
from orbweb.app.jobs.records import CRAWLS, OWNING, JobKind, JobState
from orbweb.errors import OrbwebError
from orbweb.lifecycle import CrawlState, EndedBy
from orbweb.store import lock, runs, workspace_files
from orbweb.store.queries import identities
from orbweb.store.server_rows import JobRow, ServerStore

TICK_S, IDLE_S = 0.1, 1.0
"""How often processes are looked after, and how often the queue is without being told."""
ROOM = {JobKind.EXPORT: 2, JobKind.EXTRACT: 1}
"""How many of these are at work at once, beside the crawls."""
MOST_CRASHES = 5
"""Processes of one job that may die in a row without progress before it is given up."""
LOGS_KEPT, LOG_BYTES = 500, 1_000_000
"""How many jobs keep their log, and from which size on a log is begun anew by the next process."""
ASK_AGAIN_S, KILL_S, LEAVE_S, GIVE_UP_S = 2.5, 3.5, 4.5, 20.0
"""After these times a process that was asked to stop is asked to stop at once, then killed; its workers are left
alone, and the process itself."""

_log = logging.getLogger("orbweb.server")


@dataclass(frozen=True, slots=True)
class SupervisorSettings:
    """`autoresume`: whether a crawl whose process died is resumed."""

    path: Path
    environ: Mapping[str, str]
    max_active: int = 1
    autoresume: bool = True


@dataclass(slots=True)
class _Running:
    """A process of a job: our own child, or one of an earlier server."""

    job: JobRow
    child: subprocess.Popen[bytes] | None = None


@dataclass(slots=True)
class _Crashes:
    """How often the process of a job died in a row, and how far it was then."""

    count: int = 0
    progress: int = -1


@dataclass(slots=True)
class _Ends:
    """How long the server has waited for its processes to end."""

    since: float = field(default_factory=time.monotonic)
    asked: int = 0
    groups: set[int] = field(default_factory=set)
    """Their process groups: the workers of a crawl end with it, or a moment later."""


class Supervisor:
    """Owns the processes of jobs. `start` and `close` are called once; everything else happens in its thread."""

    def __init__(self, settings: SupervisorSettings, store: ServerStore) -> None:
        self._settings, self._store = settings, store
        self._running: dict[int, _Running] = {}
        self._crashes: dict[int, _Crashes] = {}
        self._trouble = ""
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="orbweb-jobs", daemon=True)

    def start(self) -> None:
        """Find the jobs of an earlier server again, then begin."""
        for job in self._store.jobs_in(JobState.RUNNING):
            self._running[job.id] = _Running(job)
        if not self._settings.autoresume:
            for job in self._store.jobs_in(JobState.INTERRUPTED):
                self._store.settle_job(job, JobState.PAUSED, None, now_us())
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    @property
    def is_ending(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Begin to end: stop all crawls as `stop` does. They are resumed at the next start."""
        self._stopping.set()
        self._wake.set()

    def close(self) -> None:
        """Stop, and wait for the end of all processes."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        ends, looked_at = None, -IDLE_S
        while True:
            ended, is_well = self._tried(self._reap)
            if self._stopping.is_set():
                ends = ends or _Ends()
                if not self._end(ends):
                    return
            elif ended or self._wake.is_set() or time.monotonic() - looked_at >= IDLE_S:
                looked_at = time.monotonic()
                self._wake.clear()
                is_well = self._tried(self._start_next)[1] and is_well
            if self._stopping.is_set():
                time.sleep(TICK_S)
            else:
                self._wake.wait(TICK_S if self._running and is_well else IDLE_S)

    def _tried(self, step: Callable[[], bool]) -> tuple[bool, bool]:
        """What a step says, and whether it was possible: a full disk must not end this thread."""
        try:
            return step(), True
        except (OrbwebError, OSError) as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                _log.exception("jobs: cannot go on at the moment")
            return False, False

    # Processes that end.

    def _reap(self) -> bool:
        """Settle the jobs of processes that have ended; whether there were some."""
        ended = [each for each in self._running.values() if not self._lives(each)]
        for running in ended:
            number = running.job.id
            job = self._store.job(number)
            if job is not None:
                self._ended(job)
            if self._running[number] is running:
                del self._running[number]
                lock.remove(self._settings.path / "locks", str(number), ROLE)
        return bool(ended)

    def _ended(self, job: JobRow) -> None:
        if job.state == JobState.RUNNING:
            self._died(job)
        elif job.state == JobState.INTERRUPTED and not self._stopping.is_set():
            self._resume(job)

    def _lives(self, running: _Running) -> bool:
        if running.child is not None:
            return running.child.poll() is None
        return self._pid(running.job) is not None

    def _pid(self, job: JobRow) -> int | None:
        return lock.owner_pid(self._settings.path / "locks", str(job.id), ROLE)

    def _died(self, job: JobRow) -> None:
        """The process of a job is gone, and has not said how it ended."""
        if job.kind not in CRAWLS:
            self._retry(job, job.done)
            return
        with closing(OpenWorkspace(self._settings.path)) as workspace:
            joined = joined_run(workspace, self._store, job)
            crawls = runs.crawls_of(workspace.db, joined[0]) if joined is not None else []
        own = [crawl for crawl in crawls if joined is not None and crawl.id >= joined[1]]
        if own and own[-1].ended_by is EndedBy.ERROR:
            self._store.settle_job(job, JobState.FAILED, own[-1].error, now_us())
        elif own and own[-1].state is not CrawlState.IN_PROGRESS:
            self._store.settle_job(job, JobState.COMPLETED, None, now_us())
        else:
            self._retry(job, sum(crawl.visited + crawl.failed for crawl in own))

    def _retry(self, job: JobRow, progress: int) -> None:
        if not self._is_hopeless(job, progress):
            self._resume(job)
            return
        error = f"its process died {MOST_CRASHES} times without progress; see {log_name(job.id)}"
        self._store.settle_job(job, JobState.FAILED, error, now_us())

    def _is_hopeless(self, job: JobRow, progress: int) -> bool:
        crashes = self._crashes.setdefault(job.id, _Crashes())
        crashes.count = crashes.count + 1 if progress == crashes.progress else 1
        crashes.progress = progress
        return crashes.count >= MOST_CRASHES

    def _resume(self, job: JobRow) -> None:
        if self._stopping.is_set():
            self._store.interrupt_job(job.id)
        elif self._settings.autoresume:
            self._restart(job)
        else:
            self._store.settle_job(job, JobState.PAUSED, None, now_us())

    # Processes that begin.

    def _start_next(self) -> bool:
        """Start what there is room for, the oldest first. A job whose project another process owns waits."""
        room = _room([each.job.kind for each in self._running.values()], self._settings.max_active)
        if not any(room.values()):
            return False
        with ExitStack() as opened:
            workspace: OpenWorkspace | None = None
            for waiting in self._store.waiting_jobs():
                slot = _slot(waiting.kind)
                if not room[slot]:
                    continue
                if waiting.kind in OWNING:
                    workspace = workspace or opened.enter_context(closing(OpenWorkspace(self._settings.path)))
                    if _is_busy(workspace, waiting.project_id):
                        continue
                job = self._store.job(waiting.id)
                if job is not None and self._restart(job):
                    room[slot] -= 1
        return False

    def _restart(self, job: JobRow) -> bool:
        """Start a process for a job, unless it was cancelled meanwhile; whether it has one."""
        attempt = self._store.start_job(job, now_us())
        if attempt is None:
            return False
        job = job._replace(state=JobState.RUNNING, attempt=attempt)
        try:
            self._running[job.id] = _Running(job, self._spawn(job))
        except OSError as error:
            self._store.settle_job(job, JobState.FAILED, f"cannot start a process: {error.strerror}", now_us())
            return False
        return True

    def _spawn(self, job: JobRow) -> subprocess.Popen[bytes]:
        path = self._settings.path
        for folder in ("logs", LOGS):
            workspace_files.make_directory(path, folder)
        workspace_files.unlink(path, log_name(job.id - LOGS_KEPT))
        name = log_name(job.id)
        anew = os.O_TRUNC if (workspace_files.size(path, name) or 0) > LOG_BYTES else 0
        log = workspace_files.open_file(path, name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | anew)
        try:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "orbweb.app.jobs", str(path), str(job.id), str(job.attempt)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PYDANTIC_DISABLE_PLUGINS": "__all__", **self._settings.environ},
                start_new_session=True,
            )
        finally:
            os.close(log)

    # The end of the server.

    def _end(self, ends: _Ends) -> bool:
        """Ask all processes to end, the longer the more firmly; whether some are left."""
        waited = time.monotonic() - ends.since
        alive = [each for each in self._running.values() if self._lives(each)]
        due = 3 if waited >= KILL_S else 2 if waited >= ASK_AGAIN_S else 1
        if due > ends.asked:
            ends.asked = due
            for running in alive:
                self._tried(partial(self._interrupt, running.job.id))
                pid = self._signal(running, signal.SIGKILL if due == 3 else signal.SIGTERM)
                ends.groups.update({pid} if pid else ())
        if alive:
            return waited < GIVE_UP_S
        ends.groups = {each for each in ends.groups if _is_left(each)}
        return bool(ends.groups) and waited < LEAVE_S

    def _interrupt(self, number: int) -> bool:
        self._store.interrupt_job(number)
        return True

    def end(self, number: int) -> None:
        """Ask the process of a job to end. Any thread may call; the job is settled already."""
        running = self._running.get(number)
        if running is not None:
            self._signal(running, signal.SIGTERM)

    def _signal(self, running: _Running, number: signal.Signals) -> int | None:
        """Send a signal to a process; its id."""
        pid = running.child.pid if running.child is not None else self._pid(running.job)
        with suppress(ProcessLookupError, PermissionError):
            if pid:
                (os.killpg if number is signal.SIGKILL else os.kill)(pid, number)
        return pid


def _is_left(group: int) -> bool:
    """Whether a process is left in the group of one that has ended; it is killed. One that only waits to be
    reaped counts too: the caller does not wait for long."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _slot(kind: str) -> JobKind:
    """Crawls of every kind share their number."""
    return JobKind.CRAWL if kind in CRAWLS else JobKind(kind)


def _room(running: Iterable[str], max_active: int) -> dict[JobKind, int]:
    """How many jobs may begin, beside those that are at work."""
    room = {JobKind.CRAWL: max_active, **ROOM}
    for kind in running:
        room[_slot(kind)] -= 1
    return {slot: max(0, left) for slot, left in room.items()}


def _is_busy(workspace: OpenWorkspace, project_id: int) -> bool:
    """Whether another process owns the project. The process of a job says that a project was deleted."""
    project = identities.project_by_id(workspace.db, project_id)
    return project is not None and workspace.owner(project.name) is not None
