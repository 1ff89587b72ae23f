"""When a page is worth another look: how often it has changed, and what a sitemap says.

Changes are taken for a Poisson process whose rate is estimated from when the page was looked at and how often it
differed from the time before. Always holds: what is decided is a function of the runs before, of this run's
sitemaps and of the time at which the run began, so that it is the same after a crash; a wait is within its bounds,
and, above the shortest, at most twice the time over which the page was watched. Never asks the network.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from orbweb.store import PageHistory

WATCHED = 50
"""Looks at a page, the latest ones, from which its rate of change is estimated."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}").fullmatch
_SECOND = 1_000_000


class PageLook(NamedTuple):
    """A time at which a page was looked at, in microseconds, and what it said then."""

    at: int
    content: bytes


class Bounds(NamedTuple):
    """The shortest and the longest time between two looks at a page, in microseconds."""

    shortest: int
    longest: int


def wait(looks: Sequence[PageLook], bounds: Bounds) -> int:
    """How long a page is left alone after the last of its looks, which are in the order of time.

    The estimate of Cho and Garcia-Molina, -ln((n - x + 0.5) / (n + 0.5)) changes an interval where x of n of them
    saw a change, allows for several changes between two looks being seen as one.
    """
    intervals = len(looks) - 1
    if intervals < 1:
        return bounds.shortest
    watched = looks[-1].at - looks[0].at
    changes = sum(before.content != after.content for before, after in pairwise(looks))
    most = min(bounds.longest, 2 * watched)
    if changes:
        rate = -math.log((intervals - changes + 0.5) / (intervals + 0.5)) * intervals
        most = min(most, round(watched / rate))
    return max(bounds.shortest, most)


def changed_at(lastmod: str | None) -> int | None:
    """The latest instant that a date of a sitemap can mean: of a day, its end; None if it is no such date."""
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
    """Whether it is time to look at a page: its wait is over, or a sitemap says that it has changed since."""
    if not looks:
        return True
    changed = changed_at(lastmod)
    if changed is not None and changed > looks[-1].at:
        return True
    return now >= looks[-1].at + wait(looks, bounds)


class RecrawlSchedule:
    """Which pages of a run are due, by its project's runs before it."""

    def __init__(self, history: PageHistory, started_at: int, bounds: Bounds) -> None:
        self._history = history
        self._started_at = started_at
        self._bounds = bounds

    def is_due(self, key: str) -> bool:
        """Whether the page is to be asked for."""
        looks = [PageLook(*look) for look in reversed(self._history.looks_at(key, WATCHED))]
        return is_due(looks, self._history.lastmod_of(key), self._started_at, self._bounds)
