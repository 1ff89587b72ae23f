"""Runs digests inside the main process or in worker processes; the result is the same.

Owns the worker processes. A worker that dies is replaced and its pages are given to the new one; the page it
died on is tried at most `ATTEMPTS` times, and only once if it used up its processor time. Workers end when the
main process does, however it ends: their socket closes.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from orbweb import wire
from orbweb.digest import Digester, DigestSettings, Job, cpu_limit_s
from orbweb.errors import OrbwebError
from orbweb.model import Digest, Failed, FailKind

ATTEMPTS = 3
FRUITLESS = 30
JOBS_AHEAD = 32
BYTES_AHEAD = 8_000_000
SOCKET_BYTES = 1 << 20
"""What is on its way to or from a worker while the main process digests; the kernel may allow less."""
SMALL_BYTES = 65_536
"""A larger body is not copied to save a system call."""
LIGHT_BYTES = 300_000
HEAVY_BYTES = 4_000_000
HEAVY_DENSITY = 8
BUSY_PAGES = 30
BUSY_S = 1.2
"""So many pages in less time are worth worker processes."""
HEAVY_ATTRIBUTES = 30_000
"""Each link has at least one."""

Done = Callable[[int, "Digest | Failed"], None]
Broken = Callable[[OrbwebError], None]


class Pool(Protocol):
    """Takes jobs and reports each once, in any order."""

    def submit(self, job: Job) -> None:
        """Digest this page."""

    def close(self) -> None:
        """Stop; what was not reported yet is not reported."""


class InlinePool:
    """Digests at once, in this process; what may take long, or too much memory, is for a worker."""

    def __init__(self, settings: DigestSettings, done: Done, workers: ProcessPool) -> None:
        self._digester = Digester(settings)
        self._done = done
        self._workers = workers

    def submit(self, job: Job) -> None:
        digest = None if is_heavy(job.body) else self._digester.attempt(job)
        if digest is None:
            self._workers.submit(job, heavy=True)
        else:
            self._done(job.ticket, digest)

    def close(self) -> None:
        self._workers.close()


class SharedPool:
    """Worker processes and this one do the work together.

    Without workers all but heavy pages is done here; they are started when there is much to do in little time.
    From then on this process takes what no worker has room for, one job in each turn of its loop, so that nothing
    waits for it long: where cores are few, another worker would only take turns with it.
    """

    def __init__(self, inline: InlinePool, workers: ProcessPool, processes: int) -> None:
        self._inline = inline
        self._workers = workers
        self._processes = processes
        self._is_busy = workers.is_ready
        self._helping: asyncio.Handle | None = None
        self._count = 0
        self._since = 0.0

    def submit(self, job: Job) -> None:
        if self._is_busy and self._workers.is_ready and not is_heavy(job.body):
            self._workers.submit(job)
            self._help_soon()
        else:
            self._watch()
            self._inline.submit(job)

    def _help_soon(self) -> None:
        if self._helping is None and self._workers.has_too_much:
            self._helping = asyncio.get_running_loop().call_soon(self._help)

    def _help(self) -> None:
        self._helping = None
        if (job := self._workers.give_up()) is not None:
            self._inline.submit(job)
            self._help_soon()

    def _watch(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._count:
            self._since = now
        self._count += 1
        if self._count < BUSY_PAGES:
            return
        self._count = 0
        if now - self._since < BUSY_S:
            self._is_busy = True
            self._workers.grow(self._processes)

    def close(self) -> None:
        if self._helping is not None:
            self._helping.cancel()
        self._inline.close()


def is_heavy(body: bytes) -> bool:
    """Whether the page may take a good part of a second: very large, or large and all tags or full of links."""
    size = len(body)
    if not LIGHT_BYTES < size <= HEAVY_BYTES:
        return size > HEAVY_BYTES
    return body.count(b"<") * HEAVY_DENSITY > size or body.count(b"=") > HEAVY_ATTRIBUTES


class _Task(NamedTuple):
    """A job, which attempt this is, and whether only a worker may make it, with nothing behind it meanwhile."""

    job: Job
    attempt: int = 1
    is_heavy: bool = False


class ProcessPool:
    """Spreads jobs over worker processes. One that has none starts one when it gets something to do."""

    def __init__(self, settings: DigestSettings, done: Done, broken: Broken) -> None:
        self._settings = settings
        self._done = done
        self._broken = broken
        self._fruitless = 0
        self._workers: list[_Worker] = []
        self._waiting: deque[_Task] = deque()
        self._starting: set[asyncio.Task[None]] = set()

    @classmethod
    async def start(cls, processes: int, settings: DigestSettings, done: Done, broken: Broken) -> ProcessPool:
        pool = cls(settings, done, broken)
        for _ in range(processes):
            pool._workers.append(await _Worker.start(pool, settings))
        return pool

    @property
    def is_ready(self) -> bool:
        """Whether a worker is there to take jobs."""
        return bool(self._workers)

    @property
    def has_too_much(self) -> bool:
        """Whether there is a job for which no worker has room."""
        return bool(self._waiting)

    def give_up(self) -> Job | None:
        """The job that waits longest for a worker, of those that are not heavy and on which none has died."""
        for place, task in enumerate(self._waiting):
            if task.attempt == 1 and not task.is_heavy:
                del self._waiting[place]
                return task.job
        return None

    def grow(self, processes: int) -> None:
        """Start workers until there are so many."""
        for _ in range(processes - len(self._workers) - len(self._starting)):
            self._start_one()

    def submit(self, job: Job, *, heavy: bool = False) -> None:
        self._waiting.append(_Task(job, is_heavy=heavy))
        if not self._workers and not self._starting:
            self._start_one()
        self.feed()

    def feed(self) -> None:
        """Give waiting jobs to the workers with the least to do."""
        while self._waiting:
            job = self._waiting[0].job
            roomy = [worker for worker in self._workers if worker.has_room(job)]
            if not roomy:
                return
            min(roomy, key=lambda worker: worker.ahead).give(self._waiting.popleft())

    def finished(self, ticket: int, digest: Digest | Failed) -> None:
        self._done(ticket, digest)
        self.feed()

    def died(self, worker: _Worker) -> None:
        """Replace a dead worker. It works in order, so it died on the first of its jobs, unless it has retired."""
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        self._fruitless = 0 if worker.finished or worker.out_of_time else self._fruitless + 1
        if self._fruitless >= FRUITLESS:
            hint = "with --processes 0 only very large pages need one"
            self._broken(OrbwebError(f"worker processes die before they do anything; {hint}"))
            return
        for number, task in enumerate(reversed(worker.tasks.values())):
            if worker.has_retired or number < len(worker.tasks) - 1:
                self._waiting.appendleft(task)
            elif (failed := worker.verdict(task)) is not None:
                self._done(task.job.ticket, failed)
            else:
                self._waiting.appendleft(task._replace(attempt=task.attempt + 1))
        self._start_one()

    def _start_one(self) -> None:
        starting = asyncio.ensure_future(self._start_worker())
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)

    async def _start_worker(self) -> None:
        try:
            self._workers.append(await _Worker.start(self, self._settings))
        except OSError as error:
            self._broken(OrbwebError(f"a worker process cannot be started: {error}"))
            return
        self.feed()

    def close(self) -> None:
        for starting in self._starting:
            starting.cancel()
        for worker in self._workers:
            worker.close()


class _Worker(asyncio.Protocol):
    """The main process's end of one worker."""

    def __init__(self, pool: ProcessPool, process: subprocess.Popen[bytes]) -> None:
        self._pool = pool
        self._process = process
        self._buffer = bytearray()
        self._closing = False
        self._transport: asyncio.Transport
        self._is_held_up = False
        self.tasks: dict[int, _Task] = {}
        self.ahead = 0
        self.finished = 0

    @classmethod
    async def start(cls, pool: ProcessPool, settings: DigestSettings) -> _Worker:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "orbweb.worker", str(theirs.fileno()), wire.encode_settings(settings)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        loop = asyncio.get_running_loop()
        ours.setblocking(False)
        try:
            transport, worker = await loop.create_unix_connection(lambda: cls(pool, process), sock=ours)
        except BaseException:
            ours.close()
            process.kill()
            process.wait()
            raise
        worker._transport = transport
        return worker

    def has_room(self, job: Job) -> bool:
        """Nothing waits behind a heavy job. A large one waits until it is the only one: what is on its way is in
        memory twice."""
        fits = len(self.tasks) < JOBS_AHEAD and self.ahead + len(job.body) <= BYTES_AHEAD
        return (fits and not self._is_held_up) or not self.tasks

    def give(self, task: _Task) -> None:
        job = task.job
        self.tasks[job.ticket] = task
        self.ahead += len(job.body)
        self._is_held_up = task.is_heavy
        *head, body = wire.encode_job(job)
        if len(body) <= SMALL_BYTES:
            self._transport.write(b"".join((*head, body)))
        else:
            self._transport.write(b"".join(head))
            self._transport.write(memoryview(body))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        start = 0
        while size := wire.digest_size(self._buffer, start):
            self._take(bytes(self._buffer[start : start + size]))
            start += size
        del self._buffer[:start]

    def _take(self, record: bytes) -> None:
        ticket, digest = wire.decode_digest(record)
        self.ahead -= len(self.tasks.pop(ticket).job.body)
        self.finished += 1
        self._pool.finished(ticket, digest)

    @property
    def out_of_time(self) -> bool:
        """Whether it is dead because a page used up its processor time."""
        return self._process.returncode == -signal.SIGPROF

    @property
    def has_retired(self) -> bool:
        """Whether it ended by itself, between two jobs, because its memory had grown."""
        return self._process.returncode == 0

    def verdict(self, task: _Task) -> Failed | None:
        """What the job on which this worker died comes to; None if it may be tried again."""
        if self.out_of_time:
            limit = cpu_limit_s(len(task.job.body))
            return Failed(FailKind.UNPARSABLE, f"needs more than {limit:g} s of processor time to be parsed")
        if task.attempt >= ATTEMPTS:
            return Failed(FailKind.UNPARSABLE, f"a worker died {task.attempt} times on this page")
        return None

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._process.kill()
        self._process.wait()
        if not self._closing:
            self._pool.died(self)

    def close(self) -> None:
        self._closing = True
        self._transport.abort()
        self._process.kill()
        self._process.wait()
