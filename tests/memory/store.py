"""A workspace in memory; runs begin and continue as in `store.runs`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory.changes import add_url, move_run
from memory.database import MemoryDatabase
from memory.run_store import PORTION, MemoryRunStore
from memory.tables import RunTables
from orbweb.lifecycle import CrawlState, RunState
from orbweb.model import FamilyRow
from orbweb.store import RobotsCache, Store
from orbweb.store.robots_cache import STORED_BYTES, RobotsFile
from orbweb.store.rows import UrlRow
from orbweb.store.runs import Base, Crawl, Run


class MemoryStore:
    """The state of a workspace. `portion`: the rows that one step of a transaction in portions writes."""

    def __init__(self, *, portion: int = PORTION) -> None:
        self.db = MemoryDatabase()
        self._portion = portion
        self._robots = MemoryRobots()

    def open_run(self, run: Run) -> MemoryRunStore:
        return MemoryRunStore(self.db, run, self.db.tables.runs[run.id].crawls[-1], portion=self._portion)

    def robots(self) -> MemoryRobots:
        return self._robots

    def start_run(
        self,
        bases: Sequence[Base],
        urls: Sequence[UrlRow],
        budget: int | None = None,
        *,
        now: int,
        project_id: int = 1,
        recalls: Run | None = None,
    ) -> Run:
        """A new run of the project and its first crawl."""
        run_id = len(self.db.tables.runs) + 1
        number = 1 + sum(each.run.project_id == project_id for each in self.db.tables.runs.values())
        run = Run(
            run_id,
            project_id,
            number,
            RunState.IN_PROGRESS,
            started_at=now,
            ended_at=None,
            next_url=len(urls) + 1,
            next_rank=sum(row.rank is not None for row in urls),
            next_visit=1,
            scope_fixed=False,
            surveyed=False,
            horizon=self.db.tables.ended,
            recalls=recalls.id if recalls else None,
        )
        with self.db.transaction():
            tables = self.db.tables.runs[run_id] = RunTables(run)
            tables.bases = {base.number: base for base in bases}
            for row in urls:
                add_url(tables, row._replace(run_id=run_id), now)
                tables.tallies[row.state, row.reason or ""] += 1
            known = self.db.tables.runs[recalls.id].families.values() if recalls else ()
            tables.families = {
                each.pattern: FamilyRow(run_id, each.pattern, "released", 0, 0, True, b"")
                for each in known
                if each.released
            }
            self._add_crawl(tables, budget, now)
        return tables.run

    def continue_run(self, run: Run, budget: int | None = None, *, now: int) -> Run:
        """A further crawl under a paused run."""
        with self.db.transaction():
            tables = self.db.tables.runs[run.id]
            move_run(tables, RunState.PAUSED, RunState.IN_PROGRESS, now)
            self._add_crawl(tables, budget, now)
        return tables.run

    def _add_crawl(self, tables: RunTables, budget: int | None, now: int) -> None:
        crawl_id = 1 + sum(len(each.crawls) for each in self.db.tables.runs.values())
        number = len(tables.crawls) + 1
        tables.crawls.append(
            Crawl(
                crawl_id, tables.run.id, number, CrawlState.IN_PROGRESS, None, None, budget, now, now, 0, 0, 0, 0
            )
        )


class MemoryRobots:
    """robots.txt files by origin."""

    def __init__(self) -> None:
        self._files: dict[str, RobotsFile] = {}

    def load(self, origin: str, since: int) -> RobotsFile | None:
        file = self._files.get(origin)
        return file if file is not None and file.fetched_at > since else None

    def save(self, file: RobotsFile) -> None:
        self._files[file.origin] = replace(file, body=file.body[:STORED_BYTES])


def _proof(store: MemoryStore, robots: MemoryRobots) -> tuple[Store, RobotsCache]:
    """For mypy: the classes are what the protocols ask for."""
    return store, robots
