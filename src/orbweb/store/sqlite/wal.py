"""The write-ahead log of a database file: its damage, and the pages of its transactions. Only reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

PAGE_BYTES = 4096
"""The page size of every database of ours: SQLite's default, which is never changed."""

_LOG_HEAD = struct.Struct(">8I")
_FRAME_HEAD = struct.Struct(">6I")
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_LOG_VERSION = 3_007_000
_MOST_CHECKPOINTS = 200
"""How many checkpoint numbers are tried to restore a header; a log starts over when the last process closes it."""


def log_of(path: Path) -> Path:
    """The path of the write-ahead log of a database."""
    return path.with_name(path.name + "-wal")


class Frame(NamedTuple):
    """A frame of the log: whether it ends a transaction, whether both salts are the log's, its stored checksum,
    and whether its bytes give that checksum, continued from the frame before."""

    commits: bool
    ours: bool
    claimed: tuple[int, int]
    follows: bool


def damage(path: Path) -> str | None:
    """Where the log was damaged after it was synced, because SQLite silently drops every transaction from there
    on.

    A torn tail is what a power cut leaves, not damage: it was not synced yet. A transaction is synced before the
    next one is written, so a bad frame is damage only if another transaction follows its own; and the header is
    synced before the first frame.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < _LOG_HEAD.size:
        return None
    magic, _, page, _, *head = _LOG_HEAD.unpack_from(data)
    order = ">" if magic & 1 else "<"
    check = _checksum(data[:24], order, (0, 0))
    sound = magic in _LOG_MAGIC and check == tuple(head[2:]) and page >= 512
    if not sound:
        return _lost_header(data)
    frames = list(_frames(data, page, (head[0], head[1]), order, check))
    at = next((number for number, frame in enumerate(frames) if not (frame.ours and frame.follows)), None)
    if at is None or not _is_followed(frames[at:]):
        return None
    return f"frame {at + 1} is damaged: SQLite drops it and all frames after it"


def _lost_header(data: bytes) -> str | None:
    """An invalid header is damage if valid frames follow it."""
    for order in "<>":
        salts = _FRAME_HEAD.unpack_from(data.ljust(_LOG_HEAD.size + _FRAME_HEAD.size, b"\0"), _LOG_HEAD.size)[2:4]
        if any(frame.ours and frame.follows for frame in _frames(data, PAGE_BYTES, salts, order, (0, 0))):
            return "its header is damaged: SQLite drops the whole log"
    return None


def with_header(data: bytes) -> bytes:
    """Restore a damaged header: the first frame has its salts, and its checksum verifies the rest."""
    if len(data) < _LOG_HEAD.size + _FRAME_HEAD.size + PAGE_BYTES:
        return data
    salts = _FRAME_HEAD.unpack_from(data, _LOG_HEAD.size)[2:4]
    for magic in _LOG_MAGIC:
        order = ">" if magic & 1 else "<"
        for checkpoint in range(_MOST_CHECKPOINTS):
            head = struct.pack(">6I", magic, _LOG_VERSION, PAGE_BYTES, checkpoint, *salts)
            check = _checksum(head, order, (0, 0))
            first = data[: _LOG_HEAD.size + _FRAME_HEAD.size + PAGE_BYTES]
            if next(_frames(first, PAGE_BYTES, salts, order, check)).follows:
                return head + struct.pack(">2I", *check) + data[_LOG_HEAD.size :]
    return data


def _is_followed(frames: Sequence[Frame]) -> bool:
    """Whether a transaction ends among these frames and another one begins right after it."""
    return any(frame.ours and frame.commits and later.ours and later.follows for frame, later in pairwise(frames))


def _frames(data: bytes, page: int, salts: tuple[int, int], order: str, check: tuple[int, int]) -> Iterator[Frame]:
    """Every complete frame; each checksum continues the stored one of the frame before."""
    size = _FRAME_HEAD.size + page
    for start in range(_LOG_HEAD.size, len(data) - size + 1, size):
        frame = data[start : start + size]
        _, pages, *rest = _FRAME_HEAD.unpack_from(frame)
        claimed = (rest[2], rest[3])
        found = _checksum(frame[24:], order, _checksum(frame[:8], order, check))
        yield Frame(bool(pages), (rest[0], rest[1]) == salts, claimed, found == claimed)
        check = claimed


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    first, second = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second


def pages(path: Path) -> Iterator[tuple[int, bytes]]:
    """The numbers and contents of the pages of complete transactions in the log, up to the first bad frame."""
    if not path.exists() or path.stat().st_size < _LOG_HEAD.size:
        return
    data = path.read_bytes()
    magic, _, page, _, *head = _LOG_HEAD.unpack_from(data)
    order = ">" if magic & 1 else "<"
    check = _checksum(data[:24], order, (0, 0))
    if magic not in _LOG_MAGIC or check != tuple(head[2:]) or page != PAGE_BYTES:
        return
    waiting: list[tuple[int, bytes]] = []
    size = _FRAME_HEAD.size + page
    for at, frame in enumerate(_frames(data, page, (head[0], head[1]), order, check)):
        if not (frame.ours and frame.follows):
            return
        start = _LOG_HEAD.size + at * size
        waiting.append((_FRAME_HEAD.unpack_from(data, start)[0], data[start + _FRAME_HEAD.size : start + size]))
        if frame.commits:
            yield from waiting
            waiting = []
