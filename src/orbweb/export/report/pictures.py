"""Small pictures as numbers: the thread and bars. Pure; a template draws them. Shares are in percent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PARTS = ("pages", "other", "failed", "queued", "skipped")
"""The parts of a thread, in its order, and the classes that colour them."""
_NAMES = {"other": "other visited"}


@dataclass(frozen=True, slots=True)
class PicturePart:
    """A part of a thread: where it begins and how wide it is, and what it counts."""

    name: str
    word: str
    count: int
    start: float
    share: float


@dataclass(frozen=True, slots=True)
class Thread:
    """A run in one line: discovered = pages + other visited + failed + queued + skipped."""

    parts: tuple[PicturePart, ...]

    @property
    def label(self) -> str:
        """What the picture shows, in words."""
        shown = [f"{part.count:,} {part.word}" for part in self.parts if part.count]
        return ", ".join(shown) or "nothing discovered yet"


def thread_of(visited: int, failed: int, queued: int, skipped: int, *, pages: int) -> Thread:
    """The thread of a run. Nothing discovered gives parts without width."""
    counts = {
        "pages": pages,
        "other": max(0, visited - pages),
        "failed": failed,
        "queued": queued,
        "skipped": skipped,
    }
    whole = sum(counts.values()) or 1
    parts, start = [], 0
    for name in PARTS:
        count = counts[name]
        parts.append(
            PicturePart(name, _NAMES.get(name, name), count, _percent(start, whole), _percent(count, whole))
        )
        start += count
    return Thread(tuple(parts))


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a list: its count, and its share of the whole or, in a ranking, of the largest."""

    name: str
    count: int
    share: float


def bars_of(counts: Mapping[str, int] | Iterable[tuple[str, int]], *, ranking: bool = False) -> tuple[Bar, ...]:
    """Bars in the order of the counts."""
    found = list(counts.items() if isinstance(counts, Mapping) else counts)
    values = [count for _, count in found]
    whole = (max(values, default=0) if ranking else sum(values)) or 1
    return tuple(Bar(name, count, _percent(count, whole)) for name, count in found)


def _percent(count: int, whole: int) -> float:
    return round(100 * count / whole, 3)
