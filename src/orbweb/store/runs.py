"""Projects, runs and crawls: how they start, continue and end.

Every change of a run's or a crawl's state is a guarded UPDATE inside a transaction, and a project has at most one
crawl in progress. The caller holds the project's lock (see `store.lock`). The module is long because all these
changes are one subject.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from orbweb.errors import NothingToDo, UnknownProject
from orbweb.failpoints import failpoint
from orbweb.lifecycle import ENDING_STATE, CrawlState, EndedBy, ItemState, RunState, run_after
from orbweb.model import Known, SkipReason, Source
from orbweb.store import Queries, Row, unit_times
from orbweb.store.rows import QUEUED, Ending, Progress, Tally, UrlRow, skipped

DISCOVERY = ".discovery"
"""Suffix of a discovery project: it finds URLs for another project to scrape, and stores no bodies."""
NAMES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Project:
    """A named site or topic: base URLs and settings."""

    id: int
    name: str
    settings: dict[str, Any]
    bases: tuple[str, ...]
    created_at: int


@dataclass(frozen=True, slots=True)
class Run:
    """One logical pass over a project, with the next ids to give out."""

    id: int
    project_id: int
    number: int
    state: RunState
    started_at: int
    ended_at: int | None
    next_url: int
    next_rank: int
    next_visit: int
    scope_fixed: bool
    surveyed: bool
    horizon: int
    recalls: int | None = None
    due_only: bool = False
    rules: str | None = None


@dataclass(frozen=True, slots=True)
class RequestProfile:
    """The settings of a crawl that decide which captures it may reuse, and which crawls may reuse its own.

    Captures are shared by crawls with the same `asked_as`; None shares nothing. The result of processing a body is
    reused with the same `read_with`. With `refresh` a run reuses nothing.
    """

    asked_as: str | None = None
    read_with: str | None = None
    refresh: bool = False


ALONE = RequestProfile()


@dataclass(frozen=True, slots=True)
class Crawl:
    """One session of work on a run."""

    id: int
    run_id: int
    number: int
    state: CrawlState
    ended_by: EndedBy | None
    error: str | None
    budget: int | None
    started_at: int
    updated_at: int
    visited: int
    failed: int
    pages: int
    bytes: int


class Base(NamedTuple):
    """A base URL of a run. `scope_key` is where its scope is now, `pages` the number of its unique pages."""

    number: int
    url: str
    scope_key: str
    pages: int = 0


def project_of(row: Row) -> Project:
    return Project(row[0], row[1], json.loads(row[2]), tuple(json.loads(row[3])), row[4])


def _run(row: Row) -> Run:
    fields: list[Any] = list(row)
    fields[3], fields[9], fields[10], fields[13] = RunState(row[3]), bool(row[9]), bool(row[10]), bool(row[13])
    return Run(*fields)


def _crawl(row: Row) -> Crawl:
    fields: list[Any] = list(row)
    fields[3], fields[4] = CrawlState(row[3]), EndedBy(row[4]) if row[4] else None
    return Crawl(*fields)


def find_project(db: Queries, name: str) -> Project | None:
    row = db.one("project_by_name", name=name)
    return project_of(row) if row else None


def project(db: Queries, name: str) -> Project:
    """The project, or an error that lists the existing ones."""
    found = find_project(db, name)
    if found is None:
        raise unknown(db, name)
    return found


def unknown(db: Queries, name: str) -> UnknownProject:
    """The error for an unknown project; lists the existing ones, similar names first."""
    names = [each.name for each in projects(db)]
    near = difflib.get_close_matches(name, names, n=len(names) or 1)
    ordered = list(dict.fromkeys((*near, *names)))
    more = f" and {len(ordered) - NAMES_SHOWN} more" if len(ordered) > NAMES_SHOWN else ""
    there = f"projects: {', '.join(ordered[:NAMES_SHOWN])}{more}" if ordered else "no projects yet"
    return UnknownProject(f"no project {name!r} in {db.path.parent} ({there})", f"no project {name!r} ({there})")


def projects(db: Queries) -> list[Project]:
    return [project_of(row) for row in db.all("projects")]


def save_project(db: Queries, name: str, settings: dict[str, Any], bases: Sequence[str], now: int) -> Project:
    """Create the project, or replace its settings and base URLs."""
    with db.transaction():
        return write_project(db, name, settings, bases, now)


def write_project(db: Queries, name: str, settings: dict[str, Any], bases: Sequence[str], now: int) -> Project:
    """As `save_project`, inside a transaction."""
    texts = {"settings": json.dumps(settings, sort_keys=True), "bases": json.dumps(list(bases))}
    found = find_project(db, name)
    if found is None:
        db.all("add_project", name=name, created_at=now, **texts)
    else:
        db.run("save_project", id=found.id, **texts)
    return project(db, name)


def rename(db: Queries, names: Sequence[tuple[str, str]]) -> None:
    """Give projects other names, all or none: each as (old, new)."""
    with db.transaction():
        for old, new in names:
            db.moved("rename_project", old=old, new=new)


def latest_run(db: Queries, project_id: int) -> Run | None:
    row = db.one("latest_run", project_id=project_id)
    return _run(row) if row else None


def run_of(db: Queries, owner: Project, number: int | None) -> Run:
    """The run with this number, or the latest; an error if it does not exist."""
    if number is None:
        found = latest_run(db, owner.id)
    else:
        try:
            row = db.one("run_by_number", project_id=owner.id, number=number)
        except OverflowError:
            row = None
        found = _run(row) if row else None
    if found is None:
        which = "run yet" if number is None else f"run {number}"
        raise NothingToDo(f"project {owner.name!r} has no {which}")
    return found


def run_before(db: Queries, run: Run) -> Run | None:
    """The run of the same project before this one; numbers of deleted runs are missing."""
    row = db.one("run_before", project_id=run.project_id, number=run.number)
    return _run(row) if row else None


def named(db: Queries, run_id: int | None) -> dict[str, Any] | None:
    """Project and number of a run by its id, for reports; None if there is no id, or no such run."""
    row = db.one("run_named", run_id=run_id) if run_id is not None else None
    return {"project": row[0], "run": row[1]} if row else None


def runs_of(db: Queries, project_id: int) -> list[Run]:
    return [_run(row) for row in db.all("runs_of", project_id=project_id)]


def crawls_of(db: Queries, run_id: int) -> list[Crawl]:
    return [_crawl(row) for row in db.all("crawls_of", run_id=run_id)]


def bases_of(db: Queries, run_id: int) -> list[Base]:
    return [Base(*row) for row in db.all("bases_of", run_id=run_id)]


def start_run(
    db: Queries,
    owner: Project,
    bases: Sequence[Base],
    urls: Sequence[UrlRow],
    budget: int | None,
    now: int,
    manner: RequestProfile = ALONE,
    *,
    recalls: int | None = None,
    due_only: bool = False,
    rules: str | None = None,
) -> tuple[Run, int]:
    """Start a run with its first crawl. `urls`, with a run id of 0, are base URLs and the known URLs of run
    `recalls`."""
    previous = latest_run(db, owner.id)
    with db.transaction():
        number = previous.number + 1 if previous else 1
        run_id = db.value(
            "add_run",
            project_id=owner.id,
            number=number,
            started_at=now,
            refresh=manner.refresh,
            recalls=recalls,
            due_only=due_only,
            rules=rules,
        )
        db.many("add_base", [(run_id, base.number, base.url, base.scope_key) for base in bases])
        unit_times.record(db, run_id, now, next_url=len(urls) + 1)
        db.many("add_url", [(run_id, *row[1:]) for row in urls])
        for (state, reason), change in Counter((row.state, row.reason or "") for row in urls).items():
            db.run("add_tally", run_id=run_id, state=state, reason=reason, change=change)
        db.run("keep_released", run_id=run_id, recalls=recalls)
        db.run(
            "advance_run",
            run_id=run_id,
            next_url=len(urls) + 1,
            next_rank=sum(row.rank is not None for row in urls),
            next_visit=1,
            scope_fixed=False,
            surveyed=False,
        )
        crawl_id = _add_crawl(db, run_id, budget, now, manner)
    failpoint("run_created")
    return run_of(db, owner, number), crawl_id


def continue_run(
    db: Queries, owner: Project, run: Run, budget: int | None, now: int, manner: RequestProfile = ALONE
) -> tuple[Run, int]:
    """Resume a paused run with a new crawl."""
    with db.transaction():
        move_run(db, run.id, RunState.PAUSED, RunState.IN_PROGRESS, now)
        if manner.refresh:
            db.run("forget_captures", run_id=run.id)
        crawl_id = _add_crawl(db, run.id, budget, now, manner)
    return run_of(db, owner, run.number), crawl_id


def adopt_run(
    db: Queries, owner: Project, bases: Sequence[Base], progress: Progress, now: int, profile: RequestProfile
) -> Run:
    """A run with its own counters, and its first crawl, inside a transaction: an import fills it."""
    run_id = db.value(
        "adopt_run",
        project_id=owner.id,
        started_at=now,
        next_url=progress.next_url,
        next_rank=progress.next_rank,
        next_visit=progress.next_visit,
        scope_fixed=progress.scope_fixed,
        surveyed=progress.surveyed,
    )
    db.many("add_base", [(run_id, base.number, base.url, base.scope_key) for base in bases])
    _add_crawl(db, run_id, None, now, profile)
    return run_of(db, owner, None)


def _add_crawl(db: Queries, run_id: int, budget: int | None, now: int, manner: RequestProfile) -> int:
    crawl_id = db.value(
        "add_crawl",
        run_id=run_id,
        budget=budget,
        now=now,
        asked_as=manner.asked_as,
        read_with=manner.read_with,
    )
    return int(crawl_id)


def move_run(db: Queries, run_id: int, old: RunState, new: RunState, now: int) -> None:
    ended_at = now if new is RunState.COMPLETED else None
    db.moved("move_run", run_id=run_id, from_state=old.value, to_state=new.value, ended_at=ended_at)


def set_lanes(db: Queries, run_id: int, lane_of: Callable[[str], str] | None) -> None:
    """Assign queued URLs to the lanes of the crawl's order; None is strict order."""
    with db.transaction():
        if lane_of is None:
            db.run("set_lanes_strict", run_id=run_id)
            return
        for url_id, key in db.all("queued_keys_in_lane", run_id=run_id, lane=""):
            db.run("set_lane", run_id=run_id, id=url_id, lane=lane_of(key))


def settle_crashed(db: Queries, project_id: int, now: int) -> int:
    """Close the crawls that a killed owner left open: crawl failed/crashed, run paused. Returns how many."""
    with db.transaction():
        left = db.all("open_crawls", project_id=project_id)
        for crawl_id, run_id, run_state in left:
            db.run("crash_crawl", crawl_id=crawl_id)
            if run_state == RunState.IN_PROGRESS:
                move_run(db, run_id, RunState.IN_PROGRESS, RunState.PAUSED, now)
    return len(left)


def end_crawl(db: Queries, run_id: int, crawl_id: int, ending: Ending, now: int) -> None:
    """End a crawl that has nothing to commit."""
    with db.transaction():
        end(db, run_id, crawl_id, ending, now)


def known_url(db: Queries, run_id: int, key: str) -> Known | None:
    row = db.one("known_url", run_id=run_id, key=key)
    return Known(*row) if row else None


def recalled_urls(db: Queries, run_id: int) -> Iterator[Row]:
    """The URLs of a run in the order in which a recrawl takes them over."""
    return db.each("recalled_urls", run_id=run_id)


def admitted_keys(db: Queries, run_id: int) -> Iterator[str]:
    """The keys of the URLs that have a place."""
    return (key for _, key, *_ in db.each("admitted_urls", run_id=run_id))


def advance(db: Queries, run_id: int, progress: Progress) -> None:
    """Store the counters of the run, inside a transaction."""
    db.run(
        "advance_run",
        run_id=run_id,
        next_url=progress.next_url,
        next_rank=progress.next_rank,
        next_visit=progress.next_visit,
        scope_fixed=progress.scope_fixed,
        surveyed=progress.surveyed,
    )


def end(db: Queries, run_id: int, crawl_id: int, ending: Ending, now: int) -> None:
    """Move crawl and run to the states of the ending, inside a transaction."""
    db.moved(
        "end_crawl",
        crawl_id=crawl_id,
        to_state=ENDING_STATE[ending.ended_by].value,
        ended_by=ending.ended_by.value,
        error=ending.error,
        now=now,
    )
    move_run(db, run_id, RunState.IN_PROGRESS, run_after(ending.ended_by), now)


def finish(db: Queries, run: Run, rule: str, now: int) -> int:
    """Skip the queued URLs of a paused run and complete it. Returns how many were skipped."""
    with db.transaction():
        unit_times.record(db, run.id, now)
        count = db.run("skip_queued", run_id=run.id, rule=rule)
        _tally(db, run.id, QUEUED, -count)
        _tally(db, run.id, skipped(SkipReason.FINISHED.value), count)
        move_run(db, run.id, RunState.PAUSED, RunState.COMPLETED, now)
    return count


def reopen(db: Queries, run: Run, now: int) -> None:
    """Reopen a completed run: its spool has new lines."""
    with db.transaction():
        move_run(db, run.id, RunState.COMPLETED, RunState.PAUSED, now)
        db.run("reopen_feed", run_id=run.id)


def retry(db: Queries, run: Run, kind: str | None, now: int) -> int:
    """Queue failed URLs again, each with a new rank; a completed run is reopened. Returns how many."""
    with db.transaction():
        ids = [row[0] for row in db.all("failed_ids", run_id=run.id, kind=kind)]
        _retry(db, run, ids, now)
    return len(ids)


def retry_urls(db: Queries, run: Run, ids: Sequence[int], now: int) -> int:
    """As `retry`, for chosen URLs that failed."""
    with db.transaction():
        _retry(db, run, ids, now)
    return len(ids)


def _retry(db: Queries, run: Run, ids: Sequence[int], now: int) -> None:
    for url_id in ids:
        db.run("forget_visit", run_id=run.id, url_id=url_id)
    _queue_again(db, run, ids, ItemState.FAILED, (ItemState.FAILED.value, ""), now)


def trapped(db: Queries, run_id: int) -> list[tuple[int, str, str]]:
    """The id, the URL and the rule of each parked URL, in the order of finding."""
    return [(number, url, rule) for number, url, rule in db.all("trapped", run_id=run_id)]


def release(db: Queries, run: Run, ids: Sequence[int], patterns: Collection[str], now: int) -> None:
    """Queue parked URLs, each with a new rank, and follow their families from now on."""
    with db.transaction():
        for pattern in patterns:
            db.run("release_family", run_id=run.id, pattern=pattern)
        _queue_again(db, run, ids, ItemState.SKIPPED, skipped(SkipReason.TRAP.value), now)


def _queue_again(db: Queries, run: Run, ids: Sequence[int], from_state: ItemState, tally: Tally, now: int) -> None:
    """Give URLs a new place at the end of their depth; a completed run is reopened. Inside a transaction."""
    if not ids:
        return
    unit_times.record(db, run.id, now)
    for rank, url_id in enumerate(ids, start=run.next_rank):
        db.moved("requeue_url", run_id=run.id, id=url_id, rank=rank, from_state=from_state.value)
    _tally(db, run.id, tally, -len(ids))
    _tally(db, run.id, QUEUED, len(ids))
    db.run(
        "advance_run",
        run_id=run.id,
        next_url=run.next_url,
        next_rank=run.next_rank + len(ids),
        next_visit=run.next_visit,
        scope_fixed=run.scope_fixed,
        surveyed=run.surveyed,
    )
    if run.state is RunState.COMPLETED:
        move_run(db, run.id, RunState.COMPLETED, RunState.PAUSED, now)


def _tally(db: Queries, run_id: int, of: tuple[str, str], change: int) -> None:
    if change:
        db.run("add_tally", run_id=run_id, state=of[0], reason=of[1], change=change)


def initial_url(number: int, key: str, url: str, lane: str) -> UrlRow:
    """The row of a base URL: place (0, number)."""
    return UrlRow(
        run_id=0,
        id=number + 1,
        key=key,
        url=None if url == key else url,
        state=ItemState.QUEUED.value,
        reason=None,
        rule=None,
        source=Source.INITIAL.value,
        depth=0,
        rank=number,
        lane=lane,
        hops=0,
        redirects=0,
        base=number,
        referrer=None,
        found_base=number,
    )
