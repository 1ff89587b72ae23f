"""What the catalog of a run returns: its pages by facets, and rows of its lists."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass

from orbweb.app.results.record import Record


@dataclass(frozen=True, slots=True)
class Facet:
    """A property of each page: its values, and for each page the position of its own among them."""

    values: tuple[str, ...]
    codes: array[int]


@dataclass(frozen=True, slots=True)
class PageCatalog:
    """All pages of a run in the order of their visits, in a few bytes each.

    `numbers` are those of the visits. `facets` are type, host, depth, language, since, alternates and confidence;
    `columns` what lists are sorted by: tokens, bytes, depth, alternates, and confidence in hundredths.
    `before` is the run that `since` compares with.
    """

    run: int
    before: int | None
    numbers: array[int]
    facets: Mapping[str, Facet]
    columns: Mapping[str, array[int]]


@dataclass(frozen=True, slots=True)
class ListedPage(Record):
    """A page in a list, with its place."""

    number: int
    place: str
    depth: int
    url: str
    title: str | None
    status: int
    bytes: int
    content_type: str | None
    captured_at: str
    language: str | None
    words: int | None
    tokens: int | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class FailedItem(Record):
    """A URL that failed: why, where it was found first, and the run since which it fails."""

    id: int
    url: str
    kind: str
    status: int | None
    reason: str
    tries: int
    at: str
    source: str
    found_on: str | None
    since: int


@dataclass(frozen=True, slots=True)
class UrlLinks(Record):
    """What leads to a URL, and the other URLs of the same content."""

    referrers: tuple[tuple[str, str], ...]
    alternates: tuple[str, ...]
