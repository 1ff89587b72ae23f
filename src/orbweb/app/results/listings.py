"""What lists of a large run return, some rows at a time. `next` is the key to continue with, None at the end."""

from __future__ import annotations

from dataclasses import dataclass

from orbweb.app.results.record import Record


@dataclass(frozen=True, slots=True)
class PageRow(Record):
    """A unique page of a run, in a list."""

    url: str
    status: int
    depth: int
    title: str | None
    content_sha256: str
    body_sha256: str | None
    bytes: int
    content_type: str | None
    captured_at: str
    truncated: bool
    language: str | None
    words: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class ReadPages(Record):
    """Some pages of a run."""

    run: int
    items: tuple[PageRow, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class QueueItem(Record):
    """A queued URL: how it was found, its place, and the rule that was applied to it, if one was."""

    url: str
    source: str
    place: str
    depth: int
    hops: int
    rule: str | None


@dataclass(frozen=True, slots=True)
class QueueItems(Record):
    """Some of the queue of a run."""

    run: int
    items: tuple[QueueItem, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class SkippedItem(Record):
    """A skipped URL: why, the rule that decided, how it was found, and the page on which it was found first."""

    url: str
    reason: str
    rule: str | None
    source: str
    depth: int
    referrer: str | None


@dataclass(frozen=True, slots=True)
class SkippedItems(Record):
    """Some of the skipped URLs of a run."""

    run: int
    items: tuple[SkippedItem, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class RulePreview(Record):
    """What rules would remove from the queue: how many of how many, and the first of them."""

    run: int
    queued: int
    removed: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UrlCapture(Record):
    """A URL in one run; what a visit says is None if it was not visited."""

    run_id: int
    run: int
    state: str
    status: int | None
    kind: str | None
    captured_at: str | None
    body_sha256: str | None
    content_sha256: str | None
    role: str | None
    bytes: int | None
    reuse: str | None
    title: str | None
