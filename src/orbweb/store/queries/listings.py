"""Lists of a large run, some rows at a time: each continues after a key, so that its later parts cost no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orbweb.store import Queries
from orbweb.store.rows import moment

Report = dict[str, Any]
NAMES = (
    *("url", "status", "depth", "title", "content_sha256", "body_sha256", "bytes", "content_type", "captured_at"),
    *("truncated", "language", "words", "tokens"),
)


def page_report(row: tuple[Any, ...]) -> Report:
    """A page of a list."""
    found: Report = dict(zip(NAMES, row, strict=True))
    found.update(
        content_sha256=found["content_sha256"].hex(),
        body_sha256=found["body_sha256"].hex() if found["body_sha256"] else None,
        captured_at=moment(found["captured_at"]),
        truncated=bool(found["truncated"]),
    )
    return found


def queued_urls(db: Queries, run_id: int) -> Iterator[tuple[str, int]]:
    """The keys and depths of the queue, in its order, read as they are consumed."""
    return ((row[0], row[1]) for row in db.each("queued_keys", run_id=run_id))


def captures(db: Queries, project_id: int, key: str) -> list[Report]:
    """One URL in all runs of a project, the latest first."""
    names = (
        *("run_id", "run", "state", "status", "kind", "captured_at", "body_sha256", "content_sha256", "role"),
        *("bytes", "reuse", "title"),
    )
    found = [dict(zip(names, row, strict=True)) for row in db.all("captures_of", project_id=project_id, key=key)]
    for each in found:
        each["captured_at"] = moment(each["captured_at"])
        for name in ("body_sha256", "content_sha256"):
            each[name] = each[name].hex() if each[name] else None
    return found
