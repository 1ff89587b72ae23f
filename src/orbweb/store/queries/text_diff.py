"""The changes between two texts of a page, apart from noise.

Noise is dates and times, ages ("3 hours ago"), counters of readers ("1,204 views"), generated tokens, and the time
a page took to render. A line that differs only in noise is the same line, and ignored noise is counted by kind.
Other numbers, such as prices and versions, are not noise.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import NamedTuple

MAX_LINES = 20_000
"""A page with more lines is compared as a whole, without a line diff."""
LONG = 500
"""In a page with more lines, no match starts at a line that is very frequent, such as an empty one: the time would
grow with the square of their number."""
CONTEXT = 3

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? )?"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_CLOCK = (
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[ap]\.?m\.?)?"
    r"(?:\s?(?:z|utc|gmt|[ce]e?s?t|p[sd]t|[+-]\d{2}:?\d{2})\b)?"
)
_COUNTED = (
    r"(?:views?|reads?|visits?|visitors?|hits?|downloads?|likes?|shares?|comments?|replies|votes?|followers?|stars?"
    r"|counter|(?:users? )?online)"
)
_CALLED = (
    r"(?:(?:csrf|xsrf|access|session)[ _-]?token|(?:session|request|trace)[ _-]?id|csrf|xsrf|nonce|token|session)"
)
_KINDS = {
    "date": (
        rf"\b\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[t ]{_CLOCK})?",
        rf"\b\d{{1,2}}[./-]\d{{1,2}}[./-]\d{{4}}\b(?:,? {_CLOCK})?",
        rf"\b{_WEEKDAY}(?:{_NTH} {_MONTH}\.?,? \d{{4}}|{_MONTH}\.? {_NTH},? \d{{4}})\b(?:,?(?: at)? {_CLOCK})?",
        rf"\b{_WEEKDAY}{_MONTH} \d{{1,2}} {_CLOCK} \d{{4}}\b",
        r"\b20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d\b",
        rf"\b{_CLOCK}",
    ),
    "age": (
        r"\b(?:an?|one|\d{1,4}) (?:second|minute|hour|day|week|month|year)s? ago\b",
        r"\b(?:just now|yesterday)\b",
    ),
    "counter": (
        rf"\b\d[\d,.]{{0,14}}[km]?\+? {_COUNTED}\b",
        rf"\b{_COUNTED}(?: number)?:? [#(]?\d[\d,.]{{0,14}}\b",
    ),
    "token": (
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        r"\b(?=[a-z]{0,40}\d)(?=\d{0,40}[a-z])(?:[0-9a-z]{20,}|[0-9a-f]{16,})\b",
        rf"\b{_CALLED}[:=] ?(?=[a-z_-]{{0,40}}\d)[0-9a-z_-]{{8,80}}(?![0-9a-z_-])",
        r"\b(?:1[5-9]|2\d)\d{8}(?:\d{3}){0,3}(?:\.\d{1,9})?\b",
    ),
    "timing": (
        r"\b(?:generated|rendered|loaded|served|built|processed) in \d{1,6}(?:\.\d{1,9})? ?"
        r"(?:ms|milliseconds|s|seconds?)\b",
    ),
}
_NOISE = re.compile("|".join(f"(?P<{kind}>{'|'.join(looks)})" for kind, looks in _KINDS.items()), re.IGNORECASE)

_ESCAPED = re.compile(r"\\([._#-])")


class TextChange(NamedTuple):
    """How a page changed: the lines of a unified diff, how many were added and removed, and the ignored noise.

    Without added and removed lines, only noise changed.
    """

    diff: tuple[str, ...]
    added: int
    removed: int
    noise: dict[str, int]


def compare(old: str, new: str, *, old_name: str, new_name: str, keep_noise: bool = False) -> TextChange:
    """The changes between two Markdown texts."""
    before, after = old.splitlines(), new.splitlines()
    if keep_noise:
        plain_before, plain_after = before, after
        noise: Counter[str] = Counter()
    else:
        plain_before, plain_after = [quiet(line) for line in before], [quiet(line) for line in after]
        noise = _noise(before, after, plain_before, plain_after)
    if plain_before == plain_after:
        return TextChange((), 0, 0, dict(noise))
    if max(len(before), len(after)) > MAX_LINES:
        return TextChange(
            (f"more than {MAX_LINES} lines: not compared line by line",), len(after), len(before), dict(noise)
        )
    lines = _unified(before, after, plain_before, plain_after, old_name, new_name)
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    return TextChange(tuple(lines), added, removed, dict(noise))


def quiet(line: str) -> str:
    """A line with each noise replaced by its kind; Markdown escapes are removed first."""
    return _NOISE.sub(lambda found: f"<{found.lastgroup}>", _shown(line))


def _shown(line: str) -> str:
    return _ESCAPED.sub(r"\1", line)


def _noise(before: list[str], after: list[str], plain_before: list[str], plain_after: list[str]) -> Counter[str]:
    """The noise of new lines that differ from an old one only in noise."""
    old = {plain: line for plain, line in zip(plain_before, before, strict=True) if plain != line}
    found: Counter[str] = Counter()
    for plain, line in zip(plain_after, after, strict=True):
        if plain != line and plain in old and line != old[plain]:
            found.update(str(match.lastgroup) for match in _NOISE.finditer(_shown(line)))
    return found


def _unified(
    before: list[str],
    after: list[str],
    plain_before: list[str],
    plain_after: list[str],
    old_name: str,
    new_name: str,
) -> list[str]:
    """A unified diff that compares the lines without noise and shows the original ones."""
    is_long = max(len(plain_before), len(plain_after)) > LONG
    matcher = difflib.SequenceMatcher(None, plain_before, plain_after, autojunk=is_long)
    lines = [f"--- {old_name}", f"+++ {new_name}"]
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        lines.append(f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                lines.extend(f" {line}" for line in after[new_start:new_end])
            else:
                lines.extend(f"-{line}" for line in before[old_start:old_end])
                lines.extend(f"+{line}" for line in after[new_start:new_end])
    return lines


def _span(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
