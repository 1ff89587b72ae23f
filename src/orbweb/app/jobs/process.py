"""The process of one job: `python -m orbweb.app.jobs WORKSPACE JOB ATTEMPT`, started by the supervisor.

It owns a lock of its own while it lives, by which any server finds it, and writes its end into the job's row
itself: a server that was killed meanwhile misses nothing. A process that comes too late, because another was
started in its place, does nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orbweb.app import crawl as crawl_verb
from orbweb.app.callbacks import CrawlCallbacks, redacted
from orbweb.app.directory import OpenWorkspace, now_us, open_workspace
from orbweb.app.export import export
from orbweb.app.jobs.records import CrawlOrder, JobKind, JobState, crawl_order, export_order
from orbweb.app.jobs.remote import remote_request
from orbweb.app.options import options_of
from orbweb.app.report import write_report
from orbweb.app.results.crawls import crawl_result
from orbweb.config import schema
from orbweb.engine.control import Command
from orbweb.errors import OrbwebError
from orbweb.export import Format
from orbweb.lifecycle import RunState
from orbweb.store import lock, runs, workspace_files
from orbweb.store.lock import OwnerLock
from orbweb.store.queries import identities
from orbweb.store.runs import Project, Run
from orbweb.store.server_rows import JobRow, ServerStore

ROLE = "job"
EXPORTS = "exports"
REPORT = "report"
EXTENSIONS = {"zip": "zip", "jsonl": "jsonl", "csv": "csv", REPORT: "html"}
"""The formats of exports that are one file, which can be downloaded."""
COUNT_S = 0.5


def main(words: list[str]) -> int:
    path, number, attempt = Path(words[0]), int(words[1]), int(words[2])
    with (
        open_workspace(path) as workspace,
        closing(workspace.server_store()) as store,
        OwnerLock(path / "locks", str(number), ROLE),
    ):
        is_wanted = store.begin_job(number, attempt, identities.last_crawl(workspace.db))
        job = store.job(number) if is_wanted else None
        if job is not None:
            _run(workspace, store, job)
        lock.remove(path / "locks", str(number), ROLE)
    return 0


def _run(workspace: OpenWorkspace, store: ServerStore, job: JobRow) -> None:
    """Do the job, and say in its row how it ended."""
    state, result, error = JobState.COMPLETED, None, None
    try:
        project = identities.project_by_id(workspace.db, job.project_id)
        if project is None:
            raise OrbwebError("the project was deleted")
        work = _crawl if job.kind == JobKind.CRAWL else _export
        result = work(workspace, store, job, project)
    except OrbwebError as problem:
        state, error = JobState.FAILED, redacted(str(problem))
        print(error, file=sys.stderr)  # noqa: T201
    text = json.dumps(result, sort_keys=True) if result is not None else None
    store.end_job(job.id, job.attempt, state, result=text, error=error, now=now_us())


@dataclass(frozen=True, slots=True)
class _JoinedRun:
    """Writes into the job which run and crawl it has opened, before the first request is sent."""

    workspace: OpenWorkspace
    store: ServerStore
    job: int

    def opened(self, run: Run) -> None:
        self.store.join_run(self.job, run.id, runs.crawls_of(self.workspace.db, run.id)[-1].id)

    def written(self, visit: int) -> None: ...

    def brake(self) -> str | None:
        return None

    def attach(self, loop: AbstractEventLoop, handle: Callable[[Command], None]) -> None: ...

    def detach(self) -> None: ...


def _crawl(
    workspace: OpenWorkspace, store: ServerStore, job: JobRow, project: Project
) -> Mapping[str, Any] | None:
    order = crawl_order(job.request)
    joined = joined_run(workspace, store, job)
    if joined is None:
        request = remote_request(order, project.name)
    else:
        left = unfinished(workspace, project, *joined)
        if left is None:
            return None
        order = resumed(order)
        request = remote_request(order, project.name)
        request = replace(request, settings=schema.merge(request.settings or {}, left.settings))
    callbacks = CrawlCallbacks(note=_note, attachment=_JoinedRun(workspace, store, job.id))
    verb = {"crawl": crawl_verb.crawl, "resume": crawl_verb.resume, "recrawl": crawl_verb.recrawl}[order.verb]
    return crawl_result(verb(workspace, request, callbacks)).report()


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def joined_run(workspace: OpenWorkspace, store: ServerStore, job: JobRow) -> tuple[int, int] | None:
    """The run of a job and its first crawl; None if no process of it has opened one yet. One that was killed in
    between has not written it down."""
    if job.run_id is not None and job.first_crawl is not None:
        return job.run_id, job.first_crawl
    if job.crawl_before is None:
        return None
    for crawl_id, run_id in identities.crawls_after(workspace.db, job.project_id, job.crawl_before)[:1]:
        store.join_run(job.id, run_id, crawl_id)
        return run_id, crawl_id
    return None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What is left of a crawl: the run is resumed with what is left of its budget."""

    budget: int | None

    @property
    def settings(self) -> dict[str, Any]:
        return {"limits": {"budget": self.budget}}


def unfinished(workspace: OpenWorkspace, project: Project, run_id: int, first_crawl: int) -> Unfinished | None:
    """What is left to do of a job's crawl; None if it has ended."""
    identity = identities.run_by_id(workspace.db, run_id)
    run = runs.run_of(workspace.db, project, identity.number)
    crawls = [crawl for crawl in runs.crawls_of(workspace.db, run_id) if crawl.id >= first_crawl]
    if run.state is RunState.COMPLETED or not crawls:
        return None
    used = sum(crawl.visited + crawl.failed for crawl in crawls)
    budget = crawls[0].budget
    if budget is not None and used >= budget:
        return None
    return Unfinished(None if budget is None else budget - used)


def resumed(order: CrawlOrder) -> CrawlOrder:
    """The order by which a crawl is resumed: the options of a crawl are stored with its project already."""
    if order.verb == "crawl":
        return replace(order, verb="resume", urls=(), options={}, settings={})
    taken = {each.name for each in options_of("resume")} - {"save", "budget"}
    options = {name: value for name, value in order.options.items() if name in taken}
    return replace(order, verb="resume", urls=(), options=options)


def _export(workspace: OpenWorkspace, store: ServerStore, job: JobRow, project: Project) -> Mapping[str, Any]:
    order = export_order(job.request)
    workspace_files.make_directory(workspace.path, EXPORTS)
    name = f"{EXPORTS}/{job.id}.{EXTENSIONS[order.to]}"
    counted_at = 0.0

    def count(done: int, total: int) -> None:
        nonlocal counted_at
        if time.monotonic() - counted_at > COUNT_S or done == total:
            counted_at = time.monotonic()
            store.count_job(job.id, done, total)

    path = workspace.path / name
    if order.to == REPORT:
        pages = write_report(workspace, project.name, path, order.run).pages
    else:
        form = Format(order.to)
        pages = export(workspace, project.name, form, path, order.run, raw=False, on_progress=count).pages
    store.count_job(job.id, pages, pages)
    return {"file": name, "pages": pages, "bytes": os.stat(workspace.path / name).st_size}  # noqa: PTH116
