"""The packed record of a page's links.

A version byte, the count, the ids of the targets in document order as 32-bit little-endian numbers, then
one flag byte a link. One record a page instead of one row an edge keeps the hot path and the file small.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

VERSION = 1
KINDS = ("a", "area", "iframe", "frame", "next", "alternate", "refresh", "redirect")
NOFOLLOW = 0x80
FLAGS = {(kind, nofollow): code | (NOFOLLOW if nofollow else 0)
         for code, kind in enumerate(KINDS) for nofollow in (False, True)}  # fmt: skip

_HEAD = struct.Struct("<BI")


class Outlink(NamedTuple):
    """One edge of the link graph."""

    target: int
    kind: str
    nofollow: bool


def pack(targets: Sequence[int], flags: bytes) -> bytes:
    """Targets are ids of `urls` in the same run; flags come from FLAGS."""
    ids = array("I", targets)
    if sys.byteorder == "big":
        ids.byteswap()
    return _HEAD.pack(VERSION, len(targets)) + ids.tobytes() + flags


def unpack(packed: bytes) -> Iterator[Outlink]:
    """The edges in document order."""
    version, count = _HEAD.unpack_from(packed)
    if version != VERSION or len(packed) != _HEAD.size + 5 * count:
        raise ValueError(f"outlink record of {len(packed)} bytes, version {version}, count {count}")
    ids = array("I", packed[_HEAD.size : _HEAD.size + 4 * count])
    if sys.byteorder == "big":
        ids.byteswap()
    for target, flag in zip(ids, packed[_HEAD.size + 4 * count :], strict=True):
        yield Outlink(target, KINDS[flag & ~NOFOLLOW], bool(flag & NOFOLLOW))
