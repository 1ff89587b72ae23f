"""The wire format between the main process and a worker: lengths, JSON, text and bytes, never pickles.

A worker parses untrusted input and may be compromised, so its results are data only, and are checked.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, overload

from orbweb.engine.workers.page import Job, ProcessorSettings
from orbweb.model import NO_BODY, Blob, Directives, Failed, FailKind, Link, PackedDocument, Parsed, ProcessedPage
from orbweb.store.links import EDGES, FLAGS
from orbweb.urls import UrlRules

READY = b"\1"
"""The first byte that a worker sends, when it is about to read its first job."""
MAX_RESULT = 1 << 30
_JOB = struct.Struct("<IIIII")
_RESULT = struct.Struct("<IIIIIIIIIIQ32s32s")
_SECTIONS = slice(1, 10)
_KNOWN_FLAGS = bytes(EDGES)


class PackedLinks(Sequence[Link]):
    """Links as a worker sent them: all keys in one string, all URLs in another. A `Link` is made when it is read.

    A page may wait for its commit with thousands of links, which would take five times the memory as objects.
    """

    __slots__ = ("_keys", "_urls", "flags")

    def __init__(self, keys: bytes, urls: bytes, flags: bytes) -> None:
        self._keys = keys
        self._urls = urls
        self.flags = flags

    @classmethod
    def pack(cls, links: Sequence[Link]) -> PackedLinks:
        """`urls` is empty if every URL equals its key."""
        keys = "\n".join([link.key for link in links]).encode()
        urls = b""
        if any(link.url != link.key for link in links):
            urls = "\n".join(["" if link.url == link.key else link.url for link in links]).encode()
        return cls(keys, urls, bytes([FLAGS[link.kind, link.nofollow] for link in links]))

    def check(self) -> PackedLinks:
        """Return the links; ValueError if a worker cannot have packed them."""
        count = len(self.flags)
        texts = [self._keys, self._urls] if self._urls else [self._keys]
        if self.flags.translate(None, _KNOWN_FLAGS) or any(
            text.count(b"\n") != max(count - 1, 0) for text in texts
        ):
            raise ValueError("malformed links")
        for text in texts:
            text.decode()
        return self

    @property
    def sections(self) -> tuple[bytes, bytes, bytes]:
        return self._keys, self._urls, self.flags

    def __len__(self) -> int:
        return len(self.flags)

    def __iter__(self) -> Iterator[Link]:
        if not self.flags:
            return
        keys = self._keys.decode().split("\n")
        urls = self._urls.decode().split("\n") if self._urls else [""] * len(keys)
        for key, url, flag in zip(keys, urls, self.flags, strict=True):
            yield Link(key, url or key, *EDGES[flag])

    @overload
    def __getitem__(self, at: int) -> Link: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Link, ...]: ...
    def __getitem__(self, at: int | slice) -> Link | tuple[Link, ...]:
        return tuple(self)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def encode_settings(settings: ProcessorSettings) -> str:
    rules = settings.rules
    params = sorted(rules.drop_params), rules.keep_params, sorted(rules.secret_params)
    return json.dumps([*params, settings.agent, settings.resources, settings.tokenizer, settings.only_links])


def decode_settings(text: str) -> ProcessorSettings:
    drop, keep, secret, *rest = json.loads(text)
    return ProcessorSettings(
        UrlRules(frozenset(drop), None if keep is None else tuple(keep), frozenset(secret)), *rest
    )


def encode_job(job: Job) -> list[bytes]:
    url, kind, tags = job.url.encode(), (job.content_type or "").encode(), "\n".join(job.robots_tags).encode()
    return [_JOB.pack(job.ticket, len(url), len(kind), len(tags), len(job.body)), url, kind, tags, job.body]


def read_job(stream: BinaryIO) -> Job | None:
    """The next job of a stream; None at its end."""
    head = stream.read(_JOB.size)
    if len(head) < _JOB.size:
        return None
    ticket, url_size, kind_size, tags_size, body_size = _JOB.unpack(head)
    url = stream.read(url_size).decode()
    kind = stream.read(kind_size).decode() or None
    tags = stream.read(tags_size).decode()
    return Job(ticket, url, kind, stream.read(body_size), tuple(tags.split("\n")) if tags else ())


def is_ready(buffer: bytearray) -> bool:
    """Whether the worker has started; it sends nothing before READY."""
    if buffer and not buffer.startswith(READY):
        raise ValueError("no READY byte")
    return bool(buffer)


def page_size(buffer: bytearray, start: int) -> int:
    """The length of the result that starts there; 0 while it is not complete."""
    if len(buffer) - start < _RESULT.size:
        return 0
    size = _RESULT.size + sum(_RESULT.unpack_from(buffer, start)[_SECTIONS])
    if size > MAX_RESULT:
        raise ValueError(f"{size} bytes")
    return size if len(buffer) - start >= size else 0


def encode_page(ticket: int, processed: ProcessedPage | Failed) -> list[bytes]:
    if isinstance(processed, Failed):
        reason = json.dumps(processed.error).encode()
        return [_RESULT.pack(ticket, len(reason), *([0] * 9), bytes(32), bytes(32)), reason]
    parsed, blob, document = processed.parsed, processed.blob, processed.document
    facts = [
        parsed.title,
        parsed.canonical,
        parsed.directives.noindex,
        parsed.directives.nofollow,
        parsed.encoding,
        parsed.links_cut,
        document and [document.sha256.hex(), *document[1:-3], document.sketch.hex(), document.size],
    ]
    meta = json.dumps(facts).encode()
    links = (*PackedLinks.pack(parsed.links).sections, *PackedLinks.pack(parsed.resources).sections)
    sections = [meta, *links, blob.frame, document.frame if document else b""]
    head = _RESULT.pack(ticket, *map(len, sections), blob.size, blob.sha256, processed.content_sha256)
    return [head, *sections]


def decode_page(record: bytes) -> tuple[int, ProcessedPage | Failed]:
    """The result that a worker sent; ValueError if it is malformed, as after memory corruption."""
    try:
        return _decoded(record)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _decoded(record: bytes) -> tuple[int, ProcessedPage | Failed]:
    ticket, *lengths, size, sha256, content_sha256 = _RESULT.unpack_from(record)
    parts, start = [], _RESULT.size
    for length in lengths:
        parts.append(record[start : start + length])
        start += length
    meta, *links, frame, document_frame = parts
    facts = json.loads(meta)
    if isinstance(facts, str):
        return ticket, Failed(FailKind.UNPARSABLE, facts)
    title, canonical, noindex, nofollow, encoding, links_cut, listed = facts
    parsed = Parsed(
        PackedLinks(*links[:3]).check(),
        PackedLinks(*links[3:]).check(),
        title,
        canonical,
        Directives(noindex, nofollow),
        encoding,
        links_cut,
    )
    document = _decode_document(listed, document_frame) if listed else None
    body_sha256 = NO_BODY if sha256 == bytes(32) else sha256
    return ticket, ProcessedPage(parsed, Blob(body_sha256, frame, size), content_sha256, document)


def _decode_document(listed: list[Any], frame: bytes) -> PackedDocument:
    sha256, *columns, sketch, size = listed
    return PackedDocument._make((bytes.fromhex(sha256), *columns, bytes.fromhex(sketch), size, frame))
