"""What the pages and visits of a run are like: counts by a property, and the pages at the ends of a scale."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from orbweb.store import Queries


class PageScale(Enum):
    """What pages are ranked by; the value names the query."""

    LARGEST = "largest_pages"
    SLOWEST = "slowest_pages"
    THINNEST = "thinnest_pages"


def by_tokens(db: Queries, run_id: int) -> tuple[tuple[int, int], ...]:
    """Pages by the least number of tokens of their class."""
    return tuple(db.all("pages_by_tokens", run_id=run_id))


def by_depth(db: Queries, run_id: int) -> tuple[tuple[int, int, int], ...]:
    """Pages and failures by depth."""
    return tuple(db.all("visits_by_depth", run_id=run_id))


def by_status(db: Queries, run_id: int) -> list[tuple[int | None, int]]:
    """Visits by the status of the response; None if there was none."""
    return list(db.all("visits_by_status", run_id=run_id))


def by_content_type(db: Queries, run_id: int, most: int) -> list[tuple[str, int]]:
    """Visits by what servers called them, with parameters, the most frequent first."""
    return list(db.all("visits_by_content_type", run_id=run_id, count=most))


def by_language(db: Queries, run_id: int) -> list[tuple[str, int]]:
    """Pages by language; empty if it is unknown."""
    return list(db.all("pages_by_language", run_id=run_id))


def page_keys(db: Queries, run_id: int) -> Iterator[str]:
    """The keys of all pages."""
    return (key for (key,) in db.each("page_keys", run_id=run_id))


def ranking(db: Queries, run_id: int, scale: PageScale, most: int) -> list[tuple[str, str | None, int]]:
    """The first pages of a scale: URL, title and figure."""
    return list(db.all(scale.value, run_id=run_id, count=most))


def skip_rules(db: Queries, run_id: int, most: int) -> list[tuple[str, str | None, int]]:
    """The rules that skipped most URLs, so many for each reason: reason, rule and count."""
    return list(db.all("skip_rules", run_id=run_id, count=most))


def truncated(db: Queries, run_id: int) -> Iterator[str]:
    """The URLs of responses whose compressed body ends too early."""
    return (url for (url,) in db.each("truncated_visits", run_id=run_id))


def with_cut_links(db: Queries, run_id: int) -> Iterator[str]:
    """The URLs of pages with more links than are read."""
    return (url for (url,) in db.each("cut_visits", run_id=run_id))


def larger_than(db: Queries, run_id: int, size: int) -> Iterator[str]:
    """The URLs of responses of more than so many bytes."""
    return (url for (url,) in db.each("visits_larger_than", run_id=run_id, bytes=size))


def unsure(db: Queries, run_id: int, confidence: float) -> int:
    """How many pages have a main content that is less likely than this."""
    return int(db.value("unsure_pages", run_id=run_id, confidence=confidence))
