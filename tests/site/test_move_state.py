"""The state of a crawl as plain files: out of one workspace, into another, and in from another crawler."""

from __future__ import annotations

import hashlib
import json
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness import Cli
from servers.graph import GraphSite
from servers.pages import page
from servers.site import Answer, Server, StaticSite, Validated, redirect, serve, text

BODY = b"<!doctype html><title>old</title><h1>old</h1><a href=/b>b</a><a href=/new>new</a>"
SITE: dict[str, Answer] = {
    "/": page("start", "/a", "/b", "/private/x", "/r"),
    "/a": page("a", "/b", "/c"),
    "/b": page("b", "/c", "/new"),
    "/c": page("b", "/c", "/new"),
    "/new": page("new"),
    "/r": redirect("/new"),
    "/robots.txt": text("User-agent: *\nDisallow: /private/"),
}


@pytest.fixture
def other(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "other")


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def moved(cli: Cli, other: Cli, home: Path) -> dict[str, object]:
    """What is said about the import of a state that was exported with its bodies."""
    cli("export", "site", "--to", "state", "--out", home / "state", "--no-progress").ok()
    cli("export", "site", "--to", "files", "--out", home / "bodies", "--no-progress").ok()
    return other("import", home / "state", "--bodies", home / "bodies", "--json", "--no-progress").ok().json


@pytest.fixture(scope="module")
def graph() -> Iterator[Server]:
    with serve(GraphSite(5, 120)) as server:
        yield server


@pytest.mark.parametrize("budget", [1, 7, 40, 90])
def test_a_crawl_that_is_moved_ends_as_one_that_is_not(
    graph: Server, cli: Cli, other: Cli, tmp_path: Path, budget: int
) -> None:
    whole = Cli(tmp_path / "whole")
    asked = (graph.url, "--rate", "max", "--project", "site")
    whole.crawl(*asked).ok(3)
    cli.crawl(*asked, "--budget", budget).ok(4)
    report = moved(cli, other, tmp_path)
    assert (report["state"], report["missing"], report["repeated"]) == ("paused", 0, 0)
    assert other.manifest("site") == cli.manifest("site")
    other.check("site")
    other("doctor").ok()
    graph.reset()
    other.resume("site", "--budget", "none").ok(3)
    assert other.manifest_hash("site") == whole.manifest_hash("site")
    other.check("site")
    other("doctor").ok()
    fetched = {line[1] for line in cli.manifest("site")}
    asked_again = {graph.url.rstrip("/") + hit.path for hit in graph.log} & fetched
    assert not asked_again


def test_what_was_exported_says_what_is_queued_and_known(cli: Cli, tmp_path: Path) -> None:
    with serve(Validated(StaticSite(SITE))) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 2).ok(4)
        cli("export", "site", "--to", "state", "--out", tmp_path / "state").ok()
    queued = lines(tmp_path / "state" / "frontier.jsonl")
    assert [entry["url"] for entry in queued] == [server.url + path for path in ("b", "private/x", "r", "c")]
    assert [entry["rank"] for entry in queued] == sorted(entry["rank"] for entry in queued)
    assert queued[0]["referrer"] == server.url
    assert (queued[0]["depth"], queued[0]["source"], queued[0]["page_type"]) == (1, "spider", "page")
    index = lines(tmp_path / "state" / "page_index.jsonl")
    assert (tmp_path / "state" / "fetched_urls.txt").read_text().splitlines() == [entry["url"] for entry in index]
    assert all(entry["etag"] and entry["sha256"] and entry["stored_path"] for entry in index)
    assert [entry["url"] for entry in cli.ask("index", "site", "--json").ok().json] == [e["url"] for e in index]


def test_a_completed_run_stays_completed_and_is_asked_conditionally(cli: Cli, other: Cli, tmp_path: Path) -> None:
    with serve(Validated(StaticSite(SITE))) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site").ok()
        assert moved(cli, other, tmp_path)["state"] == "completed"
        other("doctor").ok()
        done = other("recrawl", "site", "--json", "--no-progress").ok()
    assert done.json["not_modified"] == done.json["pages"] + done.json["alternates"] == 5


# Another crawler's files.


def foreign(home: Path, base: str) -> Path:
    """A folder with a queue, an index with one body, and a list of what was fetched; and nothing more."""
    sha256 = hashlib.sha256(BODY).hexdigest()
    file = home / "bodies" / sha256[:2] / sha256[2:4] / f"{sha256}.html"
    file.parent.mkdir(parents=True)
    file.write_bytes(BODY)
    (home / "frontier.jsonl").write_text(
        "".join(json.dumps({"url": base + path, "depth": 1}) + "\n" for path in ("b", "a", "b#again"))
    )
    index = {"url": base, "depth": 0, "sha256": sha256, "etag": '"1"', "status": 200, "content_type": "text/html"}
    (home / "page_index.jsonl").write_text(json.dumps(index) + "\n")
    (home / "fetched_urls.txt").write_text(f"{base}\n{base}c\n")
    return home


def test_files_of_another_crawler_are_gone_on_with(cli: Cli, tmp_path: Path) -> None:
    with serve(StaticSite(SITE)) as server:
        home = foreign(tmp_path / "crawl", server.url)
        report = cli("import", home, "--project", "site", "--json").ok().json
        assert (report["visited"], report["queued"], report["skipped"], report["found"]) == (1, 3, 1, 1)
        assert (report["pages"], report["bodies"], report["repeated"]) == (1, 1, 1)
        cli("doctor").ok()
        cli.resume("site", "--rate", "max").ok()
        paths = [hit.path for hit in server.log if hit.path != "/robots.txt"]
    assert sorted(paths) == ["/a", "/b", "/new"]
    assert [line[1].rpartition("/")[2] for line in cli.manifest("site")] == ["", "b", "a", "new"]
    assert cli.ask("explain", "site", f"{server.url}c", "--json").ok().json["reason"] == "imported"
    rows = (cli.workspace / "logs" / "pages-site-1.csv").read_text().splitlines()
    assert len(rows) == 1 + 4


def test_a_list_of_urls_and_a_base_is_enough(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    home.mkdir()
    with serve(StaticSite(SITE)) as server:
        (home / "fetched_urls.txt").write_text(f"{server.url}a\n{server.url}b\n")
        done = cli("import", home)
        assert done.code == 2
        assert "--base URL" in done.err
        cli("import", home, "--base", server.url).ok()
        cli.resume("crawl", "--rate", "max").ok()
    assert [line[1].rpartition("/")[2] for line in cli.manifest("crawl")] == ["", "r", "new"]


OTHERS = {"http://127.0.0.1/x", "http://127.0.0.1/kept"}


@pytest.mark.parametrize(
    ("name", "line", "said", "is_taken"),
    [
        ("frontier.jsonl", "nonsense", "not JSON", False),
        ("frontier.jsonl", "[1]", "not a JSON object", False),
        ("frontier.jsonl", '{"depth": 1}', "url is missing", False),
        ("frontier.jsonl", '{"url": 7}', "url is 7, not a string", False),
        ("frontier.jsonl", '{"url": "ftp://x/"}', "url is 'ftp://x/', which is not an http(s) URL", False),
        ("frontier.jsonl", '{"url": "' + "x" * (1 << 20) + '"}', "longer than 1048576 bytes", False),
        ("frontier.jsonl", '{"url": "http://127.0.0.1/x", "depth": -1}', "depth is -1", True),
        ("frontier.jsonl", '{"url": "http://127.0.0.1/x", "source": "magic"}', 'source is "magic"', True),
        ("frontier.jsonl", '{"url": "http://127.0.0.1/x", "rank": 1.5}', "rank is not an integer", True),
        ("page_index.jsonl", '{"url": "http://127.0.0.1/x", "sha256": "12"}', "sha256 is not a SHA-256", True),
        ("page_index.jsonl", '{"url": "http://127.0.0.1/x", "status": 7}', "status is 7", True),
        ("page_index.jsonl", '{"url": "http://127.0.0.1/x", "status":200, "timestamp": "x"}', "timestamp", True),
        ("fetched_urls.txt", "not a url", "url is 'not a url'", False),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_what_is_not_understood_is_named_and_the_rest_is_imported(
    cli: Cli, tmp_path: Path, name: str, line: str, said: str, is_taken: bool
) -> None:
    home = foreign(tmp_path / "crawl", "http://127.0.0.1/")
    kept = "http://127.0.0.1/kept"
    (home / name).write_text(f"{line}\n{kept if name.endswith('.txt') else json.dumps({'url': kept})}\n")
    done = cli("import", home, "--project", "site", "--base", "http://127.0.0.1/", "--json").ok()
    assert f"{name}: line 1: {said}" in done.err
    assert [each for each in done.json["problems"] if f"{name}: line 1: {said}" in each]
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
        found = {url for (url,) in db.execute("SELECT COALESCE(url, key) FROM urls")}
    assert found & OTHERS == (OTHERS if is_taken else {kept})
    cli("doctor").ok()


def test_problems_beyond_a_thousand_are_counted(cli: Cli, tmp_path: Path) -> None:
    home = foreign(tmp_path / "crawl", "http://127.0.0.1/")
    (home / "frontier.jsonl").write_text("x\n" * 1_003)
    done = cli("import", home, "--project", "site", "--json").ok()
    assert (len(done.json["problems"]), done.json["unnamed_problems"]) == (1_000, 3)
    assert "and 3 more" in done.err


def test_a_state_of_another_version_is_refused(cli: Cli, tmp_path: Path) -> None:
    home = foreign(tmp_path / "crawl", "http://127.0.0.1/")
    (home / "state.json").write_text('{"orbweb_state": 99}')
    done = cli("import", home, "--project", "site")
    assert (done.code, done.out) == (2, "")
    assert "orbweb_state is not 1" in done.err
    assert cli.ask("status", "--json").json == []


def test_a_state_json_of_another_crawler_is_left_out(cli: Cli, tmp_path: Path) -> None:
    home = foreign(tmp_path / "crawl", "http://127.0.0.1/")
    (home / "state.json").write_text('{"running": true}')
    done = cli("import", home, "--project", "site", "--json").ok()
    assert "state.json: line 1: not a state that orbweb exported" in done.err
    assert done.json["visited"] == 1


def test_a_body_with_another_hash_is_named_and_missing(cli: Cli, tmp_path: Path) -> None:
    home = foreign(tmp_path / "crawl", "http://127.0.0.1/")
    (file,) = (home / "bodies").rglob("*.html")
    file.write_bytes(BODY + b" ")
    done = cli("import", home, "--project", "site", "--json").ok()
    assert f"{file.name}: the body does not match its SHA-256" in done.err
    assert (done.json["bodies"], done.json["missing"], done.json["visited"]) == (0, 1, 1)
    cli("doctor").ok()


def test_a_project_that_is_there_is_not_touched(cli: Cli, tmp_path: Path) -> None:
    home = foreign(tmp_path / "crawl", "http://127.0.0.1/")
    cli("import", home, "--project", "site").ok()
    done = cli("import", home, "--project", "site")
    assert done.code == 2
    assert "--project NAME" in done.err


def test_a_killed_import_leaves_nothing_and_can_be_repeated(cli: Cli, tmp_path: Path) -> None:
    home = foreign(tmp_path / "crawl", "http://127.0.0.1/")
    done = cli("import", home, "--project", "site", env={"ORBWEB_FAULT": "blob_synced:1"})
    assert done.code == -signal.SIGKILL
    assert cli.ask("status", "--json").ok().json == []
    cli("doctor").ok()
    assert cli("import", home, "--project", "site", "--json").ok().json["pages"] == 1
    cli("doctor").ok()
