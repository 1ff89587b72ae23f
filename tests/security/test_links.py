"""S18: no link in a workspace is followed, whatever it stands for, and whatever is done there."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import orbweb
from orbweb.app.doctor import doctor
from orbweb.engine.control import Command, ControlFiles
from orbweb.store.sqlite.limiter import SqliteLimiter
from servers.pages import page
from servers.site import Answer, Request, Server, serve, text

CANARY = b"a file that is not in the workspace\n"
OPTIONS: dict[str, Any] = {"rate": "max", "processes": 0, "sitemap": "off"}


class Changing:
    """A site whose pages are new each time, so that there are bodies to keep."""

    def answer(self, request: Request) -> Answer:
        links = ("/a", "/b") if request.path == "/" else ()
        return (
            page(f"start {request.path} {next(NUMBERS)}", *links)
            if request.path in ("/", "/a", "/b")
            else text("", 404)
        )


NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(Changing()) as found:
        yield found


@pytest.fixture(scope="module")
def made(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which everything was done once, so that each of its files is there."""
    path = tmp_path_factory.mktemp("made") / "w"
    there = orbweb.open(path)
    there.configure()
    work(there, server)
    ControlFiles(path, "segments").write(Command.PAUSE)
    return path


def work(there: orbweb.Workspace, server: Server) -> None:
    """All that writes into a workspace."""
    there.crawl(server.url, project="files", store="files", new_run=True, **OPTIONS)
    there.crawl(server.url, project="segments", new_run=True, **OPTIONS)
    there.discover(server.url, project="two", new_run=True, **OPTIONS)
    there.scrape("two", rate="max", processes=0)
    there.crawl(project="segments", new_run=True)
    there.extract("segments", everything=True, processes=0)
    there.replay("segments")
    there.search("segments", "start")
    there.status("two")


def attempts(there: orbweb.Workspace, server: Server) -> list[str]:
    """What is refused, and how, of all that can be done."""
    said: list[str] = []
    tries: list[Callable[[], object]] = [
        lambda: there.crawl(server.url, project="segments", new_run=True, **OPTIONS),
        lambda: there.crawl(server.url, project="files", store="files", new_run=True, **OPTIONS),
        lambda: there.crawl(project="segments", new_run=True),
        lambda: there.discover(server.url, project="two", new_run=True, **OPTIONS),
        lambda: there.scrape("two", rate="max", processes=0),
        lambda: there.extract("segments", everything=True, processes=0),
        lambda: there.extract("files", run=1, everything=True, processes=0),
        lambda: there.replay("segments"),
        lambda: there.search("segments", "start"),
        lambda: there.status("two"),
        there.configure,
    ]
    for attempt in tries:
        try:
            got = attempt()
        except orbweb.NothingToDo:
            continue
        except orbweb.OrbwebError as error:
            said.append(str(error))
        else:
            said += got.failed.values() if isinstance(got, orbweb.ExtractResult) else ()
    return said


def canary(place: Path, stood_for: Path) -> Path:
    """Something outside: a file with the bytes that were there, or a directory of such files."""
    target = place / "outside"
    if stood_for.is_dir():
        shutil.copytree(stood_for, target, symlinks=True)
    else:
        target.write_bytes(CANARY if stood_for.suffix in ("", ".lock") else stood_for.read_bytes())
    return target


def whole(path: Path) -> dict[str, tuple[bytes, int]]:
    """Every byte of a file or a directory, and who may read it."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    names = {str(each): (b"", each.stat().st_mode) for each in path.rglob("*") if each.is_dir()}
    return {**names, **{str(each): (each.read_bytes(), each.stat().st_mode) for each in files}}


def places(root: Path) -> list[Path]:
    """One file or directory of each kind in a workspace."""
    kinds: dict[tuple[str, ...], Path] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        deep = name.parts[:2] if name.parts[:2] == ("store", "html") else name.parts[:-1]
        is_body = ".html" in name.suffixes
        kind = (*deep, str(len(name.parts)), name.suffix, "" if is_body else name.stem.partition("-")[0][:6])
        if not path.is_symlink():
            kinds.setdefault(kind if deep[:2] != ("store", "html") else (*deep, str(len(name.parts))), name)
    return list(kinds.values())


LATER = ("logs", "metadata", "markdown", "control", "state")
"""Folders of files that a new run does not write again: links in them can be tried together."""


def replaced(root: Path, name: Path, outside: Path) -> Path:
    """A link in the place of a file or directory; to what."""
    target = canary(outside, root / name)
    if (root / name).is_dir():
        shutil.rmtree(root / name)
    else:
        (root / name).unlink()
    (root / name).symlink_to(target)
    return target


@pytest.mark.parametrize(
    "name", ["locks", "logs", "limiter.db", "spool", "store/segments/0001.seg", ".orbweb.schema.json"]
)
def test_nothing_is_written_where_a_link_leads(made: Path, server: Server, tmp_path: Path, name: str) -> None:
    try_link(made, server, tmp_path, Path(name))


@pytest.mark.long
def test_nothing_is_written_where_any_link_leads(made: Path, server: Server, tmp_path: Path) -> None:
    """For each kind of file and directory in turn."""
    names = places(made)
    wanted = {
        "orbweb.db",
        "limiter.db",
        "search.db",
        "identity",
        "locks",
        "logs",
        "state",
        "spool",
        "control",
        "store",
    }
    assert wanted <= set(map(str, names))
    assert [name for name in names if name.name.endswith(".html.zst")]
    for name in names:
        if len(name.parts) == 1 or name.parts[0] not in LATER:
            try_link(made, server, tmp_path / str(name).replace("/", "-"), name)


def try_link(made: Path, server: Server, home: Path, name: Path) -> None:
    """A link in the place of a file or directory to one outside; then everything is tried."""
    root = Path(shutil.copytree(made, home / "w", symlinks=True))
    target = replaced(root, name, home)
    before = whole(target)
    said = attempts(orbweb.open(root), server)
    assert [problem for problem in said if str(root / name) not in problem] == [], name
    assert said, name
    assert [damage["file"] for damage in doctor(root)["damages"]] == [str(name)]
    assert whole(target) == before, name


def test_links_in_the_place_of_files_that_are_there_are_replaced_or_named(
    made: Path, server: Server, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(made, tmp_path / "w", symlinks=True))
    names = [
        name for name in places(made) if len(name.parts) > 1 and name.parts[0] in LATER and (made / name).is_file()
    ]
    targets = {}
    for number, name in enumerate(names):
        (tmp_path / str(number)).mkdir()
        targets[name] = replaced(root, name, tmp_path / str(number))
    before = {name: whole(target) for name, target in targets.items()}
    there = orbweb.open(root)
    for attempt in (attempts, lambda *_: there.replay("files", run=1), lambda *_: there.replay("segments", run=1)):
        with contextlib.suppress(orbweb.ForeignFile, orbweb.UsageError):
            attempt(there, server)
    assert {name: whole(target) for name, target in targets.items()} == before
    left = {str(name) for name in names if (root / name).is_symlink()}
    assert {damage["file"] for damage in doctor(root)["damages"]} == left
    assert doctor(root, repair=True)["quarantine"]
    assert doctor(root)["healthy"]
    assert {name: whole(target) for name, target in targets.items()} == before


def test_a_repair_sets_links_aside_and_the_workspace_works_again(
    made: Path, server: Server, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(made, tmp_path / "w", symlinks=True))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_bytes(CANARY)
    for name in ("logs", "locks"):
        shutil.rmtree(root / name)
    for name in ("logs", "locks", "quarantine"):
        (root / name).symlink_to(outside)
    (root / "store" / "segments" / "9999.seg").symlink_to(outside / "mine")
    found = doctor(root)
    assert {damage["file"] for damage in found["left"]} == {
        "logs",
        "locks",
        "quarantine",
        "store/segments/9999.seg",
    }
    assert str(outside) in found["damages"][0]["problem"]
    doctor(root, repair=True)
    assert doctor(root)["healthy"]
    work(orbweb.open(root), server)
    assert [path.name for path in outside.iterdir()] == ["mine"]
    assert (outside / "mine").read_bytes() == CANARY


def test_the_database_itself_is_never_reached_by_a_link(made: Path, tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "orbweb.db").symlink_to(made / "orbweb.db")
    for repair in (False, True):
        assert [damage["file"] for damage in doctor(root, repair=repair)["left"]] == ["orbweb.db"]
    with pytest.raises(orbweb.ForeignFile, match=r"orbweb\.db: is a symbolic link"):
        orbweb.open(root).status("segments")


def test_the_directory_that_the_user_names_may_be_a_link(made: Path, server: Server, tmp_path: Path) -> None:
    root = Path(shutil.copytree(made, tmp_path / "w", symlinks=True))
    (tmp_path / "short").symlink_to(root)
    assert (
        orbweb.open(tmp_path / "short").crawl(server.url, project="segments", new_run=True, **OPTIONS).visited == 3
    )


@pytest.mark.parametrize("name", ["locks/segments.crawl.lock", "orbweb.db", "store/segments/0001.seg"])
def test_a_file_with_two_names_is_not_written(made: Path, server: Server, tmp_path: Path, name: str) -> None:
    root = Path(shutil.copytree(made, tmp_path / "w", symlinks=True))
    os.link(root / name, tmp_path / "other")
    before = (tmp_path / "other").read_bytes()
    said = attempts(orbweb.open(root), server)
    assert said
    assert all(f"{root / name}: has 2 names (hard links)" in problem and "cp -a" in problem for problem in said)
    assert (tmp_path / "other").read_bytes() == before


@pytest.mark.parametrize("name", ["locks/segments.crawl.lock", "limiter.db", "control", "orbweb.yaml"])
def test_a_pipe_is_named_and_nobody_waits_for_it(made: Path, server: Server, tmp_path: Path, name: str) -> None:
    root = Path(shutil.copytree(made, tmp_path / "w", symlinks=True))
    shutil.rmtree(root / name) if (root / name).is_dir() else (root / name).unlink()
    os.mkfifo(root / name)
    said = attempts(orbweb.open(root), server)
    assert said
    assert all(f"{root / name}: is a pipe" in problem for problem in said)
    assert [damage["file"] for damage in doctor(root)["damages"]] == [name]


# What a database may hold.

STRANGE = {
    "trigger": "CREATE TRIGGER leak AFTER INSERT ON visits BEGIN DELETE FROM urls; END",
    "view": "CREATE VIEW spare AS SELECT * FROM projects",
    "table": "CREATE TABLE spare (x, y GENERATED ALWAYS AS (x || 'y') VIRTUAL)",
    "index": "CREATE INDEX spare ON projects (lower(name))",
    "virtual table": "CREATE VIRTUAL TABLE spare USING fts5(x)",
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_database_with_more_than_our_tables_is_refused(made: Path, tmp_path: Path, name: str) -> None:
    root = Path(shutil.copytree(made, tmp_path / "w", symlinks=True))
    for file in ("orbweb.db", "limiter.db"):
        with closing(sqlite3.connect(root / file)) as db, db:
            tables = {table for (table,) in db.execute("SELECT name FROM sqlite_schema")}
            table = "projects" if file == "orbweb.db" else "hosts"
            assert table in tables
            db.execute(
                STRANGE[name].replace("visits", table).replace("projects", table).replace("(name)", "(site)")
                if file == "limiter.db"
                else STRANGE[name]
            )
    with pytest.raises(orbweb.StoreError, match=r"which orbweb did not create.*doctor"):
        orbweb.open(root).status("segments")
    with pytest.raises(orbweb.StoreError, match=r"which orbweb did not create.*Delete this file"):
        SqliteLimiter(root / "limiter.db")
    assert not doctor(root)["healthy"]
    doctor(root, repair=True)
    assert orbweb.open(root).status("segments").visited == 3


def test_the_figures_of_analyze_are_no_strangers(made: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(made, tmp_path / "w", symlinks=True))
    with closing(sqlite3.connect(root / "orbweb.db")) as db, db:
        db.execute("ANALYZE")
    assert orbweb.open(root).status("segments").visited == 3


def test_a_search_index_with_a_trigger_is_made_anew(made: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(made, tmp_path / "w", symlinks=True))
    with closing(sqlite3.connect(root / "search.db")) as db, db:
        db.execute("CREATE TRIGGER leak AFTER INSERT ON entries BEGIN DELETE FROM entries; END")
    assert orbweb.open(root).search("segments", "start")
    with closing(sqlite3.connect(root / "search.db")) as db:
        assert not db.execute("SELECT 1 FROM sqlite_schema WHERE type = 'trigger'").fetchall()
