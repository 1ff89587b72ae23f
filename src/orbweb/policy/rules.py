"""Which URLs are visited: scope, hosts, hops, patterns, depth, page limits, caps and robots directives of pages.

A verdict is a function of the candidate and of the state of bases and groups at its commit; only `admit` changes
the counts. A refusal names the rule that decided. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from orbweb import urls
from orbweb.errors import ConfigError
from orbweb.model import Directives, SkipReason, Source, Verdict
from orbweb.policy import page_types, patterns
from orbweb.policy.page_types import Caps, GroupRule, Room, ScoreRule, TypeRule, Types

ANY_HOST = "*"
"""As the only entry of `Rules.hosts`: every host is in scope."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that verdicts depend on."""

    strict_path: bool = True
    external_hops: int = 0
    max_depth: int | None = None
    page_limit: int | None = None
    sitemap_only: bool = False
    prefers_sitemaps: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    obey_directives: bool = True
    follow_nofollow_links: bool = True
    park_traps: bool = True
    hosts: tuple[str, ...] = ()
    deny_subdomains: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    page_types: tuple[TypeRule, ...] = ()
    scores: tuple[ScoreRule, ...] = ()
    groups: tuple[GroupRule, ...] = ()


def fed(rules: Rules, *, has_bases: bool) -> Rules:
    """The rules for URLs from the spool. Discovery has judged them already, by links, families and groups that a
    scraper does not see; they are visited in the order of the spool. Without base URLs every host is in scope,
    unless hosts are listed."""
    return replace(
        rules,
        sitemap_only=False,
        prefers_sitemaps=False,
        park_traps=False,
        page_limit=None,
        page_types=tuple(replace(rule, score=0) for rule in rules.page_types),
        scores=(),
        groups=(),
        hosts=rules.hosts if has_bases else rules.hosts or (ANY_HOST,),
    )


class Candidate(NamedTuple):
    """A URL and how it was found; `base` and `hops` are those of the page that links to it."""

    key: str
    depth: int
    hops: int
    base: int
    source: Source = Source.INITIAL


class _Area(NamedTuple):
    number: int
    path: str


class _Hosts:
    """The listed hosts: `example.org` is that host alone, `*.example.org` all of its subdomains."""

    def __init__(self, listed: Sequence[str]) -> None:
        self.rule = "policy.hosts: " + ", ".join(listed)
        sites = [_site("policy.hosts", number, text.removeprefix("*.")) for number, text in enumerate(listed)]
        below = [text.startswith("*.") for text in listed]
        self._exact = frozenset(site for site, is_below in zip(sites, below, strict=True) if not is_below)
        self._ends = tuple(f".{site}" for site, is_below in zip(sites, below, strict=True) if is_below)

    def has(self, key: str) -> bool:
        site = urls.scope_site(key)
        return site in self._exact or site.endswith(self._ends)


class _Anywhere(_Hosts):
    def has(self, key: str) -> bool:  # noqa: ARG002
        return True


def _hosts(listed: Sequence[str]) -> _Hosts | None:
    if ANY_HOST in listed:
        return _Anywhere(())
    return _Hosts(listed) if listed else None


def _site(setting: str, number: int, text: str) -> str:
    key = urls.canonicalize(f"https://{text}/")
    if key is None or urls.path(key) != "/" or "?" in key:
        raise ConfigError(f"{setting}[{number}]: {text!r} is not a host; write it like example.org")
    return urls.scope_site(key)


class _Denials:
    """The patterns that refuse a URL: those of `policy.deny`, then those of `scope.exclude`, as one list."""

    def __init__(self, rules: Rules) -> None:
        denied = [f"policy.deny[{number}]" for number in range(len(rules.deny))]
        excluded = [f"scope.exclude[{number}]" for number in range(len(rules.exclude))]
        self._patterns = patterns.PatternList((*denied, *excluded), (*rules.deny, *rules.exclude))
        self._rules = [f"{name}: {text}" for name, text in zip(denied, rules.deny, strict=True)]
        self._rules += [f"scope.exclude: {text}" for text in rules.exclude]

        self._of_host = len(rules.deny)

    def rule(self, key: str, *, of_host: bool = False) -> str | None:
        """The first rule that refuses; with `of_host`, only of `policy.deny`."""
        found = self._patterns.first(key)
        return None if found is None or (of_host and found >= self._of_host) else self._rules[found]


class _AllowList(NamedTuple):
    """A URL must match one of the patterns."""

    rule: str
    patterns: patterns.PatternList


def _allow_lists(rules: Rules) -> list[_AllowList]:
    """The lists that have patterns."""
    lists = (("policy.allow", rules.allow), ("scope.include", rules.include))
    return [
        _AllowList(f"{setting}: " + " | ".join(texts), patterns.listed(setting, texts))
        for setting, texts in lists
        if texts
    ]


class Policy:
    """Judges candidates. A base URL that redirects moves its scope; see `move_scope`."""

    def __init__(self, rules: Rules, scope_keys: Sequence[str]) -> None:
        self.rules = rules
        self._denials = _Denials(rules) if rules.deny or rules.exclude else None
        self._allow_lists = _allow_lists(rules)
        self._hosts = _hosts(rules.hosts)
        self._denied_hosts = [
            ("." + _site("policy.deny_subdomains", number, text), f"policy.deny_subdomains[{number}]: {text}")
            for number, text in enumerate(rules.deny_subdomains)
        ]
        self._denies = bool(self._denied_hosts) or self._denials is not None
        self._types = Types(rules.page_types, rules.scores)
        type_names = [rule.type for rule in rules.page_types]
        self._caps = Caps(rules.groups, self._types, type_names) if rules.groups else None
        self._scope_keys = list(scope_keys)
        self._full: set[int] = set()
        self._unlisted: set[int] = set()
        self._map_areas()

    def _map_areas(self) -> None:
        self._areas: dict[str, list[_Area]] = {}
        for number, key in enumerate(self._scope_keys):
            self._areas.setdefault(urls.scope_site(key), []).append(_Area(number, urls.path(urls.scope(key))))
        for areas in self._areas.values():
            areas.sort(key=lambda area: (-len(area.path), area.number))

    def move_scope(self, base: int, key: str) -> None:
        """Move the scope of a base URL to the target of its redirect."""
        self._scope_keys[base] = key
        self._map_areas()

    def fill(self, base: int) -> None:
        """Mark the page limit of this base URL as reached."""
        self._full.add(base)

    def is_full(self, base: int) -> bool:
        return base in self._full

    @property
    def all_full(self) -> bool:
        return bool(self._full) and len(self._full) == len(self._scope_keys)

    def page_type(self, key: str) -> str:
        """The type of the first rule that matches; `page` if none does."""
        return self._types.page_type(key)

    def score(self, key: str) -> int:
        return self._types.score(key)

    @property
    def has_scores(self) -> bool:
        """Whether levels are ordered by score, so that one may start only after the level before is committed."""
        return self._types.has_scores

    def rank(self, key: str, sequence: int, *, later: bool) -> int:
        """The rank of a URL: by its score if it is admitted to a `later` level, otherwise last."""
        if not (later and self.has_scores):
            return sequence
        return page_types.scored(sequence, self._types.score(key))

    @property
    def has_caps(self) -> bool:
        return self._caps is not None

    def admit(self, key: str) -> None:
        """Count an admitted URL in its groups."""
        if self._caps is not None:
            self._caps.admit(key)

    def recount(self, keys: Iterable[str]) -> None:
        """Replace the counts of the groups by those of these URLs, all that have been admitted so far."""
        if self._caps is not None:
            self._caps.recount(keys)

    def rooms(self, key: str) -> list[Room]:
        """The room left in the groups of the URL."""
        return self._caps.rooms(key) if self._caps is not None else []

    def page_limit_rule(self) -> str:
        return f"limits.page_limit: {self.rules.page_limit}"

    def noindex_rule(self, directives: Directives) -> str | None:
        """The rule by which a page with these directives is not stored; None if it is stored."""
        if directives.noindex is None or not self.rules.obey_directives:
            return None
        return f"{directives.noindex} (robots.obey_directives)"

    def nofollow_rule(self, directives: Directives, url: str) -> str | None:
        """The rule by which the links of a page with these directives are not followed; None if they are."""
        if directives.nofollow is None or not self.rules.obey_directives:
            return None
        return f"{directives.nofollow} on {url} (robots.obey_directives)"

    def rel_nofollow_rule(self, url: str) -> str | None:
        """The rule by which links of this page with rel=nofollow are not followed; None if they are."""
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
        """Allowed, or the reason and the rule. Patterns are checked first, because users write them by hand."""
        if self._hosts is not None:
            owner = self._owner(found, self._hosts)
        else:
            owner = self.owner(found.key)
            if owner is None and self._is_loaded(found):
                owner = found.base
        base, hops = (found.base, found.hops + 1) if owner is None else (owner, 0)
        reason, rule = self._refusal(found, base, hops)
        return Verdict(reason, rule, base, hops)

    def _owner(self, found: Candidate, hosts: _Hosts) -> int | None:
        """The base URL of a URL on one of the listed hosts, in or out of its path; None on other hosts."""
        if not hosts.has(found.key):
            return None
        owner = self.owner(found.key)
        return found.base if owner is None else owner

    def _is_loaded(self, found: Candidate) -> bool:
        """Whether it is a resource that an in-scope page loads from its own site: in scope, whatever its path."""
        return found.source is Source.RESOURCE and not found.hops and urls.scope_site(found.key) in self._areas

    def _refusal(self, found: Candidate, base: int, hops: int) -> tuple[SkipReason | None, str | None]:
        rules = self.rules
        if self._denies and (rule := self.denial(found.key)) is not None:
            return SkipReason.EXCLUDED, rule
        for allowed in self._allow_lists:
            if allowed.patterns.first(found.key) is None:
                return SkipReason.NOT_INCLUDED, allowed.rule
        if hops > rules.external_hops:
            return self._outside(base)
        depth = found.depth - (found.source is Source.RESOURCE)
        if rules.max_depth is not None and depth > rules.max_depth:
            return SkipReason.MAX_DEPTH, f"limits.max_depth: {rules.max_depth}"
        if found.source is Source.SPIDER and (rules.sitemap_only or not self.follows_links(base)):
            return SkipReason.SITEMAP_ONLY, f"sitemap.mode: {'only' if rules.sitemap_only else 'prefer'}"
        if base in self._full:
            return SkipReason.PAGE_LIMIT, self.page_limit_rule()
        if self._caps is not None and (rule := self._caps.refusal(found.key)) is not None:
            return SkipReason.CAP, rule
        return None, None

    def follows_links(self, base: int) -> bool:
        """Whether links to URLs of a base URL may be followed: if sitemaps are preferred, only where they are
        known to list none of them."""
        return not self.rules.prefers_sitemaps or base in self._unlisted

    def follow_links(self, base: int) -> None:
        """The sitemaps are read, and list no URL of the base URL."""
        self._unlisted.add(base)

    def denial(self, key: str, *, of_host: bool = False) -> str | None:
        """The rule that refuses the URL by its text, wherever it was found."""
        if self._denied_hosts:
            name = f".{urls.split(key).host}"
            for ending, rule in self._denied_hosts:
                if name.endswith(ending):
                    return rule
        return self._denials.rule(key, of_host=of_host) if self._denials is not None else None

    def bars_base(self, key: str) -> str | None:
        """The host rule that a base URL, or the target of its redirect, violates; other rules do not apply to
        it."""
        if self._hosts is not None and not self._hosts.has(key):
            return self._hosts.rule
        return self.denial(key, of_host=True)

    def _outside(self, base: int) -> tuple[SkipReason, str]:
        if self.rules.external_hops:
            return SkipReason.EXTERNAL_HOPS, f"scope.external_hops: {self.rules.external_hops}"
        if self._hosts is not None:
            return SkipReason.OUT_OF_SCOPE, self._hosts.rule
        return SkipReason.OUT_OF_SCOPE, f"scope: {urls.scope(self._scope_keys[base])}"
