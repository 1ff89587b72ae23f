"""The row of a visit, from the response and from what was read out of its body, now or by an earlier run. Pure."""

from __future__ import annotations

from typing import NamedTuple

from orbweb.model import Failed, FailKind, Fetched, Head, Item, Outcome, Refused, Reuse, Role, Unchanged
from orbweb.store.rows import VisitRow


class PageFacts(NamedTuple):
    """What a visit says about its body. All empty: it left none."""

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
    """Which visit it is, of which run and crawl."""

    run_id: int
    number: int
    crawl_id: int


class Response(NamedTuple):
    """How the visit was answered. All empty: it was not."""

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
    """What the visit came to."""

    kind: FailKind | None = None
    error: str | None = None
    role: Role = Role.NONE
    redirect_to: int | None = None


VISITED = Result()
_PRIMARY = Result(role=Role.PRIMARY)


def visit_row(item: Item, outcome: Outcome, result: Result, number: VisitNumber) -> VisitRow:
    """The row of a visit whose body was read, or was of no use. A failed one keeps its response, but nothing
    of its body."""
    facts = _facts(outcome, result.role) if result.kind is None else NO_PAGE
    response = _response(outcome.response, usable=result.kind is None)
    return _row(item, number, result, response, facts, outcome.tries, outcome.fetched_at)


def unchanged_row(item: Item, seen: Unchanged, number: VisitNumber) -> VisitRow:
    """The row of a page that is as an earlier run captured it: what `visit_row` gives for the same outcome."""
    answer, capture = seen.response, seen.capture
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
        answer.status,
        answer.url,
        capture.content_type,
        answer.etag or capture.etag,
        answer.last_modified or capture.last_modified,
        capture.tags or None,
        False,
        answer.wire_bytes,
        answer.latency_ms,
        answer.proxy,
        answer.head,
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


def _response(answer: Fetched | Failed | Refused, *, usable: bool) -> Response:
    if isinstance(answer, Fetched):
        return Response(
            answer.status,
            answer.url,
            answer.content_type,
            answer.etag,
            answer.last_modified,
            "\n".join(answer.robots_tags) or None,
            usable and answer.truncated,
            answer.wire_bytes,
            answer.latency_ms,
            answer.proxy,
            answer.head,
        )
    return Response() if isinstance(answer, Refused) else Response(proxy=answer.proxy, head=answer.head)


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
