"""The pages of a run: facets with their counts, filters, orders, and parts of the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from orbweb.app import RunOutline
from orbweb.app.results.catalog import ListedPage, PageList
from orbweb.errors import UsageError
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import project_frame, run_path
from orbweb.server.ui.lists import (
    MOST_TWIN_ROWS,
    ROWS,
    TWIN_ROWS,
    address,
    is_at_work,
    number_of,
    page_href,
    parts_of,
    query_of,
    row_of,
    short_of,
    twin_of,
)
from orbweb.server.ui.page_facets import (
    FACETS,
    LONGEST_FACET,
    SORTS,
    FacetGroup,
    FacetValue,
    PageQuery,
    ordered,
)
from orbweb.server.ui.templating import now, render

router = APIRouter()

_LOOKS = {"alternates": ("some", "has alternates"), "confidence": ("low", "confidence below 0.5")}
_NAMES = {"type": "Type", "host": "Host", "depth": "Depth", "language": "Language"}


@dataclass(frozen=True, slots=True)
class PageTableRow:
    """A row of the list. `alternates` is None if they are not known yet."""

    place: str
    title: str
    url: str
    href: str
    tokens: int
    size: int
    alternates: int | None
    confidence: str
    unsure: bool
    captured: str


def query_from(given: Mapping[str, str]) -> PageQuery:
    """The query of a URL. UsageError for an order that there is not."""
    sort = given.get("sort", "") or "place"
    if sort.removeprefix("-") not in SORTS or sort == "-place":
        raise UsageError(
            f"sort: {sort[:40]!r} is not an order; choose {', '.join(SORTS)}, with `-` the largest first"
        )
    facets = {name: given[name] for name in FACETS if given.get(name)}
    return PageQuery(facets, given.get("q", "").strip(), sort)


def facet_groups(found: PageList, path: str, query: Mapping[str, str]) -> list[FacetGroup]:
    """The facets that divide the pages; each value leads to its list, a chosen one to the list without it."""
    before, every = found.before, found.part.counts
    groups = []
    for name in (*_NAMES, *(["since"] if before is not None else [])):
        counts = {value: count for value, count in every[name].items() if value}
        if len(counts) < 2 and not query.get(name):
            continue
        values = [_value(name, value, value, count, path, query) for value, count in ordered(name, counts)]
        shown = values[:LONGEST_FACET] + [each for each in values[LONGEST_FACET:] if each.chosen]
        groups.append(FacetGroup(_NAMES.get(name, f"Since run {before}"), tuple(shown), len(values) - len(shown)))
    looks = [
        _value(name, value, text, every[name].get(value, 0), path, query) for name, (value, text) in _LOOKS.items()
    ]
    worth = tuple(each for each in looks if each.count or each.chosen)
    return [*groups, FacetGroup("Worth a look", worth, 0)] if worth else groups


def _value(name: str, value: str, text: str, count: int, path: str, query: Mapping[str, str]) -> FacetValue:
    chosen = query.get(name) == value
    changed = {name: None if chosen else value, "after": None}
    return FacetValue(text, count, address(path, query, **changed), chosen)


def page_row(page: ListedPage, lists: tuple[str, str], at: Any) -> PageTableRow:
    project, run = lists
    sure = page.confidence
    return PageTableRow(
        page.place,
        page.title or texts.rest_of(page.url),
        page.url,
        page_href(project, run, page.url),
        page.tokens or 0,
        page.bytes,
        page.alternates,
        texts.NOTHING if sure is None else f"{sure:.2f}",
        sure is not None and sure < 0.5,
        texts.day(page.captured_at, at),
    )


@router.get("/p/{project}/runs/{run}/pages")
def pages(request: Request, served: Served, project: str, run: str, fresh: str = "") -> Response:
    number, path = number_of(run), f"{run_path(project, run)}/pages"
    frame, outline = project_frame(served, project, "pages", run=number)
    query = {name: value for name, value in request.query_params.items() if name != "fresh"}
    wanted = query_from(query)
    found = _pages(served, outline, wanted, query, ROWS, fresh=bool(fresh))
    part = found.part if found is not None else None
    at = now()
    newer = max(0, outline.pages - part.size) if part is not None and part.is_whole else 0
    is_plain = wanted == PageQuery()
    return render(
        request,
        "pages.html",
        frame=frame,
        outline=outline,
        at_work=is_at_work(outline),
        short=short_of(each.url for each in part.items) if part is not None else {},
        list_path=path,
        lists=run_path(project, run),
        rows=[page_row(each, (project, run), at) for each in part.items] if part is not None else [],
        groups=facet_groups(found, path, query) if found is not None else [],
        chips=[
            (
                name,
                _LOOKS[name][1] if name in _LOOKS else value,
                address(path, query, **{name: None, "after": None}),
            )
            for name, value in wanted.facets.items()
        ],
        hidden=[(name, value) for name, value in query.items() if name not in ("q", "after")],
        words=wanted.words,
        counting=part is not None and not part.is_whole,
        total=outline.pages if part is None or (is_plain and not part.is_whole) else part.total,
        counted=part.size if part is not None else 0,
        sort=wanted.sort,
        sorts={name: address(path, query, sort=_turned(name, wanted.sort), after=None) for name in SORTS},
        links=parts_of(part, path, query),
        newer=newer,
        newer_href=address(path, query, fresh="1", after=None),
        since=f"{part.made_at:%H:%M:%S}" if part is not None else "",
        query=query_of(query),
    )


def _pages(
    served: Services, outline: RunOutline, wanted: PageQuery, query: Mapping[str, str], rows: int, *, fresh: bool
) -> PageList | None:
    if outline.run is None:
        return None
    asked = wanted.part(row_of(query.get("after", "")), rows)
    return served.jobs.lists.pages(outline.project, asked, run=outline.run, fresh=fresh)


def _turned(name: str, sort: str) -> str | None:
    """The order that a click on a column head asks for: the largest first, and then the smallest."""
    if name == "place":
        return None
    return name if sort == f"-{name}" else f"-{name}"


@router.get("/p/{project}/runs/{run}/pages.{suffix}")
def pages_twin(
    request: Request,
    served: Served,
    project: str,
    run: str,
    suffix: str,
    limit: Annotated[int, Query(ge=1, le=MOST_TWIN_ROWS)] = TWIN_ROWS,
) -> Response:
    outline = served.jobs.outline(project, run=number_of(run))
    query = dict(request.query_params.items())
    asked = query_from(query).part(row_of(query.get("after", "")), limit)
    path = f"{run_path(project, run)}/pages.{suffix}"
    if outline.run is None:
        return twin_of([], suffix, "pages", None)
    part = served.jobs.lists.pages(project, asked, run=outline.run, patience_s=None).part
    following = address(path, query, after=str(part.next)) if part.next is not None else None
    names = [each.name for each in fields(ListedPage) if each.name != "number"]
    rows = ({name: getattr(each, name) for name in names} for each in part.items)
    return twin_of(rows, suffix, "pages", following)
