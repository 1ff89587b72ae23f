"""The frozen records that travel between the stages.

Owns the shapes, never behaviour: a stage takes one record and returns the next. A new fact is a new
field here. Records that are made once a page or a link are named tuples: those are the cheapest to make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Source(StrEnum):
    """How a URL came to be known."""

    INITIAL = "initial"
    SITEMAP = "sitemap"
    SPIDER = "spider"
    REDIRECT = "redirect"
    RESOURCE = "resource"


class Resources(StrEnum):
    """What becomes of what pages load: scripts, styles, images, fonts."""

    OFF = "off"
    CHECK = "check"
    STORE = "store"


class SkipReason(StrEnum):
    """Why a URL is not visited. Stored with the rule that decided."""

    OUT_OF_SCOPE = "out_of_scope"
    EXTERNAL_HOPS = "external_hops"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not_included"
    MAX_DEPTH = "max_depth"
    ROBOTS = "robots"
    ROBOTS_UNAVAILABLE = "robots_unavailable"
    TRAP = "trap"
    NOFOLLOW = "nofollow"
    NOINDEX = "noindex"
    SITEMAP_ONLY = "sitemap_only"
    PAGE_LIMIT = "page_limit"
    CAP = "cap"
    FINISHED = "finished"
    IMPORTED = "imported"
    LEFT = "left_to_discovery"


class FailKind(StrEnum):
    """Why a visit gave no usable answer. A site's fault is this value, never an exception."""

    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    BLOCKED_ADDRESS = "blocked_address"
    DNS_NXDOMAIN = "dns_nxdomain"
    DNS_NO_ADDRESS = "dns_no_address"
    DNS_TIMEOUT = "dns_timeout"
    DNS_SERVFAIL = "dns_servfail"
    PROXY = "proxy"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    PROTOCOL = "protocol"
    TOO_LARGE = "too_large"
    BOMB = "decompression_bomb"
    BAD_ENCODING = "bad_encoding"
    REDIRECT_LOOP = "redirect_loop"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    BAD_REDIRECT = "bad_redirect"
    UNPARSABLE = "unparsable"


class Role(StrEnum):
    """What a visit contributed to the pages of its run."""

    PRIMARY = "primary"
    ALTERNATE = "alternate"
    NONE = "-"


class Reuse(StrEnum):
    """How a visit came to what an earlier run had captured."""

    CACHED = "cached"
    NOT_MODIFIED = "not_modified"


class Carried(StrEnum):
    """What is known of a URL that a recrawl took over from the run before, before it found it."""

    KNOWN = "known"
    LISTED = "listed"
    UNLINKED = "unlinked"


class Place(NamedTuple):
    """A position in the order of a run. Never reused; smaller is earlier."""

    depth: int
    rank: int

    def __str__(self) -> str:
        return f"{self.depth}:{self.rank}"


class Item(NamedTuple):
    """A URL with its place: what the frontier leases. `family_member`: found on a page of its own family."""

    id: int
    key: str
    url: str
    source: Source
    depth: int
    rank: int
    lane: str
    hops: int
    redirects: int
    base: int
    family_member: bool = False

    @property
    def place(self) -> Place:
        return Place(self.depth, self.rank)


class Known(NamedTuple):
    """What must be known of a URL when it is found again."""

    id: int
    depth: int
    hops: int
    reason: str | None


class Verdict(NamedTuple):
    """Allowed (no reason), or the reason and the very rule that decided."""

    reason: SkipReason | None
    rule: str | None
    base: int
    hops: int
    family_member: bool = False


class Link(NamedTuple):
    """A link found on a page: `key` is the identity, `url` what a request would use."""

    key: str
    url: str
    kind: str
    nofollow: bool


@dataclass(frozen=True, slots=True)
class Directives:
    """What the page says about itself to robots: the text that decided, None where nothing does."""

    noindex: str | None = None
    nofollow: str | None = None


class Parsed(NamedTuple):
    """What one parse of a page gives; links in document order, each key once.

    `links_cut` says that there were more links or resources than a page may have.
    """

    links: Sequence[Link] = ()
    resources: Sequence[Link] = ()
    title: str = ""
    canonical: str | None = None
    directives: Directives = Directives()
    encoding: str = ""
    links_cut: bool = False


class Heading(NamedTuple):
    """A heading of a document: its level, 1 to 6, and its text."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """What people and language models read of a page. A function of its body, its URL and the extractor alone.

    `title`, `description`, `language`, `author` and `published` are what the page states, empty where it does not.
    `words` and `tokens` count the text and the Markdown, the latter as `tokenizer` does. `hidden` counts the
    characters that a reader would not see and that were therefore left out. `confidence` says from 0 to 1 how sure
    it is that `markdown` is the main content, `generator` which documentation generator made the page, if one was
    recognised.
    """

    markdown: str
    text: str
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
    simhash: int
    tokenizer: str = "estimate"


class PackedDocument(NamedTuple):
    """A document as the store keeps it: `frame` is one zstd frame, and what lists show of it is beside it.

    An empty frame stands for one that the store has, and may be without what lists show.
    """

    sha256: bytes
    extractor: int
    title: str = ""
    language: str = ""
    words: int = 0
    tokens: int = 0
    tokenizer: str = ""
    confidence: float = 0.0
    simhash: int = 0
    sketch: bytes = b""
    size: int = 0
    frame: bytes = b""


class Head(NamedTuple):
    """The heads of a request and of its response as they are kept (see heads)."""

    template: bytes
    values: bytes


class Fetched(NamedTuple):
    """An answer of a server, whatever its status. `body` is None where it was not worth reading.

    `truncated`: the body is compressed and ends too early, so it is only a beginning.
    """

    url: str
    status: int
    body: bytes | None
    content_type: str | None
    location: str | None
    etag: str | None
    last_modified: str | None
    wire_bytes: int
    latency_ms: int
    retry_after: str | None = None
    robots_tags: tuple[str, ...] = ()
    proxy: str | None = None
    date: str | None = None
    truncated: bool = False
    head: Head | None = None


class Capture(NamedTuple):
    """What an earlier run captured of a key: the answer without its body, and where the body lies; the fields of
    `captures_from` but for the first two, as the database has them.

    `url` is the one that was answered. What is no page, and was not kept, has no body. `packed` is the record of
    its links unless that is long; `read`, `extractor` and `sketch` are of the document that was made of its page.
    """

    run_id: int
    url_id: int
    crawl_id: int
    url: str
    status: int
    content_type: str | None
    encoding: str | None
    etag: str | None
    last_modified: str | None
    tags: str | None
    title: str | None
    canonical: str | None
    noindex: int
    nofollow: int
    links_cut: int
    truncated: int
    body_sha256: bytes | None
    content_sha256: bytes | None
    role: str
    fetched_at: int
    segment: int | None
    offset: int | None
    length: int
    size: int
    packed: bytes | None = None
    read: bytes | None = None
    extractor: int = 0
    sketch: bytes = b""

    @property
    def robots_tags(self) -> tuple[str, ...]:
        return tuple(self.tags.split("\n")) if self.tags else ()

    @property
    def location(self) -> tuple[int | None, int | None, int, int]:
        """As that of `store.blobs`."""
        return self.segment, self.offset, self.length, self.size

    @property
    def document(self) -> PackedDocument | None:
        """What was read out of its page, without the frame."""
        return PackedDocument(self.read, self.extractor, sketch=self.sketch) if self.read else None


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable answer. One that does not count says nothing about the site: the request is repeated, and costs no
    try. `head` is there if a response began, and needs nothing of the visit's row."""

    kind: FailKind
    error: str
    retriable: bool = False
    proxy: str | None = None
    counts: bool = True
    head: Head | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A leased place that may not be asked for after all, and the very rule that says so."""

    reason: SkipReason
    rule: str


NO_BODY = b""
"""Instead of a hash: the body is not to be kept."""


class Blob(NamedTuple):
    """A body as the store keeps it: `frame` is one zstd frame of `size` decoded bytes. Empty: the store has it."""

    sha256: bytes
    frame: bytes
    size: int


class ProcessedPage(NamedTuple):
    """Everything the parallel stages made of a body. A page has a document, and its content is that text."""

    parsed: Parsed
    blob: Blob
    content_sha256: bytes
    document: PackedDocument | None = None


class Reused(NamedTuple):
    """That a place took what an earlier run had captured, how, and from which run."""

    how: Reuse
    run_id: int


class Unchanged(NamedTuple):
    """How a place ended whose server says that it has what was captured. What that is, is all in the capture."""

    tries: int
    fetched_at: int
    answer: Fetched
    capture: Capture


class Outcome(NamedTuple):
    """How a place ended, ready to be committed in its turn."""

    tries: int
    fetched_at: int
    answer: Fetched | Failed | Refused
    processed: ProcessedPage | None = None
    is_page: bool = True
    redirect: tuple[str, str] | None = None
    reused: Reused | None = None


class FamilyRow(NamedTuple):
    """What is known of a family of URLs; the fields of `save_family`."""

    run_id: int
    pattern: str
    kind: str
    barren: int
    tried: int
    released: bool
    sketch: bytes
