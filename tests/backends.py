"""The backends of the store as contract suites see them: how runs begin there, and all that is stored.

A suite works through the protocols of `orbweb.store`; what a backend has besides is here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from memory.store import MemoryStore
from orbweb.model import PackedDocument
from orbweb.store import Store, runs
from orbweb.store.rows import UrlRow, VisitRow
from orbweb.store.runs import Base, Crawl, Run
from orbweb.store.sqlite.db import Database
from orbweb.store.sqlite.run_store import SqliteStore
from orbweb.store.unit_times import Times, UnitTimes

NOW = 1_700_000_000_000_000


class Backend(Protocol):
    """An empty workspace."""

    @property
    def store(self) -> Store: ...

    def start_run(
        self,
        bases: Sequence[Base],
        urls: Sequence[UrlRow],
        *,
        project: str = "docs",
        recalls: Run | None = None,
    ) -> Run:
        """A new run of a project and its first crawl."""

    def continue_run(self, run: Run) -> Run:
        """A further crawl under a paused run."""

    def run_now(self, run: Run) -> Run:
        """The run as it is stored now."""

    def crawls(self, run: Run) -> list[Crawl]: ...

    def urls(self, run: Run) -> list[UrlRow]:
        """All URLs by their ids."""

    def times(self, run: Run) -> dict[int, Times]:
        """When each URL was found, and when its state last changed, by id."""

    def visits(self, run: Run) -> list[VisitRow]:
        """All visits in order; none has a head."""

    def documents(self) -> dict[bytes, PackedDocument]: ...

    def contents(self) -> object:
        """All that is stored, to be compared."""

    def close(self) -> None: ...


class SqliteBackend:
    """A database in a file."""

    def __init__(self, directory: Path) -> None:
        self._db = Database(directory / "orbweb.db")
        self.store = SqliteStore(self._db)

    def start_run(
        self,
        bases: Sequence[Base],
        urls: Sequence[UrlRow],
        *,
        project: str = "docs",
        recalls: Run | None = None,
    ) -> Run:
        owner = runs.save_project(self._db, project, {}, [base.url for base in bases], NOW)
        recalled = recalls.id if recalls else None
        return runs.start_run(self._db, owner, bases, urls, None, NOW, recalls=recalled)[0]

    def continue_run(self, run: Run) -> Run:
        owner = next(each for each in runs.projects(self._db) if each.id == run.project_id)
        return runs.continue_run(self._db, owner, self.run_now(run), None, NOW)[0]

    def run_now(self, run: Run) -> Run:
        return next(each for each in runs.runs_of(self._db, run.project_id) if each.id == run.id)

    def crawls(self, run: Run) -> list[Crawl]:
        return runs.crawls_of(self._db, run.id)

    def urls(self, run: Run) -> list[UrlRow]:
        rows = self._rows(f"SELECT {', '.join(UrlRow._fields)} FROM urls WHERE run_id = {run.id} ORDER BY id")
        return list(map(UrlRow._make, rows))

    def times(self, run: Run) -> dict[int, Times]:
        times = UnitTimes(self._db, run.id)
        visits = "LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id"
        rows = self._rows(f"SELECT id, visits.number, changed_in FROM urls {visits} WHERE urls.run_id = {run.id}")
        return {number: times.of(number, visit, changed_in) for number, visit, changed_in in rows}

    def visits(self, run: Run) -> list[VisitRow]:
        fields = ", ".join(VisitRow._fields)
        rows = self._rows(f"SELECT {fields} FROM visits WHERE run_id = {run.id} ORDER BY number")
        return list(map(VisitRow._make, rows))

    def documents(self) -> dict[bytes, PackedDocument]:
        rows = self._rows(f"SELECT {', '.join(PackedDocument._fields)} FROM documents")
        return {row[0]: PackedDocument._make(row) for row in rows}

    def contents(self) -> object:
        tables = self._rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return {name: self._rows(f"SELECT * FROM {name}") for (name,) in tables}

    def _rows(self, query: str) -> list[Any]:
        """By a connection of its own, which sees only what is committed."""
        with closing(sqlite3.connect(self._db.path)) as connection:
            return connection.execute(query).fetchall()

    def close(self) -> None:
        self._db.close()


class MemoryBackend:
    """A store in memory. Its tables are read while nothing is being written."""

    def __init__(self, _directory: Path) -> None:
        self.store = MemoryStore()
        self._projects: dict[str, int] = {}

    def start_run(
        self,
        bases: Sequence[Base],
        urls: Sequence[UrlRow],
        *,
        project: str = "docs",
        recalls: Run | None = None,
    ) -> Run:
        number = self._projects.setdefault(project, len(self._projects) + 1)
        return self.store.start_run(bases, urls, now=NOW, project_id=number, recalls=recalls)

    def continue_run(self, run: Run) -> Run:
        return self.store.continue_run(self.run_now(run), now=NOW)

    def run_now(self, run: Run) -> Run:
        return self.store.db.tables.runs[run.id].run

    def crawls(self, run: Run) -> list[Crawl]:
        return self.store.db.tables.runs[run.id].crawls

    def urls(self, run: Run) -> list[UrlRow]:
        rows = self.store.db.tables.runs[run.id].urls
        return [rows[number] for number in sorted(rows)]

    def times(self, run: Run) -> dict[int, Times]:
        tables = self.store.db.tables.runs[run.id]
        return {number: tables.times_of(number) for number in tables.urls}

    def visits(self, run: Run) -> list[VisitRow]:
        rows = self.store.db.tables.runs[run.id].visits
        return [rows[number] for number in sorted(rows)]

    def documents(self) -> dict[bytes, PackedDocument]:
        return self.store.db.tables.documents

    def contents(self) -> object:
        return self.store.db.tables.copy()

    def close(self) -> None:
        """There is nothing to close."""


BACKENDS: dict[str, type[SqliteBackend] | type[MemoryBackend]] = {"sqlite": SqliteBackend, "memory": MemoryBackend}


def _proof(sqlite: SqliteBackend, memory: MemoryBackend) -> tuple[Backend, Backend]:
    """For mypy: both are what the suites ask for."""
    return sqlite, memory
