"""The page index: one entry per visited URL.

A later run uses it for conditional requests, and another workspace to continue without fetching again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orbweb.store import Queries
from orbweb.store.journal import stored_path
from orbweb.store.rows import exact_moment, moment
from orbweb.store.unit_times import UnitTimes
from orbweb.store.workspace_paths import AnchoredPath

PLACE = ("depth", "rank", "referrer", "source", "hops", "redirects", "base", "kin", "lastmod")
"""How a URL was found, and its place in the order, visited or not."""
TIMES = ("found_at", "changed_at")

FIELDS = (
    "url",
    "etag",
    "last_modified",
    "sha256",
    "stored_path",
    "timestamp",
    "status",
    "kind",
    "error",
    "tries",
    "final_url",
    "redirect_to",
    "content_type",
    "encoding",
    "title",
    "canonical",
    "noindex",
    "nofollow",
    "links_cut",
    "truncated",
    "page_sha256",
    "role",
    "bytes",
    "wire_bytes",
    "latency_ms",
    "proxy",
    "robots_tags",
    "reuse",
    "id",
    *PLACE,
    *TIMES,
)


def entries(db: Queries, run_id: int, store: AnchoredPath) -> Iterator[tuple[str, dict[str, Any]]]:
    """The key and the entry of each visit of a run, in commit order."""
    times = UnitTimes(db, run_id)
    for number, url_id, url, key, etag, modified, sha256, at, *rest in db.each("page_index", run_id=run_id):
        place = stored_path(store, sha256, tuple(rest[-4:])) if sha256 else None
        known = url, etag, modified, sha256.hex() if sha256 else None, place, moment(at), *rest[:-4]
        instants = map(exact_moment, times.of(url_id, number, None))
        entry = dict(zip(FIELDS, (*known, *instants), strict=True))
        entry["page_sha256"] = entry["page_sha256"].hex() if entry["page_sha256"] else None
        for flag in ("noindex", "nofollow", "links_cut", "truncated", "kin"):
            entry[flag] = bool(entry[flag])
        yield key, entry
