"""The .sql files, and the tables that a database has.

A table, a trigger or a view that orbweb did not create would run with its statements, so what a database holds is
compared with what the schema creates.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from orbweb.lifecycle import CrawlState, EndedBy, ItemState, RunState
from orbweb.model import Carried, Reuse
from orbweb.store import Row

SCHEMA_VERSION = 4
QUERY = "-- name: "
"""Begins a named query of a file."""


def read_sql(filename: str) -> str:
    return Path(__file__).with_name("sql").joinpath(filename).read_text(encoding="utf-8")


def statement_of(section: str) -> str:
    """The statement in a section of a file, without its comments."""
    lines = [line for line in section.splitlines() if not line.lstrip().startswith("--")]
    return "\n".join(lines).strip().rstrip(";")


def statements(text: str) -> tuple[str, ...]:
    """The statements of a text, each of which ends its line with a semicolon."""
    return tuple(statement for part in text.split(";\n") if (statement := statement_of(part)))


def named_schema(filename: str) -> tuple[str, ...]:
    """The statements before the first named query of a file."""
    return statements(read_sql(filename).partition(QUERY)[0])


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one version."""

    version: int
    statements: tuple[str, ...]


@cache
def current_schema() -> Schema:
    """The tables of a new database, with the states of `lifecycle` in the CHECK constraints."""
    words = {
        "run_states": _quoted(RunState),
        "crawl_states": _quoted(CrawlState),
        "endings": _quoted(EndedBy),
        "reuses": _quoted(Reuse),
        "carried": _quoted(Carried),
        "stored_item_states": _quoted(state for state in ItemState if state is not ItemState.LEASED),
    }
    templates = named_schema("schema.sql")
    return Schema(
        SCHEMA_VERSION, tuple(re.sub(r"<(\w+)>", lambda match: words[match[1]], each) for each in templates)
    )


def _quoted(states: Iterable[str]) -> str:
    return ", ".join(f"'{state}'" for state in states)


def stored_schema(connection: sqlite3.Connection) -> tuple[Row, ...]:
    """The tables and indexes of a database: type, name and the statement that created it."""
    return tuple(connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid"))


@cache
def _created_by(statements: tuple[str, ...]) -> frozenset[Row]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements:
            connection.execute(statement)
        return frozenset(stored_schema(connection))


def own_objects(statements: tuple[str, ...]) -> frozenset[str]:
    """What these statements create, in the words of `foreign_objects`."""
    return frozenset(f"{kind} {name}" for kind, name, _ in _created_by(statements))


def foreign_objects(connection: sqlite3.Connection, statements: tuple[str, ...]) -> list[str]:
    """Tables, indexes, triggers and views that these statements do not create, except those of ANALYZE."""
    odd = set(stored_schema(connection)) - _created_by(statements)
    return sorted(f"{kind} {name}" for kind, name, _ in odd if not name.startswith("sqlite_stat"))
