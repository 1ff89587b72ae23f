"""The files of other crawlers are imported as they are; nothing outside their folder is read."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import struct
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import lmdb
import pytest
import zstandard

import orbweb
from harness import Cli
from orbweb.export.state.files import StateLine
from servers.pages import page
from servers.site import Answer, Server, StaticSite, Validated, serve, text

SITE: dict[str, Answer] = {
    "/": page("start", "/a", "/b", "/c"),
    "/a": page("a", "/d"),
    "/b": page("b", "/e"),
    "/c": page("c"),
    "/d": page("d"),
    "/e": page("e"),
}


def sha256(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def write_lines(path: Path, *entries: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def write_lmdb(path: Path, entries: dict[bytes, bytes], *, subdir: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with lmdb.open(str(path), map_size=1 << 24, subdir=subdir) as opened, opened.begin(write=True) as transaction:
        for key, value in entries.items():
            transaction.put(key, value)


def write_body(home: Path, body: bytes, *, compressed: bool = False) -> str:
    name = sha256(body)
    file = home / name[:2] / name[2:4] / f"{name}.html{'.zst' if compressed else ''}"
    file.parent.mkdir(parents=True)
    file.write_bytes(zstandard.compress(body) if compressed else body)
    return name


def mark(home: Path, url: str) -> None:
    name = sha256(url)
    file = home / "seen" / name[:2] / name[2:4] / f"{name}.seen"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


def index_entry(server: Server, path: str, **fields: Any) -> dict[str, Any]:
    return {"url": server.url + path, "etag": '"1"', "last_modified": None, "stored_path": "/etc/passwd", **fields}


def visited(cli: Cli, server: Server) -> list[str]:
    return [line[1].removeprefix(server.url) for line in cli.manifest("site")]


def requested(server: Server) -> list[str]:
    return sorted(hit.path for hit in server.log if hit.path not in ("/robots.txt", "/sitemap.xml"))


# Times.


@pytest.mark.parametrize(
    "given",
    [
        1_735_787_045,
        1_735_787_045.0,
        1_735_787_045_000,
        1_735_787_045_000_000,
        "1735787045",
        "2025-01-02T03:04:05Z",
        "2025-01-02T03:04:05",
        "2025-01-02 04:04:05+01:00",
        "Thu, 02 Jan 2025 03:04:05 GMT",
    ],
)
def test_a_time_is_a_number_or_a_text(given: object) -> None:
    assert StateLine(Path("f"), 1, {"at": given}).instant("at") == 1_735_787_045_000_000


@pytest.mark.parametrize(
    "given", ["soon", -1, True, [], {}, 1e300, float("nan"), float("inf"), 10**400, "9" * 400]
)
def test_what_is_no_time_is_named(given: object) -> None:
    line = StateLine(Path("f"), 3, {"at": given})
    assert line.instant("at") is None
    assert [said for said in line.problems.named if said.startswith("f: line 3: at is ")]


@pytest.mark.parametrize("timestamp", [1_735_787_045, "2025-01-02T03:04:05Z"])
def test_an_index_with_integer_or_text_times_is_imported(cli: Cli, tmp_path: Path, timestamp: object) -> None:
    with serve(StaticSite(SITE)) as server:
        write_lines(
            tmp_path / "crawl" / "page_index.jsonl", index_entry(server, "", status=200, timestamp=timestamp)
        )
        cli("import", tmp_path / "crawl", "--project", "site", "--base", server.url).ok()
    (entry,) = cli.ask("index", "site", "--json").ok().json
    assert entry["timestamp"].startswith("2025-01-02T03:04:05")


# Bodies.


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("place", ["bodies", "html", "store/html"])
def test_bodies_are_found_with_and_without_zst(cli: Cli, tmp_path: Path, place: str, compressed: bool) -> None:
    home = tmp_path / "crawl"
    with serve(Validated(StaticSite(SITE))) as server:
        name = write_body(home / place, b"<title>old</title><a href=/c>c</a>", compressed=compressed)
        write_lines(home / "state" / "page_index.jsonl", index_entry(server, "a", sha256=name))
        report = cli("import", home, "--project", "site", "--base", server.url, "--json").ok().json
        assert (report["bodies"], report["pages"], report["missing"], report["found"]) == (1, 1, 0, 1)
        cli.resume("site", "--rate", "max").ok()
        assert visited(cli, server) == ["a", "", "b", "c", "e"]
    cli("doctor").ok()


def test_a_page_without_a_body_is_never_asked_conditionally(cli: Cli, tmp_path: Path) -> None:
    with serve(Validated(StaticSite(SITE))) as server:
        with urlopen(server.url) as response:
            etag = response.headers["ETag"]
        write_lines(
            tmp_path / "crawl" / "page_index.jsonl",
            index_entry(server, "", status=200, content_type="text/html", etag=etag),
        )
        cli("import", tmp_path / "crawl", "--project", "site", "--base", server.url).ok()
        for expected in (0, len(SITE)):
            done = cli("recrawl", "site", "--rate", "max", "--json", "--no-progress").ok().json
            assert (done["pages"], done["not_modified"]) == (len(SITE), expected)


# LMDB.


@pytest.mark.parametrize("subdir", [True, False], ids=["folder", "file"])
def test_lmdb_files_of_another_crawler_are_gone_on_with(cli: Cli, tmp_path: Path, subdir: bool) -> None:
    home = tmp_path / "crawl"
    with serve(StaticSite(SITE)) as server:
        body = page("start", "/a", "/b", "/c").body
        entry = index_entry(server, "", sha256=write_body(home / "store/html", body), timestamp=1_735_787_045)
        write_lmdb(
            home / "state" / "page_index.lmdb", {server.url.encode(): json.dumps(entry).encode()}, subdir=subdir
        )
        queue = {
            struct.pack(">dQ", -1.5, 3): f"{server.url}b".encode(),
            struct.pack(">dQ", 2.0, 1): json.dumps({"url": f"{server.url}a", "depth": 1}).encode(),
            struct.pack(">dQ", 2.0, 0): f"{server.url}c".encode(),
        }
        write_lmdb(home / "state" / "frontier.lmdb", queue, subdir=subdir)
        before = sorted(home.rglob("*"))
        report = cli("import", home, "--project", "site", "--base", server.url, "--json").ok().json
        assert (report["visited"], report["pages"], report["queued"], report["problems"]) == (1, 1, 3, [])
        assert sorted(home.rglob("*")) == before
        cli.resume("site", "--rate", "max").ok()
        assert visited(cli, server) == ["", "b", "c", "a", "e", "d"]
        assert requested(server) == ["/a", "/b", "/c", "/d", "/e"]
    cli("doctor").ok()


def test_entries_of_lmdb_that_are_not_understood_are_named(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    write_lmdb(
        home / "page_index.lmdb",
        {
            b"http://127.0.0.1/": b'{"sha256": null, "status": 200}',
            b"http://127.0.0.1/a": b"nonsense",
            b"http://127.0.0.1/b": b"[]",
            b"http://127.0.0.1/c": b'{"etag": "' + b"x" * (1 << 20) + b'"}',
            b"mailto:x": b"{}",
            b"\xff": b"{}",
        },
    )
    write_lmdb(
        home / "frontier.lmdb",
        {
            b"short": b"http://127.0.0.1/d",
            struct.pack(">dQ", 1.0, 1): b"\xff\xfe",
            struct.pack(">dQ", float("nan"), 1): b"http://127.0.0.1/e",
            struct.pack(">dQ", 2.0, 1): b"",
        },
    )
    report = cli("import", home, "--project", "site", "--base", "http://127.0.0.1/", "--json").ok().json
    assert (report["visited"], report["queued"]) == (1, 1)
    named = [problem.partition(".lmdb: ")[2] for problem in report["problems"]]
    assert [problem.partition(" (")[0] for problem in named] == [
        "entry 2: the value is not JSON",
        "entry 3: the value is not a JSON object",
        "entry 4: the value is too long",
        "entry 5: url is 'mailto:x', which is not an http(s) URL",
        "entry 6: the key is not UTF-8",
        "entry 1: the value is not JSON",
        "entry 2: the value is not JSON",
        "entry 4: the key has 5 bytes, not the 16 of score and counter",
    ]


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "empty"])
def test_a_damaged_lmdb_file_is_named_and_the_rest_is_imported(cli: Cli, tmp_path: Path, damage: str) -> None:
    home = tmp_path / "crawl"
    urls = {f"http://127.0.0.1/{number:04}".encode(): b'{"status": 200}' for number in range(2_000)}
    write_lmdb(home / "page_index.lmdb", urls)
    file = home / "page_index.lmdb" / "data.mdb"
    data = file.read_bytes()
    file.write_bytes(
        {
            "cut": data[: len(data) // 2],
            "flipped": data[: 3 * 4096] + b"\xff" * 4096 + data[4 * 4096 :],
            "text": b"page index " * 1000,
            "empty": b"",
        }[damage]
    )
    (home / "fetched_urls.txt").write_text("http://127.0.0.1/kept\n")
    done = cli("import", home, "--project", "site", "--base", "http://127.0.0.1/", "--json").ok()
    assert [
        problem for problem in done.json["problems"] if "page_index.lmdb: " in problem and "left out" in problem
    ]
    assert (done.json["visited"], done.json["skipped"]) == (0, 1)


def test_without_the_package_lmdb_the_import_says_what_to_install(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    write_lmdb(home / "page_index.lmdb", {b"http://127.0.0.1/": b"{}"})
    (tmp_path / "absent" / "lmdb").mkdir(parents=True)
    (tmp_path / "absent" / "lmdb" / "__init__.py").write_text("raise ImportError")
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "absent"), *filter(None, sys.path)])}
    done = cli("import", home, "--base", "http://127.0.0.1/", env=env)
    assert done.code == 2
    assert "pip install 'orbweb[lmdb]'" in done.err


# URLs that were seen.


def test_a_url_whose_hash_is_among_the_seen_counts_as_seen(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    with serve(StaticSite(SITE)) as server:
        write_lines(home / "frontier.jsonl", {"url": f"{server.url}b", "depth": 1, "score": 0.5})
        for path in ("b", "c/", "d"):
            mark(home, server.url + path)
        (home / "seen" / "README").touch()
        report = cli("import", home, "--project", "site", "--base", server.url, "--json").ok().json
        assert (report["seen"], report["queued"]) == (3, 2)
        assert [problem for problem in report["problems"] if "seen/README: not HASH.seen" in problem]
        cli.resume("site", "--rate", "max").ok()
        assert requested(server) == ["/", "/a", "/b", "/e"]
        told = cli.ask("explain", "site", f"{server.url}d", "--json").ok().json
        assert (told["reason"], told["rule"]) == ("imported", "seen: marked as seen before the import")
        cli("recrawl", "site", "--rate", "max", "--no-progress").ok()
        assert len(cli.manifest("site")) == len(SITE)
    cli("doctor").ok()


def test_links_of_imported_pages_are_compared_with_the_seen(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    with serve(StaticSite(SITE)) as server:
        name = write_body(home / "bodies", page("start", "/a", "/b", "/c").body)
        write_lines(home / "page_index.jsonl", index_entry(server, "", sha256=name, depth=0))
        mark(home, f"{server.url}a")
        report = cli("import", home, "--project", "site", "--json").ok().json
        assert (report["queued"], report["skipped"], report["found"]) == (2, 1, 3)
        cli.resume("site", "--rate", "max").ok()
        assert requested(server) == ["/b", "/c", "/e"]


def test_marks_move_with_the_state_and_go_with_the_project(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    mark(home, "http://127.0.0.1/a")
    cli("import", home, "--project", "site", "--base", "http://127.0.0.1/").ok()
    cli("export", "site", "--to", "state", "--out", tmp_path / "state").ok()
    assert (tmp_path / "state" / "seen.txt").read_text() == sha256("http://127.0.0.1/a") + "\n"
    again = cli("import", tmp_path / "state", "--project", "again", "--json").ok().json
    assert (again["seen"], again["problems"]) == (1, [])
    cli("delete", "site", "--yes").ok()
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
        assert db.execute("SELECT COUNT(*) FROM marks").fetchone() == (1,)


# robots.txt.


def robots_line(server: Server, **fields: object) -> dict[str, object]:
    now = time.time()
    return {
        "domain": f"127.0.0.1:{server.port}",
        "content": "User-agent: *\nDisallow: /a",
        "fetched_at": now,
        "expires_at": now + 3600,
        **fields,
    }


def test_an_imported_robots_txt_is_obeyed_and_not_requested(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    with serve(StaticSite(SITE)) as server:
        write_lines(home / "frontier.jsonl", {"url": server.url, "depth": 0})
        write_lines(
            home / "robots_cache.jsonl", robots_line(server), {"domain": "x"}, robots_line(server, status=503)
        )
        report = cli("import", home, "--project", "site", "--json").ok().json
        assert report["robots"] == 1
        assert ["line 2" in report["problems"][0], "line 3" in report["problems"][1]] == [True, True]
        cli.resume("site", "--rate", "max").ok()
        assert "/robots.txt" not in {hit.path for hit in server.log}
        assert cli.ask("explain", "site", f"{server.url}a", "--json").ok().json["reason"] == "robots"


def test_a_robots_txt_that_expired_or_is_older_than_ours_is_not_used(cli: Cli, tmp_path: Path) -> None:
    with serve(StaticSite({**SITE, "/robots.txt": text("User-agent: *\nDisallow: /b")})) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "own").ok()
        for name, line in {
            "old": robots_line(server, fetched_at=time.time() - 600),
            "expired": robots_line(server, expires_at=time.time() - 1),
        }.items():
            write_lines(tmp_path / name / "frontier.jsonl", {"url": server.url, "depth": 0})
            write_lines(tmp_path / name / "robots_cache.jsonl", line)
            assert cli("import", tmp_path / name, "--json").ok().json["robots"] == 0


def test_a_robots_txt_of_the_future_expires(tmp_path: Path) -> None:
    home, space = tmp_path / "crawl", orbweb.open(tmp_path / "workspace")
    with serve(StaticSite(SITE)) as server:
        write_lines(home / "frontier.jsonl", {"url": server.url, "depth": 0})
        far = time.time() + 1e6
        write_lines(home / "robots_cache.jsonl", robots_line(server, fetched_at=far, expires_at=2 * far))
        assert space.import_state(home).robots == 1
    with closing(sqlite3.connect(tmp_path / "workspace" / "orbweb.db")) as db:
        assert db.execute("SELECT fetched_at FROM robots").fetchone()[0] <= time.time() * 1e6


def test_the_exported_state_has_the_robots_txt_of_its_origins(cli: Cli, tmp_path: Path) -> None:
    rules = "User-agent: *\nDisallow: /b"
    with serve(StaticSite({**SITE, "/robots.txt": text(rules)})) as server, serve(StaticSite(SITE)) as elsewhere:
        cli.crawl(elsewhere.url, "--rate", "max", "--project", "other").ok()
        cli.crawl(server.url, "--rate", "max", "--project", "site").ok()
        cli("export", "site", "--to", "state", "--out", tmp_path / "state").ok()
        (line,) = [
            json.loads(each) for each in (tmp_path / "state" / "robots_cache.jsonl").read_text().splitlines()
        ]
        assert (line["domain"], line["origin"]) == (f"127.0.0.1:{server.port}", server.url.rstrip("/"))
        assert (line["content"], line["status"]) == (rules, 200)
        assert 0 < line["expires_at"] - line["fetched_at"] <= 86_400
        moved = Cli(tmp_path / "moved")
        assert moved("import", tmp_path / "state", "--json").ok().json["robots"] == 1


# Strangers' files.


def test_no_link_is_followed(cli: Cli, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    write_lines(secret / "frontier.jsonl", {"url": "http://127.0.0.1/secret", "depth": 1})
    body = write_body(secret / "html", b"<title>secret</title>")
    write_lmdb(secret / "page_index.lmdb", {b"http://127.0.0.1/secret2": b'{"status": 200}'})
    mark(secret, "http://127.0.0.1/secret3")
    home = tmp_path / "crawl"
    write_lines(home / "page_index.jsonl", {"url": "http://127.0.0.1/", "depth": 0, "sha256": body})
    (home / "frontier.jsonl").symlink_to(secret / "frontier.jsonl")
    (home / "fetched_urls.txt").symlink_to(secret / "frontier.jsonl")
    (home / "page_index.lmdb").symlink_to(secret / "page_index.lmdb")
    (home / "frontier.lmdb").mkdir()
    (home / "frontier.lmdb" / "data.mdb").symlink_to(secret / "page_index.lmdb" / "data.mdb")
    (home / "seen").symlink_to(secret / "seen")
    (home / "bodies").symlink_to(secret / "html")
    (home / "html" / body[:2]).mkdir(parents=True)
    (home / "html" / body[:2] / body[2:4]).symlink_to(secret / "html" / body[:2] / body[2:4])
    report = cli("import", home, "--project", "site", "--json").ok().json
    assert (report["visited"], report["queued"], report["skipped"], report["seen"]) == (1, 0, 0, 0)
    assert (report["bodies"], report["missing"]) == (0, 1)
    named = " ".join(report["problems"])
    for name in ("frontier.jsonl", "fetched_urls.txt", "page_index.lmdb", "frontier.lmdb", body):
        assert f"{name}: not a regular file, and no link is followed" in named, named


def test_a_pipe_does_not_hold_up_the_import(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    write_lines(home / "page_index.jsonl", {"url": "http://127.0.0.1/", "depth": 0, "status": 200})
    os.mkfifo(home / "frontier.jsonl")
    report = cli("import", home, "--project", "site", "--json").ok().json
    assert "frontier.jsonl: not a regular file" in report["problems"][0]


def test_a_body_that_unpacks_to_too_much_is_named(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    name = write_body(home / "bodies", b"\0" * 100_000_000, compressed=True)
    write_lines(home / "page_index.jsonl", {"url": "http://127.0.0.1/", "depth": 0, "sha256": name})
    report = cli("import", home, "--project", "site", "--json").ok().json
    assert (report["bodies"], report["missing"]) == (0, 1)
    assert "more than" in report["problems"][0]


def test_what_a_terminal_would_obey_is_escaped(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "crawl"
    mark(home, "http://127.0.0.1/a")
    (home / "seen" / "\x1b[2J").touch()
    done = cli("import", home, "--project", "site", "--base", "http://127.0.0.1/").ok()
    assert "\\x1b[2J: not HASH.seen" in done.err
    assert "\x1b" not in done.err


def test_ids_of_strangers_do_not_size_tables(tmp_path: Path) -> None:
    home, space = tmp_path / "crawl", orbweb.open(tmp_path / "workspace")
    with serve(StaticSite(SITE)) as server:
        space.crawl([server.url], project="site", rate="max", processes=0)
        space.export("site", to="state", out=home)
    lines = [json.loads(line) for line in (home / "page_index.jsonl").read_text().splitlines()]
    lines[-1]["id"] = 1 << 39
    write_lines(home / "page_index.jsonl", *lines)
    space.import_state(home, project="moved")
    with closing(sqlite3.connect(tmp_path / "workspace" / "orbweb.db")) as db:
        assert db.execute("SELECT MAX(id) FROM urls").fetchone() == (len(SITE),)
    assert space.doctor().healthy


# Places.


def test_a_state_with_scores_can_be_moved(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text('policy:\n  scores:\n    - {pattern: "/b", score: 5}\n')
    with serve(StaticSite(SITE)) as server:
        whole, parts, moved = (orbweb.open(tmp_path / name) for name in ("whole", "parts", "moved"))
        options: Any = {"project": "site", "rate": "max", "processes": 0, "config": settings}
        whole.crawl([server.url], **options)
        parts.crawl([server.url], **options, budget=2)
        parts.export("site", to="state", out=tmp_path / "state")
        parts.export("site", to="files", out=tmp_path / "bodies")
        moved.import_state(tmp_path / "state", bodies=tmp_path / "bodies")
        moved.resume("site", rate="max", processes=0, budget=None)
        assert moved.manifest_hash("site") == whole.manifest_hash("site")
