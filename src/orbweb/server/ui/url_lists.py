"""The queue of a run and what it skipped, as lists with facets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import RunOutline
from orbweb.app.listings import MOST, SkippedFilter
from orbweb.app.pictures import Bar, bars_of
from orbweb.errors import NothingToDo
from orbweb.server.services import Served, Services
from orbweb.server.ui.frame import project_frame, project_path, run_path
from orbweb.server.ui.templating import render
from orbweb.server.ui.twins import twin

router = APIRouter()

ROWS = 50


@dataclass(frozen=True, slots=True)
class Facet:
    """A value by which a list can be narrowed, how many URLs have it, and whether the list is narrowed by it."""

    bar: Bar
    href: str
    chosen: bool


def run_number(text: str) -> int | None:
    """The run that a path names; None for `latest`. NothingToDo if it is neither."""
    if text == "latest":
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise NothingToDo(f"{text!r} is not a run; give its number, or latest")
    return int(text)


def facets_of(counts: Mapping[str, int], path: str, name: str, chosen: str) -> tuple[Facet, ...]:
    """The most frequent first; the chosen one leads back to all."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return tuple(
        Facet(bar, path if bar.name == chosen else f"{path}?{urlencode({name: bar.name})}", bar.name == chosen)
        for bar in bars_of(ordered)
    )


def query_of(**given: str | None) -> str:
    """A query without what is empty."""
    found = urlencode({name: value for name, value in given.items() if value})
    return f"?{found}" if found else ""


@router.get("/p/{project}/runs/{run}/skipped")
def skipped(
    request: Request, served: Served, project: str, run: str, reason: str = "", rule: str = "", after: str = ""
) -> Response:
    number = run_number(run)
    frame, outline = project_frame(served, project, "skipped", run=number)
    wanted = SkippedFilter(reason or None, rule or None, after or None, ROWS)
    found = served.jobs.skipped_items(project, wanted, run=number) if outline.run is not None else None
    path = f"{run_path(project, run)}/skipped"
    return render(
        request,
        "skipped.html",
        frame=frame,
        outline=outline,
        items=found.items if found else (),
        total=outline.skipped.get(reason, 0) if reason else sum(outline.skipped.values()),
        facets=facets_of(outline.skipped, path, "reason", reason),
        reason=reason,
        rule=rule,
        listed=path,
        page_path=f"{run_path(project, run)}/page",
        without_rule=f"{path}{query_of(reason=reason)}",
        first=f"{path}{query_of(reason=reason, rule=rule)}" if after else None,
        next=f"{path}{query_of(reason=reason, rule=rule, after=found.next)}" if found and found.next else None,
        query=query_of(reason=reason, rule=rule),
    )


@router.get("/p/{project}/runs/{run}/skipped.{suffix}")
def skipped_twin(
    served: Served, project: str, run: str, suffix: str, reason: str = "", rule: str = "", after: str = ""
) -> Response:
    wanted = SkippedFilter(reason or None, rule or None, after or None, MOST)
    found = served.jobs.skipped_items(project, wanted, run=run_number(run))
    return twin([each.report() for each in found.items], suffix, f"{project}-skipped")


@router.get("/p/{project}/runs/{run}/queue")
def queue(
    request: Request, served: Served, project: str, run: str, source: str = "", match: str = "", after: str = ""
) -> Response:
    """Only the latest run has a queue; that of an earlier one is empty."""
    number = run_number(run)
    frame, outline = project_frame(served, project, "queue", run=number)
    path = f"{run_path(project, run)}/queue"
    has_queue = outline.run is not None and outline.run == outline.runs[0] and outline.queued > 0
    found = None
    if has_queue and not match:
        found = served.jobs.queue_items(project, source=source or None, after=after or None, limit=ROWS)
    preview = None
    if has_queue and match:
        preview = served.jobs.preview_rules(project, include=(), exclude=[match], max_depth=None)
    return render(
        request,
        "queue.html",
        frame=frame,
        outline=outline,
        items=found.items if found else (),
        preview=preview,
        facets=_sources(served, project, outline, path, source) if has_queue else (),
        source=source,
        match=match,
        listed=path,
        base=project_path(project),
        first=f"{path}{query_of(source=source)}" if after else None,
        next=f"{path}{query_of(source=source, after=found.next)}" if found and found.next else None,
        query=query_of(source=source),
    )


def _sources(served: Services, project: str, outline: RunOutline, path: str, source: str) -> tuple[Facet, ...]:
    found = served.workspace.queue(project).by_source if outline.queued else {}
    return facets_of(found, path, "source", source)


@router.get("/p/{project}/runs/{run}/queue.{suffix}")
def queue_twin(served: Served, project: str, run: str, suffix: str, source: str = "", after: str = "") -> Response:
    run_number(run)
    found = served.jobs.queue_items(project, source=source or None, after=after or None, limit=MOST)
    return twin([each.report() for each in found.items], suffix, f"{project}-queue")
