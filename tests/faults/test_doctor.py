"""R6, R7: a damaged workspace. Damage is named, other pages stay readable, repair and resume restore the set."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, assert_books_balance
from orbweb.app.doctor import check_store, doctor
from orbweb.errors import Busy, NewerWorkspace
from orbweb.store.lock import OwnerLock
from orbweb.store.sqlite.db import load_queries
from orbweb.urls import canonicalize
from servers.graph import GraphSite
from servers.pages import page
from servers.site import Server, StaticSite, serve

FAST = ("--rate", "max", "--project", "site")
QUICK = {"ORBWEB_FETCH__BACKOFF_S": "0.01"}

# What is kept once and follows from nothing else: a flip there changes a report and cannot be found.
KEPT_ONCE = {"title", "content_type", "captured_at", "status", "final_url"}
# The project's row lies on the second page of the database. Without it nobody knows what to crawl.
PROJECT_END = 2 * 4096


def resume(path: Path) -> None:
    """Fetch what is queued, if anything is."""
    if orbweb.open(path).status("site").queued:
        Cli(path).resume("site").ok(0, 3)


@dataclass(frozen=True)
class Known:
    """Everything a workspace tells about its pages."""

    pages: list[dict[str, Any]]
    manifest: list[list[str]]
    bodies: dict[str, bytes]

    @property
    def visits(self) -> list[tuple[str | None, ...]]:
        """What was visited, with which answer and content; order and first spelling do not matter."""
        return sorted((canonicalize(line[1]), *line[2:5]) for line in self.manifest)


def known(path: Path) -> Known:
    workspace = orbweb.open(path)
    pages = [page.report() for page in workspace.pages("site")]
    manifest = [line.split("\t") for line in workspace.manifest("site")]
    return Known(pages, manifest, {row["body_sha256"]: workspace.body(row["body_sha256"]) for row in pages})


@dataclass(frozen=True)
class Sound:
    """A workspace that is as it should be, to be copied and damaged."""

    path: Path
    server: Server
    known: Known

    def copy(self, path: Path) -> Path:
        shutil.rmtree(path, ignore_errors=True)
        return Path(shutil.copytree(self.path, path))


def sound(home: Path, server: Server, layout: str) -> Sound:
    Cli(home).crawl(server.url, *FAST, "--store", layout, env=QUICK).ok(0, 3)
    assert check_store(home)["damages"] == []
    return Sound(home, server, known(home))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(GraphSite(5, 80)) as running:
        yield running


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Sound:
    return sound(tmp_path_factory.mktemp("segments") / "workspace", server, "segments")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Sound:
    return sound(tmp_path_factory.mktemp("files") / "workspace", server, "files")


def assert_restored(path: Path, before: Known) -> None:
    """After repair and resume: the same visits, sound books, nothing left to name."""
    resume(path)
    assert known(path).visits == before.visits
    assert doctor(path)["damages"] == []
    assert_books_balance(path / "orbweb.db")


# Anywhere.


def spoil(path: Path, rng: random.Random) -> int:
    """Flip one byte, or cut the file; where."""
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    if rng.random() < 0.5:
        data[at] ^= rng.randrange(1, 256)
    else:
        del data[at:]
    path.write_bytes(data)
    return at


def pick(path: Path, rng: random.Random) -> Path:
    """One of the files, those of the `files` layout counting as one."""
    found = sorted(each for each in path.rglob("*") if each.is_file())
    bodies = [each for each in found if "html" in each.parts]
    others = [each for each in found if "html" not in each.parts]
    return rng.choice([*others, *([rng.choice(bodies)] if bodies else [])])


def outcome(whole: Sound, path: Path, rng: random.Random) -> str:
    """Damage a copy anywhere and repair it; what became of it."""
    whole.copy(path)
    file = pick(path, rng)
    at = spoil(file, rng)
    named = doctor(path)
    if not named["damages"]:
        return unnamed(whole.known, known(path))
    assert {str(file.relative_to(path))} & {row["file"] for row in named["damages"]} or file.name == "orbweb.db"
    if doctor(path, repair=True)["left"]:
        assert (file.name, at < PROJECT_END) == ("orbweb.db", True)
        return "refused"
    whole.server.reset()
    assert_restored(path, whole.known)
    return "restored"


def spelled(value: Any) -> Any:
    """A URL may differ in a parameter that is not part of its key."""
    if isinstance(value, list):
        return [spelled(each) for each in value]
    return (canonicalize(value) or value) if isinstance(value, str) else value


def unnamed(before: Known, after: Known) -> str:
    """A damage that nobody named changed nothing, or only what is kept once."""
    if after == before:
        return "harmless"
    for old, new in zip(before.pages, after.pages, strict=True):
        assert {name for name in old if spelled(old[name]) != spelled(new[name])} <= KEPT_ONCE
    for was, now in zip(before.manifest, after.manifest, strict=True):
        assert [was[0], spelled(was[1]), *was[3:]] == [now[0], spelled(now[1]), *now[3:]]
    assert before.bodies == after.bodies
    return "unnoticed"


@pytest.mark.parametrize(("layout", "times"), [("segments", 30), ("files", 10)])
def test_flips_and_cuts_anywhere(request: pytest.FixtureRequest, tmp_path: Path, layout: str, times: int) -> None:
    flips_and_cuts(request.getfixturevalue(layout), tmp_path / "workspace", times, seed=6)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["segments", "files"])
def test_two_hundred_flips_and_cuts_anywhere(request: pytest.FixtureRequest, tmp_path: Path, layout: str) -> None:
    flips_and_cuts(request.getfixturevalue(layout), tmp_path / "workspace", 200, seed=7)


def flips_and_cuts(whole: Sound, path: Path, times: int, seed: int) -> None:
    rng = random.Random(seed)
    found = Counter(outcome(whole, path, rng) for _ in range(times))
    print(dict(found))
    assert found["restored"] >= times // 4
    assert found["unnoticed"] + found["refused"] <= max(2, times // 20)


# One by one.


def test_a_sound_workspace_is_not_touched(segments: Sound, tmp_path: Path) -> None:
    path = segments.copy(tmp_path / "workspace")
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and "locks" not in file.parts}
    for repair in (False, True):
        report = check_store(path, repair=repair)
        assert (report["healthy"], report["damages"], report["quarantine"]) == (True, [], None)
    after = {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and "locks" not in file.parts}
    assert after == before


def body_byte(whole: Sound, path: Path, sha256: str) -> tuple[Path, int]:
    """A file and an offset inside a body."""
    with sqlite3.connect(path / "orbweb.db") as db:
        row = db.execute(
            "SELECT segment, position, length FROM bodies WHERE sha256 = ?", (bytes.fromhex(sha256),)
        ).fetchone()
    db.close()
    if row[0] is None:
        return path / "store" / "html" / sha256[:2] / sha256[2:4] / f"{sha256}.html.zst", row[2] // 2
    return path / "store" / "segments" / f"{row[0]:04d}.seg", row[1] + row[2] // 2


@pytest.mark.parametrize("layout", ["segments", "files"])
def test_a_damaged_body_is_named_set_aside_and_fetched_again(
    request: pytest.FixtureRequest, tmp_path: Path, layout: str
) -> None:
    whole: Sound = request.getfixturevalue(layout)
    path = whole.copy(tmp_path / "workspace")
    bodies = {line[1]: line[3] for line in whole.known.manifest}
    shared = next(
        row
        for row in whole.known.pages
        if row["alternates"] and {bodies[url] for url in row["alternates"]} == {row["body_sha256"]}
    )
    file, at = body_byte(whole, path, shared["body_sha256"])
    data = bytearray(file.read_bytes())
    data[at] ^= 0x55
    file.write_bytes(data)

    (damage,) = check_store(path)["damages"]
    assert damage["file"] == str(file.relative_to(path))
    assert shared["body_sha256"] in damage["where"]
    assert set(damage["urls"]) == {shared["url"], *shared["alternates"]}
    readable = [row for row in whole.known.pages if row is not shared]
    workspace = orbweb.open(path)
    assert all(workspace.body(row["body_sha256"]) == whole.known.bodies[row["body_sha256"]] for row in readable)

    treated = check_store(path, repair=True)
    assert (treated["healthy"], treated["requeued"]) == (True, 1 + len(shared["alternates"]))
    ward = Path(treated["quarantine"])
    assert [json.loads(line) for line in (ward / "notes.jsonl").read_text().splitlines()] == [damage]
    assert [each.name for each in ward.iterdir() if shared["body_sha256"] in each.name]
    whole.server.reset()
    assert_restored(path, whole.known)
    assert len(whole.server.log) == 1 + len(shared["alternates"])


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE tallies SET count = count + 1 WHERE state = 'visited'", "counted"),
        ("DELETE FROM tallies", "0 counted"),
        ("UPDATE bases SET pages = 3", "3 counted"),
        ("UPDATE runs SET next_url = 2", "next id"),
        ("UPDATE runs SET state = 'in_progress'", "in_progress"),
        ("UPDATE crawls SET ended_by = 'crashed'", "ended by crashed"),
        ("UPDATE crawls SET visited = visited - 1", "counts fewer visits"),
        ("UPDATE runs SET state = 'paused', ended_at = NULL", "it is paused"),
        ("DELETE FROM crawls", "a crawl of the run is missing"),
        ("DELETE FROM bases", "base URLs are missing"),
        ("DELETE FROM runs", "the run"),
        ("DELETE FROM visits WHERE number = 7", "visit is missing"),
        ("DELETE FROM urls WHERE id = 1", "belong to no settled URL"),
        ("DELETE FROM urls WHERE id = 9", "which is missing"),
        ("UPDATE urls SET state = 'failed' WHERE id = 1", "ended otherwise"),
        ("UPDATE urls SET state = 'visi|ed' WHERE id = 5", "state is 'visi|ed'"),
        ("UPDATE urls SET id = -5 WHERE id = 9", "out of range"),
        ("UPDATE urls SET referrer = 99999 WHERE id = 5", "referrer that is missing"),
        ("UPDATE urls SET referrer = id WHERE id = 5", "at another depth"),
        ("UPDATE urls SET url = 'http://127.0.0.1:1/else' WHERE id = 5", "is not a spelling"),
        ("UPDATE urls SET key = 'http://127.0.0.1/a/../b' WHERE id = 5", "is not a canonical URL"),
        ("UPDATE visits SET rank = rank + 1 WHERE number = 3", "another place"),
        ("UPDATE visits SET bytes = 1 WHERE number = 1", "another size"),
        ("UPDATE visits SET role = 'alternate' WHERE number = 1", "another primary"),
        ("UPDATE visits SET fetched_at = 5 WHERE number = 1", "not visited in its crawl"),
        ("UPDATE visits SET content_sha256 = zeroblob(32) WHERE number = 1", "page is missing"),
        ("UPDATE visits SET body_sha256 = zeroblob(31) WHERE number = 1", "is not a SHA-256"),
        ("DELETE FROM pages", "page is missing"),
        ("DELETE FROM documents", "it is missing"),
        ("UPDATE documents SET frame = substr(frame, 1, 40)", "document"),
        ("UPDATE documents SET size = size + 1", "does not contain"),
        ("UPDATE documents SET title = title || '!'", "its column title"),
        ("UPDATE documents SET extractor = 9", "its column extractor"),
        ("UPDATE documents SET confidence = confidence / 3", "its column confidence"),
        ("UPDATE documents SET simhash = ~simhash", "its column simhash"),
        ("UPDATE pages SET document = zeroblob(32)", "it is missing"),
        ("DELETE FROM bodies", "not in the store"),
        ("UPDATE bodies SET length = 1 << 50", "ends inside"),
        ("UPDATE bodies SET position = position + 1", "record header"),
        ("UPDATE outlinks SET packed = X'0105' WHERE url_id = 1", "damaged outlink record"),
        ("UPDATE segments SET committed = 9", "committed"),
        ("UPDATE segments SET committed = 1 << 40", "committed"),
        ("PRAGMA user_version = 77777", "schema version 77777"),
    ],
)
def test_a_contradiction_is_named_and_put_right(
    segments: Sound, tmp_path: Path, statement: str, words: str
) -> None:
    path = segments.copy(tmp_path / "workspace")
    with sqlite3.connect(path / "orbweb.db") as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(statement)
    db.close()
    report = check_store(path)
    assert not report["healthy"]
    assert any(words in damage["problem"] for damage in report["damages"]), report["damages"][:3]
    assert {damage["file"] for damage in report["damages"]} <= {"orbweb.db", "store/segments/0001.seg"}
    assert check_store(path, repair=True)["left"] == []
    segments.server.reset()
    assert_restored(path, segments.known)


def test_a_lost_document_is_read_again_from_its_body_and_fetched_only_without_one(
    segments: Sound, tmp_path: Path
) -> None:
    path = segments.copy(tmp_path / "workspace")
    lost = next(page for page in segments.known.pages if not page["alternates"])["body_sha256"]
    with sqlite3.connect(path / "orbweb.db") as db:
        before = db.execute("SELECT * FROM pages ORDER BY 1, 2").fetchall()
        db.execute("UPDATE documents SET frame = substr(frame, 1, 40)")
    db.close()
    done = check_store(path, repair=True)
    assert (done["left"], done["requeued"]) == ([], 0)
    assert known(path).pages == segments.known.pages
    with sqlite3.connect(path / "orbweb.db") as db:
        assert db.execute("SELECT * FROM pages ORDER BY 1, 2").fetchall() == before
    db.close()
    file, at = body_byte(segments, path, lost)
    data = bytearray(file.read_bytes())
    data[at] ^= 0x55
    file.write_bytes(data)
    with sqlite3.connect(path / "orbweb.db") as db:
        db.execute("DELETE FROM documents")
        db.execute("DELETE FROM bodies WHERE sha256 = ?", [bytes.fromhex(lost)])
    db.close()
    assert (done := check_store(path, repair=True))["left"] == []
    assert done["requeued"] == 1
    segments.server.reset()
    assert_restored(path, segments.known)
    assert {hit.path for hit in segments.server.log} - {"/robots.txt"} != set()


def test_a_key_that_differs_from_its_index_is_not_trusted(segments: Sound, tmp_path: Path) -> None:
    path = segments.copy(tmp_path / "workspace")
    data = (path / "orbweb.db").read_bytes()
    key = next(row["url"] for row in segments.known.pages[1:] if canonicalize(row["url"]) == row["url"]).encode()
    places = [found.start() for found in re.finditer(re.escape(key) + rb"(?=visited)", data)]
    assert len(places) == 1
    (path / "orbweb.db").write_bytes(data[: places[0]] + key[:-1] + b"U" + data[places[0] + len(key) :])
    assert "missing from index" in check_store(path)["damages"][0]["problem"]
    assert check_store(path, repair=True)["left"] == []
    segments.server.reset()
    assert_restored(path, segments.known)


@pytest.mark.parametrize(("header", "length"), [(b"nothing!", None), (b"orbseg\1\0", 400), (b"", 0)])
def test_a_damaged_segment_is_read_but_never_written_again(
    segments: Sound, tmp_path: Path, header: bytes, length: int | None
) -> None:
    path = segments.copy(tmp_path / "workspace")
    file = path / "store" / "segments" / "0001.seg"
    file.write_bytes((header + file.read_bytes()[8:])[:length])
    before = file.read_bytes()
    assert "store/segments/0001.seg" in {damage["file"] for damage in check_store(path)["damages"]}
    assert check_store(path, repair=True)["healthy"]
    segments.server.reset()
    assert_restored(path, segments.known)
    assert file.read_bytes() == before


def test_a_damaged_limiter_is_set_aside(segments: Sound, tmp_path: Path) -> None:
    path = segments.copy(tmp_path / "workspace")
    (path / "limiter.db").write_bytes(b"no database" * 1000)
    found = check_store(path)
    assert (found["healthy"], found["damages"]) == (True, [])
    assert [damage["file"] for damage in found["forgettable"]] == ["limiter.db"]
    treated = check_store(path, repair=True)
    assert (treated["healthy"], treated["requeued"]) == (True, 0)
    assert (Path(treated["quarantine"]) / "limiter.db").exists()
    assert not (path / "limiter.db").exists()
    assert known(path) == segments.known


def test_a_database_that_names_no_project_is_kept_as_it_is(segments: Sound, tmp_path: Path) -> None:
    path = segments.copy(tmp_path / "workspace")
    for folder in ("metadata", "logs", "locks"):
        shutil.rmtree(path / folder)
    (path / "orbweb.db").write_bytes(b"this is not a database, but long enough to be read" * 100)
    before = hashlib.sha256((path / "orbweb.db").read_bytes()).digest()
    cli = Cli(path)
    told = cli("doctor", "--repair").ok(3)
    assert "orbweb.db" in told.out
    assert "restore from a backup, or crawl again" in told.out
    assert hashlib.sha256((path / "orbweb.db").read_bytes()).digest() == before


def test_a_running_crawl_keeps_the_doctor_out(segments: Sound, tmp_path: Path) -> None:
    path = segments.copy(tmp_path / "workspace")
    with OwnerLock(path / "locks", "site"), pytest.raises(Busy, match="site"):
        check_store(path)


def test_a_newer_workspace_is_not_damaged(segments: Sound, tmp_path: Path) -> None:
    path = segments.copy(tmp_path / "workspace")
    with sqlite3.connect(path / "orbweb.db") as db:
        db.execute("CREATE TABLE later (id INTEGER PRIMARY KEY)")
        db.execute("PRAGMA user_version = 999")
    db.close()
    with pytest.raises(NewerWorkspace):
        check_store(path, repair=True)


def test_every_query_is_used_and_says_why() -> None:
    package = Path(orbweb.__file__).parent / "store"
    source = "\n".join(path.read_text() for path in package.rglob("*.py"))
    queries = load_queries("doctor.sql")
    assert not queries.keys() & load_queries("queries.sql").keys()
    assert [name for name in queries if f'"{name}"' not in source] == []
    text = (package / "sqlite" / "sql" / "doctor.sql").read_text()
    assert len(re.findall(r"^-- name: (\w+)\n-- \S.*\.$", text, re.MULTILINE)) == len(queries)


# Pages that asked not to be kept.


@pytest.fixture(scope="module")
def hiding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sound]:
    """URL 2 is a noindex page, and the only way to URL 4; URL 3 is nofollow, and the only way to URL 5."""
    answers = {
        "/": page("start", "/list", "/shut"),
        "/list": replace(page("list", "/behind"), headers=(("X-Robots-Tag", "noindex"),)),
        "/shut": replace(page("shut", "/lost"), headers=(("X-Robots-Tag", "nofollow"),)),
        "/behind": page("behind"),
    }
    with serve(StaticSite(answers)) as running:
        yield sound(tmp_path_factory.mktemp("hiding") / "workspace", running, "segments")


def states(path: Path) -> list[tuple[str, ...]]:
    with sqlite3.connect(path / "orbweb.db") as db:
        found = db.execute("SELECT key, state, reason, rule FROM urls ORDER BY id").fetchall()
    db.close()
    return found


@pytest.mark.parametrize(
    ("statement", "words", "fetched"),
    [
        ("UPDATE outlinks SET packed = X'0105' WHERE url_id = 2", "damaged outlink record", ["/list"]),
        ("UPDATE outlinks SET packed = 5 WHERE url_id = 2", "packed", ["/behind", "/list"]),
        ("DELETE FROM urls WHERE id = 4", "which is missing", ["/behind", "/list"]),
        ("DELETE FROM urls WHERE id = 5", "which is missing", ["/shut"]),
        ("DELETE FROM tallies", "noindex: 0 counted, 1 found", []),
        ("UPDATE tallies SET count = 3 WHERE reason = 'nofollow'", "nofollow: 3 counted, 1 found", []),
    ],
)
def test_links_of_a_page_that_was_not_kept_are_looked_after(
    hiding: Sound, tmp_path: Path, statement: str, words: str, fetched: list[str]
) -> None:
    path = hiding.copy(tmp_path / "workspace")
    before = states(path)
    assert [row[2] for row in before] == [None, "noindex", None, None, "nofollow"]
    with sqlite3.connect(path / "orbweb.db") as db:
        db.execute(statement)
    db.close()
    report = check_store(path)
    assert any(words in f"{damage['where']} {damage['problem']}" for damage in report["damages"]), report[
        "damages"
    ]
    assert check_store(path, repair=True)["left"] == []
    hiding.server.reset()
    assert_restored(path, hiding.known)
    assert sorted(states(path)) == sorted(before)
    assert sorted(hit.path for hit in hiding.server.log) == fetched


def test_links_of_a_url_that_was_never_asked_for_are_stray(hiding: Sound, tmp_path: Path) -> None:
    path = hiding.copy(tmp_path / "workspace")
    with sqlite3.connect(path / "orbweb.db") as db:
        db.execute("UPDATE urls SET reason = 'robots' WHERE id = 2")
    db.close()
    assert any("belong to no visit" in damage["problem"] for damage in check_store(path)["damages"])
    assert check_store(path, repair=True)["left"] == []
    assert check_store(path)["damages"] == []


# After a kill.


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sound, Path]]:
    """A workspace whose crawl was killed with most of it in the write-ahead log, and what it should become."""
    home = tmp_path_factory.mktemp("killed")
    leaves = {f"/{number}": page(f"page {number}") for number in range(40)}
    with serve(StaticSite({"/": page("start", *leaves), **leaves})) as server:
        whole = sound(home / "whole", server, "segments")
        cli = Cli(home / "workspace")
        fault = {"ORBWEB_FAULT": "group_committed:6", "ORBWEB_ENGINE__GROUP_PAGES": "5"}
        assert cli.crawl(server.url, *FAST, env=fault).code == -9
        yield whole, cli.workspace


def test_a_crash_is_no_damage(killed: tuple[Sound, Path], tmp_path: Path) -> None:
    whole, left = killed
    path = Path(shutil.copytree(left, tmp_path / "workspace"))
    assert (path / "orbweb.db-wal").stat().st_size > 0
    Cli(path)("doctor").ok(0)
    assert_restored(path, whole.known)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.5, 0.7])
def test_a_damaged_log_is_named(killed: tuple[Sound, Path], tmp_path: Path, part: float) -> None:
    whole, left = killed
    path = Path(shutil.copytree(left, tmp_path / "workspace"))
    log = path / "orbweb.db-wal"
    data = bytearray(log.read_bytes())
    data[int(len(data) * part)] ^= 1
    log.write_bytes(data)
    for _ in range(2):
        (damage,) = check_store(path)["damages"]
        assert damage["where"] == "orbweb.db-wal"
    treated = check_store(path, repair=True)
    assert treated["healthy"]
    assert (Path(treated["quarantine"]) / "orbweb.db-wal").read_bytes() == data
    assert_restored(path, whole.known)


# The command.


def test_the_command(segments: Sound, tmp_path: Path) -> None:
    cli = Cli(segments.copy(tmp_path / "workspace"))
    assert "healthy" in cli("doctor").ok(0).out
    sha256 = segments.known.pages[3]["body_sha256"]
    file, at = body_byte(segments, cli.workspace, sha256)
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    told = cli("doctor").ok(3).out
    assert "0001.seg" in told
    assert segments.known.pages[3]["url"] in told
    assert told.endswith("\n1 damage found\n")
    report = cli("doctor", "--json").ok(3).json
    assert (report["healthy"], len(report["damages"]), report["left"]) == (False, 1, report["damages"])
    assert "repair: 1 URL queued again\n" in cli("doctor", "--repair").ok(0).out
    assert cli.ask("status", "site", "--json").ok().json["queued"] == 1
    assert "healthy" in cli("doctor").ok(0).out
    assert cli("doctor", "--json").ok(0).json["damages"] == []
