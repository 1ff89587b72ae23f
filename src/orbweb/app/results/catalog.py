"""What the catalog of a run returns: its pages by facets, and rows of its lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from orbweb.app.results.record import Record

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ListPart(Generic[Item]):
    """A part of a list of a run.

    `total`: the rows of the query; `begin`: how many of them are before these; `size`: the rows of the whole list;
    `previous` and `next`: after which row the parts before and after this one begin, 0 for the beginning, None if
    there is none; `counts`: for each facet, the rows that each of its values would leave; `is_whole`: nothing is
    counted any more; `made_at`: of a run that is crawled, the moment that the list shows.
    """

    run: int
    items: tuple[Item, ...]
    total: int
    begin: int
    size: int
    previous: int | None
    next: int | None
    counts: Mapping[str, Mapping[str, int]]
    is_whole: bool
    made_at: datetime


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """The failures of a kind at a host: the most frequent statuses and the most frequent reason of those without
    one, and when the newest was."""

    kind: str
    host: str
    count: int
    statuses: Mapping[int, int]
    reason: str
    newest: str


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
    alternates: int | None = None


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


@dataclass(frozen=True, slots=True)
class PageList:
    """Some pages; `before` is the run that `since` compares with."""

    part: ListPart[ListedPage]
    before: int | None


@dataclass(frozen=True, slots=True)
class FailureList:
    """Some failures, all of them by kind and host, and how many began with this run."""

    part: ListPart[FailedItem]
    groups: tuple[FailureGroup, ...]
    new: int
