"""Hosts that send a byte now and then, and never end; beside them one good host.

Owns loopback servers in a process of its own: `--hosts` dripping ones at 127.0.2.1 and so on, and the good one at
127.0.3.1, all on one port. Prints their URLs as JSON on the first line and serves until it is terminated. `/` of a
dripping host links to LINKS pages that drip; the good host has PAGES pages, and tells at /__times when each was
requested, by the monotonic clock, and how many connections drip.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time

LINKS = 120
FAN = 150
PAGES = 1 + FAN + FAN * FAN
TEXT = "Words of a page, as many as a short one has. " * 60
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Times:
    """What the good host was requested, and how many connections drip."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.dripping = 0


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests without bodies, answered in order."""

    def __init__(self, times: Times, every_s: float) -> None:
        self._times = times
        self._every_s = every_s
        self._pending = b""
        self._drip: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._drip is not None:
            self._drip.cancel()
            self._times.dripping -= 1

    def data_received(self, data: bytes) -> None:
        *requests, self._pending = (self._pending + data).split(b"\r\n\r\n")
        for request in requests:
            self._requested(request.split(b" ", 2)[1].decode("latin-1"))

    def _requested(self, path: str) -> None:
        if path == "/robots.txt":
            self._transport.write(MISSING)
        else:
            self._answer(path)

    def _answer(self, path: str) -> None:
        raise NotImplementedError

    def _send(self, body: str) -> None:
        self._transport.write(HEAD % len(body) + body.encode())


class Dripping(Connection):
    def _answer(self, path: str) -> None:
        if path == "/":
            self._send("".join(f'<a href="/{number}">{number}</a> ' for number in range(LINKS)))
            return
        self._times.dripping += 1
        self._transport.write(HEAD % 1_000_000)
        self._next()

    def _next(self) -> None:
        self._transport.write(b".")
        self._drip = asyncio.get_running_loop().call_later(self._every_s, self._next)


class Good(Connection):
    def _answer(self, path: str) -> None:
        if path == "/__times":
            self._send(json.dumps({"at": self._times.at, "dripping": self._times.dripping}))
            return
        self._times.at.append(time.monotonic())
        number = int(path[1:] or 0)
        links = range(number * FAN + 1, (number + 1) * FAN + 1) if number <= FAN else ()
        shown = " ".join(f'<a href="/{child}">{child}</a>' for child in links)
        self._send(
            f"<!doctype html><title>Page {number}</title><h1>Page {number}</h1><p>{number} {TEXT}</p>{shown}"
        )


async def serve(hosts: int, every_s: float) -> None:
    loop, times = asyncio.get_running_loop(), Times()
    server = await loop.create_server(lambda: Good(times, every_s), "127.0.3.1", 0, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    names = [f"127.0.2.{number + 1}" for number in range(hosts)]
    for name in names:
        await loop.create_server(lambda: Dripping(times, every_s), name, port, backlog=1024)
    urls = {"good": f"http://127.0.3.1:{port}/", "dripping": [f"http://{name}:{port}/" for name in names]}
    print(json.dumps(urls), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--every-s", type=float, default=1.0)
    given = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, limit), limit))
    asyncio.run(serve(given.hosts, given.every_s))
