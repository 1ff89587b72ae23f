"""Steps that make files, names and databases durable, and what is done after one has failed.

Always: an error of a sync is raised, and the same file is never synced again by this process, because after a
failed fsync the kernel may report success for bytes it has dropped. A new database gets its name when it is whole
and on the disk; SQLite itself would pass over an error of the directory's sync.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import struct
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


def _sync(path: Path, flags: int) -> None:
    fd = os.open(path, flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_home(path: Path) -> None:
    """A directory for its owner only, and those missing above it, all of them durable."""
    if path.is_dir():
        return
    make_home(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    sync_directory(path.parent)


def found_database(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make the database if there is none, or an empty file: whole and durable, or not at all.

    `fill` makes its tables. SQLite syncs nothing meanwhile; the one sync of the finished file is ours, so that
    its error is not passed over.
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
    """One process at a time makes databases in a directory."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def keep_log(path: Path) -> None:
    """Let no connection of this process checkpoint the database when it is closed, which would sync it again.

    SQLite checkpoints when the last connection closes, if it gets the file for itself alone. A lock that belongs
    to an open file, which stays open until the process ends, denies that. The write-ahead log is kept, and the
    next process reads it up to the last whole transaction.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, *_SHARED_LOCK, 0)
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, lock)
