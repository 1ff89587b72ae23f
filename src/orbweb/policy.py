"""Which URLs are visited: scope, hops, patterns, depth, page limits, and what pages ask of robots.

Pure: a verdict is a function of the candidate and of the bases as they stand at its commit. Always holds:
a refusal names the very rule that decided. Never asks the network, the database or the clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import re2

from orbweb import urls
from orbweb.errors import ConfigError
from orbweb.model import Directives, SkipReason, Source, Verdict

PAGE_FILE = re.compile(
    r"\.(?:html?|xhtml|shtml|php\d?|phtml|aspx?|jspx?|cgi|cfm|md|txt|xml|rst|pdf|json)$", re.IGNORECASE
)
PATTERN_STEPS = 2_000

_RE2 = re2.Options()
_RE2.log_errors = False
_RE2.never_capture = True


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that decide."""

    strict_path: bool = True
    external_hops: int = 0
    max_depth: int | None = None
    page_limit: int | None = None
    sitemap_only: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    obey_directives: bool = True
    follow_nofollow_links: bool = True
    park_traps: bool = True


class Candidate(NamedTuple):
    """A URL and the path on which it was found; `base` and `hops` are those of the page that led to it."""

    key: str
    depth: int
    hops: int
    base: int
    source: Source = Source.INITIAL


class _Area(NamedTuple):
    number: int
    path: str


def scope_path(key: str) -> str:
    """The path a base URL covers: its directory if it names a file."""
    path = urls.split(key).path
    last = path.rpartition("/")
    return (last[0] or "/") if PAGE_FILE.search(last[2]) else path


def finder(option: str, pattern: str) -> Callable[[str], bool]:
    """Whether the RE2 pattern is found in a URL. A pattern that is none names the option."""
    compiled = _compiled(option, pattern)
    return lambda url: compiled.search(url) is not None


def _compile(option: str, patterns: Iterable[str]) -> list[tuple[str, re2._Regexp]]:
    return [(pattern, _compiled(option, pattern)) for pattern in patterns]


def _compiled(option: str, pattern: str) -> re2._Regexp:
    try:
        compiled = re2.compile(pattern, _RE2)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise ConfigError(
            f"{option}: {pattern!r} is not an RE2 pattern: {reason}. Look-around and back-references are not "
            "part of RE2."
        ) from None
    if compiled.programsize > PATTERN_STEPS:
        raise ConfigError(
            f"{option}: {pattern!r} is too complex: {compiled.programsize} steps, at most {PATTERN_STEPS}. "
            "Use smaller counts in its repetitions."
        )
    return compiled


class Policy:
    """Judges candidates. The scope may move while base URLs redirect; see `move_scope`."""

    def __init__(self, rules: Rules, scope_keys: Sequence[str]) -> None:
        self.rules = rules
        self._include = _compile("scope.include", rules.include)
        self._exclude = _compile("scope.exclude", rules.exclude)
        self._scope_keys = list(scope_keys)
        self._full: set[int] = set()
        self._map_areas()

    def _map_areas(self) -> None:
        self._areas: dict[str, list[_Area]] = {}
        for number, key in enumerate(self._scope_keys):
            self._areas.setdefault(urls.scope_site(key), []).append(_Area(number, scope_path(key)))
        for areas in self._areas.values():
            areas.sort(key=lambda area: (-len(area.path), area.number))

    def move_scope(self, base: int, key: str) -> None:
        """The base URL redirected: its scope is where it led."""
        self._scope_keys[base] = key
        self._map_areas()

    def fill(self, base: int) -> None:
        """The page limit of this base URL is reached."""
        self._full.add(base)

    def is_full(self, base: int) -> bool:
        return base in self._full

    @property
    def all_full(self) -> bool:
        return len(self._full) == len(self._scope_keys)

    def page_limit_rule(self) -> str:
        return f"limits.page_limit: {self.rules.page_limit}"

    def noindex_rule(self, said: Directives) -> str | None:
        """Why a page that says this is not kept; None if it is."""
        if said.noindex is None or not self.rules.obey_directives:
            return None
        return f"{said.noindex} (robots.obey_directives)"

    def nofollow_rule(self, said: Directives, url: str) -> str | None:
        """Why the links of a page that says this are not followed; None if they are."""
        if said.nofollow is None or not self.rules.obey_directives:
            return None
        return f"{said.nofollow} on {url} (robots.obey_directives)"

    def rel_nofollow_rule(self, url: str) -> str | None:
        """Why links of this page with rel=nofollow are not followed; None if they are."""
        return (
            None if self.rules.follow_nofollow_links else f"rel=nofollow on {url} (robots.follow_nofollow_links)"
        )

    def owner(self, key: str) -> int | None:
        """The base URL with the longest path that covers the key."""
        areas = self._areas.get(urls.scope_site(key))
        if areas is None:
            return None
        path = urls.path(key)
        for area in areas:
            if self._covers(area.path, path):
                return area.number
        return None

    def _covers(self, scope: str, path: str) -> bool:
        if not path.startswith(scope):
            return False
        return not self.rules.strict_path or scope == "/" or len(path) == len(scope) or path[len(scope)] == "/"

    def judge(self, found: Candidate) -> Verdict:
        """Allowed, or the reason and the rule. Patterns first: they are what a user wrote by hand."""
        owner = self.owner(found.key)
        if owner is None and self._is_loaded(found):
            owner = found.base
        base, hops = (found.base, found.hops + 1) if owner is None else (owner, 0)
        reason, rule = self._refusal(found, base, hops)
        return Verdict(reason, rule, base, hops)

    def _is_loaded(self, found: Candidate) -> bool:
        """What a page of the scope loads from its own site belongs to it, whatever its path."""
        return found.source is Source.RESOURCE and not found.hops and urls.scope_site(found.key) in self._areas

    def _refusal(self, found: Candidate, base: int, hops: int) -> tuple[SkipReason | None, str | None]:
        rules = self.rules
        for pattern, compiled in self._exclude:
            if compiled.search(found.key):
                return SkipReason.EXCLUDED, f"scope.exclude: {pattern}"
        if self._include and not any(compiled.search(found.key) for _, compiled in self._include):
            return SkipReason.NOT_INCLUDED, "scope.include: " + " | ".join(rules.include)
        if hops > rules.external_hops:
            return self._outside(base)
        depth = found.depth - (found.source is Source.RESOURCE)
        if rules.max_depth is not None and depth > rules.max_depth:
            return SkipReason.MAX_DEPTH, f"limits.max_depth: {rules.max_depth}"
        if rules.sitemap_only and found.source is Source.SPIDER:
            return SkipReason.SITEMAP_ONLY, "sitemap.mode: only"
        if base in self._full:
            return SkipReason.PAGE_LIMIT, self.page_limit_rule()
        return None, None

    def _outside(self, base: int) -> tuple[SkipReason, str]:
        if self.rules.external_hops:
            return SkipReason.EXTERNAL_HOPS, f"scope.external_hops: {self.rules.external_hops}"
        return SkipReason.OUT_OF_SCOPE, f"scope: {self._scope_keys[base]}"
