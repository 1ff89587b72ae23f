"""R20, R21 at the fetcher itself: file numbers that are used again, kept connections that ended, no files left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pycurl
import pytest

from harness import wait_until
from orbweb.fetching import open_files
from orbweb.fetching.sockets import KernelQueue, Poller, Sockets
from orbweb.fetching.suspension import LEAST_S, SuspensionClock
from orbweb.model import Failed, FailKind, Fetched
from security.fetching import Client, with_client
from servers.dns import SILENCE, serve_names
from servers.pages import chain
from servers.site import StaticSite, serve

TIMEOUT_S = 0.6


@contextlib.contextmanager
def ready_sockets(count: int) -> Iterator[list[int]]:
    """Sockets with something to read, by their numbers; each number is closed at the end, whatever it is then."""
    with contextlib.ExitStack() as stack:
        numbers = []
        for _ in range(count):
            ours, theirs = socket.socketpair()
            stack.enter_context(theirs).send(b"x")
            numbers.append(ours.detach())
        try:
            yield numbers
        finally:
            for number in numbers:
                with contextlib.suppress(OSError):
                    os.close(number)


class Curl:
    """What curl may do when it is told of a socket. It knows the sockets that it has, and takes no others."""

    def __init__(self, do: Callable[[Curl, int], None], poller: Poller | None) -> None:
        self._do = do
        self.told: list[tuple[int, int]] = []
        self.turns = 0
        self.sockets = Sockets(self._act, self._acted, poller)

    def _act(self, fd: int, _events: int) -> None:
        self.told.append((self.turns, fd))
        self._do(self, fd)

    def _acted(self) -> None:
        self.turns += 1

    def give_up(self, fd: int) -> None:
        self.sockets.watch(pycurl.POLL_REMOVE, fd)


@pytest.fixture(params=[None, KernelQueue], ids=["epoll", "as without epoll"])
def poller(request: pytest.FixtureRequest) -> Poller | None:
    return request.param and request.param()


def after_turns(
    curl_does: Callable[[Curl, int], None], watched: list[int], turns: int, poller: Poller | None
) -> Curl:
    """Watch these, and let the loop turn."""

    async def run() -> Curl:
        curl = Curl(curl_does, poller)
        for fd in watched:
            curl.sockets.watch(pycurl.POLL_IN, fd)
        for _ in range(1_000):
            if curl.turns >= turns:
                break
            await asyncio.sleep(0)
        curl.sockets.close()
        return curl

    return asyncio.run(run())


def test_sockets_that_are_closed_within_a_batch_are_not_acted_on(poller: Poller | None) -> None:
    with ready_sockets(4) as ours:

        def close_the_others(curl: Curl, fd: int) -> None:
            for other in set(ours) - {fd}:
                curl.give_up(other)
                os.close(other)
            curl.give_up(fd)

        assert len(after_turns(close_the_others, ours, 1, poller).told) == 1


@pytest.mark.parametrize("successor", ["file", "quiet socket", "socket that has something"])
def test_an_event_of_a_closed_socket_is_not_taken_for_one_of_the_file_that_has_its_number(
    successor: str, tmp_path: Path, poller: Poller | None
) -> None:
    """Another socket of curl, or a file of anyone: the number is used again while the batch is worked on."""
    with ready_sockets(3) as (first, second, third):
        gone: list[int] = []

        def replace(curl: Curl, fd: int) -> None:
            if gone:
                curl.give_up(fd)
                return
            other = second if fd == first else first
            gone.append(other)
            curl.give_up(other)
            os.close(other)
            if successor == "quiet socket":
                os.read(third, 1)
            made = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR) if successor == "file" else os.dup(third)
            if made != other:
                os.dup2(made, other)
                os.close(made)
            if successor != "file":
                curl.sockets.watch(pycurl.POLL_IN, other)

        told = after_turns(replace, [first, second], 2, poller).told
        assert [fd for turn, fd in told if turn == 0] == [second if gone[0] == first else first]
        assert (gone[0] in [fd for turn, fd in told if turn == 1]) == (successor == "socket that has something")


def test_a_socket_is_watched_for_what_curl_waits_for(poller: Poller | None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        seen: list[int] = []

        async def run() -> None:
            sockets = Sockets(lambda _fd, events: seen.append(events), lambda: None, poller)
            for wanted in (pycurl.POLL_OUT, pycurl.POLL_IN):
                sockets.watch(wanted, ours.fileno())
                theirs.send(b"x")
                before = len(seen)
                while len(seen) == before:
                    await asyncio.sleep(0)
            sockets.close()

        asyncio.run(run())
    assert (seen[0], seen[-1]) == (pycurl.CSELECT_OUT, pycurl.CSELECT_IN)


# Kept connections.


class OneAnswer:
    """A server that answers the first request of a connection, or none, and ends it at the next."""

    def __init__(self, *, keeps: bool) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._keeps = keeps
        self.requests = 0
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.site = self.url[7:-1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                wire, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(wire,), daemon=True).start()

    def _answer(self, wire: socket.socket) -> None:
        with wire:
            for answers in (True, False) if self._keeps else (False,):
                if not wire.recv(65_536):
                    return
                self.requests += 1
                if answers:
                    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.mark.parametrize("keeps", [True, False], ids=["kept connection", "new connection"])
def test_only_a_new_connection_that_breaks_counts(keeps: bool) -> None:
    async def twice(client: Client) -> list[Fetched | Failed]:
        return [await client.get(server.url) for _ in range(2)]

    with contextlib.closing(OneAnswer(keeps=keeps)) as server:
        first, second = with_client(twice, sites=[server.site])
        assert server.requests == 2, "curl itself repeats nothing"
    assert isinstance(first, Fetched) == keeps
    assert isinstance(second, Failed)
    assert (second.kind, second.counts) == (FailKind.INTERRUPTED, not keeps)


# Standstill.


def test_only_a_late_beat_is_a_standstill() -> None:
    async def run() -> tuple[float, float]:
        still = SuspensionClock(asyncio.get_running_loop())
        await asyncio.sleep(LEAST_S)
        before = still.total_s()
        time.sleep(3 * LEAST_S)
        after = still.total_s()
        assert still.total_s() == after, "counted once"
        still.close()
        return before, after

    before, after = asyncio.run(run())
    assert after - before >= 2 * LEAST_S


@pytest.mark.parametrize("stands_still", [True, False])
def test_a_name_that_is_not_found_in_time_counts_unless_we_stood_still(stands_still: bool) -> None:
    async def get(client: Client) -> Fetched | Failed:
        ticket = client.start("http://silent.test/")
        if stands_still:
            time.sleep(2 * TIMEOUT_S)
        return await client.watcher.wait(ticket)

    with serve_names({"silent.test": SILENCE}) as names:
        found = with_client(get, servers=[names.address], timeout_s=TIMEOUT_S)
    assert isinstance(found, Failed)
    assert (found.kind, found.counts) == (FailKind.DNS_TIMEOUT, not stands_still)


# Files.


@pytest.mark.parametrize(
    ("limit", "used", "processes", "room"),
    [(1024, 24, 0, 960), (1024, 24, 4, 944), (128, 20, 2, 60), (64, 30, 2, open_files.LEAST)],
)
def test_connections_leave_room_for_other_files(limit: int, used: int, processes: int, room: int) -> None:
    assert open_files.connections(limit, used, processes) == room


@contextlib.contextmanager
def files_left(count: int) -> Iterator[Callable[[], None]]:
    """Only so many more files can be opened, until the function that is given is called."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []

    def give_back() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        while taken:
            os.close(taken.pop())

    highest = max(int(file.name) for file in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + count, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        for _ in range(count):
            os.close(taken.pop())
        yield give_back
    finally:
        give_back()


@pytest.mark.parametrize("left", [0, 1], ids=["none for the socket", "none for pycurl's duplicate"])
def test_a_request_without_a_file_for_its_socket_waits(left: int) -> None:
    async def get(client: Client) -> Fetched | Failed:
        await client.get(server.url)
        with files_left(left) as give_back:
            ticket = client.start(f"{other.url}1")
            while not client.watcher.notes:
                await asyncio.sleep(0.01)
            assert ticket not in client.watcher.answers
            give_back()
        found = await client.watcher.wait(ticket)
        assert len(client.watcher.notes) == 1
        assert client.watcher.sent_tickets.count(ticket) == 1
        return found

    with serve(StaticSite(chain(1))) as server, serve(StaticSite(chain(1))) as other:
        sites = [f"127.0.0.1:{each.port}" for each in (server, other)]
        answer = with_client(get, sites=sites)
        wait_until(lambda: len(other.log) == 1)
    assert isinstance(answer, Fetched)
    assert answer.status == 200


def test_no_more_connections_are_open_than_are_allowed() -> None:
    async def get(client: Client) -> list[Fetched | Failed]:
        tickets = [client.start(url) for url in urls]
        return [await client.watcher.wait(ticket) for ticket in tickets]

    with contextlib.ExitStack() as stack:
        sites = [stack.enter_context(serve(StaticSite(chain(3)))) for _ in range(8)]
        urls = [f"{site.url}{page}" for page in range(1, 4) for site in sites]
        answers = with_client(get, sites=[f"127.0.0.1:{site.port}" for site in sites], connections=3)
        assert all(isinstance(answer, Fetched) for answer in answers)
        assert sum(site.stats["peak_open"] for site in sites) >= 8
        assert max(site.stats["peak_open"] for site in sites) <= 3
