"""A problem as a page: what happened, what was not changed, what to do, and the same for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from orbweb.app.jobs.service import ActiveCrawl
from orbweb.errors import OrbwebError
from orbweb.server.problems import Problem
from orbweb.server.services import Services
from orbweb.server.ui.format import sentence, when
from orbweb.server.ui.frame import BARE, PageFrame, project_frame, project_path, workspace_frame
from orbweb.server.ui.templating import now, render

TITLES: Mapping[str, str] = {
    "not_found": "There is no such page",
    "method_not_allowed": "This page does not take that",
    "unknown_project": "There is no such project",
    "unknown_id": "There is nothing with that id",
    "nothing_to_do": "There is nothing to do",
    "nothing_to_resume": "There is nothing to resume",
    "nothing_queued": "Nothing is queued",
    "crawl_active": "The project is being crawled already",
    "crawl_refused": "The crawl could not begin",
    "not_trusted": "This is not allowed here",
    "invalid_setting": "A setting is not right",
    "invalid_request": "This cannot be done as it was asked",
    "busy": "Something else is at work",
    "disk_full": "The disk is full",
    "form_token_missing": "The form is out of date",
    "scope_too_small": "This token may not do that",
    "token_required": "A token is needed",
    "host_not_allowed": "This server has another name",
    "foreign_origin": "Another site sent this",
    "internal_error": "Something went wrong here",
}
UNCHANGED = "Nothing was changed."
ONE_AT_A_TIME = "A project has one crawl at a time, so nothing was started and nothing was changed."
_PROJECT = re.compile(r"/p/([^/]+)")


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do next: a link or, if it changes something, a button of a form."""

    text: str
    href: str
    is_form: bool = False


@dataclass(frozen=True, slots=True)
class AskedPage:
    """What was asked for, as (field, text) pairs, and the form with it."""

    fields: tuple[tuple[str, str], ...]
    back: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a page tells about a problem, where the table of codes knows too little."""

    title: str | None = None
    detail: str | None = None
    steps: tuple[NextStep, ...] = ()


def title_of(problem: Problem) -> str:
    return TITLES.get(problem.code, problem.title)


def detail_of(problem: Problem, method: str) -> str:
    """What happened and, of a request that would have changed something, that it has not."""
    if problem.code == "not_found":
        return "Check the address, or begin with the projects."
    text = sentence(problem.detail)
    return text if method in ("GET", "HEAD") or problem.status >= 500 else f"{text} {UNCHANGED}"


def steps_of(problem: Problem, project: str | None) -> tuple[NextStep, ...]:
    """The next steps that a code suggests; `project` is the one that the request was about."""
    if problem.code == "token_required":
        return (NextStep("Log in", "/login"),)
    if problem.code == "scope_too_small":
        return (NextStep("Log in with another token", "/login"),)
    if problem.code == "unknown_project":
        return (NextStep("All projects", "/"), NextStep("New crawl", "/new"))
    own = (NextStep(project, project_path(project)),) if project is not None else ()
    return (*own, NextStep("All projects", "/"))


def project_in(path: str) -> str | None:
    """The project that the path of a page names."""
    found = _PROJECT.match(path)
    return unquote(found[1]) if found else None


def active_crawl(served: Services, error: ActiveCrawl) -> Told:
    """Which crawl is in the way, and what can be done about it."""
    job = served.jobs.job(error.job_id) if error.job_id is not None else None
    crawl = served.jobs.crawl_of(error.crawl_id) if error.crawl_id is not None else None
    number = job.project_id if job is not None else crawl.project_id if crawl is not None else -1
    project = next((each.name for each in served.jobs.projects() if each.id == number), None)
    if project is None:
        return Told()
    base = project_path(project)
    if job is not None and job.started_at is None:
        return Told(
            f"{project} has a crawl already",
            f"It waits for its turn. {ONE_AT_A_TIME}",
            (
                NextStep("Watch it", f"{base}/live"),
                NextStep("Take it out of the queue", f"{base}/cancel", is_form=True),
            ),
        )
    latest = served.jobs.histories(project, limit=1)
    name, began = "The crawl", ""
    if latest and latest[0].crawls:
        last = latest[0].crawls[-1]
        name, began = f"Crawl {last.crawl}", f" of run {latest[0].run} began {when(last.started_at, now())} and"
    return Told(
        f"{project} is being crawled already",
        f"{name}{began} is in progress. {ONE_AT_A_TIME}",
        (
            NextStep(f"Watch {name[:1].lower()}{name[1:]}", f"{base}/live"),
            NextStep("Stop it", f"{base}/stop", is_form=True),
            NextStep("Change its rules", f"{base}/live#rule"),
        ),
    )


def framed_problem(request: Request, served: Services, problem: Problem, error: OrbwebError | None) -> Response:
    """The page of a problem that a route met, in the frame of its project."""
    project = project_in(request.url.path)
    frame = _frame(served, project) if problem.status < 500 else BARE
    told = active_crawl(served, error) if isinstance(error, ActiveCrawl) else Told()
    return problem_page(request, problem, told=told, frame=frame, project=frame.project)


def _frame(served: Services, project: str | None) -> PageFrame:
    """The frame of a project, or that of the workspace if there is no such project."""
    try:
        return project_frame(served, project, "")[0] if project is not None else workspace_frame(served)
    except OrbwebError:
        return BARE


def problem_page(
    request: Request,
    problem: Problem,
    *,
    told: Told | None = None,
    asked: AskedPage | None = None,
    frame: PageFrame = BARE,
    project: str | None = None,
) -> Response:
    """The page of a problem. The first step is the one to take."""
    told = told or Told()
    return render(
        request,
        "problem.html",
        status=problem.status,
        frame=frame,
        problem=problem,
        title=told.title or title_of(problem),
        detail=told.detail or detail_of(problem, request.method),
        steps=told.steps or steps_of(problem, project),
        asked=asked,
        report=json.dumps(problem.report(), ensure_ascii=False, indent=2),
    )
