"""The event stream: pace, resume, and clients that read slowly or not at all."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Cli, wait_until
from orbweb.app.jobs.follower import EventLog
from servers.pages import chain
from servers.site import StaticSite, serve
from serving import RunningServer, served, site_of

SLOW = 50


def rss(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def open_stream(server: RunningServer) -> socket.socket:
    """A client that asks for events and does not read them."""
    host, port = site_of(server.url).split(":")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect((host, int(port)))
    head = f"GET /api/v1/events HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    client.sendall(head.encode())
    return client


@pytest.fixture
def streams() -> Iterator[list[socket.socket]]:
    found: list[socket.socket] = []
    yield found
    for client in found:
        client.close()


def test_slow_clients_and_one_that_never_reads_cost_little(cli: Cli, streams: list[socket.socket]) -> None:
    with (
        serve(StaticSite(chain(400))) as site,
        served(cli.workspace, "--private-host", site_of(site.url)) as server,
    ):
        begun = server.post("/crawl", {"url": site.url, "project": "site", "rate": 80})
        before = rss(server.process.pid)
        streams += [open_stream(server) for _ in range(SLOW + 1)]
        stop = threading.Event()

        def read_slowly() -> None:
            while not stop.wait(0.2):
                for client in streams[1:]:
                    client.recv(16)

        reader = threading.Thread(target=read_slowly, daemon=True)
        reader.start()
        done = server.ended(begun["jobID"])
        assert done["state"] == "completed"
        assert server.get("/health") == {"status": "ok"}
        assert rss(server.process.pid) - before < 60_000_000
        stop.set()
        reader.join()


def test_events_are_at_most_four_a_second_and_continue_where_a_client_left(cli: Cli) -> None:
    with (
        serve(StaticSite(chain(250))) as site,
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


def test_what_is_no_longer_in_memory_is_read_from_the_store(cli: Cli) -> None:
    from orbweb.app.directory import OpenWorkspace

    workspace = OpenWorkspace(cli.workspace, create=True)
    store = workspace.server_store()
    try:
        log = EventLog(store)
        for number in range(2_500):
            log.add(number % 2, str(number))
        assert log.recent(0, 10, None) is None
        assert [row.data for row in log.after(0, 3, None)] == ["0", "1", "2"]
        assert [row.data for row in log.after(0, 2, 1)] == ["1", "3"]
        assert [row.seq for row in log.after(log.last - 1, 5, None)] == [log.last]
        assert EventLog(store).last == log.last
    finally:
        store.close()
        workspace.close()


def test_a_stream_ends_with_the_server(cli: Cli) -> None:
    with served(cli.workspace) as server:
        stream = open_stream(server)
        try:
            wait_until(lambda: b"orbweb" in stream.recv(4096))
            assert server.terminate() == 0
        finally:
            stream.close()
