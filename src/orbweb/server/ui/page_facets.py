"""The query of a list of pages, and its facets as they are shown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orbweb.app.columns import ColumnQuery

FACETS = ("type", "host", "depth", "language", "since", "alternates", "confidence")
SORTS = ("place", "tokens", "bytes", "alternates", "confidence")
LONGEST_FACET = 12


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The query of a list of pages: a value for some facets, words of the URL or title, and an order."""

    facets: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    sort: str = "place"

    def part(self, after: int | None, rows: int) -> ColumnQuery:
        """The query of a part of the list, after a row."""
        column = self.sort.removeprefix("-")
        is_down = self.sort.startswith("-")
        return ColumnQuery(self.facets, self.words, "" if column == "place" else column, is_down, after, rows)


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A line of a facet: its word, its count and the list that it leads to."""

    text: str
    count: int
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class FacetGroup:
    name: str
    values: tuple[FacetValue, ...]
    more: int


def ordered(name: str, counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The values of a facet as they are shown: depths in order, others by their count."""
    if name == "depth":
        return sorted(counts.items(), key=lambda each: int(each[0]))
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))
