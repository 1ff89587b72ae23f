"""The failed URLs of a run: by kind and then by host, with the page that each was found on, and their retry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from orbweb.app.results.catalog import FailedItem
from orbweb.server.services import Served
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import project_frame, run_path
from orbweb.server.ui.lists import ROWS, TWIN_ROWS, address, lists_of, number_of, page_href, query_of, twin_of
from orbweb.server.ui.templating import field_of, now, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter()

PASSING = ("http_5xx", "timeout", "connect", "dns_timeout", "dns_servfail", "dns_no_address")
"""Kinds of failure that may pass again."""
AGAIN = "again"


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
    kind: str
    count: int
    share: float
    href: str
    chosen: bool
    hosts: tuple[HostGroup, ...]


def groups_of(
    found: Sequence[FailedItem], path: str, chosen: tuple[str, str], at: datetime
) -> tuple[KindGroup, ...]:
    """Kinds, the most frequent first, each with its hosts."""
    kinds = Counter(each.kind for each in found).most_common()
    largest = kinds[0][1] if kinds else 1
    groups = []
    for kind, count in kinds:
        of_kind = [each for each in found if each.kind == kind]
        hosts = Counter(texts.host_of(each.url) for each in of_kind).most_common()
        rows = [
            HostGroup(
                host,
                number,
                note_of([each for each in of_kind if texts.host_of(each.url) == host]),
                texts.ago(max(each.at for each in of_kind if texts.host_of(each.url) == host), at),
                address(path, {"kind": kind, "host": host}),
                chosen == (kind, host),
                place == len(hosts),
            )
            for place, (host, number) in enumerate(hosts, 1)
        ]
        share = round(100 * count / largest, 1)
        href = address(path, {"kind": kind})
        groups.append(KindGroup(kind, count, share, href, chosen == (kind, ""), tuple(rows)))
    return tuple(groups)


def note_of(found: Sequence[FailedItem]) -> str:
    statuses = Counter(each.status for each in found if each.status is not None).most_common(3)
    if statuses:
        return ", ".join(f"{status} {texts.number(count)}" for status, count in statuses)
    return Counter(each.reason for each in found).most_common(1)[0][0] if found else ""


def chosen_of(found: Sequence[FailedItem], kind: str, host: str, since: str, run: int) -> list[FailedItem]:
    """The failures that a query selects, the newest kind of trouble first."""
    chosen = [
        each
        for each in found
        if kind in ("", each.kind)
        and host in ("", texts.host_of(each.url))
        and (since != "new" or each.since == run)
        and (since != AGAIN or each.kind in PASSING)
    ]
    return sorted(chosen, key=lambda each: -each.since)


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
    lists, at = lists_of(request), now()
    known = lists.failures(outline) if outline.run is not None else ()
    every, this = known or (), outline.run or 0
    query = {"kind": kind, "host": host, "since": since}
    chosen = chosen_of(every, kind, host, since, this)
    begin = int(after) if after.isascii() and after.isdecimal() and len(after) < 10 else 0
    shown = chosen[begin : begin + ROWS]
    linked = lists.linked_from(outline, [each.id for each in shown])
    again = [each for each in every if each.kind in PASSING]
    return render(
        request,
        "failed.html",
        frame=frame,
        outline=outline,
        list_path=path,
        counting=known is None,
        groups=groups_of(every, path, (kind, host), at),
        rows=[(each, page_href(project, run, each.url, "explain"), linked.get(each.id)) for each in shown],
        kind=kind,
        host=host,
        since=since,
        many_hosts=len({texts.host_of(each.url) for each in shown}) > 1,
        chosen=len(chosen),
        shown=len(shown),
        begin=begin,
        passing=len(again),
        new=sum(each.since == this for each in every),
        earlier=next((each for each in outline.runs if each < this), None),
        segments=[address(path, {}), address(path, {"since": "new"}), address(path, {"since": AGAIN})],
        is_latest=bool(outline.runs) and outline.run == outline.runs[0],
        retry=f"{run_path(project)}/retry",
        previous=address(path, query, after=str(max(0, begin - ROWS)) if begin > ROWS else None)
        if begin
        else None,
        next=address(path, query, after=str(begin + ROWS)) if begin + ROWS < len(chosen) else None,
        query=query_of(query),
    )


@router.post("/p/{project}/runs/latest/retry")
def retry(request: Request, served: Served, project: str) -> Response:
    """Queue failed URLs again: all, those that may pass again, or those of a kind and a host."""
    kind, host = field_of(request, "kind"), field_of(request, "host")
    kinds = PASSING if kind == AGAIN else (kind,) if kind else ()
    count = served.workspace.retry(project, kind=kinds, host=host or None)
    return done(
        f"{run_path(project)}/queue", Toast(f"{texts.many(count, 'URL')} queued again; Resume visits them")
    )


@router.get("/p/{project}/runs/{run}/failed.{suffix}")
def failed_twin(
    request: Request,
    served: Served,
    project: str,
    run: str,
    suffix: str,
    kind: str = "",
    host: str = "",
    since: str = "",
) -> Response:
    outline = served.jobs.outline(project, run=number_of(run))
    every = served.reading.failures(project, run=outline.run) if outline.run else []
    begin = request.query_params.get("after", "0")
    start = int(begin) if begin.isascii() and begin.isdecimal() and len(begin) < 10 else 0
    chosen = chosen_of(every, kind, host, since, outline.run or 0)
    path = f"{run_path(project, run)}/failed.{suffix}"
    rest = start + TWIN_ROWS < len(chosen)
    following = address(path, {"kind": kind, "host": host, "since": since}, after=str(start + TWIN_ROWS))
    rows = [
        {name: value for name, value in each.report().items() if name != "id"}
        for each in chosen[start : start + TWIN_ROWS]
    ]
    return twin_of(rows, suffix, "failed", following if rest else None)
