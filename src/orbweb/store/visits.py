"""An outcome becomes the row of its visit. Pure."""

from __future__ import annotations

from orbweb.model import FailKind, Fetched, Item, Outcome, Refused, Reuse, Role, Unchanged
from orbweb.store import VisitRow

_PRIMARY, _NOT_MODIFIED = Role.PRIMARY.value, Reuse.NOT_MODIFIED.value


def visit_row(
    item: Item,
    outcome: Outcome,
    *,
    run_id: int,
    number: int,
    crawl_id: int,
    kind: FailKind | None,
    error: str | None,
    role: Role,
    redirect_to: int | None,
) -> VisitRow:
    """What is kept of a visit. A failed one keeps its answer, but nothing of its body."""
    answer = outcome.answer if isinstance(outcome.answer, Fetched) else None
    processed = outcome.processed if kind is None else None
    parsed = processed.parsed if processed else None
    blob = processed.blob if processed else None
    reused = outcome.reused if kind is None else None
    head = None if isinstance(outcome.answer, Refused) else outcome.answer.head
    return VisitRow(
        run_id=run_id,
        number=number,
        url_id=item.id,
        crawl_id=crawl_id,
        depth=item.depth,
        rank=item.rank,
        status=answer.status if answer else None,
        kind=kind.value if kind else None,
        error=error,
        tries=outcome.tries,
        final_url=answer.url if answer and answer.url != item.url else None,
        redirect_to=redirect_to,
        content_type=answer.content_type if answer else None,
        encoding=parsed.encoding if parsed else None,
        etag=answer.etag if answer else None,
        last_modified=answer.last_modified if answer else None,
        title=parsed.title if parsed else None,
        canonical=parsed.canonical if parsed else None,
        noindex=parsed is not None and parsed.directives.noindex is not None,
        nofollow=parsed is not None and parsed.directives.nofollow is not None,
        links_cut=parsed.links_cut if parsed else False,
        truncated=kind is None and answer is not None and answer.truncated,
        body_sha256=(blob.sha256 or None) if blob else None,
        content_sha256=processed.content_sha256 if processed and role is not Role.NONE else None,
        role=role.value,
        bytes=blob.size if blob else 0,
        wire_bytes=answer.wire_bytes if answer else 0,
        latency_ms=answer.latency_ms if answer else 0,
        fetched_at=outcome.fetched_at,
        proxy=None if isinstance(outcome.answer, Refused) else outcome.answer.proxy,
        robots_tags="\n".join(answer.robots_tags) if answer and answer.robots_tags else None,
        reuse=reused.how.value if reused else None,
        reused_run=reused.run_id if reused else None,
        head_values=head.values if head else None,
        head=head.template if head else None,
    )


def unchanged_row(item: Item, seen: Unchanged, run_id: int, number: int, crawl_id: int) -> VisitRow:
    """What is kept of a visit of a page that is as it was captured: what `visit_row` says of the same outcome."""
    _, _, answer, capture = seen
    head = answer.head
    return VisitRow(
        run_id,
        number,
        item.id,
        crawl_id,
        item.depth,
        item.rank,
        answer.status,
        None,
        None,
        seen.tries,
        answer.url if answer.url != item.url else None,
        None,
        capture.content_type,
        capture.encoding or "",
        answer.etag or capture.etag,
        answer.last_modified or capture.last_modified,
        capture.title or "",
        capture.canonical,
        False,
        False,
        bool(capture.links_cut),
        False,
        capture.body_sha256,
        capture.content_sha256,
        _PRIMARY,
        capture.size,
        answer.wire_bytes,
        answer.latency_ms,
        seen.fetched_at,
        answer.proxy,
        capture.tags or None,
        _NOT_MODIFIED,
        capture.run_id,
        None if head is None else head[1],
        None if head is None else head[0],
    )
