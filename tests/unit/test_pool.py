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

from orbweb.app.build import default_processes
from orbweb.engine.workers import Pool, pool
from orbweb.engine.workers.page import Job, PageProcessor, ProcessorSettings, cpu_limit_s
from orbweb.engine.workers.pool import (
    ATTEMPTS,
    FRUITLESS,
    JOBS_AHEAD,
    InlinePool,
    ProcessPool,
    Spawned,
    is_heavy,
)
from orbweb.errors import OrbwebError
from orbweb.model import Failed, FailKind, ProcessedPage
from orbweb.parsing.page import MAX_LINKS
from orbweb.urls import DEFAULT_RULES, UrlRules

SETTINGS = ProcessorSettings(DEFAULT_RULES, "orbweb")
PATIENCE_S = 90.0

Results = dict[int, ProcessedPage | Failed]


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


def inline(jobs: list[Job], settings: ProcessorSettings = SETTINGS) -> Results:
    processor = PageProcessor(settings)
    return {job.ticket: processor.process(job) for job in jobs}


@asynccontextmanager
async def workers(
    processes: int, results: Results, settings: ProcessorSettings = SETTINGS
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
    """The children of a process, but for those with which tests start commands (tests/preloaded.py)."""
    pids = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
    return {pid for pid in pids if stat(pid)[1:2] == [str(parent or os.getpid())] and not is_preloaded(pid)}


def is_preloaded(pid: int) -> bool:
    try:
        return b"preloaded.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


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

    async def processed() -> Results:
        results: Results = {}
        async with workers(3, results, settings) as pool:
            for job in jobs:
                pool.submit(job)
            await arrived(results, len(jobs))
        return results

    expected = inline(jobs, settings)
    assert asyncio.run(processed()) == expected
    many = expected[10]
    assert isinstance(many, ProcessedPage)
    assert (len(many.parsed.links), many.parsed.links_cut) == (MAX_LINKS, True)
    found = [processed.parsed.resources for processed in expected.values() if isinstance(processed, ProcessedPage)]
    assert sum(map(len, found)) == (2 + 4 + 3 + MAX_LINKS if resources else 0)


@pytest.mark.parametrize(
    "settings",
    [
        ProcessorSettings(UrlRules(frozenset({"a"})), "a"),
        ProcessorSettings(UrlRules(keep_params=("b",)), "b"),
        ProcessorSettings(UrlRules(keep_params=()), "\u00fc"),
    ],
)
def test_workers_know_the_settings_of_the_project(settings: ProcessorSettings) -> None:
    async def processed() -> Results:
        results: Results = {}
        async with workers(1, results, settings) as pool:
            pool.submit(html(8))
            await arrived(results, 1)
        return results

    assert asyncio.run(processed()) == inline([html(8)], settings)


def test_the_jobs_of_a_killed_worker_are_done_by_the_next() -> None:
    jobs = [html(ticket) for ticket in range(2 * JOBS_AHEAD)]

    async def processed() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            (worker,) = children()
            os.kill(worker, signal.SIGSTOP)
            for job in jobs:
                pool.submit(job)
            os.kill(worker, signal.SIGKILL)
            await arrived(results, len(jobs))
        return results

    assert asyncio.run(processed()) == inline(jobs)


def test_jobs_may_be_submitted_while_no_worker_is_alive() -> None:
    jobs: list[Job] = []

    async def processed() -> Results:
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

    assert asyncio.run(processed()) == inline(jobs)


def died_on(cause: str) -> Failed:
    return Failed(FailKind.UNPARSABLE, f"the worker process died {ATTEMPTS} times on this page: {cause}")


DYING = """
import ctypes, os, re, resource, signal
import orbweb.engine.workers.page

processed = orbweb.engine.workers.page.PageProcessor.process
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def die(self, job):
    found = re.search(rb"dies by (\\w+)(?: (\\S+))?", job.body)
    if found and not (found[2] and os.path.exists(found[2])):
        if found[2]:
            open(found[2], "wb").close()
        if found[1] == b"SIGSEGV":
            ctypes.string_at(0)
        os.kill(os.getpid(), getattr(signal, found[1].decode()))
    return processed(self, job)

orbweb.engine.workers.page.PageProcessor.process = die
"""
"""A parser that crashes on pages that say so; where they name a file, only if it is not there."""


def dying(ticket: int, how: str) -> Job:
    return Job(ticket, "https://h/", "text/html", f"<p>This page dies by {how} ".encode())


def digests_of(jobs: list[Job], processes: int = 1) -> Results:
    async def processed() -> Results:
        results: Results = {}
        async with workers(processes, results) as pool:
            for job in jobs:
                pool.submit(job)
            await arrived(results, len(jobs))
        return results

    return asyncio.run(processed())


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGBUS"])
def test_a_page_on_which_workers_die_fails_with_the_name_of_the_signal(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_begins_with(DYING, tmp_path, monkeypatch)
    good = [html(ticket) for ticket in range(2, 20)]
    results = digests_of([good[0], dying(1, name), *good[1:]])
    assert results.pop(1) == died_on(name)
    assert results == inline(good)


def test_a_page_whose_worker_was_killed_once_is_read_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_begins_with(DYING, tmp_path, monkeypatch)
    job = dying(1, f"SIGKILL {tmp_path / 'died'}")
    assert digests_of([job]) == inline([job])
    assert (tmp_path / "died").exists()


def test_pages_that_crash_the_parser_never_end_the_crawl_however_many_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More workers die one after the other than may die before they have begun."""
    worker_begins_with(DYING, tmp_path, monkeypatch)
    monkeypatch.setattr(pool, "FRUITLESS", 4)
    jobs = [dying(ticket, "SIGSEGV") for ticket in range(3)]
    assert FRUITLESS > pool.FRUITLESS < ATTEMPTS * len(jobs)
    assert digests_of(jobs) == dict.fromkeys(range(3), died_on("SIGSEGV"))


@pytest.mark.parametrize(
    "sent",
    ["[b'\\xff' * 500]", "[encode(ticket, processed)[0] * 2]", "encode(ticket + 90, processed)"],
    ids=["a record without end", "a greeting again", "a ticket that nobody gave"],
)
def test_what_is_not_a_result_fails_its_page_and_not_the_crawl(
    sent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parser that writes where it must not may send anything."""
    worker_begins_with(
        f"import orbweb.engine.workers.codec as wire\nencode = wire.encode_page\n"
        f"def garbled(ticket, processed):\n"
        f"    return {sent} if ticket == 1 else encode(ticket, processed)\n"
        f"wire.encode_page = garbled\n",
        tmp_path,
        monkeypatch,
    )
    results = digests_of([html(1), html(2)])
    failed = results.pop(1)
    assert isinstance(failed, Failed)
    assert f"died {ATTEMPTS} times on this page: it sent a malformed result" in failed.error
    assert results == inline([html(2)])


WAITING = """
import pathlib, re, time
import orbweb.engine.workers.page

processed = orbweb.engine.workers.page.PageProcessor.process

def wait(self, job):
    found = re.search(rb"waits for (\\S+)", job.body)
    while found and not pathlib.Path(found[1].decode()).exists():
        time.sleep(0.01)
    return processed(self, job)

orbweb.engine.workers.page.PageProcessor.process = wait
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_no_page_waits_behind_heavy_ones(processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many of them as there are workers, and more, are under way and do not end before the others have."""
    worker_begins_with(WAITING, tmp_path, monkeypatch)
    waits = b"<p>" * 150_000 + f"waits for {tmp_path / 'others'}".encode()
    heavy = [Job(ticket, "https://h/", "text/html", waits) for ticket in range(3)]
    light = [html(ticket) for ticket in range(10, 40)]
    assert all(is_heavy(job.body) for job in heavy)

    async def processed() -> Results:
        results: Results = {}
        async with workers(processes, results) as pool:
            for job in (*heavy, *light):
                pool.submit(job)
            await arrived(results, len(light))
            assert results.keys() == {job.ticket for job in light}
            (tmp_path / "others").touch()
            await arrived(results, len(light) + len(heavy))
        return results

    assert asyncio.run(processed()) == inline([*heavy, *light])


def test_a_page_that_kills_its_worker_fails_and_the_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The workers get little memory, so a large page is the end of them."""
    worker_begins_with(
        "import resource, orbweb.engine.workers.page\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "limit = pages * resource.getpagesize() + 32_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n",
        tmp_path,
        monkeypatch,
    )
    good = [html(ticket) for ticket in range(2, 20)]
    poison = Job(1, "https://h/", "text/html", b"<a href=x>" * 4_000_000)

    async def processed() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            for job in (good[0], poison, *good[1:]):
                pool.submit(job)
            await arrived(results, len(good) + 1)
        return results

    results = asyncio.run(processed())
    assert results.pop(1) == died_on("exit code 1")
    assert results == inline(good)
    assert capfd.readouterr().err.count("MemoryError") == ATTEMPTS


def slow(ticket: int) -> Job:
    return Job(ticket, "https://h/", "text/html", b"<a href=x>" * 600_000)


def test_a_page_that_takes_too_long_ends_its_worker_and_fails_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More such pages in a row than workers may die for nothing: each is the page's fault, not the worker's. The
    workers give a page of six megabytes a millisecond, and small ones all the time they need."""
    worker_begins_with(
        "import orbweb.engine.workers.page as page\npage.CPU_S, page.CPU_S_PER_MB = 20.0, -19.999 / 6\n",
        tmp_path,
        monkeypatch,
    )
    monkeypatch.setattr(pool, "FRUITLESS", 2)
    jobs = [html(1), slow(2), slow(3), slow(4), html(5)]

    async def processed() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            for job in jobs:
                pool.submit(job)
            await arrived(results, len(jobs))
        return results

    results = asyncio.run(processed())
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


@pytest.mark.parametrize("processes", [0, 2])
def test_heavy_pages_are_for_a_worker_and_others_do_not_wait_for_it(processes: int) -> None:
    async def processed() -> tuple[int, Results]:
        results: Results = {}
        broken: list[OrbwebError] = []
        report = results.__setitem__
        workers = ProcessPool(SETTINGS, report, broken.append, most=max(processes, 1), only_heavy=not processes)
        both: Pool = workers if processes else InlinePool(SETTINGS, report, workers)
        both.submit(html(4))
        before = len(workers._starting)
        for job in (*HEAVY, DECEPTIVE, html(5)):
            both.submit(job)
        await arrived(results, 5)
        started = len(children())
        both.close()
        assert not broken
        assert before == min(processes, 1)
        return started, results

    started, results = asyncio.run(processed())
    assert started == max(processes, 1)
    assert results == inline([*HEAVY, DECEPTIVE, html(4), html(5)])
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

    assert "processes=0" in str(asyncio.run(start())[0])
    capfd.readouterr()


def test_a_page_that_breaks_the_parser_fails_alone() -> None:
    """A URL that is none makes the parser raise; inline and in a worker the page fails with its words."""
    job = Job(1, "not a url", "text/html", b"<p>")

    async def processed() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            pool.submit(job)
            await arrived(results, 1)
        return results

    found = asyncio.run(processed())
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

    async def processed() -> Results:
        results: Results = {}
        async with workers(1, results) as pool:
            pool.submit(html(3))
            await arrived(results, 1)
        return results

    assert asyncio.run(processed()) == inline([html(3)])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_does_not_end_the_workers(number: signal.Signals) -> None:
    async def processed() -> tuple[set[int], set[int], Results]:
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

    before, after, results = asyncio.run(processed())
    assert before == after
    assert results == inline([html(1), html(2)])


MAIN = """
import asyncio
from orbweb.engine.workers.page import ProcessorSettings
from orbweb.engine.workers.pool import ProcessPool
from orbweb.urls import DEFAULT_RULES
async def main():
    pool = await ProcessPool.start(2, ProcessorSettings(DEFAULT_RULES, "orbweb"), print, print)
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

    async def go() -> int:
        broken: list[OrbwebError] = []
        growing = await ProcessPool.start(1, SETTINGS, results.__setitem__, broken.append, most=3)
        for job in jobs:
            growing.submit(job)
        await until(lambda: len(results) == len(jobs) and not growing._starting)
        grown = len(children())
        growing.close()
        assert broken == []
        return grown

    assert asyncio.run(go()) == (3 if busy_s else 1)
    assert results == inline(jobs)


def test_a_worker_that_was_started_early_is_taken_and_one_too_many_is_left() -> None:
    results: Results = {}

    async def go() -> tuple[set[int], int]:
        spawned = [Spawned(SETTINGS), Spawned(SETTINGS)]
        pids = children()
        started = await ProcessPool.start(1, SETTINGS, results.__setitem__, print, spawned=spawned)
        started.submit(html(1))
        await arrived(results, 1)
        assert children() == pids
        started.close()
        for left in spawned:
            left.close()
        return pids, len(spawned)

    pids, left = asyncio.run(go())
    assert (len(pids), left) == (2, 1)
    assert results == inline([html(1)])
    assert not children()


KEEPING = """
import orbweb.engine.workers.page

processed, kept = orbweb.engine.workers.page.PageProcessor.process, []

def keep(self, job):
    if len(job.body) > 1_000_000:
        kept.append(bytearray(64 << 20))
    return processed(self, job)

orbweb.engine.workers.page.PageProcessor.process = keep
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

    async def go() -> tuple[set[int], set[int]]:
        async with workers(1, results) as started:
            started.submit(swelling)
            before = await pids(started)
            for job in jobs:
                started.submit(job)
            await until(lambda: len(results) == len(jobs) + 1)
            if not gives_back:
                await until(lambda: {worker._process.pid for worker in started._workers} != before)
            return before, await pids(started)

    async def pids(started: ProcessPool) -> set[int]:
        """One reads the large page, the other is kept for those that are not."""
        await until(lambda: len(started._workers) == 2)
        return {worker._process.pid for worker in started._workers}

    before, after = asyncio.run(go())
    assert (before == after) is gives_back
    del results[1000]
    assert results == inline(jobs)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("cores", "processes"), [(1, 1), (2, 2), (4, 4), (64, 4)])
def test_processes_by_default(cores: int, processes: int) -> None:
    assert default_processes(cores) == processes


@asynccontextmanager
async def suspended(results: Results) -> AsyncIterator[ProcessPool]:
    """A pool with one worker, which is suspended: it takes as many jobs as there is room for, and does none."""
    async with workers(1, results) as started:
        os.kill(pid_of(started), signal.SIGSTOP)
        yield started


def pid_of(started: ProcessPool) -> int:
    return started._workers[0]._process.pid


def test_nothing_waits_behind_a_heavy_page() -> None:
    light = [html(ticket) for ticket in range(10, 13)]
    results: Results = {}

    async def go() -> list[int]:
        async with suspended(results) as started:
            for job in (light[0], *HEAVY, *light[1:]):
                started.submit(job)
            given = list(started._workers[0].tasks)
            os.kill(pid_of(started), signal.SIGCONT)
            await arrived(results, 5)
            return given

    assert asyncio.run(go()) == [10, 11, 12]
    assert results == inline([*light, *HEAVY])


def test_a_worker_has_work_while_the_main_process_is_busy() -> None:
    """What was given to it is on its way, though the loop has had no turn since."""
    jobs = [Job(ticket, "https://h/", "text/html", b"x" * 60_000) for ticket in range(5)]

    async def go() -> int:
        async with suspended({}) as started:
            for job in jobs:
                started.submit(job)
            return started._workers[0]._transport.get_write_buffer_size()

    assert asyncio.run(go()) == 0
