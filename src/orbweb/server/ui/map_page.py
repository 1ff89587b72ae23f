"""The map of a run: its sections as a web or a tree, and the same numbers as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app import RunOutline
from orbweb.app.pictures import SPOKES, MapSection, Markup, bars_of, link_counts, sections_of, svg, tree_of, web_of
from orbweb.app.results.sections import RunSections, SectionLinks
from orbweb.errors import UsageError
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.figures import figures_of
from orbweb.server.ui.frame import project_frame, run_path
from orbweb.server.ui.lists import lists_of
from orbweb.server.ui.templating import render
from orbweb.server.ui.twins import twin

router = APIRouter()

VIEWS = ("web", "tree")
GROUPS = ("path", "host")


@dataclass(frozen=True, slots=True)
class AskedMap:
    """What the URL asks for."""

    view: str
    by: str
    section: str | None

    def query(self, **changed: str | None) -> str:
        """The query of this map with something changed; what is usual is left out."""
        given: dict[str, str | None] = {"view": self.view, "by": self.by, "section": self.section, **changed}
        usual = {"view": VIEWS[0], "by": GROUPS[0]}
        kept = {name: value for name, value in given.items() if value and value != usual.get(name)}
        return f"?{urlencode(kept)}" if kept else ""


@dataclass(frozen=True, slots=True)
class MapData:
    """The sections of a run, the selected one, and its links; `sections` is None while they are counted."""

    sections: tuple[MapSection, ...] | None
    selected: MapSection | None
    links: SectionLinks | None


def number_of(run: str) -> int | None:
    """The run of a URL: a number, or None for `latest`."""
    if run == "latest":
        return None
    if not run.isdecimal() or len(run) > 9:
        raise UsageError(f"{run!r} is not a run; use a number or `latest`")
    return int(run)


def _data(request: Request, served: Services, outline: RunOutline, asked: AskedMap) -> MapData:
    figures, project = figures_of(request), outline.project
    history = next(each for each in served.jobs.histories(project) if each.run == outline.run)
    found = figures.sections(project, history)
    if found is None:
        return MapData(None, None, None)
    sections, selected = _sections(found, asked)
    links = figures.section_links(project, history, _prefix(selected)) if selected is not None else None
    return MapData(sections, selected, links)


def _read(served: Services, outline: RunOutline, asked: AskedMap) -> MapData:
    """The data of a file, which waits until all of it is known."""
    reading, project = served.reading, outline.project
    sections, selected = _sections(reading.sections(project, run=outline.run), asked)
    links = reading.section_links(project, _prefix(selected), run=outline.run) if selected is not None else None
    return MapData(sections, selected, links)


def _sections(found: RunSections, asked: AskedMap) -> tuple[tuple[MapSection, ...], MapSection | None]:
    """The sections, and the one that is selected: the largest if none is asked for."""
    sections = sections_of(found.parts, by_host=asked.by == "host")
    first = sections[0] if sections else None
    return sections, next((each for each in sections if each.key == asked.section), first)


def _prefix(section: MapSection) -> str:
    return section.key if section.key.endswith("/") else f"{section.key}/"


def _picture(outline: RunOutline, data: MapData, asked: AskedMap, path: str | None = None) -> Markup:
    """The picture; with a path, its sections are links."""
    key = data.selected.key if data.selected else None
    sections = data.sections or ()
    if asked.view == "tree":
        return svg.tree(tree_of(outline.project, sections, key))
    href = None if path is None else lambda key: f"{path}{asked.query(section=key)}"
    return svg.web(web_of(sections, key, data.links.targets if data.links else None), href)


def _asked(view: str, by: str, section: str | None) -> AskedMap:
    return AskedMap(view if view in VIEWS else VIEWS[0], by if by in GROUPS else GROUPS[0], section)


@router.get("/p/{project}/runs/{run}/map")
def show(
    request: Request,
    served: Served,
    project: str,
    run: str,
    view: str = "web",
    by: str = "path",
    section: str | None = None,
) -> Response:
    frame, outline = project_frame(served, project, "map", run=number_of(run))
    asked, path = _asked(view, by, section), f"{run_path(project, run)}/map"
    data = MapData((), None, None) if outline.run is None else _data(request, served, outline, asked)
    sections = data.sections or ()
    links = link_counts(data.links.targets, sections) if data.links is not None else []
    names = {each.key: each.name for each in sections}
    bars = bars_of([(key, count) for key, count in links if data.selected is None or key != data.selected.key][:8])
    return render(
        request,
        "map.html",
        frame=frame,
        outline=outline,
        asked=asked,
        map_path=path,
        data=data,
        sections=sections[:SPOKES],
        others=len(sections) - len(sections[:SPOKES]),
        shares={
            bar.name: bar.share for bar in bars_of([(each.key, each.pages) for each in sections], ranking=True)
        },
        links=bars,
        names=names,
        total_links=sum(bar.count for bar in bars),
        depth=max((depth for each in sections for depth in each.depths), default=0),
        picture=_picture(outline, data, asked, path),
    )


@router.get("/p/{project}/runs/{run}/map.svg")
def picture(
    served: Served,
    project: str,
    run: str,
    view: str = "web",
    by: str = "path",
    section: str | None = None,
) -> Response:
    """The picture as a file of its own, in the colours of the light theme."""
    outline = served.jobs.outline(project, run=number_of(run))
    asked = _asked(view, by, section)
    data = MapData((), None, None) if outline.run is None else _read(served, outline, asked)
    return Response(
        _picture(outline, data, asked),
        media_type="image/svg+xml",
        headers={"content-disposition": 'inline; filename="map.svg"'},
    )


@router.get("/p/{project}/runs/{run}/map.{suffix}")
def rows(request: Request, served: Served, project: str, run: str, suffix: str, by: str = "path") -> Response:
    """The table of the map."""
    if suffix not in ("json", "csv"):
        raise UsageError(f"a map has no form {suffix!r}; choose svg, json or csv")
    outline = served.jobs.outline(project, run=number_of(run))
    parts = lists_of(request).sections(outline).parts if outline.run is not None else ()
    found = [_row(each) for each in sections_of(parts, by_host=by == "host")]
    return twin(found, suffix, f"{texts.segment(project)}-map")


def _row(section: MapSection) -> Mapping[str, Any]:
    return {
        "section": section.key,
        "pages": section.pages,
        "failed": section.failed,
        "depth": max(section.depths, default=0),
    }
