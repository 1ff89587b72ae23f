"""Body store with one file per body, for people and tools that want plain files.

Uses `html/` and `tmp/` below the store. A file under its final name is complete, because its bytes were durable
before it was renamed; its directories are durable when `sync` returns. An existing file with the right bytes is
never changed, a damaged one is replaced, and the temporary files of another writer are never touched.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from orbweb.errors import CorruptBody, StoreError
from orbweb.failpoints import failpoint
from orbweb.model import Blob
from orbweb.store.bodies import (
    GROUP_BYTES,
    Decompressor,
    Location,
    StoreFolder,
    WriteGate,
    no_writer,
    unpack,
    verified,
    write_all,
)
from orbweb.store.workspace_files import PRIVATE, FileModes
from orbweb.store.workspace_paths import AnchoredPath

_TEMP_SUFFIX = ".tmp"
_WRITER_NAME = re.compile(r"[A-Za-z0-9_-]+")


class FileStore:
    """Bodies in `html/aa/bb/<sha256>.html.zst`, or plain `.html` without `compress`.

    `writer` is the name of the writer, of which only one may be open at a time; without it the store is read-only.
    Temporary files are in `tmp/<writer>/`, so that opening removes only those that a crash of the same writer
    left. Both forms of a file are read, whatever `compress` is.
    """

    def __init__(
        self,
        root: Path | AnchoredPath,
        *,
        writer: str | None = None,
        compress: bool = True,
        modes: FileModes = PRIVATE,
    ) -> None:
        self._inside = StoreFolder(root)
        self._root = self._inside.path
        self._html = Path("html")
        self._temp = Path("tmp", writer or "")
        self._writer = writer
        self._compress = compress
        self._modes = modes
        self._gate = WriteGate()
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
            no_writer()
        known = self._group.get(blob.sha256)
        if known is not None:
            return known
        data = blob.frame if self._compress else self._plain(blob)
        path = self._path(blob.sha256, compressed=self._compress)
        with self._gate.writing(self._root / path):
            self._make_home(blob.sha256, path)
            present = self._inside.size(path) == len(data)
        if not present or self._read(path) != data:
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
            with self._gate.writing(self._root / path):
                self._inside.replace(temp, path)
            failpoint("blob_renamed")
        self._staged.clear()
        for directory in sorted(self._dirty):
            with self._gate.writing(self._root / directory):
                self._inside.sync_directory(directory)
        self._dirty.clear()
        failpoint("blob_synced")
        self._group.clear()

    def read(self, sha256: bytes, location: Location, decompressor: Decompressor | None = None) -> bytes:
        self._gate.check()
        if location.segment is not None:
            raise StoreError(f"body {sha256.hex()} is stored in segment {location.segment}, not as a file")
        problem: StoreError | None = None
        for compressed in (self._compress, not self._compress):
            path = self._path(sha256, compressed=compressed)
            where = str(self._root / path)
            try:
                data = self._read(path)
                if data is not None and compressed:
                    return unpack(data, location.size, sha256, where=where, decompressor=decompressor)
                if data is not None:
                    return verified(data, location.size, sha256, where)
            except StoreError as error:
                problem = problem or error
        missing = f"{self._root / self._path(sha256, compressed=self._compress)}: the file is missing"
        raise problem or CorruptBody(missing)

    def has(self, sha256: bytes, location: Location) -> bool:
        """Whether a file of the body is at its place, by its size; read if that does not tell."""
        self._gate.check()
        compressed = self._inside.size(self._path(sha256, compressed=True))
        if compressed == location.length:
            return True
        plain = self._inside.size(self._path(sha256, compressed=False))
        if compressed is not None or plain not in (None, location.size):
            self.read(sha256, location)
        return compressed is not None or plain is not None

    def verify(self, blob: Blob, location: Location) -> None:
        """StoreError unless a file is this body; it is unpacked only if it was compressed differently."""
        if self._read(self._path(blob.sha256, compressed=True)) != blob.frame:
            self.read(blob.sha256, location)

    def compress(self, compress: bool) -> None:  # noqa: FBT001
        """Write bodies in this form from now on; both forms are read."""
        self._compress = compress

    def close(self) -> None:
        self._gate.shut("the body store is closed")
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._sweep()

    def _open(self, writer: str) -> None:
        if not _WRITER_NAME.fullmatch(writer):
            raise StoreError(f"{writer!r} is not a valid writer name: use letters, digits, '-' and '_'")
        with self._gate.writing(self._root / self._html):
            self._inside.make_top("html", self._modes.folder)
        with self._gate.writing(self._root / self._temp):
            self._inside.make_private(self._temp)
            self._sweep()

    def _path(self, sha256: bytes, *, compressed: bool) -> Path:
        name = sha256.hex()
        return self._html / name[:2] / name[2:4] / (name + (".html.zst" if compressed else ".html"))

    @staticmethod
    def _plain(blob: Blob) -> bytes:
        return unpack(blob.frame, blob.size, blob.sha256, where=f"body {blob.sha256.hex()} as given")

    def _make_home(self, sha256: bytes, path: Path) -> None:
        """The directory must be synced even for an existing file: a crash may have come before its sync."""
        home = path.parent
        number = int.from_bytes(sha256[:2], "big")
        if not self._seen_homes[number]:
            self._inside.make_directory(home, self._modes.folder)
            self._dirty.update((home.parent, self._html))
            self._seen_homes[number] = 1
        self._dirty.add(home)

    def _wait(self, path: Path, data: bytes) -> None:
        self._waiting.append((path, data))
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= GROUP_BYTES:
            self._stage()

    def _stage(self) -> None:
        """Write pending bodies to temporary files and make them durable; memory holds one batch."""
        for path, data in self._waiting:
            self._serial += 1
            temp = self._temp / f"{self._serial}{_TEMP_SUFFIX}"
            with self._gate.writing(self._root / temp):
                self._write_temp(temp, data)
            self._staged.append((temp, path))
        self._waiting.clear()
        self._waiting_bytes = 0

    def _write_temp(self, name: Path, data: bytes) -> None:
        fd = self._inside.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            write_all(fd, data, 0)
            failpoint("blob_written")
            os.fchmod(fd, self._modes.file)
            os.fsync(fd)
        finally:
            os.close(fd)

    def _read(self, name: Path) -> bytes | None:
        try:
            return self._inside.read(name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read {self._root / name}: {error.strerror}") from error

    def _sweep(self) -> None:
        for leftover in self._inside.names(self._temp):
            if leftover.endswith(_TEMP_SUFFIX):
                self._inside.unlink(self._temp / leftover)
