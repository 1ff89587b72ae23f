"""Search over the text of a run's pages, and over all projects."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import SearchHit
from orbweb.errors import NothingToDo
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Served, Services
from orbweb.server.ui.format import segment
from orbweb.server.ui.frame import Crumb, SearchBox, project_frame, run_path, workspace_frame
from orbweb.server.ui.templating import render
from orbweb.server.ui.twins import twin

router = APIRouter()

PER_PAGE = 20
DEEPEST = 1_000
"""Hits that can be reached; a better query finds more than a further page."""
PROJECTS = 24
EACH = 3
"""Hits of a project in a search over all of them."""
LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found. `parts` of its snippet are words of the query or not."""

    url: str
    href: str
    title: str
    parts: tuple[tuple[str, bool], ...]
    tokens: int | None = None


def parts_of(snippet: str, marks: Sequence[tuple[int, int]]) -> tuple[tuple[str, bool], ...]:
    """A snippet in parts, those between marks apart."""
    made, at = [], 0
    for begin, end in marks:
        made += [(snippet[at:begin], False), (snippet[begin:end], True)]
        at = end
    made.append((snippet[at:], False))
    return tuple(part for part in made if part[0])


def hit_of(found: SearchHit, lists: str, tokens: int | None = None) -> Hit:
    href = f"{lists}/page?url={segment(found.url)}"
    return Hit(found.url, href, found.title or found.url, parts_of(found.snippet, found.marks), tokens)


def _number(run: str) -> int | None:
    if run == "latest":
        return None
    if not run.isdecimal() or len(run) > 9:
        raise ProblemRaised(404, "not_found", f"{run!r} is not a run")
    return int(run)


def _hits(served: Services, project: str, q: str, run: int | None, count: int) -> list[SearchHit]:
    return served.workspace.search(project, q, run=run, limit=count) if q.strip() else []


@router.get("/p/{project}/runs/{run}/search")
def show(request: Request, served: Served, project: str, run: str, q: str = "", start: int = 0) -> Response:
    q, start, number = q[:LONGEST], max(0, min(start, DEEPEST - PER_PAGE)), _number(run)
    frame, outline = project_frame(served, project, "search", run=number)
    lists, begun = run_path(project, run), time.perf_counter()
    found = _hits(served, project, q, number, start + PER_PAGE + 1) if outline.run is not None else []
    part = found[start : start + PER_PAGE]
    documents = [served.workspace.document(project, each.url, run=number) for each in part]
    taken = time.perf_counter() - begun

    def at(place: int) -> str:
        return f"{lists}/search?{urlencode({'q': q, **({'start': place} if place else {})})}"

    return render(
        request,
        "search.html",
        frame=frame,
        outline=outline,
        project=project,
        lists=lists,
        q=q,
        start=start,
        hits=[
            hit_of(each, lists, document.tokens if document else None)
            for each, document in zip(part, documents, strict=True)
        ],
        taken=f"{taken * 1000:.0f} ms",
        previous=at(max(0, start - PER_PAGE)) if start else None,
        next=at(start + PER_PAGE) if len(found) > start + PER_PAGE and start + PER_PAGE < DEEPEST else None,
        runs=[
            (each, f"{run_path(project, each)}/search?{urlencode({'q': q})}") for each in outline.runs[:PROJECTS]
        ],
        twins=f"?{urlencode({'q': q})}",
    )


@router.get("/p/{project}/runs/{run}/search.{suffix}")
def as_twin(served: Served, project: str, run: str, suffix: str, q: str = "") -> Response:
    if suffix not in ("json", "csv"):
        raise ProblemRaised(404, "not_found", f"a list has no twin .{suffix}")
    found = _hits(served, project, q[:LONGEST], _number(run), DEEPEST)
    rows = [{"url": each.url, "title": each.title, "snippet": each.snippet} for each in found]
    return twin(rows, suffix, f"{project}-search")


@dataclass(frozen=True, slots=True)
class ProjectHits:
    """The best pages of a project, and where the others are."""

    project: str
    href: str
    hits: tuple[Hit, ...]
    more: bool


@router.get("/search")
def show_all(request: Request, served: Served, q: str = "") -> Response:
    """The best pages of each project; those without a run, or without a hit, are left out."""
    q, names, found = q[:LONGEST], served.workspace.projects(), []
    for name in names[:PROJECTS] if q.strip() else ():
        try:
            hits = served.workspace.search(name, q, limit=EACH + 1)
        except NothingToDo:
            continue
        if hits:
            made = tuple(hit_of(each, run_path(name)) for each in hits[:EACH])
            found.append(
                ProjectHits(name, f"{run_path(name)}/search?{urlencode({'q': q})}", made, len(hits) > EACH)
            )
    frame = workspace_frame(served, Crumb("Search", "/search"))
    return render(
        request,
        "search_all.html",
        frame=frame,
        q=q,
        box=SearchBox("/search", "Search all projects", q),
        found=found,
        projects=len(names),
        searched=min(len(names), PROJECTS),
    )
