"""Hosts on loopback that end connections as they like: closed, reset or half closed, while idle or in an answer.

Owns the hosts 127.0.1.1, 127.0.1.2 and so on, all on one port; each has `/`, which links to `/1` to `/PAGES`. What
a connection suffers follows from the seed, the host, the path and how often it was requested. Always: a page
breaks at its first request only, so who tries twice by a connection that works has every page; robots.txt is 404.

In a process of its own:    with spawn("--hosts", "30", "--pages", "60") as churn: churn.urls, churn.stats()
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import resource
import signal
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

BACKLOG = 512
LONGEST_IDLE_S = 0.03
BREAKS = ("close", "reset", "half-close", "reset in the head", "close in the body", "reset in the body")
ENDS = ("close", "reset", "half-close")


@dataclass(frozen=True, slots=True)
class Plan:
    """What the hosts do. `breaks` and `ends` are shares: of first requests, and of answers. With `hangs`, no page
    but `/` is ever answered."""

    hosts: int
    pages: int
    breaks: float
    ends: float
    delay_s: float
    hangs: bool
    seed: int


class Tally:
    """How often each target was requested, and what was done to connections."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()
        self.done: Counter[str] = Counter()
        self.open = 0
        self.peak = 0


class Connection(asyncio.Protocol):
    """One connection to one host."""

    def __init__(self, host: str, plan: Plan, tally: Tally) -> None:
        self._host = host
        self._plan = plan
        self._tally = tally
        self._buffer = b""
        self._is_over = False
        self._later: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._tally.open += 1
        self._tally.peak = max(self._tally.peak, self._tally.open)

    def connection_lost(self, exc: Exception | None) -> None:
        self._tally.open -= 1
        if self._later is not None:
            self._later.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while b"\r\n\r\n" in self._buffer and not self._is_over:
            head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            self._requested(head.split(b" ", 2)[1].decode("latin-1"))

    def _requested(self, target: str) -> None:
        if self._later is not None:
            self._later.cancel()
        if target == "/__stats":
            self._transport.write(answer(json.dumps(stats(self._tally)).encode()))
            return
        self._tally.asked[self._host, target] += 1
        nth = self._tally.asked[self._host, target]
        chance = Random(f"{self._plan.seed} {self._host} {target} {nth}")
        breaks = nth == 1 and target != "/robots.txt" and chance.random() < self._plan.breaks
        how = chance.choice(BREAKS) if breaks else ""
        end = chance.choice(ENDS) if chance.random() < self._plan.ends else ""
        if self._plan.hangs and target[1:].isdigit():
            return
        delay_s = self._plan.delay_s * chance.random()
        self._after(delay_s, self._answer, target, how, end, chance.random() * LONGEST_IDLE_S)

    def _after(self, delay_s: float, do: Any, *arguments: object) -> None:
        if delay_s:
            self._later = asyncio.get_running_loop().call_later(delay_s, do, *arguments)
        else:
            do(*arguments)

    def _answer(self, target: str, how: str, end: str, idle_s: float) -> None:
        whole = self._page(target)
        if "in the" in how:
            self._transport.write(whole[: 20 if how.endswith("head") else len(whole) - 20])
        if how:
            self._end(f"busy: {how}")
            return
        self._tally.done["answered"] += 1
        self._transport.write(whole)
        if end:
            self._later = asyncio.get_running_loop().call_later(idle_s, self._end, f"idle: {end}")

    def _page(self, target: str) -> bytes:
        if target == "/":
            links = "".join(f'<a href="/{number}">{number}</a> ' for number in range(1, self._plan.pages + 1))
            return answer(f"<title>{self._host}</title><p>{self._host} {links}".encode())
        if target[1:].isdigit():
            return answer(f"<title>{target}</title><p>{target} of {self._host}".encode())
        return answer(b"nothing here", b"404 Not Found")

    def _end(self, what: str) -> None:
        self._is_over = True
        self._tally.done[what] += 1
        wire: socket.socket = self._transport.get_extra_info("socket")
        if "half-close" in what:
            self._transport.write_eof()
        elif "reset" in what:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        else:
            self._transport.close()


def answer(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def stats(tally: Tally) -> dict[str, Any]:
    return {"requests": tally.asked.total(), "open": tally.open, "peak_open": tally.peak, **tally.done}


def host(number: int) -> str:
    return f"127.0.1.{number + 1}"


class Churn:
    """The hosts, served by a process of its own."""

    def __init__(self, hosts: int, port: int) -> None:
        self.port = port
        self.urls = tuple(f"http://{host(number)}:{port}/" for number in range(hosts))

    def stats(self) -> dict[str, int]:
        with contextlib.closing(http.client.HTTPConnection(host(0), self.port, timeout=30)) as wire:
            wire.request("GET", "/__stats")
            figures: dict[str, int] = json.loads(wire.getresponse().read())
        return figures


@contextlib.contextmanager
def spawn(*arguments: str) -> Iterator[Churn]:
    """Run this module as a process with `arguments` until the block ends, or until we are killed."""
    command = [sys.executable, "-m", "servers.churn", *arguments]
    home = Path(__file__).resolve().parent.parent
    with subprocess.Popen(command, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            hosts, port = map(int, process.stdout.readline().split())
            yield Churn(hosts, port)
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


async def run(plan: Plan) -> None:
    """Print how many hosts there are and their port, then serve until SIGTERM or the end of standard input."""
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    loop.add_reader(sys.stdin.fileno(), over.set)
    tally, port = Tally(), 0
    for number in range(plan.hosts):
        name = host(number)
        server = await loop.create_server(
            lambda name=name: Connection(name, plan, tally), name, port, backlog=BACKLOG, reuse_address=True
        )
        port = server.sockets[0].getsockname()[1]
    print(plan.hosts, port, flush=True)
    await over.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m servers.churn", description="End connections, on loopback.")
    parser.add_argument("--hosts", type=int, default=30)
    parser.add_argument("--pages", type=int, default=60, help="of each host, besides /")
    parser.add_argument("--breaks", type=float, default=0.3, help="share of first requests that break")
    parser.add_argument("--ends", type=float, default=0.5, help="share of answers after which the connection ends")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="longest delay of an answer")
    parser.add_argument("--hangs", action="store_true", help="answer no page but /")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(8192, hard)), hard))
    delay_s = given.delay_ms / 1000
    asyncio.run(run(Plan(given.hosts, given.pages, given.breaks, given.ends, delay_s, given.hangs, given.seed)))


if __name__ == "__main__":
    main()
