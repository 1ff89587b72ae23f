"""What travels between the main process and a worker: lengths, JSON, text and bytes, never code.

A worker parses what strangers wrote, so nothing it sends back may do more than be read.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

from orbweb.digest import DigestSettings, Job
from orbweb.model import NO_BODY, Blob, Digest, Directives, Failed, FailKind, Link, PackedDocument, Parsed
from orbweb.store.outlinks import FLAGS, KINDS, NOFOLLOW
from orbweb.urls import UrlRules

READY = b"\1"
"""What a worker sends first, when it is about to read its first job."""
MAX_DIGEST = 1 << 30
_JOB = struct.Struct("<IIIII")
_RESULT = struct.Struct("<IIIIIIIQ32s32s")


def encode_settings(settings: DigestSettings) -> str:
    rules = settings.rules
    params = sorted(rules.drop_params), rules.keep_params, sorted(rules.secret_params)
    return json.dumps([*params, settings.agent, settings.resources, settings.tokenizer, settings.only_links])


def decode_settings(text: str) -> DigestSettings:
    drop, keep, secret, *rest = json.loads(text)
    return DigestSettings(
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
    """Whether the worker has started; it sends nothing before that."""
    if buffer and not buffer.startswith(READY):
        raise ValueError("no greeting")
    return bool(buffer)


def digest_size(buffer: bytearray, start: int) -> int:
    """The length of the digest that begins there; 0 while it is not complete."""
    if len(buffer) - start < _RESULT.size:
        return 0
    size = _RESULT.size + sum(_RESULT.unpack_from(buffer, start)[1:7])
    if size > MAX_DIGEST:
        raise ValueError(f"{size} bytes")
    return size if len(buffer) - start >= size else 0


def encode_digest(ticket: int, digest: Digest | Failed) -> list[bytes]:
    if isinstance(digest, Failed):
        reason = json.dumps(digest.error).encode()
        return [_RESULT.pack(ticket, len(reason), 0, 0, 0, 0, 0, 0, bytes(32), bytes(32)), reason]
    parsed, blob, document = digest.parsed, digest.blob, digest.document
    facts = [
        parsed.title,
        parsed.canonical,
        parsed.directives.noindex,
        parsed.directives.nofollow,
        parsed.encoding,
        parsed.links_cut,
        len(parsed.links),
        document and [document.sha256.hex(), *document[1:-3], document.sketch.hex(), document.size],
    ]
    meta = json.dumps(facts).encode()
    links = (*parsed.links, *parsed.resources)
    keys = "\n".join([link.key for link in links]).encode()
    urls = "\n".join(["" if link.url == link.key else link.url for link in links]).encode()
    flags = bytes([FLAGS[link.kind, link.nofollow] for link in links])
    head = _RESULT.pack(
        ticket,
        len(meta),
        len(keys),
        len(urls),
        len(flags),
        len(blob.frame),
        len(document.frame) if document else 0,
        blob.size,
        blob.sha256,
        digest.content_sha256,
    )
    return [head, meta, keys, urls, flags, blob.frame, document.frame if document else b""]


def decode_digest(record: bytes) -> tuple[int, Digest | Failed]:
    """The digest that a worker sent. ValueError if its memory was damaged, so that this is none."""
    try:
        return _decoded(record)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _decoded(record: bytes) -> tuple[int, Digest | Failed]:
    ticket, *lengths, size, sha256, content_sha256 = _RESULT.unpack_from(record)
    parts, start = [], _RESULT.size
    for length in lengths:
        parts.append(record[start : start + length])
        start += length
    meta, keys, urls, flags, frame, document_frame = parts
    facts = json.loads(meta)
    if isinstance(facts, str):
        return ticket, Failed(FailKind.UNPARSABLE, facts)
    title, canonical, noindex, nofollow, encoding, links_cut, count, listed = facts
    links = _decode_links(keys.decode(), urls.decode(), flags)
    parsed = Parsed(
        links[:count], links[count:], title, canonical, Directives(noindex, nofollow), encoding, links_cut
    )
    document = _decode_document(listed, document_frame) if listed else None
    kept = NO_BODY if sha256 == bytes(32) else sha256
    return ticket, Digest(parsed, Blob(kept, frame, size), content_sha256, document)


def _decode_links(keys: str, urls: str, flags: bytes) -> tuple[Link, ...]:
    if not flags:
        return ()
    return tuple(
        Link(key, url or key, KINDS[flag & ~NOFOLLOW], flag >= NOFOLLOW)
        for key, url, flag in zip(keys.split("\n"), urls.split("\n"), flags, strict=True)
    )


def _decode_document(listed: list[Any], frame: bytes) -> PackedDocument:
    sha256, *columns, sketch, size = listed
    return PackedDocument._make((bytes.fromhex(sha256), *columns, bytes.fromhex(sketch), size, frame))
