"""kill -9 of the server, of its crawls and of both: ids stay, nothing is lost or doubled, events continue."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import assert_books_balance, wait_until
from servers.graph import GraphSite
from servers.pages import chain
from servers.site import Answer, Ending, StaticSite, serve
from serving import RunningServer, served, site_of, start

PAGES = 120
RATE = 60


def pid_of(workspace: Path, project: str = "site") -> int | None:
    return orbweb.open(workspace).status(project).pid


def kill_crawl(workspace: Path) -> None:
    """kill -9 of the crawl's process and of its workers."""
    pid = pid_of(workspace)
    if pid:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def session(pid: int) -> list[int]:
    """The processes of the session that a process leads."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == pid and fields[0] != "Z":
                found.append(int(path.parent.name))
    return found


def expected(tmp_path: Path, url: str, **options: Any) -> str:
    space = orbweb.open(tmp_path / "reference")
    space.crawl(url, project="site", rate="max", **options)
    return space.manifest_hash("site")


def visits(server: RunningServer) -> int:
    run = server.get("/queue/site")["currentRunID"]
    return int(server.get(f"/run/{run}")["totalPagesCrawled"]) if run else 0


def reaches(server: RunningServer, number: int) -> Callable[[], bool]:
    return lambda: visits(server) >= number


@pytest.mark.parametrize("killed", ["server", "crawl", "both"])
def test_a_killed_crawl_keeps_its_ids_and_loses_nothing(tmp_path: Path, killed: str) -> None:
    workspace = tmp_path / "workspace"
    with serve(GraphSite(9, PAGES)) as site:
        wanted = expected(tmp_path, site.url)
        options = ("--private-host", site_of(site.url))
        server = start(workspace, *options)
        begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": RATE})
        seen: list[int] = []
        for number in (10, 30, 50):
            wait_until(reaches(server, number))
            seen.append(next(server.events(project="site"))[0])
            if killed != "crawl":
                server.kill()
            if killed != "server":
                kill_crawl(workspace)
            if killed != "crawl":
                server = start(workspace, *options)
        try:
            done = server.ended(begun["jobID"])
            assert (done["state"], done["runID"], done["crawlID"]) == (
                "completed",
                begun["runID"],
                begun["crawlID"],
            )
            assert len(server.get("/jobs")["items"]) == 1
            crawls = server.get(f"/run/{begun['runID']}")["crawls"]
            assert len(crawls) == (1 if killed == "server" else 4)
            assert seen == sorted(seen)
            missed = []
            for number, state in server.events(after=seen[0], project="site"):
                missed.append(number)
                if state["state"] == "completed":
                    break
            assert missed == sorted(set(missed))
            assert missed[0] > seen[0]
            assert max(seen) <= missed[-1]
        finally:
            server.terminate()
    assert_books_balance(workspace / "orbweb.db")
    assert orbweb.open(workspace).manifest_hash("site") == wanted


def test_a_budget_is_exact_over_a_kill(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    with serve(GraphSite(9, PAGES)) as site:
        wanted = expected(tmp_path, site.url, budget=40)
        with served(workspace, "--private-host", site_of(site.url)) as server:
            begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": RATE, "budget": 40})
            wait_until(reaches(server, 15))
            kill_crawl(workspace)
            assert server.ended(begun["jobID"])["state"] == "completed"
            assert visits(server) == 40
            assert server.get("/queue/site")["canResume"]
    assert orbweb.open(workspace).manifest_hash("site") == wanted


def test_without_autoresume_a_killed_crawl_is_paused(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    with serve(StaticSite(chain(300))) as site:
        options = ("--private-host", site_of(site.url))
        server = start(workspace, *options)
        begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": RATE})
        wait_until(reaches(server, 5))
        server.kill()
        kill_crawl(workspace)
        with served(workspace, *options, "--no-autoresume") as server:
            assert server.ended(begun["jobID"])["state"] == "paused"
            assert pid_of(workspace) is None
            again = server.post("/resume-crawl/site")
            assert again["runID"] == begun["runID"]


def test_sigterm_stops_crawls_at_once_and_they_are_resumed_at_the_next_start(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    with serve(GraphSite(9, PAGES)) as site:
        wanted = expected(tmp_path, site.url)
        options = ("--private-host", site_of(site.url))
        server = start(workspace, *options)
        begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": RATE})
        waits = server.post("/crawl", {"url": site.url, "project": "next", "rate": "max", "budget": 3})
        wait_until(reaches(server, 20))
        pid = pid_of(workspace)
        assert pid
        assert server.terminate() == 0
        assert session(pid) == []
        assert pid_of(workspace) is None
        last = orbweb.open(workspace).runs("site")[-1].crawls[-1]
        assert last.ended_by == "cancelled"
        with served(workspace, *options) as server:
            done = server.ended(begun["jobID"])
            assert (done["state"], done["runID"]) == ("completed", begun["runID"])
            assert server.ended(waits["jobID"])["state"] == "completed"
    assert orbweb.open(workspace).manifest_hash("site") == wanted


def test_a_crawl_that_hangs_is_gone_five_seconds_after_sigterm(tmp_path: Path) -> None:
    """A request that never ends does not keep the server."""
    workspace = tmp_path / "workspace"
    pages = {**chain(3), "/": Answer(200, (("content-type", "text/html"),), b"x" * 2000, ending=Ending.STALL)}
    with serve(StaticSite(pages)) as site:
        server = start(workspace, "--private-host", site_of(site.url))
        server.post("/crawl", {"url": site.url, "project": "site", "rate": "max"})
        pid = pid_of(workspace)
        assert pid
        before = time.monotonic()
        assert server.terminate() == 0
        assert time.monotonic() - before < 30
        assert session(pid) == []


@pytest.mark.long
def test_thirty_kills_at_random(tmp_path: Path) -> None:
    workspace, rng = tmp_path / "workspace", random.Random(20)
    with serve(GraphSite(9, 600)) as site:
        wanted = expected(tmp_path, site.url)
        options = ("--private-host", site_of(site.url))
        server = start(workspace, *options)
        begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": 20})
        for _ in range(30):
            time.sleep(rng.uniform(0, 1.5))
            victim = rng.choice(("server", "crawl", "both"))
            if victim != "crawl":
                server.kill()
            if victim != "server":
                kill_crawl(workspace)
            if victim != "crawl":
                server = start(workspace, *options)
        try:
            done = server.ended(begun["jobID"])
            assert (done["state"], done["runID"]) == ("completed", begun["runID"])
        finally:
            server.terminate()
    assert_books_balance(workspace / "orbweb.db")
    assert orbweb.open(workspace).manifest_hash("site") == wanted
