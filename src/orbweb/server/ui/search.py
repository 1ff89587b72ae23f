"""Search over the text of a run's pages, and over all projects."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import RunOutline, SearchHit
from orbweb.errors import OrbwebError
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Served, Services
from orbweb.server.ui.figures import Figures
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
KEPT = 64
PATIENCE_S = 0.1


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


class Searches:
    """Searches in a thread. The first one of a run reads the text of all its pages."""

    def __init__(self, services: Services) -> None:
        self._workspace = services.workspace
        self._figures = Figures(services.workspace, services.jobs, KEPT)

    def hits(self, outline: RunOutline, q: str, count: int) -> Sequence[SearchHit] | None:
        """The best pages; None as long as they are not known."""
        if not q.strip() or outline.run is None:
            return ()
        key = ("search", outline.project, outline.run, q, count)
        found = self._figures.ask(
            key,
            outline.mark,
            lambda: self._found(outline, q, count),
            at_work=outline.running,
            patience_s=PATIENCE_S,
        )
        if isinstance(found, OrbwebError):
            self._figures.forget(key)
            raise found
        return cast("Sequence[SearchHit] | None", found)

    def _found(self, outline: RunOutline, q: str, count: int) -> Sequence[SearchHit] | OrbwebError:
        try:
            return self._workspace.search(outline.project, q, run=outline.run, limit=count)
        except OrbwebError as error:
            return error


def _searches(request: Request) -> Searches:
    found: Searches = request.app.state.searches
    return found


@router.get("/p/{project}/runs/{run}/search")
def show(request: Request, served: Served, project: str, run: str, q: str = "", start: int = 0) -> Response:
    q, start, number = q[:LONGEST], max(0, min(start, DEEPEST - PER_PAGE)), _number(run)
    frame, outline = project_frame(served, project, "search", run=number)
    lists, begun = run_path(project, run), time.perf_counter()
    known = _searches(request).hits(outline, q, start + PER_PAGE + 1)
    found = known or ()
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
        counting=known is None,
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
    q = q[:LONGEST]
    found = served.workspace.search(project, q, run=_number(run), limit=DEEPEST) if q.strip() else []
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
    q, names, found, counting = q[:LONGEST], served.workspace.projects(), [], []
    searches = _searches(request)
    for name in names[:PROJECTS] if q.strip() else ():
        hits = searches.hits(served.jobs.outline(name), q, EACH + 1)
        if hits is None:
            counting.append(name)
        elif hits:
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
        counting=counting,
        projects=len(names),
        searched=min(len(names), PROJECTS),
    )
