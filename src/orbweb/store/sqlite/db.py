"""The database: one SQLite file in WAL mode, named queries, a schema version.

Owns the connection and the dialect: SQLite's names appear only here and in store/sql. Always holds: a
write happens inside `transaction()` and is durable when it returns, or in the portions of `start`, one
transaction as well, and is durable when they are done. Queries come from .sql files by name. Times are passed in,
never asked of the database.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from orbweb.errors import DiskFull, NewerWorkspace, OlderWorkspace, StoreError, is_disk_full
from orbweb.lifecycle import CrawlState, EndedBy, ItemState, RunState
from orbweb.model import Carried, Reuse
from orbweb.store.durable import found_database, keep_log, sync_directory

"""The file in a workspace."""
SCHEMA_VERSION = 3
BUSY_TIMEOUT_S = 60.0
CACHE_KIB = 16_384
CHECKPOINT_BYTES = 8_240_000
"""How long the write-ahead log gets before it is moved to the database: 2,000 pages."""
MEMORY = ":memory:"
WAL_PROBE_S = 0.01

Row = tuple[Any, ...]

# The message of an error may quote damaged bytes, and then fails to be text itself.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)

# sqlite3 looks for an adapter of every value that is no int, float or str, and longest where there is none.
for _kind in (type(None), bool, bytes):
    sqlite3.register_adapter(_kind, lambda value: value)

_PARAMETER = re.compile(r"(?<!:):([a-z_][a-z_0-9]*)")


@dataclass(frozen=True, slots=True)
class Query:
    """One named statement; `params` are in the order in which values are passed."""

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


def _sql(filename: str) -> str:
    return Path(__file__).with_name("sql").joinpath(filename).read_text(encoding="utf-8")


def _statement(section: str) -> str:
    lines = [line for line in section.splitlines() if not line.lstrip().startswith("--")]
    return "\n".join(lines).strip().rstrip(";")


@cache
def load_queries(filename: str) -> Mapping[str, Query]:
    """The named queries of one .sql file."""
    queries = {}
    for section in re.split(r"^-- name: ", _sql(filename), flags=re.MULTILINE)[1:]:
        name, _, body = section.partition("\n")
        sql, params = _number_parameters(_statement(body))
        queries[name.strip()] = Query(name.strip(), sql, params)
    return queries


def statements(text: str) -> tuple[str, ...]:
    """The statements of a text, each of which ends its line with a semicolon."""
    return tuple(statement for part in text.split(";\n") if (statement := _statement(part)))


def named_schema(filename: str) -> tuple[str, ...]:
    """The statements before the first named query of a file."""
    return statements(_sql(filename).partition("-- name: ")[0])


def _quoted(states: Iterable[str]) -> str:
    return ", ".join(f"'{state}'" for state in states)


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one version."""

    version: int
    statements: tuple[str, ...]


@cache
def today() -> Schema:
    """What a new database has."""
    return Schema(SCHEMA_VERSION, tuple(schema()))


def stored_schema(connection: sqlite3.Connection) -> tuple[Row, ...]:
    """The tables and indexes of a database: kind, name and the statement that made it."""
    return tuple(connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid"))


@cache
def _made_by(statements: tuple[str, ...]) -> frozenset[Row]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        return frozenset(stored_schema(connection))


def strangers(connection: sqlite3.Connection, statements: tuple[str, ...]) -> list[str]:
    """What a database has besides what these statements make, or otherwise; but for the figures of ANALYZE."""
    odd = set(stored_schema(connection)) - _made_by(statements)
    return sorted(f"{kind} {name}" for kind, name, _ in odd if not name.startswith("sqlite_stat"))


def schema() -> list[str]:
    """The statements of the schema, with the states of `lifecycle` in its CHECK constraints."""
    words = {
        "run_states": _quoted(RunState),
        "crawl_states": _quoted(CrawlState),
        "endings": _quoted(EndedBy),
        "reuses": _quoted(Reuse),
        "carried": _quoted(Carried),
        "stored_item_states": _quoted(state for state in ItemState if state is not ItemState.LEASED),
    }
    return [
        re.sub(r"<(\w+)>", lambda match: words[match[1]], statement) for statement in named_schema("schema.sql")
    ]


def use_wal(connection: sqlite3.Connection, path: Path, timeout_s: float) -> None:
    """Switch to WAL mode, or StoreError where the file system cannot do that.

    SQLite does not wait for another process that does the same just now; this does. The rows are fetched, because
    an error of the switch shows only when the statement ends.
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
            "shared memory, or the file is read-only. Nothing was changed. Use a --workspace on a local disk."
        )


def explained(path: Path, error: Exception) -> StoreError:
    """What an error of the database means, and what to do."""
    if is_disk_full(error):
        return DiskFull(f"disk full: {path} cannot grow. Free some space, then resume.")
    if "unable to open" in str(error) or "readonly" in str(error):
        return StoreError(f"{path}: cannot be written ({error}). Check the directory's permissions.")
    if is_damage(error):
        return StoreError(
            f"{path}: damaged ({error}). Run `orbweb doctor` to see what is wrong and how to repair it."
        )
    if _code(error) == sqlite3.SQLITE_IOERR:
        return StoreError(
            f"{path}: the disk failed ({error}, {_name(error)}). Everything committed before is safe; nothing "
            "more was written. Check the disk, then run `orbweb doctor`."
        )
    return StoreError(f"{path}: {error}")


def newer(path: Path, version: int, known: int) -> NewerWorkspace:
    return NewerWorkspace(
        f"{path}: written by a newer orbweb (schema {version}, this one knows {known}). "
        "Nothing was changed. Upgrade orbweb, or use another --workspace."
    )


def unwritable(path: Path, error: OSError) -> StoreError:
    """An error of the disk, with the file and what to do."""
    if is_disk_full(error):
        return DiskFull(f"disk full: {path} cannot be written. Free some space, then resume.")
    return StoreError(
        f"{path}: cannot be written ({error.strerror}). Check the disk and the directory's permissions."
    )


def is_damage(error: Exception) -> bool:
    """Whether the file is not a database, or its pages, tables or values do not fit together."""
    if isinstance(error, UnicodeDecodeError):
        return True
    texts = ("no such table", "no such column", "has no column named", "Could not decode", "vtable constructor")
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or any(
        text in str(error) for text in texts
    )


def damaged(problem: str) -> sqlite3.DatabaseError:
    """The error of a file that SQLite can read, and that is not what was written."""
    error = sqlite3.DatabaseError(problem)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _code(error: Exception) -> int:
    """The primary code of SQLite; 0 where the error is Python's own."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _name(error: Exception) -> str:
    return str(getattr(error, "sqlite_errorname", "SQLITE_IOERR"))


@contextmanager
def immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that may write from its beginning: committed at the end, rolled back by an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class Database:
    """A connection that only one thread uses."""

    def __init__(self, path: Path, *, timeout_s: float = BUSY_TIMEOUT_S, version: Schema | None = None) -> None:
        """`version`: other tables than today's, which hold all that the queries need."""
        self.path = path
        self._schema = version or today()
        self._timeout_s = timeout_s
        self._queries = load_queries("queries.sql")
        self._portions: Iterator[None] | None = None
        self._log = path.with_name(f"{path.name}-wal")
        self._is_new_log = str(path) != MEMORY
        self._broken: StoreError | None = None
        self._create()
        try:
            self._connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None)
        except UNREADABLE as error:
            raise self._explain(error) from error
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _create(self) -> None:
        """A database that is not there yet gets its tables before it gets its name."""
        if str(self.path) == MEMORY:
            return
        try:
            found_database(self.path, self._fill)
        except UNREADABLE as error:
            raise self._explain(error) from error
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _prepare(self) -> None:
        """Nothing is written before the version is known."""
        try:
            self._check_version()
            self._refuse_strange()
            self._configure()
            if not self._version():
                self._fill(self._connection)
        except UNREADABLE as error:
            raise self._explain(error) from error

    def _fill(self, connection: sqlite3.Connection) -> None:
        """The tables of a new database, in WAL mode."""
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
        if 0 < version < known:
            raise OlderWorkspace(f"{self.path}: schema {version}, not yet upgraded to {known} (see store.upgrade)")

    def _refuse_strange(self) -> None:
        """A trigger, a view or a table that orbweb did not make would run with our statements."""
        self._connection.execute("PRAGMA trusted_schema = OFF")
        strange = strangers(self._connection, self._schema.statements) if self._version() else []
        if strange:
            raise StoreError(
                f"{self.path}: holds {', '.join(strange)}, which orbweb did not make. Nothing was changed. "
                "`orbweb doctor --repair` takes over the rows alone."
            )

    def _configure(self) -> None:
        """SQLite passes over errors of its own checkpoints, so it makes none: see `_checkpoint`. After one the log
        is cut to what is in it, so that its size tells when the next is due."""
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
        return explained(self.path, error)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, durable at the end. Other writers wait; one in portions is brought to its end first."""
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
        """Make the name of the log durable before anything that is in it: an error of SQLite's own sync of the
        directory is passed over."""
        if not self._is_new_log:
            return
        try:
            sync_directory(self.path.parent)
        except OSError as error:
            self._broken = unwritable(self.path.parent, error)
            raise self._broken from error
        self._is_new_log = False

    def _checkpoint(self, least: int) -> None:
        """Move what is in the log to the file if there is that much. While rows are read it has to wait."""
        try:
            size = self._log.stat().st_size
        except FileNotFoundError:
            return
        if size <= least:
            return
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.OperationalError as error:
            if _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise

    def _stopped(self, error: Exception) -> StoreError:
        """What an error of a write means. After one of the disk nothing is written or synced any more."""
        found = self._explain(error)
        if _code(error) == sqlite3.SQLITE_IOERR and self._broken is None:
            self._broken = found
            keep_log(self.path)
        return found

    def start(self, work: Iterator[None], done: Callable[[], None]) -> None:
        """Begin a transaction that does a portion of the work at each `step`, and calls `done` at its end."""
        self.finish()
        self._portions = self._in_portions(work)
        self._done = done

    def _in_portions(self, work: Iterator[None]) -> Iterator[None]:
        with self._begun():
            yield from work

    @property
    def is_writing(self) -> bool:
        """Whether a transaction in portions is not yet done."""
        return self._portions is not None

    def step(self) -> None:
        """Do the next portion, if there is one."""
        portions, self._portions = self._portions, None
        if portions is None:
            return
        if next(portions, self) is None:
            self._portions = portions
        else:
            self._done()

    def finish(self) -> None:
        """Do all portions that are left."""
        while self._portions is not None:
            self.step()

    def each(self, name: str, /, **values: object) -> Iterator[Row]:
        """The rows of a query, read as they are consumed; whoever stops early may close the database first."""
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
        """Execute a change; the number of rows it touched."""
        query = self._queries[name]
        return self._connection.execute(query.sql, query.values(values)).rowcount

    def many(self, name: str, rows: Sequence[Row]) -> int:
        """Execute a change for each row; fields in the order of the query's parameters.

        sqlite3 takes the fields of a plain tuple much faster than those of a named one.
        """
        if not rows:
            return 0
        return self._connection.executemany(self._queries[name].sql, map(tuple, rows)).rowcount

    def moved(self, name: str, /, **values: object) -> None:
        """A guarded state change that must hit exactly one row."""
        if self.run(name, **values) != 1:
            raise StoreError(f"{self.path}: {name} found another state than expected: {values}")

    def copy_to(self, path: Path) -> None:
        """A copy of the whole database as it is now."""
        try:
            self._connection.execute("VACUUM INTO ?", (str(path),))
        except UNREADABLE as error:
            raise explained(path, error) from error

    def close(self) -> None:
        """Let go of the file. What is in the log is moved to the file by whoever closes last; here that is done
        first by a statement, whose error is not passed over."""
        try:
            if self._connection.total_changes and self._broken is None:
                self._checkpoint(0)
        except UNREADABLE as error:
            raise self._stopped(error) from error
        finally:
            self._connection.close()
