"""kill -9 of the server, of its crawls and of both: ids stay, nothing is lost or doubled, events continue."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import assert_books_balance, wait_until
from orbweb.store import lock
from servers.graph import GraphSite
from servers.pages import chain
from servers.site import Answer, Ending, Request, Site, StaticSite, serve
from serving import RunningServer, served, site_of, start

PAGES = 120
RATE = 60
ANSWERS = 8
"""How many pages a crawl gets between two kills."""
VICTIMS = ("server", "crawl", "both")


class Paced:
    """A site that takes its time, and almost stops after so many answers, until it is told not to."""

    def __init__(self, site: Site) -> None:
        self._site, self._count = site, 0
        self.quick: int | None = 0

    def answer(self, request: Request) -> Answer:
        self._count += 1
        delay_s = 0.0 if self.quick is None else 0.1 if self._count <= self.quick else 10.0
        return replace(self._site.answer(request), delay_s=delay_s)

    def go_on(self, answers: int) -> None:
        self.quick = self._count + answers


class Client:
    """A client of the event stream that comes back whenever it was cut off, with the number it has."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.seen: list[tuple[int, dict[str, Any]]] = []
        self.last: int | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._is_over.wait(0.05):
            with suppress(OSError, http.client.HTTPException):
                self._read()

    def _read(self) -> None:
        host, token = site_of(self.server.url), self.server.token
        with closing(http.client.HTTPConnection(host, timeout=5)) as wire:
            known = {} if self.last is None else {"last-event-id": str(self.last)}
            wire.request("GET", "/api/v1/events", headers={"authorization": f"Bearer {token}", **known})
            fields: dict[str, str] = {}
            for line in wire.getresponse():
                if self._is_over.is_set():
                    return
                name, _, value = line.decode().strip().partition(": ")
                if name:
                    fields[name] = value
                    continue
                if "id" in fields:
                    self.last = int(fields["id"])
                if "id" in fields and "data" in fields:
                    self.seen.append((self.last, json.loads(fields["data"])))
                fields = {}

    def close(self) -> None:
        self._is_over.set()
        self._thread.join(20)
        assert not self._thread.is_alive()


def pid_of(workspace: Path, project: str = "site") -> int | None:
    return orbweb.open(workspace).status(project).pid


def job_pid(workspace: Path, job: int) -> int | None:
    """The process of a job, from its first moment on."""
    return lock.owner_pid(workspace / "locks", str(job), "job")


def kill_crawl(workspace: Path, job: int = 1) -> bool:
    """kill -9 of a job's process and of its workers; whether there was one."""
    pid = job_pid(workspace, job)
    if pid:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid))
    return bool(pid)


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


def stored_events(workspace: Path) -> list[int]:
    with closing(sqlite3.connect(workspace / "server.db")) as db:
        return [seq for (seq,) in db.execute("SELECT seq FROM events ORDER BY seq")]


def cut_down(workspace: Path, site: Site, kills: int, rng: random.Random) -> None:
    """A crawl whose server, process or both are killed again and again ends with the same ids and the manifest of
    one that was not, and a client of its events has seen each of them once."""
    slow = Paced(site)
    with serve(slow) as running:
        options = ("--private-host", site_of(running.url))
        server = start(workspace, *options)
        client = Client(server)
        try:
            begun = server.post("/crawl", {"url": running.url, "project": "site", "rate": "max", "workers": 2})
            for number in range(kills):
                slow.go_on(ANSWERS)
                wait_until(lambda: job_pid(workspace, begun["jobID"]))
                time.sleep(rng.uniform(0, 1.5))
                victim = VICTIMS[number % 3] if number < 3 else rng.choice(VICTIMS)
                if victim != "crawl":
                    server.kill()
                if victim != "server":
                    kill_crawl(workspace)
                if victim != "crawl":
                    server = client.server = start(workspace, *options)
            slow.quick = None
            done = server.ended(begun["jobID"])
            assert (done["state"], done["runID"], done["crawlID"]) == (
                "completed",
                begun["runID"],
                begun["crawlID"],
            )
            assert len(server.get("/jobs")["items"]) == 1
            state = server.get("/projects/site/state")
            wait_until(lambda: client.seen[-1][1]["state"] == state["state"] == "completed")
            assert client.seen[-1][1]["jobID"] == begun["jobID"]
        finally:
            client.close()
            server.terminate()
        numbers = [number for number, _ in client.seen]
        assert numbers == [each for each in stored_events(workspace) if each >= numbers[0]]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        settled = [each["pagesProcessed"] + each["pagesFailed"] for _, each in client.seen]
        assert settled[-1] == max(settled)
        assert_books_balance(workspace / "orbweb.db")
        assert orbweb.open(workspace).manifest_hash("site") == expected(workspace.parent, running.url)


def test_a_crawl_that_is_killed_at_random_keeps_its_ids_and_loses_nothing(tmp_path: Path) -> None:
    cut_down(tmp_path / "workspace", GraphSite(9, PAGES), 8, random.Random(20))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_thirty_kills_at_random(tmp_path: Path, seed: int) -> None:
    cut_down(tmp_path / "workspace", GraphSite(seed, 3 * PAGES), 10, random.Random(seed))


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
