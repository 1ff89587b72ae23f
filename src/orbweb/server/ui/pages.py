"""The pages of a run: facets with their counts, filters, orders, and parts of the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from orbweb.app import RunOutline
from orbweb.app.results.catalog import ListedPage
from orbweb.errors import UsageError
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import project_frame, run_path
from orbweb.server.ui.lists import (
    MOST_TWIN_ROWS,
    ROWS,
    TWIN_ROWS,
    Found,
    address,
    lists_of,
    number_of,
    page_href,
    query_of,
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
class PageRow:
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


@dataclass(frozen=True, slots=True)
class Part:
    """Some visits of a list, where the parts before and after it begin, and how many there are in all."""

    visits: Sequence[int]
    previous: str | None
    next: str | None
    total: int


def query_from(given: Mapping[str, str]) -> PageQuery:
    """The query of a URL. UsageError for an order that there is not."""
    sort = given.get("sort", "") or "place"
    if sort.removeprefix("-") not in SORTS or sort == "-place":
        raise UsageError(
            f"sort: {sort[:40]!r} is not an order; choose {', '.join(SORTS)}, with `-` the largest first"
        )
    facets = {name: given[name] for name in FACETS if given.get(name)}
    return PageQuery(facets, given.get("q", "").strip(), sort)


def part_of(found: Found, after: str, rows: int) -> Part:
    """The part of a selection that begins after a visit."""
    order, numbers = found.selected.order, found.snapshot.catalog.numbers
    begin = 0
    if after:
        wanted = int(after) if after.isascii() and after.isdecimal() and len(after) < 19 else -1
        begin = next((at + 1 for at, position in enumerate(order) if numbers[position] == wanted), 0)
    end = min(begin + rows, len(order))
    before = max(0, begin - rows)
    return Part(
        [numbers[position] for position in order[begin:end]],
        None if not begin else str(numbers[order[before - 1]]) if before else "",
        str(numbers[order[end - 1]]) if end < len(order) else None,
        len(order),
    )


def facet_groups(found: Found, path: str, query: Mapping[str, str]) -> list[FacetGroup]:
    """The facets that divide the pages; each value leads to its list, a chosen one to the list without it."""
    before = found.snapshot.catalog.before
    groups = []
    for name in (*_NAMES, *(["since"] if before is not None else [])):
        counts = {value: count for value, count in found.selected.counts[name].items() if value}
        if len(counts) < 2 and not query.get(name):
            continue
        values = [_value(name, value, value, count, path, query) for value, count in ordered(name, counts)]
        shown = values[:LONGEST_FACET] + [each for each in values[LONGEST_FACET:] if each.chosen]
        groups.append(FacetGroup(_NAMES.get(name, f"Since run {before}"), tuple(shown), len(values) - len(shown)))
    looks = [
        _value(name, value, text, found.selected.counts[name].get(value, 0), path, query)
        for name, (value, text) in _LOOKS.items()
    ]
    worth = tuple(each for each in looks if each.count or each.chosen)
    return [*groups, FacetGroup("Worth a look", worth, 0)] if worth else groups


def _value(name: str, value: str, text: str, count: int, path: str, query: Mapping[str, str]) -> FacetValue:
    chosen = query.get(name) == value
    changed = {name: None if chosen else value, "after": None}
    return FacetValue(text, count, address(path, query, **changed), chosen)


def row_of(page: ListedPage, alternates: int | None, lists: tuple[str, str], at: Any) -> PageRow:
    project, run = lists
    sure = page.confidence
    return PageRow(
        page.place,
        page.title or texts.rest_of(page.url),
        page.url,
        page_href(project, run, page.url),
        page.tokens or 0,
        page.bytes,
        alternates,
        texts.NOTHING if sure is None else f"{sure:.2f}",
        sure is not None and sure < 0.5,
        texts.day(page.captured_at, at),
    )


def _part(
    served: Services, outline: RunOutline, found: Found | None, wanted: PageQuery, ask: tuple[str, int]
) -> Part:
    """The part that is shown; of a run that no pass is known of, the pages in the order of visits."""
    after, rows = ask
    if found is not None:
        return part_of(found, after, rows)
    if not wanted.is_plain or outline.run is None:
        return Part([], None, None, 0)
    begin = int(after) if after.isascii() and after.isdecimal() and len(after) < 19 else 0
    visits = served.reading.pages_from(outline.project, begin, rows + 1, run=outline.run)
    following = str(visits[rows - 1]) if len(visits) > rows else None
    return Part(visits[:rows], "" if begin else None, following, outline.pages)


@router.get("/p/{project}/runs/{run}/pages")
def pages(request: Request, served: Served, project: str, run: str, fresh: str = "") -> Response:
    number, path = number_of(run), f"{run_path(project, run)}/pages"
    frame, outline = project_frame(served, project, "pages", run=number)
    query = {name: value for name, value in request.query_params.items() if name != "fresh"}
    wanted = query_from(query)
    found = lists_of(request).pages(outline, wanted, fresh=bool(fresh)) if outline.run is not None else None
    part = _part(served, outline, found, wanted, (query.get("after", ""), ROWS))
    listed = served.reading.pages_at(project, part.visits, run=outline.run) if part.visits else []
    alternates = _alternates(found)
    at = now()
    newer = max(0, outline.pages - len(found.snapshot.catalog.numbers)) if found else 0
    return render(
        request,
        "pages.html",
        frame=frame,
        outline=outline,
        list_path=path,
        rows=[row_of(each, alternates.get(each.number), (project, run), at) for each in listed],
        groups=facet_groups(found, path, query) if found else [],
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
        counting=found is None and not wanted.is_plain,
        total=part.total,
        sort=wanted.sort,
        sorts={name: address(path, query, sort=_turned(name, wanted.sort), after=None) for name in SORTS},
        previous=address(path, query, after=part.previous) if part.previous is not None else None,
        next=address(path, query, after=part.next) if part.next else None,
        newer=newer,
        newer_href=address(path, query, fresh="1", after=None),
        since=f"{found.snapshot.made_at:%H:%M:%S}" if found else "",
        query=query_of(query),
    )


def _turned(name: str, sort: str) -> str | None:
    """The order that a click on a column head asks for: the largest first, and then the smallest."""
    if name == "place":
        return None
    return name if sort == f"-{name}" else f"-{name}"


def _alternates(found: Found | None) -> dict[int, int]:
    if found is None:
        return {}
    catalog = found.snapshot.catalog
    column = catalog.columns["alternates"]
    return {catalog.numbers[at]: column[at] for at in found.selected.order} if len(column) <= 100_000 else {}


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
    wanted = query_from(query)
    found = lists_of(request).pages(outline, wanted) if outline.run is not None else None
    part = _part(served, outline, found, wanted, (query.get("after", ""), limit))
    listed = served.reading.pages_at(project, part.visits, run=outline.run) if part.visits else []
    path = f"{run_path(project, run)}/pages.{suffix}"
    following = address(path, query, after=part.next) if part.next else None
    rows = [{name: value for name, value in asdict(each).items() if name != "number"} for each in listed]
    return twin_of(rows, suffix, "pages", following)
