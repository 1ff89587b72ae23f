"""Upgrades a database of an earlier version with the steps in `sql/migrations`.

All steps are one transaction, after which the tables are exactly those of a new database. Before it, a durable
copy is written to `backups/`; no crawl can run meanwhile. Uses sqlite3 directly, because `Database` opens only the
current version.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from orbweb.errors import NewerWorkspace, StoreError
from orbweb.failpoints import failpoint
from orbweb.store import workspace_files
from orbweb.store.lock import OwnerLock
from orbweb.store.sqlite import salvage
from orbweb.store.sqlite.db import BUSY_TIMEOUT_S
from orbweb.store.sqlite.errors import UNREADABLE, explained
from orbweb.store.sqlite.schema import Schema, current_schema, statements, stored_schema

BACKUPS = "backups"
_LOCK = ".crawl.lock"

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Step:
    """The statements that upgrade to `version` from the one before; `title` is the first line of their file."""

    version: int
    title: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """The target schema, and the steps to it, in order."""

    schema: Schema
    steps: tuple[Step, ...]

    def since(self, version: int) -> tuple[Step, ...]:
        """The steps after a version; StoreError if one is missing."""
        wanted = range(version + 1, self.schema.version + 1)
        found = {step.version: step for step in self.steps}
        missing = [number for number in wanted if number not in found]
        if missing:
            raise StoreError(f"no upgrade step to schema {missing[0]}; upgrade with an earlier orbweb first")
        return tuple(found[number] for number in wanted)


@cache
def plan() -> UpgradePlan:
    """The built-in steps: sql/migrations/0002.sql upgrades version 1 to version 2."""
    folder = Path(__file__).with_name("sql") / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return UpgradePlan(
        current_schema(), tuple(_step(name, (folder / name).read_text(encoding="utf-8")) for name in names)
    )


def _step(name: str, text: str) -> Step:
    title = text.partition("\n")[0].removeprefix("--").strip()
    return Step(int(name.removesuffix(".sql")), title, statements(text))


def upgrade(path: Path, to: UpgradePlan, note: Note, *, workspace: Path | None = None) -> Path | None:
    """Upgrade the database to the version of the plan; return its copy, or None if there was nothing to do.

    `workspace` has the locks and gets the copy; it is the directory of the database unless given."""
    root = workspace or path.parent
    with _all_owned(root), closing(_connected(path)) as connection:
        try:
            version = _version(connection)
            if version in (0, to.schema.version):
                return None
            steps = _steps(path, version, to)
            copy = _copied(connection, root, path.stem, version)
            note(f"{path}: upgrading schema {version} to {to.schema.version}; a copy of the database is in {copy}")
            _execute(connection, version, steps, to.schema)
        except sqlite3.Error as error:
            raise explained(path, error) from error
    return copy


def is_older(path: Path, than: Schema) -> bool:
    """Whether the file has an older version. It may be damaged and is only read."""
    try:
        with closing(salvage.reading(path)) as connection:
            return 0 < _version(connection) < than.version
    except UNREADABLE:
        return False


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    except sqlite3.Error as error:
        raise explained(path, error) from error


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def _all_owned(root: Path) -> Iterator[None]:
    """Hold the locks of all projects, or raise Busy."""
    with ExitStack() as owned:
        for name in sorted(workspace_files.names(root, "locks")):
            if name.endswith(_LOCK):
                owned.enter_context(OwnerLock(root / "locks", name.removesuffix(_LOCK)))
        yield


def _steps(path: Path, version: int, to: UpgradePlan) -> tuple[Step, ...]:
    if version > to.schema.version:
        raise NewerWorkspace(f"{path}: schema {version} is newer than {to.schema.version}. Nothing was changed.")
    try:
        return to.since(version)
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error


def _copied(connection: sqlite3.Connection, root: Path, stem: str, version: int) -> Path:
    """Write a durable copy of the database; an existing one is from an upgrade that failed."""
    folder = root / BACKUPS
    copy, half = folder / f"{stem}-schema-{version}.db", folder / f"{stem}-schema-{version}.half"
    try:
        workspace_files.make_directory(root, BACKUPS)
        workspace_files.unlink(root, Path(BACKUPS, half.name))
        os.close(workspace_files.open_file(root, Path(BACKUPS, half.name), os.O_RDWR | os.O_CREAT | os.O_EXCL))
        connection.execute("VACUUM INTO ?", (str(half),))
        _sync(half)
        workspace_files.replace(root, Path(BACKUPS, half.name), Path(BACKUPS, copy.name))
        _sync(folder)
    except OSError as error:
        problem = f"{copy}: copying the database before the upgrade failed: {error.strerror}. Nothing was changed."
        raise StoreError(problem) from error
    failpoint("upgrade_copied")
    return copy


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _execute(connection: sqlite3.Connection, version: int, steps: Sequence[Step], to: Schema) -> None:
    """Execute all steps in one transaction. References of other tables to a renamed table are not rewritten."""
    for pragma in ("synchronous = FULL", "foreign_keys = OFF", "legacy_alter_table = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) == version:
            for step in steps:
                _execute_step(connection, step)
            _check(connection, to)
            connection.execute(f"PRAGMA user_version = {to.version}")
        failpoint("upgrade_written")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _execute_step(connection: sqlite3.Connection, step: Step) -> None:
    for statement in step.statements:
        try:
            connection.execute(statement)
        except sqlite3.Error as error:
            error.add_note(f"step {step.version} ({step.title}): {statement.partition(chr(10))[0]}")
            raise


def _check(connection: sqlite3.Connection, to: Schema) -> None:
    """Raise unless the tables are exactly those of a new database."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for statement in to.statements:
            fresh.execute(statement)
        odd = sorted({row[1] for row in set(stored_schema(connection)) ^ set(stored_schema(fresh))})
    if odd:
        raise StoreError(
            f"after the upgrade to schema {to.version}, {', '.join(odd)} would differ from a new database. "
            "Nothing was changed; please report this."
        )
