"""What `show` and `explain` return: everything about one URL."""

from __future__ import annotations

from dataclasses import dataclass

from orbweb.app.results.pages import GonePage
from orbweb.app.results.record import Record, Report, plain
from orbweb.model import Heading


@dataclass(frozen=True, slots=True)
class RunName(Record):
    """A run by its project and its number."""

    project: str
    run: int


@dataclass(frozen=True, slots=True)
class LinkEdge(Record):
    """A link of a page: the URL at its other end, the kind of element, and whether it is nofollow."""

    url: str
    kind: str
    nofollow: bool


@dataclass(frozen=True, slots=True)
class DocumentSummary(Record):
    """The document of a page without its text."""

    title: str
    description: str
    language: str
    author: str
    published: str
    headings: tuple[Heading, ...]
    words: int
    tokens: int
    hidden: int
    confidence: float
    generator: str
    simhash: str
    tokenizer: str
    extractor: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlDetails(Record):
    """Everything known about one URL of a run.

    `role` is None if it was not visited; then the fields from `status` to `redirects` have their defaults, and
    `--json` leaves them out. `primary`, `document`, `alternates` and `redirects` are those of its page; of a URL
    that redirects, those of the page that it leads to.
    """

    url: str
    state: str
    reason: str | None
    rule: str | None
    source: str
    depth: int
    place: str | None
    hops: int
    referrer: str | None
    status: int | None = None
    kind: str | None = None
    error: str | None = None
    tries: int = 0
    final_url: str | None = None
    content_type: str | None = None
    encoding: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    title: str | None = None
    canonical: str | None = None
    noindex: bool = False
    nofollow: bool = False
    links_cut: bool = False
    truncated: bool = False
    body_sha256: str | None = None
    content_sha256: str | None = None
    role: str | None = None
    bytes: int = 0
    wire_bytes: int = 0
    latency_ms: int = 0
    fetched_at: str | None = None
    proxy: str | None = None
    robots_tags: str | None = None
    reuse: str | None = None
    reused_from: RunName | None = None
    redirects_to: str | None = None
    links: tuple[LinkEdge, ...] = ()
    alternates: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()
    primary: str | None
    document: DocumentSummary | None
    needs_javascript: str | None
    gone: GonePage | None

    def report(self) -> Report:
        """The object that `--json` prints."""
        found = plain(self)
        return found if self.role is not None else {name: found[name] for name in _UNVISITED}


_UNVISITED = (
    *("url", "state", "reason", "rule", "source", "depth", "place", "hops", "referrer"),
    *("primary", "document", "needs_javascript", "gone"),
)


@dataclass(frozen=True, slots=True)
class PathStep(Record):
    """A URL on the path on which another one was found, and how it was found itself."""

    url: str
    how: str


@dataclass(frozen=True, slots=True)
class UrlExplanation(Record):
    """Why a URL was visited, skipped or failed, the rule that decided, how it was found, and what links to it.

    `found_at` and `changed_at`: when the run found it, and when its state last changed, to the microsecond; None
    if that was not recorded. For one that the run never saw, `state` is `unknown`; `verdict`, `reason` and `rule`
    are what is decided now.
    """

    project: str
    run: int
    asked: str
    url: str
    key: str
    state: str
    verdict: str
    reason: str | None
    rule: str | None
    found_at: str | None
    changed_at: str | None
    source: str | None
    depth: int | None
    hops: int
    place: str | None
    before: int | None
    due: str | None
    base: str
    status: int | None
    kind: str | None
    error: str | None
    tries: int | None
    role: str | None
    proxy: str | None
    reuse: str | None
    reused_from: RunName | None
    primary: str | None
    redirects_to: str | None
    chain: tuple[PathStep, ...]
    referrers: tuple[LinkEdge, ...]
    robots_at: str | None
    gone: GonePage | None
