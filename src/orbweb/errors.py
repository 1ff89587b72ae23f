"""All exceptions of orbweb, each with its exit code.

A fault of a site is a value (`model.FailKind`), never an exception. An exception is an internal error or a usage
error; its message names the file, key, URL or option, what is wrong and what to do.
"""

from __future__ import annotations

import errno


class OrbwebError(Exception):
    """Base class of all exceptions of orbweb. Exit code 1: internal error."""

    exit_code = 1


class UsageError(OrbwebError):
    """Invalid use of a command or function."""

    exit_code = 2


class ConfigError(UsageError):
    """Invalid setting; the message names the file, variable or option and the key."""


class UnknownProject(UsageError):
    """The workspace has no project of that name."""


class NothingToDo(UsageError):
    """No paused run to resume, no running crawl to stop, no queue to clear."""


class NewerWorkspace(UsageError):
    """The workspace was written by a newer version; it was not changed."""


class OlderWorkspace(OrbwebError):
    """The database has an earlier version; a workspace is upgraded when it is opened."""


class NotTrusted(UsageError):
    """A workspace refers to something that needs consent on this machine; `words` are the values for `--trust`."""

    def __init__(self, message: str, words: tuple[str, ...]) -> None:
        super().__init__(message)
        self.words = words


class Busy(OrbwebError):
    """Another process owns the project."""

    exit_code = 5


class TooComplex(OrbwebError):
    """A page has too many elements, or its document would be too large. In a crawl such a page fails."""


class StoreError(OrbwebError):
    """The database or the body store cannot be read or written."""


class ForeignFile(StoreError):
    """A symbolic link or special file in place of a file or directory of the workspace."""


class CorruptBody(StoreError):
    """A stored body does not match its hash."""


class DiskFull(StoreError):
    """The disk is full; everything committed so far is safe."""


def is_disk_full(error: BaseException | None) -> bool:
    """Whether the error, or its cause, is a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return True
        if "disk is full" in str(error):
            return True
        error = error.__cause__
    return False
