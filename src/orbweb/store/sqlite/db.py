"""The connection to the workspace database: one SQLite file in WAL mode, used through named queries.

Every write happens inside `transaction()`, and is durable when that returns, or in the portions of `start`, which
are one transaction too, and is durable when they are done. Times are arguments, never `now()` in SQL.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from orbweb.errors import OlderWorkspace, StoreError, call, option
from orbweb.store import Row
from orbweb.store.durable import create_database, keep_log, sync_directory
from orbweb.store.sqlite import read_only
from orbweb.store.sqlite.errors import UNREADABLE, error_code, explained, newer, unwritable
from orbweb.store.sqlite.schema import QUERY, Schema, current_schema, foreign_objects, read_sql, statement_of

BUSY_TIMEOUT_S = 60.0
CACHE_KIB = 16_384
CHECKPOINT_BYTES = 8_240_000
"""Size of the write-ahead log at which it is moved to the database: 2,000 pages."""
MEMORY = ":memory:"
WAL_PROBE_S = 0.01

# sqlite3 searches an adapter for every value that is not an int, float or str; the search is slowest if it fails.
for _kind in (type(None), bool, bytes):
    sqlite3.register_adapter(_kind, lambda value: value)

_PARAMETER = re.compile(r"(?<!:):([a-z_][a-z_0-9]*)")


@dataclass(frozen=True, slots=True)
class Query:
    """A named statement; `params` are in the order of its values."""

    name: str
    sql: str
    params: tuple[str, ...]

    def values(self, given: Mapping[str, object]) -> tuple[object, ...]:
        return tuple(given[name] for name in self.params)


def _number_parameters(sql: str) -> tuple[str, tuple[str, ...]]:
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"?{names.index(match[1]) + 1}"

    return _PARAMETER.sub(number, sql), tuple(names)


@cache
def load_queries(filename: str) -> Mapping[str, Query]:
    """The named queries of one .sql file."""
    queries = {}
    for section in re.split(f"^{QUERY}", read_sql(filename), flags=re.MULTILINE)[1:]:
        name, _, body = section.partition("\n")
        sql, params = _number_parameters(statement_of(body))
        queries[name.strip()] = Query(name.strip(), sql, params)
    return queries


def use_wal(connection: sqlite3.Connection, path: Path, timeout_s: float) -> None:
    """Switch to WAL mode; StoreError if the file system does not support it.

    SQLite does not wait for another process that switches at the same time; this does. The rows are fetched,
    because an error of the switch shows only when the statement ends.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            ((mode,),) = connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(WAL_PROBE_S)
        else:
            break
    if mode not in ("wal", "memory"):
        raise StoreError(
            f"{path}: SQLite cannot keep a write-ahead log here (journal mode {mode}): the file system has no "
            "shared memory, or the file is read-only. Nothing was changed. "
            f"Use a {option('workspace')} on a local disk."
        )


@contextmanager
def immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that holds the write lock from its start: committed at the end, rolled back on an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class Database:
    """A connection, used by one thread."""

    def __init__(self, path: Path, *, timeout_s: float = BUSY_TIMEOUT_S, version: Schema | None = None) -> None:
        """`version`: another schema than the current one, with everything that the queries need."""
        self.path = path
        self._schema = version or current_schema()
        self._timeout_s = timeout_s
        self._queries = load_queries("queries.sql")
        self._portions: Iterator[None] | None = None
        self._log = path.with_name(f"{path.name}-wal")
        self._is_new_log = str(path) != MEMORY
        self._broken: StoreError | None = None
        self.is_read_only = read_only.is_read_only(path)
        self._is_frozen = False
        self._create()
        try:
            self._connection = self._connect()
        except UNREADABLE as error:
            raise self._explain(error) from error
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if not self.is_read_only:
            return sqlite3.connect(self.path, timeout=self._timeout_s, isolation_level=None)
        connection, self._is_frozen = read_only.connect(self.path, self._timeout_s)
        return connection

    def _create(self) -> None:
        """A new database gets its tables before it gets its name."""
        if str(self.path) == MEMORY:
            return
        try:
            create_database(self.path, self._fill)
        except UNREADABLE as error:
            raise self._explain(error) from error
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _prepare(self) -> None:
        """Check the version before anything is written."""
        try:
            self._check_version()
            self._refuse_foreign()
            if self.is_read_only:
                return
            self._configure()
            if not self._version():
                self._fill(self._connection)
        except UNREADABLE as error:
            raise self._explain(error) from error

    def _fill(self, connection: sqlite3.Connection) -> None:
        """Create the tables of a new database, and switch it to WAL mode."""
        with immediate(connection):
            if not connection.execute("SELECT 1 FROM sqlite_schema").fetchall():
                for statement in self._schema.statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {self._schema.version}")
        use_wal(connection, self.path, self._timeout_s)

    def _check_version(self) -> None:
        version = self._version()
        known = self._schema.version
        if version > known:
            raise newer(self.path, version, known)
        if 0 < version < known and self.is_read_only:
            raise StoreError(
                f"{self.path}: written by an earlier orbweb (schema {version}, this one has {known}), and "
                "read-only. Copy the workspace to a place where you may write: it is upgraded when it is opened."
            )
        if 0 < version < known:
            raise OlderWorkspace(f"{self.path}: schema {version}, not yet upgraded to {known}")

    def _refuse_foreign(self) -> None:
        """A trigger or a view that orbweb did not create would run with its statements."""
        self._connection.execute("PRAGMA trusted_schema = OFF")
        foreign = foreign_objects(self._connection, self._schema.statements) if self._version() else []
        if foreign:
            raise StoreError(
                f"{self.path}: holds {', '.join(foreign)}, which orbweb did not create. Nothing was changed. "
                f"{call('doctor', repair=True)} copies only the rows."
            )

    def _configure(self) -> None:
        """SQLite ignores errors of automatic checkpoints, so they are off: see `_checkpoint`. After one the log is
        truncated, so that its size shows when the next one is due."""
        use_wal(self._connection, self.path, self._timeout_s)
        for pragma in (
            "synchronous = FULL",
            "foreign_keys = OFF",
            f"cache_size = -{CACHE_KIB}",
            "wal_autocheckpoint = 0",
            "journal_size_limit = 0",
        ):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _explain(self, error: Exception) -> StoreError:
        if self._is_frozen and read_only.has_log(self.path):
            return StoreError(f"{self.path}: a crawl has begun to write it meanwhile. Repeat the command.")
        return explained(self.path, error)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, durable at the end. Other writers wait; a transaction in portions is finished first."""
        self.finish()
        with self._begun():
            yield

    @contextmanager
    def _begun(self) -> Iterator[None]:
        if self._broken is not None:
            raise StoreError(str(self._broken)) from self._broken
        try:
            self._name_log()
            with immediate(self._connection):
                yield
            self._checkpoint(CHECKPOINT_BYTES)
        except UNREADABLE as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise self._stopped(error) from error

    def _name_log(self) -> None:
        """Make the name of the log durable before its content: SQLite ignores errors of its directory sync."""
        if not self._is_new_log:
            return
        try:
            sync_directory(self.path.parent)
        except OSError as error:
            self._broken = unwritable(self.path.parent, error)
            raise self._broken from error
        self._is_new_log = False

    def _checkpoint(self, least: int) -> None:
        """Move the log into the database if it is larger than `least`; it has to wait while rows are read."""
        try:
            size = self._log.stat().st_size
        except FileNotFoundError:
            return
        if size <= least:
            return
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.OperationalError as error:
            if error_code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise

    def _stopped(self, error: Exception) -> StoreError:
        """Explain an error of a write. After an I/O error nothing is written or synced any more."""
        found = self._explain(error)
        if error_code(error) == sqlite3.SQLITE_IOERR and self._broken is None:
            self._broken = found
            keep_log(self.path)
        return found

    def start(self, work: Iterator[None], on_durable: Callable[[], None]) -> None:
        """Begin a transaction that does one portion of the work per `step`, and calls `on_durable` at the end."""
        self.finish()
        self._portions = self._in_portions(work)
        self._on_durable = on_durable

    def _in_portions(self, work: Iterator[None]) -> Iterator[None]:
        with self._begun():
            yield from work

    @property
    def is_writing(self) -> bool:
        """Whether a transaction in portions is unfinished."""
        return self._portions is not None

    def step(self) -> None:
        """Do the next portion, if there is one."""
        portions, self._portions = self._portions, None
        if portions is None:
            return
        if next(portions, self) is None:
            self._portions = portions
        else:
            self._on_durable()

    def finish(self) -> None:
        """Do all portions that are left."""
        while self._portions is not None:
            self.step()

    def each(self, name: str, /, **values: object) -> Iterator[Row]:
        """The rows of a query, read as they are consumed; the database may be closed before all are."""
        query = self._queries[name]
        try:
            for row in self._connection.execute(query.sql, query.values(values)):  # noqa: UP028
                yield row
        except UNREADABLE as error:
            raise self._explain(error) from error

    def all(self, name: str, /, **values: object) -> list[Row]:
        query = self._queries[name]
        try:
            return self._connection.execute(query.sql, query.values(values)).fetchall()
        except UNREADABLE as error:
            raise self._explain(error) from error

    def one(self, name: str, /, **values: object) -> Row | None:
        rows = self.all(name, **values)
        return rows[0] if rows else None

    def value(self, name: str, /, **values: object) -> Any:
        row = self.one(name, **values)
        return row[0] if row else None

    def run(self, name: str, /, **values: object) -> int:
        """Execute a change; returns the number of rows it touched."""
        query = self._queries[name]
        return self._connection.execute(query.sql, query.values(values)).rowcount

    def many(self, name: str, rows: Sequence[Row]) -> int:
        """Execute a change for each row; fields in the order of the query's parameters.

        sqlite3 reads the fields of a plain tuple much faster than those of a named one.
        """
        if not rows:
            return 0
        return self._connection.executemany(self._queries[name].sql, map(tuple, rows)).rowcount

    def moved(self, name: str, /, **values: object) -> None:
        """A guarded state change that must hit exactly one row."""
        if self.run(name, **values) != 1:
            raise StoreError(f"{self.path}: {name} found another state than expected: {values}")

    def copy_to(self, path: Path) -> None:
        """Copy the whole database to a new file."""
        try:
            self._connection.execute("VACUUM INTO ?", (str(path),))
        except UNREADABLE as error:
            raise explained(path, error) from error

    def close(self) -> None:
        """Close the connection. SQLite moves the log into the database when the last connection closes; a
        statement does it first, because its errors are reported."""
        try:
            if self._connection.total_changes and self._broken is None:
                self._checkpoint(0)
        except UNREADABLE as error:
            raise self._stopped(error) from error
        finally:
            self._connection.close()
