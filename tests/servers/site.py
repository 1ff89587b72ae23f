"""A real HTTP/1.1 server on loopback that logs every request, and the simplest sites for it.

Owns the wire: keep-alive, HEAD, slow answers, broken answers, the log in order of arrival. It always
holds that a request is in the log before a byte of its answer is sent, that a slow answer delays nobody
else, and that a site is a pure function of the request (what a site needs to remember, how often a target
was asked, is in the request). It never listens anywhere but on 127.0.0.1.

Inside a test:          with serve(StaticSite({"/": html("hello")})) as server: server.url, server.log
As its own process:     with spawn("--seed", "7", "--pages", "2000") as remote: remote.url, remote.log()
By hand, from tests/:   python -m servers.site --seed 7 --pages 2000 --port 0

The process prints its port as its first line. Both answer, unlogged, GET /__log (the hits as JSON),
GET /__stats and GET or POST /__reset (forgets log, counts and figures). Times are of the monotonic clock,
which on Linux is one clock for all processes. A pipelined request is looked at when the one before it is
answered.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import http.client
import json
import mimetypes
import resource
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

MAX_HEAD_BYTES = 65_536
BACKLOG = 2_048
BESIDES = ("/robots.txt", "/sitemap.xml")
REASONS = {status.value: status.phrase for status in HTTPStatus}
NO_BODY = frozenset({204, 304})

Headers = tuple[tuple[str, str], ...]


class Ending(StrEnum):
    """What becomes of the connection after an answer."""

    KEEP = "keep"
    CLOSE = "close"
    CUT = "cut"
    RESET = "reset"
    STALL = "stall"
    DROP = "drop"

    @property
    def half(self) -> bool:
        """Only half of the announced body is sent."""
        return self in (Ending.CUT, Ending.RESET, Ending.STALL)


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `target` is the path with its query as sent, header names are in lower case, and `nth`
    counts the requests for this very target since the last reset, this one included."""

    at: float
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    nth: int

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def host(self) -> str:
        return self.headers.get("host", "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send, after `delay_s`. A Content-Length or Transfer-Encoding given here replaces ours."""

    status: int = 200
    headers: Headers = ()
    body: bytes = b""
    delay_s: float = 0.0
    ending: Ending = Ending.KEEP


@dataclass(frozen=True, slots=True)
class Hit:
    """One line of the request log; `path` includes the query, a dropped request has status 0."""

    at: float
    method: str
    path: str
    host: str
    user_agent: str
    connection: int
    status: int


class Site(Protocol):
    """What a server serves: a pure function of the request, save for the delay."""

    def answer(self, request: Request) -> Answer: ...


def html(body: str, status: int = 200, delay_s: float = 0.0) -> Answer:
    return Answer(status, (("Content-Type", "text/html; charset=utf-8"),), body.encode(), delay_s)


def text(body: str, status: int = 200) -> Answer:
    return Answer(status, (("Content-Type", "text/plain; charset=utf-8"),), body.encode())


def redirect(location: str, status: int = 301) -> Answer:
    return Answer(status, (("Location", location),))


NOT_FOUND = html("<!doctype html><title>Not found</title><h1>Not found</h1>", 404)


class StaticSite:
    """Answers by hand: the target with its query is looked up first, then the path alone."""

    def __init__(
        self, answers: Mapping[str, Answer | Callable[[Request], Answer]], default: Answer = NOT_FOUND
    ) -> None:
        self._answers = answers
        self._default = default

    def answer(self, request: Request) -> Answer:
        found = self._answers.get(request.target) or self._answers.get(request.path) or self._default
        return found if isinstance(found, Answer) else found(request)


class TreeSite:
    """A folder of files: index.html for a directory, `/dir` redirects to `/dir/`."""

    def __init__(self, directory: Path) -> None:
        self._root = directory.resolve()

    def answer(self, request: Request) -> Answer:
        file = (self._root / unquote(request.path).lstrip("/")).resolve()
        if not file.is_relative_to(self._root):
            return NOT_FOUND
        if file.is_dir():
            if not request.path.endswith("/"):
                return redirect(f"{request.path}/")
            file = file / "index.html"
        if not file.is_file():
            return NOT_FOUND
        return Answer(200, (("Content-Type", content_type(file.name)),), file.read_bytes())


class Validated:
    """Another site whose answers of status 200 have an ETag, and which says 304 to who knows it."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def answer(self, request: Request) -> Answer:
        found = self._site.answer(request)
        if found.status != 200:
            return found
        etag = f'"{hashlib.sha256(found.body).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == etag:
            return Answer(304, (("ETag", etag),), delay_s=found.delay_s)
        return replace(found, headers=(*found.headers, ("ETag", etag)))


def content_type(name: str) -> str:
    guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{guessed}; charset=utf-8" if guessed.startswith("text/") else guessed


class Ledger:
    """The log, the counts and the figures of one server. Without `record` it keeps figures only, so that
    memory stays flat, and every request is the first of its target."""

    def __init__(self, *, record: bool) -> None:
        self._record = record
        self._asked: Counter[str] = Counter()
        self.hits: list[Hit] = []
        self.requests = 0
        self.connections = 0
        self.open = 0
        self.peak_open = 0
        self.pending = 0
        self.peak_pending = 0

    def count(self, target: str) -> int:
        if not self._record:
            return 1
        self._asked[target] += 1
        return self._asked[target]

    def note(self, request: Request, answer: Answer) -> None:
        self.requests += 1
        if self._record:
            status = 0 if answer.ending is Ending.DROP else answer.status
            agent = request.headers.get("user-agent", "")
            self.hits.append(
                Hit(
                    request.at,
                    request.method,
                    request.target,
                    request.host,
                    agent,
                    request.connection,
                    status,
                )
            )

    def opened(self) -> int:
        self.connections += 1
        self.open += 1
        self.peak_open = max(self.peak_open, self.open)
        return self.connections

    def closed(self) -> None:
        self.open -= 1

    def begun(self) -> None:
        self.pending += 1
        self.peak_pending = max(self.peak_pending, self.pending)

    def done(self) -> None:
        self.pending -= 1

    def reset(self) -> None:
        self.hits.clear()
        self._asked.clear()
        self.requests = 0
        self.peak_open = self.open
        self.peak_pending = self.pending

    def stats(self) -> dict[str, int]:
        return {
            "requests": self.requests,
            "connections": self.connections,
            "open": self.open,
            "peak_open": self.peak_open,
            "pending": self.pending,
            "peak_pending": self.peak_pending,
        }


@dataclass(frozen=True, slots=True)
class Head:
    """A request head, read."""

    at: float
    method: str
    target: str
    headers: Mapping[str, str]
    length: int
    keep: bool


def read_head(raw: bytes, at: float) -> Head:
    """Raises ValueError where this is not an HTTP/1 head that we can answer."""
    first, *lines = raw.decode("latin-1").split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(version)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(line)
        headers[name.lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise ValueError("a chunked request body is not read")
    wish = headers.get("connection", "").lower()
    keep = wish != "close" if version == "HTTP/1.1" else wish == "keep-alive"
    return Head(at, method, target, headers, int(headers.get("content-length", "0")), keep)


def write_head(answer: Answer, *, keep: bool) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, '')}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    given = {name.lower() for name, _ in answer.headers}
    if answer.status not in NO_BODY and given.isdisjoint({"content-length", "transfer-encoding"}):
        lines.append(f"Content-Length: {len(answer.body)}")
    if not keep:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def control(target: str, ledger: Ledger) -> Answer | None:
    """The answer to one of the server's own paths, or None where the site is asked."""
    if target == "/__log":
        report: object = [asdict(hit) for hit in ledger.hits]
    elif target == "/__stats":
        report = ledger.stats()
    elif target == "/__reset":
        ledger.reset()
        report = {}
    else:
        return None
    return Answer(200, (("Content-Type", "application/json"),), json.dumps(report).encode())


class Connection(asyncio.Protocol):
    """One connection: reads a request, answers it, then looks for the next."""

    def __init__(self, site: Site, ledger: Ledger, members: set[Connection]) -> None:
        self._site = site
        self._ledger = ledger
        self._members = members
        self._buffer = bytearray()
        self._head: Head | None = None
        self._busy = False
        self._later: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._number = self._ledger.opened()
        self._members.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._later is not None:
            self._later.cancel()
        self._free()
        self._ledger.closed()
        self._members.discard(self)

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        at = time.monotonic()
        self._buffer += data
        self._advance(at)

    def _advance(self, at: float) -> None:
        """Answer what is complete in the buffer, one request after the other."""
        while not self._busy and not self._transport.is_closing():
            if self._head is None and not self._take_head(at):
                return
            head = self._head
            if head is None or len(self._buffer) < head.length:
                return
            body = bytes(self._buffer[: head.length])
            del self._buffer[: head.length]
            self._head = None
            self._answer(head, body)

    def _take_head(self, at: float) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                self._refuse(431)
            return False
        raw = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        try:
            self._head = read_head(raw, at)
        except ValueError:
            self._refuse(400)
            return False
        return True

    def _refuse(self, status: int) -> None:
        self._transport.write(write_head(Answer(status), keep=False))
        self._transport.close()

    def _answer(self, head: Head, body: bytes) -> None:
        own = control(head.target, self._ledger)
        if own is not None:
            self._send(head, own)
            return
        nth = self._ledger.count(head.target)
        request = Request(head.at, head.method, head.target, head.headers, body, self._number, nth)
        answer = self._site.answer(request)
        self._ledger.note(request, answer)
        self._ledger.begun()
        self._busy = True
        if answer.delay_s > 0:
            loop = asyncio.get_running_loop()
            self._later = loop.call_later(answer.delay_s, self._send_late, head, answer)
        else:
            self._send(head, answer)

    def _send_late(self, head: Head, answer: Answer) -> None:
        self._later = None
        self._send(head, answer)
        self._advance(time.monotonic())

    def _send(self, head: Head, answer: Answer) -> None:
        keep = head.keep and answer.ending is Ending.KEEP
        if answer.ending is not Ending.DROP:
            body = b"" if head.method == "HEAD" or answer.status in NO_BODY else answer.body
            sent = body[: len(body) // 2] if answer.ending.half else body
            self._transport.write(write_head(answer, keep=keep) + sent)
        if answer.ending is Ending.STALL:
            return
        self._free()
        if answer.ending is Ending.RESET:
            self._reset()
        elif not keep:
            self._transport.close()

    def _reset(self) -> None:
        wire: socket.socket = self._transport.get_extra_info("socket")
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _free(self) -> None:
        if self._busy:
            self._busy = False
            self._ledger.done()


class Listener:
    """The listening socket and its connections, all on the loop that runs `start`."""

    def __init__(self, site: Site, ledger: Ledger) -> None:
        self._site = site
        self._ledger = ledger
        self._members: set[Connection] = set()

    async def start(self, port: int, tls: ssl.SSLContext | None = None) -> int:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._site, self._ledger, self._members),
            "127.0.0.1",
            port,
            backlog=BACKLOG,
            ssl=tls,
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        self._server.close()
        while self._members:
            for member in tuple(self._members):
                member.abort()
            await asyncio.sleep(0)


class Server:
    """A site served by a thread of this process."""

    def __init__(self, port: int, ledger: Ledger) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/"
        self._ledger = ledger

    @property
    def log(self) -> tuple[Hit, ...]:
        """Every request but those for robots.txt and the usual sitemap."""
        return tuple(hit for hit in self._ledger.hits if hit.path not in BESIDES)

    @property
    def whole_log(self) -> tuple[Hit, ...]:
        return tuple(self._ledger.hits)

    @property
    def stats(self) -> dict[str, int]:
        return self._ledger.stats()

    def reset(self) -> None:
        self._ledger.reset()


@contextlib.contextmanager
def serve(
    site: Site, *, port: int = 0, record: bool = True, tls: ssl.SSLContext | None = None
) -> Iterator[Server]:
    """Serve `site` from a thread until the block ends, over TLS if asked; open connections are closed then."""
    ledger = Ledger(record=record)
    listener = Listener(site, ledger)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="site", daemon=True)
    thread.start()
    try:
        bound = asyncio.run_coroutine_threadsafe(listener.start(port, tls), loop).result(10)
        try:
            yield Server(bound, ledger)
        finally:
            asyncio.run_coroutine_threadsafe(listener.stop(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


class Remote:
    """A site served by a process of its own."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid
        self.url = f"http://127.0.0.1:{port}/"

    def log(self) -> tuple[Hit, ...]:
        """Every request but those for robots.txt and the usual sitemap."""
        hits = (Hit(**fields) for fields in self._ask("/__log"))
        return tuple(hit for hit in hits if hit.path not in BESIDES)

    def stats(self) -> dict[str, int]:
        figures: dict[str, int] = self._ask("/__stats")
        return figures

    def reset(self) -> None:
        self._ask("/__reset")

    def _ask(self, path: str) -> Any:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as wire:
            wire.request("GET", path)
            return json.loads(wire.getresponse().read())


@contextlib.contextmanager
def spawn(*arguments: str) -> Iterator[Remote]:
    """Run this module as a process with `arguments` until the block ends, or until we are killed."""
    command = [sys.executable, "-m", "servers.site", *arguments, "--until-eof"]
    home = Path(__file__).resolve().parent.parent
    with subprocess.Popen(command, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Remote(int(process.stdout.readline()), process.pid)
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


async def run(site: Site, *, port: int, record: bool, until_eof: bool) -> None:
    """Print the port, then serve until SIGTERM, SIGINT or, if asked for, the end of standard input."""
    listener = Listener(site, Ledger(record=record))
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    if until_eof:
        loop.add_reader(sys.stdin.fileno(), over.set)
    print(await listener.start(port), flush=True)
    await over.wait()
    await listener.stop()


def read_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m servers.site", description="Serve a test site on loopback.")
    parser.add_argument("--site", choices=("graph", "wide", "tree"), default="graph")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--no-record", action="store_true", help="keep no log and no counts")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    parser.add_argument("--seed", type=int, default=0, help="graph: which one")
    parser.add_argument("--pages", type=int, default=2_000, help="graph, wide: number of URLs")
    parser.add_argument("--base-path", default="/", help="graph: the path everything lies under")
    parser.add_argument("--max-delay-ms", type=float, default=0.0, help="graph: seeded delay of each path")
    parser.add_argument("--jitter-ms", type=float, default=0.0, help="graph: delay that differs every time")
    parser.add_argument("--warm", action="store_true", help="graph: render every page before the port is printed")
    parser.add_argument("--fanout", type=int, default=1_000, help="wide: links of a page")
    parser.add_argument("--directory", type=Path, help="tree: the folder to serve")
    return parser.parse_args(arguments)


def chosen_site(options: argparse.Namespace) -> Site:
    from servers.graph import GraphSite, WideSite

    if options.site == "tree":
        return TreeSite(options.directory)
    if options.site == "wide":
        return WideSite(total=options.pages, fanout=options.fanout)
    graph = GraphSite(
        options.seed,
        options.pages,
        base_path=options.base_path,
        max_delay_ms=options.max_delay_ms,
        jitter_ms=options.jitter_ms,
    )
    if options.warm:
        graph.warm()
    return graph


def allow_many_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < BACKLOG * 2:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(BACKLOG * 2, hard), hard))


def main(arguments: list[str] | None = None) -> None:
    options = read_arguments(arguments)
    allow_many_connections()
    asyncio.run(
        run(
            chosen_site(options),
            port=options.port,
            record=not options.no_record,
            until_eof=options.until_eof,
        )
    )


if __name__ == "__main__":
    # Run as a script this file would be a second copy of the module that the graph imports.
    from servers.site import main as imported_main

    imported_main()
