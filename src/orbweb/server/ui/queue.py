"""The queue of a run in its order, by source and by a pattern."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from orbweb.app.catalog import Walk
from orbweb.server.services import Served
from orbweb.server.ui.frame import project_frame, run_path
from orbweb.server.ui.lists import MOST_TWIN_ROWS, ROWS, TWIN_ROWS, address, lists_of, number_of, query_of, twin_of
from orbweb.server.ui.templating import render

router = APIRouter()


@router.get("/p/{project}/runs/{run}/queue")
def queue(
    request: Request, served: Served, project: str, run: str, source: str = "", match: str = "", after: str = ""
) -> Response:
    number, path = number_of(run), f"{run_path(project, run)}/queue"
    frame, outline = project_frame(served, project, "queue", run=number)
    query = {"source": source, "match": match, "after": after}
    walk = Walk(match or None, after or None, ROWS)
    found = served.workspace.queue_walk(project, walk, run=number, source=source or None) if outline.run else None
    lists = lists_of(request)
    sources = lists.queue_by_source(outline) if outline.run else {}
    is_latest = bool(outline.runs) and outline.run == outline.runs[0]
    return render(
        request,
        "queue.html",
        frame=frame,
        outline=outline,
        list_path=path,
        items=found.items if found else (),
        sources=[
            (name, count, address(path, {"match": match}, source=None if name == source else name), name == source)
            for name, count in sorted((sources or {}).items(), key=lambda each: -each[1])
        ],
        source=source,
        match=match,
        matching=lists.queue_matching(outline, match) if match and not source and is_latest else None,
        without_source=address(path, {"match": match}),
        without_match=address(path, {"source": source}),
        first=address(path, query, after=None) if after else None,
        next=address(path, query, after=found.next) if found and found.next else None,
        query=query_of(query),
    )


@router.get("/p/{project}/runs/{run}/queue.{suffix}")
def queue_twin(
    request: Request,
    served: Served,
    project: str,
    run: str,
    suffix: str,
    limit: Annotated[int, Query(ge=1, le=MOST_TWIN_ROWS)] = TWIN_ROWS,
) -> Response:
    given = {name: request.query_params.get(name, "") for name in ("source", "match", "after")}
    walk = Walk(given["match"] or None, given["after"] or None, limit, 1.0)
    found = served.workspace.queue_walk(project, walk, run=number_of(run), source=given["source"] or None)
    path = f"{run_path(project, run)}/queue.{suffix}"
    following = address(path, given, after=found.next) if found.next else None
    return twin_of([each.report() for each in found.items], suffix, "queue", following)
