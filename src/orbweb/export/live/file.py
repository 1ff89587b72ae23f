"""An output file that grows with a run, and the cursor of its valid part.

The bytes before the cursor are durable and complete, and contain the visits up to that of the cursor; at the start
the file is truncated to it. A file that is missing, shorter, or damaged near its end is written again from the
first visit. The cursor moves only after the bytes are on the disk. So each visit is in the file once, whenever a
process was killed.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from orbweb.errors import DiskFull, StoreError, is_disk_full
from orbweb.failpoints import failpoint
from orbweb.store import durable, workspace_files
from orbweb.store.bodies import write_all
from orbweb.store.journal import Cursor
from orbweb.store.workspace_files import PRIVATE, FileModes
from orbweb.store.workspace_paths import AnchoredPath

CHECKED = 1 << 16
"""Bytes at the end of a file that are compared with their checksum."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an error that names the path and what to do."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise DiskFull(f"disk full: {path} cannot grow. Free some space, then resume.") from error
        raise StoreError(f"{path}: cannot be written: {error.strerror}. Check the path and its owner.") from error


def open_file(place: AnchoredPath, modes: FileModes) -> int:
    """Open a file for reading and writing; it and its directories are created if missing, and take the modes."""
    workspace_files.make_directory(place.root, place.name.parent, modes.folder, take=True)
    fd = workspace_files.open_file(place.root, place.name, os.O_RDWR | os.O_CREAT)
    workspace_files.take_mode(fd, modes.file)
    return fd


class AppendFile:
    """The file, open for appending. `visit` is the number of the last visit in it."""

    def __init__(
        self, place: AnchoredPath, header: bytes, cursor: Cursor | None, modes: FileModes = PRIVATE
    ) -> None:
        self.path = place.path
        self._stored = cursor
        with writing(self.path):
            self._fd = open_file(place, modes)
            try:
                self._begin(header, cursor)
            except BaseException:
                os.close(self._fd)
                raise

    def _begin(self, header: bytes, cursor: Cursor | None) -> None:
        """Truncate the file to the cursor, or to nothing if it is damaged."""
        if cursor is None or not self._is_whole(cursor):
            cursor = Cursor(0, 0, 0, 0, whole=0)
            self._stored = None
        os.ftruncate(self._fd, cursor.offset)
        self.visit, self._end, self._checksum = cursor.visit, cursor.offset, cursor.whole
        if not self._end:
            self.append(header, 0)

    def _is_whole(self, cursor: Cursor) -> bool:
        last = os.pread(self._fd, cursor.offset - cursor.since, cursor.since)
        return last.endswith(b"\n") and zlib.crc32(last) == cursor.checksum

    def append(self, data: bytes, visit: int) -> None:
        """Append the records of the visits up to that one."""
        if data:
            with writing(self.path):
                write_all(self._fd, data, self._end)
            self._end += len(data)
            if self._checksum is not None:
                self._checksum = zlib.crc32(data, self._checksum)
        self.visit = visit
        failpoint("output_appended")

    def sync(self) -> Cursor | None:
        """Make everything durable; return the cursor that may be stored now, None if it did not move."""
        if self._stored is not None and (self.visit, self._end) == self._stored[:2]:
            return None
        since = max(0, self._end - CHECKED)
        with writing(self.path):
            durable.sync_data(self._fd)
            last = os.pread(self._fd, self._end - since, since)
        failpoint("output_synced")
        self._stored = Cursor(self.visit, self._end, since, zlib.crc32(last), self._checksum)
        return self._stored

    def close(self) -> None:
        os.close(self._fd)
