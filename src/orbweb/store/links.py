"""The packed record of a page's links.

A version byte, the count, the ids of the targets in document order as 32-bit little-endian numbers, then one flag
byte per link. One record per page instead of one row per link keeps commits fast and the database small.
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
"""Links, then resources. A kind is stored as its index: new ones go to the end, at most 128."""
LOADED = frozenset(KINDS[KINDS.index("script") :])
NOFOLLOW = 0x80
FLAGS = {(kind, nofollow): code | (NOFOLLOW if nofollow else 0)
         for code, kind in enumerate(KINDS) for nofollow in (False, True)}  # fmt: skip

EDGES = {flag: edge for edge, flag in FLAGS.items()}
_IS_LOADED = bytes(code in EDGES and EDGES[code][0] in LOADED for code in range(256))
_KNOWN = bytes(EDGES)
_HEAD = struct.Struct("<BI")


class Outlink(NamedTuple):
    """One edge of the link graph."""

    target: int
    kind: str
    nofollow: bool


def pack(targets: Sequence[int], flags: bytes) -> bytes:
    """Targets are ids of URLs of the same run; flags are values of FLAGS."""
    ids = array("I", targets)
    if sys.byteorder == "big":
        ids.byteswap()
    return _HEAD.pack(VERSION, len(targets)) + ids.tobytes() + flags


def unpack(packed: bytes) -> Iterator[Outlink]:
    """The edges in document order; StoreError if the record is damaged."""
    for target, flag in zip(*edges(packed), strict=True):
        yield Outlink(target, *EDGES[flag])


def targets(packed: bytes) -> array[int]:
    """The target ids; as `edges`, without checking the flags."""
    if len(packed) < _HEAD.size or packed[0] != VERSION:
        raise StoreError(f"damaged outlink record of {len(packed)} bytes")
    ids = array("I", packed[_HEAD.size : _HEAD.size + 4 * _HEAD.unpack_from(packed)[1]])
    if sys.byteorder == "big":
        ids.byteswap()
    return ids


def followable(packed: bytes) -> array[int]:
    """As `targets`, without resources."""
    ids = targets(packed)
    return ids[: followed(packed[_HEAD.size + 4 * len(ids) :])]


def followed(flags: bytes) -> int:
    """The number of links among edges with these flags: in a record links come first, then resources."""
    loaded = flags.translate(_IS_LOADED).find(b"\1")
    return len(flags) if loaded < 0 else loaded


def edges(packed: bytes) -> tuple[array[int], bytes]:
    """All targets and the flag of each; StoreError if the record is damaged."""
    count = _HEAD.unpack_from(packed)[1] if len(packed) >= _HEAD.size else 0
    flags = packed[_HEAD.size + 4 * count :]
    if len(flags) != count or flags.translate(None, _KNOWN):
        raise StoreError(f"damaged outlink record of {len(packed)} bytes, {count} targets")
    return targets(packed), flags


def renumbered(packed: bytes, numbers: Sequence[int]) -> bytes | None:
    """The record with each id replaced by `numbers[id]`; None if one of them is missing or 0."""
    ids, flags = edges(packed)
    try:
        ids = array("I", map(numbers.__getitem__, ids))
    except IndexError:
        return None
    return pack(ids, flags) if all(ids) else None
