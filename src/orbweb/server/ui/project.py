"""A project: its runs and their crawls as a tree, its base URLs, and what the latest run skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import CrawlSummary, HistoryBase, RunHistory, RunOutline, RunTotals
from orbweb.app.ids import checked_name
from orbweb.app.jobs.records import JobKind, JobState
from orbweb.app.pictures import Thread, thread_of
from orbweb.errors import NothingToDo, UsageError
from orbweb.server.problems import problem_of
from orbweb.server.services import ADMIN, Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.figures import ChangeCounts, Figures, figures_of
from orbweb.server.ui.frame import WaitingCrawl, project_frame, project_path, run_path, waiting_crawls
from orbweb.server.ui.projects import state_of
from orbweb.server.ui.templating import field_of, now, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter()

RUNS = 20
"""Runs that the page shows; older ones are a link away."""


@dataclass(frozen=True, slots=True)
class CrawlLine:
    """A crawl under its run. `cause` is how it ended, `note` what that means."""

    number: int
    state: str
    cause: str
    note: str
    started: str
    took: str
    visited: int
    pages: int
    failed: int
    size: int
    last: bool


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run of the tree. `alternates` is None if it is not known yet."""

    number: int
    lists: str
    state: str
    thread: Thread
    started: str
    took: str
    visited: int
    pages: int
    alternates: int | None
    failed: int
    queued: int
    skipped: int
    size: int
    changes: ChangeCounts | None
    changes_text: str
    compare: str | None
    crawls: tuple[CrawlLine, ...]


@dataclass(frozen=True, slots=True)
class BaseLine:
    """A base URL of the latest run. `alternates` and `queued` are None if they are not known yet."""

    url: str
    pages: int
    alternates: int | None
    queued: int | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A reason for which URLs were skipped, and the rule that decided most of them, if it is known."""

    reason: str
    href: str
    rule: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Books:
    """The books of a run: discovered = visited + failed + queued + skipped; visited = pages + alternates + others.
    As long as `alternates` is None, `others` has them too."""

    visited: int
    pages: int
    alternates: int | None
    failed: int
    queued: int
    skipped: int

    @property
    def discovered(self) -> int:
        return self.visited + self.failed + self.queued + self.skipped

    @property
    def others(self) -> int:
        return self.visited - self.pages - (self.alternates or 0)


def books_of(outline: RunOutline, totals: RunTotals | None) -> Books:
    """The totals are older than the tallies while a crawl runs: what does not fit is not known yet."""
    fits = totals is not None and outline.pages + totals.alternates <= outline.visited
    return Books(
        outline.visited,
        outline.pages,
        totals.alternates if totals is not None and fits else None,
        outline.failed,
        outline.queued,
        sum(outline.skipped.values()),
    )


def holds_of(runs: Sequence[RunHistory]) -> str:
    """What a project holds, in all its runs together."""
    if not runs:
        return "nothing crawled yet"
    pages = texts.many(sum(run.pages for run in runs), "page")
    return f"{texts.many(len(runs), 'run')} with {pages}, {texts.size(sum(run.bytes for run in runs))}"


def note_of(crawl: CrawlSummary, rate: float | None) -> str:
    """What the end of a crawl means, in a few words."""
    if crawl.ended_by is None:
        return texts.rate(rate) if rate is not None else ""
    if crawl.ended_by == "budget" and crawl.budget is not None:
        return f"{texts.number(crawl.budget)} used"
    notes = {"cancelled": "stopped by you", "crashed": "nothing lost", "error": crawl.error or ""}
    return notes.get(crawl.ended_by, "")


def crawl_rows(run: RunHistory, at: datetime, rate: float | None) -> tuple[CrawlLine, ...]:
    """The crawls of a run, the newest first."""
    newest_first = list(reversed(run.crawls))
    return tuple(
        CrawlLine(
            number=crawl.crawl,
            state=crawl.state,
            cause=texts.words(crawl.ended_by) if crawl.ended_by else "",
            note=note_of(crawl, rate if crawl is newest_first[0] else None),
            started=texts.when(crawl.started_at, at),
            took=texts.took(crawl.seconds),
            visited=crawl.visited,
            pages=crawl.pages,
            failed=crawl.failed,
            size=crawl.bytes,
            last=crawl is newest_first[-1],
        )
        for crawl in newest_first
    )


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What is known of a run besides its history. `before` is the number of the run before it."""

    state: str
    totals: RunTotals | None
    changes: ChangeCounts | None
    before: int | None
    rate: float | None


def run_row(project: str, run: RunHistory, known: RunFigures, at: datetime) -> RunLine:
    skipped = sum(run.skipped.values())
    text = "first run" if known.before is None else "so far" if run.state != "completed" else "compare"
    return RunLine(
        number=run.run,
        lists=run_path(project, run.run),
        state=known.state,
        thread=thread_of(run.visited, run.failed, run.queued, skipped, pages=run.pages),
        started=texts.when(run.started_at, at),
        took=texts.took(run.seconds),
        visited=run.visited,
        pages=run.pages,
        alternates=known.totals.alternates if known.totals else None,
        failed=run.failed,
        queued=run.queued,
        skipped=skipped,
        size=run.bytes,
        changes=known.changes,
        changes_text=text,
        compare=f"{project_path(project)}/diff/{known.before}..{run.run}" if known.before else None,
        crawls=crawl_rows(run, at, known.rate),
    )


def base_rows(run: RunHistory, totals: RunTotals | None) -> tuple[BaseLine, ...]:
    rows = []
    for base in run.bases:
        found = totals.bases.get(base.url) if totals else None
        nothing = 0 if totals else None
        rows.append(
            BaseLine(
                base.scope or base.url,
                base.pages,
                found.alternates if found else nothing,
                found.queued if found else nothing,
                base.problem,
            )
        )
    return tuple(rows)


def skipped_rows(project: str, run: RunHistory, totals: RunTotals | None) -> tuple[SkippedLine, ...]:
    """The reasons of a run, the most frequent first."""
    rules = {each.reason: each.rule for each in totals.rules} if totals else {}
    ordered = sorted(run.skipped.items(), key=lambda each: (-each[1], each[0]))
    return tuple(
        SkippedLine(reason, f"{run_path(project)}/skipped?reason={reason}", rules.get(reason), count)
        for reason, count in ordered
    )


def state_of_run(run: RunHistory, *, held: bool) -> str:
    """The state of a run as its badge shows it."""
    if run.state == "in_progress":
        return "on_hold" if held else run.state
    last = run.crawls[-1].state if run.crawls else ""
    return last if run.state == "completed" and last == "completed_with_errors" else run.state


def _rows(
    served: Services, figures: Figures, project: str, runs: Sequence[RunHistory], *, held: bool
) -> list[RunLine]:
    """The rows of runs that follow each other; the one after the last is only compared with."""
    rates = {each.project: each.rate for each in served.jobs.running()}
    at, rows = now(), []
    for run, before in zip(runs[:RUNS], [*runs[1:], None], strict=False):
        known = RunFigures(
            state_of_run(run, held=held),
            figures.totals(project, run),
            figures.changes(project, before, run) if before is not None else None,
            before.run if before is not None else None,
            rates.get(project) if run.state == "in_progress" else None,
        )
        rows.append(run_row(project, run, known, at))
    return rows


@router.get("/p/{project}")
def show(request: Request, served: Served, project: str, before: int | None = None) -> Response:
    return _page(request, served, project, before=before)


def _page(
    request: Request,
    served: Services,
    project: str,
    *,
    before: int | None = None,
    name: str | None = None,
    error: str = "",
    status: int = 200,
) -> Response:
    frame, outline = project_frame(served, project, "overview")
    figures = figures_of(request)
    runs = served.jobs.histories(project, before=before, limit=RUNS + 1)
    latest = next(iter(runs if before is None else served.jobs.histories(project, limit=1)), None)
    overview = next(each for each in served.jobs.overviews() if each.project == outline.project)
    waits = _waits(served, project)
    totals = figures.totals(project, latest) if latest else None
    return render(
        request,
        "project.html",
        status=status,
        frame=frame,
        outline=outline,
        books=books_of(outline, totals),
        state=state_of(overview, waits.place if waits else None),
        waits=waits,
        bases=overview.bases,
        lists=run_path(project),
        base=project_path(project),
        rows=_rows(served, figures, project, runs, held=outline.held),
        older=runs[RUNS - 1].run if len(runs) > RUNS else None,
        newer=before is not None,
        latest=latest,
        totals=totals,
        base_rows=base_rows(latest, totals) if latest else (),
        skipped_rows=skipped_rows(project, latest, totals) if latest else (),
        no_page=_without_page(latest),
        refusal=_refusal(served, project),
        typed_name=name,
        name_error=error,
    )


def _waits(served: Services, project: str) -> WaitingCrawl | None:
    return next((each for each in waiting_crawls(served) if each.project == project), None)


def _without_page(run: RunHistory | None) -> tuple[HistoryBase, ...]:
    """The base URLs with a problem of a run that is completed and has no page."""
    if run is None or run.pages or run.state != "completed":
        return ()
    return tuple(base for base in run.bases if base.problem)


def _refusal(served: Services, project: str) -> str | None:
    """Why the last crawl of this server could not begin, if that is the last thing that happened."""
    number = served.jobs.project(project).id
    latest = [job for job in served.jobs.jobs(10, project_id=number) if job.kind is JobKind.CRAWL][:1]
    return latest[0].error if latest and latest[0].state is JobState.FAILED and latest[0].run_id is None else None


@router.get("/p/{project}/compare")
def compare(served: Served, project: str, old: int, new: int) -> Response:
    """Two runs, in the order of time."""
    served.jobs.outline(project)
    return done(f"{project_path(project)}/diff/{min(old, new)}..{max(old, new)}")


@router.post("/p/{project}/crawl")
def crawl(served: Served, project: str) -> Response:
    """The first crawl of a project that was saved to be started later."""
    served.jobs.crawl((), project=project, wait=False)
    return done(f"{project_path(project)}/live")


@router.post("/p/{project}/resume")
def resume(served: Served, project: str) -> Response:
    served.jobs.resume(project, wait=False)
    return done(f"{project_path(project)}/live")


@router.post("/p/{project}/recrawl")
def recrawl(served: Served, project: str) -> Response:
    served.jobs.recrawl(project, wait=False)
    return done(f"{project_path(project)}/live")


@router.get("/p/{project}/finish")
def ask_finish(request: Request, served: Served, project: str) -> Response:
    """It cannot be undone, so it asks first."""
    frame, outline = project_frame(served, project, "overview")
    if outline.run is None or outline.state == "completed":
        raise NothingToDo(f"project {project!r} has no run to finish")
    return render(request, "finish.html", frame=frame, outline=outline, base=project_path(project))


@router.post("/p/{project}/finish")
def finish(served: Served, project: str) -> Response:
    before = served.jobs.outline(project).queued
    found = served.workspace.finish(project)
    skipped = texts.many(before, "queued URL")
    return done(project_path(project), Toast(f"Run {found.run} is completed, {skipped} skipped"))


@router.post("/p/{project}/cancel")
def cancel(served: Served, project: str) -> Response:
    """Take the crawl that waits out of the queue; NothingToDo if it has begun."""
    waits = _waits(served, project)
    if waits is None:
        raise NothingToDo(f"no crawl of project {project!r} waits for its turn")
    served.jobs.cancel(waits.job)
    return done(project_path(project), Toast("The crawl is taken out of the queue"))


@router.post("/p/{project}/rename")
def rename(request: Request, served: Served, project: str) -> Response:
    wanted = field_of(request, "name").strip()
    try:
        served.workspace.rename(project, checked_name(wanted, "name"))
    except UsageError as error:
        return _page(request, served, project, name=wanted, error=problem_of(error).detail, status=422)
    undo = f"{project_path(wanted)}/rename"
    return done(project_path(wanted), Toast(f"{project} is now {wanted}", undo=undo, fields={"name": project}))


@router.get("/p/{project}/delete", dependencies=[ADMIN])
def ask_delete(request: Request, served: Served, project: str) -> Response:
    """It cannot be undone, so it asks first."""
    frame, outline = project_frame(served, project, "overview")
    runs = served.jobs.histories(project)
    return render(
        request, "delete.html", frame=frame, outline=outline, holds=holds_of(runs), base=project_path(project)
    )


@router.post("/p/{project}/delete", dependencies=[ADMIN])
def delete(served: Served, project: str) -> Response:
    number = served.jobs.project(project).id
    found = served.workspace.delete(project)
    served.jobs.forget_project(number)
    runs, pages = texts.many(found.runs, "run"), texts.many(found.pages, "page")
    return done("/", Toast(f"{project} is deleted: {runs}, {pages}, {texts.size(found.freed)} freed"))
