"""The layout that the tables of a healthy database file have, derived from its schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Any, NamedTuple

from orbweb.store import Row
from orbweb.store.sqlite.carving import Cell
from orbweb.store.sqlite.schema import SCHEMA_VERSION, current_schema, named_schema, stored_schema

_KINDS: Mapping[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}


class Column(NamedTuple):
    name: str
    kind: type
    required: bool


class Table(NamedTuple):
    """A table of the schema: `key` are the positions of its primary key, `stored` those of all columns in the
    order of a record, and `rowid` that of the column that is an alias of the rowid, if there is one."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    has_rowid: bool
    rowid: int | None

    @property
    def stored(self) -> tuple[int, ...]:
        """Without a rowid, the key comes first."""
        others = tuple(at for at in range(len(self.columns)) if at not in self.key)
        return tuple(range(len(self.columns))) if self.has_rowid else (*self.key, *others)

    def row(self, cell: Cell) -> Row | None:
        """A record as a row of this table; None if it has another number of values."""
        if len(cell.values) != len(self.columns) or (cell.rowid is not None) != self.has_rowid:
            return None
        values: list[Any] = [None] * len(self.columns)
        for at, value in zip(self.stored, cell.values, strict=True):
            values[at] = float(value) if self.columns[at].kind is float and type(value) is int else value
        if self.rowid is not None:
            if values[self.rowid] is not None:
                return None
            values[self.rowid] = cell.rowid
        return tuple(values)

    def label(self, row: Row) -> str:
        values = (row[at].hex() if isinstance(row[at], bytes) else row[at] for at in self.key)
        return f"table {self.name}, row {', '.join(map(str, values))}"


class SchemaLayout(NamedTuple):
    """The tables of a healthy file, its schema as stored, and its version."""

    tables: tuple[Table, ...]
    stored: tuple[Row, ...]
    version: int


@cache
def main_layout() -> SchemaLayout:
    return _layout(current_schema().statements, SCHEMA_VERSION)


@cache
def limiter_layout() -> SchemaLayout:
    return _layout(named_schema("limiter.sql"), 0)


def _layout(statements: Sequence[str], version: int) -> SchemaLayout:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        stored = stored_schema(connection)
        tables = [(name, sql) for kind, name, sql in stored if kind == "table"]
        return SchemaLayout(tuple(_table(connection, *table) for table in tables), stored, version)


def _table(connection: sqlite3.Connection, name: str, sql: str) -> Table:
    columns: list[Column] = []
    key: list[int] = []
    for at, column, kind, required, _, position in connection.execute(
        "SELECT * FROM pragma_table_info(?)", (name,)
    ):
        columns.append(Column(column, _KINDS[kind], bool(required or position)))
        if position:
            key.append(at)
    has_rowid = not sql.rstrip().endswith("WITHOUT ROWID")
    is_number = has_rowid and len(key) == 1 and columns[key[0]].kind is int
    return Table(name, tuple(columns), tuple(key), has_rowid, key[0] if is_number else None)
