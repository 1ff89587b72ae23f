"""robots.txt: what a file says to one crawler, and the line that decided (RFC 9309).

Owns reading the file, choosing the groups and matching. Always: any bytes are a robots.txt; the longest
matching pattern decides and Allow wins a tie; an answer takes a few milliseconds at most: where so many rules with
stars stand against so long a URL that it would take longer, the URL is refused. Never: fetches, keeps time,
raises, or knows what became of the request for the file.
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
"""What comparing a URL with rules that have stars may cost: its length times the weight of each, and something for
each star. Of 11,000 verdicts on real sites none costs more than 38,000."""
TOO_MUCH = "robots.txt: too many rules with stars for a URL of this length"

_STAR = 50
_LONG_PIECE = 100  # From here on Python searches in linear time, below in that of the product of both lengths.
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
_UNSETTLED = re.compile("%[0-9A-Fa-f]{2}|[\x80-\xff*$]")


def product_token(user_agent: str) -> str:
    """The name by which robots.txt files know the sender of this User-Agent header."""
    found = _PRODUCT(user_agent)
    return found[1] if found else FALLBACK


def without_userinfo(body: bytes) -> bytes:
    """The file as it may be kept: the URLs of its sitemaps have no user and password."""
    return _USERINFO(rb"\1", body)


@dataclass(frozen=True, slots=True)
class Robots:
    """What one robots.txt says to one crawler. `sitemaps` are as written, each once, in the file's order."""

    crawl_delay: float | None
    sitemaps: tuple[str, ...]
    _spelled: _RuleTable
    _settled: _RuleTable

    @classmethod
    def parse(cls, body: bytes, agent: str) -> Self:
        """What the file says to the crawler with this product token; a version after a slash is not looked at."""
        fields = list(_fields(body))
        said = _addressed(fields, agent.partition("/")[0].lower())
        rules = [rule for field in said for rule in _rules(field)]
        delays = [seconds for field in said for seconds in _delays(field)]
        sitemaps = dict.fromkeys(_text(field.value) for field in fields if field.name == "sitemap" and field.value)
        spelled = _table(rules, _spell)
        settled = _table(rules, _settle) if any(_AMBIGUOUS(rule.pattern) for rule in rules) else spelled
        return cls(max(delays, default=None), tuple(sitemaps), spelled, settled)

    @classmethod
    def allow_all(cls) -> Self:
        """What a site without a robots.txt says."""
        return cls.parse(b"", "")

    def refusal(self, url: str) -> str | None:
        """The line that forbids this URL, None if it is allowed: by its letters and by their meaning."""
        if self._spelled.is_empty:
            return None
        path = _path(url)
        if path == "/robots.txt":
            return None
        if not path.isascii():
            path = path.encode("utf-8", "replace").decode("latin-1")
        spelled = _TRIPLET.sub(_letter, path) if "%" in path else path
        settled = _settle(path)
        found = self._spelled.refusal(spelled)
        if found is None and (settled != spelled or self._settled is not self._spelled):
            found = self._settled.refusal(settled)
        return found


class _Field(NamedTuple):
    """A line that means something: its number from 1, what it is, its value, and the line as written."""

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
    """A rule's pattern cut at its stars; `tail` is what the URL must end with, None if it may go on.

    The rank is the pattern's length, and among equals Allow before Disallow. The weight is what matching takes for
    each character of a URL at most, the least how many characters a URL needs.
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
    """Rules made ready for one spelling of URLs: whole paths, prefixes, and patterns with stars by rank."""

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
                work_left -= len(path) * pattern.weight + _STAR * len(pattern.pieces)
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
        kept = starred if "*" in rule.pattern else prefixes if pattern.tail is None else exact
        if key not in kept or kept[key].rank < pattern.rank:
            kept[key] = pattern
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
    """The lines that mean something, of at most the first PARSE_CAP bytes and never a part of a line."""
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


def _addressed(fields: Iterable[_Field], agent: str) -> list[_Field]:
    """The rules and delays of the groups that name the agent; of those for everyone if none does.

    A rule ends a group's list of names. A delay does not: records outside RFC 9309 must not change its groups.
    """
    said: dict[str, list[_Field]] = {"*": [], agent: []}
    named: set[str] = set()
    group: set[str] = set()
    listing = True
    for field in fields:
        if field.name == "agent":
            group = group if listing else set()
            listing = True
            group |= said.keys() & {_addressee(field.value)}
            named |= group
        elif field.name != "sitemap":
            listing = listing and field.name == "delay"
            for name in group:
                said[name].append(field)
    return said[agent if agent in named else "*"]


def _addressee(value: str) -> str | None:
    """Whom a User-agent line names: `*`, a product token in lower case, or nobody."""
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
    """The part of a URL that rules are about: path and query, from the slash on."""
    path = _ORIGIN.sub("", url.partition("#")[0], count=1)
    return path if path.startswith("/") else "/" + path


def _spell(text: str) -> str:
    """A pattern's letters as a URL has them: bytes beyond ASCII escaped, escapes in upper case.

    The tilde alone is plain: old software escapes it, so that both spellings are common for one page.
    """
    return _UNSPELLED.sub(_letter, text)


def _settle(text: str) -> str:
    """The one spelling of what the letters mean: unreserved characters plain, a star or dollar escaped."""
    return _UNSETTLED.sub(_meaning, text)


def _letter(match: re.Match[str]) -> str:
    return _respelled(match[0], "~")


def _meaning(match: re.Match[str]) -> str:
    return _respelled(match[0], _UNRESERVED)


@cache
def _respelled(text: str, plain: str) -> str:
    """An escape, or a character to be escaped, in its one spelling; those in `plain` are not escaped."""
    escaped = f"%{ord(text):02X}" if len(text) == 1 else text.upper()
    character = chr(int(escaped[1:], 16))
    return character if character in plain else escaped


def _text(latin: str) -> str:
    return latin.encode("latin-1").decode("utf-8", "replace")


def _shown(line: str) -> str:
    """A line fit to be printed: nothing that could steer a terminal, and not without end."""
    text = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in _text(line)
    )
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
