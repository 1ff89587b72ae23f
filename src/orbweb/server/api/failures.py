"""Failed URLs, grouped and with the pages that link to them, and their retry."""

from __future__ import annotations

from typing import Annotated, NotRequired

from fastapi import APIRouter, Body, Query
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from orbweb.app import FailedUrl, FailureCounts
from orbweb.server.api.fields import STRICT, shape, to_json
from orbweb.server.api.lists import Listing, listed
from orbweb.server.api.pages import RunNumber
from orbweb.server.services import Served

router = APIRouter(tags=["failures"])

Kind = Annotated[str | None, Query(description="A kind of failure, such as http_5xx")]
Host = Annotated[str | None, Query(description="A host, with or without its port")]
Match = Annotated[str | None, Query(max_length=1000, description="An RE2 pattern of the URL")]


class RetryBody(TypedDict):
    """Which failed URLs are queued again: all, or those of a kind."""

    kind: NotRequired[str | None]
    __pydantic_config__ = STRICT  # type: ignore[misc]


class Retried(TypedDict):
    """How many URLs were queued again."""

    projectID: int
    queued: int


@listed(router, "/projects/{project}/failed", FailedUrl, summary="The URLs that failed, and what links to them")
def failed(
    project: str,
    served: Served,
    run: RunNumber = None,
    kind: Kind = None,
    host: Host = None,
    match: Match = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Listing:
    name = served.jobs.project(project).name
    return Listing(served.workspace.failed(name, run=run, kind=kind, host=host, match=match, limit=limit))


@router.get(
    "/projects/{project}/failed/counts",
    summary="How many URLs failed, by kind and by host",
    responses={200: {"model": shape(FailureCounts)}},
)
def failure_counts(
    project: str, served: Served, run: RunNumber = None, kind: Kind = None, host: Host = None, match: Match = None
) -> Response:
    name = served.jobs.project(project).name
    return JSONResponse(to_json(served.workspace.failure_counts(name, run=run, kind=kind, host=host, match=match)))


@router.post("/projects/{project}/retry", summary="Queue failed URLs again")
def retry(
    project: str,
    served: Served,
    body: Annotated[RetryBody | None, Body(examples=[{"kind": "http_5xx"}])] = None,
) -> Retried:
    """`POST /resume-crawl/{project}` visits them. 409 while the project is being crawled."""
    found = served.jobs.project(project)
    return Retried(
        projectID=found.id, queued=served.workspace.retry(found.name, kind=body.get("kind") if body else None)
    )
