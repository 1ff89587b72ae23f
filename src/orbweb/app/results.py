"""What a crawl, an extraction and a pipeline return: the fields of `--json`, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from orbweb.lifecycle import RunState
from orbweb.model import SkipReason

Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BaseResult:
    """A base URL of a run, its scope, and its pages.

    `limit` is the page limit and `remaining` what it leaves, both None without one.
    """

    url: str
    scope: str
    pages: int
    alternates: int
    limit: int | None
    remaining: int | None


@dataclass(frozen=True, slots=True)
class CrawlResult:
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
    crawl: int
    run_state: str
    ended_by: str
    shown: str
    crawl_visited: int
    crawl_failed: int
    crawl_pages: int
    seconds: float
    window: int
    workspace: str
    exit_code: int

    def report(self) -> Report:
        """The object that `--json` prints."""
        found = asdict(self)
        del found["exit_code"]
        return found


@dataclass(frozen=True, slots=True)
class ExtractResult:
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
        return {**asdict(self), "failed": failed}


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """How discovery and scraper ended together; `report` is None if there was nothing to scrape."""

    report: Report | None
    exit_code: int


def crawl_result(report: Report) -> CrawlResult:
    bases = tuple(BaseResult(**base) for base in report["bases"])
    return CrawlResult(**{**report, "bases": bases}, exit_code=exit_code(report))


def extract_result(report: Report) -> ExtractResult:
    return ExtractResult(**{**report, "failed": {row["url"]: row["problem"] for row in report["failed"]}})


def exit_code(report: Report) -> int:
    """The exit code of a crawl. A run that waits for its sitemaps may have nothing queued."""
    if report["queued"] or report["run_state"] == RunState.PAUSED:
        return 4
    return 3 if report["failed"] or SkipReason.ROBOTS_UNAVAILABLE in report["skipped"] else 0
