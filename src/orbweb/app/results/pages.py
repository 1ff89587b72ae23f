"""What `pages`, `near_duplicates`, `gone`, `failed`, `failure_counts`, `search` and `page_index` return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orbweb.app.results.record import Record


@dataclass(frozen=True, slots=True)
class PageSummary(Record):
    """A unique page of a run, with the URLs of its alternates; `redirects` are those of them that redirect to it.

    What is read from its document, `language` to `extractor`, is None if it was never extracted.
    """

    url: str
    alternates: tuple[str, ...]
    redirects: tuple[str, ...]
    status: int
    depth: int
    title: str | None
    content_sha256: str
    body_sha256: str | None
    bytes: int
    content_type: str | None
    final_url: str
    captured_at: str
    truncated: bool
    language: str | None
    words: int | None
    tokens: int | None
    confidence: float | None
    simhash: str | None
    extractor: int | None
    needs_javascript: bool


@dataclass(frozen=True, slots=True)
class GonePage(Record):
    """A page that has vanished: since which run, why, and the last run that had it."""

    url: str
    since: int
    why: str
    last: int


@dataclass(frozen=True, slots=True)
class LinkSource(Record):
    """A page that links to a URL; `text` is that of the link, None if the page is not stored."""

    url: str
    text: str | None


@dataclass(frozen=True, slots=True)
class FailedUrl(Record):
    """A URL that failed: why, when, how it was found, and the first of the pages that link to it."""

    url: str
    kind: str
    status: int | None
    reason: str
    tries: int
    at: str
    source: str
    sources: tuple[LinkSource, ...]
    more_sources: int


@dataclass(frozen=True, slots=True)
class FailureCounts(Record):
    """How many URLs failed, by kind and by host, the most frequent first."""

    failed: int
    by_kind: Mapping[str, int]
    by_host: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SearchHit(Record):
    """A page that was found; `marks` are where the words of the query begin and end in `snippet`."""

    url: str
    title: str
    score: float
    snippet: str
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class IndexEntry(Record):
    """What a later run needs of a URL that was fetched: validators, hashes, where its body is, and its place."""

    url: str
    etag: str | None
    last_modified: str | None
    sha256: str | None
    stored_path: str | None
    timestamp: str
    status: int | None
    kind: str | None
    error: str | None
    tries: int
    final_url: str | None
    redirect_to: str | None
    content_type: str | None
    encoding: str | None
    title: str | None
    canonical: str | None
    noindex: bool
    nofollow: bool
    links_cut: bool
    truncated: bool
    page_sha256: str | None
    role: str
    bytes: int
    wire_bytes: int
    latency_ms: int
    proxy: str | None
    robots_tags: str | None
    reuse: str | None
    id: int
    depth: int
    rank: int
    referrer: str | None
    source: str
    hops: int
    redirects: int
    base: int
    kin: bool
    lastmod: str | None
    found_at: str | None
    changed_at: str | None
