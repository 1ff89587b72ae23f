"""What `plan` returns, for URLs and for a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orbweb.app.results.crawls import COMPLETED, NOTHING_CRAWLED, SOME_FAILED
from orbweb.app.results.record import Record


@dataclass(frozen=True, slots=True)
class SkippedUrl(Record):
    """A URL that would be skipped, and the rule that decides."""

    url: str
    rule: str | None


@dataclass(frozen=True, slots=True)
class PlannedSkips(Record):
    """The URLs that would be skipped for one reason: their number, and some of them."""

    count: int
    examples: tuple[SkippedUrl, ...]


@dataclass(frozen=True, slots=True)
class PlannedBase(Record):
    """A base URL: its outcome, its scope, what robots.txt says, the interval between requests to its host, and
    whether links to its pages are followed."""

    url: str
    state: str
    status: int | None
    problem: str | None
    scope: str
    robots: str
    robots_at: str | None
    seconds_apart: float
    rate_rule: str
    follows_links: bool


@dataclass(frozen=True, slots=True)
class PlannedSitemap(Record):
    """A sitemap that was read, and how many URLs it lists."""

    url: str
    urls: int


@dataclass(frozen=True, slots=True)
class CrawlPlan(Record):
    """What a crawl would do, as far as base URLs and sitemaps tell.

    `would_skip` is by reason; `at_least_s` is the time that the known URLs take at the allowed rate.
    """

    bases: tuple[PlannedBase, ...]
    would_visit: int
    by_source: Mapping[str, int]
    examples: tuple[str, ...]
    would_skip: Mapping[str, PlannedSkips]
    at_least_s: float
    sitemaps: tuple[PlannedSitemap, ...]

    @property
    def exit_code(self) -> int:
        """The exit code of the crawl, as far as base URLs decide it."""
        return _exit_code([base.problem for base in self.bases], self.would_visit)


@dataclass(frozen=True, slots=True)
class RecrawledBase(Record):
    """A base URL with the pages that a recrawl would give it, and those it has; None if it is new."""

    url: str
    scope: str
    problem: str | None
    pages: int
    pages_before: int | None


@dataclass(frozen=True, slots=True)
class UrlSample(Record):
    """A number of URLs, and some of them."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefusedUrl(Record):
    """A URL that would not be visited any more, and why."""

    url: str
    reason: str
    rule: str | None


@dataclass(frozen=True, slots=True)
class RefusedUrls(Record):
    """The URLs that would not be visited any more: their number, some of them, and how many by reason."""

    count: int
    examples: tuple[RefusedUrl, ...]
    by_reason: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RecrawlPlan(Record):
    """What a recrawl of a project would visit, according to its latest run.

    `unknown` are URLs that were never requested, so that their links are not known.
    """

    project: str
    run: int
    bases: tuple[RecrawledBase, ...]
    would_visit: int
    visits: tuple[str, ...]
    newly_admitted: UrlSample
    newly_refused: RefusedUrls
    unknown: UrlSample
    would_skip: Mapping[str, PlannedSkips]

    @property
    def exit_code(self) -> int:
        """The exit code of the recrawl, as far as base URLs decide it."""
        return _exit_code([base.problem for base in self.bases], self.would_visit)


def _exit_code(problems: Sequence[str | None], would_visit: int) -> int:
    refused = [problem is not None for problem in problems]
    if refused and all(refused) and not would_visit:
        return NOTHING_CRAWLED
    return SOME_FAILED if any(refused) else COMPLETED
