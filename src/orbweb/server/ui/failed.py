"""The failed URLs of a run: by kind and then by host, with the page that each was found on, and their retry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app.columns import ColumnQuery
from orbweb.app.list_makers import PASSING
from orbweb.app.results.catalog import FailureGroup
from orbweb.server.services import Served
from orbweb.server.ui import format as texts
from orbweb.server.ui.failure_kinds import ADVICE
from orbweb.server.ui.frame import project_frame, project_path, run_path
from orbweb.server.ui.lists import (
    ROWS,
    TWIN_ROWS,
    address,
    is_at_work,
    lists_of,
    number_of,
    page_href,
    parts_of,
    query_of,
    row_of,
    short_of,
    twin_of,
)
from orbweb.server.ui.templating import field_of, now, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter()

AGAIN = "again"
HOSTS, MOST_HOSTS = 12, 200
"""Hosts of a kind that are shown, and of the kind that is asked for."""


@dataclass(frozen=True, slots=True)
class HostGroup:
    """The failures of a host of one kind; `note` are their statuses or the most frequent reason."""

    host: str
    count: int
    note: str
    newest: str
    href: str
    chosen: bool
    last: bool


@dataclass(frozen=True, slots=True)
class KindGroup:
    """The failures of a kind; `more` hosts are not shown."""

    kind: str
    count: int
    share: float
    href: str
    chosen: bool
    hosts: tuple[HostGroup, ...]
    more: int


def groups_of(
    found: Sequence[FailureGroup], path: str, chosen: tuple[str, str], at: datetime
) -> tuple[KindGroup, ...]:
    """Kinds, the most frequent first, each with its hosts."""
    kinds: Counter[str] = Counter()
    for each in found:
        kinds[each.kind] += each.count
    largest = max(kinds.values(), default=1)
    return tuple(
        _kind([each for each in found if each.kind == kind], round(100 * count / largest, 1), path, chosen, at)
        for kind, count in kinds.most_common()
    )


def _kind(
    found: Sequence[FailureGroup], share: float, path: str, chosen: tuple[str, str], at: datetime
) -> KindGroup:
    kind = found[0].kind
    hosts = sorted(found, key=lambda each: -each.count)
    most = MOST_HOSTS if chosen[0] == kind else HOSTS
    shown = hosts[:most] + [each for each in hosts[most:] if chosen == (kind, each.host)]
    rows = tuple(
        HostGroup(
            each.host,
            each.count,
            note_of(each),
            texts.ago(each.newest, at),
            address(path, {"kind": kind, "host": each.host}),
            chosen == (kind, each.host),
            place == len(hosts),
        )
        for place, each in enumerate(shown, 1)
    )
    href = address(path, {"kind": kind})
    count = sum(each.count for each in found)
    return KindGroup(kind, count, share, href, chosen == (kind, ""), rows, len(hosts) - len(shown))


def note_of(group: FailureGroup) -> str:
    """The statuses of a group, or its most frequent reason."""
    return ", ".join(
        f"{status} {texts.number(count)}" for status, count in group.statuses.items()
    ) or texts.cause_of(group.reason)


def query_for(kind: str, host: str, since: str, run: int) -> ColumnQuery:
    """The failures of a query, those that failed last first."""
    facets = {name: value for name, value in (("kind", kind), ("host", host)) if value}
    if since == "new":
        facets["since"] = str(run)
    if since == AGAIN:
        facets["again"] = "yes"
    return ColumnQuery(facets, sort="since", descending=True, rows=ROWS)


@router.get("/p/{project}/runs/{run}/failed")
def failed(
    request: Request,
    served: Served,
    project: str,
    run: str,
    kind: str = "",
    host: str = "",
    since: str = "",
    after: str = "",
) -> Response:
    number, path = number_of(run), f"{run_path(project, run)}/failed"
    frame, outline = project_frame(served, project, "failed", run=number)
    at, this = now(), outline.run or 0
    query = {"kind": kind, "host": host, "since": since}
    asked = replace(query_for(kind, host, since, this), after=row_of(after))
    found = (
        served.jobs.lists.failures(outline.project, asked, run=outline.run) if outline.run is not None else None
    )
    part = found.part if found is not None else None
    shown = part.items if part is not None else ()
    groups = found.groups if found is not None else ()
    linked = lists_of(request).linked_from(outline) if part is not None and part.items else {}
    return render(
        request,
        "failed.html",
        frame=frame,
        outline=outline,
        at_work=is_at_work(outline),
        short=short_of(url for each in shown for url in (each.url, each.found_on) if url),
        advice=ADVICE.get(kind, ""),
        exclude=f"{project_path(project)}/live{query_of({'kind': 'exclude', 'pattern': f'//{host}/'})}#rule"
        if host
        else "",
        list_path=path,
        counting=part is not None and not part.is_whole,
        groups=groups_of(groups, path, (kind, host), at),
        rows=[(each, page_href(project, run, each.url, "explain"), linked.get(each.id)) for each in shown],
        page_of=lambda url: page_href(project, run, url),
        kind=kind,
        host=host,
        since=since,
        many_hosts=len({texts.host_of(each.url) for each in shown}) > 1,
        chosen=part.total if part is not None else 0,
        counted=part.size if part is not None else 0,
        passing=sum(each.count for each in groups if each.kind in PASSING),
        new=found.new if found is not None else 0,
        earlier=next((each for each in outline.runs if each < this), None),
        segments=[address(path, {}), address(path, {"since": "new"}), address(path, {"since": AGAIN})],
        is_latest=bool(outline.runs) and outline.run == outline.runs[0],
        retry=f"{run_path(project)}/retry",
        links=parts_of(part, path, query),
        query=query_of(query),
    )


@router.post("/p/{project}/runs/latest/retry")
def retry(request: Request, served: Served, project: str) -> Response:
    """Queue failed URLs again: one, all, those that may pass again, or those of a kind and a host."""
    kind, host, url = field_of(request, "kind"), field_of(request, "host"), field_of(request, "url")
    kinds = PASSING if kind == AGAIN else (kind,) if kind else ()
    if url:
        count = served.jobs.retry_url(project, url)
    else:
        count = served.workspace.retry(project, kind=kinds, host=host or None)
    return done(
        f"{run_path(project)}/queue", Toast(f"{texts.many(count, 'URL')} queued again; Resume visits them")
    )


@router.get("/p/{project}/runs/{run}/failed.{suffix}")
def failed_twin(
    served: Served,
    project: str,
    run: str,
    suffix: str,
    kind: str = "",
    host: str = "",
    since: str = "",
    after: str = "",
) -> Response:
    outline = served.jobs.outline(project, run=number_of(run))
    if outline.run is None:
        return twin_of([], suffix, "failed", None)
    asked = replace(query_for(kind, host, since, outline.run), after=row_of(after), rows=TWIN_ROWS)
    part = served.jobs.lists.failures(project, asked, run=outline.run, patience_s=None).part
    query = {"kind": kind, "host": host, "since": since}
    path = f"{run_path(project, run)}/failed.{suffix}"
    following = address(path, query, after=str(part.next)) if part.next is not None else None
    rows = ({name: value for name, value in each.report().items() if name != "id"} for each in part.items)
    return twin_of(rows, suffix, "failed", following)
