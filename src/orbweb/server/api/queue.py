"""The queue of a project: what is left to visit, in order, and what a new rule would remove from it."""

from __future__ import annotations

from typing import Annotated, NotRequired

from fastapi import APIRouter, Body, Query
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from orbweb.app.results.listings import QueueItem, RulePreview
from orbweb.errors import NothingToDo
from orbweb.server.api.fields import STRICT, shape, to_json
from orbweb.server.api.lists import Listing, listed
from orbweb.server.services import Served

router = APIRouter(tags=["queue"])


class QueueState(TypedDict):
    """The queue of the latest run. `total` is `visited` + `pending`; what failed is in neither."""

    projectID: int
    hasQueue: bool
    visited: int
    pending: int
    total: int
    canResume: bool
    currentRunID: int | None
    runState: str | None
    runCrawlIDs: list[int]


class Cleared(TypedDict):
    """How many queued URLs were skipped."""

    projectID: int
    skipped: int


class PreviewBody(TypedDict):
    """Further rules: RE2 patterns, and a maximum depth."""

    include: NotRequired[list[str]]
    exclude: NotRequired[list[str]]
    maxDepth: NotRequired[int | None]
    __pydantic_config__ = STRICT  # type: ignore[misc]


@router.get("/queue/{project}", summary="The queue of a project")
def get_queue(project: str, served: Served) -> QueueState:
    found = served.jobs.project(project)
    every = served.jobs.runs_of(found.id)
    if not every:
        return QueueState(
            projectID=found.id,
            hasQueue=False,
            visited=0,
            pending=0,
            total=0,
            canResume=False,
            currentRunID=None,
            runState=None,
            runCrawlIDs=[],
        )
    latest = served.jobs.outline(found.name)
    return QueueState(
        projectID=found.id,
        hasQueue=latest.queued > 0,
        visited=latest.visited,
        pending=latest.queued,
        total=latest.visited + latest.queued,
        canResume=not latest.running and latest.state == "paused",
        currentRunID=every[-1].id,
        runState=latest.state,
        runCrawlIDs=list(every[-1].crawls),
    )


@router.delete("/queue/{project}", summary="Skip everything that is queued")
def clear_queue(project: str, served: Served) -> Cleared:
    """Skip the queued URLs, which completes the run. 409 while it is being crawled, or if nothing is queued."""
    found = served.jobs.project(project)
    return Cleared(projectID=found.id, skipped=served.workspace.clear_queue(found.name))


@listed(router, "/queue/{project}/items", QueueItem, summary="The queued URLs in their order")
def queue_items(
    project: str,
    served: Served,
    source: Annotated[str | None, Query(description="initial, sitemap, spider, redirect or resource")] = None,
    after: Annotated[str | None, Query(description="`next` of the part before")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Listing:
    found = served.jobs.queue_items(served.jobs.project(project).name, source=source, after=after, limit=limit)
    return Listing(found.items, found.next)


@router.post(
    "/queue/{project}/preview",
    summary="What a new rule would remove from the queue",
    responses={200: {"model": shape(RulePreview)}},
)
def preview(
    project: str, served: Served, body: Annotated[PreviewBody, Body(examples=[{"exclude": ["/archive/"]}])]
) -> Response:
    """Nothing is changed; `PATCH /rules/{project}` applies a rule."""
    found = served.jobs.project(project)
    if not served.jobs.runs_of(found.id):
        raise NothingToDo(f"project {found.name!r} has no run yet")
    preview = served.jobs.preview_rules(
        found.name,
        include=body.get("include", ()),
        exclude=body.get("exclude", ()),
        max_depth=body.get("maxDepth"),
    )
    return JSONResponse(to_json(preview))
