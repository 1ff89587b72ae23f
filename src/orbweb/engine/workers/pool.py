"""Processes pages in worker processes or, if the site is trusted, in the main process; the results are the same.

Untrusted pages are parsed in a worker, which may crash: a page never ends the crawl. A worker that dies is
replaced, and its other pages go to the new one. The page it died on is tried at most `ATTEMPTS` times, only once
if it used up its processor time, and then fails with the name of the signal. Workers end when the main process
does, however it ends: their socket closes.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from orbweb.engine.workers import codec
from orbweb.engine.workers.page import Job, PageProcessor, ProcessorSettings, cpu_limit_s
from orbweb.errors import OrbwebError, option
from orbweb.model import Failed, FailKind, ProcessedPage

ATTEMPTS = 3
FRUITLESS = 30
"""Workers in a row that died before their first job: worker processes cannot run here."""
JOBS_AHEAD = 32
BYTES_AHEAD = 8_000_000
SOCKET_BYTES = 1 << 20
"""Socket buffer to and from a worker; the kernel may allow less."""
SMALL_BYTES = 65_536
"""A larger body is not copied to save a system call."""
LIGHT_BYTES = 300_000
HEAVY_BYTES = 4_000_000
HEAVY_DENSITY = 8
BUSY_PAGES = 30
BUSY_S = 1.2
"""BUSY_PAGES pages within BUSY_S seconds start all workers."""
HEAVY_ATTRIBUTES = 30_000
"""Equals signs in the body: each link has at least one."""

Done = Callable[[int, "ProcessedPage | Failed"], None]
Broken = Callable[[OrbwebError], None]


class InlinePool:
    """Processes at once, in this process: for trusted sites, because a crash of the parser ends the crawl.

    A page that may take long or too much memory goes to a worker, with the limits of any worker.
    """

    def __init__(self, settings: ProcessorSettings, done: Done, workers: ProcessPool) -> None:
        self._processor = PageProcessor(settings)
        self._done = done
        self._workers = workers

    def submit(self, job: Job) -> None:
        processed = None if is_heavy(job.body) else self._processor.attempt(job)
        if processed is None:
            self._workers.submit(job)
        else:
            self._done(job.ticket, processed)

    def close(self) -> None:
        self._workers.close()


def is_heavy(body: bytes) -> bool:
    """Whether the page may take a good part of a second: very large, or large with very many tags or links."""
    size = len(body)
    if not LIGHT_BYTES < size <= HEAVY_BYTES:
        return size > HEAVY_BYTES
    return body.count(b"<") * HEAVY_DENSITY > size or body.count(b"=") > HEAVY_ATTRIBUTES


class _Task(NamedTuple):
    """A job, its attempt, and whether it is heavy, so that nothing may wait behind it."""

    job: Job
    is_heavy: bool
    attempt: int = 1


class Spawned:
    """A started worker process that does not belong to a pool yet."""

    def __init__(self, settings: ProcessorSettings) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            for end in (self.socket, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
            command = [sys.executable, "-P", "-m", "orbweb.engine.workers.main"]
            try:
                self.process = subprocess.Popen(
                    [*command, str(theirs.fileno()), codec.encode_settings(settings)],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
            except OSError as error:
                self.socket.close()
                raise OrbwebError(f"cannot start a worker process: {error}") from error
        self.socket.setblocking(False)

    def close(self) -> None:
        self.socket.close()
        self.process.kill()
        self.process.wait()


class ProcessPool:
    """Spreads jobs over worker processes, at most `most`.

    It starts one with the first job, another for a heavy page, and all when many jobs arrive in a short time.
    Unless it has heavy pages only, it keeps one worker free of them, so that no other page waits behind one: then
    there are two workers, even if `most` is one.
    """

    def __init__(
        self, settings: ProcessorSettings, done: Done, broken: Broken, *, most: int, only_heavy: bool = False
    ) -> None:
        self._settings = settings
        self._done = done
        self._broken = broken
        self._most = most
        self._only_heavy = only_heavy
        self._fruitless = 0
        self._workers: list[_Worker] = []
        self._waiting: deque[_Task] = deque()
        self._starting: set[asyncio.Task[None]] = set()
        self._count = 0
        self._since = 0.0

    @classmethod
    async def start(
        cls,
        processes: int,
        settings: ProcessorSettings,
        done: Done,
        broken: Broken,
        *,
        most: int | None = None,
        spawned: list[Spawned] | None = None,
    ) -> ProcessPool:
        """A pool that starts with this many workers; those in `spawned` are used, and removed from it, first."""
        pool = cls(settings, done, broken, most=max(processes, 1) if most is None else most)
        for _ in range(processes):
            begun = spawned.pop() if spawned else Spawned(settings)
            pool._workers.append(await _Worker.start(pool, begun))
        return pool

    @property
    def is_ready(self) -> bool:
        """Whether a worker can take jobs."""
        return bool(self._workers)

    def submit(self, job: Job) -> None:
        task = _Task(job, is_heavy(job.body))
        self._waiting.append(task)
        self._grow(self._wanted(task))
        self.feed()

    def _wanted(self, task: _Task) -> int:
        """How many workers there should be, so that pages wait neither for a heavy one nor, if they are many, for
        each other."""
        has = len(self._workers) + len(self._starting)
        least = 2 if task.is_heavy and not self._only_heavy else 1
        if has >= self._most:
            return max(has, least)
        now = asyncio.get_running_loop().time()
        if not self._count:
            self._since = now
        self._count += 1
        if self._count < BUSY_PAGES:
            return least
        self._count = 0
        return max(self._most if now - self._since < BUSY_S else 1, least)

    def _grow(self, processes: int) -> None:
        for _ in range(processes - len(self._workers) - len(self._starting)):
            self._start_one()

    def feed(self) -> None:
        """Give waiting jobs to the workers with the least to do; a heavy job that has to wait lets others pass."""
        held: list[_Task] = []
        while self._waiting:
            task = self._waiting[0]
            if task.is_heavy and self._heavy >= self._heavy_at_once:
                held.append(self._waiting.popleft())
                continue
            roomy = [worker for worker in self._workers if worker.has_room(task.job)]
            if not roomy:
                break
            min(roomy, key=lambda worker: worker.ahead).give(self._waiting.popleft())
        self._waiting.extendleft(reversed(held))

    @property
    def _heavy(self) -> int:
        return sum(worker.is_held_up for worker in self._workers)

    @property
    def _heavy_at_once(self) -> int:
        return len(self._workers) - (not self._only_heavy)

    def finished(self, ticket: int, processed: ProcessedPage | Failed) -> None:
        self._done(ticket, processed)
        self.feed()

    def died(self, worker: _Worker) -> None:
        """Replace a dead worker. Workers process jobs in order, so it died on its first one, if it had started."""
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        tasks = deque(worker.tasks.values())
        blamed = tasks.popleft() if tasks and worker.died_at_work else None
        self._waiting.extendleft(reversed(tasks))
        if blamed is not None:
            self._judge(worker, blamed)
        self._fruitless = 0 if blamed or worker.finished else self._fruitless + 1
        if self._fruitless < FRUITLESS:
            self._start_one()
        else:
            hint = f"with {option('processes', '0')} only very large pages need one"
            self._broken(OrbwebError(f"worker processes die at startup; {hint}"))

    def _judge(self, worker: _Worker, task: _Task) -> None:
        """A page fails if its workers die on it repeatedly, or if it has used up its processor time."""
        failed = verdict(worker.cause, task.attempt, len(task.job.body))
        if failed is None:
            self._waiting.appendleft(task._replace(attempt=task.attempt + 1))
        else:
            self._done(task.job.ticket, failed)

    def _start_one(self) -> None:
        starting = asyncio.ensure_future(self._start_worker())
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)

    async def _start_worker(self) -> None:
        try:
            self._workers.append(await _Worker.start(self, Spawned(self._settings)))
        except OrbwebError as error:
            self._broken(error)
            return
        self.feed()

    def close(self) -> None:
        for starting in self._starting:
            starting.cancel()
        for worker in self._workers:
            worker.close()


def verdict(cause: int | str, attempt: int, size: int) -> Failed | None:
    """The failure of a page of this size on which a worker died, by a signal or with a message; None if it is
    tried again. A worker may be killed for other reasons, so one death does not fail the page."""
    if cause == signal.SIGPROF:
        return Failed(
            FailKind.UNPARSABLE, f"needs more than {cpu_limit_s(size):g} s of processor time to be parsed"
        )
    if attempt < ATTEMPTS:
        return None
    name = signal.Signals(cause).name if isinstance(cause, int) else cause
    return Failed(FailKind.UNPARSABLE, f"the worker process died {attempt} times on this page: {name}")


class _Worker(asyncio.Protocol):
    """The main process's end of one worker."""

    def __init__(self, pool: ProcessPool, process: subprocess.Popen[bytes]) -> None:
        self._pool = pool
        self._process = process
        self._buffer = bytearray()
        self._closing = False
        self._transport: asyncio.Transport
        self._is_at_work = False
        self._garbled = ""
        self.tasks: dict[int, _Task] = {}
        self.ahead = 0
        self.finished = 0

    @classmethod
    async def start(cls, pool: ProcessPool, spawned: Spawned) -> _Worker:
        loop = asyncio.get_running_loop()
        try:
            transport, worker = await loop.create_unix_connection(
                lambda: cls(pool, spawned.process), sock=spawned.socket
            )
        except BaseException:
            spawned.close()
            raise
        worker._transport = transport
        return worker

    @property
    def is_held_up(self) -> bool:
        """Whether it has a heavy job, which is always its last."""
        return bool(self.tasks) and next(reversed(self.tasks.values())).is_heavy

    def has_room(self, job: Job) -> bool:
        """Nothing waits behind a heavy job. A large body waits until it is the only one: a body in the socket is
        in memory twice."""
        fits = len(self.tasks) < JOBS_AHEAD and self.ahead + len(job.body) <= BYTES_AHEAD
        return (fits and not self.is_held_up) or not self.tasks

    def give(self, task: _Task) -> None:
        job = task.job
        self.tasks[job.ticket] = task
        self.ahead += len(job.body)
        *head, body = codec.encode_job(job)
        if len(body) <= SMALL_BYTES:
            self._transport.write(b"".join((*head, body)))
        else:
            self._transport.write(b"".join(head))
            self._transport.write(memoryview(body))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        start = 0
        try:
            if not self._is_at_work:
                start = self._is_at_work = codec.is_ready(self._buffer)
            while size := codec.page_size(self._buffer, start):
                self._take(bytes(self._buffer[start : start + size]))
                start += size
        except ValueError as error:
            self._garbled = f"it sent a malformed result ({error})"
            self._transport.abort()
        del self._buffer[:start]

    def _take(self, record: bytes) -> None:
        ticket, processed = codec.decode_page(record)
        if ticket != next(iter(self.tasks), None):
            raise ValueError(f"ticket {ticket}")
        self.ahead -= len(self.tasks.pop(ticket).job.body)
        self.finished += 1
        self._pool.finished(ticket, processed)

    @property
    def died_at_work(self) -> bool:
        """Whether it had started and did not exit by itself between two jobs because its memory had grown."""
        return self._is_at_work and (self._process.returncode != 0 or bool(self._garbled))

    @property
    def cause(self) -> int | str:
        """The signal that ended it, or another cause as text."""
        code = self._process.returncode
        return self._garbled or (-code if code < 0 else f"exit code {code}")

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
