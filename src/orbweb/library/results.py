"""What a crawl and an extraction give back: the fields of `--json`, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orbweb import app
from orbweb.store.queries.reports import Report


@dataclass(frozen=True, slots=True)
class BaseResult:
    """A base URL of a run, where its scope lies, and what it gave.

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
    """How a crawl ended: the fields of `orbweb crawl --json`, and the exit code the command would have."""

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


@dataclass(frozen=True, slots=True)
class ExtractResult:
    """What an extraction did: of `pages`, so many are `extracted` or `left`; `failed` has URL and problem."""

    project: str
    run: int
    extractor: int
    pages: int
    extracted: int
    failed: Mapping[str, str]
    left: int
    seconds: float
    workspace: str


def result_of(report: Report) -> CrawlResult:
    bases = tuple(BaseResult(**base) for base in report["bases"])
    return CrawlResult(**{**report, "bases": bases}, exit_code=app.exit_code(report))
