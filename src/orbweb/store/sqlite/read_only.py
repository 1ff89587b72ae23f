"""Databases that this process may not write: on a read-only file system, or of another account.

SQLite needs a shared-memory file beside a database with a write-ahead log. While another process writes, both
files exist, and its commits are seen. Where nobody does, they may not be created here, and the database is opened
as one that does not change.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from orbweb.errors import StoreError
from orbweb.store.sqlite.errors import error_code


class ReadOnly(NamedTuple):
    """A connection that cannot write. `is_frozen`: it does not notice what other processes write."""

    connection: sqlite3.Connection
    is_frozen: bool


def is_read_only(path: Path) -> bool:
    """Whether the database exists, and this process may not write it or create files beside it."""
    return path.exists() and not all(
        os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
        for place in (path, path.parent)
    )


def connect(path: Path, timeout_s: float) -> ReadOnly:
    """Open the database for reading; StoreError if part of it is in a log that cannot be read."""
    try:
        return ReadOnly(_connect(path, "mode=ro", timeout_s), is_frozen=False)
    except sqlite3.OperationalError as error:
        if error_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    if has_log(path):
        raise StoreError(
            f"{path}: its latest changes are in {path.name}-wal, which cannot be read without write access. Copy "
            "the workspace to a place where you may write, and read the copy."
        )
    return ReadOnly(_connect(path, "immutable=1", timeout_s), is_frozen=True)


def has_log(path: Path) -> bool:
    """Whether there are changes that are not in the database file yet."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _connect(path: Path, manner: str, timeout_s: float) -> sqlite3.Connection:
    """The connection, after a first read: SQLite opens the files only then."""
    address = f"file:{quote(str(path.absolute()))}?{manner}"
    connection = sqlite3.connect(address, uri=True, timeout=timeout_s, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
