"""Lists of a run of any size: a catalog of its pages, its failures, and what leads to a URL.

A pass over a run takes a time that grows with it, and gives a small record that callers keep.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence

from orbweb.app.directory import OpenWorkspace
from orbweb.app.reports import target_of
from orbweb.app.request import Request, configure
from orbweb.app.results.catalog import Facet, PageCatalog, UrlLinks
from orbweb.app.settings import page_type, policy_rules
from orbweb.store import runs
from orbweb.store.queries import catalog, explain, linking_pages
from orbweb.store.queries.catalog import CatalogRow
from orbweb.store.queries.reports import Report

UNSURE = 0.5
"""Below this confidence, a document is worth a look."""
_DEEPEST = 65_535


class _Codes:
    """A facet while it is read."""

    def __init__(self, *values: str) -> None:
        self._known = {value: code for code, value in enumerate(values)}
        self.codes = array("I")

    def add(self, value: str) -> None:
        self.codes.append(self._known.setdefault(value, len(self._known)))

    def facet(self) -> Facet:
        return Facet(tuple(self._known), self.codes)


def page_catalog(workspace: OpenWorkspace, project: str, number: int | None) -> PageCatalog:
    known = runs.project(workspace.db, project)
    run = runs.run_of(workspace.db, known, number)
    before = runs.run_before(workspace.db, run)
    config = configure(known, Request())[0]
    type_of = page_type(config) if policy_rules(config).page_types else None
    rows = catalog.pages(workspace.db, run.id, before.id if before else None)
    return _catalog(rows, run.number, before.number if before else None, type_of)


def _catalog(
    rows: Iterator[CatalogRow], run: int, before: int | None, type_of: Callable[[str], str] | None
) -> PageCatalog:
    names = ("type", "host", "depth", "language", "since")
    facets = {name: _Codes() for name in names}
    facets |= {"alternates": _Codes("none", "some"), "confidence": _Codes("high", "low")}
    numbers = array("Q")
    columns = {name: array("Q") for name in ("tokens", "bytes", "depth", "alternates", "confidence")}
    for row in rows:
        sure = 1.0 if row.confidence is None else row.confidence
        numbers.append(row.number)
        values = (type_of(row.key) if type_of else "", host_of(row.key), str(row.depth), row.language or "")
        for name, value in zip(names, (*values, row.since), strict=True):
            facets[name].add(value)
        facets["alternates"].add("some" if row.alternates else "none")
        facets["confidence"].add("low" if sure < UNSURE else "high")
        figures = (row.tokens or 0, row.bytes, min(row.depth, _DEEPEST), row.alternates, round(100 * sure))
        for column, figure in zip(columns.values(), figures, strict=True):
            column.append(figure)
    return PageCatalog(run, before, numbers, {name: each.facet() for name, each in facets.items()}, columns)


def host_of(key: str) -> str:
    """The host of a URL, with its port if that is not the default."""
    return key.partition("://")[2].partition("/")[0]


def pages_with(workspace: OpenWorkspace, project: str, number: int | None, words: str) -> list[int]:
    return catalog.pages_with(workspace.db, workspace.run(project, number).id, words)


def pages_from(workspace: OpenWorkspace, project: str, number: int | None, after: int, count: int) -> list[int]:
    return catalog.pages_from(workspace.db, workspace.run(project, number).id, after, count)


def pages_at(workspace: OpenWorkspace, project: str, number: int | None, numbers: Sequence[int]) -> list[Report]:
    run = workspace.run(project, number)
    found = (catalog.page_at(workspace.db, run.id, each) for each in numbers)
    return [each for each in found if each is not None]


def failures(workspace: OpenWorkspace, project: str, number: int | None) -> list[Report]:
    return list(catalog.failures(workspace.db, workspace.run(project, number)))


def linked_from(workspace: OpenWorkspace, project: str, number: int | None, ids: Sequence[int]) -> dict[int, int]:
    """How many pages link to each of these URLs."""
    found = linking_pages.referrers(workspace.db, workspace.run(project, number).id, ids, 0)
    return {target: each.total for target, each in found.items()}


def links_of(workspace: OpenWorkspace, project: str, number: int | None, url: str) -> UrlLinks:
    """What leads to a URL, and the other URLs of its content, by a pass over the run."""
    run, target = workspace.run(project, number), target_of(workspace, project, url)
    known = runs.known_url(workspace.db, run.id, target.key) if target else None
    if known is None:
        return UrlLinks((), ())
    found = explain.referrers(workspace.db, run.id, known.id)
    outcome = workspace.db.one("outcome_of", run_id=run.id, url_id=known.id)
    content = outcome[6] if outcome else None
    others = catalog.alternates(workspace.db, run.id, content) if content else []
    return UrlLinks(tuple((each["url"], each["kind"]) for each in found), tuple(others))
