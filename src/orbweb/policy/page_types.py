"""The page type of a URL, its score, and the caps on groups of URLs.

Page type and score are functions of the URL; the room left in a group is a function of the URLs admitted before,
so the caller restores the counts of a run with `recount`. A group never admits more URLs than its caps, in total
and per type. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orbweb.errors import ConfigError
from orbweb.policy.patterns import Pattern, PatternList, compiled

PAGE = "page"
"""The type of a URL that no rule matches."""
PAGES = "pages"
"""The cap on all URLs of a group, whatever their type."""
BEST_SCORE = 1_000
_LEVELS = 40


@dataclass(frozen=True, slots=True)
class TypeRule:
    """The type of matching URLs, and their score unless a `ScoreRule` matches."""

    type: str
    pattern: str
    score: int = 0


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """The score of matching URLs."""

    pattern: str
    score: int


@dataclass(frozen=True, slots=True)
class GroupRule:
    """Matching URLs are in one group if the named parts of the pattern have the same text in them.

    With `types`, the rule applies only to URLs of these page types.
    """

    name: str
    pattern: str
    caps: tuple[tuple[str, int], ...]
    types: tuple[str, ...] = ()
    fold_case: bool = False


class Room(NamedTuple):
    """How many more URLs a group admits, for each cap that applies to the URL."""

    group: str
    member: str
    left: dict[str, int]


class Types:
    """Page types and scores: the first rule that matches decides."""

    def __init__(self, types: Sequence[TypeRule], scores: Sequence[ScoreRule]) -> None:
        self._types = types
        self._scores = scores
        self._by_type = _patterns("policy.page_types", types)
        self._by_score = _patterns("policy.scores", scores)
        self.has_scores = bool(scores) or any(rule.score for rule in types)

    def page_type(self, key: str) -> str:
        rule = self._rule(key)
        return PAGE if rule is None else rule.type

    def score(self, key: str) -> int:
        found = self._by_score.first(key)
        if found is not None:
            return self._scores[found].score
        rule = self._rule(key)
        return 0 if rule is None else rule.score

    def _rule(self, key: str) -> TypeRule | None:
        found = self._by_type.first(key)
        return None if found is None else self._types[found]


def _patterns(setting: str, rules: Sequence[TypeRule | ScoreRule]) -> PatternList:
    names = [f"{setting}[{number}].pattern" for number in range(len(rules))]
    return PatternList(names, [rule.pattern for rule in rules])


def scored(sequence: int, score: int) -> int:
    """The rank of a URL admitted to a later level: before all ranks without a score, best score first."""
    return sequence - ((BEST_SCORE + 1 + score) << _LEVELS)


def sequence(rank: int) -> int:
    """The sequence that a rank was derived from, whatever the score."""
    return rank & ((1 << _LEVELS) - 1)


class _Group:
    """One rule, and how many URLs each of its groups has admitted."""

    def __init__(self, number: int, rule: GroupRule, known_types: frozenset[str]) -> None:
        self.name = rule.name
        self.caps = dict(rule.caps)
        self._setting = f"policy.groups[{number}]"
        self._fold_case = rule.fold_case
        self._pattern: Pattern = compiled(f"{self._setting}.pattern", rule.pattern, captures=True)
        self._parts = sorted(self._pattern.groupindex.values())
        self._admitted: Counter[tuple[str, str]] = Counter()
        self._types = frozenset(rule.types)
        for cap in self.caps:
            self._check(f"caps.{cap}", cap, known_types | {PAGES})
        for place, name in enumerate(rule.types):
            self._check(f"types[{place}]: {name}", name, known_types)

    def _check(self, key: str, name: str, known: frozenset[str]) -> None:
        if name not in known:
            raise ConfigError(
                f"{self._setting}.{key}: no rule of policy.page_types defines this type; "
                f"choose from {', '.join(sorted(known))}"
            )

    def member(self, key: str, page_type: str) -> str | None:
        """The group of the URL: the named parts of the pattern; None if the rule does not apply."""
        if self._types and page_type not in self._types:
            return None
        found = self._pattern.search(key.encode())
        if found is None:
            return None
        text = b"/".join(found.group(part) or b"" for part in self._parts).decode()
        return text.lower() if self._fold_case else text

    def left(self, member: str, page_type: str) -> dict[str, int]:
        """The room left for each cap that applies to this type; 0 if a cap was lowered below the count."""
        found = ((cap, self.caps.get(cap)) for cap in (PAGES, page_type))
        return {cap: max(0, limit - self._admitted[member, cap]) for cap, limit in found if limit is not None}

    def rule(self, cap: str, member: str) -> str:
        return f"{self._setting}.caps.{cap}: {self.caps[cap]} of {self.name} {member}".rstrip()

    def admit(self, member: str, page_type: str) -> None:
        for cap in self.left(member, page_type):
            self._admitted[member, cap] += 1

    def clear(self) -> None:
        self._admitted.clear()


class Caps:
    """The groups of a run, and how many URLs of each were admitted."""

    def __init__(self, rules: Sequence[GroupRule], types: Types, type_names: Iterable[str]) -> None:
        known = frozenset((*type_names, PAGE))
        self._types = types
        self._groups = [_Group(number, rule, known) for number, rule in enumerate(rules)]

    def refusal(self, key: str) -> str | None:
        """The cap that leaves no room for the URL; None if there is room."""
        page_type = self._types.page_type(key)
        for group, member in self._members(key, page_type):
            for cap, left in group.left(member, page_type).items():
                if not left:
                    return group.rule(cap, member)
        return None

    def admit(self, key: str) -> None:
        """Count an admitted URL, whatever its outcome."""
        page_type = self._types.page_type(key)
        for group, member in self._members(key, page_type):
            group.admit(member, page_type)

    def recount(self, keys: Iterable[str]) -> None:
        """Replace the counts by those of these URLs."""
        for group in self._groups:
            group.clear()
        for key in keys:
            self.admit(key)

    def rooms(self, key: str) -> list[Room]:
        page_type = self._types.page_type(key)
        members = self._members(key, page_type)
        return [Room(group.name, member, group.left(member, page_type)) for group, member in members]

    def _members(self, key: str, page_type: str) -> Iterator[tuple[_Group, str]]:
        for group in self._groups:
            member = group.member(key, page_type)
            if member is not None:
                yield group, member
