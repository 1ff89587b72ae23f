"""Bodies on disk, kept by the SHA-256 of their decoded bytes.

Owns the body files below `store/` and their two layouts: `segments` (append-only files of many bodies) and
`files` (one file a body). Packing and unpacking are pure and run in any process; each project has a single
writer, and any number of readers.

Always: what `sync` has returned for survives a power cut, what `read` returns has the asked size and hash,
and a store that failed to write is never used again, because after a failed fsync the kernel may report
success for bytes it has dropped. Bytes past the committed end of a segment belong to no row.

Never: decides what is a duplicate across groups (the database knows), rewrites a committed byte, or
unpacks more than a row promised.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn, Protocol

import zstandard

from orbweb.errors import CorruptBody, DiskFull, StoreError, is_disk_full
from orbweb.failpoints import failpoint
from orbweb.model import Blob

SEGMENT_BYTES = 256 * 1024 * 1024
SEGMENT_HEADER = b"orbseg" + (1).to_bytes(2, "little")

_LEVEL = 3
_GROUP_BYTES = 4 * 1024 * 1024
_RECORD_MAGIC = b"\xf5ORB"
_RECORD_FIELDS = struct.Struct("<4s32sQQ")
RECORD_HEADER_BYTES = _RECORD_FIELDS.size + 4

_TEMP_SUFFIX = ".tmp"
_WRITER_NAME = re.compile(r"[A-Za-z0-9_-]+")


class Location(NamedTuple):
    """Where a body lies: `offset` and `length` frame its bytes on disk, `size` is its decoded length.

    In a file of its own a body has no segment and no offset; its path follows from its hash.
    """

    segment: int | None
    offset: int | None
    length: int
    size: int


class BodyStore(Protocol):
    """The one interface of both layouts."""

    def put(self, blob: Blob) -> Location:
        """Take a body into the current group. Not durable, not readable before `sync`."""

    def sync(self) -> None:
        """Make every body of the group durable. Called before the transaction that names them."""

    def read(
        self, sha256: bytes, location: Location, decompressor: zstandard.ZstdDecompressor | None = None
    ) -> bytes:
        """The decoded body, verified; `CorruptBody` names where it is not what was kept."""

    def close(self) -> None:
        """Release everything; a group that was not synced is given up."""


def new_compressor() -> zstandard.ZstdCompressor:
    """A compressor for one thread. No zstd checksum: the SHA-256 verifies."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True, write_checksum=False)


def pack(body: bytes, compressor: zstandard.ZstdCompressor) -> Blob:
    """Hash and compress a body."""
    return Blob(hashlib.sha256(body).digest(), compressor.compress(body), len(body))


def unpack(
    frame: bytes,
    size: int,
    sha256: bytes,
    *,
    where: str,
    decompressor: zstandard.ZstdDecompressor | None = None,
) -> bytes:
    """The body of a frame, or `CorruptBody` saying what is wrong at `where`.

    The library allocates what the frame claims, so the claim is held against `size` first.
    """
    try:
        claimed = zstandard.get_frame_parameters(frame).content_size
        if claimed != size:
            raise CorruptBody(f"{where}: the frame does not hold the {size} bytes that were kept")
        body = (decompressor or zstandard.ZstdDecompressor()).decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptBody(f"{where}: {error}") from error
    return _verified(body, size, sha256, where)


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
        self._allocate = allocate or _no_writer
        self._segment_bytes = segment_bytes
        self._gate = _Gate()
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
        if len(self._buffer) >= _GROUP_BYTES:
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
                _sync_directory(self._directory)
                tail.fresh = False
        failpoint("blob_synced")
        self._group.clear()

    def read(
        self, sha256: bytes, location: Location, decompressor: zstandard.ZstdDecompressor | None = None
    ) -> bytes:
        self._gate.check()
        segment, offset, length, size = location
        if segment is None or offset is None:
            raise StoreError(f"body {sha256.hex()} is kept as a file, not in a segment")
        path = self._path(segment)
        where = f"{path} at offset {offset}"
        record = _read_at(path, offset - RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + length)
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
            _make_top(self._directory, 0o700)
        if resume is not None:
            self._tail = _reopened(resume[0], self._path(resume[0]), resume[1])

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
                fd = _create(path, 0o600)
            if fd is not None:
                return _Tail(number, path, fd, written=0, fresh=True)

    def _write(self, tail: _Tail) -> None:
        with self._gate.writing(tail.path):
            _write_all(tail.fd, self._buffer, tail.written)
        tail.written += len(self._buffer)
        self._buffer.clear()


class FileStore:
    """Bodies in `html/aa/bb/<sha256>.html.zst`, or plain `.html` without `compress`.

    `writer` names whoever writes here, one at a time under one name; without it the store only reads.
    Temporary files lie in `tmp/<writer>/`, so that opening sweeps only what a crash of the same
    writer has left. Either form of a file is read, whatever `compress` says.
    """

    def __init__(
        self,
        root: Path,
        *,
        writer: str | None = None,
        compress: bool = True,
        file_mode: int = 0o600,
        directory_mode: int = 0o700,
    ) -> None:
        self._html = root / "html"
        self._temp = root / "tmp" / (writer or "")
        self._writer = writer
        self._compress = compress
        self._file_mode = file_mode
        self._directory_mode = directory_mode
        self._gate = _Gate()
        self._group: dict[bytes, Location] = {}
        self._waiting: list[tuple[Path, bytes]] = []
        self._waiting_bytes = 0
        self._staged: list[tuple[Path, Path]] = []
        self._serial = 0
        self._dirty: set[Path] = set()
        self._seen_homes = bytearray(1 << 16)
        if writer is not None:
            self._open(writer)

    def put(self, blob: Blob) -> Location:
        self._gate.check()
        if self._writer is None:
            _no_writer()
        known = self._group.get(blob.sha256)
        if known is not None:
            return known
        data = blob.frame if self._compress else self._plain(blob)
        path = self._path(blob.sha256, compressed=self._compress)
        with self._gate.writing(path):
            self._make_home(blob.sha256, path)
            present = _has_size(path, len(data))
        if not present:
            self._wait(path, data)
        location = Location(None, None, len(data), blob.size)
        self._group[blob.sha256] = location
        return location

    def sync(self) -> None:
        self._gate.check()
        if not self._group:
            return
        self._stage()
        for temp, path in self._staged:
            with self._gate.writing(path):
                temp.rename(path)
            failpoint("blob_renamed")
        self._staged.clear()
        for directory in sorted(self._dirty):
            with self._gate.writing(directory):
                _sync_directory(directory)
        self._dirty.clear()
        failpoint("blob_synced")
        self._group.clear()

    def read(
        self, sha256: bytes, location: Location, decompressor: zstandard.ZstdDecompressor | None = None
    ) -> bytes:
        self._gate.check()
        if location.segment is not None:
            raise StoreError(f"body {sha256.hex()} is kept in segment {location.segment}, not as a file")
        for compressed in (self._compress, not self._compress):
            path = self._path(sha256, compressed=compressed)
            data = _read_file(path)
            if data is None:
                continue
            if compressed:
                return unpack(data, location.size, sha256, where=str(path), decompressor=decompressor)
            return _verified(data, location.size, sha256, str(path))
        raise CorruptBody(f"{self._path(sha256, compressed=self._compress)}: the file is missing")

    def close(self) -> None:
        self._gate.shut("the body store is closed")
        if self._writer is not None:
            with contextlib.suppress(OSError):
                _sweep(self._temp)

    def _open(self, writer: str) -> None:
        if not _WRITER_NAME.fullmatch(writer):
            raise StoreError(f"{writer!r} cannot name a writer: use letters, digits, '-' and '_'")
        with self._gate.writing(self._html):
            _make_top(self._html, self._directory_mode)
        with self._gate.writing(self._temp):
            _make_directory(self._temp, 0o700)
            _sweep(self._temp)

    def _path(self, sha256: bytes, *, compressed: bool) -> Path:
        name = sha256.hex()
        return self._html / name[:2] / name[2:4] / (name + (".html.zst" if compressed else ".html"))

    @staticmethod
    def _plain(blob: Blob) -> bytes:
        return unpack(blob.frame, blob.size, blob.sha256, where=f"body {blob.sha256.hex()} as it was given")

    def _make_home(self, sha256: bytes, path: Path) -> None:
        """The directory must be synced even for a file that is there: the crash that left it may not have."""
        home = path.parent
        number = int.from_bytes(sha256[:2], "big")
        if not self._seen_homes[number]:
            _make_directory(home, self._directory_mode)
            self._dirty.update((home.parent, self._html))
            self._seen_homes[number] = 1
        self._dirty.add(home)

    def _wait(self, path: Path, data: bytes) -> None:
        self._waiting.append((path, data))
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _GROUP_BYTES:
            self._stage()

    def _stage(self) -> None:
        """Write what waits to temporary files and make their bytes durable; memory holds one batch."""
        for path, data in self._waiting:
            self._serial += 1
            temp = self._temp / f"{self._serial}{_TEMP_SUFFIX}"
            with self._gate.writing(temp):
                _write_temp(temp, data, self._file_mode)
            self._staged.append((temp, path))
        self._waiting.clear()
        self._waiting_bytes = 0


@dataclass(frozen=True, slots=True)
class Record:
    """A whole record found in a segment; `offset` and `length` as in its location."""

    sha256: bytes
    offset: int
    length: int
    size: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of a segment that holds no whole record."""

    offset: int
    length: int
    reason: str


def scan(path: Path, decompressor: zstandard.ZstdDecompressor | None = None) -> Iterator[Record | Damage]:
    """Everything in a segment, in order and verified, without the database.

    Needs no committed length: a torn tail shows as damage at the end. After damage it goes on at the next
    record whose header is whole.
    """
    with path.open("rb") as stream:
        end = os.fstat(stream.fileno()).st_size
        position = min(len(SEGMENT_HEADER), end)
        if stream.read(len(SEGMENT_HEADER)) != SEGMENT_HEADER:
            yield Damage(0, position, "no segment header of a known version")
        while position < end:
            found = _examine(stream, position, end, decompressor)
            yield found
            position = found.offset + found.length


def _examine(
    stream: BinaryIO, position: int, end: int, decompressor: zstandard.ZstdDecompressor | None
) -> Record | Damage:
    """What begins at `position`."""
    stream.seek(position)
    header = _parsed_header(stream.read(RECORD_HEADER_BYTES))
    if header is None:
        return Damage(position, _next_record(stream, position + 1, end) - position, "no whole record header")
    sha256, length, size = header
    offset = position + RECORD_HEADER_BYTES
    if offset + length > end:
        return Damage(position, end - position, "the record is cut short")
    try:
        unpack(stream.read(length), size, sha256, where=f"offset {offset}", decompressor=decompressor)
    except CorruptBody as error:
        return Damage(position, RECORD_HEADER_BYTES + length, str(error))
    return Record(sha256, offset, length, size)


def _next_record(stream: BinaryIO, position: int, end: int) -> int:
    """Where the next whole record header begins, or the end."""
    while position < end:
        stream.seek(position)
        chunk = stream.read(_GROUP_BYTES + RECORD_HEADER_BYTES - 1)
        at = chunk.find(_RECORD_MAGIC)
        while at != -1:
            if _parsed_header(chunk[at : at + RECORD_HEADER_BYTES]) is not None:
                return position + at
            at = chunk.find(_RECORD_MAGIC, at + 1)
        position += _GROUP_BYTES
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


def _verified(body: bytes, size: int, sha256: bytes, where: str) -> bytes:
    if len(body) != size:
        raise CorruptBody(f"{where}: {len(body)} bytes instead of {size}")
    if hashlib.sha256(body).digest() != sha256:
        raise CorruptBody(f"{where}: the body does not match its SHA-256 {sha256.hex()}")
    return body


def _no_writer() -> NoReturn:
    raise StoreError("this body store was opened for reading only")


class _Gate:
    """Open until the first failed write or the close, then shut for good."""

    __slots__ = ("_cause", "_reason")

    def __init__(self) -> None:
        self._reason = ""
        self._cause: OSError | None = None

    def check(self) -> None:
        if self._reason:
            raise StoreError(self._reason) from self._cause

    def shut(self, reason: str, cause: OSError | None = None) -> None:
        if not self._reason:
            self._reason, self._cause = reason, cause

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        self.check()
        try:
            yield
        except OSError as error:
            self.shut(f"the body store stopped at a failed write: {path}: {error.strerror}", error)
            if is_disk_full(error):
                reason = f"disk full: cannot write {path}: {error.strerror}. Free some space, then resume."
                raise DiskFull(reason) from error
            raise StoreError(f"cannot write {path}: {error.strerror}") from error


@dataclass(slots=True)
class _Tail:
    """The segment being written; `written` bytes are in the file, `fresh` until its name is durable."""

    number: int
    path: Path
    fd: int
    written: int
    fresh: bool


def _reopened(number: int, path: Path, committed: int) -> _Tail:
    """An existing segment, cut back to its committed length."""
    try:
        with contextlib.ExitStack() as undo:
            fd = os.open(path, os.O_RDWR)
            undo.callback(os.close, fd)
            _cut_back(fd, path, committed)
            undo.pop_all()
    except OSError as error:
        raise StoreError(f"cannot reopen {path} at {committed} committed bytes: {error.strerror}") from error
    return _Tail(number, path, fd, written=committed, fresh=False)


def _cut_back(fd: int, path: Path, committed: int) -> None:
    if os.pread(fd, len(SEGMENT_HEADER), 0) != SEGMENT_HEADER:
        raise StoreError(f"{path} is not a segment of a known version; run `orbweb doctor`")
    length = os.fstat(fd).st_size
    if not len(SEGMENT_HEADER) <= committed <= length:
        raise StoreError(
            f"{path} has {length} bytes, but {committed} were committed: bodies are lost; run `orbweb doctor`"
        )
    os.ftruncate(fd, committed)


def _create(path: Path, mode: int) -> int | None:
    """A new file with exactly these permissions, or None where one lies already."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return None
    os.fchmod(fd, mode)
    return fd


def _write_all(fd: int, data: bytes | bytearray, offset: int) -> None:
    """Writes at a fixed place, so that writing the same again changes nothing."""
    with memoryview(data) as view:
        done = 0
        while done < len(view):
            done += os.pwrite(fd, view[done:], offset + done)


def _write_temp(path: Path, data: bytes, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        _write_all(fd, data, 0)
        failpoint("blob_written")
        os.fchmod(fd, mode)
        os.fsync(fd)
    finally:
        os.close(fd)


def _read_at(path: Path, offset: int, length: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            return os.pread(fd, length, offset)
        finally:
            os.close(fd)
    except FileNotFoundError:
        raise CorruptBody(f"{path}: the segment is missing") from None
    except OSError as error:
        raise StoreError(f"cannot read {path} at offset {offset}: {error.strerror}") from error


def _read_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _has_size(path: Path, length: int) -> bool:
    try:
        return path.stat().st_size == length
    except FileNotFoundError:
        return False


def _make_top(path: Path, mode: int) -> None:
    """A directory of the store, durable even if an earlier process died between making and syncing it."""
    _make_directory(path, mode)
    _sync_directory(path.parent)
    _sync_directory(path.parent.parent)


def _make_directory(path: Path, mode: int) -> None:
    if path.is_dir():
        return
    _make_directory(path.parent, mode)
    path.mkdir(mode, exist_ok=True)
    path.chmod(mode)


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sweep(directory: Path) -> None:
    for leftover in directory.iterdir():
        if leftover.name.endswith(_TEMP_SUFFIX):
            leftover.unlink(missing_ok=True)
