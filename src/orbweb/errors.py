"""The error tree, drawn once.

A site's fault is a value (`model.FailKind`), never an exception. What is raised here is our own fault or
the user's: each message names the file, key, URL or option, what was wrong and what to do, and each class
knows the exit code that tells the truth about it.
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any


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


class ScraperIdle(NothingToDo):
    """A scraper was stopped while it waited for discovery; `report` is what `scrape --json` prints."""

    def __init__(self, message: str, report: dict[str, Any]) -> None:
        super().__init__(message)
        self.report = report


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


# How messages name options and calls: every room writes `option("new_run")`, so that a program reads `new_run` and
# the command line `--new-run`.


class Spelling(NamedTuple):
    """How messages name options, calls, and the place where options were given."""

    option: Callable[[str, str | Sequence[str]], str]
    call: Callable[[str, Sequence[str], Mapping[str, str | bool]], str]
    source: str


def _python_option(name: str, value: str | Sequence[str]) -> str:
    return f"{name}={value if isinstance(value, str) else list(value)}" if value else name


def _python_call(verb: str, arguments: Sequence[str], options: Mapping[str, str | bool]) -> str:
    words = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in options.items())]
    return f"`{verb}({', '.join(words)})`"


PYTHON = Spelling(_python_option, _python_call, "options")
_SPELLING: ContextVar[Spelling | None] = ContextVar("spelling", default=None)


def _now() -> Spelling:
    return _SPELLING.get() or PYTHON


def option(name: str, value: str | Sequence[str] = "") -> str:
    """An option as the caller writes it: `new_run` in Python, `--new-run` on the command line.

    `value` is a placeholder such as FILE, or a list of values.
    """
    return _now().option(name, value)


def call(verb: str, *arguments: str, **options: str | bool) -> str:
    """A call as the caller writes it: `resume('docs')` in Python, `orbweb resume docs` on the command line."""
    return _now().call(verb, arguments, options)


def options_source() -> str:
    """Where the caller gave options, for messages about their values."""
    return _now().source


@contextmanager
def spelled(spelling: Spelling) -> Iterator[None]:
    """Messages use this spelling within the block, in this thread."""
    token = _SPELLING.set(spelling)
    try:
        yield
    finally:
        _SPELLING.reset(token)
