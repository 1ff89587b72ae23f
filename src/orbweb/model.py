"""The frozen records that travel between the stages: shapes only, no behaviour.

A stage takes one record and returns the next; a new fact is a new field. Records that are created per page or per
link are named tuples, which are the cheapest to create.
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
    """What is done with the scripts, styles, images and fonts that pages load."""

    OFF = "off"
    CHECK = "check"
    STORE = "store"


class SkipReason(StrEnum):
    """Why a URL is not visited; stored with the rule that decided."""

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
    BEFORE_BOOKMARK = "before_bookmark"


class FailKind(StrEnum):
    """Why a visit got no usable response. A failure of a site is this value, never an exception."""

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
    """How a visit reused the capture of an earlier run: without a request, or after a 304 response."""

    CACHED = "cached"
    NOT_MODIFIED = "not_modified"


class Carried(StrEnum):
    """The state of a URL that a recrawl took over from an earlier run, until it finds the URL itself."""

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
    """A URL with its place, as the frontier leases it. `family_member`: found on a page of its own family."""

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
    """What decides about a URL that is found again."""

    id: int
    depth: int
    hops: int
    reason: str | None


class Verdict(NamedTuple):
    """Allowed (no reason), or the reason and the exact rule that decided."""

    reason: SkipReason | None
    rule: str | None
    base: int
    hops: int
    family_member: bool = False


class Link(NamedTuple):
    """A link found on a page: `key` is its identity, `url` the text that a request uses."""

    key: str
    url: str
    kind: str
    nofollow: bool


@dataclass(frozen=True, slots=True)
class Directives:
    """Robots directives of a page: the text that decided, None if there is none."""

    noindex: str | None = None
    nofollow: str | None = None


class Parsed(NamedTuple):
    """The result of parsing a page; links in document order, each key once.

    `links_cut`: there were more links or resources than a page may have.
    """

    links: Sequence[Link] = ()
    resources: Sequence[Link] = ()
    title: str = ""
    canonical: str | None = None
    directives: Directives = Directives()
    encoding: str = ""
    links_cut: bool = False


class Heading(NamedTuple):
    """A heading of a document; levels are 1 to 6."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a page for people and language models: a function of its body, its URL and the extractor.

    `title`, `description`, `language`, `author` and `published` are empty where the page does not state them.
    `words` counts the text, `tokens` the Markdown, by `tokenizer`. `hidden` counts the characters that were left
    out because a reader would not see them. `confidence` is the likelihood, 0 to 1, that `markdown` is the main
    content; `generator` is the documentation generator, if it was recognized.
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
    """A document as it is stored: `frame` is one zstd frame; the other fields are for lists and filters.

    An empty frame stands for a document that the store has; then the other fields may be empty.
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
    """The heads of a request and of its response as they are stored (see `store.heads`)."""

    template: bytes
    values: bytes


class Fetched(NamedTuple):
    """A response of a server, whatever its status. `body` is None if it was not read.

    `truncated`: the compressed body ends too early, so only its beginning is here.
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
    """The capture of a key by an earlier run: the response without its body, and the location of the body; the
    columns of `captures_from` except the first two, as the database has them.

    `url` is the one that responded. A response that was not a page and was not stored has no body. `packed` is the
    record of its links unless that is long; `read`, `extractor` and `sketch` describe the document of its page.
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
        """The fields of `store.bodies.Location`."""
        return self.segment, self.offset, self.length, self.size

    @property
    def document(self) -> PackedDocument | None:
        """The document of its page, without the frame."""
        return PackedDocument(self.read, self.extractor, sketch=self.sketch) if self.read else None


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable response. Unless it `counts`, the failure says nothing about the site: the request is repeated and
    does not count as a try. `head` is there if a response began, and is complete without the visit's row."""

    kind: FailKind
    error: str
    retriable: bool = False
    proxy: str | None = None
    counts: bool = True
    head: Head | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A leased place that may not be requested, with the exact rule."""

    reason: SkipReason
    rule: str


NO_BODY = b""
"""Instead of a hash: the body is not to be stored."""


class Blob(NamedTuple):
    """A body as it is stored: `frame` is one zstd frame of `size` decoded bytes; empty if the store has it."""

    sha256: bytes
    frame: bytes
    size: int


class ProcessedPage(NamedTuple):
    """The result of processing a body. A page has a document, and its content hash is that of its text."""

    parsed: Parsed
    blob: Blob
    content_sha256: bytes
    document: PackedDocument | None = None


class Reused(NamedTuple):
    """How a place reused a capture, and of which run."""

    how: Reuse
    run_id: int


class Unchanged(NamedTuple):
    """The outcome of a place whose server confirmed a capture; everything else is in the capture."""

    tries: int
    fetched_at: int
    response: Fetched
    capture: Capture


class Outcome(NamedTuple):
    """How a place ended, ready to be committed in order."""

    tries: int
    fetched_at: int
    response: Fetched | Failed | Refused
    processed: ProcessedPage | None = None
    is_page: bool = True
    redirect: tuple[str, str] | None = None
    reused: Reused | None = None


class FamilyRow(NamedTuple):
    """A family of URLs that may be endless; the fields of `save_family`."""

    run_id: int
    pattern: str
    kind: str
    barren: int
    tried: int
    released: bool
    sketch: bytes
