"""How files, names and databases are made durable, and what is done after a sync has failed.

An error of a sync is raised, and the same file is never synced again by this process, because after a failed fsync
the kernel may report success for bytes it has dropped. A new database gets its name when it is complete and on the
disk; SQLite itself would ignore an error of the directory's sync.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_SHARED_LOCK = (0x40000002, 510)
"""The bytes of a database file that SQLite locks for reading."""


def sync_file(path: Path) -> None:
    """Make the bytes of a file durable."""
    _sync(path, os.O_RDONLY | os.O_CLOEXEC)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def sync_data(fd: int) -> None:
    """Make the bytes of an open file durable. On macOS only this request passes the cache of the disk."""
    if sys.platform == "darwin":
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(fd)


def _sync(path: Path, flags: int) -> None:
    fd = os.open(path, flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_home(path: Path) -> None:
    """Create a directory for its owner only, with its missing parents, all of them durable."""
    if path.is_dir():
        return
    make_home(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    sync_directory(path.parent)


def create_database(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Create the database if it is missing or an empty file: complete and durable, or not at all.

    `fill` creates its tables. SQLite syncs nothing meanwhile; the finished file is synced here, so that an error
    is not ignored.
    """
    if _has_content(path):
        return
    with _alone(path.parent):
        if _has_content(path):
            return
        made = path.with_name(f"{path.name}.new")
        try:
            _make(made, fill)
        except BaseException:
            for suffix in ("", "-journal", "-wal", "-shm"):
                made.with_name(made.name + suffix).unlink(missing_ok=True)
            raise
        made.replace(path)
        sync_directory(path.parent)
        sync_directory(path.parent.parent)


def _make(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        fill(connection)
    sync_file(path)


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Only one process at a time creates databases in a directory."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def keep_log(path: Path) -> None:
    """Prevent a checkpoint when a connection of this process closes, which would sync the database again.

    SQLite checkpoints when the last connection closes, if it gets an exclusive lock. A shared lock of an open file
    description, which stays open until the process ends, prevents that. The write-ahead log stays, and the next
    process reads it up to the last complete transaction. Elsewhere than on Linux the checkpoint takes place.
    """
    if sys.platform != "linux":
        return
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, *_SHARED_LOCK, 0)
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, lock)
