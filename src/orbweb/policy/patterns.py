"""RE2 patterns that users write.

Owns how they are compiled. Always holds: a search takes time in proportion to its text; a pattern that is none,
or is too complex, is refused when it is read, with the setting or option it stands in. Never looks at what is
searched.
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
    """What can be searched for; `groupindex` has the named groups of a pattern that captures."""

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
    """The pattern, ready to be searched for; `name` says where it stands."""
    try:
        return _made(pattern, _CAPTURE if captures else _SEARCH)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None


def checked(pattern: str) -> str:
    """The pattern itself; ValueError says what is wrong with one that cannot be searched for."""
    _made(pattern, _SEARCH)
    return pattern


def _made(pattern: str, options: re2.Options) -> Pattern:
    try:
        made: Any = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise ValueError(f"{pattern!r} is not an RE2 pattern: {reason}. {_hint(pattern)}") from None
    if made.programsize > PATTERN_STEPS:
        raise ValueError(
            f"{pattern!r} is too complex: {made.programsize} steps, at most {PATTERN_STEPS}. "
            "Use smaller counts in its repetitions."
        )
    found: Pattern = made
    return found


class PatternList:
    """The patterns of a list, in its order. All are searched for at once, in the time that one takes.

    A list that is too long for that is searched one by one: the set would need more memory than it may have.
    """

    def __init__(self, names: Sequence[str], patterns: Sequence[str]) -> None:
        self._each = [compiled(name, pattern) for name, pattern in zip(names, patterns, strict=True)]
        self._set: Any = None
        if sum(each.programsize for each in self._each) <= SET_STEPS:
            self._set = _set_of(patterns) if patterns else _NOTHING

    def first(self, text: str) -> int | None:
        """The place in the list of the first pattern that is found."""
        if self._set is not None:
            found = self._set.Match(text)
            return min(found) if found else None
        return next((number for number, each in enumerate(self._each) if each.search(text)), None)


class _Nothing:
    def Match(self, _text: str) -> None:  # noqa: N802
        """As a set without patterns."""


_NOTHING = _Nothing()


def _set_of(patterns: Sequence[str]) -> Any:
    options = _options(captures=False)
    options.max_mem = SET_BYTES
    made = re2.Set.SearchSet(options)
    for pattern in patterns:
        made.Add(pattern)
    made.Compile()
    return made


def listed(setting: str, patterns: Sequence[str]) -> PatternList:
    """The patterns of a setting, each named by its place in it."""
    return PatternList([f"{setting}[{number}]" for number in range(len(patterns))], patterns)


def finder(option: str, pattern: str) -> Callable[[str], bool]:
    """Whether the pattern is found in a text."""
    made = compiled(option, pattern)
    return lambda text: made.search(text) is not None
