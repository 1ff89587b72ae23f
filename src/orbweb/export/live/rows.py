"""The record of a visit in output files: seventeen columns, the last of which is a JSON object.

A record is a function of the database, the layout of the workspace and the rules for page types, and does not
depend on the time of writing, so that it can be rebuilt byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from orbweb.export.escaping import each, json_value, unbroken
from orbweb.store.journal import Portion, VisitPortions, stored_path
from orbweb.store.rows import moment
from orbweb.store.workspace_paths import AnchoredPath

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
    "links_cut",
    "truncated",
    "spooled_page_type",
)
"""The members of the last column; empty ones are omitted."""
SPOOLED = ("status_code", "content_length", "latency_ms")
"""Further members of the metadata of a JSON line, as in the lines of a discovery."""
TAKEN = frozenset((*METADATA, *SPOOLED))
PAGE = "page"
"""The type of a page that no rule matches."""

PageType = Callable[[str], str]


class VisitSheet(NamedTuple):
    """Visits as records: all columns but the last, in order, and the last as JSON. `last` is the number of the
    last visit, `lengths` has the bytes of each body."""

    last: int
    cells: tuple[Sequence[Any], ...]
    metadata: Sequence[str]
    lengths: Sequence[int | None]


class VisitRecords:
    """Builds the records of a run."""

    def __init__(self, visits: VisitPortions, page_type: PageType, store: AnchoredPath) -> None:
        """`store` is the directory of bodies."""
        self._visits, self._page_type, self._store = visits, page_type, store
        self._last: tuple[Portion | None, VisitSheet | None] = (None, None)

    def after(self, number: int, count: int) -> VisitSheet | None:
        """The next records after that visit; None if there are none."""
        visits = self._visits.after(number, count)
        if visits is not self._last[0]:
            self._last = visits, self._sheet(visits) if visits else None
        return self._last[1]

    def _shown_type(self, key: str, spooled: str | None) -> str:
        """The type by the rules; where none matches, that of the line in the spool."""
        found = self._page_type(key)
        return spooled if found == PAGE and spooled else found

    def _sheet(self, of: Portion) -> VisitSheet:
        hashes = of.body_sha256
        locations = zip(of.segment, of.offset, of.length, of.size, strict=True)
        cells = (
            list(map(moment, of.fetched_at)),
            of.url,
            list(map(self._shown_type, of.key, of.spooled_type)),
            of.depth,
            of.referrer,
            of.status,
            of.content_type,
            of.encoding,
            [sha256.hex() if sha256 else None for sha256 in hashes],
            [0 if reuse else size for reuse, size in zip(of.reuse, of.bytes, strict=True)],
            [stored_path(self._store, sha256, at) if sha256 else None
             for sha256, at in zip(hashes, locations, strict=True)],
            of.etag,
            of.last_modified,
            of.latency_ms,
            [tries - 1 for tries in of.tries],
            of.proxy,
        )  # fmt: skip
        lengths = [size if sha256 else None for sha256, size in zip(hashes, of.bytes, strict=True)]
        return VisitSheet(of.number[-1], cells, _metadata(of), lengths)


def _metadata(of: Portion) -> list[str]:
    found: tuple[Sequence[Any], ...] = (
        of.source,
        [role if role != "-" else None for role in of.role],
        of.kind,
        of.error,
        of.final_url,
        of.redirect_to,
        of.title,
        of.canonical,
        [sha256.hex() if sha256 else None for sha256 in of.content_sha256],
        of.reuse,
        of.robots_tags,
        list(map(bool, of.links_cut)),
        list(map(bool, of.truncated)),
        of.spooled_type,
    )
    named = zip(METADATA, found, strict=True)
    texts = [each(partial(_member, name), column) for name, column in named if any(column)]
    if any(of.spooled_extra):
        texts.append(map(_further, of.spooled_extra))
    return [f"{{{unbroken(members)[:-1]}}}" for members in map("".join, zip(*texts, strict=True))]


def _further(extra: str | None) -> str:
    """The members that only the line in the spool had; names of ours keep our values."""
    if not extra:
        return ""
    return "".join(_named(name, value) for name, value in json.loads(extra).items() if name not in TAKEN)


def _named(name: str, value: Any) -> str:
    return f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))},"


def _member(name: str, value: str | int | None) -> str:
    return f'"{name}":{json_value(value)},' if value else ""
