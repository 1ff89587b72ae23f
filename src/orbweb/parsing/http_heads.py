"""Compact encoding of the heads of requests and responses: a template shared by many visits, and the values of
one.

A template is a list of fields, each with a kind and a text that precedes its value. The values follow in the order
of the fields, after a checksum of the response's head. Dates and lengths are numbers; target, host, entity tag and
last-modified date are in the row of the visit already, so most heads take a few bytes. `decode` returns the input
of `HeadEncoder` byte for byte, or raises ValueError. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from orbweb.model import Head

LITERAL, TARGET, HOST, DATE, NUMBER, ETAG, MODIFIED, TEXT, BORDER = range(9)
"""The kinds of fields: only the text; path and query of the URL; host of the URL; seconds since 1970; a number;
the entity tag; the last-modified date; any bytes; the end of the request."""

MOST_ALIKE = 8
"""Up to this many distinct values of a header are part of a template; with more, each visit has its value."""
MOST_NAMES = 1_000
MOST_KEPT = 1_000_000
"""The most bytes of templates that an encoder caches."""

INHERITED = b"\0"
_START = 5
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
_TEXT_MARKS = ((b"etag", b": \0E\r\n"), (b"last-modified", b": \0M\r\n"))
_NUMBER_MARKS = ((b"date", b": \0D\r\n"), (b"content-length", b": \0N\r\n"))
"""The placeholders of values in the skeleton of a head. No head contains a NUL: libcurl refuses it."""
_MARK_OF = dict(_TEXT_MARKS + _NUMBER_MARKS)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = {name.encode(): number for number, name in enumerate(_MONTHS, 1)}
_date = re.compile(rb"\w{3}, ([0-9]{2}) (\w{3}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT").fullmatch
_is_in_row = re.compile(rb"[!-~]|[!-~][ -~]*[!-~]").fullmatch
_is_number = re.compile(rb"0|[1-9][0-9]{0,17}").fullmatch


class HeadLine(NamedTuple):
    """A line of a head: its field in a template, and its value. `name` is that of the header, in lower case."""

    field: bytes
    value: bytes
    name: bytes


class Exchange(NamedTuple):
    """The heads of a request and its response, each with first line, headers and empty line."""

    request: bytes
    response: bytes


def packed(number: int) -> bytes:
    """A non-negative number: seven bits per byte, lowest first."""
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
    """A value of `TEXT`, or one that is not inherited from the row."""
    return packed(len(value) + 1) + value


def literal(line: bytes) -> HeadLine:
    """A line that is literally part of a template, unless its header varies."""
    return HeadLine(field(LITERAL, line), b"", line.partition(b":")[0].lower())


def read_line(line: bytes) -> HeadLine:
    """A line as it is encoded if its header does not vary."""
    name, _, rest = line.partition(b":")
    lower = name.lower()
    kind = _KINDS.get(lower)
    if kind is None or rest[:1] != b" " or rest[-2:] != _END:
        return literal(line)
    value = _value(kind, rest[1:-2])
    return literal(line) if value is None else HeadLine(_named(kind, name), value, lower)


@lru_cache(maxsize=64)
def _named(kind: int, name: bytes) -> bytes:
    """The field of a header."""
    return field(kind, name + b": ")


def _value(kind: int, value: bytes) -> bytes | None:
    """The value of a field; None if the kind cannot represent it."""
    if kind in _IN_ROW:
        return INHERITED if _is_in_row(value) else None
    if kind == DATE:
        return _seconds(value)
    return packed(int(value)) if _is_number(value) else None


def _seconds(value: bytes) -> bytes | None:
    found = _date(value)
    if found is None or found[2] not in _MONTH:
        return None
    day, year, hour, minute, second = map(int, found.group(1, 3, 4, 5, 6))
    try:
        at = datetime(year, _MONTH[found[2]], day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    seconds = int(at.timestamp())
    fits = 0 <= seconds < 1 << 32 and _shown(seconds) == value
    return seconds.to_bytes(4, "big") if fits else None


def _shown(seconds: int) -> bytes:
    """An instant as an HTTP date."""
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{_DAYS[at.weekday()]}, {at.day:02d} {_MONTHS[at.month - 1]} {at:%Y %H:%M:%S} GMT".encode()


class HeadEncoder:
    """Encodes heads, and learns which headers vary.

    What it has learned changes the size of heads, never their content.
    """

    def __init__(self) -> None:
        self._templates: dict[bytes, bytes] = {}
        self._usual: dict[tuple[bytes, bytes], tuple[bytes, bytes]] = {}
        self._size = 0
        self._seen: dict[bytes, set[int]] = {}
        self._varying: set[bytes] = set()

    def head(self, request: bytes, given: bytes, raw: Sequence[bytes], found: Mapping[bytes, str]) -> Head:
        """`request` is the request part of the template, `given` its values; `raw` are the lines of the response,
        and `found` has those of its headers in which most heads differ."""
        response = skeleton = b"".join(raw)
        for name, mark in _TEXT_MARKS:
            text = found.get(name)
            if text:
                skeleton = skeleton.replace(b": " + text.encode() + _END, mark, 1)
        values = {}
        for name, mark in _NUMBER_MARKS:
            text = found.get(name)
            coded = _number(name, text) if text else None
            if text and coded:
                values[name] = coded
                skeleton = skeleton.replace(b": " + text.encode() + _END, mark, 1)
        usual = self._usual.get((request, skeleton))
        if usual is None:
            known, after = self._learn(request, raw, skeleton, found)
        else:
            known, after = usual[0], usual[1] % values
        return Head(known, crc32(response).to_bytes(_START, "big") + given + after)

    def _learn(
        self, request: bytes, raw: Sequence[bytes], skeleton: bytes, row: Mapping[bytes, str]
    ) -> tuple[bytes, bytes]:
        """Encode a head line by line. A value that differs from the row is written out."""
        found = []
        for given in raw:
            line = read_line(given)
            is_other = (
                line.field[0] in _IN_ROW and given[len(line.name) + 2 : -2] != row.get(line.name, "").encode()
            )
            found.append(_spelled(line, given) if is_other or self._varies(line, given) else line)
        template = self._kept(request + b"".join([line.field for line in found]))
        is_usual = all(line.field[0] != TEXT for line in found)
        if is_usual and b"".join(map(_marked, found, raw)) == skeleton:
            self._size += len(skeleton)
            self._usual[request, skeleton] = template, b"".join(map(_pattern, found))
        return template, b"".join([line.value for line in found])

    def _kept(self, template: bytes) -> bytes:
        if self._size > MOST_KEPT:
            self._templates.clear()
            self._usual.clear()
            self._size = 0
        if template not in self._templates:
            self._size += len(template)
        return self._templates.setdefault(template, template)

    def _varies(self, line: HeadLine, whole: bytes) -> bool:
        """Whether a header has had so many values that this one does not become part of a template."""
        if line.field[0] != LITERAL or b":" not in whole:
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


@lru_cache(maxsize=256)
def _number(name: bytes, text: str) -> bytes | None:
    """The value of a date or length; None if it has an unusual form."""
    return _value(_KINDS[name], text.encode())


def _marked(line: HeadLine, raw: bytes) -> bytes:
    """A line with its placeholder, if it has the usual form."""
    mark = _MARK_OF.get(line.name) if line.field[0] not in (LITERAL, TEXT) else None
    return raw if mark is None else raw[: len(line.name)] + mark


def _pattern(line: HeadLine) -> bytes:
    """The function that encodes the value of a line; an unmarked one is the same for the whole skeleton."""
    if line.field[0] in (DATE, NUMBER) and line.name in _MARK_OF:
        return b"%(" + line.name + b")b"
    return line.value.replace(b"%", b"%%")


def _spelled(line: HeadLine, whole: bytes) -> HeadLine:
    """A line with its literal value."""
    name = whole[: len(line.name) + 1]
    return HeadLine(field(TEXT, name), text(whole[len(name) :]), line.name)


def _checked(response: bytes) -> bytes:
    """The start of values: a zero, and a checksum of the response."""
    return crc32(response).to_bytes(_START, "big")


def whole(exchange: Exchange) -> Head:
    """A head that can be decoded without a row."""
    return Head(_WHOLE, _checked(exchange.response) + text(exchange.request) + text(exchange.response))


_WHOLE = field(TEXT) + field(BORDER) + field(TEXT)


def decode(head: Head, url: str, etag: str | None, last_modified: str | None) -> Exchange:
    """Decode the heads; ValueError if they are damaged."""
    try:
        found, values = _decoded(head, url, {ETAG: etag, MODIFIED: last_modified})
    except (LookupError, OverflowError, OSError) as error:
        raise ValueError("the head cannot be decoded") from error
    if values.left or found is None:
        raise ValueError("the head has more values than its template, or no end of the request")
    if _checked(found.response) != head.values[:_START]:
        raise ValueError("the head does not match its checksum")
    return found


def _decoded(head: Head, url: str, row: Mapping[int, str | None]) -> tuple[Exchange | None, _ByteReader]:
    fields, values = _ByteReader(head.template), _ByteReader(head.values, _START)
    request, out = None, bytearray()
    while fields.left:
        kind = fields.take(1)[0]
        out += fields.take(fields.number())
        if kind == BORDER:
            request, out = bytes(out), bytearray()
        elif kind != LITERAL:
            out += _read(kind, values, url, row)
    return (None if request is None else Exchange(request, bytes(out))), values


def _read(kind: int, values: _ByteReader, url: str, row: Mapping[int, str | None]) -> bytes:
    if kind == TARGET:
        return target(url).encode()
    if kind == HOST:
        return host(url).encode() + _END
    if kind == DATE:
        return _shown(int.from_bytes(values.take(4), "big")) + _END
    if kind == NUMBER:
        return b"%d\r\n" % values.number()
    length = values.number()
    if kind == TEXT:
        return values.take(length - 1)
    return (values.take(length - 1) if length else (row[kind] or "").encode()) + _END


def target(url: str) -> str:
    """The request target of a URL."""
    return url[url.index("/", 8) :]


def host(url: str) -> str:
    """The Host header of a URL. Canonical URLs have no default port."""
    start = url.index("//") + 2
    return url[start : url.index("/", start)]


class _ByteReader:
    """Reads bytes in sequence; IndexError if there are not enough."""

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
