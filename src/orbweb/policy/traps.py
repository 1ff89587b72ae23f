"""URLs without end: calendars, session ids, paths and parameters that a site makes up for ever.

Owns which family a URL belongs to and when a family has shown that nothing new comes of it. A URL of such a family
is parked: it is skipped with the family's pattern as the rule, and can be released. Always: a judgement depends on
the URL, on the page that links to it and on what was settled before it in the order of places, so the same site
gives the same answer with any number of workers. Never: judges a base URL, what a sitemap lists or what a person
released, and never stops at one sign alone where real pages look alike.

Signs, by the kind of family:
- repeated: the same part of a path three times in a row needs no other sign, unless it is numbered.
- variant: a value that looks made up (a session, a time). When such URLs showed again what others with the same
  stem have shown, one URL for each stem is enough.
- calendar: nothing but a date after the stem. One page that was found on another page of the family, says the same
  in other numbers and leads nowhere else is a sign.
- growth: the URL of the page it is on, and one part or one parameter more. One such page is a sign. Of those with
  one parameter more, as filters have, two are followed first; the rest waits for what they show, or for the end.
- query: the same parameters with other values. Two such pages in a row are a sign.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from orbweb.model import FamilyRow, Source

REPEATS = 3
LONGEST_REPEAT = 4
MAX_SEGMENTS = 40
MAX_PARAMETERS = 20
GROWN_FROM = 4
"""Segments of a path from which on a link that adds one is growth. Real trees of thin pages are seldom deeper."""
GROWN_STEM = 2
"""Segments by which such paths are one family."""
SKETCH_CHARACTERS = 2_000
SKETCH_SIZE = 32
ALIKE_WORDS = 2
ALIKE_SHARE = 0.8

_INTERESTING = re.compile(r"[?;(]|/(?:19|20|21)\d\d|/(?=[^/]*\d)[0-9A-Za-z-]{10,}(?:/|$)").search
_REPEATED = re.compile(rf"((?:/[^/?]+){{1,{LONGEST_REPEAT}}})\1{{{REPEATS - 1}}}(?=/|$)").finditer
_NUMBERED = re.compile(r"(?:/[^/\d]*\d[^/]*)+").fullmatch
_YEAR = r"(?:19|20|21)\d\d"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_PATH_DATE = re.compile(
    rf"/{_YEAR}(?:/{_MONTH}(?:/{_DAY})?|-(?:{_MONTH}|[wW]\d\d?)(?:-{_DAY})?|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])?)$"
).search
_DATE_NAMES = frozenset(
    ("year", "month", "day", "date", "week", "yr", "mon", "y", "m", "d", "from", "to", "start", "end")
)
_DATE_VALUE = re.compile(rf"{_YEAR}(?:[-/.]?{_MONTH}(?:[-/.]?{_DAY})?)?|[01]?\d|[123]\d|5[0-3]|4\d").fullmatch
_SESSION = re.compile(r";[A-Za-z_]+=[A-Za-z0-9.!_-]{8,}|\([A-Z]\([A-Za-z0-9]{8,}\)\)").search
_MADE_UP = re.compile(
    r"(?=[A-Za-z]*\d)(?:[0-9a-f]{16,}|(?=[0-9]*[A-Za-z])[A-Za-z0-9]{16,}|\d{10,}"
    r"|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})"
).fullmatch
_SESSION_NAMES = re.compile(
    r"(?:s|session|sess|php|asp)[-_]?(?:id|key|hash|token)s?|cfid|cftoken|nonce|token|rnd|rand|cb|_"
).fullmatch
_SESSION_VALUE = re.compile(r"[A-Za-z0-9._-]{6,}").fullmatch
_words = re.compile(r"(?<!\w)[^\W\d_]{2,}(?!\w)").findall


JUDGED = (Source.SPIDER, Source.REDIRECT)
"""How a URL must have been found to be parked."""


class TrapKind(StrEnum):
    """By which signs a family is known to be endless."""

    REPEATED = "repeated"
    VARIANT = "variant"
    CALENDAR = "calendar"
    QUERY = "query"
    GROWTH = "growth"


NEEDED = {TrapKind.VARIANT: 2, TrapKind.CALENDAR: 1, TrapKind.QUERY: 2, TrapKind.GROWTH: 1}
"""Pages in a row that brought nothing new, after which the rest of a family is parked."""
TRIED_FIRST = 2
"""URLs with one parameter more that are followed before the first of them has shown what it is worth."""
DECIDED = -1
"""Instead of how many were tried: the family has brought something new, so none of it waits."""


class Family(NamedTuple):
    """URLs that differ in made-up parts only. `stem` is the URL without them, for the kind `variant`."""

    kind: TrapKind
    pattern: str
    stem: str = ""


def needs_sketch(url: str) -> bool:
    """Whether what a page says may ever be asked for: its URL has a family, or may have grown."""
    return family(url) is not None or _split(url)[1].count("/") > GROWN_FROM


def sketch(text: str) -> bytes:
    """A small summary of the words of a text without its numbers, to tell texts that say the same."""
    words = set(_words(text[:SKETCH_CHARACTERS].lower()))
    hashes = sorted({zlib.crc32(word.encode("utf-8", "replace")) for word in words})
    return b"".join(value.to_bytes(4) for value in hashes[:SKETCH_SIZE])


def alike(one: bytes, other: bytes) -> bool:
    """Whether two sketches are of texts that say the same: they share nearly all their words."""
    left, right = _hashes(one), _hashes(other)
    shared = len(left & right)
    most = max(len(left), len(right))
    return most - shared <= ALIKE_WORDS // 2 or shared >= ALIKE_SHARE * most


def _hashes(packed: bytes) -> set[bytes]:
    return {packed[start : start + 4] for start in range(0, len(packed), 4)}


@lru_cache(maxsize=4096)
def family(key: str) -> Family | None:
    """The family of a key by its own looks; None for nearly all."""
    site, path, query = _split(key)
    if _repeats(path) or query.count("&") >= MAX_PARAMETERS:
        return _repeated(site, path)
    if not _INTERESTING(key, len(site)):
        return None
    return _variant(site, path, query) or _dated(site, path, query) or _queried(site, path, query)


def _split(key: str) -> tuple[str, str, str]:
    rest, _, query = key.partition("?")
    start = rest.find("/", rest.find("//") + 2)
    return rest[:start], rest[start:], query


def _repeats(path: str) -> bool:
    """Whether the parts of a path are too many, or some come again so often that they may be without end."""
    if path.count("/") < REPEATS:
        return False
    parts = path.split("/")
    again = len(parts) - len(set(parts))
    return len(parts) > MAX_SEGMENTS or (again >= REPEATS - 1 and _repetition(path) is not None)


def _repetition(path: str) -> re.Match[str] | None:
    """Where parts of a path come again and again. Numbered ones may: /1/1/1 and /s1/s1/s1 are pages of a tree."""
    return next((match for match in _REPEATED(path) if not _NUMBERED(match[1])), None)


def _repeated(site: str, path: str) -> Family:
    match = _repetition(path)
    if match:
        return Family(TrapKind.REPEATED, f"{site}{path[: match.start()]}{match[1] * REPEATS}...")
    if path.count("/") >= MAX_SEGMENTS:
        return Family(TrapKind.REPEATED, f"{site}/...: {MAX_SEGMENTS} parts or more in the path")
    return Family(TrapKind.REPEATED, f"{site}{path}?...: more than {MAX_PARAMETERS} parameters")


def _variant(site: str, path: str, query: str) -> Family | None:
    """A value that looks made up: where it stands is the family, what is left of the URL the stem."""
    match = _SESSION(path)
    if match:
        name, given, _ = match[0].partition("=")
        stem = path[: match.start()] + path[match.end() :]
        made_up = f"{name}=*" if given else f"{name[:3]}*))"
        return Family(TrapKind.VARIANT, f"{site}/...{made_up}", _joined(site, stem.replace("//", "/"), query))
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    names = [name for name, _, value in pairs if _is_made_up(name, value)]
    if names:
        rest = "&".join("".join(pair) for pair in pairs if pair[0] not in names)
        return Family(
            TrapKind.VARIANT, f"{site}/...?{'&'.join(f'{name}=*' for name in names)}", _joined(site, path, rest)
        )
    segments = path.split("/")
    for at, segment in enumerate(segments):
        if len(segment) >= 10 and _MADE_UP(segment):
            rest = "/".join(segments[:at] + segments[at + 1 :])
            return Family(
                TrapKind.VARIANT, f"{site}{'/'.join(segments[:at])}/*", _joined(site, rest or "/", query)
            )
    return None


def _joined(site: str, path: str, query: str) -> str:
    return f"{site}{path}?{query}" if query else f"{site}{path}"


def _is_made_up(name: str, value: str) -> bool:
    if len(value) >= 10 and _MADE_UP(value):
        return True
    return bool(_SESSION_NAMES(name.lower()) and _SESSION_VALUE(value) and re.search(r"\d", value))


def _dated(site: str, path: str, query: str) -> Family | None:
    match = _PATH_DATE(path)
    if match and not query:
        return Family(TrapKind.CALENDAR, f"{site}{path[: match.start()]}/<date>")
    if query:
        pairs = [pair.partition("=") for pair in query.split("&")]
        dates = [name for name, _, value in pairs if name.lower() in _DATE_NAMES and _DATE_VALUE(value)]
        if dates and len(dates) == len(pairs):
            return Family(TrapKind.CALENDAR, f"{site}{path}?<date>")
    return None


def _queried(site: str, path: str, query: str) -> Family | None:
    return (
        Family(TrapKind.QUERY, f"{site}{path}?{'&'.join(f'{name}=*' for name in _names(query))}")
        if query
        else None
    )


def _names(query: str) -> list[str]:
    return sorted({pair.partition("=")[0] for pair in query.split("&")})


def grown(key: str, parent: str) -> Family | None:
    """The family of a URL that is its parent's and more: one part of the path, or one parameter."""
    site, path, query = _split(key)
    parent_site, parent_path, parent_query = _split(parent)
    if site != parent_site:
        return None
    if query or parent_query:
        return _wider(site, path) if path == parent_path and _adds(query, parent_query) else None
    if parent_path.count("/") < GROWN_FROM or path.count("/") != parent_path.count("/") + 1:
        return None
    return _deeper(site, path) if path.startswith(parent_path + "/") else None


def _adds(query: str, parent_query: str) -> bool:
    return bool(parent_query) and set(_names(query)) > set(_names(parent_query))


def _deeper(site: str, path: str) -> Family:
    return Family(TrapKind.GROWTH, f"{site}{'/'.join(path.split('/')[: GROWN_STEM + 1])}/...")


def _wider(site: str, path: str) -> Family:
    return Family(TrapKind.GROWTH, f"{site}{path}?...")


def family_of(key: str, parent: str) -> Family | None:
    """The family of a link: by its looks, or by what it adds to the page it is on."""
    looks = family(key)
    if looks is None or looks.kind is TrapKind.QUERY:
        return grown(key, parent) or looks
    return looks


def rule(pattern: str) -> str:
    """By which a URL of that family is parked."""
    return f"scope.park_traps: {pattern}"


class Traps:
    """What the families of one run have shown so far."""

    def __init__(self, run_id: int, rows: Iterable[FamilyRow], known: Callable[[str], bool]) -> None:
        """`known` tells whether the run has seen a key; `rows` are the stored families."""
        self._run_id = run_id
        self._known = known
        self._families = {row.pattern: row for row in rows}
        self._dirty: dict[str, FamilyRow] = {}

    def judge(self, key: str, parent: str) -> tuple[str | None, bool]:
        """The pattern by which a link is parked, if it is; and whether it is of the family of its page."""
        found = family_of(key, parent)
        if found is None:
            return None, False
        family_member = self._is_kin(found, parent)
        return (found.pattern if self._is_trap(found, family_member=family_member) else None), family_member

    def is_released(self, pattern: str) -> bool:
        """Whether a person wants the family followed."""
        row = self._families.get(pattern)
        return row is not None and row.released

    def is_family_member(self, key: str, parent: str) -> bool:
        """Whether a link leads to a page of the same family as the page it is on."""
        found = family_of(key, parent)
        return found is not None and self._is_kin(found, parent)

    def _is_kin(self, found: Family, parent: str) -> bool:
        if found.kind is TrapKind.GROWTH:
            return True
        of_parent = family(parent)
        if found.kind is TrapKind.VARIANT:
            return found.stem in (parent, of_parent and of_parent.stem)
        return of_parent is not None and of_parent.pattern == found.pattern

    def _is_trap(self, found: Family, *, family_member: bool) -> bool:
        row = self._families.get(found.pattern)
        if row is not None and row.released:
            return False
        if found.kind is TrapKind.REPEATED:
            return True
        if row is None:
            return False
        if row.barren < NEEDED[found.kind]:
            return row.tried >= TRIED_FIRST
        if found.kind is TrapKind.VARIANT:
            return found.stem in self._families or self._known(found.stem)
        return family_member

    def admitted(self, key: str, parent: str) -> None:
        """A link is followed. What looks made up needs one URL for each stem; filters are counted."""
        found = family_of(key, parent)
        if found is None:
            return
        if found.kind is TrapKind.VARIANT and found.stem not in self._families:
            self._save(self._row(found.stem, TrapKind.VARIANT))
        elif found.kind is TrapKind.GROWTH and "?" in key:
            row = self._row(found.pattern, found.kind)
            self._save(row._replace(tried=row.tried + (row.tried >= 0)))

    def take_waiting(self) -> list[str]:
        """The patterns of families of which URLs may wait for no reason. From now on none of theirs waits."""
        waiting = [
            row
            for row in self._families.values()
            if (row.tried >= TRIED_FIRST or row.tried == DECIDED) and row.barren < NEEDED[TrapKind.GROWTH]
        ]
        for row in waiting:
            self._save(row._replace(tried=DECIDED))
        return [row.pattern for row in waiting]

    def settled(self, key: str, *, family_member: bool, repeats: bool, elsewhere: bool, summary: bytes) -> None:
        """A page was captured, and its links are about to be judged.

        `family_member`: it was found on a page of its family; `repeats`: its content was there before;
        `elsewhere`: it leads to a new URL of another family.
        """
        for found in _families_of(key, family_member=family_member):
            row = self._row(found.pattern, found.kind)
            if found.kind is TrapKind.VARIANT:
                stem = self._row(found.stem, TrapKind.VARIANT)
                same = repeats or (summary != b"" and stem.sketch == summary)
                is_first = stem.sketch == b""
                barren = row.barren + 1 + family_member if same else row.barren if is_first else 0
                self._save(stem._replace(sketch=summary))
            elif family_member:
                same = repeats or alike(row.sketch, summary)
                barren = row.barren + 1 if same and not elsewhere else 0
                if not barren and found.kind is TrapKind.GROWTH:
                    row = row._replace(tried=DECIDED)
            else:
                barren = row.barren
            self._save(row._replace(barren=barren, sketch=summary))

    def _row(self, pattern: str, kind: TrapKind) -> FamilyRow:
        return self._families.get(pattern) or FamilyRow(self._run_id, pattern, kind.value, 0, 0, False, b"")

    def _save(self, row: FamilyRow) -> None:
        if self._families.get(row.pattern) != row:
            self._families[row.pattern] = self._dirty[row.pattern] = row

    def take_changes(self) -> list[FamilyRow]:
        """What the next group has to store."""
        changes = list(self._dirty.values())
        self._dirty.clear()
        return changes


def _families_of(key: str, *, family_member: bool) -> list[Family]:
    """The families that a captured page tells something about."""
    site, path, _ = _split(key)
    looks = family(key)
    if looks is None:
        return [_deeper(site, path)] if family_member else []
    if looks.kind is TrapKind.QUERY:
        return [looks, _wider(site, path)]
    return [] if looks.kind is TrapKind.REPEATED else [looks]
