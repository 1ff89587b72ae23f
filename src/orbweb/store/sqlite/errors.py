"""What errors of SQLite and of the disk mean, and what the user can do about them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from orbweb.errors import DiskFull, NewerWorkspace, StoreError, call, is_disk_full, option

# The message of an error may quote damaged bytes, and then fails to be text itself.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)


def explained(path: Path, error: Exception) -> StoreError:
    """An error of the database as a StoreError that says what to do."""
    if is_disk_full(error):
        return DiskFull(f"disk full: {path} cannot grow. Free some space, then resume.")
    if "unable to open" in str(error) or "readonly" in str(error):
        return StoreError(f"{path}: cannot be written ({error}). Check the directory's permissions.")
    if is_damage(error):
        return StoreError(
            f"{path}: damaged ({error}). Run {call('doctor')} to see what is wrong and how to repair it."
        )
    if error_code(error) == sqlite3.SQLITE_IOERR:
        name = getattr(error, "sqlite_errorname", "SQLITE_IOERR")
        return StoreError(
            f"{path}: the disk failed ({error}, {name}). Everything committed before is safe; nothing "
            f"more was written. Check the disk, then run {call('doctor')}."
        )
    return StoreError(f"{path}: {error}")


def unwritable(path: Path, error: OSError) -> StoreError:
    """An error of the disk, with the file and what to do."""
    if is_disk_full(error):
        return DiskFull(f"disk full: {path} cannot be written. Free some space, then resume.")
    return StoreError(
        f"{path}: cannot be written ({error.strerror}). Check the disk and the directory's permissions."
    )


def newer(path: Path, version: int, known: int) -> NewerWorkspace:
    return NewerWorkspace(
        f"{path}: written by a newer orbweb (schema {version}, this one knows {known}). "
        f"Nothing was changed. Upgrade orbweb, or use another {option('workspace')}."
    )


def is_damage(error: Exception) -> bool:
    """Whether the file is not a database, or its pages, tables or values are inconsistent."""
    if isinstance(error, UnicodeDecodeError):
        return True
    texts = ("no such table", "no such column", "has no column named", "Could not decode", "vtable constructor")
    return error_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or any(
        text in str(error) for text in texts
    )


def damaged(problem: str) -> sqlite3.DatabaseError:
    """The error of a file that SQLite can read, but that has other content than was written."""
    error = sqlite3.DatabaseError(problem)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def error_code(error: Exception) -> int:
    """SQLite's primary error code; 0 if the error is not SQLite's."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
