"""What `status`, `statuses`, `finish`, `runs`, `queue`, `running` and the overviews return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orbweb.app.results.crawls import ShellPages
from orbweb.app.results.record import Record, Report, plain
from orbweb.events import OpenRequest


@dataclass(frozen=True, slots=True)
class CrawlSummary(Record):
    """One crawl of a run. `ended_by` and `error` are None while it works; `budget` is its limit of requests."""

    crawl: int
    state: str
    ended_by: str | None
    error: str | None
    budget: int | None
    started_at: str
    seconds: float
    visited: int
    failed: int
    pages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RunBase(Record):
    """A base URL of a run, its scope, and its pages; `problem` says why it gave no page itself."""

    url: str
    scope: str
    pages: int
    alternates: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class RunSummary(Record):
    """One run of a project: its URLs by state, its pages, its base URLs and its crawls."""

    run: int
    state: str
    started_at: str
    ended_at: str | None
    seconds: float
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
    bases: tuple[RunBase, ...]
    crawls: tuple[CrawlSummary, ...]


@dataclass(frozen=True, slots=True)
class SpoolPosition(Record):
    """The position of the scraper: all files before this one are scraped, and this many bytes of it."""

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class SpoolStatus(Record):
    """The spool that a project is scraped from, and what of it is not scraped yet.

    `backlog_lines` is None if there are too many to count.
    """

    directory: str
    files: int
    backlog_lines: int | None
    backlog_bytes: int
    bookmark: SpoolPosition | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class StoredFiles(Record):
    """What a workspace holds, all projects together: bodies and their bytes on the disk, bytes of the database,
    and files of the spool."""

    bodies: int
    body_bytes: int
    index_bytes: int
    spool_files: int


@dataclass(frozen=True, slots=True)
class ProjectStatus(Record):
    """The latest run of a project, and the crawl that works on it.

    `in_progress` are the URLs that a running crawl is requesting or reading, with their ages: `inProgress` in
    `--json`. `spool` is None for a project that is crawled in one go. Without a run, `run` and `state` are None
    and there is nothing of the rest; `--json` leaves these fields out.
    """

    project: str
    running: bool
    pid: int | None
    run: int | None
    held: bool
    held_by: str | None
    role: str
    spool: SpoolStatus | None
    stored: StoredFiles
    in_progress: tuple[OpenRequest, ...] = ()
    state: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    seconds: float = 0.0
    discovered: int = 0
    visited: int = 0
    failed: int = 0
    queued: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    pages: int = 0
    alternates: int = 0
    reused: int = 0
    not_modified: int = 0
    bytes: int = 0
    transferred: int = 0
    tokens: int = 0
    tokenizer: str | None = None
    bases: tuple[RunBase, ...] = ()
    crawls: tuple[CrawlSummary, ...] = ()
    needs_javascript: ShellPages = field(default_factory=lambda: ShellPages(0, ()))

    def report(self) -> Report:
        """The object that `--json` prints."""
        found = plain(self)
        found["inProgress"] = found.pop("in_progress")
        return found if self.run is not None else {name: found[name] for name in _WITHOUT_RUN}


_WITHOUT_RUN = ("project", "running", "pid", "run", "held", "held_by", "role", "spool", "stored", "inProgress")


@dataclass(frozen=True, slots=True)
class RunOutline(Record):
    """A run in a few numbers, from tallies alone, so that a run of a million pages costs no more.

    Without a run, `run` and `state` are None. `runs` are the numbers of all runs, the newest first. `mark` differs
    if anything of the run does.
    """

    project: str
    running: bool
    held: bool
    run: int | None
    runs: tuple[int, ...]
    state: str | None
    visited: int
    failed: int
    queued: int
    skipped: Mapping[str, int]
    pages: int
    mark: str


@dataclass(frozen=True, slots=True)
class HistoryBase(Record):
    """A base URL of a run, its scope and its pages; `problem` says why it gave no page itself."""

    url: str
    scope: str
    pages: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class RunHistory(Record):
    """A run with its crawls and base URLs, read in a time that does not grow with it.

    `active_at` is when a crawl last did something; `mark` differs if anything of the run does.
    """

    run: int
    state: str
    visited: int
    failed: int
    queued: int
    skipped: Mapping[str, int]
    pages: int
    mark: str
    started_at: str
    ended_at: str | None
    active_at: str
    seconds: float
    bytes: int
    bases: tuple[HistoryBase, ...]
    crawls: tuple[CrawlSummary, ...]


@dataclass(frozen=True, slots=True)
class ProjectOverview(Record):
    """A project and its latest run; None if it was never crawled."""

    project: str
    bases: tuple[str, ...]
    running: bool
    held: bool
    latest: RunHistory | None


@dataclass(frozen=True, slots=True)
class BaseTotals(Record):
    """Alternates and queued URLs of a base URL."""

    alternates: int
    queued: int


@dataclass(frozen=True, slots=True)
class SkipRule(Record):
    """The rule that skipped most URLs for a reason, and how many."""

    reason: str
    rule: str | None
    count: int


@dataclass(frozen=True, slots=True)
class RunTotals(Record):
    """What is counted by a pass over a run. `bases` is by URL; a base URL with nothing to count is left out."""

    run: int
    alternates: int
    tokens: int
    tokenizer: str | None
    bases: Mapping[str, BaseTotals]
    rules: tuple[SkipRule, ...]


@dataclass(frozen=True, slots=True)
class RunningCrawl(Record):
    """A crawl at work: its state, and the URLs that it commits per second."""

    project: str
    state: str
    rate: float


@dataclass(frozen=True, slots=True)
class ParkedFamily(Record):
    """A family of URLs that may be endless, and how many of them are parked."""

    pattern: str
    parked: int


@dataclass(frozen=True, slots=True)
class QueuedUrl(Record):
    """A URL that is visited soon: how it was found, its place in the order, and when it was found and queued."""

    url: str
    source: str
    place: str
    hops: int
    found_at: str | None
    changed_at: str | None


@dataclass(frozen=True, slots=True)
class QueueStatus(Record):
    """The queue of a run, by source, and its next URLs. `pending` is `queued` and `run_state` is `state`, as the
    API calls them; `total` is what is visited and pending, without what failed. Ids are unique in the
    workspace."""

    project_id: int
    current_run_id: int
    run_crawl_ids: tuple[int, ...]
    run: int
    state: str
    run_state: str
    has_queue: bool
    visited: int
    failed: int
    queued: int
    pending: int
    total: int
    can_resume: bool
    crawls: tuple[int, ...]
    by_source: Mapping[str, int]
    visited_by_source: Mapping[str, int]
    traps: tuple[ParkedFamily, ...]
    next: tuple[QueuedUrl, ...]

    def report(self) -> Report:
        """The object that `--json` prints: what the API has too is spelled as there."""
        found = {_API_NAMES.get(name, name): value for name, value in plain(self).items()}
        return {**found, "canResume": self.can_resume}


_API_NAMES = {
    "project_id": "projectID",
    "current_run_id": "currentRunID",
    "run_crawl_ids": "runCrawlIDs",
    "run_state": "runState",
    "has_queue": "hasQueue",
}
