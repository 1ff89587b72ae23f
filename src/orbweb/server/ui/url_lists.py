"""The queue of a run and what it skipped, as lists with facets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import RunOutline
from orbweb.app.columns import ColumnQuery
from orbweb.app.pictures import Bar, bars_of
from orbweb.app.results.catalog import ListPart
from orbweb.errors import NothingToDo
from orbweb.server.services import Served
from orbweb.server.ui.format import many
from orbweb.server.ui.frame import project_frame, project_path, run_path
from orbweb.server.ui.lists import TWIN_ROWS, is_at_work, lists_of, parts_of, row_of, short_of, twin_of
from orbweb.server.ui.templating import field_of, render
from orbweb.server.ui.toast import Toast, done

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
    path, query = f"{run_path(project, run)}/skipped", {"reason": reason, "rule": rule}
    asked = ColumnQuery(_given(query), after=row_of(after), rows=ROWS)
    found = served.jobs.lists.skipped(project, asked, run=outline.run) if outline.run is not None else None
    return render(
        request,
        "skipped.html",
        frame=frame,
        outline=outline,
        items=found.items if found else (),
        short=short_of(each.url for each in found.items) if found else {},
        total=_total(outline.skipped, reason) if not rule else found.total if found else 0,
        counting=bool(found and not found.is_whole),
        facets=facets_of(outline.skipped, path, "reason", reason),
        reason=reason,
        rule=rule,
        family=family_of(rule),
        release=f"{project_path(project)}/release" if _is_releasable(outline, reason, rule) else "",
        listed=path,
        page_path=f"{run_path(project, run)}/page",
        without_rule=f"{path}{query_of(reason=reason)}",
        links=parts_of(found, path, query),
        query=query_of(reason=reason, rule=rule),
    )


def _given(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value}


def _total(counts: Mapping[str, int], chosen: str) -> int:
    return counts.get(chosen, 0) if chosen else sum(counts.values())


def family_of(rule: str) -> str:
    """The pattern of a family of URLs that was taken for a trap, from the rule that its URLs are skipped by."""
    return rule.partition(": ")[2]


def _is_releasable(outline: RunOutline, reason: str, rule: str) -> bool:
    is_latest = outline.runs[:1] == (outline.run,)
    return reason == "trap" and bool(family_of(rule)) and is_latest and not outline.running


@router.post("/p/{project}/release")
def release(request: Request, served: Served, project: str) -> Response:
    """Queue the URLs that were taken for a trap."""
    count = served.workspace.release(project, field_of(request, "pattern"))
    return done(f"{run_path(project)}/queue", Toast(f"{many(count, 'URL')} queued; Resume visits them"))


@router.get("/p/{project}/runs/{run}/skipped.{suffix}")
def skipped_twin(
    served: Served, project: str, run: str, suffix: str, reason: str = "", rule: str = "", after: str = ""
) -> Response:
    query = {"reason": reason, "rule": rule}
    asked = ColumnQuery(_given(query), after=row_of(after), rows=TWIN_ROWS)
    part = served.jobs.lists.skipped(project, asked, run=run_number(run), patience_s=None)
    return _twin(part, f"{run_path(project, run)}/skipped.{suffix}", query, suffix, "skipped")


def _twin(part: ListPart[Any], path: str, query: Mapping[str, str], suffix: str, name: str) -> Response:
    rows = (each.report() for each in part.items)
    return twin_of(rows, suffix, name, parts_of(part, path, query).next)


@router.get("/p/{project}/runs/{run}/queue")
def queue(
    request: Request, served: Served, project: str, run: str, source: str = "", match: str = "", after: str = ""
) -> Response:
    """Only the latest run has a queue; that of an earlier one is empty."""
    number = run_number(run)
    frame, outline = project_frame(served, project, "queue", run=number)
    path = f"{run_path(project, run)}/queue"
    has_queue = outline.run is not None and outline.run == outline.runs[0] and outline.queued > 0
    query = {"source": source}
    asked = ColumnQuery(_given(query), after=row_of(after), rows=ROWS)
    found = served.jobs.lists.queue(project, asked) if has_queue else None
    preview = lists_of(request).matching(outline, match) if has_queue and match else None
    return render(
        request,
        "queue.html",
        frame=frame,
        outline=outline,
        items=found.items if found and not match else (),
        at_work=is_at_work(outline),
        short=short_of(each.url for each in found.items) if found else {},
        preview=preview,
        counting=bool(match and has_queue and preview is None) or bool(found and not found.is_whole),
        facets=facets_of(found.counts["source"], path, "source", source) if found else (),
        source=source,
        match=match,
        listed=path,
        base=project_path(project),
        links=parts_of(found, path, query),
        total=(outline.queued if not source else found.total) if found else 0,
        query=query_of(source=source),
    )


@router.get("/p/{project}/runs/{run}/queue.{suffix}")
def queue_twin(served: Served, project: str, run: str, suffix: str, source: str = "", after: str = "") -> Response:
    run_number(run)
    query = {"source": source}
    part = served.jobs.lists.queue(
        project, ColumnQuery(_given(query), after=row_of(after), rows=TWIN_ROWS), patience_s=None
    )
    return _twin(part, f"{run_path(project, run)}/queue.{suffix}", query, suffix, "queue")
