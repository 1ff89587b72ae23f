"""What a crawl would do, and the rules of a project."""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypeAlias

from fastapi import APIRouter, Body
from starlette.responses import JSONResponse, Response

from orbweb.app import ProjectRules
from orbweb.errors import UsageError
from orbweb.server.api.crawls import urls_of
from orbweb.server.api.fields import given_options, options_body, shape, text_of, to_json
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Served

router = APIRouter(tags=["rules"])

AT_ONCE = 4
"""Plans that are made at once: each waits for other servers, in a thread that pages need too."""
_PLANS = BoundedSemaphore(AT_ONCE)

if TYPE_CHECKING:
    PlanBody: TypeAlias = dict[str, Any]
    RulesBody: TypeAlias = dict[str, Any]
else:
    PlanBody = options_body(
        "PlanBody", "plan", url=NotRequired[str], urls=NotRequired[list[str]], project=NotRequired[str]
    )
    RulesBody = options_body("RulesBody", "rules")


@router.post("/plan", summary="What a crawl would do")
def plan(
    served: Served, body: Annotated[PlanBody, Body(examples=[{"url": "https://example.org/docs/"}])]
) -> dict[str, Any]:
    """Visits the base URLs, robots.txt and sitemaps, and stores nothing. For a `project`: what its next recrawl
    would visit with these options, computed from its latest run without a request."""
    project = text_of(body, "project")
    urls = (served.jobs.project(project).name,) if project is not None else urls_of(body)
    if not urls or (project is not None and urls_of(body)):
        raise UsageError("give either a `url` or a `project` to plan")
    if not _PLANS.acquire(blocking=False):
        raise ProblemRaised(503, "too_many_plans", f"{AT_ONCE} plans are being made; try again later")
    try:
        found: dict[str, Any] = to_json(served.jobs.plan(urls, given_options("plan", body)))
    finally:
        _PLANS.release()
    return found


@router.get("/rules/{project}", summary="The rules of a project", responses={200: {"model": shape(ProjectRules)}})
def get_rules(project: str, served: Served) -> Response:
    return JSONResponse(to_json(served.workspace.rules(served.jobs.project(project).name)))


@router.patch(
    "/rules/{project}", summary="Change the rules of a project", responses={200: {"model": shape(ProjectRules)}}
)
def change_rules(
    project: str, served: Served, body: Annotated[RulesBody, Body(examples=[{"exclude": ["/archive/"]}])]
) -> Response:
    """Also during a crawl, which applies them when its requests in flight are done. `skipped` says what they
    removed, `cameBack` what they brought back."""
    name = served.jobs.project(project).name
    return JSONResponse(to_json(served.workspace.rules(name, **given_options("rules", body))))
