"""Reads a database file that may be damaged: what is wrong with it, and the rows that can still be read.

Checks everything below the meaning of rows: the write-ahead log, the pages, the schema, the type of each value. It
uses sqlite3 directly, because `Database` cannot open a damaged file. The file is only read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.store import Row
from orbweb.store.sqlite import wal
from orbweb.store.sqlite.errors import UNREADABLE
from orbweb.store.sqlite.layout import SchemaLayout, Table
from orbweb.store.sqlite.schema import stored_schema

MOST_FLAWS = 20
_KIND_NAMES: Mapping[type, str] = {int: "an integer", float: "a number", str: "text", bytes: "a blob"}

Judge = Callable[[str, Mapping[str, Any]], str | None]


class Flaw(NamedTuple):
    """A problem of a database file. `table` is empty if it does not belong to one table."""

    where: str
    problem: str
    table: str = ""


def flaws(path: Path, layout: SchemaLayout, judge: Judge) -> list[Flaw]:
    """The problems of the file, its log, its pages and its values; at most `MOST_FLAWS` per table."""
    log = wal.log_of(path)
    damage = wal.damage(log)
    if damage is not None:
        return [Flaw(log.name, damage)]
    try:
        with closing(reading(path)) as connection:
            found = _structure(connection, layout)
            for table in layout.tables:
                found += _bad_rows(connection, table, judge)
            return found
    except UNREADABLE as error:
        return [Flaw("the whole file", str(error))]


def page_flaws(path: Path) -> list[Flaw]:
    """The problems of the pages of a file, whatever tables it has.

    SQLite 3.40 reports NULL values wrongly if a key is not the first column of its table, so these are ignored.
    """
    try:
        with closing(reading(path)) as connection:
            return [flaw for flaw in _bad_pages(connection) if not flaw.problem.startswith("NULL value in ")]
    except UNREADABLE as error:
        return [Flaw("the whole file", str(error))]


def version(path: Path) -> int | None:
    """The schema version of a file; None if it cannot be read."""
    try:
        with closing(reading(path)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except UNREADABLE:
        return None


def texts(path: Path, layout: SchemaLayout, name: str, column: str) -> list[str]:
    """The readable values of a column; empty if the table cannot be read at all."""
    table = next(table for table in layout.tables if table.name == name)
    at = [each.name for each in table.columns].index(column)
    try:
        with closing(reading(path)) as connection:
            found = list(rows(connection, table, lambda _table, _row: None))
    except UNREADABLE:
        return []
    return [row[at] for row in found if not isinstance(row, Flaw)]


def _structure(connection: sqlite3.Connection, layout: SchemaLayout) -> list[Flaw]:
    if sorted(stored_schema(connection), key=str) != sorted(layout.stored, key=str):
        return [Flaw("its schema", "the tables are not those of this version")]
    claimed = connection.execute("PRAGMA user_version").fetchone()[0]
    found = [] if claimed == layout.version else [Flaw("its header", f"it claims schema version {claimed}")]
    return found + _bad_pages(connection)


def _bad_pages(connection: sqlite3.Connection) -> list[Flaw]:
    lines = [line for (line,) in connection.execute(f"PRAGMA integrity_check({MOST_FLAWS})")]
    return [Flaw("its pages", line) for line in lines if line != "ok"]


def _bad_rows(connection: sqlite3.Connection, table: Table, judge: Judge) -> list[Flaw]:
    found = []
    for row in rows(connection, table, judge):
        if isinstance(row, Flaw):
            found.append(row)
            if len(found) == MOST_FLAWS:
                break
    return found


def reading(path: Path) -> sqlite3.Connection:
    """A read-only connection. Without a log to read it creates no file either."""
    log = wal.log_of(path)
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return connection


def rows(connection: sqlite3.Connection, table: Table, judge: Judge) -> Iterator[Row | Flaw]:
    """Every valid row, and a flaw for each invalid one.

    If reading forward fails, reading continues backward from the end, so that one damaged page costs only its own
    rows.
    """
    broken: Exception | None = None
    last: Row | None = None
    try:
        for row in connection.execute(_select(table, "ASC")):
            last = key_of(table, row)
            yield judged(table, row, judge)
    except UNREADABLE as error:
        broken = error
    if broken is None:
        return
    yield Flaw(f"table {table.name}", f"rows cannot be read: {broken}", table.name)
    try:
        for row in connection.execute(_select(table, "DESC")):
            if _reached(key_of(table, row), last):
                return
            yield judged(table, row, judge)
    except UNREADABLE:
        return


def _select(table: Table, direction: str) -> str:
    names = ", ".join(column.name for column in table.columns)
    order = ", ".join(f"{table.columns[at].name} {direction}" for at in table.key)
    return f"SELECT {names} FROM {table.name} NOT INDEXED ORDER BY {order}"  # noqa: S608


def key_of(table: Table, row: Row) -> Row:
    return tuple(row[at] for at in table.key)


def _reached(key: Row, last: Row | None) -> bool:
    try:
        return last is not None and key <= last
    except TypeError:
        return False


def judged(table: Table, row: Row, judge: Judge) -> Row | Flaw:
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
            return f"{column.name} is not {_KIND_NAMES[column.kind]}"
        elif isinstance(value, str) and not _encodable(value):
            return f"{column.name} is not UTF-8"
        elif isinstance(value, bytes) and column.name.endswith("sha256") and len(value) != 32:
            return f"{column.name} is not a SHA-256"
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
