"""Heads are stored as they were sent and received, without secrets, in few bytes, and doctor knows them."""

from __future__ import annotations

import contextlib
import shutil
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import orbweb
from harness import Cli
from orbweb.app.doctor import check_store
from servers.graph import GraphSite
from servers.pages import page
from servers.site import Answer, Request, StaticSite, Validated, html, redirect, serve

FAST = ("--rate", "max", "--project", "site", "--sitemap", "off")
QUICK = {"ORBWEB_FETCH__BACKOFF_S": "0.01"}
GROUPED = {"ORBWEB_ENGINE__GROUP_PAGES": "1"}
NO_ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Wire:
    """A server that sends the very bytes it is told to, and keeps what it received."""

    answer: Callable[[bytes], bytes]
    no_robots: bytes = NO_ROBOTS
    received: list[bytes] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def serve(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            left = b""
            while chunk := peer.recv(65_536):
                *heads, left = (left + chunk).split(b"\r\n\r\n")
                for head in heads:
                    is_page = b" /robots.txt " not in head
                    self.received += [head + b"\r\n\r\n"] * is_page
                    answer = self.answer(head) if is_page else self.no_robots
                    peer.sendall(answer)
                    if b"connection: close" in answer.lower():
                        return


@contextlib.contextmanager
def wired(answer: Callable[[bytes], bytes]) -> Iterator[Wire]:
    listening = socket.create_server(("127.0.0.1", 0))
    wire = Wire(answer, port=listening.getsockname()[1])

    def run() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=wire.serve, args=(listening.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield wire
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)


BODY = b"<title>t</title><p>words of a page"
ODD = (
    b"HTTP/1.1 200 Fine, thanks\r\nserver:odd\r\nSERVER:   twice\r\nDate: Wed, 18 Nov 2026 06:24:57 GMT\r\n"
    b"Date: yesterday\r\nX-Bytes: \xff\xfe\xc3\xb6\r\nEmpty:\r\nSet-Cookie: sid=anonymous; Path=/\r\n"
    b'ETag: "one"\r\nETag: "two"\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n' % len(BODY)
)


def test_the_heads_are_those_on_the_wire_byte_for_byte(cli: Cli) -> None:
    with wired(lambda _head: ODD + BODY) as wire:
        cli.crawl(f"{wire.url}a?b=c", *FAST).ok(0)
        request, response = orbweb.open(cli.workspace).head("site", f"{wire.url}a?b=c") or (b"", b"")
    assert response == ODD
    assert [request] == wire.received
    command = cli.command("show", "site", f"{wire.url}a?b=c", "--as", "head")
    assert subprocess.run(command, capture_output=True, check=True).stdout == wire.received[0] + ODD
    assert check_store(cli.workspace)["damages"] == []


def test_an_old_protocol_is_told_as_it_was_spoken(cli: Cli) -> None:
    """libcurl falls back to HTTP/1.0 on a connection that has answered so."""
    head = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"

    def answer(request: bytes) -> bytes:
        body = b"<a href=/a><a href=/b>start" if b" / " in request else request[:10]
        return head % len(body) + body

    with wired(answer) as wire:
        wire.no_robots = NO_ROBOTS.replace(
            b"HTTP/1.1 404 Not Found", b"HTTP/1.0 404 Not Found\r\nConnection: keep-alive"
        )
        cli.crawl(wire.url, *FAST, "--workers", 1).ok(0)
        space = orbweb.open(cli.workspace)
        stored = [space.head("site", wire.url + path) for path in ("", "a", "b")]
    assert [found.request for found in stored if found] == wire.received


def test_a_large_head_is_stored_whole(cli: Cli) -> None:
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"%d" % number * 60) for number in range(1_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 34\r\n" + lines + b"\r\n"
    with wired(lambda _head: head + BODY) as wire:
        cli.crawl(wire.url, *FAST).ok(0)
        found = orbweb.open(cli.workspace).head("site", wire.url)
    assert found is not None
    assert found.response == head
    assert len(head) > 150_000
    assert (cli.workspace / "orbweb.db").stat().st_size < 400_000


FINAL = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 34\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + FINAL + BODY, FINAL),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n"
            b"22\r\n" + BODY + b"\r\n0\r\nX-Trailer: later\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n",
        ),
    ],
    ids=["interim", "trailers"],
)
def test_only_the_head_of_the_final_response_is_stored(cli: Cli, sent: bytes, kept: bytes) -> None:
    with wired(lambda _head: sent) as wire:
        cli.crawl(wire.url, *FAST).ok(0)
        found = orbweb.open(cli.workspace).head("site", wire.url)
    assert found is not None
    assert found.response == kept


def test_failures_and_redirects_have_the_heads_they_got(cli: Cli) -> None:
    answers: dict[bytes, bytes] = {
        b"/": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 59\r\n\r\n"
        b"<a href=/moved><a href=/gone><a href=/large><a href=/short>.",
        b"/moved": b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
        b"/gone": b'HTTP/1.1 410 Gone\r\nETag: "e"\r\nContent-Length: 0\r\n\r\n',
        b"/large": b'HTTP/1.1 200 OK\r\nETag: "l"\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n'
        + b"x" * 9_000,
        b"/short": b'HTTP/1.1 200 OK\r\nETag: "s"\r\nContent-Length: 99\r\nConnection: close\r\n\r\nhalf',
        b"/elsewhere": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n",
    }
    with wired(lambda head: answers[head.split()[1]]) as wire:
        cli.crawl(wire.url, *FAST, env={**QUICK, "ORBWEB_FETCH__MAX_BYTES": "5000"}).ok(3)
        space = orbweb.open(cli.workspace)
        for path, answer in answers.items():
            found = space.head("site", wire.url[:-1] + path.decode())
            assert found is not None, path
            assert found.response == answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
            assert found.request in wire.received
    assert check_store(cli.workspace)["damages"] == []


def test_where_nothing_answered_there_is_no_head(cli: Cli) -> None:
    with wired(
        lambda _head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n<a href=/x>links.."
    ) as wire:
        cli.crawl(wire.url, *FAST, "--max-depth", 0).ok(0)
    shown = cli.ask("show", "site", f"{wire.url}x", "--as", "head")
    assert (shown.code, "no headers are stored" in shown.err, "max_depth" in shown.err) == (3, True, True)
    assert cli.ask("show", "site", wire.url, "--as", "head", "--json").code == 2


def test_a_recrawl_has_the_head_of_its_own_response(cli: Cli) -> None:
    """Of a 304 with its conditions; of a visit without a request none."""
    with serve(Validated(StaticSite({"/": page("start", "/a"), "/a": page("a")}))) as server:
        cli.crawl(server.url, *FAST).ok(0)
        cli("recrawl", "site", "--no-progress").ok(0)
        space = orbweb.open(cli.workspace)
        found, earlier = space.head("site", f"{server.url}a"), space.head("site", f"{server.url}a", run=1)
        cli("recrawl", "site", "--no-progress", env={"ORBWEB_CACHE__MAX_AGE_S": "1000"}).ok(0)
    assert found is not None
    assert earlier is not None
    assert found.response.startswith(b"HTTP/1.1 304 ")
    assert earlier.response.startswith(b"HTTP/1.1 200 ")
    tag = next(line for line in earlier.response.split(b"\r\n") if line.lower().startswith(b"etag: "))[6:]
    assert b"\r\nIf-None-Match: " + tag + b"\r\n" in found.request
    assert b"If-None-Match" not in earlier.request
    cached = cli.ask("show", "site", f"{server.url}a", "--as", "head")
    assert (cached.code, "without a request" in cached.err) == (3, True)
    assert check_store(cli.workspace)["damages"] == []


def test_conditions_are_stored_as_sent_where_the_answer_has_other_ones(cli: Cli) -> None:
    def answer(head: bytes) -> bytes:
        if b"If-None-Match" not in head:
            return FINAL.replace(b"\r\n\r\n", b'\r\nETag: "one"\r\n\r\n') + BODY
        return FINAL.replace(b"\r\n\r\n", b'\r\nETag: "two"\r\n\r\n') + BODY.replace(b"words", b"other")

    with wired(answer) as wire:
        cli.crawl(wire.url, *FAST).ok(0)
        cli("recrawl", "site", "--no-progress").ok(0)
        found = orbweb.open(cli.workspace).head("site", wire.url)
    assert found is not None
    assert found.request == wire.received[-1]
    assert b'If-None-Match: "one"' in found.request
    assert b'ETag: "two"' in found.response


SECRET = "c4nary-0f-a-user"


def test_no_secret_is_in_a_stored_head(cli: Cli) -> None:
    """Neither what is sent, nor what a server sends back of it, nor what it gives to whom it knows."""
    sent: list[Request] = []

    def answer(request: Request) -> Answer:
        sent.append(request)
        echo = (("X-Echo", f"token {SECRET}-key!"), ("Location", f"/next?t={SECRET}-param"))
        cookies = (("Set-Cookie", f"sid={SECRET}-given; Path=/; HttpOnly"),)
        return Answer(
            200, (("Content-Type", "text/html"), *echo, *cookies), b"<a href=/a>a</a>" + request.target.encode()
        )

    env = {
        "ORBWEB_FETCH__HEADERS": "{x-key: $KEY, cookie: $COOKIE, x-plain: shown}",
        "ORBWEB_FETCH__PARAMS": "{t: $PARAM}",
        "ORBWEB_FETCH__AUTH": "$AUTH",
        "ORBWEB_FETCH__COOKIES": "keep",
        "KEY": f"{SECRET}-key",
        "COOKIE": f"login={SECRET}-cookie",
        "PARAM": f"{SECRET}-param",
        "AUTH": f"user:{SECRET}-password",
    }
    with serve(StaticSite({"/": answer, "/a": answer})) as server:
        cli.crawl(server.url, *FAST, env=env).ok(0)
    assert any(SECRET in request.target and SECRET in request.headers["x-key"] for request in sent)
    for path in ("", "a"):
        found = orbweb.open(cli.workspace).head("site", server.url + path)
        assert found is not None
        both = b"".join(found)
        assert SECRET.encode() not in both
        for line in (
            b"X-Echo: token [redacted]!",
            b"Set-Cookie: sid=[redacted]; Path=/; HttpOnly",
            b"x-plain: shown",
            b"x-key: [redacted]",
            b"authorization: [redacted]",
            b"Cookie: [redacted]",
            b"t=REDACTED",
        ):
            assert line in both, line
    assert check_store(cli.workspace)["damages"] == []


def test_no_password_of_a_url_is_in_a_stored_head(cli: Cli) -> None:
    """Whatever header it is in, also one that the row of the visit has."""
    secret = b"//user:" + SECRET.encode() + b"@host/x"
    head = b"HTTP/1.1 302 Found\r\nLocation: http:%b\r\nETag: %b\r\nLink: <ftp:%b>\r\nContent-Length: 0\r\n\r\n"
    with wired(lambda _head: head % (secret, secret, secret)) as wire:
        cli.crawl(wire.url, *FAST, "--external-hops", 0).ok(0, 3, 6)
        found = orbweb.open(cli.workspace).head("site", wire.url)
    assert found is not None
    shown = secret.replace(b"user:" + SECRET.encode(), b"[redacted]")
    assert found.response == head % (shown, shown, shown)
    assert check_store(cli.workspace)["damages"] == []


# What is kept, and what becomes of it.


def head_rows(workspace: Path) -> list[tuple[int, bytes]]:
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
        return db.execute("SELECT head, head_values FROM visits ORDER BY number").fetchall()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    path = tmp_path_factory.mktemp("graph") / "workspace"
    with serve(Validated(GraphSite(7, 150))) as server:
        orbweb.open(path).crawl(server.url, project="site", rate="max", processes=0)
        yield path, server.url


def test_equal_heads_are_shared(graph: tuple[Path, str]) -> None:
    rows = head_rows(graph[0])
    assert len(rows) > 100
    assert len({head for head, _ in rows}) < 20
    assert sum(len(values) for _, values in rows) < 30 * len(rows)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE heads SET frame = substr(frame, 1, 20) WHERE id = 1", "head 1"),
        ("UPDATE heads SET size = size + 1 WHERE id = 1", "head 1"),
        ("DELETE FROM heads WHERE id = 1", "head of URL"),
        ("UPDATE visits SET head_values = x'00010203040506' WHERE number = 3", "head of URL"),
        ("UPDATE visits SET head_values = x'01abcdef' WHERE number = 3", "head of URL"),
        ("UPDATE visits SET head_values = x'02' WHERE number = 3", "head of URL"),
        ("UPDATE visits SET head_values = NULL WHERE number = 3", "head of URL"),
        ("UPDATE visits SET head = NULL WHERE number = 3", "head of URL"),
    ],
)
def test_doctor_names_a_damaged_head_and_gives_it_up_alone(
    graph: tuple[Path, str], tmp_path: Path, damage: str, named: str
) -> None:
    path = shutil.copytree(graph[0], tmp_path / "workspace")
    manifest = orbweb.open(path).manifest_hash("site")
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        db.execute(damage)
        db.commit()
    found = check_store(path)["damages"]
    assert any(named in each["where"] for each in found), found
    assert Cli(path)("doctor", "--repair").code in (0, 3)
    assert check_store(path)["damages"] == []
    assert orbweb.open(path).manifest_hash("site") == manifest
    rows = head_rows(path)
    assert any(head is None for head, _ in rows)
    assert any(head is not None for head, _ in rows)


def test_heads_survive_a_rebuilt_database(graph: tuple[Path, str], tmp_path: Path) -> None:
    """One page of another table is lost: the rest is taken over row by row."""
    path = shutil.copytree(graph[0], tmp_path / "workspace")
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'robots'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with (path / "orbweb.db").open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * 100)
    before = head_rows(graph[0])
    Cli(path)("doctor", "--repair").ok(0, 3)
    assert head_rows(path) == before
    assert check_store(path)["damages"] == []


def test_a_retried_url_has_the_head_of_its_last_visit(cli: Cli) -> None:
    answers = [b"HTTP/1.1 404 Not Found\r\nX: first\r\nContent-Length: 0\r\n\r\n", FINAL + BODY]

    def answer(head: bytes) -> bytes:
        if b" / " in head:
            return FINAL + b"<title>s</title><a href=/a>a</a>.."
        return answers.pop(0)

    with wired(answer) as wire:
        cli.crawl(wire.url, *FAST).ok(3)
        cli("retry", "site").ok(0)
        cli.resume("site").ok(0)
        found = orbweb.open(cli.workspace).head("site", f"{wire.url}a")
    assert found is not None
    assert found.response == FINAL
    assert check_store(cli.workspace)["damages"] == []


def test_two_projects_share_templates(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite({"/": html("<title>one</title>"), "/r": redirect("/")})) as server:
        for name in ("one", "two"):
            space.crawl(server.url, project=name, rate="max")
    assert {head for head, _ in head_rows(tmp_path / "w")} == {1}


def own_header(number: int) -> tuple[tuple[str, str], ...]:
    return ("Content-Type", "text/html"), (f"X-Kind-{number}", "1")


def test_two_crawls_at_the_same_time_share_templates(cli: Cli) -> None:
    """Each meets every template first; whoever commits later finds the other's row."""
    pages = {f"/{number}": Answer(200, own_header(number), b"<title>%d</title>" % number) for number in range(40)}
    start = html("".join(f"<a href={path}>x</a>" for path in pages))
    with serve(StaticSite({"/": start, **pages})) as server:
        names = ("one", "two", "three")
        crawls = [
            cli.start("crawl", server.url, "--rate", "max", "--project", name, env=GROUPED) for name in names
        ]
        for crawl in crawls:
            crawl.communicate(timeout=120)
        assert [crawl.returncode for crawl in crawls] == [0, 0, 0]
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
        templates = db.execute("SELECT COUNT(*), COUNT(DISTINCT sha256) FROM heads").fetchone()
        named = {name for (name,) in db.execute("SELECT DISTINCT head FROM visits")}
        known = {number for (number,) in db.execute("SELECT id FROM heads")}
    assert templates[0] == templates[1] >= 41
    assert named == known
    assert check_store(cli.workspace)["damages"] == []


def test_state_is_moved_without_heads(cli: Cli, tmp_path: Path) -> None:
    with serve(StaticSite({"/": page("start", "/a"), "/a": page("a")})) as server:
        cli.crawl(server.url, *FAST).ok(0)
        cli("export", "site", "--to", "state", "--out", tmp_path / "state").ok()
        other = Cli(tmp_path / "other")
        other("import", tmp_path / "state", "--project", "site").ok(0, 4)
    shown = other.ask("show", "site", f"{server.url}a", "--as", "head")
    assert (shown.code, "imported" in shown.err) == (3, True)
    assert check_store(other.workspace)["damages"] == []
