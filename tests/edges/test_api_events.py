"""The event stream: pace, resume, its end, and clients that read slowly or not at all."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi import Request

import orbweb
from harness import Cli, wait_until
from orbweb.app import Workspace
from orbweb.app.directory import OpenWorkspace
from orbweb.app.jobs import follower
from orbweb.app.jobs.follower import CrawlFollower, EventLog
from orbweb.app.jobs.service import JobService, JobSettings
from orbweb.events import OpenRequest, Snapshot
from orbweb.server import events
from orbweb.server.credentials import Credentials
from orbweb.server.security import allowed_hosts
from orbweb.server.services import Services
from orbweb.store.server_rows import ServerStore
from orbweb.store.sqlite import server_store
from servers.pages import chain
from servers.site import StaticSite, serve
from serving import TOKEN, RunningServer, served, site_of

SLOW = 50
PAGES = 300


def rss(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def open_stream(server: RunningServer, token: str | None = None, query: str = "") -> socket.socket:
    """A client that asks for events and does not read them."""
    host, port = site_of(server.url).split(":")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.settimeout(60)
    client.connect((host, int(port)))
    bearer = f"Authorization: Bearer {token or server.token}"
    client.sendall(f"GET /api/v1/events{query} HTTP/1.1\r\nHost: {host}:{port}\r\n{bearer}\r\n\r\n".encode())
    return client


def read_until(client: socket.socket, part: bytes) -> None:
    seen = b""
    while part not in seen:
        more = client.recv(4096)
        assert more, seen
        seen += more


def read_to_end(client: socket.socket) -> bytes:
    """What comes until the server closes the connection, or the stream ends as it should."""
    seen = b""
    while not seen.endswith(b"0\r\n\r\n"):
        more = client.recv(4096)
        assert more, "the stream was cut off"
        seen += more
    return seen


@pytest.mark.alone
def test_slow_clients_and_one_that_never_reads_cost_little(cli: Cli) -> None:
    with serve(StaticSite(chain(PAGES))) as site:
        orbweb.open(cli.workspace.parent / "reference").crawl(site.url, project="site", rate="max")
        wanted, requests = orbweb.open(cli.workspace.parent / "reference").manifest_hash("site"), len(site.log)
        site.reset()
        with served(cli.workspace, "--private-host", site_of(site.url)) as server:
            server.get("/projects")
            before = rss(server.process.pid)
            clients = [open_stream(server) for _ in range(SLOW + 1)]
            begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": 40})
            stop = threading.Event()

            def read_slowly() -> None:
                while not stop.wait(1):
                    for client in clients[1:]:
                        client.recv(1)

            reader = threading.Thread(target=read_slowly, daemon=True)
            reader.start()
            quick = [state for _, state in itertools.islice(server.events(project="site"), 8)]
            assert [state["pagesProcessed"] for state in quick] == sorted(
                state["pagesProcessed"] for state in quick
            )
            assert server.ended(begun["jobID"])["state"] == "completed"
            assert server.get("/health") == {"status": "ok"}
            assert rss(server.process.pid) - before < 25_000_000
            stop.set()
            reader.join()
            for client in clients:
                client.close()
        assert len(site.log) == requests
    assert orbweb.open(cli.workspace).manifest_hash("site") == wanted


def test_events_are_at_most_four_a_second_and_continue_where_a_client_left(cli: Cli) -> None:
    with (
        serve(StaticSite(chain(150))) as site,
        served(cli.workspace, "--private-host", site_of(site.url)) as server,
    ):
        server.post("/crawl", {"url": site.url, "project": "site", "rate": 60})
        began, seen = time.monotonic(), []
        for number, state in server.events(project="site"):
            seen.append((number, state))
            if state["state"] == "completed":
                break
        lasted = time.monotonic() - began
        assert len(seen) <= 4 * lasted + 8
        middle = seen[len(seen) // 2][0]
        rest = []
        for number, state in server.events(after=middle, project="site"):
            rest.append((number, state))
            if state["state"] == "completed":
                break
        assert rest == [each for each in seen if each[0] > middle]
        assert server.get("/events", params={"project": "nothing"}, status=404)["code"] == "unknown_project"


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server whose crawls have ended."""
    home = tmp_path_factory.mktemp("events") / "workspace"
    with serve(StaticSite(chain(3))) as site, served(home, "--private-host", site_of(site.url)) as server:
        server.crawl(site.url, project="site")
        server.crawl(site.url, project="gone")
        last = [state for _, state in itertools.islice(server.events(), 2)]
        assert [state["state"] for state in last] == ["completed", "completed"]
        yield server


@pytest.mark.parametrize("number", ["999999999", "9" * 40, "\u00b2", "-1", "none", ""])
def test_a_client_with_a_number_that_is_not_ours_gets_the_present_state(
    at_rest: RunningServer, number: str
) -> None:
    headers = {"authorization": f"Bearer {at_rest.token}", "last-event-id": number.encode("latin-1")}
    with at_rest.http.stream("GET", "/api/v1/events?project=site", headers=headers) as stream:
        assert stream.status_code == 200
        lines = list(itertools.islice(stream.iter_lines(), 7))
    assert lines[0] == "retry: 2000"
    assert lines[2] == "event: progress"
    assert '"state":"completed"' in lines[3]
    assert lines[5].startswith("id: ")
    assert int(lines[5].removeprefix("id: ")) > 0


def test_a_stream_ends_with_its_token(at_rest: RunningServer) -> None:
    made = at_rest.post("/tokens", {"name": "guest", "scope": "read"}, status=201)
    with closing(open_stream(at_rest, made["token"])) as stream:
        read_until(stream, b"progress")
        at_rest.call("DELETE", f"/tokens/{made['id']}", status=204)
        read_to_end(stream)


def test_a_stream_ends_with_its_project(at_rest: RunningServer) -> None:
    with closing(open_stream(at_rest, query="?project=gone")) as stream:
        read_until(stream, b"progress")
        at_rest.call("DELETE", "/projects/gone")
        read_to_end(stream)
        states = [state["project"] for _, state in itertools.islice(at_rest.events(), 1)]
        assert states == ["site"]


def test_a_stream_ends_with_the_server(cli: Cli) -> None:
    with served(cli.workspace) as server, closing(open_stream(server)) as stream:
        read_until(stream, b"retry: ")
        assert server.terminate() == 0
        read_to_end(stream)


@pytest.fixture
def store(cli: Cli) -> Iterator[ServerStore]:
    with closing(OpenWorkspace(cli.workspace, create=True)) as workspace:
        found = workspace.server_store()
    yield found
    found.close()


def test_what_is_no_longer_in_memory_is_read_from_the_store(store: ServerStore) -> None:
    log = EventLog(store)
    for number in range(2_500):
        log.add(number % 2, str(number))
    assert log.recent(0, 10, None) is None
    assert [row.data for row in log.after(0, 3, None)] == ["0", "1", "2"]
    assert [row.data for row in log.after(0, 2, 1)] == ["1", "3"]
    assert [row.seq for row in log.after(log.last - 1, 5, None)] == [log.last]
    assert log.has_all_after(0)
    assert log.has_all_after(log.last)
    assert not log.has_all_after(log.last + 1)
    assert EventLog(store).last == log.last


def test_old_events_are_forgotten_and_no_number_is_used_twice(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_store, "EVENTS_KEPT", 100)
    monkeypatch.setattr(follower, "IN_MEMORY", 20)
    log = EventLog(store)
    for number in range(1_000):
        log.add(number % 2, str(number))
    assert 900 <= store.first_event() <= 901
    assert not log.has_all_after(500)
    assert log.has_all_after(950)
    store.forget_project(0)
    store.forget_project(1)
    log.forget(1)
    assert {row.project_id for row in log.after(980, 50, None)} == {0}
    assert EventLog(store).last == 1_000
    assert not EventLog(store).has_all_after(950)


def test_crawls_that_no_look_has_seen_are_events_too(cli: Cli, store: ServerStore) -> None:
    space, now = orbweb.open(cli.workspace), itertools.count(0, 2)
    with serve(StaticSite(chain(5))) as site:
        space.crawl(site.url, project="before", rate="max")
        log = EventLog(store)
        watching = CrawlFollower(cli.workspace, store, log, lambda: next(now))
        with closing(OpenWorkspace(cli.workspace)) as workspace:
            watching.look(workspace)
            assert log.last == 0
            space.crawl(site.url, project="quick", rate="max", budget=2)
            watching.look(workspace)
            assert said(log)[-1] == ("quick", "paused", 2)
            space.finish("quick")
            watching.look(workspace)
            assert said(log)[-1] == ("quick", "completed", 2)
            watching.look(workspace)
            assert len(said(log)) == 2
        again = CrawlFollower(cli.workspace, store, log, lambda: next(now))
        space.recrawl("before", rate="max")
        again.start()
        wait_until(lambda: len(said(log)) == 3)
        again.close()
        assert said(log)[-1] == ("before", "completed", 6)


def said(log: EventLog) -> list[tuple[str, str, int]]:
    states: list[dict[str, Any]] = [json.loads(row.data) for row in log.after(0, 99, None)]
    return [(each["project"], each["state"], each["pagesProcessed"]) for each in states]


def test_a_look_where_nothing_happens_asks_the_database_one_question(cli: Cli, store: ServerStore) -> None:
    with serve(StaticSite(chain(3))) as site:
        orbweb.open(cli.workspace).crawl(site.url, project="site", rate="max")
    watching = CrawlFollower(cli.workspace, store, EventLog(store), itertools.count().__next__)
    with closing(OpenWorkspace(cli.workspace)) as workspace:
        watching.look(workspace)
        asked: list[str] = []
        workspace.db._connection.set_trace_callback(asked.append)
        for _ in range(5):
            watching.look(workspace)
    assert asked == ["PRAGMA data_version"] * 5


def snapshot(requests: tuple[OpenRequest, ...]) -> Snapshot:
    return Snapshot(0, 0, 0, 0, 0, 0, len(requests), 0.0, None, held=False, stopping=False, in_progress=requests)


def test_the_urls_of_an_event_are_few() -> None:
    short = tuple(OpenRequest(f"http://site/{number}", 0.0) for number in range(1_000))
    assert len(follower._urls(snapshot(short))) == follower.URLS_SHOWN
    long = tuple(OpenRequest(f"http://site/{'x' * 3_000}{number}", 0.0) for number in range(1_000))
    assert len(follower._urls(snapshot(long))) == 1


def test_a_quiet_stream_shows_that_it_is_alive(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "BEAT_S", 0.3)
    monkeypatch.setattr(events, "TICK_S", 0.1)
    Workspace(cli.workspace).prepare()
    jobs = JobService(JobSettings(cli.workspace, {}))
    try:
        credentials = Credentials(TOKEN, jobs.permission_of, cookie="login")
        parts = Services(Workspace(cli.workspace), jobs, credentials, allowed_hosts("127.0.0.1", ()))
        life = events.StreamLife(Request(scope()), parts, None)

        async def read() -> list[str]:
            stream = events._events(parts, life, None, None)
            return [await anext(stream) for _ in range(4)]

        assert asyncio.run(read()) == ["retry: 2000\n\n", "id: 0\n\n", *[": still here\n\n"] * 2]
    finally:
        jobs.close()


def scope() -> dict[str, Any]:
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {TOKEN}".encode())]
    return {"type": "http", "method": "GET", "path": "/api/v1/events", "scheme": "http", "headers": headers}
