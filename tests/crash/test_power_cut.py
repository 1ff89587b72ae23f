"""R3: power cuts. What was not synced is lost, kept in part, torn or reordered; resume gives the same manifest.

Each state is rebuilt from the recorded calls of one real crawl (see tests/disk). The seeds are fixed, and printed
with the state that fails.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import disk
import orbweb
from disk import Call, Disk, Loss, State
from harness import Cli, assert_books_balance
from orbweb.app.doctor import doctor
from servers.graph import GraphSite
from servers.site import Server, serve

OPTIONS = ("--rate", "max", "--project", "site", "--workers", "4", "--processes", "0")
QUICK = {"ORBWEB_FETCH__BACKOFF_S": "0.01", "ORBWEB_ENGINE__GROUP_PAGES": "5"}
WORKSPACE = "home/workspace"


@dataclass(frozen=True)
class Recorded:
    """A crawl that ran to its end: everything it did to its files, and its result."""

    server: Server
    log: list[Call]
    manifest: list[str]


def recorded(home: Path, server: Server, layout: str) -> Recorded:
    library, root = disk.compiled(home), home / "root"
    root.mkdir()
    (root / "home").mkdir()
    cli = Cli(root / WORKSPACE)
    env = {**disk.environment(library, root / "home", home / "log"), **QUICK}
    cli.crawl(server.url, *OPTIONS, "--store", layout, env=env).ok(3)
    return Recorded(server, disk.calls(home / "log"), manifest(root / WORKSPACE))


def manifest(workspace: Path) -> list[str]:
    return Cli(workspace).ask("manifest", "site").ok().out.splitlines()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(GraphSite(5, 40)) as running:
        yield running


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Recorded:
    return recorded(tmp_path_factory.mktemp("segments"), server, "segments")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Recorded:
    return recorded(tmp_path_factory.mktemp("files"), server, "files")


def rows(workspace: Path, query: str) -> set[tuple[object, ...]]:
    """What the database answers; nothing where there is none yet."""
    if not (workspace / "orbweb.db").exists():
        return set()
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
        return set(db.execute(query))


def visits(workspace: Path) -> set[tuple[object, ...]]:
    return rows(workspace, "SELECT run_id, number, url_id, status, body_sha256, content_sha256 FROM visits")


def acknowledged(synced: Disk, path: Path) -> set[tuple[object, ...]]:
    """The visits of all transactions that had returned at the last sync of the log."""
    synced.after_cut(path, None, random.Random(0))
    return visits(path / "workspace")


def assert_survives(whole: Recorded, layout: str, disk_then: Disk, synced: Disk, cut: State, home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    before = acknowledged(synced, home / "synced")
    disk_then.after_cut(home / "cut", cut.loss, random.Random(cut.seed))
    workspace = home / "cut" / "workspace"
    if before or (workspace / "orbweb.db").exists():
        assert doctor(workspace)["damages"] == []
    assert before <= visits(workspace)
    whole.server.reset()
    finish(workspace, whole.server.url, layout)
    assert manifest(workspace) == whole.manifest
    assert doctor(workspace)["damages"] == []
    assert_books_balance(workspace / "orbweb.db")


def finish(workspace: Path, url: str, layout: str) -> None:
    """Resume, or start where nothing was durable yet."""
    if rows(workspace, "SELECT state FROM runs") != {("completed",)}:
        orbweb.crawl(url, workspace=workspace, project="site", rate="max", workers=4, processes=0, store=layout)


def power_cuts(whole: Recorded, layout: str, count: int, seed: int, home: Path) -> None:
    cuts = disk.states(whole.log, count, seed)
    assert {cut.loss for cut in cuts} == set(Loss)

    def look(now: Disk, synced: Disk, cut: State) -> None:
        try:
            assert_survives(whole, layout, now, synced, cut, home)
        except BaseException as error:
            error.add_note(f"{layout}: {cut} (states of seed {seed})")
            raise

    disk.visit(whole.log, cuts, look)


@pytest.mark.parametrize("layout", ["segments", "files"])
def test_thirty_power_cuts(request: pytest.FixtureRequest, tmp_path: Path, layout: str) -> None:
    power_cuts(request.getfixturevalue(layout), layout, 30, 1603, tmp_path / "disk")


@pytest.mark.long
@pytest.mark.parametrize("layout", ["segments", "files"])
def test_three_hundred_power_cuts(request: pytest.FixtureRequest, tmp_path: Path, layout: str) -> None:
    power_cuts(request.getfixturevalue(layout), layout, 300, 1604, tmp_path / "disk")
