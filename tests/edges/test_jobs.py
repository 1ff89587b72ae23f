"""Jobs: their queue, their processes, holds, and what a workspace that cannot be served says."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import (
    ORBWEB,
    Cli,
    Result,
    assert_books_balance,
    make_readable,
    make_writable,
    wait_until,
    without_override,
)
from orbweb.app.directory import OpenWorkspace
from orbweb.app.jobs.process import BoundedLog
from orbweb.app.jobs.records import CRAWLS
from orbweb.store import lock
from orbweb.store.sqlite.db import load_queries
from orbweb.store.sqlite.schema import named_schema
from servers.pages import chain
from servers.site import Server, StaticSite, serve
from serving import TOKEN, RunningServer, served, site_of, start

PAGES = 60
SLOW = 2
"""Requests per second of a crawl that is to be caught at work."""


@pytest.fixture(scope="module")
def site() -> Iterator[Server]:
    with serve(StaticSite(chain(PAGES))) as found:
        yield found


@pytest.fixture(scope="module")
def server(site: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with one crawl at once, whose projects belong to one test each."""
    home = tmp_path_factory.mktemp("jobs") / "workspace"
    with served(home, "--private-host", site_of(site.url)) as found:
        yield found


@pytest.fixture
def workspace(server: RunningServer) -> Path:
    return server.workspace


def state_of(server: RunningServer, project: str) -> str:
    return str(server.get(f"/projects/{project}/state")["state"])


def job_pid(home: Path, number: int) -> int | None:
    return lock.owner_pid(home / "locks", str(number), "job")


def stopped(server: RunningServer, started: Any) -> None:
    server.post(f"/crawl/{started['crawlID']}/stop")
    assert server.ended(started["jobID"])["state"] == "completed"


# The queue.


def test_the_queue_is_seen_and_a_job_that_waits_can_be_cancelled(server: RunningServer, site: Server) -> None:
    first = server.post("/crawl", {"url": site.url, "project": "first", "rate": SLOW})
    waits = server.post("/crawl", {"url": site.url, "project": "waits", "rate": "max"})
    assert (first["state"], waits["state"]) == ("running", "queued")
    assert (waits["runID"], waits["crawlID"]) == (None, None)
    refused = server.post("/crawl", {"url": site.url, "project": "waits"}, status=409)
    assert (refused["code"], refused["jobID"]) == ("crawl_active", waits["jobID"])
    assert server.call("DELETE", f"/jobs/{waits['jobID']}")["state"] == "cancelled"
    assert server.call("DELETE", f"/jobs/{waits['jobID']}", status=409)["code"] == "nothing_to_do"
    assert server.call("DELETE", f"/jobs/{first['jobID']}", status=409)["code"] == "nothing_to_do"
    stopped(server, first)
    assert server.job(waits["jobID"])["startedAt"] is None


def test_a_job_waits_for_a_crawl_of_the_command_line_and_others_pass_it(
    server: RunningServer, workspace: Path, site: Server
) -> None:
    cli = Cli(workspace)
    first = server.post("/crawl", {"url": site.url, "project": "ahead", "rate": SLOW})
    taken = server.post("/crawl", {"url": site.url, "project": "taken", "rate": "max"})
    other = server.post("/crawl", {"url": site.url, "project": "other", "rate": "max", "budget": 3})
    assert (taken["state"], other["state"]) == ("queued", "queued")
    mine = cli.start("crawl", site.url, "--project", "taken", "--rate", SLOW)
    try:
        wait_until(lambda: state_of(server, "taken") == "in_progress")
        stopped(server, first)
        assert server.ended(other["jobID"])["state"] == "completed"
        assert server.job(taken["jobID"])["state"] == "queued"
        assert cli("stop", "taken").ok(0)
        mine.wait(60)
        assert server.ended(taken["jobID"])["state"] == "completed"
        assert state_of(server, "taken") == "completed"
    finally:
        cli.close()


def test_ten_thousand_jobs_are_found_by_their_indexes() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in named_schema("server.sql"):
            db.execute(statement)
        for name in (
            "job",
            "jobs_in",
            "waiting_jobs",
            "jobs_ahead",
            "active_jobs",
            "latest_jobs",
            "latest_jobs_of",
        ):
            query = load_queries("server.sql")[name]
            plan = db.execute(f"EXPLAIN QUERY PLAN {query.sql}", [None] * len(query.params)).fetchall()
            assert not [row[3] for row in plan if row[3].startswith("SCAN jobs")], name


def test_a_long_queue_is_read_without_what_the_jobs_ask_for(cli: Cli) -> None:
    with closing(OpenWorkspace(cli.workspace, create=True)) as opened, closing(opened.server_store()) as store:
        for number in range(300):
            store.add_job("crawl", number, json.dumps({"urls": ["http://site/"] * 1_000}), 0)
        assert [job.id for job in store.waiting_jobs()] == list(range(1, 301))
        assert store.jobs_ahead(300, CRAWLS) == 299
        assert [job.id for job in store.active_jobs(7)] == [8]
        last = store.job(300)
        assert last is not None
        attempt = store.start_job(last, 1)
        assert attempt is not None
        store.interrupt_job(300)
        assert store.waiting_jobs()[0].id == 300


# Kinds of jobs.


def test_a_batch_visits_its_urls_and_no_others(server: RunningServer, site: Server) -> None:
    pages = [path for path in chain(PAGES) if path != "/"]
    urls = [f"{site.url.rstrip('/')}{path}" for path in (*pages[3:5], "/nowhere")]
    begun = server.post("/batch", {"urls": urls, "project": "list", "rate": "max"})
    done = server.ended(begun["jobID"])
    assert (done["kind"], done["state"]) == ("batch", "completed")
    assert (done["result"]["visited"], done["result"]["failed"], done["result"]["queued"]) == (2, 1, 0)
    assert server.post("/batch", {"urls": []}, status=422)["code"] == "invalid_request"
    assert server.post("/batch", {"urls": urls, "maxDepth": 3}, status=422)["code"] == "invalid_request"


def test_an_extraction_is_a_job_that_waits_for_its_project(server: RunningServer, site: Server) -> None:
    server.crawl(site.url, project="again", budget=5)
    begun = server.post("/resume-crawl/again", {"rate": SLOW})
    made = server.call("POST", "/projects/again/extract", {"everything": True}, status=202)
    assert (made["kind"], made["state"]) == ("extract", "queued")
    wait_until(lambda: server.get("/queue/again")["visited"] > 6)
    assert server.job(made["id"])["state"] == "queued"
    stopped(server, begun)
    done = server.ended(made["id"])
    assert done["state"] == "completed"
    assert done["done"] == done["total"] == done["result"]["extracted"] > 5
    assert server.call("POST", "/projects/again/extract", status=202)["request"]["everything"] is False
    assert server.call("POST", "/projects/again/extract", {"run": 9}, status=409)["code"] == "nothing_to_do"


# Processes.


def test_a_process_that_the_kernel_kills_is_replaced_and_the_server_goes_on(
    server: RunningServer, workspace: Path, site: Server
) -> None:
    """As it kills one that takes all memory."""
    begun = server.post("/crawl", {"url": site.url, "project": "large", "rate": 10, "processes": 0})
    pid = job_pid(workspace, begun["jobID"])
    assert pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: job_pid(workspace, begun["jobID"]) not in (pid, None))
    assert server.get("/health") == {"status": "ok"}
    done = server.ended(begun["jobID"])
    assert (done["state"], done["runID"]) == ("completed", begun["runID"])
    assert len(server.get(f"/run/{begun['runID']}")["crawls"]) == 2
    assert orbweb.open(workspace).status("large").visited == PAGES + 1


def test_a_process_that_dies_at_once_is_given_up(server: RunningServer, workspace: Path, site: Server) -> None:
    begun = server.post("/crawl", {"url": site.url, "project": "dying", "rate": 0.05})
    killed = set[int]()
    while server.job(begun["jobID"])["state"] == "running":
        pid = job_pid(workspace, begun["jobID"])
        if pid and pid not in killed:
            killed.add(pid)
            os.killpg(pid, signal.SIGKILL)
    done = server.job(begun["jobID"])
    assert (done["state"], len(killed)) == ("failed", 5)
    assert f"logs/jobs/{begun['jobID']}.log" in done["error"]
    assert state_of(server, "dying") == "paused"


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_a_crawl_on_hold_is_on_hold_after_a_restart(cli: Cli, site: Server, end: str) -> None:
    options = ("--private-host", site_of(site.url))
    server = start(cli.workspace, *options)
    begun = server.post("/crawl", {"url": site.url, "project": "held", "rate": SLOW})
    cli("pause", "held").ok(0)
    wait_until(lambda: state_of(server, "held") == "on_hold")
    if end == "SIGTERM":
        assert server.terminate() == 0
    else:
        pid = job_pid(cli.workspace, begun["jobID"])
        assert pid
        server.kill()
        os.killpg(pid, signal.SIGKILL)
    requests = len(site.log)
    with served(cli.workspace, *options) as again:
        wait_until(lambda: state_of(again, "held") == "on_hold")
        assert len(site.log) == requests
        cli("unpause", "held").ok(0)
        wait_until(lambda: len(site.log) > requests)
        crawl = again.get(f"/run/{begun['runID']}")["crawls"][-1]["id"]
        stopped(again, {**begun, "crawlID": crawl})


def test_a_signal_for_server_and_crawl_is_no_stop(cli: Cli, site: Server) -> None:
    """As systemd ends a service: the crawl may end before the server knows that it ends."""
    options = ("--private-host", site_of(site.url))
    server = start(cli.workspace, *options)
    begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": SLOW})
    pid = job_pid(cli.workspace, begun["jobID"])
    assert pid
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: job_pid(cli.workspace, begun["jobID"]) != pid)
    assert server.terminate() == 0
    with closing(sqlite3.connect(cli.workspace / "server.db")) as db:
        assert db.execute("SELECT state FROM jobs").fetchall() == [("interrupted",)]
    with served(cli.workspace, *options) as again:
        wait_until(lambda: state_of(again, "site") == "in_progress")


def test_a_signal_in_the_first_moment_ends_the_server(cli: Cli) -> None:
    words = [*ORBWEB, "serve", "--port", "0", "--workspace", str(cli.workspace)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "ORBWEB_TOKEN": TOKEN})
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline().startswith("serving ")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_the_log_of_a_job_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    log = BoundedLog(100)
    for number in range(1_000):
        log.note(f"note {number}")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "note 0"
    assert lines[-1] == "further notes are left out"
    assert len(lines) < 20


# Workspaces.


def serve_once(home: Path, **how: Any) -> Result:
    done = subprocess.run(
        [*ORBWEB, "serve", "--port", "0", "--workspace", str(home)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "ORBWEB_TOKEN": TOKEN},
        **how,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def test_a_workspace_has_one_server(server: RunningServer, workspace: Path) -> None:
    refused = serve_once(workspace)
    assert refused.code == 5
    assert refused.err.startswith(f"orbweb: process {server.process.pid} serves {workspace} already")
    assert server.get("/health") == {"status": "ok"}


def test_a_workspace_that_may_not_be_written_is_not_served(cli: Cli) -> None:
    orbweb.Workspace(cli.workspace).prepare()
    make_readable(cli.workspace)
    try:
        refused = serve_once(cli.workspace, preexec_fn=without_override)
    finally:
        make_writable(cli.workspace)
    assert refused.code == 1
    assert "Permission denied" in refused.err
    assert "Traceback" not in refused.err


def test_a_full_disk_is_said_and_the_server_ends_as_it_should(small_disk: Path, site: Server) -> None:
    home, ballast = small_disk / "workspace", small_disk / "ballast"
    server = start(home, "--private-host", site_of(site.url), env={"ORBWEB_STORE__RESERVE_MB": "0"})
    begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": SLOW})
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))

    urls = [f"{site.url}{'x' * 200}{number}" for number in range(3_000)]
    for number in range(100):
        found = server.send("POST", "/api/v1/batch", {"urls": urls, "project": f"list-{number}"})
        if found.status_code != 200:
            break
    assert (found.status_code, found.json()["code"]) == (507, "disk_full")
    assert server.get("/health") == {"status": "ok"}
    pid = job_pid(home, begun["jobID"])
    assert server.terminate() == 0
    assert pid is None or not Path(f"/proc/{pid}").exists()
    ballast.unlink()
    with served(home, "--private-host", site_of(site.url)) as again:
        assert again.ended(begun["jobID"])["runID"] == begun["runID"]
        assert_books_balance(home / "orbweb.db")


def test_a_deleted_project_leaves_no_jobs(cli: Cli, site: Server) -> None:
    with served(cli.workspace, "--private-host", site_of(site.url)) as server:
        server.crawl(site.url, project="old", budget=3)
        export = server.call("POST", "/projects/old/exports", {"to": "csv"}, status=202)
        assert server.ended(export["id"])["state"] == "completed"
        cli("delete", "old", "--yes").ok(0)
        assert server.get("/jobs")["items"] == []
        assert list((cli.workspace / "exports").iterdir()) == []
        assert list((cli.workspace / "logs" / "jobs").iterdir()) == []
        wait_until(lambda: not any(store_events(cli.workspace)))
        server.crawl(site.url, project="new", budget=2)
        assert [job["state"] for job in server.get("/jobs", params={"project": "new"})["items"]] == ["completed"]


def store_events(home: Path) -> list[Any]:
    with closing(sqlite3.connect(home / "server.db")) as db:
        return db.execute("SELECT seq FROM events").fetchall()
