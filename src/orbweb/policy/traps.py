"""Crawler traps: calendars, session ids, and paths and parameters that a site generates without end.

URLs that differ only in generated parts are a family. When the pages of a family bring nothing new, its URLs are
parked: skipped with the family's pattern as the rule, until they are released. A verdict depends on the URL, on
the page that links to it and on the pages committed before it in order, so the same site gives the same result
with any number of workers. Base URLs, sitemap entries and released families are never parked, and one sign alone
is not enough where real pages look similar.

Signs, by the kind of family:
- repeated: the same part of a path three times in a row needs no other sign, unless it is numbered.
- variant: a generated value (a session, a time). When such URLs return the same content as others with the same
  stem, one URL per stem is enough.
- calendar: only a date after the stem. A page that was found on another page of the family, has the same text
  except for numbers and links to no new URL of another family is a sign.
- growth: the URL of the linking page plus one path segment or one parameter. One such page is a sign. Of URLs with
  one more parameter, as filters have, two are followed first; the rest waits for their result, or for the end.
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
"""From this many path segments on, a link that adds one is growth. Real trees of thin pages are seldom deeper."""
GROWN_STEM = 2
"""The leading segments that identify the family of such paths."""
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
_GENERATED = re.compile(
    r"(?=[A-Za-z]*\d)(?:[0-9a-f]{16,}|(?=[0-9]*[A-Za-z])[A-Za-z0-9]{16,}|\d{10,}"
    r"|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})"
).fullmatch
_SESSION_NAMES = re.compile(
    r"(?:s|session|sess|php|asp)[-_]?(?:id|key|hash|token)s?|cfid|cftoken|nonce|token|rnd|rand|cb|_"
).fullmatch
_SESSION_VALUE = re.compile(r"[A-Za-z0-9._-]{6,}").fullmatch
_words = re.compile(r"(?<!\w)[^\W\d_]{2,}(?!\w)").findall


JUDGED = (Source.SPIDER, Source.REDIRECT)
"""Only URLs from these sources are parked."""


class TrapKind(StrEnum):
    """The kind of sign that identifies a trap."""

    REPEATED = "repeated"
    VARIANT = "variant"
    CALENDAR = "calendar"
    QUERY = "query"
    GROWTH = "growth"


NEEDED = {TrapKind.VARIANT: 2, TrapKind.CALENDAR: 1, TrapKind.QUERY: 2, TrapKind.GROWTH: 1}
"""After this many pages in a row without new content, the rest of a family is parked."""
TRIED_FIRST = 2
"""How many URLs with one more parameter are followed before the first of them is committed."""
DECIDED = -1
"""A value of `tried`: the family has brought new content, so none of its URLs wait."""


class Family(NamedTuple):
    """URLs that differ only in generated parts. `stem` is the URL without them, for the kind `variant`."""

    kind: TrapKind
    pattern: str
    stem: str = ""


def needs_sketch(url: str) -> bool:
    """Whether the sketch of a page may be needed: its URL has a family, or may be one of growth."""
    return family(url) is not None or _split(url)[1].count("/") > GROWN_FROM


def sketch(text: str) -> bytes:
    """A small fingerprint of the words of a text without its numbers, to recognize texts that are nearly equal."""
    words = set(_words(text[:SKETCH_CHARACTERS].lower()))
    hashes = sorted({zlib.crc32(word.encode("utf-8", "replace")) for word in words})
    return b"".join(value.to_bytes(4) for value in hashes[:SKETCH_SIZE])


def alike(one: bytes, other: bytes) -> bool:
    """Whether two sketches are of nearly equal texts: they share nearly all their words."""
    left, right = _hashes(one), _hashes(other)
    shared = len(left & right)
    most = max(len(left), len(right))
    return most - shared <= ALIKE_WORDS // 2 or shared >= ALIKE_SHARE * most


def _hashes(packed: bytes) -> set[bytes]:
    return {packed[start : start + 4] for start in range(0, len(packed), 4)}


@lru_cache(maxsize=4096)
def family(key: str) -> Family | None:
    """The family of a key by its own form; None for nearly all."""
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
    """Whether a path has too many segments, or repeats some so often that it may be endless."""
    if path.count("/") < REPEATS:
        return False
    parts = path.split("/")
    again = len(parts) - len(set(parts))
    return len(parts) > MAX_SEGMENTS or (again >= REPEATS - 1 and _repetition(path) is not None)


def _repetition(path: str) -> re.Match[str] | None:
    """Where path segments repeat. Numbered segments may: /1/1/1 and /s1/s1/s1 are pages of a tree."""
    return next((match for match in _REPEATED(path) if not _NUMBERED(match[1])), None)


def _repeated(site: str, path: str) -> Family:
    match = _repetition(path)
    if match:
        return Family(TrapKind.REPEATED, f"{site}{path[: match.start()]}{match[1] * REPEATS}...")
    if path.count("/") >= MAX_SEGMENTS:
        return Family(TrapKind.REPEATED, f"{site}/...: {MAX_SEGMENTS} parts or more in the path")
    return Family(TrapKind.REPEATED, f"{site}{path}?...: more than {MAX_PARAMETERS} parameters")


def _variant(site: str, path: str, query: str) -> Family | None:
    """A generated value: its position is the family, the rest of the URL the stem."""
    match = _SESSION(path)
    if match:
        name, given, _ = match[0].partition("=")
        stem = path[: match.start()] + path[match.end() :]
        generated = f"{name}=*" if given else f"{name[:3]}*))"
        return Family(TrapKind.VARIANT, f"{site}/...{generated}", _joined(site, stem.replace("//", "/"), query))
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    names = [name for name, _, value in pairs if _is_generated(name, value)]
    if names:
        rest = "&".join("".join(pair) for pair in pairs if pair[0] not in names)
        return Family(
            TrapKind.VARIANT, f"{site}/...?{'&'.join(f'{name}=*' for name in names)}", _joined(site, path, rest)
        )
    segments = path.split("/")
    for at, segment in enumerate(segments):
        if len(segment) >= 10 and _GENERATED(segment):
            rest = "/".join(segments[:at] + segments[at + 1 :])
            return Family(
                TrapKind.VARIANT, f"{site}{'/'.join(segments[:at])}/*", _joined(site, rest or "/", query)
            )
    return None


def _joined(site: str, path: str, query: str) -> str:
    return f"{site}{path}?{query}" if query else f"{site}{path}"


def _is_generated(name: str, value: str) -> bool:
    if len(value) >= 10 and _GENERATED(value):
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
    """The family of a URL that extends its parent's by one path segment or one parameter."""
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
    """The family of a link: by its own form, or by what it adds to the URL of the linking page."""
    own = family(key)
    if own is None or own.kind is TrapKind.QUERY:
        return grown(key, parent) or own
    return own


def rule(pattern: str) -> str:
    """The rule that is stored with a parked URL of the family."""
    return f"scope.park_traps: {pattern}"


class Traps:
    """The state of the families of one run."""

    def __init__(self, run_id: int, rows: Iterable[FamilyRow], known: Callable[[str], bool]) -> None:
        """`known` returns whether the run has seen a key; `rows` are the stored families."""
        self._run_id = run_id
        self._known = known
        self._families = {row.pattern: row for row in rows}
        self._dirty: dict[str, FamilyRow] = {}

    def judge(self, key: str, parent: str) -> tuple[str | None, bool]:
        """The pattern by which a link is parked, if it is; and whether it is of the family of the linking page."""
        found = family_of(key, parent)
        if found is None:
            return None, False
        family_member = self._is_kin(found, parent)
        return (found.pattern if self._is_trap(found, family_member=family_member) else None), family_member

    def is_released(self, pattern: str) -> bool:
        """Whether the user released the family."""
        row = self._families.get(pattern)
        return row is not None and row.released

    def is_family_member(self, key: str, parent: str) -> bool:
        """Whether a link leads to a page of the same family as the linking page."""
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
        """Record an admitted link: one URL per stem for variants, a count for filters."""
        found = family_of(key, parent)
        if found is None:
            return
        if found.kind is TrapKind.VARIANT and found.stem not in self._families:
            self._save(self._row(found.stem, TrapKind.VARIANT))
        elif found.kind is TrapKind.GROWTH and "?" in key:
            row = self._row(found.pattern, found.kind)
            self._save(row._replace(tried=row.tried + (row.tried >= 0)))

    def take_waiting(self) -> list[str]:
        """The patterns of the families whose URLs wait without a verdict. From now on none of theirs waits."""
        waiting = [
            row
            for row in self._families.values()
            if (row.tried >= TRIED_FIRST or row.tried == DECIDED) and row.barren < NEEDED[TrapKind.GROWTH]
        ]
        for row in waiting:
            self._save(row._replace(tried=DECIDED))
        return [row.pattern for row in waiting]

    def settled(self, key: str, *, family_member: bool, repeats: bool, elsewhere: bool, summary: bytes) -> None:
        """Record a captured page, before its links are judged.

        `family_member`: it was found on a page of its family; `repeats`: its content was seen before;
        `elsewhere`: it links to a new URL of another family.
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
        """The rows changed since the last call, for the next commit."""
        changes = list(self._dirty.values())
        self._dirty.clear()
        return changes


def _families_of(key: str, *, family_member: bool) -> list[Family]:
    """The families whose state a captured page changes."""
    site, path, _ = _split(key)
    own = family(key)
    if own is None:
        return [_deeper(site, path)] if family_member else []
    if own.kind is TrapKind.QUERY:
        return [own, _wider(site, path)]
    return [] if own.kind is TrapKind.REPEATED else [own]
