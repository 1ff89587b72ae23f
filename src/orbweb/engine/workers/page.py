"""The parallel stages in one pure step: a body becomes links, a document, hashes and compressed frames.

A `PageProcessor` lives as long as its process and reuses its caches and its compressor. Its result depends only on
the body, the URL and the settings, so any process gives the same. A page that has too many nodes, gives too much
output or needs too much memory fails; the process continues.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import resource
import sys
import weakref
from contextlib import nullcontext
from dataclasses import dataclass

from orbweb import extraction
from orbweb.errors import TooComplex
from orbweb.extraction.tokens import ESTIMATE, tokenizer
from orbweb.model import NO_BODY, Blob, Failed, FailKind, Parsed, ProcessedPage
from orbweb.parsing import page as page_parser
from orbweb.parsing.encodings import HTML_TYPES, UNDECLARED, certain_encoding, media_type
from orbweb.policy import traps
from orbweb.store import documents
from orbweb.store.bodies import new_compressor, pack
from orbweb.urls import Resolver, UrlRules

CSS_TYPE = "text/css"
OTHER_TEXT = frozenset(("text/plain", "text/xml", "application/xml"))
SNIFFED = 1024
ERROR_LENGTH = 500
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
MEMORY_BYTES = 150_000_000
MEMORY_PER_BYTE = 11
"""Memory that parsing may take: MEMORY_BYTES, or MEMORY_PER_BYTE for each byte of the body if that is more."""
SHARED_BYTES = 96_000_000
"""The same in the main process: less, so that a page that passes there passes in any worker."""
READING_BYTES = 600_000_000
"""Memory that extraction from a parsed page may take, in any process. It is more than any page needs, because the
output is proportional to the page, and leaves room for other threads: each reserves some 70 MB when it starts."""
ORDINARY_BYTES = 256 * 1024
GIVEN_BACK_BYTES = 128 * 1024
KEPT_BYTES = 4 * 1024 * 1024
"""Threshold above which malloc returns freed blocks to the kernel: KEPT_BYTES for an ordinary body, else
GIVEN_BACK_BYTES. By default glibc keeps tens of megabytes after each large page; a low threshold for all pages
would make ordinary ones slower."""
_M_MMAP_THRESHOLD = -3
_SILENT = "without setting an exception"
"""Python's message for an extension that failed to allocate and set no MemoryError."""
CPU_S = 20.0
CPU_S_PER_MB = 1.0
"""Processor time of one page in a worker. A last resort: no page that we could construct comes near it."""

_BEFORE = rb"(?:\s++|<!--(?:[^-]++|-(?!->))*+-->|<\?[^>]*+>)*+"
_begins_as_html = re.compile(
    _BEFORE
    + rb"<(?:!doctype\s++html|html|head|body|title|meta|script|style|h1|div|p|br|b|font|table|iframe|a)[\s/>]",
    re.IGNORECASE,
).match
_is_plainly_html = re.compile(_BEFORE + rb"<(?:!doctype\s++html|html)[\s>]", re.IGNORECASE).match
_is_data = re.compile(_BEFORE + rb"<(?:rss|feed|rdf:RDF|urlset|sitemapindex)[\s>]").match
_MAGIC = (
    b"%PDF-",
    b"%!PS-Adobe-",
    b"\x89PNG\r\n\x1a\n",
    b"GIF87a",
    b"GIF89a",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b\x08",
    b"BZh",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"wOFF",
    b"wOF2",
    b"OggS",
    b"\x7fELF",
)
_WIDE = ("UTF-16LE", "UTF-16BE")


def is_html(content_type: str | None, body: bytes) -> bool:
    """Whether the response is a page: by its content type, unless its first bytes clearly show something else."""
    kind = media_type(content_type)
    if kind in HTML_TYPES:
        plain = _is_plainly_html(body, 0, SNIFFED) is not None
        return plain or not (_is_binary(content_type, body) or _is_data(_start(body)))
    if kind in UNDECLARED:
        return _begins_as_html(_start(body)) is not None
    return kind in OTHER_TEXT and _is_plainly_html(_start(body)) is not None


def is_css(content_type: str | None) -> bool:
    """Whether the response is a style sheet: by its content type alone, as in browsers."""
    return media_type(content_type) == CSS_TYPE


def _is_binary(content_type: str | None, body: bytes) -> bool:
    """A known magic number, or more than a tenth NUL bytes, which only UTF-16 text has."""
    if body.startswith(_MAGIC):
        return True
    nuls = body.count(0, 0, SNIFFED)
    return nuls * 10 > min(len(body), SNIFFED) and certain_encoding(body, content_type) not in _WIDE


def _start(body: bytes) -> bytes:
    """The first bytes without a byte-order mark, UTF-16 converted to ASCII."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body[: 2 * SNIFFED].decode("utf-16", "replace").encode("ascii", "replace")
    return body[:SNIFFED].removeprefix(b"\xef\xbb\xbf")


@dataclass(frozen=True, slots=True)
class ProcessorSettings:
    """The settings of a project that affect processing. `agent` is the product token that robots directives name.

    With `resources`, any body is processed, and the resources of pages and style sheets are found. `tokenizer`
    counts the tokens. With `only_links` a page is read for its links and its content hash, and nothing of it is
    stored.
    """

    rules: UrlRules
    agent: str
    resources: bool = False
    tokenizer: str = ESTIMATE
    only_links: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A body on its way to a processor."""

    ticket: int
    url: str
    content_type: str | None
    body: bytes
    robots_tags: tuple[str, ...] = ()


class _Memory:
    """The address space of this process. Inside the block the kernel refuses allocations beyond the limit."""

    def __init__(self) -> None:
        self._mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        self._kept = 0
        self._figures = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._figures)

    def expect(self, size: int) -> None:
        """Choose the malloc threshold for a body of this size."""
        kept = KEPT_BYTES if size <= ORDINARY_BYTES else GIVEN_BACK_BYTES
        if kept != self._kept and self._mallopt is not None:
            self._mallopt(_M_MMAP_THRESHOLD, kept)
        self._kept = kept

    def taken(self) -> int:
        """Bytes of address space in use."""
        return int(os.pread(self._figures, 64, 0).split()[0]) * PAGE_SIZE

    def up_to(self, limit: int) -> _Memory:
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        soft, hard = self._before
        if soft != resource.RLIM_INFINITY:
            limit = min(limit, soft)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self._before)


class _UncountedMemory:
    """Where the system does not tell how much is in use (macOS), nothing is limited."""

    def expect(self, _size: int) -> None:
        pass

    def taken(self) -> int:
        return 0

    def up_to(self, _limit: int) -> nullcontext[None]:
        return nullcontext()


class PageProcessor:
    """Processes the bodies of one project: pages and, with `resources`, their resources."""

    def __init__(self, settings: ProcessorSettings) -> None:
        self._settings = settings
        self._resolver = Resolver(settings.rules)
        self._compressor = new_compressor()
        self._memory = _Memory() if sys.platform == "linux" else _UncountedMemory()
        self._tokenizer = tokenizer(settings.tokenizer)
        self._no_document = documents.pack(extraction.NOTHING, extraction.VERSION, b"", self._compressor)

    def process(self, job: Job) -> ProcessedPage | Failed:
        """Process a body. An exception of a library fails this page only, with its message."""
        allowed = max(MEMORY_BYTES, MEMORY_PER_BYTE * len(job.body))
        needs_more = f"needs more than {allowed / 1e6:.0f} MB of memory to be parsed"
        return self._within(allowed, max(allowed, READING_BYTES), job) or Failed(FailKind.UNPARSABLE, needs_more)

    def memory_taken(self) -> int:
        """Bytes of address space that this process uses."""
        return self._memory.taken()

    def attempt(self, job: Job) -> ProcessedPage | Failed | None:
        """As `process`, in the main process, with less memory. None: a worker process has to try."""
        return self._within(SHARED_BYTES, READING_BYTES, job)

    def _within(self, to_parse: int, to_read: int, job: Job) -> ProcessedPage | Failed | None:
        self._memory.expect(len(job.body))
        start = self._memory.taken()
        try:
            with self._memory.up_to(start + to_parse):
                dom = None if self._is_resource(job) else page_parser.dom(job.body, job.content_type)
            with self._memory.up_to(start + to_read):
                return self._resource(job) if dom is None else self._page(job, dom)
        except MemoryError:
            return None
        except TooComplex as error:
            return Failed(FailKind.UNPARSABLE, str(error))
        except Exception as error:  # noqa: BLE001
            if isinstance(error, SystemError) and _SILENT in str(error):
                return None
            return Failed(FailKind.UNPARSABLE, f"{type(error).__name__}: {error}"[:ERROR_LENGTH])

    def _is_resource(self, job: Job) -> bool:
        """Whether the body is a resource, not a page."""
        return self._settings.resources and (is_css(job.content_type) or not is_html(job.content_type, job.body))

    def _resource(self, job: Job) -> ProcessedPage:
        parsed = Parsed()
        if is_css(job.content_type):
            parsed = page_parser.parse_css(
                job.body, job.url, resolver=self._resolver, content_type=job.content_type
            )
        blob = pack(job.body, self._compressor)
        return ProcessedPage(parsed, blob, blob.sha256)

    def _page(self, job: Job, dom: page_parser.Dom) -> ProcessedPage:
        """Pages with equal text are one page; without any text, pages with equal bodies."""
        parsed = page_parser.read(
            dom,
            job.url,
            resolver=self._resolver,
            robots_tags=job.robots_tags,
            agent=self._settings.agent,
            resources=self._settings.resources,
        )
        if self._settings.only_links:
            return self._links(job, parsed, extraction.words(dom))
        document = extraction.read(dom, job.url, self._tokenizer)
        blob = pack(job.body, self._compressor)
        content_sha256 = _sha256(document.text) if document.text else blob.sha256
        sketch = traps.sketch(document.text) if traps.needs_sketch(job.url) else b""
        packed = documents.pack(document, extraction.VERSION, sketch, self._compressor)
        return ProcessedPage(parsed, blob, content_sha256, packed)

    def _links(self, job: Job, parsed: Parsed, text: str) -> ProcessedPage:
        """A page that is identified by its words; neither body nor document is stored."""
        content = text.encode("utf-8", "surrogatepass") or job.body
        sketch = traps.sketch(text) if traps.needs_sketch(job.url) else b""
        document = self._no_document._replace(sketch=sketch)
        return ProcessedPage(parsed, Blob(NO_BODY, b"", len(job.body)), hashlib.sha256(content).digest(), document)


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def cpu_limit_s(size: int) -> float:
    """Processor time that a body of this size may take in a worker."""
    return CPU_S + CPU_S_PER_MB * size / 1e6
