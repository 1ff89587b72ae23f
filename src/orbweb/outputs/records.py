"""What the files of a run say of a visit: seventeen columns, the last of which is a JSON object.

Owns the columns and their meaning. Always: a record is a function of the database, the workspace's layout and the
rules for page types; nothing of the time of writing is in it, so that it can be made again to the letter.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.cells import compact_json
from orbweb.store.db import moment
from orbweb.store.journal import Visit, Visits, stored_path

COLUMNS = (
    "timestamp",
    "url",
    "page_type",
    "depth",
    "referrer",
    "http_status",
    "content_type",
    "encoding",
    "content_sha256",
    "content_bytes",
    "stored_path",
    "etag",
    "last_modified",
    "fetch_latency_ms",
    "retries",
    "proxy_id",
    "metadata",
)

METADATA = (
    "source",
    "role",
    "kind",
    "error",
    "final_url",
    "redirect_to",
    "title",
    "canonical",
    "page_sha256",
    "reuse",
    "robots_tags",
    "truncated",
)
"""What the last column may say; what there is nothing to say about is left out."""

PageType = Callable[[str], str]


class Record(NamedTuple):
    """A visit: all columns but the last, in their order, and the last as JSON. `length`: bytes of its body."""

    number: int
    cells: tuple[Any, ...]
    metadata: str
    length: int | None


class Records:
    """Makes the records of a run."""

    def __init__(self, visits: Visits, page_type: PageType, store: Path) -> None:
        """`store` is where the bodies lie, below the workspace."""
        self._visits, self._page_type, self._store = visits, page_type, store
        self._last: tuple[list[Visit], list[Record]] = ([], [])

    def after(self, number: int, count: int) -> list[Record]:
        """The next records after that visit."""
        visits = self._visits.after(number, count)
        if visits is not self._last[0]:
            self._last = visits, [self._record(visit) for visit in visits]
        return self._last[1]

    def _record(self, visit: Visit) -> Record:
        kept = visit.body_sha256
        cells = (
            moment(visit.fetched_at),
            visit.url,
            self._page_type(visit.key),
            visit.depth,
            visit.referrer,
            visit.status,
            visit.content_type,
            visit.encoding,
            kept.hex() if kept else None,
            0 if visit.reuse else visit.bytes,
            stored_path(self._store, kept, visit[-4:]) if kept else None,
            visit.etag,
            visit.last_modified,
            visit.latency_ms,
            visit.tries - 1,
            visit.proxy,
        )
        return Record(visit.number, cells, compact_json(_metadata(visit)), visit.bytes if kept else None)


def _metadata(visit: Visit) -> dict[str, Any]:
    found = (
        visit.source,
        visit.role if visit.role != "-" else None,
        visit.kind,
        visit.error,
        visit.final_url,
        visit.redirect_to,
        visit.title,
        visit.canonical,
        visit.content_sha256.hex() if visit.content_sha256 else None,
        visit.reuse,
        visit.robots_tags,
        bool(visit.truncated),
    )
    return {name: value for name, value in zip(METADATA, found, strict=True) if value}
