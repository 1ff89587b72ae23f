"""A problem as a page: what happened, what was not changed, what to do, and the same for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from orbweb.server.problems import Problem
from orbweb.server.ui.frame import BARE, PageFrame
from orbweb.server.ui.templating import render

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


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for, as (field, text) pairs, and the form with it."""

    fields: tuple[tuple[str, str], ...]
    back: str


def title_of(problem: Problem) -> str:
    return TITLES.get(problem.code, problem.title)


def detail_of(problem: Problem, method: str) -> str:
    """What happened and, of a request that would have changed something, that it has not."""
    if problem.code == "not_found":
        return "Check the address, or begin with the projects."
    text = problem.detail[:1].upper() + problem.detail[1:]
    text = text if text.endswith((".", "?", "`")) else f"{text}."
    return text if method in ("GET", "HEAD") or problem.status >= 500 else f"{text} {UNCHANGED}"


def problem_page(
    request: Request,
    problem: Problem,
    *,
    title: str | None = None,
    actions: tuple[tuple[str, str], ...] = (),
    asked: Asked | None = None,
    frame: PageFrame = BARE,
) -> Response:
    """The page of a problem. `actions` are links, the first of which is the next step."""
    return render(
        request,
        "problem.html",
        status=problem.status,
        frame=frame,
        problem=problem,
        title=title or title_of(problem),
        detail=detail_of(problem, request.method),
        actions=actions,
        asked=asked,
        report=json.dumps(problem.report(), ensure_ascii=False),
    )
