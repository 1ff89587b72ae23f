"""What a crawl, an extraction and a pipeline return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orbweb.app.results.record import Record, Report, plain, record
from orbweb.errors import IdleScraper
from orbweb.lifecycle import RunState
from orbweb.store.queries.reports import has_errors, nothing_crawled

COMPLETED, SOME_FAILED, STOPPED_EARLY, NOTHING_CRAWLED = 0, 3, 4, 6
SEVERITY = (1, 2, 5, NOTHING_CRAWLED, STOPPED_EARLY, SOME_FAILED, COMPLETED)
"""Exit codes, the worst first."""


@dataclass(frozen=True, slots=True)
class BaseResult(Record):
    """A base URL of a run, its scope, and its pages.

    `problem` says why it gave no page itself; None if it did, or if it is still queued. `limit` is the page limit
    and `remaining` what it leaves, both None without one.
    """

    url: str
    scope: str
    pages: int
    alternates: int
    problem: str | None
    limit: int | None
    remaining: int | None


@dataclass(frozen=True, slots=True)
class ShellPages(Record):
    """The pages of a run whose text is written by JavaScript, and so is missing: how many, and some of them."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CrawlResult(Record):
    """How a crawl ended: the fields of `orbweb crawl --json`, and the exit code of the command."""

    project: str
    run: int
    state: str
    started_at: str
    ended_at: str | None
    discovered: int
    visited: int
    failed: int
    queued: int
    skipped: Mapping[str, int]
    pages: int
    alternates: int
    reused: int
    not_modified: int
    bytes: int
    transferred: int
    tokens: int
    tokenizer: str | None
    bases: tuple[BaseResult, ...]
    needs_javascript: ShellPages
    links_found: int
    links_known: int
    refused_by_policy: int
    refused_by_caps: int
    retries: int
    discoveries: int
    crawl: int
    run_state: str
    ended_by: str
    crawl_visited: int
    crawl_failed: int
    crawl_pages: int
    seconds: float
    window: int
    workspace: str
    exit_code: int

    def report(self) -> Report:
        """The object that `--json` prints."""
        found = plain(self)
        del found["exit_code"]
        return found


@dataclass(frozen=True, slots=True)
class ExtractResult(Record):
    """What an extraction did: of `pages`, how many were `extracted` or are `left`; `failed` is problem by URL."""

    project: str
    run: int
    extractor: int
    pages: int
    extracted: int
    failed: Mapping[str, str]
    left: int
    seconds: float
    workspace: str

    def report(self) -> Report:
        """The object that `--json` prints."""
        failed = [{"url": url, "problem": problem} for url, problem in self.failed.items()]
        return {**plain(self), "failed": failed}


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """How discovery and scraper ended together.

    `scraped` is None if there was nothing to scrape, and an IdleScraper if the scraper was stopped before there
    was; `discovery` is None if it failed before it had a result.
    """

    scraped: CrawlResult | IdleScraper | None
    discovery: CrawlResult | None
    exit_code: int

    def report(self) -> Report | None:
        """The object that `--json` prints; None if nothing was scraped."""
        if self.scraped is None:
            return None
        return {**self.scraped.report(), "discovery": self.discovery and self.discovery.report()}


def crawl_result(report: Report) -> CrawlResult:
    return record(CrawlResult, {**report, "exit_code": exit_code(report)})


def extract_result(report: Report) -> ExtractResult:
    return record(ExtractResult, {**report, "failed": {row["url"]: row["problem"] for row in report["failed"]}})


def exit_code(report: Report) -> int:
    """The exit code of a crawl. A run that waits for its sitemaps may have nothing queued. As long as URLs are
    left, something may still be crawled."""
    if report["queued"] or report["run_state"] == RunState.PAUSED:
        return STOPPED_EARLY
    if nothing_crawled(report, report["bases"]):
        return NOTHING_CRAWLED
    return SOME_FAILED if has_errors(report, report["bases"]) else COMPLETED
