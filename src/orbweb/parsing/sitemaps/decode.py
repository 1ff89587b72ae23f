"""Decompresses a document and converts it to UTF-8.

No more is decompressed than may be read; a damaged or endless stream, or a bomb, is reported.
"""

from __future__ import annotations

import codecs
import io
import zlib

from orbweb.parsing.encodings import UTF_8, decoded, encoding_of

MAX_RATIO = 200
"""The highest compression ratio of a body larger than `BOMB`."""
BOMB = 1_000_000
MAX_LAYERS = 2
MAX_MEMBERS = 10_000

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 16


def unpacked(body: bytes, max_bytes: int) -> tuple[bytes | None, str | None]:
    """The decompressed body, None if it is unusable; and the problems."""
    layers = 0
    troubles = []
    plain: bytes | None = body
    while plain is not None and plain.startswith(_GZIP):
        layers += 1
        if layers > MAX_LAYERS:
            return None, f"the document is compressed more than {MAX_LAYERS} times"
        plain, trouble = _gunzip(plain, max_bytes)
        troubles += [trouble] if trouble else []
    if plain is not None and len(plain) > max_bytes:
        plain = plain[:max_bytes]
        troubles.append(f"the document is larger than {max_bytes} bytes, the rest is not read")
    return plain, "; ".join(troubles) or None


def _gunzip(packed: bytes, max_bytes: int) -> tuple[bytes | None, str | None]:
    """Decompress at most one byte more than allowed, enough to know that it is too large."""
    out = io.BytesIO()
    stream = zlib.decompressobj(wbits=31)
    position, members = 0, 1
    view = memoryview(packed)
    while out.tell() <= max_bytes:
        chunk = view[position : position + _CHUNK]
        try:
            out.write(stream.decompress(chunk, min(_CHUNK, max_bytes + 1 - out.tell())))
        except zlib.error as error:
            return out.getvalue(), f"the gzip stream is damaged after {out.tell()} bytes: {error}"
        position += len(chunk) - len(stream.unconsumed_tail) - len(stream.unused_data)
        if out.tell() > max(BOMB, MAX_RATIO * position):
            return None, f"the gzip stream expands to more than {MAX_RATIO} times its size"
        if stream.eof:
            if not packed.startswith(_GZIP, position):
                break
            if members == MAX_MEMBERS:
                return out.getvalue(), f"the gzip stream has more than {MAX_MEMBERS} parts, the rest is not read"
            members += 1
            stream = zlib.decompressobj(wbits=31)
        elif not chunk:
            return out.getvalue(), "the gzip stream ends too early"
    return out.getvalue(), None


def as_utf8(body: bytes) -> bytes:
    """The same text in UTF-8 without a byte-order mark."""
    encoding = encoding_of(body)
    if encoding != UTF_8:
        return decoded(body, encoding).encode("utf-8", "replace")
    return body.removeprefix(codecs.BOM_UTF8)
