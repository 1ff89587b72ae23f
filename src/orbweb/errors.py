"""All exceptions of orbweb, each with its exit code.

A fault of a site is a value (`model.FailKind`), never an exception. An exception is an internal error or a usage
error; its message names the file, key, URL or option, what is wrong and what to do.
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
    """Base class of all exceptions of orbweb. Exit code 1: internal error."""

    exit_code = 1


class UsageError(OrbwebError):
    """Invalid use of a command or function."""

    exit_code = 2


class ConfigError(UsageError):
    """Invalid setting; the message names the file, variable or option and the key."""


class UnknownProject(UsageError):
    """The workspace has no project of that name; `brief` is the message without the path of the workspace, for
    clients of a server."""

    def __init__(self, message: str, brief: str | None = None) -> None:
        super().__init__(message)
        self.brief = brief or message


class UnknownId(UsageError):
    """The workspace has no run, crawl, job or token with that id."""


class NothingToDo(UsageError):
    """No paused run to resume, no running crawl to stop, no queue to clear."""


class IdleScraper(NamedTuple):
    """How a scraper ended that was stopped before there was anything to scrape: `why` there was nothing.

    `run_state` is `paused` if discovery has started a run that is not scraped.
    """

    project: str
    run: None
    run_state: str | None
    ended_by: str
    why: str
    visited: int
    failed: int
    queued: int
    skipped: Mapping[str, int]
    workspace: str

    @property
    def exit_code(self) -> int:
        return 4 if self.run_state == "paused" else 0

    def report(self) -> dict[str, Any]:
        """The object that `scrape --json` prints."""
        return self._asdict()


class ScraperIdle(NothingToDo):
    """A scraper was stopped while it waited for discovery; `result` is how it ended."""

    def __init__(self, message: str, result: IdleScraper) -> None:
        super().__init__(message)
        self.result = result


class ProxyChooserError(OrbwebError):
    """The user's proxy chooser raised an exception, which is the cause, or returned something else than a proxy.

    The crawl ends; the run can be resumed.
    """


class NewerWorkspace(UsageError):
    """The workspace was written by a newer version; it was not changed."""


class OlderWorkspace(OrbwebError):
    """The database has an earlier version; a workspace is upgraded when it is opened."""


class NotTrusted(UsageError):
    """A workspace refers to something that needs consent on this machine; `words` are the values for `--trust`."""

    def __init__(self, message: str, words: tuple[str, ...]) -> None:
        super().__init__(message)
        self.words = words


class NoPage(OrbwebError):
    """`fetch` got no page from the URL; `problem` says why."""

    exit_code = 3

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"{url} did not return a page: {problem}")
        self.url, self.problem = url, problem

    def __reduce__(self) -> tuple[type[NoPage], tuple[str, str]]:
        return NoPage, (self.url, self.problem)


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
