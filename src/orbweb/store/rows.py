"""Rows that the engine writes, one record per kind of change.

Fields are in the order of the parameters of the named query that writes them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from orbweb.lifecycle import EndedBy, ItemState

Tally = tuple[str, str]
"""A state and its reason, by which URLs are counted."""

QUEUED: Tally = (ItemState.QUEUED.value, "")
VISITED: Tally = (ItemState.VISITED.value, "")
FAILED: Tally = (ItemState.FAILED.value, "")


def moment(microseconds: int | None) -> str | None:
    """An instant as text, UTC."""
    if microseconds is None:
        return None
    second, part = divmod(microseconds, 1_000_000)
    return f"{_second(second)}.{part // 1000:03d}+00:00"


def exact_moment(microseconds: int | None) -> str | None:
    """As `moment`, to the microsecond."""
    if microseconds is None:
        return None
    second, part = divmod(microseconds, 1_000_000)
    return f"{_second(second)}.{part:06d}+00:00"


@lru_cache(maxsize=16)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def skipped(reason: str) -> Tally:
    """The tally of a skip reason."""
    return ItemState.SKIPPED.value, reason


HeadPart = bytes | None


class UrlRow(NamedTuple):
    """A URL found for the first time; the fields of `add_url`."""

    run_id: int
    id: int
    key: str
    url: str | None
    state: str
    reason: str | None
    rule: str | None
    source: str
    depth: int
    rank: int | None
    lane: str
    hops: int
    redirects: int
    base: int
    referrer: int | None
    lastmod: str | None = None
    family_member: bool = False
    carried: str | None = None
    found_hops: int = 0
    found_base: int = 0
    parked: str | None = None
    listed: bool = False


class SettleRow(NamedTuple):
    """A queued URL that was requested: visited, failed, or noindex; the fields of `settle_url`."""

    state: str
    reason: str | None
    rule: str | None
    run_id: int
    id: int


class ReadmitRow(NamedTuple):
    """A skipped URL that was judged again; the fields of `readmit_url`."""

    url: str | None
    state: str
    reason: str | None
    rule: str | None
    source: str
    depth: int
    rank: int | None
    lane: str
    hops: int
    redirects: int
    base: int
    referrer: int | None
    family_member: bool
    found_hops: int
    found_base: int
    parked: str | None
    run_id: int
    id: int


class RejudgeRow(NamedTuple):
    """A URL whose verdict changed with the scope or the rules; the fields of `rejudge_url`."""

    state: str
    reason: str | None
    rule: str | None
    rank: int | None
    lane: str
    hops: int
    base: int
    family_member: bool
    parked: str | None
    run_id: int
    id: int


class RefuseRow(NamedTuple):
    """A leased URL that may not be requested; the fields of `refuse_url`."""

    reason: str
    rule: str
    run_id: int
    id: int


class DeferRow(NamedTuple):
    """A leased URL that is moved to a later place; the fields of `defer_url`."""

    rank: int
    due_at: int
    run_id: int
    id: int


class DateRow(NamedTuple):
    """The date that a sitemap gives for a known URL; the fields of `date_url`."""

    lastmod: str
    run_id: int
    id: int


class ListRow(NamedTuple):
    """A known URL that a sitemap names; the fields of `list_url`."""

    run_id: int
    id: int


class CarryRow(NamedTuple):
    """The new state of a URL that a recrawl took over; the fields of `carry_url`."""

    carried: str
    run_id: int
    id: int


class ShortenRow(NamedTuple):
    """A URL found with fewer hops; the fields of `shorten_path`."""

    hops: int
    run_id: int
    id: int


class VisitRow(NamedTuple):
    """A visit; the fields of `add_visit`. `head` is a template, stored once and referred to by its id."""

    run_id: int
    number: int
    url_id: int
    crawl_id: int
    depth: int
    rank: int
    status: int | None
    kind: str | None
    error: str | None
    tries: int
    final_url: str | None
    redirect_to: int | None
    content_type: str | None
    encoding: str | None
    etag: str | None
    last_modified: str | None
    title: str | None
    canonical: str | None
    noindex: bool
    nofollow: bool
    links_cut: bool
    truncated: bool
    body_sha256: bytes | None
    content_sha256: bytes | None
    role: str
    bytes: int
    wire_bytes: int
    latency_ms: int
    fetched_at: int
    proxy: str | None = None
    robots_tags: str | None = None
    reuse: str | None = None
    reused_run: int | None = None
    head_values: HeadPart = None
    head: HeadPart = None


class BaseRow(NamedTuple):
    """The fields of a base URL that change; those of `save_base`."""

    scope_key: str
    pages: int
    run_id: int
    number: int


class Progress(NamedTuple):
    """The counters of the run and its crawl after a unit of work."""

    next_url: int
    next_rank: int
    next_visit: int
    scope_fixed: bool
    surveyed: bool
    visited: int
    failed: int
    pages: int
    bytes: int


class Ending(NamedTuple):
    """How a crawl ends."""

    ended_by: EndedBy
    error: str | None = None


Change = ReadmitRow | RefuseRow | DeferRow | DateRow | ListRow | CarryRow | ShortenRow
"""A change of a URL that is already stored."""


class StoredUrl(NamedTuple):
    """A URL that was never requested, and how it was found; a row of `urls_to_judge`."""

    id: int
    key: str
    source: str
    reason: str | None
    rule: str | None
    depth: int
    rank: int | None
    hops: int
    base: int
    found_hops: int
    found_base: int
    referrer: int | None
    family_member: int
    parked: str | None
    listed: int
    carried: int
    later: int | None
