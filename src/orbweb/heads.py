"""Heads of requests and responses in few bytes: a template that many visits share, and the values of one visit.

A template is a list of fields. Each has a kind, and a text that is put out before its value. The values follow
each other in the order of the fields, after a checksum of the response's head. Dates and lengths are numbers; the
target, the host, the entity tag and the date of the last change are in the row of the visit already, so that most
heads take a few bytes. Always holds: what `decode` returns is what `Coder` was given, byte for byte, or a
ValueError. Pure.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from email.utils import formatdate, parsedate_to_datetime
from typing import NamedTuple

from orbweb.model import Head

LITERAL, TARGET, HOST, DATE, NUMBER, ETAG, MODIFIED, TEXT, BORDER = range(9)
"""The kinds of fields: nothing but the text; path and query, and host, of the URL; seconds since 1970; a number;
the entity tag; the date of the last change; any bytes; the end of the request."""

MOST_ALIKE = 8
"""Different values of a header that are part of a template; one with more has its value with each visit."""
MOST_NAMES = 1_000
MOST_KEPT = 1_000_000
"""Bytes of templates that a coder remembers."""
LONG = 8_192
"""Bytes of a head whose lines are not remembered."""

INHERITED = b"\0"
_END = b"\r\n"
_KINDS = {
    b"date": DATE,
    b"expires": DATE,
    b"content-length": NUMBER,
    b"age": NUMBER,
    b"etag": ETAG,
    b"last-modified": MODIFIED,
}
_IN_ROW = (ETAG, MODIFIED)
_is_number = re.compile(rb"0|[1-9][0-9]{0,17}").fullmatch


class Line(NamedTuple):
    """A line of a head: its field in a template, and its value; `name` in lower case, empty if it is no header."""

    name: bytes
    field: bytes
    value: bytes


class Exchange(NamedTuple):
    """A request and its response, each with its first line, its headers and the empty line."""

    request: bytes
    response: bytes


def packed(number: int) -> bytes:
    """A number from 0 on: seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def field(kind: int, text: bytes = b"") -> bytes:
    """One field of a template."""
    return bytes([kind]) + packed(len(text)) + text


def text(value: bytes) -> bytes:
    """A value of `TEXT`, or one that could be inherited and is not."""
    return packed(len(value) + 1) + value


def literal(line: bytes) -> Line:
    """A line that is part of a template as it is, unless its header varies."""
    name, colon, _ = line.partition(b":")
    return Line(name.lower() if colon else b"", field(LITERAL, line), b"")


def read_line(line: bytes) -> Line:
    """A line as it is coded if its header does not vary."""
    name, colon, rest = line.partition(b":")
    lower = name.lower() if colon else b""
    kind = _KINDS.get(lower)
    is_usual = kind is not None and rest[:1] == b" " and rest[-2:] == _END
    value = _value(kind, rest[1:-2]) if kind is not None and is_usual else None
    return literal(line) if kind is None or value is None else Line(lower, field(kind, name + b": "), value)


def _value(kind: int, value: bytes) -> bytes | None:
    """The value of a field, None if the kind cannot give it back."""
    if kind == NUMBER:
        return packed(int(value)) if _is_number(value) else None
    if kind == DATE:
        return _seconds(value)
    return (
        INHERITED
        if value and value.isascii() and value.decode().isprintable() and value == value.strip()
        else None
    )


def _seconds(value: bytes) -> bytes | None:
    try:
        seconds = round(parsedate_to_datetime(value.decode("ascii")).timestamp())
    except (ValueError, OverflowError):
        return None
    fits = 0 <= seconds < 1 << 32 and formatdate(seconds, usegmt=True).encode() == value
    return seconds.to_bytes(4, "big") if fits else None


class Coder:
    """Makes heads of the lines that servers send, and learns which headers vary.

    What it has learned changes how short heads become, never what they say.
    """

    def __init__(self) -> None:
        self._templates: dict[bytes, bytes] = {}
        self._size = 0
        self._seen: dict[bytes, set[int]] = {}
        self._varying: set[bytes] = set()

    def head(self, request: bytes, given: bytes, lines: Sequence[Line], raw: Sequence[bytes]) -> Head:
        """`request` is the part of the template before the response, `given` its values; `raw` are the lines."""
        known = self._templates.get(request + b"".join([line.field for line in lines]))
        if known is None:
            known, lines = self._learn(request, lines, raw)
        check = zlib.crc32(b"".join(raw)).to_bytes(4, "big")
        return Head(known, b"".join([check, given, *[line.value for line in lines]]))

    def _learn(self, request: bytes, lines: Sequence[Line], raw: Sequence[bytes]) -> tuple[bytes, Sequence[Line]]:
        """A template that is new. The last of several entity tags is the one that the row has."""
        latest = {line.name: at for at, line in enumerate(lines)}
        found = []
        for at, (line, given) in enumerate(zip(lines, raw, strict=True)):
            is_earlier = line.field[0] in _IN_ROW and latest[line.name] != at
            found.append(_spelled(line, given) if is_earlier or self._varies(line, given) else line)
        return self._kept(request + b"".join([line.field for line in found])), found

    def _kept(self, template: bytes) -> bytes:
        if self._size > MOST_KEPT:
            self._templates.clear()
            self._size = 0
        if template not in self._templates:
            self._size += len(template)
        return self._templates.setdefault(template, template)

    def _varies(self, line: Line, whole: bytes) -> bool:
        """Whether a header has had so many values that this one is not part of a template."""
        if line.field[0] != LITERAL or not line.name:
            return False
        if line.name in self._varying:
            return True
        if len(self._seen) > MOST_NAMES:
            self._seen.clear()
        seen = self._seen.setdefault(line.name, set())
        seen.add(hash(whole))
        if len(seen) <= MOST_ALIKE:
            return False
        if len(self._varying) > MOST_NAMES:
            self._varying.clear()
        self._varying.add(line.name)
        del self._seen[line.name]
        return True


def _spelled(line: Line, whole: bytes) -> Line:
    """A line with its value as it is."""
    name = whole[: len(line.name) + 1]
    return Line(line.name, field(TEXT, name), text(whole[len(name) :]))


def whole(exchange: Exchange) -> Head:
    """A head that needs nothing of a row."""
    check = zlib.crc32(exchange.response).to_bytes(4, "big")
    return Head(_WHOLE, check + text(exchange.request) + text(exchange.response))


_WHOLE = field(TEXT) + field(BORDER) + field(TEXT)


def decode(head: Head, url: str, etag: str | None, last_modified: str | None) -> Exchange:
    """The heads again; a ValueError if that is not possible."""
    try:
        found, values = _decoded(head, url, {ETAG: etag, MODIFIED: last_modified})
    except (LookupError, OverflowError, OSError) as error:
        raise ValueError("the head cannot be decoded") from error
    if values.left or found is None:
        raise ValueError("the head has more values than its template, or no end of the request")
    if zlib.crc32(found.response).to_bytes(4, "big") != head.values[:4]:
        raise ValueError("the head does not match its checksum")
    return found


def _decoded(head: Head, url: str, row: Mapping[int, str | None]) -> tuple[Exchange | None, _Reader]:
    fields, values = _Reader(head.template), _Reader(head.values, 4)
    request, out = None, bytearray()
    while fields.left:
        kind = fields.take(1)[0]
        out += fields.take(fields.number())
        if kind == BORDER:
            request, out = bytes(out), bytearray()
        elif kind != LITERAL:
            out += _read(kind, values, url, row)
    return (None if request is None else Exchange(request, bytes(out))), values


def _read(kind: int, values: _Reader, url: str, row: Mapping[int, str | None]) -> bytes:
    if kind == TARGET:
        return target(url).encode()
    if kind == HOST:
        return host(url).encode() + _END
    if kind == DATE:
        return formatdate(int.from_bytes(values.take(4), "big"), usegmt=True).encode() + _END
    if kind == NUMBER:
        return b"%d\r\n" % values.number()
    length = values.number()
    if kind == TEXT:
        return values.take(length - 1)
    return (values.take(length - 1) if length else (row[kind] or "").encode()) + _END


def target(url: str) -> str:
    """What of a URL is sent as the target of a request."""
    return url[url.index("/", 8) :]


def host(url: str) -> str:
    """What of a URL is sent as Host. Canonical URLs have no default port."""
    start = url.index("//") + 2
    return url[start : url.index("/", start)]


class _Reader:
    """Bytes that are taken one after the other; an IndexError if there are not enough."""

    def __init__(self, data: bytes, start: int = 0) -> None:
        self._data = data
        self._at = start

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise IndexError
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self) -> int:
        found = shift = 0
        while True:
            byte = self.take(1)[0]
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
            if shift > 63:
                raise IndexError
