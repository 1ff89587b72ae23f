"""What the lists of a run share: its number in the URL, links with a changed query, and passes that are kept.

A pass over a run is made in a thread; a page waits for it only a moment, and shows what is known. A pass over a
run that is being crawled stays valid for a while, so that lists are snapshots.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import Response

from orbweb.app import RunOutline
from orbweb.app.results.catalog import FailedItem, PageCatalog, UrlLinks
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Services
from orbweb.server.ui.figures import Figures
from orbweb.server.ui.frame import run_path
from orbweb.server.ui.page_facets import PageQuery, Selected, select
from orbweb.server.ui.twins import twin

ROWS = 50
TWIN_ROWS = 1_000
MOST_TWIN_ROWS = 10_000
KEPT = 32
CATALOGS = 3
_SHORTEST_S, _TIMES = 2.0, 20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The catalog of a run: when it was made, and how long that took."""

    mark: Hashable
    made_at: datetime
    until: float
    catalog: PageCatalog


@dataclass(frozen=True, slots=True)
class Found:
    """A selection of pages, and the snapshot that it is from."""

    selected: Selected
    snapshot: Snapshot


class Lists:
    """Passes over runs. Any thread may ask; None is the answer as long as a pass is not finished."""

    def __init__(self, services: Services) -> None:
        self._reading = services.reading
        self._figures = Figures(services.workspace, services.jobs, KEPT)
        self._catalogs: OrderedDict[Hashable, Snapshot] = OrderedDict()

    def pages(self, outline: RunOutline, wanted: PageQuery, *, fresh: bool = False) -> Found | None:
        """The pages that a query selects, in its order."""
        key, mark = (outline.project, outline.run), mark_of(outline)
        known = self._catalogs.get(key)
        if known is not None and not fresh and outline.running and time.monotonic() < known.until:
            mark = known.mark
        found: Found | None = self._figures.ask(
            ("pages", *key, wanted.terms), mark, lambda: self._select(outline, mark, wanted)
        )
        return found

    def _select(self, outline: RunOutline, mark: Hashable, wanted: PageQuery) -> Found:
        known = self._catalog(outline, mark)
        words = wanted.words
        among = frozenset(self._reading.pages_with(outline.project, words, run=outline.run)) if words else None
        return Found(select(known.catalog, wanted, among), known)

    def _catalog(self, outline: RunOutline, mark: Hashable) -> Snapshot:
        key = (outline.project, outline.run)
        known = self._catalogs.get(key)
        if known is None or known.mark != mark:
            began, at = time.monotonic(), datetime.now(UTC)
            made = self._reading.page_catalog(outline.project, run=outline.run)
            took = time.monotonic() - began
            known = Snapshot(mark, at, time.monotonic() + max(_SHORTEST_S, _TIMES * took), made)
            self._catalogs[key] = known
            while len(self._catalogs) > CATALOGS:
                self._catalogs.popitem(last=False)
        return known

    def failures(self, outline: RunOutline) -> Sequence[FailedItem] | None:
        found: Sequence[FailedItem] | None = self._ask(
            outline, "failures", lambda: self._reading.failures(outline.project, run=outline.run)
        )
        return found

    def linked_from(self, outline: RunOutline, ids: Sequence[int]) -> Mapping[int, int]:
        """How many pages link to these URLs; empty as long as it is not known."""
        if not ids:
            return {}
        found = self._ask(
            outline,
            ("linked", *ids),
            lambda: self._reading.linked_from(outline.project, ids, run=outline.run),
        )
        return found or {}

    def links_of(self, outline: RunOutline, url: str) -> UrlLinks | None:
        found: UrlLinks | None = self._ask(
            outline, ("links", url), lambda: self._reading.links_of(outline.project, url, run=outline.run)
        )
        return found

    def _ask(self, outline: RunOutline, name: Hashable, count: Any) -> Any:
        return self._figures.ask((name, outline.project, outline.run), mark_of(outline), count)


def lists_of(request: Request) -> Lists:
    found: Lists = request.app.state.lists
    return found


def mark_of(outline: RunOutline) -> Hashable:
    """Differs if the lists of a run may."""
    counts = (outline.visited, outline.failed, outline.queued, sum(outline.skipped.values()), outline.pages)
    return outline.state, *counts


def number_of(run: str) -> int | None:
    """The run that a URL names: None for `latest`."""
    if run == "latest":
        return None
    if not (run.isascii() and run.isdecimal() and len(run) < 10):
        raise ProblemRaised(404, "unknown_run", f"{run!r} is not the number of a run, and not `latest`")
    return int(run)


def address(path: str, query: Mapping[str, str], **changes: str | None) -> str:
    """A list with a changed query; an empty value is left out."""
    given = {**query, **changes}
    kept = [(name, value) for name, value in given.items() if value]
    return f"{path}?{urlencode(kept)}" if kept else path


def query_of(query: Mapping[str, str]) -> str:
    return address("", query)


def page_href(project: str, run: int | str, url: str, tab: str = "") -> str:
    """The page of this interface that shows a URL."""
    return address(f"{run_path(project, run)}/page", {"url": url, "tab": tab})


def twin_of(rows: Iterable[Mapping[str, Any]], suffix: str, name: str, following: str | None) -> Response:
    """The rows of a list as JSON or CSV; a `Link` names the rest."""
    if suffix not in ("json", "csv"):
        raise ProblemRaised(404, "not_found", f"a list is .json or .csv, not .{suffix[:20]}")
    response = twin(list(rows), suffix, name)
    if following is not None:
        response.headers["link"] = f'<{following}>; rel="next"'
    return response
