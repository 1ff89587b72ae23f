"""A server that does wrong what a server can do wrong, one path per fault, on loopback.

Owns the faults of HTTP/1.1 (`FAULTS`, at `/fault/NAME`) and of HTTP/2 over TLS (`FRAME_FAULTS`, one port
each, because there the connection itself is the fault). Always: the server stays small, because what it sends
without end is made of one block that is repeated; a request is in the log before a byte is sent; a fault ends when
the client is gone. It never listens anywhere but on 127.0.0.1.

In a process of its own:    with spawn() as hostile: hostile.fault("slow-body"), hostile.log()
With TLS as well:           with spawn(home) as hostile: hostile.frames["goaway"], hostile.authority
By hand, from tests/:       python -m servers.hostile

`/` links to every fault, `/?A,B` to some, `/?N:A,B` to some and to `/?N+1:A,B`, without end; so does `/calendar/N`
to the next day. The query of a fault changes nothing. robots.txt is 404, but a host called `NAME.test` answers it
with that fault.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import zstandard

MIB = 1 << 20
GIB = 1 << 30
BLOCK = b"x" * 65_536
CHAIN = 11

# One MiB of zeros in brotli: with the header of a stream, and as it can be repeated.
BROTLI_FIRST = bytes.fromhex("abffff074002201e0b24f7fec100")
BROTLI_NEXT = bytes.fromhex("faff7f002400e2b00074ef1f0c")
BROTLI_END = b"\x03"


@dataclass(frozen=True, slots=True)
class Hit:
    """One request; `at` is of the monotonic clock."""

    at: float
    host: str
    path: str
    accept_encoding: str


class Wire:
    """A connection on which one request was read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self._writer.write(part)
        await self._writer.drain()

    async def stream(self, parts: AsyncIterator[bytes] | Iterator[bytes]) -> None:
        if isinstance(parts, AsyncIterator):
            async for part in parts:
                await self.send(part)
        else:
            for part in parts:
                await self.send(part)

    async def page(self, body: bytes, *headers: bytes, status: bytes = b"200 OK") -> None:
        await self.send(head(*headers, b"Content-Length: %d" % len(body), status=status), body)

    async def gone(self) -> None:
        """Wait until the client has had enough."""
        while await self._reader.read(65_536):
            pass

    def reset(self) -> None:
        wire: socket.socket = self._writer.get_extra_info("socket")
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Fault = Callable[[Wire], Awaitable[None]]
FAULTS: dict[str, Fault] = {}


def fault(name: str) -> Callable[[Fault], Fault]:
    def register(play: Fault) -> Fault:
        FAULTS[name] = play
        return play

    return register


def head(*headers: bytes, status: bytes = b"200 OK", kind: bytes = b"text/html; charset=utf-8") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Type: " + kind, b"Connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def endless(part: bytes) -> Iterator[bytes]:
    while True:
        yield part


async def drop_by_drop(text: bytes) -> AsyncIterator[bytes]:
    for number in range(len(text)):
        yield text[number : number + 1]
        await asyncio.sleep(1.0)


# ---------------------------------------------------------------- broken connections


@fault("close-at-once")
async def _close_at_once(wire: Wire) -> None:
    """The connection ends without a byte of an answer."""


@fault("reset-at-once")
async def _reset_at_once(wire: Wire) -> None:
    wire.reset()


@fault("reset-mid-header")
async def _reset_mid_header(wire: Wire) -> None:
    await wire.send(head()[:30])
    await asyncio.sleep(0.05)
    wire.reset()


@fault("reset-mid-body")
async def _reset_mid_body(wire: Wire) -> None:
    await wire.send(head(b"Content-Length: 5000"), b"<p>" + b"x" * 2000)
    await asyncio.sleep(0.05)
    wire.reset()


@fault("garbage")
async def _garbage(wire: Wire) -> None:
    await wire.send(bytes(range(128, 256)) * 64)


# ---------------------------------------------------------------- no end, wrong length


@fault("endless-body")
async def _endless_body(wire: Wire) -> None:
    await wire.send(head())
    await wire.stream(endless(BLOCK))


@fault("endless-chunks")
async def _endless_chunks(wire: Wire) -> None:
    await wire.send(head(b"Transfer-Encoding: chunked"))
    await wire.stream(endless(b"%x\r\n%b\r\n" % (len(BLOCK), BLOCK)))


@fault("endless-file")
async def _endless_file(wire: Wire) -> None:
    await wire.send(head(kind=b"application/zip"))
    await wire.stream(endless(BLOCK))


@fault("length-too-long")
async def _length_too_long(wire: Wire) -> None:
    await wire.send(head(b"Content-Length: 5000"), b"<p>too short")


@fault("length-too-short")
async def _length_too_short(wire: Wire) -> None:
    await wire.send(head(b"Content-Length: 12"), b"<p>too short, this is more than was said")


@fault("length-negative")
async def _length_negative(wire: Wire) -> None:
    await wire.send(head(b"Content-Length: -5"), b"<p>less than nothing")


@fault("length-absurd")
async def _length_absurd(wire: Wire) -> None:
    await wire.send(head(b"Content-Length: 99999999999999999999999999"), b"<p>more than there is")


@fault("chunk-no-number")
async def _chunk_no_number(wire: Wire) -> None:
    await wire.send(head(b"Transfer-Encoding: chunked"), b"3\r\n<p>\r\nzz\r\n<p>\r\n0\r\n\r\n")


@fault("chunk-cut")
async def _chunk_cut(wire: Wire) -> None:
    await wire.send(head(b"Transfer-Encoding: chunked"), b"ff\r\n<p>cut")


@fault("chunk-absurd")
async def _chunk_absurd(wire: Wire) -> None:
    await wire.send(head(b"Transfer-Encoding: chunked"), b"f" * 40 + b"\r\n<p>")


@fault("one-line-50-mb")
async def _one_line(wire: Wire) -> None:
    size = 50 * MIB
    await wire.send(head(b"Content-Length: %d" % size))
    await wire.stream(BLOCK for _ in range(size // len(BLOCK)))


# ---------------------------------------------------------------- headers


@fault("headers-10-mb")
async def _headers_10_mb(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\n")
    line = b"X-Long: " + b"x" * 65_000 + b"\r\n"
    await wire.stream(line for _ in range(10 * MIB // len(line)))
    await wire.send(b"Content-Length: 3\r\n\r\n<p>")


@fault("header-of-10-mb")
async def _header_of_10_mb(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\nX-Long: ")
    await wire.stream(BLOCK for _ in range(10 * MIB // len(BLOCK)))
    await wire.send(b"\r\nContent-Length: 3\r\n\r\n<p>")


@fault("headers-100-k")
async def _headers_100_k(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\n")
    await wire.stream(b"X-%d: x\r\n" % number for number in range(100_000))
    await wire.send(b"Content-Length: 3\r\n\r\n<p>")


@fault("header-with-nul")
async def _header_with_nul(wire: Wire) -> None:
    await wire.page(b"<p>", b"X-Nul: a\0b")


@fault("status-absurd")
async def _status_absurd(wire: Wire) -> None:
    await wire.page(b"<p>", status=b"99999 Very Much")


@fault("informational-flood")
async def _informational_flood(wire: Wire) -> None:
    await wire.stream(endless(b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n" * 100))


@fault("switching-protocols")
async def _switching_protocols(wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
    await wire.gone()


# ---------------------------------------------------------------- content codings


def raw_zeros() -> bytes:
    """One MiB of zeros in deflate, ending at a byte and needing nothing from before: it can be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)


def gzip_bomb(size: int = GIB) -> Iterator[bytes]:
    yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    yield from (block for block in [raw_zeros()] for _ in range(size // MIB))
    check = 0
    for _ in range(size // MIB):
        check = zlib.crc32(bytes(MIB), check)
    yield b"\x03\0" + struct.pack("<II", check, size)


def deflate_bomb() -> Iterator[bytes]:
    yield b"\x78\xda"
    yield from (block for block in [raw_zeros()] for _ in range(GIB // MIB))
    yield b"\x03\0" + struct.pack(">I", (GIB % 65521 << 16) + 1)


def brotli_bomb(size: int = GIB) -> Iterator[bytes]:
    yield BROTLI_FIRST
    yield from (BROTLI_NEXT for _ in range(size // MIB - 1))
    yield BROTLI_END


def zstd_bomb() -> Iterator[bytes]:
    block = zstandard.ZstdCompressor().compress(bytes(MIB))
    yield from (block for _ in range(GIB // MIB))


def gzipped(body: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(body) + packer.flush()


def _coded(name: str, coding: bytes, parts: Callable[[], Iterator[bytes]]) -> None:
    @fault(name)
    async def play(wire: Wire) -> None:
        await wire.send(head(b"Content-Encoding: " + coding))
        await wire.stream(parts())


_coded("gzip-bomb", b"gzip", gzip_bomb)
_coded("deflate-bomb", b"deflate", deflate_bomb)
_coded("brotli-bomb", b"br", brotli_bomb)
_coded("gzip-bomb-10-mb", b"gzip", lambda: gzip_bomb(10 * MIB))
_coded("brotli-bomb-10-mb", b"br", lambda: brotli_bomb(10 * MIB))
_coded("zstd-bomb", b"zstd", zstd_bomb)
_coded("gzip-twice", b"gzip, gzip", lambda: iter([gzipped(gzipped(b"<p>twice"))]))
_coded("gzip-not", b"gzip", lambda: iter([b"<p>not compressed at all"]))
_coded("gzip-cut", b"gzip", lambda: iter([gzipped(BLOCK)[:-20]]))
_coded("coding-unknown", b"rot13", lambda: iter([b"<c>"]))


# ---------------------------------------------------------------- redirects


def _redirect(name: str, location: bytes) -> None:
    @fault(name)
    async def play(wire: Wire) -> None:
        await wire.page(b"", b"Location: " + location, status=b"302 Found")


_redirect("redirect-self", b"/fault/redirect-self")
_redirect("redirect-loop", b"/fault/redirect-back")
_redirect("redirect-back", b"/fault/redirect-loop")
_redirect("redirect-data", b"data:text/html,<p>here")
_redirect("redirect-javascript", b"javascript:alert(1)")
_redirect("redirect-file", b"file:///etc/hostname")
_redirect("redirect-long", b"/" + b"x" * 50_000)
_redirect("redirect-chain", b"/fault/redirect-chain-1")
for step in range(1, CHAIN + 1):
    _redirect(f"redirect-chain-{step}", b"/fault/redirect-chain-%d" % (step + 1))
ON_THE_WAY = frozenset({"redirect-back", *(f"redirect-chain-{step}" for step in range(1, CHAIN + 1))})


# ---------------------------------------------------------------- pages


def _page(name: str, parts: Callable[[], Iterator[bytes]], *, kind: bytes = b"text/html") -> None:
    @fault(name)
    async def play(wire: Wire) -> None:
        await wire.send(head(kind=kind))
        await wire.stream(parts())


def many(part: bytes, times: int) -> Iterator[bytes]:
    """So often, in larger pieces."""
    yield from (part * 1000 for _ in range(times // 1000))


def links(anchor: bytes, times: int) -> Iterator[bytes]:
    for start in range(0, times, 1000):
        yield b"".join(anchor % number for number in range(start, start + 1000))


def repeated_formatting() -> Iterator[bytes]:
    yield b"<p>" + b"".join(b"<b id=%d>" % number for number in range(500))
    yield from many(b"<p>x", 100_000)


def long_base() -> Iterator[bytes]:
    yield b"<base href='/" + b"a/" * 4_000 + b"'>"
    yield from links(b"<a href=%d>", 40_000)


_page("bad-charset", lambda: iter([b"<title>caf\xc3\xa9 \xff</title>"]), kind=b"text/html; charset=no-such-thing")
_page("nul-bytes", lambda: iter([b"<title>a\0b</title><p>\0<a href='/fault/\0'>x</a>" + b"text " * 100]))
_page("nothing-but-nul", lambda: iter([bytes(65_536)]))
_page("nested-tags", lambda: many(b"<div>", 1_000_000))
_page("many-links", lambda: links(b"<a href=%d>", 1_000_000))
_page("nofollow-links", lambda: links(b"<a rel=nofollow href=%d>", 60_000))
_page("many-tags", lambda: many(b"<p>x", 4_000_000))
_page("repeated-formatting", repeated_formatting)
_page("long-base", long_base)


# ---------------------------------------------------------------- silence and slowness


@fault("hang")
async def _hang(wire: Wire) -> None:
    await wire.gone()


@fault("hang-mid-body")
async def _hang_mid_body(wire: Wire) -> None:
    await wire.send(head(b"Content-Length: 5000"), b"<p>")
    await wire.gone()


@fault("slow-header")
async def _slow_header(wire: Wire) -> None:
    await wire.stream(drop_by_drop(head(b"Content-Length: 3") + b"<p>"))


@fault("slow-body")
async def _slow_body(wire: Wire) -> None:
    await wire.send(head(b"Content-Length: 5000"))
    await wire.stream(drop_by_drop(b"<p>" + b"x" * 4997))


# ---------------------------------------------------------------- the server


def page_of(targets: list[str]) -> bytes:
    anchors = "".join(f'<a href="{target}">{target}</a> ' for target in targets)
    return f"<!doctype html><title>hostile</title>{anchors}".encode()


def links_of(target: str) -> list[str] | None:
    """What the pages of the server itself link to; None where there is no page."""
    path, _, query = target.partition("?")
    if path.startswith("/calendar/"):
        return [f"/calendar/{int(path.removeprefix('/calendar/') or 0) + 1}"]
    if path != "/":
        return None
    day, endless, names = query.rpartition(":")
    listed = names.split(",") if names else [name for name in FAULTS if name not in ON_THE_WAY]
    following = [f"/?{int(day) + 1}:{names}"] if endless else []
    return [*(f"/fault/{name}?{day}" if day else f"/fault/{name}" for name in listed), *following]


class HostileServer:
    """Reads one request of each connection and plays its part."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            await self._answer(wire, request)
            writer.write_eof()
            await asyncio.wait_for(wire.gone(), 1.0)
        writer.close()

    async def _answer(self, wire: Wire, request: str) -> None:
        first, *lines = request.split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        target, host = first.split(" ")[1], fields.get("host", "")
        if target == "/__log":
            await wire.page(json.dumps([asdict(hit) for hit in self.hits]).encode())
            return
        self.hits.append(Hit(time.monotonic(), host, target, fields.get("accept-encoding", "")))
        play = self._fault(target.partition("?")[0], host)
        if play is not None:
            await play(wire)
        else:
            await self._page(wire, target)

    def _fault(self, path: str, host: str) -> Fault | None:
        if path == "/robots.txt":
            return FAULTS.get(host.partition(".test")[0])
        return FAULTS.get(path.removeprefix("/fault/"))

    async def _page(self, wire: Wire, target: str) -> None:
        targets = links_of(target)
        if targets is None:
            await wire.page(b"", status=b"404 Not Found")
        else:
            await wire.page(page_of(targets))


# ---------------------------------------------------------------- HTTP/2, frame by frame

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
INTERNAL_ERROR, REFUSED_STREAM, CALM = 2, 7, 11
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STATUS_200 = b"\x88"


def frame(kind: int, stream: int = 0, payload: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def code(number: int) -> bytes:
    return struct.pack(">I", number)


def goaway(number: int) -> bytes:
    return frame(GOAWAY, 0, code(0) + code(number))


def rst_flood(stream: int) -> Iterator[bytes]:
    yield from (frame(RST_STREAM, stream, code(INTERNAL_ERROR)) * 1000 for _ in range(1000))


def continuation_flood(stream: int) -> Iterator[bytes]:
    yield frame(HEADERS, stream, STATUS_200)
    yield from endless(frame(CONTINUATION, stream, b"\x00\x01x\x01y" * 3000))


# What is sent when a request has come on a stream; None: the connection stays open and silent.
FRAME_FAULTS: dict[str, Callable[[int], Iterator[bytes]] | None] = {
    "goaway": lambda stream: iter([goaway(0)]),
    "goaway-calm": lambda stream: iter([goaway(CALM)]),
    "rst": lambda stream: iter([frame(RST_STREAM, stream, code(INTERNAL_ERROR))]),
    "rst-refused": lambda stream: iter([frame(RST_STREAM, stream, code(REFUSED_STREAM))]),
    "rst-flood": rst_flood,
    "rst-mid-body": lambda stream: iter(
        [
            frame(HEADERS, stream, STATUS_200, flags=4),
            frame(DATA, stream, b"<p>half"),
            frame(RST_STREAM, stream, code(INTERNAL_ERROR)),
        ]
    ),
    "ping-flood": lambda stream: endless(frame(PING, 0, bytes(8)) * 1000),
    "settings-flood": lambda stream: endless(frame(SETTINGS) * 1000),
    "continuation-flood": continuation_flood,
    "data-first": lambda stream: iter([frame(DATA, stream, b"<p>", flags=1)]),
    "frames-of-garbage": lambda stream: iter([bytes(range(256)) * 16]),
    "silence": None,
}


async def serve_frames(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    wire, play = Wire(reader, writer), FRAME_FAULTS[name]
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
        await reader.readexactly(len(PREFACE))
        await wire.send(frame(SETTINGS))
        if name == "goaway":
            await wire.send(goaway(0))
        while play is not None:
            size, kind, _, stream = struct.unpack(">IBBI", b"\0" + await reader.readexactly(9))
            await reader.readexactly(size)
            if kind == HEADERS:
                await wire.stream(play(stream))
        await wire.gone()
    writer.close()


# ---------------------------------------------------------------- as a process


class Hostile:
    """The server, seen from a test."""

    def __init__(self, port: int, frames: dict[str, int], authority: Path | None, pid: int) -> None:
        self.port = port
        self.pid = pid
        self.url = f"http://127.0.0.1:{port}/"
        self.frames = {name: f"https://localhost:{number}/" for name, number in frames.items()}
        self.authority = authority

    def fault(self, name: str) -> str:
        assert name in FAULTS, name
        return f"{self.url}fault/{name}"

    def log(self) -> list[Hit]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as wire:
            wire.request("GET", "/__log")
            return [Hit(**fields) for fields in json.loads(wire.getresponse().read())]


@contextlib.contextmanager
def spawn(home: Path | None = None) -> Iterator[Hostile]:
    """Run this module as a process until the block ends. With a new folder, HTTP/2 over TLS as well."""
    command = [sys.executable, "-m", "servers.hostile", "--until-eof"]
    authority = None
    if home is not None:
        authority = _certify(home)
        command += ["--certificate", str(home / "cert.pem"), "--key", str(home / "key.pem")]
    tests = Path(__file__).resolve().parents[1]
    with subprocess.Popen(command, cwd=tests, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ports: dict[str, Any] = json.loads(process.stdout.readline())
            yield Hostile(ports["port"], ports["frames"], authority, process.pid)
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _certify(home: Path) -> Path:
    import trustme

    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    home.mkdir()
    issued.private_key_pem.write_to_path(home / "key.pem")
    issued.cert_chain_pems[0].write_to_path(home / "cert.pem")
    authority.cert_pem.write_to_path(home / "ca.pem")
    return home / "ca.pem"


async def _listen(
    play: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> tuple[asyncio.Server, int]:
    server = await asyncio.start_server(play, "127.0.0.1", port, ssl=tls)
    bound: int = server.sockets[0].getsockname()[1]
    return server, bound


async def run(port: int, certificate: str | None, key: str | None, *, until_eof: bool) -> None:
    """Print the ports as JSON, then serve until SIGTERM, SIGINT or, if asked for, the end of standard input."""
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    if until_eof:
        loop.add_reader(sys.stdin.fileno(), over.set)
    plain, bound = await _listen(HostileServer().serve, port)
    servers, frames = [plain], {}
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        tls.set_alpn_protocols(["h2"])
        for name in FRAME_FAULTS:
            server, frames[name] = await _listen(lambda *ends, name=name: serve_frames(name, *ends), tls=tls)
            servers.append(server)
    print(json.dumps({"port": bound, "frames": frames}), flush=True)
    await over.wait()
    for server in servers:
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m servers.hostile", description="Do wrong, on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--certificate", help="serve the HTTP/2 faults as well, with this certificate")
    parser.add_argument("--key")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    asyncio.run(run(options.port, options.certificate, options.key, until_eof=options.until_eof))


if __name__ == "__main__":
    main()
