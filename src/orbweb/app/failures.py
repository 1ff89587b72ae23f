"""The verb `failed`: the URLs that failed, why, and where the links to them are.

The text of a link is not stored. It is read back from the stored body of the page; without one it is unknown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from orbweb import urls
from orbweb.app.directory import OpenWorkspace
from orbweb.app.request import Request, configure
from orbweb.app.results.pages import FailedUrl
from orbweb.app.settings import url_rules
from orbweb.errors import StoreError, TooComplex, UsageError, option
from orbweb.export.csv import row
from orbweb.export.escaping import guarded, one_line
from orbweb.model import FailKind
from orbweb.parsing.anchors import link_texts
from orbweb.policy import patterns
from orbweb.store import runs
from orbweb.store.queries import failures, linking_pages
from orbweb.store.queries.failures import Failure, Report
from orbweb.store.queries.linking_pages import LinkingPage
from orbweb.store.runs import Run
from orbweb.urls import Resolver

SOURCES = 20
"""Pages that link to a failed URL: how many are named."""
COLUMNS = ("url", "kind", "status", "reason", "tries", "at", "source_url", "text")


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """Which failures are wanted: of a kind, of a host with or without its port, with a URL that matches."""

    kind: str | None = None
    host: str | None = None
    match: str | None = None
    limit: int | None = None


def failed(workspace: OpenWorkspace, project: str, number: int | None, wanted: FailureFilter) -> list[Report]:
    """The failures of a run with the pages that link to them, in the order of commits."""
    run = workspace.run(project, number)
    found = _chosen(workspace, run, wanted)[: wanted.limit]
    sources = _sources(workspace, project, run, found)
    return [{**each.report(), **sources[each.url_id]} for each in found]


def counts(workspace: OpenWorkspace, project: str, number: int | None, wanted: FailureFilter) -> Report:
    """How many URLs failed, by kind and by host; a limit does not count."""
    found = _chosen(workspace, workspace.run(project, number), wanted)
    kinds = Counter(each.kind for each in found)
    hosts = Counter(_host(each.key) for each in found)
    return {"failed": len(found), "by_kind": dict(kinds.most_common()), "by_host": dict(hosts.most_common())}


def failed_ids(workspace: OpenWorkspace, run: Run, kinds: Sequence[str], host: str | None) -> list[int]:
    """The URLs that failed, of these kinds, or of all if there are none, and of a host."""
    chosen = _chosen(workspace, run, FailureFilter(host=host))
    return [each.url_id for each in chosen if not kinds or each.kind in kinds]


def failures_csv(found: Sequence[FailedUrl]) -> Iterator[bytes]:
    """One row per broken link, or per failure that nothing links to; safe to open in a spreadsheet."""
    yield row(COLUMNS)
    for each in found:
        links = [[source.url, source.text] for source in each.sources]
        for link in links or [[None, None]]:
            cells = [getattr(each, name) for name in COLUMNS[:6]] + link
            yield row([guarded(one_line("" if cell is None else str(cell))) for cell in cells])


def _chosen(workspace: OpenWorkspace, run: Run, wanted: FailureFilter) -> list[Failure]:
    if wanted.kind is not None and wanted.kind not in list(FailKind):
        raise UsageError(
            f"{option('kind')}: unknown kind of failure {wanted.kind!r}; choose one of {', '.join(FailKind)}"
        )
    if wanted.limit is not None and wanted.limit < 1:
        raise UsageError(f"{option('limit')}: {wanted.limit} is not a number of URLs")
    finds: Callable[[str], bool] = (
        patterns.finder(option("match"), wanted.match) if wanted.match else lambda _: True
    )
    host = wanted.host.lower() if wanted.host else None
    return [
        each
        for each in failures.failures(workspace.db, run.id)
        if wanted.kind in (None, each.kind) and _is_at(each.key, host) and finds(each.url)
    ]


def _is_at(key: str, host: str | None) -> bool:
    return host is None or host in (urls.site(key), urls.split(key).host)


def _host(key: str) -> str:
    """The host of a URL, with its port if that is not the default."""
    return key.partition("://")[2].partition("/")[0]


def _sources(workspace: OpenWorkspace, project: str, run: Run, found: Sequence[Failure]) -> dict[int, Report]:
    """The pages that link to each failure, with the text of the link."""
    db = workspace.db
    referrers = linking_pages.referrers(db, run.id, [each.url_id for each in found], SOURCES)
    ids = {number for each in referrers.values() for number in each.ids}
    pages = {number: linking_pages.linking_page(db, run.id, number) for number in sorted(ids)}
    wanted: dict[int, set[str]] = defaultdict(set)
    keys = {each.url_id: each.key for each in found}
    for target, each in referrers.items():
        for number in each.ids:
            wanted[number].add(keys[target])
    config, _ = configure(runs.project(db, project), Request())
    resolver = Resolver(url_rules(config))
    with workspace.reader() as read:
        texts = {number: _texts(pages[number], wanted[number], resolver, read) for number in wanted}
    return {
        target: {
            "sources": [
                {"url": pages[number].url, "text": texts[number].get(keys[target])} for number in each.ids
            ],
            "more_sources": each.total - len(each.ids),
        }
        for target, each in referrers.items()
    }


def _texts(
    page: LinkingPage, keys: set[str], resolver: Resolver, read: Callable[[bytes], bytes]
) -> dict[str, str]:
    """The texts of the links to these keys; none if the body is not stored, unreadable, or not a page."""
    if page.body_sha256 is None:
        return {}
    try:
        body = read(page.body_sha256)
        return link_texts(body, page.base, keys, resolver=resolver, content_type=page.content_type)
    except (StoreError, TooComplex):
        return {}
