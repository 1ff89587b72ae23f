"""Recrawls: the URLs that a new run starts with (`RecrawlQueue`), and which pages are due (`RecrawlSchedule`).

A recrawl visits the URLs of the run before first, in their old order. A URL keeps its depth, its source and, if it
is still known, its referrer, and is judged again by the current rules. A key has one row, even if the current URL
rules map two old keys to it.

Whether a page is due depends on how often it has changed and on the dates of sitemaps. Changes are modelled as a
Poisson process, whose rate is estimated from the times of visits and how often the content differed from the visit
before. The decision is a function of earlier runs, of the sitemaps of this run and of the time at which it
started, so that it is the same after a crash.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from orbweb.lifecycle import ItemState
from orbweb.model import Carried, Source
from orbweb.policy.rules import Candidate, Policy
from orbweb.store import PageHistory, Row
from orbweb.store.rows import UrlRow
from orbweb.urls import Resolver, UrlRules

WATCHED = 50
"""How many of the latest visits of a page its rate of change is estimated from."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}").fullmatch
_SECOND = 1_000_000
_SOURCES = {source.value: source for source in Source}
_STEPS = {Source.SPIDER: 1, Source.REDIRECT: 0}
"""How much deeper a URL is than its referrer."""
_QUEUED, _SKIPPED, _KNOWN = ItemState.QUEUED.value, ItemState.SKIPPED.value, Carried.KNOWN.value


class KnownUrl(NamedTuple):
    """A URL of the earlier run: a row of `recalled_urls`."""

    id: int
    url: str
    source: str
    depth: int
    redirects: int
    referrer: int | None
    family_member: int
    found_hops: int
    found_base: int


class RecrawlQueue:
    """Builds the rows after those of the base URLs. `moved`: old number of a base URL -> its current number."""

    def __init__(
        self,
        policy: Policy,
        bases: Iterable[UrlRow],
        *,
        moved: Mapping[int, int],
        rules: UrlRules,
        lane_of: Callable[[str], str],
    ) -> None:
        self._policy = policy
        self._moved = moved
        self._resolver = Resolver(rules)
        self._lane_of = lane_of
        self._ids = {row.key: row.id for row in bases}
        self._depths = [0] * (len(self._ids) + 1)
        policy.recount(self._ids)
        self._now = {old + 1: new + 1 for old, new in moved.items()}
        self._next_rank = len(self._ids)

    def rows(self, earlier: Iterable[Row]) -> list[UrlRow]:
        """The rows of the known URLs, in order; run ids are 0."""
        found = []
        for known in map(KnownUrl._make, earlier):
            page = self._resolver.page(known.url)
            if page is None:
                continue
            key, url = page.own
            if key not in self._ids:
                found.append(self._row(known, key, url))
            self._now[known.id] = self._ids[key]
        return found

    def _row(self, known: KnownUrl, key: str, url: str) -> UrlRow:
        number = self._ids[key] = len(self._ids) + 1
        self._depths.append(known.depth)
        base, source = self._base(known), _SOURCES[known.source]
        verdict = self._policy.judge(Candidate(key, known.depth, known.found_hops, base, source))
        rank = None
        if verdict.reason is None:
            rank = self._policy.rank(key, self._next_rank, later=True)
            self._next_rank += 1
            self._policy.admit(key)
        return UrlRow(
            run_id=0,
            id=number,
            key=key,
            url=None if url == key else url,
            state=_QUEUED if verdict.reason is None else _SKIPPED,
            reason=verdict.reason.value if verdict.reason else None,
            rule=verdict.rule,
            source=known.source,
            depth=known.depth,
            rank=rank,
            lane=self._lane_of(key),
            hops=verdict.hops,
            redirects=known.redirects,
            base=verdict.base,
            referrer=self._referrer(known, source, base + 1),
            family_member=bool(known.family_member),
            carried=_KNOWN,
            found_hops=known.found_hops,
            found_base=base,
        )

    def _referrer(self, known: KnownUrl, source: Source, base: int) -> int | None:
        """The id of its referrer; None if that is not among the known URLs any more."""
        found = self._now.get(known.referrer or 0, base)
        steps = _STEPS.get(source)
        return found if steps is None or known.depth == self._depths[found] + steps else None

    def _base(self, known: KnownUrl) -> int:
        """The base URL of its referrer; the first one if that is not a base URL any more."""
        return self._moved.get(known.found_base, 0)


# Which pages are due.


class PageLook(NamedTuple):
    """The time of a visit, in microseconds, and the hash of the content."""

    at: int
    content: bytes


class Bounds(NamedTuple):
    """The shortest and the longest time between two visits of a page, in microseconds."""

    shortest: int
    longest: int


def wait(looks: Sequence[PageLook], bounds: Bounds) -> int:
    """How long to wait after the last visit of a page; `looks` are in order of time.

    The estimate of Cho and Garcia-Molina, -ln((n - x + 0.5) / (n + 0.5)) changes per interval if x of n intervals
    had a change, allows for several changes between two visits that are seen as one. The result is within `bounds`
    and, above the shortest, at most twice the time over which the page was observed.
    """
    intervals = len(looks) - 1
    if intervals < 1:
        return bounds.shortest
    observed = looks[-1].at - looks[0].at
    changes = sum(before.content != after.content for before, after in pairwise(looks))
    most = min(bounds.longest, 2 * observed)
    if changes:
        rate = -math.log((intervals - changes + 0.5) / (intervals + 0.5)) * intervals
        most = min(most, round(observed / rate))
    return max(bounds.shortest, most)


def changed_at(lastmod: str | None) -> int | None:
    """The latest instant that a date of a sitemap can mean, for a day its end; None if it is not a date."""
    if lastmod is None:
        return None
    try:
        instant = datetime.fromisoformat(lastmod.strip())
        if _DAY(lastmod.strip()):
            instant += timedelta(days=1)
        instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return round(instant.timestamp() * _SECOND)
    except (ValueError, OverflowError):
        return None


def is_due(looks: Sequence[PageLook], lastmod: str | None, now: int, bounds: Bounds) -> bool:
    """Whether to visit a page: its wait is over, or by its sitemap it has changed since the last visit."""
    if not looks:
        return True
    changed = changed_at(lastmod)
    if changed is not None and changed > looks[-1].at:
        return True
    return now >= looks[-1].at + wait(looks, bounds)


class RecrawlSchedule:
    """Which pages of a run are due, by the earlier runs of its project."""

    def __init__(self, history: PageHistory, started_at: int, bounds: Bounds) -> None:
        self._history = history
        self._started_at = started_at
        self._bounds = bounds

    def is_due(self, key: str) -> bool:
        """Whether the page is due."""
        looks = [PageLook(*look) for look in reversed(self._history.looks_at(key, WATCHED))]
        return is_due(looks, self._history.lastmod_of(key), self._started_at, self._bounds)
