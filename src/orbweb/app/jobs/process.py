"""The process of one job: `python -m orbweb.app.jobs WORKSPACE JOB ATTEMPT`, started by the supervisor.

It owns a lock of its own while it lives, by which any server finds it, and writes its end into the job's row
itself: a server that was killed meanwhile misses nothing. A process that comes too late, because another was
started in its place, does nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orbweb.app import crawl as crawl_verb
from orbweb.app import reextract
from orbweb.app.callbacks import CrawlCallbacks, redacted
from orbweb.app.directory import OpenWorkspace, now_us, open_workspace
from orbweb.app.export import export
from orbweb.app.job_files import EXPORTS, REPORT, export_name
from orbweb.app.jobs.records import CrawlOrder, JobKind, JobState, crawl_order, export_order, extract_order
from orbweb.app.jobs.remote import REQUESTS, for_clients, remote_request
from orbweb.app.options import options_of
from orbweb.app.report import write_report
from orbweb.app.request import request_of
from orbweb.app.results.crawls import crawl_result
from orbweb.config import schema
from orbweb.engine.control import Command, ControlFiles
from orbweb.errors import Busy, OrbwebError, spelled
from orbweb.events import ExtractProgress
from orbweb.export import Format
from orbweb.lifecycle import EndedBy, RunState
from orbweb.store import lock, runs, workspace_files
from orbweb.store.lock import OwnerLock
from orbweb.store.queries import identities
from orbweb.store.runs import Project, Run
from orbweb.store.server_rows import JobRow, ServerStore

ROLE = "job"
COUNT_S = 0.5
LOG_BYTES = 1_000_000
FAILED_SHOWN = 100
"""Pages that could not be extracted, in the result of a job."""


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
            with spelled(REQUESTS):
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
        result = _WORK[JobKind(job.kind)](workspace, store, job, project)
    except _Interrupted:
        store.interrupt_job(job.id)
        return
    except Busy as problem:
        print(redacted(str(problem)), file=sys.stderr)  # noqa: T201
        store.requeue_job(job.id, job.attempt)
        return
    except OrbwebError as problem:
        state, error = JobState.FAILED, for_clients(str(problem), workspace.path)
        print(redacted(str(problem)), file=sys.stderr)  # noqa: T201
    text = json.dumps(result, sort_keys=True) if result is not None else None
    store.end_job(job.id, job.attempt, state, result=text, error=error, now=now_us())


class _Interrupted(Exception):
    """A signal has ended the work, which is to be resumed: whoever wants to stop a crawl for good calls `stop`."""


@dataclass(slots=True)
class _Attached:
    """Writes into the job which run and crawl it has opened, before the first request is sent, and whether the
    crawl was on hold when a signal ended it."""

    workspace: OpenWorkspace
    store: ServerStore
    job: JobRow
    control: ControlFiles
    is_held: bool
    """Whether the crawl continues one that was on hold."""
    signals: int = 0

    def opened(self, run: Run) -> None:
        self.store.join_run(self.job.id, run.id, runs.crawls_of(self.workspace.db, run.id)[-1].id)
        if self.is_held:
            self.control.write(Command.PAUSE)
            self.store.hold_job(self.job.id, held=False)

    def written(self, visit: int) -> None: ...

    def brake(self) -> str | None:
        return None

    def attach(self, loop: AbstractEventLoop, handle: Callable[[Command], None]) -> None:
        """In place of the handler that a crawl has of its own, which does not tell a signal from `stop`."""
        loop.add_signal_handler(signal.SIGTERM, self._interrupt, handle)

    def _interrupt(self, handle: Callable[[Command], None]) -> None:
        self.signals += 1
        handle(Command.STOP if self.signals == 1 else Command.STOP_NOW)
        self.store.hold_job(self.job.id, held=self.control.is_given(Command.PAUSE))

    def detach(self) -> None: ...


def _crawl(
    workspace: OpenWorkspace, store: ServerStore, job: JobRow, project: Project
) -> Mapping[str, Any] | None:
    order, joined = crawl_order(job.request), joined_run(workspace, store, job)
    left = unfinished(workspace, project, *joined) if joined is not None else None
    if joined is not None and left is None:
        return None
    order = order if left is None else resumed(order)
    request = remote_request(order, project.name)
    if left is not None:
        request = replace(request, settings=schema.merge(request.settings or {}, left.settings))
    control = workspace.control(project.name)
    is_held = left is not None and (bool(job.held) or control.is_given(Command.PAUSE))
    attached = _Attached(workspace, store, job, control, is_held)
    callbacks = CrawlCallbacks(note=BoundedLog().note, attachment=attached)
    verb = {"crawl": crawl_verb.crawl, "resume": crawl_verb.resume, "recrawl": crawl_verb.recrawl}[order.verb]
    report = crawl_result(verb(workspace, request, callbacks)).report()
    if attached.signals and report["ended_by"] == EndedBy.CANCELLED:
        raise _Interrupted
    return report


@dataclass(slots=True)
class BoundedLog:
    """The notes of one process of a job, up to a length."""

    left: int = LOG_BYTES

    def note(self, text: str) -> None:
        if self.left <= 0:
            return
        self.left -= len(text) + 1
        print(text if self.left > 0 else "further notes are left out", file=sys.stderr, flush=True)  # noqa: T201


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
    name = export_name(job.id, order.to)
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


def _extract(workspace: OpenWorkspace, store: ServerStore, job: JobRow, project: Project) -> Mapping[str, Any]:
    order = extract_order(job.request)

    def count(now: ExtractProgress) -> None:
        store.count_job(job.id, now.done + now.failed, now.total)

    request = request_of("extract", {}, (), project.name)
    done = reextract.extract(
        workspace,
        request,
        number=order.run,
        everything=order.everything,
        on_progress=count,
        note=BoundedLog().note,
    )
    if done["left"]:
        raise _Interrupted
    store.count_job(job.id, done["pages"], done["pages"])
    return {**done, "failed": done["failed"][:FAILED_SHOWN]}


_WORK = {JobKind.CRAWL: _crawl, JobKind.BATCH: _crawl, JobKind.EXPORT: _export, JobKind.EXTRACT: _extract}
