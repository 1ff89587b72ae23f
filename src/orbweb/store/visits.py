"""An outcome becomes the row of its visit. Pure."""

from __future__ import annotations

from orbweb.model import FailKind, Fetched, Item, Outcome, Refused, Role
from orbweb.store import VisitRow


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
    digest = outcome.digest if kind is None else None
    parsed = digest.parsed if digest else None
    blob = digest.blob if digest else None
    reused = outcome.reused if kind is None else None
    return VisitRow(
        run_id,
        number,
        item.id,
        crawl_id,
        item.depth,
        item.rank,
        answer.status if answer else None,
        kind.value if kind else None,
        error,
        outcome.tries,
        answer.url if answer and answer.url != item.url else None,
        redirect_to,
        answer.content_type if answer else None,
        parsed.encoding if parsed else None,
        answer.etag if answer else None,
        answer.last_modified if answer else None,
        parsed.title if parsed else None,
        parsed.canonical if parsed else None,
        parsed is not None and parsed.directives.noindex is not None,
        parsed is not None and parsed.directives.nofollow is not None,
        parsed.truncated if parsed else False,
        (blob.sha256 or None) if blob else None,
        digest.content_sha256 if digest and role is not Role.NONE else None,
        role.value,
        blob.size if blob else 0,
        answer.wire_bytes if answer else 0,
        answer.latency_ms if answer else 0,
        outcome.fetched_at,
        None if isinstance(outcome.answer, Refused) else outcome.answer.proxy,
        "\n".join(answer.robots_tags) if answer and answer.robots_tags else None,
        reused.how.value if reused else None,
        reused.run_id if reused else None,
    )
