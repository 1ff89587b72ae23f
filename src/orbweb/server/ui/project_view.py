"""A project as its page shows it: runs and crawls as rows, the books of a run, base URLs, the skipped. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orbweb.app import CrawlSummary, HistoryBase, RunHistory, RunOutline, RunTotals
from orbweb.app.pictures import Thread, thread_of
from orbweb.server.ui import format as texts
from orbweb.server.ui.figures import ChangeCounts
from orbweb.server.ui.frame import project_path, run_path


@dataclass(frozen=True, slots=True)
class CrawlLine:
    """A crawl under its run. `cause` is how it ended, `note` what that means."""

    number: int
    state: str
    cause: str
    note: str
    started: str
    took: str
    visited: int
    pages: int
    failed: int
    size: int
    last: bool


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run of the tree. `alternates` is None if it is not known yet."""

    number: int
    lists: str
    state: str
    thread: Thread
    started: str
    took: str
    visited: int
    pages: int
    alternates: int | None
    failed: int
    queued: int
    skipped: int
    size: int
    changes: ChangeCounts | None
    changes_text: str
    compare: str | None
    crawls: tuple[CrawlLine, ...]


@dataclass(frozen=True, slots=True)
class BaseLine:
    """A base URL of the latest run. `alternates` and `queued` are None if they are not known yet."""

    url: str
    pages: int
    alternates: int | None
    queued: int | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A reason for which URLs were skipped, and the rule that decided most of them, if it is known."""

    reason: str
    href: str
    rule: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Books:
    """The books of a run: discovered = visited + failed + queued + skipped; visited = pages + alternates + others.
    As long as `alternates` is None, `others` has them too."""

    visited: int
    pages: int
    alternates: int | None
    failed: int
    queued: int
    skipped: int

    @property
    def discovered(self) -> int:
        return self.visited + self.failed + self.queued + self.skipped

    @property
    def others(self) -> int:
        return self.visited - self.pages - (self.alternates or 0)


def books_of(outline: RunOutline, totals: RunTotals | None) -> Books:
    """The totals are older than the tallies while a crawl runs: what does not fit is not known yet."""
    fits = totals is not None and outline.pages + totals.alternates <= outline.visited
    return Books(
        outline.visited,
        outline.pages,
        totals.alternates if totals is not None and fits else None,
        outline.failed,
        outline.queued,
        sum(outline.skipped.values()),
    )


def holds_of(runs: Sequence[RunHistory]) -> str:
    """What a project holds, in all its runs together."""
    if not runs:
        return "nothing crawled yet"
    pages = texts.many(sum(run.pages for run in runs), "page")
    return f"{texts.many(len(runs), 'run')} with {pages}, {texts.size(sum(run.bytes for run in runs))}"


def note_of(crawl: CrawlSummary, rate: float | None) -> str:
    """What the end of a crawl means, in a few words."""
    if crawl.ended_by is None:
        return texts.rate(rate) if rate is not None else ""
    if crawl.ended_by == "budget" and crawl.budget is not None:
        return f"{texts.number(crawl.budget)} used"
    notes = {"cancelled": "stopped by you", "crashed": "nothing lost", "error": crawl.error or ""}
    return notes.get(crawl.ended_by, "")


def crawl_rows(run: RunHistory, at: datetime, rate: float | None) -> tuple[CrawlLine, ...]:
    """The crawls of a run, the newest first."""
    newest_first = list(reversed(run.crawls))
    return tuple(
        CrawlLine(
            number=crawl.crawl,
            state=crawl.state,
            cause=texts.words(crawl.ended_by) if crawl.ended_by else "",
            note=note_of(crawl, rate if crawl is newest_first[0] else None),
            started=texts.when(crawl.started_at, at),
            took=texts.took(crawl.seconds),
            visited=crawl.visited,
            pages=crawl.pages,
            failed=crawl.failed,
            size=crawl.bytes,
            last=crawl is newest_first[-1],
        )
        for crawl in newest_first
    )


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What is known of a run besides its history. `before` is the number of the run before it."""

    state: str
    totals: RunTotals | None
    changes: ChangeCounts | None
    before: int | None
    rate: float | None


def run_row(project: str, run: RunHistory, known: RunFigures, at: datetime) -> RunLine:
    skipped = sum(run.skipped.values())
    text = "first run" if known.before is None else "so far" if run.state != "completed" else "compare"
    return RunLine(
        number=run.run,
        lists=run_path(project, run.run),
        state=known.state,
        thread=thread_of(run.visited, run.failed, run.queued, skipped, pages=run.pages),
        started=texts.when(run.started_at, at),
        took=texts.took(run.seconds),
        visited=run.visited,
        pages=run.pages,
        alternates=known.totals.alternates if known.totals else None,
        failed=run.failed,
        queued=run.queued,
        skipped=skipped,
        size=run.bytes,
        changes=known.changes,
        changes_text=text,
        compare=f"{project_path(project)}/diff/{known.before}..{run.run}" if known.before else None,
        crawls=crawl_rows(run, at, known.rate),
    )


def base_rows(run: RunHistory, totals: RunTotals | None) -> tuple[BaseLine, ...]:
    rows = []
    for base in run.bases:
        found = totals.bases.get(base.url) if totals else None
        nothing = 0 if totals else None
        rows.append(
            BaseLine(
                base.scope or base.url,
                base.pages,
                found.alternates if found else nothing,
                found.queued if found else nothing,
                base.problem,
            )
        )
    return tuple(rows)


def skipped_rows(project: str, run: RunHistory, totals: RunTotals | None) -> tuple[SkippedLine, ...]:
    """The reasons of a run, the most frequent first."""
    rules = {each.reason: each.rule for each in totals.rules} if totals else {}
    ordered = sorted(run.skipped.items(), key=lambda each: (-each[1], each[0]))
    return tuple(
        SkippedLine(reason, f"{run_path(project)}/skipped?reason={reason}", rules.get(reason), count)
        for reason, count in ordered
    )


def state_of_run(run: RunHistory, *, held: bool) -> str:
    """The state of a run as its badge shows it."""
    if run.state == "in_progress":
        return "on_hold" if held else run.state
    last = run.crawls[-1].state if run.crawls else ""
    return last if run.state == "completed" and last == "completed_with_errors" else run.state


def without_page(run: RunHistory | None) -> tuple[HistoryBase, ...]:
    """The base URLs with a problem of a run that is completed and has no page."""
    if run is None or run.pages or run.state != "completed":
        return ()
    return tuple(base for base in run.bases if base.problem)
