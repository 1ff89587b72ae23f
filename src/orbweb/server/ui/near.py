"""Pages of a run with nearly the same text, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app.results.pages import PageSummary
from orbweb.server.services import Served
from orbweb.server.ui.frame import project_frame, run_path
from orbweb.server.ui.lists import TWIN_ROWS, address, lists_of, number_of, page_href, row_of, short_of, twin_of
from orbweb.server.ui.templating import render

router = APIRouter()

MOST = 50_000
"""Pages of a run whose texts are compared here; the command line compares more."""
GROUPS = 20
SHOWN = 12
"""Pages of a group that are shown."""


@dataclass(frozen=True, slots=True)
class NearGroup:
    """Pages with nearly the same text: the first of them, and `more` that are not shown."""

    number: int
    pages: Sequence[PageSummary]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.pages)


@router.get("/p/{project}/runs/{run}/near")
def near(request: Request, served: Served, project: str, run: str, after: str = "") -> Response:
    number, path = number_of(run), f"{run_path(project, run)}/near"
    frame, outline = project_frame(served, project, "pages", run=number)
    is_small = outline.pages <= MOST
    found = lists_of(request).near(outline) if outline.run is not None and is_small else []
    begin = min(row_of(after) or 0, len(found or ()))
    part = (found or [])[begin : begin + GROUPS]
    groups = [NearGroup(begin + at, each[:SHOWN], len(each)) for at, each in enumerate(part, 1)]
    following = str(begin + GROUPS) if found and begin + GROUPS < len(found) else None
    return render(
        request,
        "near.html",
        frame=frame,
        outline=outline,
        is_small=is_small,
        most=MOST,
        counting=found is None,
        groups=groups,
        total=len(found or ()),
        pages=sum(map(len, found or ())),
        short=short_of(each.url for group in groups for each in group.pages),
        page_of=lambda url: page_href(project, run, url),
        list_path=path,
        pages_path=f"{run_path(project, run)}/pages",
        previous=address(path, {}, after=str(max(0, begin - GROUPS)) if begin > GROUPS else None)
        if begin
        else None,
        next=address(path, {}, after=following) if following else None,
    )


@router.get("/p/{project}/runs/{run}/near.{suffix}")
def near_twin(served: Served, project: str, run: str, suffix: str, after: str = "") -> Response:
    """The pages with the number of their group; parts end with a whole group."""
    outline = served.jobs.outline(project, run=number_of(run))
    begin = row_of(after) or 0
    found = served.workspace.near_duplicates(project, run=outline.run) if 0 < outline.pages <= MOST else []
    rows: list[dict[str, object]] = []
    end = begin
    for number, group in enumerate(found[begin:], begin + 1):
        if len(rows) >= TWIN_ROWS:
            break
        rows += [{"group": number, "url": each.url, "title": each.title, "words": each.words} for each in group]
        end = number
    path = f"{run_path(project, run)}/near.{suffix}"
    return twin_of(rows, suffix, "near", address(path, {}, after=str(end)) if end < len(found) else None)
