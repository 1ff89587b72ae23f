"""The lines of a unified diff as hunks, with the words that changed within a line. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

ALIKE = 0.4
"""Lines that have less in common are shown as a whole, without marks."""
WORDS = 400
"""Words of a line that are compared."""
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_HEADING = re.compile(r"#{1,6} ")

Part = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line of a hunk: its numbers before and after, its sign, and its text in parts that changed or did not."""

    old: int | None
    new: int | None
    sign: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that changed, and those around them. `section` is the heading above them."""

    head: str
    section: str
    lines: tuple[HunkLine, ...]

    @property
    def added(self) -> int:
        return sum(line.sign == "+" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.sign == "-" for line in self.lines)

    @property
    def size(self) -> int:
        return sum(len(text) for line in self.lines for text, _ in line.parts)


def hunks_of(diff: Sequence[str], markdown: str = "") -> tuple[Hunk, ...]:
    """The hunks of a diff; `markdown` is the later text, in which the headings are found."""
    later = markdown.splitlines()
    found: list[Hunk] = []
    lines: list[str] = []
    head = ""
    for line in diff:
        if line.startswith("@@"):
            if head:
                found.append(_hunk(head, lines, later))
            head, lines = line, []
        elif head:
            lines.append(line)
    if head:
        found.append(_hunk(head, lines, later))
    return tuple(found)


def _hunk(head: str, lines: Sequence[str], later: Sequence[str]) -> Hunk:
    numbers = _HEAD.match(head)
    old, new = (int(numbers[1]), int(numbers[3])) if numbers else (1, 1)
    return Hunk(head, _section(later, new), tuple(_numbered(_marked(lines), old, new)))


def _section(later: Sequence[str], line: int) -> str:
    return next((each for each in reversed(later[: max(0, line - 1)]) if _HEADING.match(each)), "")


def _numbered(lines: Iterable[tuple[str, tuple[Part, ...]]], old: int, new: int) -> Iterator[HunkLine]:
    for sign, parts in lines:
        yield HunkLine(old if sign != "+" else None, new if sign != "-" else None, sign, parts)
        old, new = old + (sign != "+"), new + (sign != "-")


def _marked(lines: Sequence[str]) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """Each line with its parts; a removed line is compared with the added one that took its place."""
    waiting: list[str] = []
    for sign, group in groupby(lines, key=lambda line: line[:1] or " "):
        texts = [line[1:] for line in group]
        if sign == "-":
            waiting = texts
            continue
        if sign == "+":
            pairs = [compared(*pair) for pair in zip_longest(waiting, texts)]
            yield from (("-", before) for before, _ in pairs[: len(waiting)])
            yield from (("+", after) for _, after in pairs[: len(texts)])
        else:
            yield from (("-", ((text, False),)) for text in waiting)
            yield from ((" ", ((text, False),)) for text in texts)
        waiting = []
    yield from (("-", ((text, False),)) for text in waiting)


def compared(old: str | None, new: str | None) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Two lines in parts that changed or did not; lines with little in common have no marks."""
    if old is None or new is None:
        return ((old or "", False),), ((new or "", False),)
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > WORDS:
        return ((old, False),), ((new, False),)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < ALIKE:
        return ((old, False),), ((new, False),)
    codes = matcher.get_opcodes()
    return (
        _joined([("".join(before[a:b]), tag != "equal") for tag, a, b, _, _ in codes]),
        _joined([("".join(after[a:b]), tag != "equal") for tag, _, _, a, b in codes]),
    )


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts without the empty ones; a blank between two changed parts has changed with them."""
    kept = [part for part in parts if part[0]]
    last = len(kept) - 1
    blank = [
        0 < at < last and kept[at - 1][1] and kept[at + 1][1] and not kept[at][0].strip()
        for at in range(len(kept))
    ]
    marked = [(text, changed or blank[at]) for at, (text, changed) in enumerate(kept)]
    return tuple(
        ("".join(text for text, _ in group), changed)
        for changed, group in groupby(marked, key=lambda part: part[1])
    )
