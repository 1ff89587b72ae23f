"""Lists of a run of any size: a catalog of its pages, its failures, and walks over its queue and what it skipped.

A pass over a run takes a time that grows with it, and gives a small record that callers keep. A walk takes the
rows after a key until it has enough of them, or until its time is over.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from orbweb.app.directory import OpenWorkspace
from orbweb.app.listings import packed, unpacked, wrong_key
from orbweb.app.reports import target_of
from orbweb.app.request import Request, configure
from orbweb.app.results.catalog import Facet, PageCatalog, QueuedItem, SkippedItem, Stretch, UrlLinks
from orbweb.app.settings import page_type, policy_rules
from orbweb.errors import UsageError, option
from orbweb.model import Place, SkipReason, Source
from orbweb.policy import patterns
from orbweb.store import runs
from orbweb.store.queries import catalog, explain, linking_pages
from orbweb.store.queries.catalog import CatalogRow
from orbweb.store.queries.reports import Report

UNSURE = 0.5
"""Below this confidence, a document is worth a look."""
STEP = 2_000
IDS = 20_000
RULES = 200
_DEEPEST = 65_535


@dataclass(frozen=True, slots=True)
class Walk:
    """Which rows of a list are wanted: an RE2 pattern of their URL, the key before them, how many, and how many
    seconds a walk may take."""

    match: str | None = None
    after: str | None = None
    limit: int = 50
    patience_s: float = 0.08


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


def queue_by_source(workspace: OpenWorkspace, project: str, number: int | None) -> dict[str, int]:
    return dict(workspace.db.all("queued_by_source", run_id=workspace.run(project, number).id))


def queue_walk(
    workspace: OpenWorkspace, project: str, number: int | None, source: str | None, walk: Walk
) -> Stretch:
    if source is not None and source not in list(Source):
        raise UsageError(f"{option('source')}: unknown source {source!r}; choose one of {', '.join(Source)}")
    run, finds, end = workspace.run(project, number), _finder(walk), time.monotonic() + walk.patience_s
    at = Place(*_key(walk.after, 2)) if walk.after is not None else None
    found: list[QueuedItem] = []
    while True:
        rows = catalog.queue(workspace.db, run.id, at, STEP)
        for row in rows:
            if len(found) == walk.limit:
                return Stretch(run.number, tuple(found), _next(at))
            at = Place(row.depth, row.rank)
            if source in (None, row.source) and finds(row.key):
                found.append(QueuedItem(str(at), row.url, row.source, row.depth, row.hops, row.rule))
        if len(rows) < STEP:
            return Stretch(run.number, tuple(found), None)
        if time.monotonic() > end:
            return Stretch(run.number, tuple(found), _next(at))


def _next(at: Place | None) -> str | None:
    return packed([at.depth, at.rank]) if at is not None else None


def skipped_walk(
    workspace: OpenWorkspace, project: str, number: int | None, reason: str | None, rule: str | None, walk: Walk
) -> Stretch:
    if reason is not None and reason not in list(SkipReason):
        raise UsageError(f"{option('reason')}: unknown reason {reason!r}; choose one of {', '.join(SkipReason)}")
    run, finds, end = workspace.run(project, number), _finder(walk), time.monotonic() + walk.patience_s
    at = _key(walk.after, 1)[0] if walk.after is not None else 0
    found: list[SkippedItem] = []
    while at < run.next_url:
        ids = range(at, at + IDS)
        rows = catalog.skipped(workspace.db, run.id, reason, rule, ids, STEP)
        for row in rows:
            if len(found) == walk.limit:
                return Stretch(run.number, tuple(found), packed([at]))
            at = row.id
            if finds(row.key):
                found.append(SkippedItem(row.url, row.reason, row.rule, row.source, row.depth, row.referrer))
        at = at if len(rows) == STEP else ids.stop
        if time.monotonic() > end and at < run.next_url:
            return Stretch(run.number, tuple(found), packed([at]))
    return Stretch(run.number, tuple(found), None)


def _finder(walk: Walk) -> Callable[[str], bool]:
    return patterns.finder(option("match"), walk.match) if walk.match else lambda _: True


def _key(text: str, length: int) -> list[int]:
    found = unpacked(text, length)
    if not all(isinstance(each, int) and abs(each) < 1 << 62 for each in found):
        raise wrong_key(text)
    return found


def skip_rules(workspace: OpenWorkspace, project: str, number: int | None) -> list[Report]:
    return catalog.skip_rules(workspace.db, workspace.run(project, number).id, RULES)


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
