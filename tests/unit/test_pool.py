"""Digests in this process or in others: the same results, whatever happens to the workers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orbweb import pool
from orbweb.app.assembly import default_processes
from orbweb.digest import Digester, DigestSettings, Job, cpu_limit_s
from orbweb.errors import OrbwebError
from orbweb.model import Digest, Failed, FailKind
from orbweb.parse import MAX_LINKS
from orbweb.pool import ATTEMPTS, JOBS_AHEAD, InlinePool, Pool, ProcessPool, SharedPool, is_heavy
from orbweb.urls import DEFAULT_RULES, UrlRules

SETTINGS = DigestSettings(DEFAULT_RULES, "orbweb")
PATIENCE_S = 90.0

Results = dict[int, Digest | Failed]


def html(ticket: int) -> Job:
    links = "".join(f"<a href='/p{number}?b=2&a={number}'>x</a>" for number in range(ticket % 9))
    body = f"<!doctype html><title>Seite {ticket} \u2013 \u00fcber</title>{links}".encode()
    return Job(ticket, f"https://h/dir/{ticket}.html", "text/html; charset=utf-8", body)


ODD_PAGES = [
    Job(1, "https://h/", "text/html", b"<p>no links"),
    Job(2, "https://h/", None, b"<html><a href=x>no declared type"),
    Job(3, "https://h/", "text/html; charset=iso-8859-1", b"<title>caf\xe9</title><a href='/\xe9?q=\xe9'>x"),
    Job(4, "https://h/\u00e9/", "text/html; charset=\u00fc", "<title>\U0001f578\u2028\x00</title>".encode()),
    Job(5, "https://h/", "text/html", b"\xff\xfe<\x00a\x00>\x00"),
    Job(
        6, "https://h/a/b", "text/html", b"<base href='//o/x/'><a href=y rel=nofollow><a href='y#z'><area href=q>"
    ),
    Job(
        7, "https://h/", "text/html", b"<link rel=canonical href=/c><meta name=robots content='noindex, nofollow'>"
    ),
    Job(8, "https://h/", "text/html", b"<iframe src=/f><meta http-equiv=refresh content='0;url=/r'>"),
    Job(9, "https://h/", "text/html", b"<link rel=next href=n><link rel=alternate href=/a>"),
    Job(10, "https://h/", "text/html", b"".join(b"<a href=%x>" % number for number in range(MAX_LINKS + 1))),
    Job(11, "https://h/", "text/html", b"x" * 3_000_000),
    Job(12, "https://h/", "text/html", b"<p>", ("noarchive", "orbweb: \u00fc, noindex", "none")),
    Job(13, "https://h/", "text/html", b"<meta name=orbweb content=&#27;,nofollow>", ("googlebot: noindex",)),
    Job(14, "https://h/", "text/html", b"<a href=b rel=nofollow><img src=i><p style='x: url(j?b=1&a=2)'>"),
    Job(15, "https://h/", "text/html", b"<script src=a></script><link rel=icon href=b><video src=c><embed src=d>"),
    Job(16, "https://h/", "text/css; charset=latin1", b"@import '\xe9'; @font-face { src: url(f) } url(g)"),
    Job(17, "https://h/", "text/css", b"".join(b"url(%x)" % number for number in range(MAX_LINKS + 1))),
    Job(18, "https://h/", "image/png", b"\x89PNG\r\n\x1a\n"),
]


def inline(jobs: list[Job], settings: DigestSettings = SETTINGS) -> Results:
    digester = Digester(settings)
    return {job.ticket: digester.digest(job) for job in jobs}


@asynccontextmanager
async def workers(
    processes: int, results: Results, settings: DigestSettings = SETTINGS
) -> AsyncIterator[ProcessPool]:
    broken: list[OrbwebError] = []
    pool = await ProcessPool.start(processes, settings, results.__setitem__, broken.append)
    try:
        yield pool
    finally:
        pool.close()
    assert broken == []


async def arrived(results: Results, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(results) < count:
        assert time.monotonic() < deadline, f"{len(results)} of {count}"
        await asyncio.sleep(0.002)


def stat(pid: int) -> list[str]:
    """State, parent and what follows of a process; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def children(parent: int | None = None) -> set[int]:
    pids = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
    return {pid for pid in pids if stat(pid)[1:2] == [str(parent or os.getpid())]}


def alive(pid: int) -> bool:
    return stat(pid)[:1] not in ([], ["Z"])


def worker_begins_with(code: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are started from now on run this first."""
    (home / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(home), os.environ.get("PYTHONPATH")])))


@pytest.mark.parametrize("resources", [False, True])
def test_worker_processes_give_the_same_digests_as_this_one(resources: bool) -> None:
    settings = replace(SETTINGS, resources=resources)
    jobs = ODD_PAGES + [html(ticket) for ticket in range(100, 100 + 3 * JOBS_AHEAD)]

    async def digest() -> Results:
        results: Results = {}
        async with workers(3, results, settings) as pool:
            for job in jobs:
                pool.submit(job)
            await arrived(results, len(jobs))
        return results

    expected = inline(jobs, settings)
    assert asyncio.run(digest()) == expected
    many = expected[10]
    assert isinstance(many, Digest)
    assert (len(many.parsed.links), many.parsed.truncated) == (MAX_LINKS, True)
    found = [digest.parsed.resources for digest in expected.values() if isinstance(digest, Digest)]
    assert sum(map(len, found)) == (2 + 4 + 3 + MAX_LINKS if resources else 0)


@pytest.mark.parametrize(
    "settings",
    [
        DigestSettings(UrlRules(frozenset({"a"})), "a"),
        DigestSettings(UrlRules(keep_params=("b",)), "b"),
        DigestSettings(UrlRules(keep_params=()), "\u00fc"),
    ],
)
def test_workers_know_the_settings_of_the_project(settings: DigestSettings) -> None:
    async def digest() -> Results:
        results: Results = {}
        async with workers(1, results, settings) as pool:
            pool.submit(html(8))
            await arrived(results, 1)
        return results

    assert asyncio.run(digest()) == inline([html(8)], settings)


def test_the_jobs_of_a_killed_worker_are_done_by_the_next() -> None:
    jobs = [html(ticket) for ticket in range(2 * JOBS_AHEAD)]

    async def digest() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            (worker,) = children()
            os.kill(worker, signal.SIGSTOP)
            for job in jobs:
                pool.submit(job)
            os.kill(worker, signal.SIGKILL)
            await arrived(results, len(jobs))
        return results

    assert asyncio.run(digest()) == inline(jobs)


def test_jobs_may_be_submitted_while_no_worker_is_alive() -> None:
    jobs: list[Job] = []

    async def digest() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            (worker,) = children()
            os.kill(worker, signal.SIGKILL)
            replaced_for = 0
            while replaced_for < 10:
                replaced_for += children() != {worker}
                jobs.append(html(len(jobs)))
                pool.submit(jobs[-1])
                await asyncio.sleep(0)
            await arrived(results, len(jobs))
        return results

    assert asyncio.run(digest()) == inline(jobs)


def test_a_page_that_kills_its_worker_fails_and_the_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The workers get little memory, so a large page is the end of them."""
    worker_begins_with(
        "import resource, orbweb.digest\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "limit = pages * resource.getpagesize() + 32_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n",
        tmp_path,
        monkeypatch,
    )
    good = [html(ticket) for ticket in range(2, 20)]
    poison = Job(1, "https://h/", "text/html", b"<a href=x>" * 4_000_000)

    async def digest() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            for job in (good[0], poison, *good[1:]):
                pool.submit(job)
            await arrived(results, len(good) + 1)
        return results

    results = asyncio.run(digest())
    assert results.pop(1) == Failed(FailKind.UNPARSABLE, f"a worker died {ATTEMPTS} times on this page")
    assert results == inline(good)
    assert capfd.readouterr().err.count("MemoryError") == ATTEMPTS


def slow(ticket: int) -> Job:
    return Job(ticket, "https://h/", "text/html", b"<a href=x>" * 600_000)


def test_a_page_that_takes_too_long_ends_its_worker_and_fails_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More such pages in a row than workers may die for nothing: each is the page's fault, not the worker's."""
    worker_begins_with(
        "import orbweb.digest as digest\ndigest.CPU_S, digest.CPU_S_PER_MB = 0.05, 0.0\n", tmp_path, monkeypatch
    )
    monkeypatch.setattr(pool, "FRUITLESS", 2)
    jobs = [html(1), slow(2), slow(3), slow(4), html(5)]

    async def digest() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            for job in jobs:
                pool.submit(job)
            await arrived(results, len(jobs))
        return results

    results = asyncio.run(digest())
    for ticket in (2, 3, 4):
        limit = cpu_limit_s(6_000_000)
        error = f"needs more than {limit:g} s of processor time to be parsed"
        assert results.pop(ticket) == Failed(FailKind.UNPARSABLE, error)
    assert results == inline([html(1), html(5)])


@pytest.mark.parametrize(
    ("body", "heavy"),
    [
        (b"<p>" * 100_000, False),
        (b"<p>" * 100_001, True),
        (b"<p>ordinary text here</p>" * 100_000, False),
        (b"<a class=x href=page>a link</a>" * 15_000, False),
        (b"<a class=x href=page>a link</a>" * 15_001, True),
        (b"x" * 4_000_000, False),
        (b"x" * 4_000_001, True),
    ],
    ids=["small", "tags", "text", "links", "more links", "large", "larger"],
)
def test_what_is_heavy(body: bytes, heavy: bool) -> None:
    assert is_heavy(body) is heavy


HEAVY = [
    Job(1, "https://h/", "text/html", b"<a href=x>" * 31_000),
    Job(2, "https://h/", "text/html", b"x" * 4_000_001),
]
DECEPTIVE = Job(
    3,
    "https://h/",
    "text/html",
    b"<p>" + b"".join(b"<b id=%d>" % number for number in range(500)) + b"<p>x" * 20_000,
)
"""Small, and ten million elements."""


@pytest.mark.parametrize("processes", [0, 1])
def test_heavy_pages_are_for_a_worker_which_is_started_when_the_first_comes(processes: int) -> None:
    async def digest() -> tuple[int, int, Results]:
        results: Results = {}
        broken: list[OrbwebError] = []
        report = results.__setitem__
        workers = await ProcessPool.start(processes, SETTINGS, report, broken.append)
        both: Pool = InlinePool(SETTINGS, report, workers)
        if processes:
            both = SharedPool(InlinePool(SETTINGS, report, workers), workers, processes)
        both.submit(html(4))
        before = len(children())
        for job in (*HEAVY, DECEPTIVE, html(5)):
            both.submit(job)
        await arrived(results, 5)
        started = len(children())
        both.close()
        assert not broken
        return before, started, results

    before, started, results = asyncio.run(digest())
    assert (before, started) == (processes, 1)
    assert results == inline([*HEAVY, DECEPTIVE, html(4), html(5)])
    assert isinstance(results[3], Failed)
    assert not children()


def test_workers_that_cannot_start_are_reported_and_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    worker_begins_with("raise SystemExit('no worker today')\n", tmp_path, monkeypatch)

    async def start() -> list[OrbwebError]:
        broken: list[OrbwebError] = []
        pool = await ProcessPool.start(1, SETTINGS, {}.__setitem__, broken.append)
        deadline = time.monotonic() + PATIENCE_S
        while not broken and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        pool.close()
        return broken

    assert "--processes 0" in str(asyncio.run(start())[0])
    capfd.readouterr()


def test_a_page_that_breaks_the_parser_fails_alone() -> None:
    """A URL that is none makes the parser raise; inline and in a worker the page fails with its words."""
    job = Job(1, "not a url", "text/html", b"<p>")

    async def digest() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            pool.submit(job)
            await arrived(results, 1)
        return results

    found = asyncio.run(digest())
    assert found == inline([job])
    assert found[1] == Failed(FailKind.UNPARSABLE, "ValueError: not an http(s) URL: not a url")


def test_nothing_is_left_of_a_closed_pool() -> None:
    async def start_and_close() -> tuple[set[int], Results]:
        results: Results = {}
        async with workers(2, results) as pool:
            started = children()
            assert len(started) == 2
            pool.submit(html(1))
        await asyncio.sleep(0)
        return started, results

    started, results = asyncio.run(start_and_close())
    assert not results
    assert not any(alive(pid) for pid in started)
    assert not children()


@pytest.mark.parametrize("turns", range(6))
def test_a_pool_closed_while_it_replaces_a_worker_leaves_nothing(turns: int) -> None:
    async def kill_and_close() -> None:
        async with workers(1, {}):
            (worker,) = children()
            os.kill(worker, signal.SIGKILL)
            while children() == {worker}:
                await asyncio.sleep(0)
            for _ in range(turns):
                await asyncio.sleep(0)

    asyncio.run(kill_and_close())
    assert not children()


def test_files_in_the_working_directory_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json.py", "struct.py", "orbweb.py"):
        (tmp_path / name).write_text("raise SystemExit('taken from the working directory')")
    monkeypatch.chdir(tmp_path)

    async def digest() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            pool.submit(html(3))
            await arrived(results, 1)
        return results

    assert asyncio.run(digest()) == inline([html(3)])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_does_not_end_the_workers(number: signal.Signals) -> None:
    async def digest() -> tuple[set[int], set[int], Results]:
        results: Results = {}
        async with workers(1, results) as pool:
            pool.submit(html(1))
            await arrived(results, 1)
            before = children()
            for pid in before:
                os.kill(pid, number)
            pool.submit(html(2))
            await arrived(results, 2)
            return before, children(), results

    before, after, results = asyncio.run(digest())
    assert before == after
    assert results == inline([html(1), html(2)])


MAIN = """
import asyncio
from orbweb.digest import DigestSettings
from orbweb.pool import ProcessPool
from orbweb.urls import DEFAULT_RULES
async def main():
    pool = await ProcessPool.start(2, DigestSettings(DEFAULT_RULES, "orbweb"), print, print)
    print("started", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def test_workers_end_when_the_main_process_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", MAIN], stdout=subprocess.PIPE, text=True) as main:
        assert main.stdout is not None
        assert main.stdout.readline() == "started\n"
        pids = children(main.pid)
        assert len(pids) == 2
        main.kill()
    deadline = time.monotonic() + PATIENCE_S
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("busy_s", [0.0, 60.0], ids=["quiet", "busy"])
def test_a_pool_grows_when_it_is_busy_and_the_results_are_the_same(
    monkeypatch: pytest.MonkeyPatch, busy_s: float
) -> None:
    monkeypatch.setattr(pool, "BUSY_S", busy_s)
    jobs = [html(ticket) for ticket in range(4 * pool.BUSY_PAGES)]
    results: Results = {}

    async def go() -> bool:
        broken: list[OrbwebError] = []
        workers = ProcessPool(SETTINGS, results.__setitem__, broken.append)
        growing = SharedPool(InlinePool(SETTINGS, results.__setitem__, workers), workers, 2)
        for job in jobs:
            growing.submit(job)
            if busy_s and job.ticket == 2 * pool.BUSY_PAGES:
                await until(lambda: workers.is_ready)
        await until(lambda: len(results) == len(jobs))
        grown = workers.is_ready
        growing.close()
        assert broken == []
        return grown

    assert asyncio.run(go()) is bool(busy_s)
    assert results == inline(jobs)


KEEPING = """
import orbweb.digest

digest, kept = orbweb.digest.Digester.digest, []

def keep(self, job):
    if len(job.body) > 1_000_000:
        kept.append(bytearray(64 << 20))
    return digest(self, job)

orbweb.digest.Digester.digest = keep
"""


@pytest.mark.parametrize("gives_back", [True, False])
def test_a_worker_lives_on_if_it_gives_back_what_a_large_page_took_else_it_is_replaced_and_loses_no_job(
    gives_back: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not gives_back:
        worker_begins_with(KEEPING, tmp_path, monkeypatch)
    swelling = Job(1000, "https://h/", "text/html", b"<div>" * 600_000)
    jobs = [html(ticket) for ticket in range(20)]
    results: Results = {}

    async def go() -> tuple[list[int], list[int]]:
        async with workers(1, results) as started:
            before = [worker._process.pid for worker in started._workers]
            for job in (swelling, *jobs):
                started.submit(job)
            await until(lambda: len(results) == len(jobs) + 1)
            await until(lambda: started.is_ready)
            return before, [worker._process.pid for worker in started._workers]

    before, after = asyncio.run(go())
    assert (before == after) is gives_back
    del results[1000]
    assert results == inline(jobs)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("cores", "processes"), [(1, 0), (2, 1), (3, 2), (4, 3), (64, 4)])
def test_processes_by_default(cores: int, processes: int) -> None:
    assert default_processes(cores) == processes


@asynccontextmanager
async def shared(results: Results) -> AsyncIterator[tuple[SharedPool, ProcessPool]]:
    """A pool with one worker, which is suspended: it takes as many jobs as there is room for, and does none."""
    broken: list[OrbwebError] = []
    report = results.__setitem__
    worker = await ProcessPool.start(1, SETTINGS, report, broken.append)
    os.kill(pid_of(worker), signal.SIGSTOP)
    pool = SharedPool(InlinePool(SETTINGS, report, worker), worker, 1)
    try:
        yield pool, worker
    finally:
        pool.close()
    assert broken == []


def pid_of(started: ProcessPool) -> int:
    return started._workers[0]._process.pid


def test_the_main_process_takes_what_no_worker_has_room_for() -> None:
    jobs = [html(ticket) for ticket in range(JOBS_AHEAD + 7)]
    results: Results = {}

    async def go() -> set[int]:
        async with shared(results) as (pool, worker):
            for job in jobs:
                pool.submit(job)
            assert not results
            await arrived(results, 7)
            helped = set(results)
            os.kill(pid_of(worker), signal.SIGCONT)
            await arrived(results, len(jobs))
            return helped

    assert asyncio.run(go()) == set(range(JOBS_AHEAD, JOBS_AHEAD + 7))
    assert results == inline(jobs)


def test_the_main_process_does_not_touch_what_a_worker_has_died_on() -> None:
    jobs = [html(ticket) for ticket in range(JOBS_AHEAD)]
    results: Results = {}

    async def go() -> tuple[int, set[int]]:
        async with shared(results) as (_pool, worker):
            for job in jobs:
                worker.submit(job)
            suspended = worker._workers[0]
            worker.died(suspended)
            first, given_up = worker._waiting[0].job.ticket, given_up_by(worker)
            suspended.close()
            await arrived(results, 1)
            return first, given_up

    assert asyncio.run(go()) == (0, set(range(1, JOBS_AHEAD)))
    assert results == inline(jobs[:1])


def given_up_by(workers: ProcessPool) -> set[int]:
    return {job.ticket for job in iter(workers.give_up, None)}


def test_nothing_waits_behind_a_heavy_page_and_only_a_worker_takes_it() -> None:
    light = [html(ticket) for ticket in range(10, 13)]
    results: Results = {}

    async def go() -> tuple[list[int], set[int]]:
        async with shared(results) as (pool, worker):
            for job in (light[0], HEAVY[0], HEAVY[1]):
                pool.submit(job)
            given = list(worker._workers[0].tasks)
            for job in light[1:]:
                pool.submit(job)
            await arrived(results, 2)
            done_here = set(results)
            os.kill(pid_of(worker), signal.SIGCONT)
            await arrived(results, 5)
            return given, done_here

    assert asyncio.run(go()) == ([10, 1], {11, 12})
    assert results == inline([*light, *HEAVY])


def test_the_worker_of_a_heavy_page_leaves_ordinary_ones_alone_until_there_is_much_to_do() -> None:
    results: Results = {}

    async def go() -> set[int]:
        broken: list[OrbwebError] = []
        workers = ProcessPool(SETTINGS, results.__setitem__, broken.append)
        quiet = SharedPool(InlinePool(SETTINGS, results.__setitem__, workers), workers, 1)
        quiet.submit(HEAVY[0])
        await until(lambda: workers.is_ready)
        os.kill(pid_of(workers), signal.SIGSTOP)
        quiet.submit(html(10))
        done_here = set(results) - {HEAVY[0].ticket}
        quiet.close()
        assert broken == []
        return done_here

    assert asyncio.run(go()) == {10}


def test_a_worker_has_work_while_the_main_process_is_busy() -> None:
    """What was given to it is on its way, though the loop has had no turn since."""
    jobs = [Job(ticket, "https://h/", "text/html", b"x" * 60_000) for ticket in range(5)]

    async def go() -> int:
        async with shared({}) as (_pool, worker):
            for job in jobs:
                worker.submit(job)
            return worker._workers[0]._transport.get_write_buffer_size()

    assert asyncio.run(go()) == 0


def test_a_closed_pool_helps_no_more() -> None:
    results: Results = {}

    async def go() -> None:
        async with shared(results) as (pool, _worker):
            for ticket in range(JOBS_AHEAD + 3):
                pool.submit(html(ticket))
        await asyncio.sleep(0.05)

    asyncio.run(go())
    assert not results
