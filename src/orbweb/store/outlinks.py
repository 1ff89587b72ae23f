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

from orbweb.errors import StoreError

VERSION = 1
KINDS = (
    *("a", "area", "iframe", "frame", "next", "alternate", "refresh", "redirect"),
    *("script", "style", "image", "font", "media", "other"),
)
"""Links, then resources. A kind's number is stored: new ones go to the end, and there may be 128."""
LOADED = frozenset(KINDS[KINDS.index("script") :])
NOFOLLOW = 0x80
FLAGS = {(kind, nofollow): code | (NOFOLLOW if nofollow else 0)
         for code, kind in enumerate(KINDS) for nofollow in (False, True)}  # fmt: skip

EDGES = {flag: edge for edge, flag in FLAGS.items()}
_IS_LOADED = bytes(code in EDGES and EDGES[code][0] in LOADED for code in range(256))
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
    """The edges in document order; StoreError for what `pack` cannot have written."""
    for target, flag in edges(packed):
        yield Outlink(target, *EDGES[flag])


def targets(packed: bytes) -> array[int]:
    """The ids that the edges lead to; as `edges`, without a look at the flags."""
    if len(packed) < _HEAD.size or packed[0] != VERSION:
        raise StoreError(f"damaged outlink record of {len(packed)} bytes")
    ids = array("I", packed[_HEAD.size : _HEAD.size + 4 * _HEAD.unpack_from(packed)[1]])
    if sys.byteorder == "big":
        ids.byteswap()
    return ids


def followable(packed: bytes) -> array[int]:
    """As `targets`, without what the page only loads; links come first in a record."""
    ids = targets(packed)
    flags = packed[_HEAD.size + 4 * len(ids) :]
    loaded = flags.translate(_IS_LOADED).find(b"\1")
    return ids if loaded < 0 else ids[:loaded]


def edges(packed: bytes) -> list[tuple[int, int]]:
    """As `unpack`, each as its target and its flag."""
    if len(packed) < _HEAD.size:
        raise StoreError(f"damaged outlink record of {len(packed)} bytes")
    version, count = _HEAD.unpack_from(packed)
    flags = packed[_HEAD.size + 4 * count :]
    if version != VERSION or len(flags) != count or not EDGES.keys() >= set(flags):
        raise StoreError(f"damaged outlink record of {len(packed)} bytes, version {version}, count {count}")
    ids = array("I", packed[_HEAD.size : _HEAD.size + 4 * count])
    if sys.byteorder == "big":
        ids.byteswap()
    return list(zip(ids, flags, strict=True))
