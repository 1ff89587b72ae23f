"""R16: workspaces of every released schema open with today's code; an upgrade is done whole or not at all."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, assert_books_balance
from orbweb.app import reports
from orbweb.app.directory import OpenWorkspace
from orbweb.app.doctor import check_store
from orbweb.errors import Busy, NewerWorkspace, OlderWorkspace, StoreError
from orbweb.store.lock import OwnerLock
from orbweb.store.sqlite import schema, upgrade
from orbweb.store.sqlite.db import Database
from orbweb.store.sqlite.schema import SCHEMA_VERSION, stored_schema
from orbweb.store.sqlite.upgrade import Step, UpgradePlan
from servers.site import StaticSite, serve
from upgrade.make import HERE, PROJECT, SITE, crawl, facts, make

RELEASED = sorted(int(path.name.removeprefix("schema-").partition(".")[0]) for path in HERE.glob("*.tar.xz"))


def unpack(version: int, home: Path) -> Path:
    with tarfile.open(HERE / f"schema-{version}.tar.xz") as packed:
        packed.extractall(home, filter="data")
    return home / "workspace"


def known(version: int) -> dict[str, Any]:
    return json.loads((HERE / f"schema-{version}.json").read_text(encoding="utf-8"))


# What users have.


def test_every_schema_up_to_todays_is_stored() -> None:
    assert list(range(1, SCHEMA_VERSION + 1)) == RELEASED


def test_todays_schema_is_the_stored_one(tmp_path: Path) -> None:
    """After a release: raise SCHEMA_VERSION, write a step, store the workspace of it. Before: store it anew."""
    with closing(sqlite3.connect(unpack(SCHEMA_VERSION, tmp_path) / "orbweb.db")) as stored:
        odd = {row[1] for row in set(stored_schema(stored)) ^ set(_fresh())}
    assert odd == set(), "tables were changed; see docs/explanation/storage.md and tests/upgrade/make.py"


def _fresh() -> tuple[tuple[Any, ...], ...]:
    with closing(sqlite3.connect(":memory:")) as fresh:
        for statement in schema.current_schema().statements:
            fresh.execute(statement)
        return stored_schema(fresh)


@pytest.mark.parametrize("version", RELEASED)
def test_a_released_workspace_opens_reports_resumes_and_is_healthy(version: int, tmp_path: Path) -> None:
    assert check_store(unpack(version, tmp_path / "unopened"))["damages"] == []
    path = unpack(version, tmp_path)
    assert facts(path) == known(version)
    assert check_store(path)["damages"] == []
    with serve(StaticSite(SITE)) as server:
        done = crawl(path, server, budget=None)
    assert (done.run, done.run_state, done.exit_code) == (2, "completed", 3)
    first, second = facts(path)["manifests"]
    assert (first, second) == (known(version)["manifests"][0], first), "the run went on as if never interrupted"
    assert check_store(path)["damages"] == []
    assert_books_balance(path / "orbweb.db")


def test_a_newer_workspace_is_refused_clearly(tmp_path: Path) -> None:
    cli = Cli(unpack(SCHEMA_VERSION, tmp_path))
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as newer:
        newer.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = (cli.workspace / "orbweb.db").read_bytes()
    refused = cli.ask("status", PROJECT)
    assert refused.code == 2
    assert "newer orbweb" in refused.err
    assert (cli.workspace / "orbweb.db").read_bytes() == before


# A version that does not exist yet: projects have an owner, and runs count differently.

NEXT = SCHEMA_VERSION + 1


def _next_schema() -> schema.Schema:
    old = "created_at  INTEGER NOT NULL\n)"
    statements = [
        each.replace(old, f"{old[:-2]},\n    owner       TEXT NOT NULL\n)")
        for each in schema.current_schema().statements
    ]
    return schema.Schema(NEXT, tuple(statements))


SCHEMA = _next_schema()
PROJECTS = next(each for each in SCHEMA.statements if each.startswith("CREATE TABLE projects"))
STEP = Step(
    NEXT,
    "projects have an owner",
    (
        "ALTER TABLE projects RENAME TO old_projects",
        PROJECTS,
        "INSERT INTO projects SELECT *, 'nobody' FROM old_projects",
        "DROP TABLE old_projects",
    ),
)
PLAN = UpgradePlan(SCHEMA, (STEP,))


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as found:
        return int(found.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A workspace of today's schema, and what is in it."""
    path = tmp_path_factory.mktemp("made") / "workspace"
    return path, make(path)


@pytest.fixture
def old(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    return shutil.copytree(made[0], tmp_path / "workspace")


@pytest.fixture
def before(made: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return made[1]


def test_the_made_up_version_is_another_one() -> None:
    assert SCHEMA.statements != schema.current_schema().statements


def test_a_step_is_taken_when_a_workspace_is_opened(
    old: Path, before: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "orbweb"):
        opened = OpenWorkspace(old, plan=PLAN)
    try:
        assert reports.manifest_hash(opened, PROJECT, 1) == before["manifests"][0]
    finally:
        opened.close()
    copy = old / "backups" / f"orbweb-schema-{SCHEMA_VERSION}.db"
    assert [record.getMessage() for record in caplog.records] == [
        f"{old / 'orbweb.db'}: upgrading schema {SCHEMA_VERSION} to {NEXT}; a copy of the database is in {copy}"
    ]
    with closing(sqlite3.connect(old / "orbweb.db")) as upgraded:
        assert upgraded.execute("SELECT name, owner FROM projects").fetchall() == [(PROJECT, "nobody")]
        assert "old_projects" not in str(stored_schema(upgraded))
    assert (version_of(old / "orbweb.db"), version_of(copy)) == (NEXT, SCHEMA_VERSION)
    assert (copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert sorted(path.name for path in copy.parent.iterdir()) == [copy.name]
    Database(copy).close()


def test_an_upgraded_workspace_is_not_upgraded_again(old: Path) -> None:
    notes: list[str] = []
    assert upgrade.upgrade(old / "orbweb.db", PLAN, notes.append) is not None
    assert upgrade.upgrade(old / "orbweb.db", PLAN, notes.append) is None
    assert len(notes) == 1


def test_todays_code_refuses_a_database_that_was_not_upgraded(old: Path) -> None:
    with pytest.raises(OlderWorkspace, match=f"schema {SCHEMA_VERSION}"):
        Database(old / "orbweb.db", version=SCHEMA)
    assert upgrade.is_older(old / "orbweb.db", SCHEMA)
    assert not upgrade.is_older(old / "orbweb.db", schema.current_schema())


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ((*STEP.statements[:1], "SELECT nonsense"), "nonsense"),
        (STEP.statements[:-1], "old_projects, .* would differ"),
        (("ALTER TABLE projects ADD COLUMN owner TEXT",), ", projects would differ from a new database"),
        ((), ", projects would differ from a new database"),
    ],
)
def test_a_step_that_goes_wrong_leaves_the_old_version(
    old: Path, before: dict[str, Any], statements: tuple[str, ...], words: str
) -> None:
    whole = _dump(old / "orbweb.db")
    with pytest.raises(StoreError, match=words):
        OpenWorkspace(old, plan=replace(PLAN, steps=(replace(STEP, statements=statements),)))
    assert _dump(old / "orbweb.db") == whole
    assert facts(old) == before


def _dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as found:
        return list(found.iterdump())


def test_steps_are_taken_in_order_and_none_may_be_missing(old: Path) -> None:
    last = schema.Schema(NEXT + 1, SCHEMA.statements)
    names = Step(NEXT + 1, "owners have names", ("UPDATE projects SET owner = 'somebody'",))
    with pytest.raises(StoreError, match=f"no upgrade step to schema {NEXT};"):
        upgrade.upgrade(old / "orbweb.db", UpgradePlan(last, (names,)), print)
    upgrade.upgrade(old / "orbweb.db", UpgradePlan(last, (names, STEP)), print)
    with closing(sqlite3.connect(old / "orbweb.db")) as upgraded:
        assert upgraded.execute("SELECT owner FROM projects").fetchall() == [("somebody",)]


def test_nothing_is_upgraded_under_a_running_crawl(old: Path) -> None:
    with OwnerLock(old / "locks", PROJECT), pytest.raises(Busy):
        upgrade.upgrade(old / "orbweb.db", PLAN, print)
    assert version_of(old / "orbweb.db") == SCHEMA_VERSION
    assert not (old / "backups").exists()


def test_a_newer_database_has_no_way_back(old: Path) -> None:
    upgrade.upgrade(old / "orbweb.db", PLAN, print)
    with pytest.raises(NewerWorkspace):
        upgrade.upgrade(old / "orbweb.db", upgrade.plan(), print)


def test_a_copy_that_cannot_be_made_stops_the_upgrade(old: Path) -> None:
    (old / "backups").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="backups: is a file, not a directory"):
        upgrade.upgrade(old / "orbweb.db", PLAN, print)
    assert version_of(old / "orbweb.db") == SCHEMA_VERSION


KILLED = """
import sys
from pathlib import Path
from orbweb.app.directory import OpenWorkspace
from upgrade.test_upgrade import PLAN
OpenWorkspace(Path(sys.argv[1]), plan=PLAN)
"""


@pytest.mark.parametrize("point", ["upgrade_copied", "upgrade_written"])
def test_killed_in_the_middle_it_is_the_old_version(old: Path, before: dict[str, Any], point: str) -> None:
    path = os.pathsep.join([str(HERE.parent), *sys.path])
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(old)], env={**os.environ, "ORBWEB_FAULT": point, "PYTHONPATH": path}
    )
    assert killed.returncode == -signal.SIGKILL
    assert facts(old) == before, "today's code still opens it"
    assert version_of(old / "orbweb.db") == SCHEMA_VERSION
    OpenWorkspace(old, plan=PLAN).close()
    assert version_of(old / "orbweb.db") == NEXT


def test_the_steps_that_come_with_orbweb_lead_to_todays_schema() -> None:
    plan = upgrade.plan()
    assert plan.schema == schema.current_schema()
    assert [step.version for step in plan.steps] == list(range(2, SCHEMA_VERSION + 1))
    assert all(step.title and step.statements for step in plan.steps)
    assert orbweb.OlderWorkspace is OlderWorkspace
