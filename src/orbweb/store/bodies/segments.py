"""Body store in segments: append-only files `segments/NNNN.seg` of many bodies, each after a header.

A group is one fdatasync, a segment has one writer at a time, and segment numbers only grow. Committed bytes are
never rewritten; bytes after the committed end of a segment belong to no row. A segment can be scanned without the
database.
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

from orbweb.errors import CorruptBody, StoreError, call
from orbweb.failpoints import failpoint
from orbweb.model import Blob
from orbweb.store import durable, workspace_files
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
from orbweb.store.workspace_files import PRIVATE, FileModes
from orbweb.store.workspace_paths import AnchoredPath

SEGMENT_BYTES = 256 * 1024 * 1024
SEGMENT_HEADER = b"orbseg" + (1).to_bytes(2, "little")

_RECORD_MAGIC = b"\xf5ORB"
_RECORD_FIELDS = struct.Struct("<4s32sQQ")
RECORD_HEADER_BYTES = _RECORD_FIELDS.size + 4


class SegmentStore:
    """Bodies in `segments/NNNN.seg`: one write and one fdatasync per group.

    `allocate` returns growing segment numbers; without it the store is read-only. `resume` is the segment that
    this writer last committed to and its committed length, the `offset + length` of its last location. Bytes
    beyond were left by a crash and are truncated; StoreError if some before it are missing (see `loss`).
    """

    def __init__(
        self,
        root: Path | AnchoredPath,
        *,
        allocate: Callable[[], int] | None = None,
        resume: tuple[int, int] | None = None,
        segment_bytes: int = SEGMENT_BYTES,
        modes: FileModes = PRIVATE,
    ) -> None:
        self._inside = StoreFolder(root)
        self._directory = self._inside.path / "segments"
        self._modes = modes
        self._allocate = allocate or no_writer
        self._segment_bytes = segment_bytes
        self._gate = WriteGate()
        self._tail: _Tail | None = None
        self._looked_at: tuple[int, int] | None = None
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
            durable.sync_data(tail.fd)
            if tail.fresh:
                self._inside.sync_directory("segments")
                tail.fresh = False
        failpoint("blob_synced")
        self._group.clear()

    def read(self, sha256: bytes, location: Location, decompressor: Decompressor | None = None) -> bytes:
        frame = self.read_frame(sha256, location)
        where = f"{self._path(location.segment or 0)} at offset {location.offset}"
        return unpack(frame, location.size, sha256, where=where, decompressor=decompressor)

    def read_frame(self, sha256: bytes, location: Location) -> bytes:
        """The compressed body, with its header verified."""
        self._gate.check()
        segment, offset, length, size = location
        if segment is None or offset is None:
            raise StoreError(f"body {sha256.hex()} is stored as a file, not in a segment")
        path = self._path(segment)
        where = f"{path} at offset {offset}"
        record = self._read_at(segment, offset - RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + length)
        if len(record) < RECORD_HEADER_BYTES + length:
            raise CorruptBody(f"{where}: the segment ends inside the body")
        if record[:RECORD_HEADER_BYTES] != _record_header(sha256, length, size):
            raise CorruptBody(f"{where}: the record header is damaged or belongs to another body")
        return record[RECORD_HEADER_BYTES:]

    def has(self, sha256: bytes, location: Location) -> bool:
        """Whether a record of the body is at its place, by its header and the length of the segment."""
        segment, offset, length, size = location
        if segment is None or offset is None:
            return False
        try:
            fd = self._look_at(segment)
            header = os.pread(fd, RECORD_HEADER_BYTES, offset - RECORD_HEADER_BYTES)
            return header == _record_header(sha256, length, size) and os.fstat(fd).st_size >= offset + length
        except OSError:
            return False

    def verify(self, blob: Blob, location: Location) -> None:
        """StoreError unless the record is this body; it is unpacked only if it was compressed differently."""
        if self.read_frame(blob.sha256, location) != blob.frame:
            self.read(blob.sha256, location)

    def close(self) -> None:
        self._gate.shut("the body store is closed")
        self._look_away()
        if self._tail is not None:
            os.close(self._tail.fd)
            self._tail = None

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:04d}.seg"

    def _open(self, resume: tuple[int, int] | None) -> None:
        with self._gate.writing(self._directory):
            self._inside.make_top("segments", self._modes.folder)
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
        """Open a new segment; the number of a file left by a crash is skipped."""
        while True:
            number = self._allocate()
            if number <= last:
                raise StoreError(f"segment number {number} was allocated after {last}")
            last = number
            path = self._path(number)
            with self._gate.writing(path):
                fd = self._create(_name(number))
            if fd is not None:
                return _Tail(number, path, fd, written=0, fresh=True)

    def _write(self, tail: _Tail) -> None:
        with self._gate.writing(tail.path):
            write_all(tail.fd, self._buffer, tail.written)
        tail.written += len(self._buffer)
        self._buffer.clear()

    def _reopened(self, number: int, committed: int) -> _Tail:
        """An existing segment, truncated to its committed length."""
        path = self._path(number)
        try:
            with contextlib.ExitStack() as undo:
                fd = self._inside.open_file(_name(number), os.O_RDWR)
                undo.callback(os.close, fd)
                _cut_back(fd, path, committed)
                workspace_files.take_mode(fd, self._modes.file)
                undo.pop_all()
        except OSError as error:
            raise StoreError(f"cannot reopen {path} at {committed} committed bytes: {error.strerror}") from error
        return _Tail(number, path, fd, written=committed, fresh=False)

    def _create(self, name: Path) -> int | None:
        """A new file, or None if it exists."""
        try:
            fd = self._inside.open_file(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return None
        workspace_files.take_mode(fd, self._modes.file)
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

    def _look_at(self, number: int) -> int:
        """The segment, open until another one is looked at: a recrawl asks for its bodies one after the other."""
        if self._looked_at is None or self._looked_at[0] != number:
            self._look_away()
            self._looked_at = number, self._inside.open_file(_name(number), os.O_RDONLY)
        return self._looked_at[1]

    def _look_away(self) -> None:
        if self._looked_at is not None:
            os.close(self._looked_at[1])
            self._looked_at = None


def _name(number: int) -> Path:
    return Path("segments", f"{number:04d}.seg")


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A valid record of a segment; `offset` and `length` as in its location."""

    sha256: bytes
    offset: int
    length: int
    size: int


@dataclass(frozen=True, slots=True)
class DamagedStretch:
    """A part of a segment without a valid record."""

    offset: int
    length: int
    reason: str


def scan(path: Path, decompressor: Decompressor | None = None) -> Iterator[SegmentRecord | DamagedStretch]:
    """Everything in a segment, in order and verified, without the database.

    Needs no committed length: a torn tail is reported as damage at the end. After damage, the scan continues at
    the next record with a valid header.
    """
    with workspace_files.stream(path.parent, path.name) as stream:
        end = os.fstat(stream.fileno()).st_size
        position = min(len(SEGMENT_HEADER), end)
        if stream.read(len(SEGMENT_HEADER)) != SEGMENT_HEADER:
            yield DamagedStretch(0, position, "not a segment header of a known version")
        while position < end:
            found = _examine(stream, position, end, decompressor)
            yield found
            position = found.offset + found.length


def _examine(
    stream: BinaryIO, position: int, end: int, decompressor: Decompressor | None
) -> SegmentRecord | DamagedStretch:
    """The record or damage at `position`."""
    stream.seek(position)
    header = _parsed_header(stream.read(RECORD_HEADER_BYTES))
    if header is None:
        return DamagedStretch(
            position, _next_record(stream, position + 1, end) - position, "not a valid record header"
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
    """The position of the next valid record header, or the end."""
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
    """Hash, frame length and size of a record header; None if it is invalid."""
    if len(data) < RECORD_HEADER_BYTES:
        return None
    magic, sha256, length, size = _RECORD_FIELDS.unpack_from(data)
    if magic != _RECORD_MAGIC or data != _record_header(sha256, length, size):
        return None
    return sha256, length, size


@dataclass(slots=True)
class _Tail:
    """The segment that is written; `written` bytes are in the file; `fresh` until its name is durable."""

    number: int
    path: Path
    fd: int
    written: int
    fresh: bool


def loss(root: Path | AnchoredPath, number: int, committed: int) -> str | None:
    """Why a segment cannot be written further: it is missing, or lacks bytes that were committed. None if it does
    not, or cannot be opened for another reason."""
    folder = StoreFolder(root)
    path = folder.path / _name(number)
    try:
        fd = folder.open_file(_name(number), os.O_RDONLY)
    except FileNotFoundError:
        return f"{path} is missing, with {committed} bytes that were committed"
    except OSError:
        return None
    try:
        return _shortfall(fd, path, committed)
    finally:
        os.close(fd)


def _shortfall(fd: int, path: Path, committed: int) -> str | None:
    if os.pread(fd, len(SEGMENT_HEADER), 0) != SEGMENT_HEADER:
        return f"{path} is not a segment of a known version"
    length = os.fstat(fd).st_size
    if not len(SEGMENT_HEADER) <= committed <= length:
        return f"{path} has {length} bytes, but {committed} were committed: bodies are lost"
    return None


def _cut_back(fd: int, path: Path, committed: int) -> None:
    problem = _shortfall(fd, path, committed)
    if problem is not None:
        raise StoreError(f"{problem}; run {call('doctor')}")
    os.ftruncate(fd, committed)
