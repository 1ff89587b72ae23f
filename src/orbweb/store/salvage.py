"""A database file that may be damaged: what is wrong with it, and a new one made of the rows it still gives.

Owns what lies below the meaning of rows: the write-ahead log, the pages, the schema, the type of each value.
Besides `db` the only module that speaks SQLite's dialect, because it must read what `Database` cannot open.

Always: the damaged file is only read. Never: decides what a row means to a crawl, or lets a row through that
does not fit its table.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.store.db import SCHEMA_VERSION, Database, Row, load_queries, named_schema, schema, stored_schema

MOST_FLAWS = 20

# The message of an error may quote damaged bytes, and then fails to be text itself.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)

_LOG_HEAD = struct.Struct(">8I")
_FRAME_HEAD = struct.Struct(">6I")
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_PAGE_COUNT, _FREE_PAGES = slice(28, 32), slice(32, 40)
_KINDS: Mapping[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}

# Where an index repeats a column, a row that the index does not know is not to be trusted.
_CROSS_CHECKS = {"urls": "urls_unlike_index", "visits": "visits_unlike_index"}

Judge = Callable[[str, Mapping[str, Any]], str | None]


class Flaw(NamedTuple):
    """Something wrong with a database file. `table` is empty where it is not one table's."""

    where: str
    problem: str
    table: str = ""


class Column(NamedTuple):
    name: str
    kind: type
    required: bool


class Table(NamedTuple):
    """A table as the schema has it; `key` are the positions of its primary key."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]

    def label(self, row: Row) -> str:
        values = (row[at].hex() if isinstance(row[at], bytes) else row[at] for at in self.key)
        return f"table {self.name}, row {', '.join(map(str, values))}"


class Layout(NamedTuple):
    """What a healthy file has: its tables, its schema as stored, its version."""

    tables: tuple[Table, ...]
    stored: tuple[Row, ...]
    version: int


@cache
def main_layout() -> Layout:
    return _layout(schema(), SCHEMA_VERSION)


@cache
def limiter_layout() -> Layout:
    return _layout(named_schema("limiter.sql"), 0)


def _layout(statements: Sequence[str], version: int) -> Layout:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        stored = stored_schema(connection)
        names = [name for kind, name, _ in stored if kind == "table"]
        return Layout(tuple(_table(connection, name) for name in names), stored, version)


def _table(connection: sqlite3.Connection, name: str) -> Table:
    columns, key = [], []
    for at, column, kind, required, _, position in connection.execute(
        "SELECT * FROM pragma_table_info(?)", (name,)
    ):
        columns.append(Column(column, _KINDS[kind], bool(required or position)))
        if position:
            key.append(at)
    return Table(name, tuple(columns), tuple(key))


def flaws(path: Path, layout: Layout, judge: Judge) -> list[Flaw]:
    """What is wrong with the file, its log, its pages and its values; at most a screenful of each table."""
    torn = torn_log(log_of(path))
    if torn is not None:
        return [torn]
    try:
        with closing(reading(path)) as connection:
            found = _structure(connection, layout)
            for table in layout.tables:
                found += _bad_rows(connection, table, judge)
            return found
    except UNREADABLE as error:
        return [Flaw("the whole file", str(error))]


def texts(path: Path, layout: Layout, name: str, column: str) -> list[str]:
    """What a column still says; nothing where the table cannot be read at all."""
    table = next(table for table in layout.tables if table.name == name)
    at = [each.name for each in table.columns].index(column)
    try:
        with closing(reading(path)) as connection:
            found = list(rows(connection, table, lambda _table, _row: None))
    except UNREADABLE:
        return []
    return [row[at] for row in found if not isinstance(row, Flaw)]


def _structure(connection: sqlite3.Connection, layout: Layout) -> list[Flaw]:
    if sorted(stored_schema(connection), key=str) != sorted(layout.stored, key=str):
        return [Flaw("its schema", "the tables are not those of this version")]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    found = [] if version == layout.version else [Flaw("its header", f"it claims schema version {version}")]
    lines = [line for (line,) in connection.execute(f"PRAGMA integrity_check({MOST_FLAWS})")]
    return found + [Flaw("its pages", line) for line in lines if line != "ok"]


def _bad_rows(connection: sqlite3.Connection, table: Table, judge: Judge) -> list[Flaw]:
    found = []
    for row in rows(connection, table, judge):
        if isinstance(row, Flaw):
            found.append(row)
            if len(found) == MOST_FLAWS:
                break
    return found


def reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. Without a log to read it leaves no file behind either."""
    log = log_of(path)
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return connection


def log_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(path.name + "-wal")


def rows(connection: sqlite3.Connection, table: Table, judge: Judge) -> Iterator[Row | Flaw]:
    """Every row that fits, and a flaw for each that does not.

    Where reading forward breaks off, it goes on from the end backward, so that one damaged page costs the
    rows of that page, not those behind it.
    """
    broken: Exception | None = None
    last: Row | None = None
    try:
        for row in connection.execute(_select(table, "ASC")):
            last = _key(table, row)
            yield _judged(table, row, judge)
    except UNREADABLE as error:
        broken = error
    if broken is None:
        return
    yield Flaw(f"table {table.name}", f"rows cannot be read: {broken}", table.name)
    try:
        for row in connection.execute(_select(table, "DESC")):
            if _reached(_key(table, row), last):
                return
            yield _judged(table, row, judge)
    except UNREADABLE:
        return


def _select(table: Table, direction: str) -> str:
    names = ", ".join(column.name for column in table.columns)
    order = ", ".join(f"{table.columns[at].name} {direction}" for at in table.key)
    return f"SELECT {names} FROM {table.name} NOT INDEXED ORDER BY {order}"  # noqa: S608


def _key(table: Table, row: Row) -> Row:
    return tuple(row[at] for at in table.key)


def _reached(key: Row, last: Row | None) -> bool:
    try:
        return last is not None and key <= last
    except TypeError:
        return False


def _judged(table: Table, row: Row, judge: Judge) -> Row | Flaw:
    problem = _misfit(table, row)
    if problem is None:
        problem = judge(table.name, {column.name: value for column, value in zip(table.columns, row, strict=True)})
    return row if problem is None else Flaw(table.label(row), problem, table.name)


def _misfit(table: Table, row: Row) -> str | None:
    for column, value in zip(table.columns, row, strict=True):
        if value is None:
            if column.required:
                return f"{column.name} is empty"
        elif not isinstance(value, column.kind):
            return f"{column.name} is no {column.kind.__name__}"
        elif isinstance(value, str) and not _encodable(value):
            return f"{column.name} is not UTF-8"
        elif isinstance(value, bytes) and column.name.endswith("sha256") and len(value) != 32:
            return f"{column.name} is no SHA-256"
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# The write-ahead log.


def torn_log(path: Path) -> Flaw | None:
    """Where the log is broken. SQLite reads it up to there and silently drops every transaction behind.

    A log that ends inside a frame is what a killed process leaves: no flaw.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < _LOG_HEAD.size:
        return Flaw(path.name, "it is cut off inside its header") if data else None
    magic, _, page, _, salt, other_salt, *expected = _LOG_HEAD.unpack_from(data)
    order = ">" if magic & 1 else "<"
    check = _checksum(data[:24], order, (0, 0))
    if magic not in _LOG_MAGIC or list(check) != expected or page < 512:
        return Flaw(path.name, "its header is damaged: SQLite drops the whole log")
    at = _first_bad_frame(data, page, (salt, other_salt), order, check)
    return None if at is None else Flaw(path.name, f"frame {at} is damaged: SQLite drops it and all behind it")


def _first_bad_frame(
    data: bytes, page: int, salts: tuple[int, int], order: str, check: tuple[int, int]
) -> int | None:
    """The number of the first frame of this log that is not as written.

    Frames of an earlier round have both salts of their own; one that shares a salt is of this round.
    """
    size = _FRAME_HEAD.size + page
    ended = 0
    for number in range(1, (len(data) - _LOG_HEAD.size) // size + 1):
        start = _LOG_HEAD.size + (number - 1) * size
        frame = data[start : start + size]
        _, _, salt, other_salt, *expected = _FRAME_HEAD.unpack_from(frame)
        ours = (salt == salts[0]) + (other_salt == salts[1])
        if ended and ours == 2:
            return ended
        if ended or ours == 0:
            ended = ended or number
            continue
        check = _checksum(frame[24:], order, _checksum(frame[:8], order, check))
        if ours == 1 or list(check) != expected:
            return number
    return None


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second


# A new database.


def rebuild(damaged: Path, target: Path, judge: Judge) -> list[Flaw]:
    """Make `target` of every row of `damaged` that fits; what did not."""
    work = target.with_name(target.name + ".work")
    shutil.copyfile(damaged, work)
    if log_of(damaged).exists():
        shutil.copyfile(log_of(damaged), log_of(work))
    Database(target).close()
    try:
        return _refill(work, target, judge)
    finally:
        for path in (work, log_of(work), work.with_name(work.name + "-shm")):
            path.unlink(missing_ok=True)


def _refill(work: Path, target: Path, judge: Judge) -> list[Flaw]:
    layout = main_layout()
    if not _has_schema(work, layout):
        _graft_schema(work, target)
    with closing(reading(work)) as source, closing(sqlite3.connect(target, isolation_level=None)) as sink:
        sink.execute("BEGIN")
        lost = [flaw for table in layout.tables for flaw in _copy(source, sink, table, judge)]
        sink.execute("COMMIT")
    return lost


def _has_schema(path: Path, layout: Layout) -> bool:
    try:
        with closing(reading(path)) as connection:
            return stored_schema(connection) == layout.stored
    except UNREADABLE:
        return False


def _graft_schema(path: Path, fresh: Path) -> None:
    """Give the file the header and the schema of an empty database made by the same statements.

    The same statements put the same tables on the same pages, so every table is found again at its root.
    Pages that were cut off are blank, which the tables that had them will notice.
    """
    with closing(reading(fresh)) as connection:
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        roots = {root for (root,) in connection.execute("SELECT rootpage FROM sqlite_schema")}
    template = fresh.read_bytes()
    data = bytearray(path.read_bytes())
    missing = max(len(template) - len(data), -len(data) % page)
    data += bytes(missing)
    for number in range(1, len(template) // page + 1):
        if number not in roots:
            data[(number - 1) * page : number * page] = template[(number - 1) * page : number * page]
    data[_PAGE_COUNT] = (len(data) // page).to_bytes(4, "big")
    data[_FREE_PAGES] = bytes(8)
    path.write_bytes(data)


def _copy(source: sqlite3.Connection, sink: sqlite3.Connection, table: Table, judge: Judge) -> list[Flaw]:
    doubtful = _doubtful(source, table)
    insert = f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})"  # noqa: S608
    lost = []
    for row in rows(source, table, judge):
        if isinstance(row, Flaw):
            lost.append(row)
        elif _key(table, row) in doubtful:
            lost.append(Flaw(table.label(row), "the row and its index differ", table.name))
        else:
            try:
                sink.execute(insert, row)
            except sqlite3.IntegrityError as error:
                lost.append(Flaw(table.label(row), str(error), table.name))
    return lost


def _doubtful(source: sqlite3.Connection, table: Table) -> set[Row]:
    """Keys of rows that their index has otherwise. A damaged index says nothing about the rows."""
    if table.name not in _CROSS_CHECKS:
        return set()
    try:
        found = source.execute(load_queries("doctor.sql")[_CROSS_CHECKS[table.name]].sql)
        return {tuple(row[:2]) for row in found}
    except UNREADABLE:
        return set()


def replace(damaged: Path, rebuilt: Path) -> None:
    """Put the new file in place of the damaged one; a log of the old must never meet the new."""
    for path in (log_of(damaged), damaged.with_name(damaged.name + "-shm")):
        path.unlink(missing_ok=True)
    rebuilt.chmod(0o600)
    rebuilt.replace(damaged)
