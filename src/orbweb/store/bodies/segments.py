"""Bodies in segments: append-only files of many bodies, each behind a header that says what it is.

Owns `segments/NNNN.seg` below the store, its format, its writer and its scan.

Always: a group is one fdatasync, a segment has one writer at a time, and its numbers only grow. Bytes past
the committed end of a segment belong to no row.

Never: rewrites a committed byte, writes to a segment it did not make or resume, or needs the database to
say what a segment holds.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from orbweb.errors import CorruptBody, StoreError
from orbweb.failpoints import failpoint
from orbweb.model import Blob
from orbweb.store import workspace_files
from orbweb.store.bodies import (
    GROUP_BYTES,
    Decompressor,
    Location,
    StoreFolder,
    WriteGate,
    no_writer,
    unpack,
    write_all,
)

SEGMENT_BYTES = 256 * 1024 * 1024
SEGMENT_HEADER = b"orbseg" + (1).to_bytes(2, "little")

_RECORD_MAGIC = b"\xf5ORB"
_RECORD_FIELDS = struct.Struct("<4s32sQQ")
RECORD_HEADER_BYTES = _RECORD_FIELDS.size + 4


class SegmentStore:
    """Bodies in `segments/NNNN.seg`: one write and one fdatasync a group.

    `allocate` hands out growing segment numbers; without it the store only reads. `resume` is the segment
    this writer last committed to and its committed length, the `offset + length` of the last location
    in it. Whatever lies beyond is the rest of a crash and is cut off.
    """

    def __init__(
        self,
        root: Path,
        *,
        allocate: Callable[[], int] | None = None,
        resume: tuple[int, int] | None = None,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self._directory = root / "segments"
        self._inside = StoreFolder(root)
        self._allocate = allocate or no_writer
        self._segment_bytes = segment_bytes
        self._gate = WriteGate()
        self._tail: _Tail | None = None
        self._group: dict[bytes, Location] = {}
        self._buffer = bytearray()
        if allocate is not None:
            self._open(resume)

    def put(self, blob: Blob) -> Location:
        self._gate.check()
        known = self._group.get(blob.sha256)
        if known is not None:
            return known
        tail = self._tail_of_group()
        length = len(blob.frame)
        self._buffer += _record_header(blob.sha256, length, blob.size)
        location = Location(tail.number, tail.written + len(self._buffer), length, blob.size)
        self._buffer += blob.frame
        self._group[blob.sha256] = location
        if len(self._buffer) >= GROUP_BYTES:
            self._write(tail)
        return location

    def sync(self) -> None:
        self._gate.check()
        tail = self._tail
        if tail is None or not self._group:
            return
        self._write(tail)
        failpoint("blob_written")
        with self._gate.writing(tail.path):
            os.fdatasync(tail.fd)
            if tail.fresh:
                self._inside.sync_directory("segments")
                tail.fresh = False
        failpoint("blob_synced")
        self._group.clear()

    def read(self, sha256: bytes, location: Location, decompressor: Decompressor | None = None) -> bytes:
        self._gate.check()
        segment, offset, length, size = location
        if segment is None or offset is None:
            raise StoreError(f"body {sha256.hex()} is kept as a file, not in a segment")
        path = self._path(segment)
        where = f"{path} at offset {offset}"
        record = self._read_at(segment, offset - RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + length)
        if len(record) < RECORD_HEADER_BYTES + length:
            raise CorruptBody(f"{where}: the segment ends inside the body")
        if record[:RECORD_HEADER_BYTES] != _record_header(sha256, length, size):
            raise CorruptBody(f"{where}: the record header is damaged or of another body")
        return unpack(record[RECORD_HEADER_BYTES:], size, sha256, where=where, decompressor=decompressor)

    def close(self) -> None:
        self._gate.shut("the body store is closed")
        if self._tail is not None:
            os.close(self._tail.fd)
            self._tail = None

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:04d}.seg"

    def _open(self, resume: tuple[int, int] | None) -> None:
        with self._gate.writing(self._directory):
            self._inside.make_top("segments", 0o700)
        if resume is not None:
            self._tail = self._reopened(*resume)

    def _tail_of_group(self) -> _Tail:
        tail = self._tail
        if tail is not None and (self._group or tail.written < self._segment_bytes):
            return tail
        self._tail = self._new_tail(-1 if tail is None else tail.number)
        if tail is not None:
            os.close(tail.fd)
        self._buffer += SEGMENT_HEADER
        return self._tail

    def _new_tail(self, last: int) -> _Tail:
        """A segment nobody has: a file left by a crash keeps its number and is passed over."""
        while True:
            number = self._allocate()
            if number <= last:
                raise StoreError(f"segment number {number} was handed out after {last}")
            last = number
            path = self._path(number)
            with self._gate.writing(path):
                fd = self._create(_name(number), 0o600)
            if fd is not None:
                return _Tail(number, path, fd, written=0, fresh=True)

    def _write(self, tail: _Tail) -> None:
        with self._gate.writing(tail.path):
            write_all(tail.fd, self._buffer, tail.written)
        tail.written += len(self._buffer)
        self._buffer.clear()

    def _reopened(self, number: int, committed: int) -> _Tail:
        """An existing segment, cut back to its committed length."""
        path = self._path(number)
        try:
            with contextlib.ExitStack() as undo:
                fd = self._inside.open_file(_name(number), os.O_RDWR)
                undo.callback(os.close, fd)
                _cut_back(fd, path, committed)
                undo.pop_all()
        except OSError as error:
            raise StoreError(f"cannot reopen {path} at {committed} committed bytes: {error.strerror}") from error
        return _Tail(number, path, fd, written=committed, fresh=False)

    def _create(self, name: Path, mode: int) -> int | None:
        """A new file with exactly these permissions, or None where one lies already."""
        try:
            fd = self._inside.open_file(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            return None
        os.fchmod(fd, mode)
        return fd

    def _read_at(self, number: int, offset: int, length: int) -> bytes:
        path = self._path(number)
        try:
            fd = self._inside.open_file(_name(number), os.O_RDONLY)
            try:
                return os.pread(fd, length, offset)
            finally:
                os.close(fd)
        except FileNotFoundError:
            raise CorruptBody(f"{path}: the segment is missing") from None
        except OSError as error:
            raise StoreError(f"cannot read {path} at offset {offset}: {error.strerror}") from error


def _name(number: int) -> Path:
    return Path("segments", f"{number:04d}.seg")


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A whole record found in a segment; `offset` and `length` as in its location."""

    sha256: bytes
    offset: int
    length: int
    size: int


@dataclass(frozen=True, slots=True)
class DamagedStretch:
    """A stretch of a segment that holds no whole record."""

    offset: int
    length: int
    reason: str


def scan(path: Path, decompressor: Decompressor | None = None) -> Iterator[SegmentRecord | DamagedStretch]:
    """Everything in a segment, in order and verified, without the database.

    Needs no committed length: a torn tail shows as damage at the end. After damage it goes on at the next
    record whose header is whole.
    """
    with workspace_files.stream(path.parent, path.name) as stream:
        end = os.fstat(stream.fileno()).st_size
        position = min(len(SEGMENT_HEADER), end)
        if stream.read(len(SEGMENT_HEADER)) != SEGMENT_HEADER:
            yield DamagedStretch(0, position, "no segment header of a known version")
        while position < end:
            found = _examine(stream, position, end, decompressor)
            yield found
            position = found.offset + found.length


def _examine(
    stream: BinaryIO, position: int, end: int, decompressor: Decompressor | None
) -> SegmentRecord | DamagedStretch:
    """What begins at `position`."""
    stream.seek(position)
    header = _parsed_header(stream.read(RECORD_HEADER_BYTES))
    if header is None:
        return DamagedStretch(
            position, _next_record(stream, position + 1, end) - position, "no whole record header"
        )
    sha256, length, size = header
    offset = position + RECORD_HEADER_BYTES
    if offset + length > end:
        return DamagedStretch(position, end - position, "the record is cut short")
    try:
        unpack(stream.read(length), size, sha256, where=f"offset {offset}", decompressor=decompressor)
    except CorruptBody as error:
        return DamagedStretch(position, RECORD_HEADER_BYTES + length, str(error))
    return SegmentRecord(sha256, offset, length, size)


def _next_record(stream: BinaryIO, position: int, end: int) -> int:
    """Where the next whole record header begins, or the end."""
    while position < end:
        stream.seek(position)
        chunk = stream.read(GROUP_BYTES + RECORD_HEADER_BYTES - 1)
        at = chunk.find(_RECORD_MAGIC)
        while at != -1:
            if _parsed_header(chunk[at : at + RECORD_HEADER_BYTES]) is not None:
                return position + at
            at = chunk.find(_RECORD_MAGIC, at + 1)
        position += GROUP_BYTES
    return end


def _record_header(sha256: bytes, length: int, size: int) -> bytes:
    fields = _RECORD_FIELDS.pack(_RECORD_MAGIC, sha256, length, size)
    return fields + zlib.crc32(fields).to_bytes(4, "little")


def _parsed_header(data: bytes) -> tuple[bytes, int, int] | None:
    """Hash, frame length and size of a whole record header, else None."""
    if len(data) < RECORD_HEADER_BYTES:
        return None
    magic, sha256, length, size = _RECORD_FIELDS.unpack_from(data)
    if magic != _RECORD_MAGIC or data != _record_header(sha256, length, size):
        return None
    return sha256, length, size


@dataclass(slots=True)
class _Tail:
    """The segment being written; `written` bytes are in the file, `fresh` until its name is durable."""

    number: int
    path: Path
    fd: int
    written: int
    fresh: bool


def _cut_back(fd: int, path: Path, committed: int) -> None:
    if os.pread(fd, len(SEGMENT_HEADER), 0) != SEGMENT_HEADER:
        raise StoreError(f"{path} is not a segment of a known version; run `orbweb doctor`")
    length = os.fstat(fd).st_size
    if not len(SEGMENT_HEADER) <= committed <= length:
        raise StoreError(
            f"{path} has {length} bytes, but {committed} were committed: bodies are lost; run `orbweb doctor`"
        )
    os.ftruncate(fd, committed)
