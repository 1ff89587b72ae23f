"""The skipped URLs of a run, by reason and by rule."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from orbweb.app.catalog import Walk
from orbweb.server.services import Served
from orbweb.server.ui.frame import project_frame, run_path
from orbweb.server.ui.lists import (
    MOST_TWIN_ROWS,
    ROWS,
    TWIN_ROWS,
    address,
    lists_of,
    number_of,
    page_href,
    query_of,
    twin_of,
)
from orbweb.server.ui.templating import render

router = APIRouter()

RULES = 40


@router.get("/p/{project}/runs/{run}/skipped")
def skipped(
    request: Request, served: Served, project: str, run: str, reason: str = "", rule: str = "", after: str = ""
) -> Response:
    number, path = number_of(run), f"{run_path(project, run)}/skipped"
    frame, outline = project_frame(served, project, "skipped", run=number)
    query = {"reason": reason, "rule": rule, "after": after}
    walk = Walk(after=after or None, limit=ROWS)
    found = (
        served.workspace.skipped_walk(project, walk, run=number, reason=reason or None, rule=rule or None)
        if outline.run
        else None
    )
    rules = lists_of(request).skip_rules(outline) if outline.run else ()
    return render(
        request,
        "skipped.html",
        frame=frame,
        outline=outline,
        list_path=path,
        items=[(each, page_href(project, run, each.url, "explain")) for each in (found.items if found else ())],
        reasons=[
            (name, count, address(path, {}, reason=None if name == reason else name), name == reason)
            for name, count in sorted(outline.skipped.items(), key=lambda each: (-each[1], each[0]))
        ],
        rules=[
            (each.rule, each.count, address(path, {}, reason=each.reason, rule=each.rule), each.rule == rule)
            for each in rules or ()
            if each.rule and reason in ("", each.reason)
        ][:RULES],
        reason=reason,
        rule=rule,
        without_rule=address(path, {"reason": reason}),
        total=sum(outline.skipped.values()),
        first=address(path, query, after=None) if after else None,
        next=address(path, query, after=found.next) if found and found.next else None,
        query=query_of(query),
    )


@router.get("/p/{project}/runs/{run}/skipped.{suffix}")
def skipped_twin(
    request: Request,
    served: Served,
    project: str,
    run: str,
    suffix: str,
    limit: Annotated[int, Query(ge=1, le=MOST_TWIN_ROWS)] = TWIN_ROWS,
) -> Response:
    given = {name: request.query_params.get(name, "") for name in ("reason", "rule", "after")}
    walk = Walk(after=given["after"] or None, limit=limit, patience_s=1.0)
    found = served.workspace.skipped_walk(
        project, walk, run=number_of(run), reason=given["reason"] or None, rule=given["rule"] or None
    )
    path = f"{run_path(project, run)}/skipped.{suffix}"
    following = address(path, given, after=found.next) if found.next else None
    return twin_of([each.report() for each in found.items], suffix, "skipped", following)
