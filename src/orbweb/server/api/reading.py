"""Search over the text of pages, and the changes between two runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, Response

from orbweb.app import RunDiff, SearchHit
from orbweb.server.api.fields import shape, to_json
from orbweb.server.api.lists import Listing, listed
from orbweb.server.api.pages import RunNumber
from orbweb.server.services import Served

router = APIRouter(tags=["reading"])


@listed(router, "/projects/{project}/search", SearchHit, summary="The pages that have these words, best first")
def search(
    project: str,
    served: Served,
    q: Annotated[str, Query(min_length=1, max_length=1000, examples=["crawl delay"])],
    run: RunNumber = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Listing:
    return Listing(served.workspace.search(served.jobs.project(project).name, q, run=run, limit=limit))


@router.get("/projects/{project}/diff", summary="How two runs differ", responses={200: {"model": shape(RunDiff)}})
def diff(
    project: str,
    served: Served,
    old: RunNumber = None,
    new: RunNumber = None,
    noise: Annotated[bool, Query(description="Also changes of dates and counters")] = False,
) -> Response:
    """The latest run and the one before it, unless others are named by their numbers."""
    name = served.jobs.project(project).name
    return JSONResponse(to_json(served.workspace.diff(name, old, new, keep_noise=noise)))
