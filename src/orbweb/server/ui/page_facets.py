"""The pages of a catalog that a query selects, their order, and how many pages each facet would leave. Pure."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from orbweb.app.results.catalog import PageCatalog

FACETS = ("type", "host", "depth", "language", "since", "alternates", "confidence")
SORTS = ("place", "tokens", "bytes", "alternates", "confidence")
LONGEST_FACET = 12


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The query of a list of pages: a value for some facets, words of the URL or title, and an order."""

    facets: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    sort: str = "place"

    @property
    def terms(self) -> tuple[object, ...]:
        """Equal for equal queries."""
        return tuple(sorted(self.facets.items())), self.words, self.sort

    @property
    def is_plain(self) -> bool:
        """Whether it selects every page in the order of visits."""
        return not self.facets and not self.words and self.sort == "place"


@dataclass(frozen=True, slots=True)
class Selected:
    """Positions in the catalog in the order of a query; for each facet, how many pages have which value if that
    facet alone is not asked for."""

    order: array[int]
    counts: Mapping[str, Mapping[str, int]]


def select(catalog: PageCatalog, wanted: PageQuery, among: Collection[int] | None = None) -> Selected:
    """The selection of a query; `among` are the visits that have its words."""
    every: Iterable[int] = range(len(catalog.numbers))
    if among is not None:
        every = [at for at in every if catalog.numbers[at] in among]
    chosen = _having(catalog, every, wanted.facets)
    counts = {}
    for name in FACETS:
        others = {facet: value for facet, value in wanted.facets.items() if facet != name}
        counts[name] = _counts(
            catalog, name, chosen if name not in wanted.facets else _having(catalog, every, others)
        )
    return Selected(array("I", _sorted(catalog, chosen, wanted.sort)), counts)


def _having(catalog: PageCatalog, positions: Iterable[int], facets: Mapping[str, str]) -> Iterable[int]:
    for name, value in facets.items():
        facet = catalog.facets[name]
        if value not in facet.values:
            return []
        code, codes = facet.values.index(value), facet.codes
        positions = [at for at in positions if codes[at] == code]
    return positions


def _counts(catalog: PageCatalog, name: str, positions: Iterable[int]) -> dict[str, int]:
    facet = catalog.facets[name]
    codes = facet.codes
    found = Counter(codes) if isinstance(positions, range) else Counter(codes[at] for at in positions)
    return {facet.values[code]: count for code, count in found.items()}


def _sorted(catalog: PageCatalog, positions: Iterable[int], sort: str) -> Iterable[int]:
    name = sort.removeprefix("-")
    if name == "place":
        return positions
    column = catalog.columns[name]
    return sorted(positions, key=column.__getitem__, reverse=sort.startswith("-"))


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
