"""Wrong uses, as people make them: each gets its exit code and a message that helps, and nothing is lost."""

from __future__ import annotations

import hashlib
import shutil
import signal
import socketserver
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import harness
import orbweb
from harness import ORBWEB, Result, deaf_port, wait_until
from servers.pages import chain
from servers.site import StaticSite, serve

VOLATILE = ("-wal", "-shm", ".lock")


@dataclass(frozen=True)
class Place:
    """Where a command is run: a directory with a workspace and files, and a site."""

    home: Path
    url: str

    @property
    def workspace(self) -> Path:
        return self.home / "orbweb-data"

    def write(self, name: str, text: str) -> None:
        (self.home / name).write_text(text)

    def database(self) -> sqlite3.Connection:
        return sqlite3.connect(self.workspace / "orbweb.db")


def nothing(place: Place) -> None:
    """As it is."""


def newer(place: Place) -> None:
    with closing(place.database()) as db:
        db.execute("PRAGMA user_version = 999")
        db.commit()


def damaged(place: Place) -> None:
    (place.workspace / "orbweb.db").write_bytes(b"not a database, but long enough to be read as one" * 100)


def a_file(place: Place) -> None:
    shutil.rmtree(place.workspace)
    place.workspace.write_text("a file")


def writes(name: str, text: str) -> Callable[[Place], None]:
    return lambda place: place.write(name, text.replace("{url}", place.url))


def foreign_folder(place: Place) -> None:
    (place.home / "thesis").mkdir()
    place.write("thesis/chapter-1.md", "years of work")


@dataclass(frozen=True)
class Wrong:
    """`argv`, in which {url} is the site; the exit code; words of the message; what is different beforehand."""

    argv: str
    code: int
    words: tuple[str, ...]
    before: Callable[[Place], None] = nothing
    env: dict[str, str] = field(default_factory=dict)
    typed: str = ""


WRONG = {
    "misspelt command": Wrong("crwal {url}", 2, ("crwal", "crawl")),
    "misspelt option": Wrong("crawl {url} --bugdet 5", 2, ("--bugdet", "--budget")),
    "misspelt project": Wrong("pages siet", 2, ("no project 'siet'", "site")),
    "misspelt scheme": Wrong("crawl htp://127.0.0.1/docs", 2, ("did you mean http://127.0.0.1/docs ?",)),
    "one slash": Wrong("crawl http:/127.0.0.1/", 2, ("not a URL", "http://")),
    "no host": Wrong("crawl http://", 2, ("not a URL",)),
    "port out of range": Wrong("crawl http://127.0.0.1:99999/", 2, ("99999", "check its host and port")),
    "another protocol": Wrong("crawl ftp://127.0.0.1/", 2, ("only http and https",)),
    "password in the URL": Wrong("crawl http://me:hunter2@127.0.0.1/", 2, ("user name or password",)),
    "file for a URL": Wrong("crawl notes.txt", 2, ("is a file", "--seeds"), writes("notes.txt", "x")),
    "project for a URL": Wrong("crawl site", 2, ("'site' is a project", "orbweb resume site")),
    "URL for a project": Wrong("resume {url}", 2, ("takes a project, not a URL", "orbweb resume site")),
    "nothing to crawl": Wrong("crawl", 2, ("give a URL to crawl",)),
    "missing settings": Wrong("crawl {url} --config none.yaml", 2, ("none.yaml", "No such file")),
    "broken YAML": Wrong(
        "crawl {url} --config c.yaml",
        2,
        ("c.yaml", "not valid YAML", "line 2"),
        writes("c.yaml", "limits:\n  rate: ["),
    ),
    "tab in YAML": Wrong(
        "crawl {url} --config c.yaml",
        2,
        ("c.yaml", "not valid YAML", "line 2"),
        writes("c.yaml", "limits:\n\trate: 1"),
    ),
    "unknown key": Wrong(
        "crawl {url} --config c.yaml",
        2,
        ("c.yaml", "unknown key limits.rte", "did you mean limits.rate?"),
        writes("c.yaml", "limits: {rte: 1}"),
    ),
    "text for a number": Wrong(
        "crawl {url} --config c.yaml",
        2,
        ("c.yaml", "limits.workers: must be a whole number, got 'many'"),
        writes("c.yaml", "limits: {workers: many}"),
    ),
    "duplicate key": Wrong(
        "crawl {url} --config c.yaml",
        2,
        ("c.yaml", "duplicate key 'limits'"),
        writes("c.yaml", "limits: {}\nlimits: {}"),
    ),
    "unknown variable": Wrong("crawl {url}", 2, ("ORBWEB_LIMITS__SPEED",), env={"ORBWEB_LIMITS__SPEED": "3"}),
    "missing secret": Wrong("crawl {url} --header Authorization:$NOT_SET", 2, ("NOT_SET", "export it")),
    "glob for a pattern": Wrong("crawl {url} --include *.html", 2, ("not an RE2 pattern", r"\.pdf$ for *.pdf")),
    "negative budget": Wrong("crawl {url} --budget -5", 2, ("--budget", "-5", "whole number")),
    "rate of zero": Wrong("crawl {url} --rate 0", 2, ("rate", "more than 0")),
    "too many workers": Wrong("crawl {url} --workers 5000", 2, ("workers", "1024")),
    "no such order": Wrong("crawl {url} --order random", 2, ("--order", "strict")),
    "pin without an address": Wrong("crawl {url} --resolve example.org", 2, ("resolve", "HOST:PORT:ADDR")),
    "missing seeds": Wrong("crawl --seeds none.txt", 2, ("none.txt", "No such file")),
    "garbage in seeds": Wrong(
        "crawl --seeds s.txt", 2, ("s.txt, line 2", "not a URL"), writes("s.txt", "{url}\n%% what? %%\n")
    ),
    "URLs and seeds": Wrong("crawl {url} --seeds s.txt", 2, ("--seeds", "not both"), writes("s.txt", "{url}")),
    "nothing to resume": Wrong("resume site", 2, ("no paused run", "orbweb crawl --project site")),
    "paused run, other base URLs": Wrong(
        "crawl {url}other --project paused", 2, ("other base URLs", "orbweb resume paused", "--new-run")
    ),
    "recrawl of a paused run": Wrong("recrawl paused", 2, ("is paused", "orbweb finish paused")),
    "no such run": Wrong("pages site --run 7", 2, ("run 7",)),
    "nothing to compare": Wrong("diff site", 2, ("no run before run 1", "nothing to compare")),
    "unknown URL": Wrong("show site {url}never", 3, ("not known",)),
    "path for a URL": Wrong("show site /docs", 2, ("'/docs' is not an http(s) URL",)),
    "unknown kind": Wrong("retry site --kind 404", 2, ("--kind", "http_4xx")),
    "bad release": Wrong("queue site --release (", 2, ("--release", "RE2")),
    "nothing to stop": Wrong("stop site", 2, ("no crawl of project 'site' is running",)),
    "no such format": Wrong("export site --to markdwon --out x", 2, ("markdwon", "markdown")),
    "foreign folder": Wrong(
        "export site --to markdown --out thesis", 2, ("thesis", "never overwrites foreign files"), foreign_folder
    ),
    "export over the database": Wrong(
        "export site --to jsonl --out orbweb-data/orbweb.db", 2, ("stores its own files", "choose another place")
    ),
    "import of nothing": Wrong("import none", 2, ("none does not exist", "exported state")),
    "import of something else": Wrong("import .", 2, ("is not the state of a crawl", "frontier.jsonl")),
    "no such profile": Wrong("configure --profile doc", 2, ("'doc'", "docs, site or github")),
    "reset without the name": Wrong("reset", 2, ("nothing was deleted",), typed="yes\n"),
    "no workspace": Wrong(
        "status --workspace elsewhere", 2, ("elsewhere is not an orbweb workspace", "--workspace")
    ),
    "workspace that is a file": Wrong("crawl {url}", 2, ("orbweb-data is not a directory", "--workspace"), a_file),
    "newer workspace": Wrong("crawl {url}", 2, ("newer orbweb", "999", "Nothing was changed"), newer),
    "damaged database": Wrong("status", 1, ("orbweb.db", "damaged", "orbweb doctor"), damaged),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A workspace with a completed and a paused project."""
    home = tmp_path_factory.mktemp("wrong")
    with serve(StaticSite(chain(3))) as server:
        space = orbweb.open(home / "orbweb-data")
        space.crawl(server.url, project="site", rate="max", processes=0)
        space.crawl(server.url, project="paused", rate="max", processes=0, budget=1)
        yield Place(home, server.url)


@pytest.fixture
def place(made: Place, tmp_path: Path) -> Place:
    shutil.copytree(made.workspace, tmp_path / "orbweb-data")
    return Place(tmp_path, made.url)


def run(place: Place, wrong: Wrong) -> Result:
    words = [word.replace("{url}", place.url) for word in wrong.argv.split()]
    return harness.run([*ORBWEB, *words], cwd=place.home, typed=wrong.typed, env=wrong.env)


def everything(home: Path) -> dict[str, str]:
    """The content of every file, and of every table. What only says who is at work is left out."""
    found = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        if path.is_file() and not name.endswith(VOLATILE):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found | rows(home / "orbweb-data" / "orbweb.db")


def rows(database: Path) -> dict[str, str]:
    if not database.exists():
        return {}
    try:
        with closing(sqlite3.connect(database)) as db:
            dump = "\n".join(db.iterdump())
    except sqlite3.DatabaseError:
        return {}
    return {"rows": hashlib.sha256(dump.encode()).hexdigest()}


@contextmanager
def unchanged(home: Path) -> Iterator[None]:
    before = everything(home)
    yield
    assert everything(home) == before


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use(place: Place, name: str) -> None:
    wrong = WRONG[name]
    wrong.before(place)
    with unchanged(place.home):
        done = run(place, wrong)
    explained(done, wrong.code, *wrong.words)


def explained(done: Result, code: int, *words: str) -> None:
    assert done.code == code, done
    assert not done.out.strip(), "an error is no result"
    assert "Traceback" not in done.err
    assert "hunter2" not in done.err
    for word in words:
        assert word in done.err, done.err


def test_there_are_enough_of_them() -> None:
    assert len(WRONG) >= 25


def test_a_busy_project(place: Place) -> None:
    with serve(StaticSite(chain(500, delay_s=0.2))) as server:
        words = [
            *ORBWEB,
            "crawl",
            server.url,
            "--project",
            "slow",
            "--rate",
            "max",
            "--workers",
            "1",
            "--no-progress",
        ]
        crawl = subprocess.Popen(words, cwd=place.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: len(server.log) > 3)
            for argv in ("crawl --project slow", "resume slow", "retry slow", "reset --yes"):
                explained(run(place, Wrong(argv, 5, ())), 5, str(crawl.pid), "orbweb stop slow")
        finally:
            crawl.send_signal(signal.SIGTERM)
            assert crawl.wait(timeout=120) == 4


@pytest.fixture
def plain_server() -> Iterator[int]:
    """The port of a server that answers whatever it gets, as web servers do, with HTTP 400."""

    class Refusal(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_that_speaks_plain_http(tmp_path: Path, plain_server: int, host: str) -> None:
    """A host without a scheme means https."""
    meant = f"did you mean http://{host}:{plain_server}/ ?"
    for argv in (f"crawl {host}:{plain_server} --no-progress", f"plan https://{host}:{plain_server}/docs"):
        done = run(Place(tmp_path, ""), Wrong(f"{argv} --json", 6, ()))
        assert done.code == 6, done
        assert meant in done.err
        assert meant in done.json["bases"][0]["problem"]
        assert "nothing was crawled" in done.err
    (failed,) = orbweb.open(tmp_path / "orbweb-data").failed(f"{host}-{plain_server}")
    assert (failed.kind, meant in failed.reason) == ("tls", True)


def test_a_server_that_waits_for_the_end_of_a_handshake(tmp_path: Path) -> None:
    env = {"ORBWEB_FETCH__CONNECT_TIMEOUT_S": "1", "ORBWEB_FETCH__RETRIES": "0", "ORBWEB_ROBOTS__RETRY_FOR_S": "0"}
    with serve(StaticSite(chain(1))) as server:
        host = server.url.removeprefix("http://")
        done = run(Place(tmp_path, ""), Wrong(f"crawl {host} --no-progress", 6, (), env=env))
    assert done.code == 6, done
    assert f"no answer to the TLS handshake; did you mean {server.url} ?" in done.err


def test_nobody_listens(tmp_path: Path) -> None:
    with deaf_port() as port:
        wrong = Wrong(f"crawl 127.0.0.1:{port} --no-progress", 6, (), env={"ORBWEB_FETCH__RETRIES": "0"})
        done = run(Place(tmp_path, ""), wrong)
    assert done.code == 6
    assert "server is running" in done.err
    assert f"http://127.0.0.1:{port}/" in done.err
