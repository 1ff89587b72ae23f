"""The start page: all projects, one row each."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import ProjectOverview, RunningCrawl, RunTotals
from orbweb.app.pictures import Thread, thread_of
from orbweb.errors import UsageError
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.figures import ChangeCounts, Figures, figures_of
from orbweb.server.ui.frame import WaitingCrawl, project_path, run_path, waiting_crawls, workspace_frame
from orbweb.server.ui.templating import now, render
from orbweb.server.ui.twins import twin

router = APIRouter()

CAUSES = {
    "budget": "budget used",
    "cancelled": "stopped",
    "crashed": "last crawl crashed",
    "drained": "spool drained",
    "error": "last crawl failed",
}
"""Why a run is paused, by how its last crawl ended."""
LONG = 20
"""Projects from which on the list has a filter."""
ORDERS = ("active", "project", "state", "pages", "failed", "queued", "tokens", "size")
STATES = ("in_progress", "on_hold", "waiting", "paused", "completed", "completed_with_errors", "never_crawled")


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project as a row. `tokens` and `changes` are None if they are not known yet."""

    name: str
    href: str
    lists: str
    bases: str
    urls: tuple[str, ...]
    state: str
    note: str
    thread: Thread
    pages: int
    failed: int
    queued: int
    tokens: int | None
    size: int
    changes: ChangeCounts | None
    changes_text: str
    active: str
    active_at: str


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many projects are in a state, and the list of them."""

    word: str
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """A column head: its word, its class, the list sorted by it, and how it is sorted now."""

    text: str
    css: str
    sort: str | None
    sorted: str | None


def state_of(project: ProjectOverview, place: int | None) -> str:
    """The state of a project; `place` is its place among the crawls that wait."""
    if project.running:
        return "on_hold" if project.held else "in_progress"
    if place is not None:
        return "waiting"
    if project.latest is None:
        return "never_crawled"
    last = project.latest.crawls[-1].state if project.latest.crawls else ""
    with_errors = project.latest.state == "completed" and last == "completed_with_errors"
    return last if with_errors else project.latest.state


def note_of(project: ProjectOverview, place: int | None, rate: float | None) -> str:
    """The line under the state."""
    if place is not None and not project.running:
        return "next in line" if place == 1 else f"number {place} in line"
    if project.latest is None:
        return "no run yet"
    run = f"run {project.latest.run}"
    if project.latest.state == "completed" and not project.latest.pages:
        return f"{run}, no page"
    if project.running:
        return f"{run}, {texts.rate(rate)}" if rate is not None else run
    ended = project.latest.crawls[-1].ended_by if project.latest.crawls else None
    return f"{run}, {CAUSES[ended]}" if project.latest.state == "paused" and ended in CAUSES else run


def bases_text(bases: Sequence[str]) -> str:
    """The first base URL without its scheme, and how many more there are."""
    if not bases:
        return ""
    more = f" +{len(bases) - 1}" if len(bases) > 1 else ""
    return bases[0].partition("://")[2] + more


def changes_text(project: ProjectOverview) -> str:
    """What stands in place of the changes."""
    if project.latest is None:
        return "not started"
    if project.latest.run == 1:
        return "first run"
    return "so far" if project.latest.state != "completed" else texts.NOTHING


@dataclass(frozen=True, slots=True)
class ProjectFigures:
    """What is known of a project besides its overview."""

    totals: RunTotals | None
    changes: ChangeCounts | None
    waits: WaitingCrawl | None
    rate: float | None


def row_of(project: ProjectOverview, known: ProjectFigures, at: datetime) -> ProjectLine:
    run = project.latest
    skipped = sum(run.skipped.values()) if run else 0
    counts = (run.visited, run.failed, run.queued, run.pages) if run else (0, 0, 0, 0)
    visited, failed, queued, pages = counts
    place = known.waits.place if known.waits else None
    active_at = known.waits.since if known.waits else run.active_at if run else None
    return ProjectLine(
        name=project.project,
        href=project_path(project.project),
        lists=run_path(project.project),
        bases=bases_text(project.bases),
        urls=project.bases,
        state=state_of(project, place),
        note=note_of(project, place, known.rate),
        thread=thread_of(visited, failed, queued, skipped, pages=pages),
        pages=pages,
        failed=failed,
        queued=queued,
        tokens=known.totals.tokens if known.totals else (0 if run is None else None),
        size=run.bytes if run else 0,
        changes=known.changes,
        changes_text=changes_text(project),
        active="now" if project.running else texts.ago(active_at, at),
        active_at=active_at or "",
    )


def sorted_rows(rows: Sequence[ProjectLine], sort: str) -> list[ProjectLine]:
    """The rows in an order; a minus turns it round. UsageError for an unknown one."""
    name = sort.removeprefix("-")
    if name not in ORDERS:
        raise UsageError(f"`sort`: {sort!r} is not an order; choose {', '.join(ORDERS)}, or one with a minus")
    keys: Mapping[str, Any] = {
        "active": lambda row: (row.state in ("in_progress", "on_hold"), row.state == "waiting", row.active_at),
        "project": lambda row: row.name,
        "state": lambda row: STATES.index(row.state) if row.state in STATES else len(STATES),
        "tokens": lambda row: row.tokens or 0,
        "size": lambda row: row.size,
    }
    by = keys.get(name, lambda row: getattr(row, name))
    return sorted(sorted(rows, key=lambda row: row.name), key=by, reverse=sort.startswith("-"))


def columns_of(sort: str, chosen: Chosen) -> tuple[ColumnHead, ...]:
    """The heads of the table. A number is sorted from the largest down first. The last column shows ages, and the
    latest instant is the smallest of them."""
    return tuple(
        ColumnHead(
            text,
            css,
            chosen.href(_turned(name, sort, first)) if name else None,
            _direction(sort) if name and sort.removeprefix("-") == name else None,
        )
        for text, css, name, first in (
            ("Project", "", "project", ""),
            ("State", "state wide", "state", ""),
            ("Latest run", "wide", "", ""),
            ("Pages", "number", "pages", "-"),
            ("Failed", "number wide", "failed", "-"),
            ("Queued", "number wide", "queued", "-"),
            ("Tokens", "number wide", "tokens", "-"),
            ("Size", "number wide", "size", "-"),
            ("Last changes", "number wide", "", ""),
            ("Active", "number wide", "active", "-"),
        )
    )


def _turned(name: str, sort: str, first: str) -> str:
    is_same = sort == f"{first}{name}"
    return (name if first else f"-{name}") if is_same else f"{first}{name}"


def _direction(sort: str) -> str:
    shows_ages = sort.endswith("active")
    return "descending" if sort.startswith("-") != shows_ages else "ascending"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which projects the list shows: those in a state, and those whose name or base URLs contain a text."""

    state: str = ""
    text: str = ""

    def has(self, row: ProjectLine) -> bool:
        wanted = self.text.casefold()
        return self.state in ("", row.state) and any(wanted in each.casefold() for each in (row.name, *row.urls))

    def href(self, sort: str = "") -> str:
        given = {name: value for name, value in (("state", self.state), ("q", self.text), ("sort", sort)) if value}
        return f"/?{urlencode(given)}" if given else "/"


def state_counts(rows: Sequence[ProjectLine]) -> list[StateCount]:
    """How many projects are in which state, in the order of the sentence."""
    words = {"in_progress": "crawling"}
    found = [(state, sum(row.state == state for row in rows)) for state in STATES]
    return [
        StateCount(words.get(state, texts.words(state)), count, f"/?state={state}")
        for state, count in found
        if count
    ]


@dataclass(frozen=True, slots=True)
class Sums:
    """What all projects hold. `tokens` is None as long as those of a project are not known."""

    pages: int
    size: int
    tokens: int | None
    failed: int


def sums_of(rows: Sequence[ProjectLine]) -> Sums:
    tokens = [row.tokens for row in rows if row.tokens is not None]
    return Sums(
        sum(row.pages for row in rows),
        sum(row.size for row in rows),
        sum(tokens) if len(tokens) == len(rows) else None,
        sum(row.failed for row in rows),
    )


def read_rows(served: Services, figures: Figures, at: datetime) -> list[ProjectLine]:
    rates = {each.project: each for each in served.jobs.running()}
    waiting = {each.project: each for each in waiting_crawls(served)}
    return [row_of(each, _known(served, figures, each, rates, waiting), at) for each in served.jobs.overviews()]


def _known(
    served: Services,
    figures: Figures,
    project: ProjectOverview,
    rates: Mapping[str, RunningCrawl],
    waiting: Mapping[str, WaitingCrawl],
) -> ProjectFigures:
    name, run = project.project, project.latest
    rate = rates[name].rate if name in rates else None
    if run is None:
        return ProjectFigures(None, None, waiting.get(name), rate)
    is_done = run.run > 1 and run.state == "completed"
    before = served.jobs.histories(name, before=run.run, limit=1) if is_done else []
    changes = figures.changes(name, before[0], run) if before else None
    return ProjectFigures(figures.totals(name, run), changes, waiting.get(name), rate)


@router.get("/")
def projects(request: Request, served: Served, state: str = "", q: str = "", sort: str = "-active") -> Response:
    chosen = Chosen(state, q.strip())
    rows = read_rows(served, figures_of(request), now())
    frame = workspace_frame(served)
    if not rows:
        free = shutil.disk_usage(served.workspace.path).free
        return render(
            request, "first_crawl.html", frame=frame, workspace=served.workspace.path.resolve().name, free=free
        )
    return render(
        request,
        "projects.html",
        frame=frame,
        rows=sorted_rows([row for row in rows if chosen.has(row)], sort),
        columns=columns_of(sort, chosen),
        states=state_counts(rows),
        sums=sums_of(rows),
        total=len(rows),
        chosen=chosen,
        sort=sort,
        is_long=len(rows) > LONG,
        query=f"?{request.url.query}" if request.url.query else "",
    )


@router.get("/projects.{suffix}")
def projects_twin(
    request: Request, served: Served, suffix: str, state: str = "", q: str = "", sort: str = "-active"
) -> Response:
    rows, chosen = read_rows(served, figures_of(request), now()), Chosen(state, q.strip())
    found = sorted_rows([row for row in rows if chosen.has(row)], sort)
    return twin([_plain(row) for row in found], suffix, "projects")


def _plain(row: ProjectLine) -> dict[str, Any]:
    return {
        "project": row.name,
        "state": row.state,
        "pages": row.pages,
        "failed": row.failed,
        "queued": row.queued,
        "tokens": row.tokens,
        "bytes": row.size,
        "active_at": row.active_at or None,
    }
