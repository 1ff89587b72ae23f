"""robots.txt by RFC 9309: the rules for one crawler, and the line that decided.

Any bytes parse, without an exception. The longest matching pattern decides, and Allow wins a tie. A verdict takes
a few milliseconds at most: if many rules with wildcards meet a URL so long that it would take longer, the URL is
refused. Pure.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Self

PARSE_CAP = 512_000
FALLBACK = "orbweb"
MAX_WORK = 8_000_000
"""The most that matching a URL against rules with wildcards may cost: its length times the weight of each rule,
plus a constant per wildcard. Of 11,000 verdicts on real sites none costs more than 38,000."""
TOO_MUCH = "robots.txt: too many rules with wildcards for a URL of this length"

_WILDCARD = 50
_LONG_PIECE = 100  # From this length on Python's find is linear; below it takes the product of both lengths.
_LONG_WEIGHT = 4

_LINE_CAP = 16_663  # where Google's parser cuts a line
_SHOWN = 200
_BOM = b"\xef\xbb\xbf"
_BLANK = " \t\v\f"
_UNRESERVED = string.ascii_letters + string.digits + "-._~"

_PRODUCT = re.compile(r"\s*(?:Mozilla/\S+\s+\(compatible;\s*)?([A-Za-z0-9_-]+)").match
_TOKEN = re.compile(r"[A-Za-z0-9_-]+").match
_EVERYONE = re.compile(r"\*(?![A-Za-z0-9_*-])").match
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+").match
_FIELD = re.compile(r"([^:]*):(.*)|(\S+)[ \t]+(\S+)", re.DOTALL).fullmatch
_NAME = re.compile(
    "(?P<agent>user[- ]?agent)|(?P<allow>allow)|(?P<sitemap>site-?map)|(?P<delay>crawl[- ]?delay)"
    "|(?P<disallow>disallow|dissallow|dissalow|disalow|diasllow|disallaw)",
    re.IGNORECASE,
).match

_USERINFO = re.compile(
    rb"^(\s*site-?map\s*:?\s*(?:[a-z]+:[/\\]*|[/\\]{2,}))[^/\\\s?#]*@", re.IGNORECASE | re.MULTILINE
).sub

_ORIGIN = re.compile(r"\A(?:[^/?;]*?://|//)?[^/?;]*")
_AMBIGUOUS = re.compile(r"%|\$.").search
_TRIPLET = re.compile("%[0-9A-Fa-f]{2}")
_UNSPELLED = re.compile("%[0-9A-Fa-f]{2}|[\x80-\xff]")
_ESCAPABLE = re.compile("%[0-9A-Fa-f]{2}|[\x80-\xff*$]")


def product_token(user_agent: str) -> str:
    """The product token of a User-Agent header, which robots.txt groups are matched with."""
    found = _PRODUCT(user_agent)
    return found[1] if found else FALLBACK


def without_userinfo(body: bytes) -> bytes:
    """The file as it is stored: without user name and password in the URLs of its sitemaps."""
    return _USERINFO(rb"\1", body)


@dataclass(frozen=True, slots=True)
class Robots:
    """A robots.txt as it applies to one crawler. `sitemaps` are as written, without repeats, in file order.

    The rules are matched in two spellings of a URL: `_spelled` with its escapes as they are, and `_unescaped` with
    escapes of unreserved characters decoded.
    """

    crawl_delay: float | None
    sitemaps: tuple[str, ...]
    _spelled: _RuleTable
    _unescaped: _RuleTable

    @classmethod
    def parse(cls, body: bytes, agent: str) -> Self:
        """Parse a file for the crawler with this product token; a version after a slash is ignored."""
        fields = list(_fields(body))
        chosen = _applicable(fields, agent.partition("/")[0].lower())
        rules = [rule for field in chosen for rule in _rules(field)]
        delays = [seconds for field in chosen for seconds in _delays(field)]
        sitemaps = dict.fromkeys(_text(field.value) for field in fields if field.name == "sitemap" and field.value)
        spelled = _table(rules, _spell)
        unescaped = _table(rules, _unescape) if any(_AMBIGUOUS(rule.pattern) for rule in rules) else spelled
        return cls(max(delays, default=None), tuple(sitemaps), spelled, unescaped)

    @classmethod
    def allow_all(cls) -> Self:
        """The rules of a site without a robots.txt."""
        return cls.parse(b"", "")

    def refusal(self, url: str) -> str | None:
        """The line that forbids this URL in either spelling; None if it is allowed."""
        if self._spelled.is_empty:
            return None
        path = _path(url)
        if path == "/robots.txt":
            return None
        if not path.isascii():
            path = path.encode("utf-8", "replace").decode("latin-1")
        spelled = _TRIPLET.sub(_spelled_match, path) if "%" in path else path
        unescaped = _unescape(path)
        found = self._spelled.refusal(spelled)
        if found is None and (unescaped != spelled or self._unescaped is not self._spelled):
            found = self._unescaped.refusal(unescaped)
        return found


class _Field(NamedTuple):
    """A recognized line: its number from 1, its field name, its value, and the line as written."""

    line: int
    name: str
    value: str
    text: str


class _Rule(NamedTuple):
    """A rule of the crawler's groups; `pattern` is never empty."""

    allow: bool
    pattern: str
    line: int
    text: str


class _Pattern(NamedTuple):
    """A rule's pattern split at its wildcards; `tail` is the required end of the URL, None if any end matches.

    The rank is the pattern's length, and among equals Allow before Disallow. `weight` is the cost of matching per
    character of a URL, `least` the length of the shortest URL that can match.
    """

    rank: int
    rule: _Rule
    head: str
    pieces: tuple[str, ...]
    tail: str | None
    weight: int
    least: int

    def matches(self, path: str) -> bool:
        if not path.startswith(self.head):
            return False
        at = len(self.head)
        for piece in self.pieces:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return self.tail is None or path.endswith(self.tail, at)


@dataclass(frozen=True, slots=True)
class _RuleTable:
    """The rules in one spelling: whole paths, prefixes, and patterns with wildcards by rank."""

    exact: dict[str, _Pattern]
    prefixes: dict[str, _Pattern]
    lengths: tuple[int, ...]
    starred: tuple[_Pattern, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.exact or self.prefixes or self.starred)

    def refusal(self, path: str) -> str | None:
        found = self.exact.get(path) or self._longest_prefix(path)
        work_left = MAX_WORK
        for pattern in self.starred:
            if found is not None and pattern.rank <= found.rank:
                break
            if len(path) >= pattern.least and path.startswith(pattern.head):
                work_left -= len(path) * pattern.weight + _WILDCARD * len(pattern.pieces)
                if work_left < 0:
                    return TOO_MUCH
                if pattern.matches(path):
                    found = pattern
                    break
        if found is None or found.rule.allow:
            return None
        return f"robots.txt line {found.rule.line}: {_shown(found.rule.text)}"

    def _longest_prefix(self, path: str) -> _Pattern | None:
        for length in self.lengths:
            found = self.prefixes.get(path[:length])
            if found is not None:
                return found
        return None


def _table(rules: Iterable[_Rule], spell: Callable[[str], str]) -> _RuleTable:
    exact: dict[str, _Pattern] = {}
    prefixes: dict[str, _Pattern] = {}
    starred: dict[str, _Pattern] = {}
    for rule in rules:
        key, pattern = _cut(rule, spell)
        table = starred if "*" in rule.pattern else prefixes if pattern.tail is None else exact
        if key not in table or table[key].rank < pattern.rank:
            table[key] = pattern
    lengths = sorted({len(prefix) for prefix in prefixes}, reverse=True)
    by_rank = sorted(starred.values(), key=lambda pattern: -pattern.rank)
    return _RuleTable(exact, prefixes, tuple(lengths), tuple(by_rank))


def _cut(rule: _Rule, spell: Callable[[str], str]) -> tuple[str, _Pattern]:
    """The pattern, and a key: patterns with the same key match the same paths."""
    body = rule.pattern.removesuffix("$")
    anchored = body != rule.pattern
    head, *pieces = [spell(piece) for piece in body.split("*")]
    rank = 2 * (len("*".join((head, *pieces))) + anchored) + rule.allow
    tail = (pieces.pop() if pieces else "") if anchored else None
    middle = tuple(piece for piece in pieces if piece)
    key = "*".join((head, *middle, tail + "$" if tail else "")) if "*" in body else head
    longest = max(map(len, middle), default=0)
    weight = _LONG_WEIGHT if longest >= _LONG_PIECE else 1 + longest
    least = len(head) + sum(map(len, middle)) + len(tail or "")
    return key, _Pattern(rank, rule, head, middle, tail, weight, least)


def _fields(body: bytes) -> Iterator[_Field]:
    """The recognized lines within the first PARSE_CAP bytes; a line cut there is dropped."""
    body = body.removeprefix(_BOM)
    if len(body) > PARSE_CAP:
        start = body[: PARSE_CAP + 1]
        body = start[: max(start.rfind(b"\n"), start.rfind(b"\r"), 0)]
    for number, raw in enumerate(body.splitlines(), 1):
        text = raw[:_LINE_CAP].decode("latin-1").partition("#")[0].strip(_BLANK)
        found = _FIELD(text)
        name = found and _NAME((found[1] or found[3] or "").strip(_BLANK))
        if found and name and name.lastgroup:
            yield _Field(number, name.lastgroup, (found[2] or found[4] or "").strip(_BLANK), text)


def _applicable(fields: Iterable[_Field], agent: str) -> list[_Field]:
    """The rules and delays of the groups that name the agent, or of the `*` groups if none does.

    A rule ends a group's list of agents. A delay does not: records outside RFC 9309 must not change its groups.
    """
    by_agent: dict[str, list[_Field]] = {"*": [], agent: []}
    named: set[str] = set()
    group: set[str] = set()
    listing = True
    for field in fields:
        if field.name == "agent":
            group = group if listing else set()
            listing = True
            group |= by_agent.keys() & {_agent(field.value)}
            named |= group
        elif field.name != "sitemap":
            listing = listing and field.name == "delay"
            for name in group:
                by_agent[name].append(field)
    return by_agent[agent if agent in named else "*"]


def _agent(value: str) -> str | None:
    """The agent of a User-agent line: `*`, a product token in lower case, or None if it is invalid."""
    if _EVERYONE(value):
        return "*"
    token = _TOKEN(value)
    return token[0].lower() if token else None


def _rules(field: _Field) -> Iterator[_Rule]:
    if field.name not in ("allow", "disallow") or not field.value:
        return
    rule = _Rule(field.name == "allow", field.value, field.line, field.text)
    yield rule
    directory, slash, file = field.value.rpartition("/")
    if rule.allow and slash and file.startswith("index.htm"):
        yield rule._replace(pattern=f"{directory}/$")


def _delays(field: _Field) -> Iterator[float]:
    found = _SECONDS(field.value) if field.name == "delay" else None
    if found and math.isfinite(seconds := float(found[0])):
        yield seconds


def _path(url: str) -> str:
    """The part of a URL that rules match: path and query, with the leading slash."""
    path = _ORIGIN.sub("", url.partition("#")[0], count=1)
    return path if path.startswith("/") else "/" + path


def _spell(text: str) -> str:
    """A pattern in the spelling of URLs: bytes beyond ASCII escaped, escapes in upper case.

    Only the tilde is decoded: old software escapes it, so that both spellings are common for one page.
    """
    return _UNSPELLED.sub(_spelled_match, text)


def _unescape(text: str) -> str:
    """The canonical spelling: unreserved characters decoded, a star or dollar escaped."""
    return _ESCAPABLE.sub(_unescaped_match, text)


def _spelled_match(match: re.Match[str]) -> str:
    return _respelled(match[0], "~")


def _unescaped_match(match: re.Match[str]) -> str:
    return _respelled(match[0], _UNRESERVED)


@cache
def _respelled(text: str, plain: str) -> str:
    """An escape, or a character to be escaped, in upper case; a character in `plain` is not escaped."""
    escaped = f"%{ord(text):02X}" if len(text) == 1 else text.upper()
    character = chr(int(escaped[1:], 16))
    return character if character in plain else escaped


def _text(latin: str) -> str:
    return latin.encode("latin-1").decode("utf-8", "replace")


def _shown(line: str) -> str:
    """A line that is safe to print: without control characters, and of limited length."""
    text = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in _text(line)
    )
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
