"""RE2 patterns written by users.

A search takes time in proportion to its text. An invalid or too complex pattern is refused when it is compiled,
with the name of its setting or option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import re2

from orbweb.errors import ConfigError

PATTERN_STEPS = 2_000
SET_STEPS = 20_000
SET_BYTES = 64_000_000


def _options(*, captures: bool) -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = not captures
    return options


_SEARCH = _options(captures=False)
_CAPTURE = _options(captures=True)


class Pattern(Protocol):
    """A compiled pattern; `groupindex` has the named groups if it was compiled with captures."""

    @property
    def groupindex(self) -> Mapping[str, int]: ...

    @property
    def programsize(self) -> int: ...

    def search(self, text: str | bytes) -> Any: ...


def _hint(pattern: str) -> str:
    if pattern.startswith("*") or "**" in pattern:
        return r"A regular expression matches anywhere in a URL: write /docs/ for */docs/*, \.pdf$ for *.pdf."
    return "Look-around and back-references are not part of RE2."


def compiled(name: str, pattern: str, *, captures: bool = False) -> Pattern:
    """Compile a pattern; `name` is its setting or option, for the error message."""
    try:
        return _compile(pattern, _CAPTURE if captures else _SEARCH)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None


def checked(pattern: str) -> str:
    """The pattern itself; raises ValueError if it is invalid."""
    _compile(pattern, _SEARCH)
    return pattern


def _compile(pattern: str, options: re2.Options) -> Pattern:
    try:
        result: Any = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise ValueError(f"{pattern!r} is not an RE2 pattern: {reason}. {_hint(pattern)}") from None
    if result.programsize > PATTERN_STEPS:
        raise ValueError(
            f"{pattern!r} is too complex: {result.programsize} steps, at most {PATTERN_STEPS}. "
            "Use smaller counts in its repetitions."
        )
    found: Pattern = result
    return found


class PatternList:
    """A list of patterns that are searched together, in the time of one.

    A list whose set would need too much memory is searched one by one.
    """

    def __init__(self, names: Sequence[str], patterns: Sequence[str]) -> None:
        self._each = [compiled(name, pattern) for name, pattern in zip(names, patterns, strict=True)]
        self._set: Any = None
        if sum(each.programsize for each in self._each) <= SET_STEPS:
            self._set = _set_of(patterns) if patterns else _NOTHING

    def first(self, text: str) -> int | None:
        """The index of the first pattern that matches."""
        if self._set is not None:
            found = self._set.Match(text)
            return min(found) if found else None
        return next((number for number, each in enumerate(self._each) if each.search(text)), None)


class _Nothing:
    def Match(self, _text: str) -> None:  # noqa: N802
        """The result of a set without patterns."""


_NOTHING = _Nothing()


def _set_of(patterns: Sequence[str]) -> Any:
    options = _options(captures=False)
    options.max_mem = SET_BYTES
    result = re2.Set.SearchSet(options)
    for pattern in patterns:
        result.Add(pattern)
    result.Compile()
    return result


def listed(setting: str, patterns: Sequence[str]) -> PatternList:
    """The patterns of a list setting, named by their index for error messages."""
    return PatternList([f"{setting}[{number}]" for number in range(len(patterns))], patterns)


def finder(option: str, pattern: str) -> Callable[[str], bool]:
    """A function that tests whether the pattern matches in a text."""
    found = compiled(option, pattern)
    return lambda text: found.search(text) is not None
