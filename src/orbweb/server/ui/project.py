"""A project: its runs and their crawls as a tree, its base URLs, and what the latest run skipped."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import ProjectOverview, RunHistory
from orbweb.app.ids import ProjectIdentity, checked_name
from orbweb.app.jobs.records import CRAWLS, JobState
from orbweb.errors import NothingToDo, UnknownProject, UsageError
from orbweb.server.problems import problem_of
from orbweb.server.services import ADMIN, Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.figures import Figures, figures_of
from orbweb.server.ui.frame import WaitingCrawl, project_frame, project_path, run_path, waiting_crawls
from orbweb.server.ui.project_view import (
    RunFigures,
    RunLine,
    base_rows,
    books_of,
    holds_of,
    run_row,
    skipped_rows,
    state_of_run,
    without_page,
)
from orbweb.server.ui.projects import state_of
from orbweb.server.ui.templating import field_of, now, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter()

RUNS = 20
"""Runs that the page shows; older ones are a link away."""


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
    bases = _identity(served, project).bases
    overview = ProjectOverview(outline.project, bases, outline.running, outline.held, latest)
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
        bases=bases,
        lists=run_path(project),
        base=project_path(project),
        rows=_rows(served, figures, project, runs, held=outline.held),
        older=runs[RUNS - 1].run if len(runs) > RUNS else None,
        newer=before is not None,
        latest=latest,
        totals=totals,
        base_rows=base_rows(latest, totals) if latest else (),
        skipped_rows=skipped_rows(project, latest, totals) if latest else (),
        no_page=without_page(latest),
        refusal=_refusal(served, project),
        typed_name=name,
        name_error=error,
    )


def _identity(served: Services, project: str) -> ProjectIdentity:
    """A project by its name alone; a name of digits made in a terminal is not an id."""
    found = next((each for each in served.jobs.projects() if each.name == project), None)
    if found is None:
        raise UnknownProject(f"no project {project!r}")
    return found


def _waits(served: Services, project: str) -> WaitingCrawl | None:
    return next((each for each in waiting_crawls(served) if each.project == project), None)


def _refusal(served: Services, project: str) -> str | None:
    """Why the last crawl of this server could not begin, if that is the last thing that happened."""
    number = _identity(served, project).id
    latest = [job for job in served.jobs.jobs(10, project_id=number) if job.kind in CRAWLS][:1]
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
        return _page(request, served, project, name=wanted, error=_about_name(error), status=422)
    undo = f"{project_path(wanted)}/rename"
    return done(project_path(wanted), Toast(f"{project} is now {wanted}", undo=undo, fields={"name": project}))


def _about_name(error: UsageError) -> str:
    """What is wrong with a name, without the word for the field, which stands there."""
    return problem_of(error).detail.removeprefix("`name`: ").removeprefix("NAME ")


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
    number = _identity(served, project).id
    found = served.workspace.delete(project)
    served.jobs.forget_project(number)
    runs, pages = texts.many(found.runs, "run"), texts.many(found.pages, "page")
    return done("/", Toast(f"{project} is deleted: {runs}, {pages}, {texts.size(found.freed)} freed"))
