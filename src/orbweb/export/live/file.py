"""A file that grows with a run, and the cursor that says how much of it counts.

Owns the bytes of one file. Always: what lies before the cursor is durable, whole and made of the visits up to the
cursor's; at the start the file is cut to it. A file that is missing, shorter, or damaged where it was written last
is begun anew, from the first visit. So each visit is in it once, whoever was killed when. Never is the cursor
moved before the bytes are on the disk.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from orbweb.errors import DiskFull, StoreError, is_disk_full
from orbweb.failpoints import failpoint
from orbweb.store import workspace_files
from orbweb.store.bodies import write_all
from orbweb.store.journal import Cursor

CHECKED = 1 << 16
"""Bytes at the end of a file that are held against their checksum."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """What goes wrong on a disk is told with the path and what to do."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise DiskFull(f"disk full: {path} cannot grow. Free some space, then resume.") from error
        raise StoreError(f"{path}: cannot be written: {error.strerror}. Check the path and its owner.") from error


def opened(path: Path) -> int:
    """A file in a folder of a workspace, which is made if need be, to read and write."""
    root, folder = path.parent.parent, path.parent.name
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    workspace_files.make_directory(root, folder)
    return workspace_files.open_file(root, Path(folder, path.name), os.O_RDWR | os.O_CREAT)


class AppendFile:
    """The file, open for appending. `visit` is the last one in it."""

    def __init__(self, path: Path, header: bytes, cursor: Cursor | None) -> None:
        self.path = path
        self._settled = cursor
        with writing(path):
            self._fd = opened(path)
            try:
                self._begin(header, cursor)
            except BaseException:
                os.close(self._fd)
                raise

    def _begin(self, header: bytes, cursor: Cursor | None) -> None:
        """Cut the file to the cursor, or begin it anew."""
        if cursor is None or not self._is_whole(cursor):
            cursor = Cursor(0, 0, 0, 0, whole=0)
            self._settled = None
        os.ftruncate(self._fd, cursor.offset)
        self.visit, self._end, self._checksum = cursor.visit, cursor.offset, cursor.whole
        if not self._end:
            self.append(header, 0)

    def _is_whole(self, cursor: Cursor) -> bool:
        last = os.pread(self._fd, cursor.offset - cursor.since, cursor.since)
        return last.endswith(b"\n") and zlib.crc32(last) == cursor.checksum

    def append(self, data: bytes, visit: int) -> None:
        """The records of the visits up to that one."""
        if data:
            with writing(self.path):
                write_all(self._fd, data, self._end)
            self._end += len(data)
            if self._checksum is not None:
                self._checksum = zlib.crc32(data, self._checksum)
        self.visit = visit
        failpoint("output_appended")

    def sync(self) -> Cursor | None:
        """Make everything durable; the cursor that may be stored now, None if it is the stored one."""
        if self._settled is not None and (self.visit, self._end) == self._settled[:2]:
            return None
        since = max(0, self._end - CHECKED)
        with writing(self.path):
            os.fdatasync(self._fd)
            last = os.pread(self._fd, self._end - since, since)
        failpoint("output_synced")
        self._settled = Cursor(self.visit, self._end, since, zlib.crc32(last), self._checksum)
        return self._settled

    def close(self) -> None:
        os.close(self._fd)
