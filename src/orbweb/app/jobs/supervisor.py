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
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.jobs.process import ROLE, joined_run
from orbweb.app.jobs.records import JobKind, JobState
from orbweb.errors import OrbwebError
from orbweb.lifecycle import CrawlState
from orbweb.store import lock, runs, workspace_files
from orbweb.store.server_rows import JobRow, ServerStore

TICK_S = 0.1
EXPORTS_AT_ONCE = 2
MOST_CRASHES = 5
"""Processes of one job that may die in a row without progress before it is given up."""
LOGS = "logs/jobs"
ASK_AGAIN_S, KILL_S = 2.5, 3.5
"""After these times a process that was asked to stop is asked to stop at once, then killed."""

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
    seen: bool = False


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


class Supervisor:
    """Owns the processes of jobs. `start` and `close` are called once; everything else happens in its thread."""

    def __init__(self, settings: SupervisorSettings, store: ServerStore) -> None:
        self._settings, self._store = settings, store
        self._running: dict[int, _Running] = {}
        self._crashes: dict[int, _Crashes] = {}
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
        ends: _Ends | None = None
        while True:
            try:
                self._reap()
                if self._stopping.is_set():
                    ends = ends or _Ends()
                    if not self._end(ends):
                        return
                else:
                    self._start_next()
            except OrbwebError:
                _log.exception("jobs: cannot go on at the moment")
            self._wake.wait(TICK_S)
            self._wake.clear()

    # Processes that end.

    def _reap(self) -> None:
        for running in list(self._running.values()):
            if not self._lives(running):
                del self._running[running.job.id]
                job = self._store.job(running.job.id)
                if job is not None and job.state == JobState.RUNNING:
                    self._died(job)

    def _lives(self, running: _Running) -> bool:
        if running.child is not None:
            return running.child.poll() is None
        return self._pid(running.job) is not None

    def _pid(self, job: JobRow) -> int | None:
        return lock.owner_pid(self._settings.path / "locks", str(job.id), ROLE)

    def _died(self, job: JobRow) -> None:
        """The process of a job is gone, and has not said how it ended."""
        if job.kind == JobKind.EXPORT:
            self._retry(job, job.done)
            return
        with closing(OpenWorkspace(self._settings.path)) as workspace:
            joined = joined_run(workspace, self._store, job)
            crawls = runs.crawls_of(workspace.db, joined[0]) if joined is not None else []
        own = [crawl for crawl in crawls if joined is not None and crawl.id >= joined[1]]
        if own and own[-1].state is not CrawlState.IN_PROGRESS:
            self._store.settle_job(job, JobState.COMPLETED, None, now_us())
        else:
            self._retry(job, sum(crawl.visited + crawl.failed for crawl in own))

    def _retry(self, job: JobRow, progress: int) -> None:
        if not self._is_hopeless(job, progress):
            self._resume(job)
            return
        error = f"its process died {MOST_CRASHES} times without progress; see {LOGS}/{job.id}.log"
        self._store.settle_job(job, JobState.FAILED, error, now_us())

    def _is_hopeless(self, job: JobRow, progress: int) -> bool:
        crashes = self._crashes.setdefault(job.id, _Crashes())
        crashes.count = crashes.count + 1 if progress == crashes.progress else 1
        crashes.progress = progress
        return crashes.count >= MOST_CRASHES

    def _resume(self, job: JobRow) -> None:
        if self._settings.autoresume:
            self._restart(job)
        else:
            self._store.settle_job(job, JobState.PAUSED, None, now_us())

    # Processes that begin.

    def _start_next(self) -> None:
        queued = [*self._store.jobs_in(JobState.INTERRUPTED), *self._store.jobs_in(JobState.QUEUED)]
        for job in _next(queued, [each.job for each in self._running.values()], self._settings.max_active):
            self._restart(job)

    def _restart(self, job: JobRow) -> None:
        """Start a process for a job; unless another server has."""
        attempt = self._store.start_job(job, now_us())
        if attempt is None:
            return
        job = job._replace(state=JobState.RUNNING, attempt=attempt)
        try:
            self._running[job.id] = _Running(job, self._spawn(job))
        except OSError as error:
            self._store.settle_job(job, JobState.FAILED, f"cannot start a process: {error.strerror}", now_us())

    def _spawn(self, job: JobRow) -> subprocess.Popen[bytes]:
        path = self._settings.path
        for folder in ("logs", LOGS):
            workspace_files.make_directory(path, folder)
        log = workspace_files.open_file(path, f"{LOGS}/{job.id}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
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
        due = 3 if waited >= KILL_S else 2 if waited >= ASK_AGAIN_S else 1
        if due > ends.asked:
            ends.asked = due
            for running in self._running.values():
                self._store.interrupt_job(running.job.id)
                self._signal(running, signal.SIGKILL if due == 3 else signal.SIGTERM)
        return bool(self._running)

    def _signal(self, running: _Running, number: signal.Signals) -> None:
        pid = running.child.pid if running.child is not None else self._pid(running.job)
        with suppress(ProcessLookupError, PermissionError):
            if pid:
                (os.killpg if number is signal.SIGKILL else os.kill)(pid, number)


def _next(queued: Iterable[JobRow], running: Iterable[JobRow], max_active: int) -> list[JobRow]:
    """Which of the queued jobs begin now: the oldest first, crawls and exports each up to their number."""
    room = {JobKind.CRAWL.value: max_active, JobKind.EXPORT.value: EXPORTS_AT_ONCE}
    for job in running:
        room[job.kind] -= 1
    chosen = []
    for job in queued:
        if room[job.kind] > 0:
            room[job.kind] -= 1
            chosen.append(job)
    return chosen
