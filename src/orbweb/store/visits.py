"""The row of a visit, from its response and the result of processing its body, now or by an earlier run. Pure."""

from __future__ import annotations

from typing import NamedTuple

from orbweb.model import Failed, FailKind, Fetched, Head, Item, Outcome, Refused, Reuse, Role, Unchanged
from orbweb.store.rows import VisitRow


class PageFacts(NamedTuple):
    """The columns of a visit about its body; empty without one."""

    encoding: str | None = None
    title: str | None = None
    canonical: str | None = None
    noindex: bool = False
    nofollow: bool = False
    links_cut: bool = False
    body_sha256: bytes | None = None
    content_sha256: bytes | None = None
    size: int = 0
    reuse: str | None = None
    reused_run: int | None = None


NO_PAGE = PageFacts()


class VisitNumber(NamedTuple):
    """The number of a visit in its run, and its crawl."""

    run_id: int
    number: int
    crawl_id: int


class Response(NamedTuple):
    """The columns of a visit about its response; empty without one."""

    status: int | None = None
    url: str | None = None
    content_type: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    robots_tags: str | None = None
    truncated: bool = False
    wire_bytes: int = 0
    latency_ms: int = 0
    proxy: str | None = None
    head: Head | None = None


class Result(NamedTuple):
    """The result of a visit."""

    kind: FailKind | None = None
    error: str | None = None
    role: Role = Role.NONE
    redirect_to: int | None = None


VISITED = Result()
_PRIMARY = Result(role=Role.PRIMARY)


def visit_row(item: Item, outcome: Outcome, result: Result, number: VisitNumber) -> VisitRow:
    """The row of a visit. A failed one has the columns of its response, but not those of its body."""
    facts = _facts(outcome, result.role) if result.kind is None else NO_PAGE
    response = _response(outcome.response, usable=result.kind is None)
    return _row(item, number, result, response, facts, outcome.tries, outcome.fetched_at)


def unchanged_row(item: Item, seen: Unchanged, number: VisitNumber) -> VisitRow:
    """The row of a page that has not changed since its capture: what `visit_row` gives for the same outcome."""
    fetched, capture = seen.response, seen.capture
    facts = PageFacts(
        capture.encoding or "",
        capture.title or "",
        capture.canonical,
        False,
        False,
        bool(capture.links_cut),
        capture.body_sha256,
        capture.content_sha256,
        capture.size,
        Reuse.NOT_MODIFIED.value,
        capture.run_id,
    )
    response = Response(
        fetched.status,
        fetched.url,
        capture.content_type,
        fetched.etag or capture.etag,
        fetched.last_modified or capture.last_modified,
        capture.tags or None,
        False,
        fetched.wire_bytes,
        fetched.latency_ms,
        fetched.proxy,
        fetched.head,
    )
    return _row(item, number, _PRIMARY, response, facts, seen.tries, seen.fetched_at)


def _facts(outcome: Outcome, role: Role) -> PageFacts:
    processed, reused = outcome.processed, outcome.reused
    how, run_id = (reused.how.value, reused.run_id) if reused else (None, None)
    if processed is None:
        return NO_PAGE if reused is None else PageFacts(reuse=how, reused_run=run_id)
    parsed, blob = processed.parsed, processed.blob
    return PageFacts(
        parsed.encoding,
        parsed.title,
        parsed.canonical,
        parsed.directives.noindex is not None,
        parsed.directives.nofollow is not None,
        parsed.links_cut,
        blob.sha256 or None,
        processed.content_sha256 if role is not Role.NONE else None,
        blob.size,
        how,
        run_id,
    )


def _response(found: Fetched | Failed | Refused, *, usable: bool) -> Response:
    if isinstance(found, Fetched):
        return Response(
            found.status,
            found.url,
            found.content_type,
            found.etag,
            found.last_modified,
            "\n".join(found.robots_tags) or None,
            usable and found.truncated,
            found.wire_bytes,
            found.latency_ms,
            found.proxy,
            found.head,
        )
    return Response() if isinstance(found, Refused) else Response(proxy=found.proxy, head=found.head)


def _row(
    item: Item,
    number: VisitNumber,
    result: Result,
    response: Response,
    facts: PageFacts,
    tries: int,
    fetched_at: int,
) -> VisitRow:
    head = response.head
    return VisitRow(
        number.run_id,
        number.number,
        item.id,
        number.crawl_id,
        item.depth,
        item.rank,
        response.status,
        result.kind.value if result.kind else None,
        result.error,
        tries,
        response.url if response.url != item.url else None,
        result.redirect_to,
        response.content_type,
        facts.encoding,
        response.etag,
        response.last_modified,
        facts.title,
        facts.canonical,
        facts.noindex,
        facts.nofollow,
        facts.links_cut,
        response.truncated,
        facts.body_sha256,
        facts.content_sha256,
        result.role.value,
        facts.size,
        response.wire_bytes,
        response.latency_ms,
        fetched_at,
        response.proxy,
        response.robots_tags,
        facts.reuse,
        facts.reused_run,
        head.values if head else None,
        head.template if head else None,
    )
