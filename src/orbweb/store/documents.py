"""Documents, stored by the SHA-256 of their record: packing and unpacking.

A record is a line of JSON, the Markdown and the text. The JSON has the document's fields with sorted keys, and the
sizes in bytes of the other two, so a document has the same hash on every machine. `unpack` verifies size and hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import zstandard

from orbweb.errors import CorruptBody
from orbweb.model import Document, Heading, PackedDocument
from orbweb.store import Queries, alternates, bodies

_SIGN = 1 << 63
_REPEATED = ("extractor", "title", "language", "words", "tokens", "confidence", "simhash")


class Captured(NamedTuple):
    """A page of a run with its document. `alternates`: key and URL of each other URL with the same content, then
    of those that redirect to the page, which are in `redirects` too."""

    key: str
    url: str
    status: int
    depth: int
    content_sha256: bytes
    body_sha256: bytes
    size: int
    content_type: str | None
    final_url: str
    captured_at: int
    truncated: bool
    alternates: tuple[tuple[str, str], ...]
    document_sha256: bytes
    document: Document
    redirects: tuple[tuple[str, str], ...] = ()


class StoredDocument(NamedTuple):
    """A document, the version of the extractor that created it, and the primary URL of its page."""

    url: str
    sha256: bytes
    extractor: int
    document: Document


def pack(
    document: Document, extractor: int, sketch: bytes, compressor: zstandard.ZstdCompressor
) -> PackedDocument:
    """The document as a row, with the sketch of its text (see `policy.traps`)."""
    markdown, text = _encoded(document.markdown), _encoded(document.text)
    fields = {name: getattr(document, name) for name in document.__slots__}
    fields.update(extractor=extractor, markdown=len(markdown), text=len(text))
    head = _encoded(json.dumps(fields, ensure_ascii=False, sort_keys=True))
    record = b"".join((head, b"\n", markdown, text))
    return PackedDocument(
        hashlib.sha256(record).digest(),
        extractor,
        document.title,
        document.language,
        document.words,
        document.tokens,
        document.tokenizer,
        document.confidence,
        signed(document.simhash),
        sketch,
        len(record),
        compressor.compress(record),
    )


def signed(simhash: int) -> int:
    """The 64 bits as a signed integer, which the database can store."""
    return (simhash ^ _SIGN) - _SIGN


def unsigned(stored: int) -> int:
    """The 64 bits of a stored integer."""
    return stored & (2 * _SIGN - 1)


def _fields(sha256: bytes, size: int, frame: bytes, where: str) -> dict[str, Any]:
    """All fields of a record. A record without a line end is JSON with all fields."""
    head, line_end, texts = bodies.unpack(frame, size, sha256, where=where).partition(b"\n")
    fields: dict[str, Any] = json.loads(_decoded(head))
    if line_end:
        cut = fields["markdown"]
        fields.update(markdown=_decoded(texts[:cut]), text=_decoded(texts[cut:]))
    return fields


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def unpack(sha256: bytes, size: int, frame: bytes, *, where: str) -> Document:
    """The document of a row; CorruptBody names `where` and the problem."""
    fields = _fields(sha256, size, frame, where)
    del fields["extractor"]
    headings = tuple(Heading(level, text) for level, text in fields.pop("headings"))
    return Document(headings=headings, **fields)


def problem(row: PackedDocument) -> str | None:
    """What is wrong with a row: its frame, or a column that differs from its record. None if nothing is."""
    try:
        fields = _fields(row.sha256, row.size, row.frame, f"document {row.sha256.hex()}")
    except CorruptBody as error:
        return str(error)
    fields["simhash"] = signed(fields["simhash"])
    wrong = [name for name in _REPEATED if getattr(row, name) != fields[name]]
    return f"its column {wrong[0]} differs from its record" if wrong else None


def of_url(db: Queries, run_id: int, url_id: int) -> StoredDocument | None:
    """The document of a page; of an alternate, that of its page. None if the URL has no page."""
    row = db.one("document_of", run_id=run_id, url_id=url_id)
    if row is None:
        return None
    url, sha256, extractor, size, frame = row
    document = unpack(sha256, size, frame, where=f"{db.path}: document of {url}")
    return StoredDocument(url, sha256, extractor, document)


def captured(db: Queries, run_id: int, order: Iterable[int] | None = None) -> Iterator[Captured]:
    """The pages of a run in the order of commits, or of the given URL ids, read one at a time."""
    others = alternates.of_run(db, run_id)
    if order is None:
        rows = db.each("page_documents", run_id=run_id)
    else:
        rows = (row for url_id in order for row in db.all("page_document", run_id=run_id, url_id=url_id))
    for key, url, status, depth, content, body, size, kind, final, at, cut, sha256, length, frame in rows:
        document = unpack(sha256, length, frame, where=f"{db.path}: document of {url}")
        same, redirects = others.get(content, alternates.NONE)
        yield Captured(
            key,
            url,
            status,
            depth,
            content,
            body,
            size,
            kind,
            final or url,
            at,
            bool(cut),
            (*same, *redirects),
            sha256,
            document,
            redirects,
        )
