"""Reads rows from single pages of a database file whose trees are broken, by SQLite's page and record format.

An invalid cell is skipped, and no content of a page raises an exception. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

INTERIOR_INDEX, LEAF_INDEX, LEAF_TABLE = 0x02, 0x0A, 0x0D

_HEADER = {INTERIOR_INDEX: 12, LEAF_INDEX: 8, LEAF_TABLE: 8}
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_MOST_PAYLOAD = 1 << 30

Value = int | float | str | bytes | None


class Cell(NamedTuple):
    """A record as stored; `rowid` is None in a table without rowid."""

    rowid: int | None
    values: tuple[Value, ...]


class InvalidRecord(Exception):
    """The bytes are not a record."""


def cells(pages: Sequence[bytes], number: int) -> list[Cell]:
    """The records on a page (numbered from 1); empty if it is not a page with records."""
    page = pages[number - 1]
    header = _HEADER.get(page[0])
    if header is None or number == 1:
        return []
    count = int.from_bytes(page[3:5], "big")
    if header + 2 * count > len(page):
        return []
    found = []
    for at in range(header, header + 2 * count, 2):
        try:
            found.append(_cell(pages, page, int.from_bytes(page[at : at + 2], "big")))
        except (InvalidRecord, IndexError):
            continue
    return found


def _cell(pages: Sequence[bytes], page: bytes, at: int) -> Cell:
    kind = page[0]
    if kind == INTERIOR_INDEX:
        at += 4
    size, at = _varint(page, at)
    rowid = None
    if kind == LEAF_TABLE:
        rowid, at = _varint(page, at)
    return Cell(rowid, _record(_payload(pages, page, at, size, is_table=kind == LEAF_TABLE)))


def _payload(pages: Sequence[bytes], page: bytes, at: int, size: int, *, is_table: bool) -> bytes:
    """The bytes of a record, with those on overflow pages."""
    usable = len(page)
    least = (usable - 12) * 32 // 255 - 23
    most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
    if size <= most:
        return _exactly(page, at, size)
    if size > _MOST_PAYLOAD:
        raise InvalidRecord
    local = least + (size - least) % (usable - 4)
    local = local if local <= most else least
    parts, left = [_exactly(page, at, local)], size - local
    following = int.from_bytes(_exactly(page, at + local, 4), "big")
    while left > 0:
        if not 1 < following <= len(pages):
            raise InvalidRecord
        overflow = pages[following - 1]
        parts.append(overflow[4 : 4 + min(left, usable - 4)])
        left -= len(parts[-1])
        following = int.from_bytes(overflow[:4], "big")
    return b"".join(parts)


def _exactly(data: bytes, at: int, size: int) -> bytes:
    part = data[at : at + size]
    if len(part) != size:
        raise InvalidRecord
    return part


def _record(payload: bytes) -> tuple[Value, ...]:
    size, at = _varint(payload, 0)
    if not at <= size <= len(payload):
        raise InvalidRecord
    kinds = []
    while at < size:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != size:
        raise InvalidRecord
    return tuple(_values(payload, at, kinds))


def _values(payload: bytes, at: int, kinds: Sequence[int]) -> Iterator[Value]:
    for kind in kinds:
        value, at = _value(payload, at, kind)
        yield value
    if at != len(payload):
        raise InvalidRecord


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind == 0:
        return None, at
    if kind in _INTEGER_BYTES:
        end = at + _INTEGER_BYTES[kind]
        return int.from_bytes(_exactly(payload, at, end - at), "big", signed=True), end
    if kind == 7:
        return struct.unpack(">d", _exactly(payload, at, 8))[0], at + 8
    if kind in (8, 9):
        return kind - 8, at
    if kind < 12:
        raise InvalidRecord
    size = (kind - 12) // 2
    part = _exactly(payload, at, size)
    return (part.decode("utf-8", "surrogateescape") if kind % 2 else part), at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(9):
        byte = data[at + step]
        if step == 8:
            value = (value << 8) | byte
            return (value - (1 << 64) if value >= 1 << 63 else value), at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + step + 1
    raise InvalidRecord
