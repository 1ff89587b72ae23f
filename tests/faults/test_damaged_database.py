"""R6, R7: a damaged database. Every command names it and `orbweb doctor`; a repair reports what is lost."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import orbweb
from harness import Cli, assert_books_balance
from orbweb.app.doctor import doctor
from orbweb.errors import CorruptBody, StoreError
from servers.graph import GraphSite
from servers.site import Server, serve

PAGE = 4096
LAST_ROOT = 27
"""The page of the last table; those before it hold the schema and the roots of all trees."""


@dataclass(frozen=True)
class Sound:
    """A crawled workspace of two projects, to be copied and damaged."""

    path: Path
    server: Server
    pages: list[orbweb.PageSummary]

    def copy(self, path: Path) -> Path:
        return Path(shutil.copytree(self.path, path, symlinks=True))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sound]:
    path = tmp_path_factory.mktemp("damaged") / "workspace"
    with serve(GraphSite(5, 200)) as server:
        there = orbweb.open(path)
        there.crawl(server.url, project="site", rate="max", processes=0, workers=8, max_depth=9)
        yield Sound(path, server, there.pages("site"))


def overwrite(path: Path, first: int, last: int) -> None:
    """Random bytes in place of these pages, counted from 1."""
    data = bytearray(path.read_bytes())
    end = min(len(data), last * PAGE)
    data[(first - 1) * PAGE : end] = random.Random(first).randbytes(end - (first - 1) * PAGE)
    path.write_bytes(data)


def urls(path: Path, query: str) -> set[str]:
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        return {url for (url,) in db.execute(query)}


def visited(path: Path) -> set[str]:
    return urls(path, "SELECT COALESCE(url, key) FROM urls WHERE state IN ('visited', 'failed')")


def known(path: Path) -> set[str]:
    return urls(path, "SELECT COALESCE(url, key) FROM urls")


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        return int(db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


# Every command.

REPORTS = [
    ["status", "site"], ["runs", "site"], ["queue", "site"], ["pages", "site"], ["failed", "site"],
    ["manifest", "site"], ["rules", "site"], ["index", "site"], ["show", "site", "http://127.0.0.1/"],
    ["explain", "site", "http://127.0.0.1/"],
]  # fmt: skip
OTHERS = [
    ["resume", "site"], ["recrawl", "site"], ["retry", "site"], ["finish", "site"], ["pause", "site"],
    ["stop", "site"], ["search", "site", "page"], ["diff", "site"], ["replay", "site"], ["extract", "site"],
    ["export", "site", "--to", "jsonl", "--out", "out.jsonl"], ["settings", "site"],
]  # fmt: skip


def assert_names_doctor(text: str) -> None:
    first = text.splitlines()[0]
    assert first.startswith("orbweb: ")
    assert "orbweb.db: damaged (" in first
    assert "`orbweb doctor --workspace " in first
    assert "Traceback" not in text


@pytest.mark.parametrize("pages", [(1, 1), (2, 40)])
def test_every_report_names_the_file_and_doctor(sound: Sound, tmp_path: Path, pages: tuple[int, int]) -> None:
    path = sound.copy(tmp_path / "workspace")
    overwrite(path / "orbweb.db", *pages)
    for words in REPORTS:
        done = Cli(path).ask(*words)
        assert done.code == 1, words
        assert_names_doctor(done.err)


def test_every_other_command_names_the_file_and_doctor(sound: Sound, tmp_path: Path) -> None:
    path = sound.copy(tmp_path / "workspace")
    overwrite(path / "orbweb.db", 1, 1)
    known = Cli(path)("--help").out
    for words in OTHERS:
        if f" {words[0]} " in known:
            done = Cli(path)(*words)
            assert done.code == 1, (words, done.err)
            assert_names_doctor(done.err)


def test_the_library_raises_the_same_words(sound: Sound, tmp_path: Path) -> None:
    path = sound.copy(tmp_path / "workspace")
    overwrite(path / "orbweb.db", 1, 1)
    for verb in ("status", "pages", "resume", "failed"):
        with pytest.raises(StoreError, match=r"orbweb\.db: damaged \(.*`doctor\(\)`"):
            getattr(orbweb.open(path), verb)("site")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET state = 'pausing'",
        "UPDATE projects SET settings = 'no JSON'",
        "UPDATE projects SET bases = X'ff00'",
        "UPDATE crawls SET state = 'x', ended_by = 'y'",
        "UPDATE visits SET fetched_at = -5834870100027000000",
        "UPDATE visits SET fetched_at = 1 << 62",
        "UPDATE urls SET key = CAST(X'ff41' AS TEXT), url = NULL",
    ],
)
def test_a_value_that_cannot_be_is_reported_as_damage(sound: Sound, tmp_path: Path, statement: str) -> None:
    path = sound.copy(tmp_path / "workspace")
    with closing(sqlite3.connect(path / "orbweb.db", isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(statement.replace("SET key = CAST(X'ff41' AS TEXT)", "SET key = CAST(X'ff' AS TEXT) || id"))
    codes = set()
    for words in REPORTS[:7]:
        done = Cli(path).ask(*words)
        codes.add(done.code)
        if done.code:
            assert_names_doctor(done.err)
    assert 1 in codes
    assert not doctor(path)["healthy"]


def test_a_damaged_document_leads_to_doctor(sound: Sound, tmp_path: Path) -> None:
    path = sound.copy(tmp_path / "workspace")
    with closing(sqlite3.connect(path / "orbweb.db", isolation_level=None)) as db:
        db.execute("UPDATE documents SET frame = substr(frame, 1, 40)")
    done = Cli(path).ask("show", "site", sound.pages[0].url)
    assert (done.code, "`orbweb doctor --workspace " in done.err) == (1, True)
    with pytest.raises(CorruptBody) as caught:
        orbweb.open(path).show("site", sound.pages[0].url)
    assert "Run `doctor()` to see what is damaged." in caught.value.__notes__


# What a repair reports.


@pytest.mark.parametrize("journals", [True, False])
@pytest.mark.parametrize(("first", "last"), [(1, 1), (1, 8), (1, LAST_ROOT), (9, 13)])
def test_damage_to_the_first_pages_costs_few_rows_and_is_told(
    sound: Sound, tmp_path: Path, first: int, last: int, *, journals: bool
) -> None:
    path = sound.copy(tmp_path / "workspace")
    if not journals:
        shutil.rmtree(path / "logs")
        shutil.rmtree(path / "metadata")
    overwrite(path / "orbweb.db", first, last)
    before = (path / "orbweb.db").read_bytes()
    done = Cli(path)("doctor", "--repair", "--json")
    report = done.json
    assert report["left"] == []
    assert (Path(report["quarantine"]) / "orbweb.db").read_bytes() == before
    assert "orbweb.db" in report["quarantined"]
    missing = count(sound.path, "urls") - count(path, "urls")
    assert sum(loss["urls"] for loss in report["lost"]) == missing
    assert missing < 20
    named = {url for loss in report["lost"] for url in loss["named"]}
    assert named == (visited(sound.path) - known(path) if journals else set())
    assert sum(loss["visits"] for loss in report["lost"]) >= len(named)
    assert done.code == (3 if report["lost"] else 0)
    settings = [loss for loss in report["lost"] if "settings" in loss["what"]]
    assert bool(settings) == (first == 1 and last > 1)
    assert_comes_back(sound, path)


def assert_comes_back(sound: Sound, path: Path) -> None:
    """After a resume every page is there again."""
    there = orbweb.open(path)
    if there.status("site").queued:
        sound.server.reset()
        there.resume("site", rate="max", processes=0)
    assert {page.content_sha256 for page in there.pages("site")} >= {page.content_sha256 for page in sound.pages}
    assert doctor(path)["damages"] == []
    assert_books_balance(path / "orbweb.db")


def test_a_database_of_which_nothing_is_left_is_told_by_journals_and_bodies(sound: Sound, tmp_path: Path) -> None:
    """Every page is there again with its body and document, and nothing is fetched; links are lost."""
    path = sound.copy(tmp_path / "workspace")
    overwrite(path / "orbweb.db", 1, 1 << 20)
    sound.server.reset()
    done = Cli(path)("doctor", "--repair").ok(3)
    assert "lost: run 1 of project site: its links and its unvisited URLs" in done.out
    assert "lost: project site: its settings" in done.out
    assert "nothing has to be fetched" not in done.out
    names = ("url", "title", "body_sha256", "content_sha256", "alternates")
    told = [[getattr(page, name) for name in names] for page in orbweb.open(path).pages("site")]
    assert told == [[getattr(page, name) for name in names] for page in sound.pages]
    assert Cli(path).ask("show", "site", sound.pages[3].url).code == 0
    assert not sound.server.log
    assert doctor(path)["damages"] == []


def test_without_journals_a_lost_project_is_named(sound: Sound, tmp_path: Path) -> None:
    """Two projects were crawled; of the one that was crawled last nothing but its lock is left."""
    path = sound.copy(tmp_path / "workspace")
    (path / "locks" / "other.crawl.lock").write_text("1")
    overwrite(path / "orbweb.db", 30, 31)
    report = Cli(path)("doctor", "--repair", "--json").ok(3).json
    assert ["other", None] in [[loss["project"], loss["run"]] for loss in report["lost"]]


def test_bodies_are_found_again_in_the_store(sound: Sound, tmp_path: Path) -> None:
    path = sound.copy(tmp_path / "workspace")
    with closing(sqlite3.connect(path / "orbweb.db", isolation_level=None)) as db:
        before = set(db.execute("SELECT * FROM bodies"))
        db.execute("DELETE FROM bodies")
    done = Cli(path)("doctor", "--repair", "--json").ok(0).json
    assert (done["requeued"], done["lost"], done["left"]) == (0, [], [])
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        assert set(db.execute("SELECT * FROM bodies")) == before


@pytest.mark.parametrize(
    "damage",
    [
        ["UPDATE visits SET crawl_id = 1 WHERE run_id = 2"],
        ["DELETE FROM crawls", "UPDATE visits SET crawl_id = 1"],
        ["DELETE FROM crawls", "DELETE FROM visits WHERE run_id = 1", "UPDATE visits SET crawl_id = 1"],
        ["DELETE FROM crawls", "DELETE FROM visits WHERE run_id = 1"],
    ],
)
def test_a_restored_crawl_never_takes_the_id_of_another_runs_crawl(
    sound: Sound, tmp_path: Path, damage: list[str]
) -> None:
    path = sound.copy(tmp_path / "workspace")
    there = orbweb.open(path)
    sound.server.reset()
    there.recrawl("site", rate="max", processes=0)
    with closing(sqlite3.connect(path / "orbweb.db", isolation_level=None)) as db:
        for statement in damage:
            db.execute(statement)
    assert Cli(path)("doctor", "--repair", "--json").json["left"] == []
    strangers = "SELECT COUNT(*) FROM visits JOIN crawls ON id = crawl_id AND crawls.run_id != visits.run_id"
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        assert db.execute(strangers).fetchone() == (0,)
        assert set(db.execute("SELECT run_id FROM crawls")) == {(1,), (2,)}
    assert_comes_back(sound, path)
    there.recrawl("site", rate="max", processes=0)
    assert doctor(path)["damages"] == []


def test_two_lost_base_urls_of_a_run_get_places_of_their_own(sound: Sound, tmp_path: Path) -> None:
    path = tmp_path / "workspace"
    there = orbweb.open(path)
    bases = [sound.server.url, f"{sound.server.url}other/"]
    there.crawl(bases, project="site", rate="max", processes=0, max_depth=1)
    with closing(sqlite3.connect(path / "orbweb.db", isolation_level=None)) as db:
        db.execute("DELETE FROM urls WHERE source = 'initial'")
    assert Cli(path)("doctor", "--repair", "--json").json["left"] == []
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        again = db.execute("SELECT base, id, rank FROM urls WHERE source = 'initial' AND depth = 0").fetchall()
    assert [base for base, _, _ in again] == [0, 1]
    assert len({number for _, number, _ in again}) == len({rank for _, _, rank in again}) == 2
    sound.server.reset()
    there.resume("site", rate="max", processes=0)
    assert doctor(path)["damages"] == []


# Newer.


@pytest.mark.parametrize("statement", ["SELECT 1", "ALTER TABLE visits DROP COLUMN proxy", "DROP TABLE spools"])
def test_a_newer_schema_is_not_damage(sound: Sound, tmp_path: Path, statement: str) -> None:
    path = sound.copy(tmp_path / "workspace")
    with closing(sqlite3.connect(path / "orbweb.db", isolation_level=None)) as db:
        db.execute(statement)
        db.execute("PRAGMA user_version = 99")
    for words in (["doctor"], ["doctor", "--repair"], ["status", "site"]):
        done = Cli(path)(*words).ok(2)
        assert "written by a newer orbweb (schema 99, this one knows" in done.err
        assert "Upgrade orbweb" in done.err
