"""R6, R7: one flipped byte, or a cut, in every kind of file of a workspace.

Each is named by `doctor`, or harmless by the table of docs/how-to/repair.md; no command crashes; after a repair
the pages are what they were.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from harness import trust as trust_of
from orbweb.app.doctor import doctor
from orbweb.errors import NewerWorkspace, OrbwebError
from orbweb.urls import canonicalize
from servers.pages import page
from servers.site import Server, StaticSite, serve

LEAVES = {f"/{number}": page(f"page {number}") for number in range(12)}
OTHERS = {f"/other/{number}": page(f"other {number}") for number in range(6)}
SITE = {"/": page("start", *LEAVES, "/gone"), **LEAVES, "/other/": page("others", *OTHERS), **OTHERS}
OPTIONS: dict[str, Any] = {"rate": "max", "processes": 0, "sitemap": "off"}

# By the table: a crash leaves the same, nothing is read from them, or they are made again when they are used.
HARMLESS = ("limiter.db", "search.db", "identity", ".lock")
# Numbers that are kept once: a changed one still is a number, and a table may end after any whole line.
KEPT_ONCE = ("_metrics-",)


@dataclass(frozen=True)
class Whole:
    """A workspace with files of every kind, and the pages of its projects."""

    path: Path
    server: Server
    pages: dict[str, set[tuple[str | None, ...]]]

    def copy(self, path: Path) -> Path:
        shutil.rmtree(path, ignore_errors=True)
        return Path(shutil.copytree(self.path, path, symlinks=True))


PROJECTS = ("segments", "files", "scraped")


def pages(path: Path) -> dict[str, set[tuple[str | None, ...]]]:
    there = orbweb.open(path)
    return {
        name: {(str(canonicalize(row.url)), row.body_sha256, row.content_sha256) for row in there.pages(name)}
        for name in PROJECTS
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    path = tmp_path_factory.mktemp("anywhere") / "workspace"
    there = orbweb.open(path)
    with serve(StaticSite(SITE)) as server:
        there.crawl(server.url, project="segments", **OPTIONS)
        there.crawl(f"{server.url}other/", project="files", store="files", **OPTIONS)
        there.discover(server.url, project="scraped", **OPTIONS)
        there.scrape("scraped")
        there.search("segments", "page")
        report = doctor(path)
        assert (report["damages"], report["forgettable"]) == ([], [])
        yield Whole(path, server, pages(path))


def kinds(path: Path) -> dict[str, list[Path]]:
    """The files of a workspace by kind."""
    found: dict[str, list[Path]] = {}
    for file in sorted(each for each in path.rglob("*") if each.is_file() and not each.is_symlink()):
        name = str(file.relative_to(path))
        kind = "body" if name.startswith("store/html") else name
        found.setdefault(kind, []).append(file)
    return found


def spoil(file: Path, rng: random.Random) -> str:
    data = bytearray(file.read_bytes())
    at = rng.randrange(len(data))
    if rng.random() < 0.5:
        data[at] ^= rng.randrange(1, 256)
        how = f"byte {at} flipped"
    else:
        del data[at:]
        how = f"cut to {at} bytes"
    file.write_bytes(data)
    return how


def assert_survives(whole: Whole, path: Path, file: Path) -> str:
    """What became of a workspace with this file spoiled."""
    name = str(file.relative_to(path))
    try:
        report = doctor(path)
    except NewerWorkspace:
        return "refused"
    for words in (["status"], ["pages", "segments"], ["manifest", "files"]):
        done = Cli(path).ask(*words)
        assert done.code in (0, 1)
        assert not done.code or "doctor" in done.err, done.err
    named = {damage["file"] for damage in (*report["damages"], *report["forgettable"])}
    if not report["damages"]:
        assert_harmless(whole, path, name, named)
        return "harmless"
    assert name in named or name == "orbweb.db"
    treated = doctor(path, repair=True)
    if treated["left"]:
        assert name == "orbweb.db"
        return "lost"
    assert doctor(path)["damages"] == []
    if name != "orbweb.db":
        resume(whole, path)
        assert pages(path) == whole.pages
    return "repaired"


def resume(whole: Whole, path: Path) -> None:
    whole.server.reset()
    there = orbweb.open(path)
    for project in PROJECTS:
        if there.status(project).queued:
            there.scrape(project) if project == "scraped" else there.resume(project)


def assert_harmless(whole: Whole, path: Path, name: str, named: set[str]) -> None:
    """By the table, or what is kept once; then the pages are what they were, and all of it can be used."""
    if name == "orbweb.db":
        with closing(sqlite3.connect(path / "orbweb.db")) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return
    by_table = name.endswith(HARMLESS) or any(part in name for part in KEPT_ONCE)
    assert by_table or name.startswith(("spool/", "state/")), f"{name}: nobody names this"
    assert pages(path) == whole.pages
    there = orbweb.open(path)
    if name == "search.db" and not there.search("segments", "page 7"):
        # By the table, a changed word inside a sound page of the index is not found: deleting the file helps.
        (path / name).unlink()
    assert [hit.url for hit in there.search("segments", "page 7")]
    whole.server.reset()
    trust = [trust_of(whole.server.url)[1]] if name == "identity" else []
    orbweb.open(path).recrawl("segments", rate="max", processes=0, trust=trust)


def damage_everywhere(whole: Whole, path: Path, times: int, seed: int) -> dict[str, int]:
    rng = random.Random(seed)
    became: dict[str, int] = {}
    for kind in sorted(kinds(whole.path)):
        for _ in range(times):
            whole.copy(path)
            file = rng.choice(kinds(path)[kind])
            if not file.stat().st_size:
                continue
            how = spoil(file, rng)
            try:
                outcome = assert_survives(whole, path, file)
            except (AssertionError, OrbwebError) as error:
                error.add_note(f"{kind}: {how} (seed {seed})")
                raise
            became[outcome] = became.get(outcome, 0) + 1
    return became


def test_every_kind_of_file(whole: Whole, tmp_path: Path) -> None:
    found = kinds(whole.path).keys()
    assert {"orbweb.db", "limiter.db", "search.db", "body", "state/spool_bookmark.json"} <= found
    assert any("_metrics-" in kind for kind in found)
    became = damage_everywhere(whole, tmp_path / "workspace", 2, 11)
    assert became["repaired"] > 10


@pytest.mark.long
def test_every_kind_of_file_fifty_times(whole: Whole, tmp_path: Path) -> None:
    print(damage_everywhere(whole, tmp_path / "workspace", 50, 12))


def test_a_table_of_counters_is_purged_of_lines_that_are_none(whole: Whole, tmp_path: Path) -> None:
    path = whole.copy(tmp_path / "workspace")
    table = path / "logs" / "crawler_metrics-segments-1.csv"
    lines = table.read_bytes().splitlines(keepends=True)
    spoiled = [*lines[:3], lines[3].replace(b",", b";", 1), *lines[4:]]
    table.write_bytes(b"".join(spoiled) + b'"2026')
    report = doctor(path)
    assert report["damages"] == []
    (damage,) = report["forgettable"]
    assert (damage["file"], damage["where"]) == ("logs/crawler_metrics-segments-1.csv", "line 4")
    treated = doctor(path, repair=True)
    assert treated["left"] == []
    assert table.read_bytes() == b"".join([*lines[:3], *lines[4:]])
    assert (Path(treated["quarantine"]) / table.name).read_bytes() == b"".join(spoiled) + b'"2026'


def test_a_damaged_search_index_is_named_set_aside_and_made_again(whole: Whole, tmp_path: Path) -> None:
    path = whole.copy(tmp_path / "workspace")
    data = bytearray((path / "search.db").read_bytes())
    data[4096:12288] = random.Random(1).randbytes(8192)
    (path / "search.db").write_bytes(data)
    report = doctor(path)
    assert (report["healthy"], report["damages"]) == (True, [])
    assert {damage["file"] for damage in report["forgettable"]} == {"search.db"}
    told = Cli(path)("doctor").ok(0).out.splitlines()
    assert (told[0].partition(",")[0], told[-1]) == ("forgettable: search.db", f"{path}: healthy")
    assert Path(str(doctor(path, repair=True)["quarantine"]), "search.db").read_bytes() == data
    assert orbweb.open(path).search("segments", "page 7")
    assert doctor(path)["forgettable"] == []
