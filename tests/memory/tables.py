"""The rows of a workspace as dicts. Rows are immutable, so a rollback needs shallow copies only."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, field, fields

from orbweb.model import FamilyRow, PackedDocument
from orbweb.store.bodies import Location
from orbweb.store.rows import Tally, UrlRow, VisitRow
from orbweb.store.runs import Base, Crawl, Run
from orbweb.store.unit_times import Times


@dataclass(slots=True)
class RunTables:
    """One run. `ids` and `visit_numbers` find the row of a key and of a URL's id.

    `found_at` and `changed_at` are by the id of a URL, `settled_at` by the number of a visit.
    """

    run: Run
    crawls: list[Crawl] = field(default_factory=list)
    bases: dict[int, Base] = field(default_factory=dict)
    urls: dict[int, UrlRow] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    due_at: dict[int, int] = field(default_factory=dict)
    visits: dict[int, VisitRow] = field(default_factory=dict)
    visit_numbers: dict[int, int] = field(default_factory=dict)
    pages: dict[bytes, tuple[int, int, bytes]] = field(default_factory=dict)
    outlinks: dict[int, bytes] = field(default_factory=dict)
    spool_lines: dict[int, list[str | None]] = field(default_factory=dict)
    families: dict[str, FamilyRow] = field(default_factory=dict)
    marks: set[bytes] = field(default_factory=set)
    tallies: Counter[Tally] = field(default_factory=Counter)
    found_at: dict[int, int] = field(default_factory=dict)
    changed_at: dict[int, int] = field(default_factory=dict)
    settled_at: dict[int, int] = field(default_factory=dict)

    def copy(self) -> RunTables:
        return RunTables(*(copy(getattr(self, each.name)) for each in fields(self)))

    def url_of(self, key: str) -> UrlRow | None:
        return self.urls.get(self.ids.get(key, 0))

    def visit_of(self, url_id: int) -> VisitRow | None:
        return self.visits.get(self.visit_numbers.get(url_id, 0))

    def times_of(self, url_id: int) -> Times:
        """A visit settled its URL later than any other change."""
        found, visit = self.found_at.get(url_id), self.visit_numbers.get(url_id)
        changed = self.changed_at.get(url_id, found) if visit is None else self.settled_at.get(visit)
        return Times(found, changed)


@dataclass(slots=True)
class Tables:
    """A workspace. `ended` counts the crawls that have ended."""

    runs: dict[int, RunTables] = field(default_factory=dict)
    documents: dict[bytes, PackedDocument] = field(default_factory=dict)
    bodies: dict[bytes, Location] = field(default_factory=dict)
    ended: int = 0

    def copy(self) -> Tables:
        runs = {number: run.copy() for number, run in self.runs.items()}
        return Tables(runs, dict(self.documents), dict(self.bodies), self.ended)

    def runs_before(self, run: Run) -> list[RunTables]:
        """The earlier runs of the same project, the latest first."""
        found = [each for each in self.runs.values() if each.run.project_id == run.project_id]
        earlier = [each for each in found if each.run.number < run.number]
        return sorted(earlier, key=lambda each: each.run.number, reverse=True)
