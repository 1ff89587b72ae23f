"""The error tree, drawn once.

A site's fault is a value (`model.FailKind`), never an exception. What is raised here is our own fault or
the user's: each message names the file, key, URL or option, what was wrong and what to do, and each class
knows the exit code that tells the truth about it.
"""

from __future__ import annotations

import errno


class OrbwebError(Exception):
    """Anything orbweb can explain. Exit code 1: our fault."""

    exit_code = 1


class UsageError(OrbwebError):
    """The request makes no sense as it was put."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is wrong; the message names the file, variable or option and the key."""


class UnknownProject(UsageError):
    """The workspace has no project of that name."""


class NothingToDo(UsageError):
    """There is no paused run to resume, no running crawl to stop, no queue to clear."""


class NewerWorkspace(UsageError):
    """The workspace was written by a newer version; it is left untouched."""


class OlderWorkspace(OrbwebError):
    """The database has the tables of an earlier version; a workspace is upgraded when it is opened."""


class NotTrusted(UsageError):
    """A workspace names what was not allowed for it on this machine; `words` are what `--trust` takes."""

    def __init__(self, message: str, words: tuple[str, ...]) -> None:
        super().__init__(message)
        self.words = words


class Busy(OrbwebError):
    """Another process owns the project."""

    exit_code = 5


class TooComplex(OrbwebError):
    """A page has too many elements, or too much would come of it, to be read. In a crawl such a page fails."""


class StoreError(OrbwebError):
    """The database or the body store cannot be read or written."""


class ForeignFile(StoreError):
    """In a workspace there is a link or something else where a file or directory of its own should be."""


class CorruptBody(StoreError):
    """A stored body does not match its hash."""


class DiskFull(StoreError):
    """No space is left; everything committed so far is safe."""


def is_disk_full(error: BaseException | None) -> bool:
    """Whether the error, or what caused it, is a lack of space."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return True
        if "disk is full" in str(error):
            return True
        error = error.__cause__
    return False
