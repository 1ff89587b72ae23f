"""S3, S4 and hostile heads: what a server sends is bounded in bytes, ratio and lines, and the reason is named."""

from __future__ import annotations

import contextlib
import gzip
import resource
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator

import pytest

from harness import Cli
from orbweb.model import Failed, FailKind, Fetched
from security.fetching import Client, with_client
from servers.hostile import brotli_bomb
from servers.pages import page
from servers.site import Answer, StaticSite, redirect, serve

MEGABYTE = 1_000_000
HTML = ("Content-Type", "text/html")


def coded(body: bytes, coding: str, *, status: int = 200, location: str = "") -> Answer:
    headers = (HTML, ("Content-Encoding", coding), *((("Location", location),) if location else ()))
    return Answer(status, headers, body)


def raw_deflate(body: bytes) -> bytes:
    return zlib.compress(body, 9)


def ask(answer: Answer, *, max_bytes: int = 20 * MEGABYTE, max_ratio: int = 200) -> Fetched | Failed:
    with serve(StaticSite({"/": answer})) as server:

        async def work(client: Client) -> Fetched | Failed:
            return await client.get(server.url)

        return with_client(work, everything=True, max_bytes=max_bytes, max_ratio=max_ratio)


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", raw_deflate)])
@pytest.mark.parametrize(
    ("megabytes", "kind"), [(5, FailKind.BOMB), (50, FailKind.TOO_LARGE)], ids=["within max_bytes", "beyond"]
)
def test_a_bomb(coding: str, pack: Callable[[bytes], bytes], megabytes: int, kind: FailKind) -> None:
    bomb = pack(bytes(megabytes * MEGABYTE))
    before = peak_mb()
    found = ask(coded(bomb, coding))
    assert isinstance(found, Failed)
    assert (found.kind, found.retriable) == (kind, False)
    assert peak_mb() - before <= 64


def test_brotli_is_bounded_too() -> None:
    found = ask(coded(b"".join(brotli_bomb(5 * MEGABYTE)), "br"))
    assert isinstance(found, Failed)
    assert found.kind is FailKind.BOMB
    assert "fetch.max_ratio" in found.error


@pytest.mark.parametrize(
    ("body", "max_ratio"), [(bytes(900_000), 200), (bytes(5 * MEGABYTE), 2_000)], ids=["below 1 MB", "allowed"]
)
def test_what_is_no_bomb(body: bytes, max_ratio: int) -> None:
    found = ask(coded(gzip.compress(body), "gzip"), max_ratio=max_ratio)
    assert isinstance(found, Fetched)
    assert found.body == body


def test_a_large_plain_body_is_no_bomb() -> None:
    found = ask(Answer(200, (HTML,), bytes(5 * MEGABYTE)))
    assert isinstance(found, Fetched)


@pytest.mark.parametrize("codings", [("gzip, gzip",), ("gzip", "gzip"), ("identity, gzip,deflate",)])
def test_more_than_one_coding(codings: tuple[str, ...]) -> None:
    body = gzip.compress(gzip.compress(bytes(MEGABYTE)))
    found = ask(Answer(200, (HTML, *(("Content-Encoding", coding) for coding in codings)), body))
    assert isinstance(found, Failed)
    assert found.kind is FailKind.BAD_ENCODING
    assert "more than one content coding" in found.error


@pytest.mark.parametrize("coding", ["identity", "identity, gzip", " GZIP "])
def test_one_coding_at_most_is_fine(coding: str) -> None:
    body = gzip.compress(b"hello") if "gzip" in coding.lower() else b"hello"
    found = ask(coded(body, coding))
    assert isinstance(found, Fetched)
    assert found.body == b"hello"


@pytest.mark.parametrize("packed", [True, False])
def test_the_body_of_a_redirect_is_never_decoded(packed: bool) -> None:
    body = gzip.compress(bytes(50 * MEGABYTE)) if packed else b"this is not gzip"
    found = ask(coded(body, "gzip", status=301, location="/next"))
    assert isinstance(found, Fetched)
    assert (found.status, found.location, found.body) == (301, "/next", None)


def test_a_redirect_with_a_bomb_is_followed(cli: Cli) -> None:
    bomb = coded(gzip.compress(bytes(50 * MEGABYTE)), "gzip", status=302, location="/next")
    with serve(StaticSite({"/": page("start", "/bomb"), "/bomb": bomb, "/next": page("next")})) as server:
        assert cli.crawl(server.url, "--rate", "max", "--project", "site").ok(0).json["visited"] == 3


@pytest.mark.parametrize(
    "location",
    ["http://user:s3cret@127.0.0.1:{port}/next", "//user:s3cret@127.0.0.1:{port}/next", "ftp://u:s3cret@host/x",
     "http://user:s3cret@ho st/", "http:\\\\u:s3cret@127.0.0.1:{port}\\next"],
)  # fmt: skip
def test_no_password_of_a_redirect_is_sent_or_kept(cli: Cli, location: str) -> None:
    seen: list[str] = []

    def answer(request: object) -> Answer:
        seen.append(str(request))
        return page("next")

    def start(request: object) -> Answer:
        return redirect(location.replace("{port}", str(server.port)))

    with serve(StaticSite({"/": start, "/next": answer})) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site").ok(0, 6)
    kept = b"".join(path.read_bytes() for path in cli.workspace.rglob("*") if path.is_file())
    assert b"s3cret" not in kept
    assert not any("authorization" in request.lower() or "s3cret" in request for request in seen)
    assert "s3cret" not in cli.ask("failed", "site").out


# Heads.


@contextlib.contextmanager
def wire(send: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says what it likes to each connection, until it has said it or is hung up on."""
    listening = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                peer = listening.accept()[0]
            except OSError:
                return
            with peer, contextlib.suppress(OSError):
                peer.recv(65_536)
                send(peer)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)


def one_long_header(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 10 * MEGABYTE + b"\r\n\r\n")


def ten_megabytes(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(10_000)))


def many_headers(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: a\r\n" % n for n in range(100_000)) + b"\r\n")


def interim_flood(peer: socket.socket) -> None:
    while True:
        peer.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)


def interim_flood_with_headers(peer: socket.socket) -> None:
    while True:
        peer.sendall(b"HTTP/1.1 100 Continue\r\nLink: </a>\r\nX: y\r\n\r\n" * 1000)


TRICKLED_S = 20
"""A head that never ends by itself; whoever waits for it has lost."""


def interim_trickle(peer: socket.socket) -> None:
    for _ in range(10 * TRICKLED_S):
        peer.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("send", "kind"),
    [
        (one_long_header, FailKind.PROTOCOL),
        (ten_megabytes, FailKind.PROTOCOL),
        (many_headers, FailKind.PROTOCOL),
        (interim_flood, FailKind.PROTOCOL),
        (interim_flood_with_headers, FailKind.PROTOCOL),
        (interim_trickle, FailKind.TIMEOUT),
    ],
)
def test_a_head_without_end(send: Callable[[socket.socket], None], kind: FailKind) -> None:
    before, started = peak_mb(), time.monotonic()
    with wire(send) as url:

        async def work(client: Client) -> Fetched | Failed:
            return await client.get(url)

        found = with_client(work, everything=True, timeout_s=1.0)
    assert isinstance(found, Failed)
    assert (found.kind, found.retriable) == (kind, kind is FailKind.TIMEOUT)
    assert time.monotonic() - started < TRICKLED_S
    assert peak_mb() - before <= 64


def test_a_few_interim_answers_are_fine() -> None:
    def send(peer: socket.socket) -> None:
        peer.sendall(b"HTTP/1.1 103 Early Hints\r\nContent-Type: image/png\r\nContent-Encoding: gzip\r\n\r\n" * 3)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello")

    with wire(send) as url:

        async def work(client: Client) -> Fetched | Failed:
            return await client.get(url)

        found = with_client(work, everything=True)
    assert isinstance(found, Fetched)
    assert (found.body, found.content_type) == (b"hello", "text/html")
