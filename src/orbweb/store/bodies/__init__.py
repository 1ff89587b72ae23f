"""Body store: bodies by the SHA-256 of their decoded bytes. The `BodyStore` protocol, and what both layouts share.

Packing and unpacking are pure and run in any process. The layouts are `segments` and `files`; each project has a
single writer and any number of readers.

After `sync` returns, bodies survive a power cut. `read` returns a body only with the expected size and hash, and
never unpacks more than the expected size. A store that failed to write is never used again, because after a failed
fsync the kernel may report success for bytes it has dropped.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

import zstandard

from orbweb.errors import CorruptBody, DiskFull, StoreError, is_disk_full
from orbweb.model import Blob
from orbweb.store import workspace_files
from orbweb.store.workspace_paths import AnchoredPath

# How many bytes a store collects in memory before it writes a part of its group.
GROUP_BYTES = 4 * 1024 * 1024

_LEVEL = 2

Decompressor = zstandard.ZstdDecompressor


class Location(NamedTuple):
    """Where a body is stored: `offset` and `length` of its bytes on disk, and `size`, its decoded length.

    In the `files` layout there is no segment and no offset; the path follows from the hash.
    """

    segment: int | None
    offset: int | None
    length: int
    size: int


class BodyStore(Protocol):
    """The interface of both layouts."""

    def put(self, blob: Blob) -> Location:
        """Add a body to the current group. Not durable or readable before `sync`."""

    def sync(self) -> None:
        """Make every body of the group durable. Called before the transaction that refers to them."""

    def read(self, sha256: bytes, location: Location, decompressor: Decompressor | None = None) -> bytes:
        """The decoded body, verified; `CorruptBody` if it is not what was stored."""

    def close(self) -> None:
        """Release everything; a group that was not synced is dropped."""


class KnownBodies(Protocol):
    """What the commit asks of the bodies that the workspace has."""

    def holds(self, blob: Blob, location: Location) -> bool:
        """Whether the body is stored there, undamaged."""


def new_compressor() -> zstandard.ZstdCompressor:
    """A compressor for one thread, without zstd checksum because the SHA-256 verifies."""
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
    decompressor: Decompressor | None = None,
) -> bytes:
    """The body of a frame, or `CorruptBody` with the problem and `where`.

    zstandard allocates the size that the frame claims, so it is compared with `size` first.
    """
    try:
        claimed = zstandard.get_frame_parameters(frame).content_size
        if claimed != size:
            raise CorruptBody(f"{where}: the frame does not contain the {size} bytes that were stored")
        body = (decompressor or Decompressor()).decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CorruptBody(f"{where}: {error}") from error
    return verified(body, size, sha256, where)


def unpack_foreign(frame: bytes, most: int, *, where: str) -> bytes:
    """The body of a frame from elsewhere; `CorruptBody` if it is invalid or has more than `most` bytes."""
    try:
        with Decompressor().stream_reader(frame) as stream:
            body = stream.read(most + 1)
    except zstandard.ZstdError as error:
        raise CorruptBody(f"{where}: {error}") from error
    if len(body) > most:
        raise CorruptBody(f"{where}: more than {most} bytes")
    return body


def verified(body: bytes, size: int, sha256: bytes, where: str) -> bytes:
    """The body itself, or `CorruptBody` if its size or hash differs."""
    if len(body) != size:
        raise CorruptBody(f"{where}: {len(body)} bytes instead of {size}")
    if hashlib.sha256(body).digest() != sha256:
        raise CorruptBody(f"{where}: the body does not match its SHA-256 {sha256.hex()}")
    return body


class NullBodyStore:
    """A store for a crawl that stores no bodies."""

    def put(self, blob: Blob) -> Location:
        return Location(None, None, len(blob.frame), blob.size)

    def sync(self) -> None:
        """Nothing to do."""

    def read(self, sha256: bytes, location: Location, decompressor: Decompressor | None = None) -> bytes:  # noqa: ARG002
        raise StoreError(f"body {sha256.hex()} was not stored")

    def close(self) -> None:
        """Nothing to do."""


def no_writer() -> NoReturn:
    raise StoreError("this body store was opened for reading only")


class WriteGate:
    """Refuses every write after the first failed one or after the close."""

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


def write_all(fd: int, data: bytes | bytearray, offset: int) -> None:
    """Write at a fixed offset, so that repeating the write changes nothing."""
    with memoryview(data) as view:
        done = 0
        while done < len(view):
            done += os.pwrite(fd, view[done:], offset + done)


class StoreFolder:
    """The files of a body store, opened without following links: of the store itself, if it is anchored above."""

    __slots__ = ("_above", "_folder")

    def __init__(self, root: Path | AnchoredPath) -> None:
        anchored = root if isinstance(root, AnchoredPath) else AnchoredPath(root.parent, Path(root.name))
        self._above, self._folder = anchored.root, anchored.name

    @property
    def path(self) -> Path:
        return self._above / self._folder

    def open_file(self, name: Path, flags: int, mode: int = 0o600) -> int:
        return workspace_files.open_file(self._above, self._folder / name, flags, mode)

    def read(self, name: Path) -> bytes:
        return workspace_files.read(self._above, self._folder / name)

    def size(self, name: Path) -> int | None:
        return workspace_files.size(self._above, self._folder / name)

    def names(self, name: Path) -> list[str]:
        return workspace_files.names(self._above, self._folder / name)

    def unlink(self, name: Path) -> None:
        workspace_files.unlink(self._above, self._folder / name)

    def replace(self, old: Path, new: Path) -> None:
        workspace_files.replace(self._above, self._folder / old, self._folder / new)

    def make_directory(self, name: Path | str, mode: int) -> None:
        """Create a directory; those of the store that exist take the mode."""
        workspace_files.make_directory(self._above, self._folder / name, mode, take=True)

    def make_private(self, name: Path) -> None:
        """Create a directory for its owner only; the directories above it exist."""
        workspace_files.make_directory(self._above, self._folder / name)

    def make_top(self, name: str, mode: int) -> None:
        """Create a directory of the store, durable even if an earlier process died before syncing it."""
        self.make_directory(name, mode)
        for folder in (self._folder, *self._folder.parents):
            workspace_files.sync_directory(self._above, folder)

    def sync_directory(self, name: Path | str) -> None:
        workspace_files.sync_directory(self._above, self._folder / name)
