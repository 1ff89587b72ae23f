"""The verbs `pause`, `unpause`, `stop`, `finish`, `release` and `clear_queue`.

A running crawl is sent a command by a control file. The rest changes a project only while no crawl owns it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from orbweb.app import reports
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.engine.control import Command
from orbweb.errors import NothingToDo, StoreError, option
from orbweb.lifecycle import RunState
from orbweb.policy import patterns
from orbweb.store import runs
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Run

STOP_WAIT_S = 30.0


def pause(workspace: OpenWorkspace, project: str) -> None:
    _send(workspace, project, Command.PAUSE)


def unpause(workspace: OpenWorkspace, project: str) -> None:
    _send(workspace, project, Command.UNPAUSE)


def stop(workspace: OpenWorkspace, project: str, *, wait: bool = True) -> bool:
    """Stop the running crawl; whether it has ended."""
    _send(workspace, project, Command.STOP)
    return wait and _has_ended(workspace, project)


def _send(workspace: OpenWorkspace, project: str, command: Command) -> None:
    runs.project(workspace.db, project)
    if workspace.owner(project) is None:
        raise NothingToDo(f"no crawl of project {project!r} is running")
    workspace.control(project).write(command)


def _has_ended(workspace: OpenWorkspace, project: str) -> bool:
    deadline = time.monotonic() + STOP_WAIT_S
    while workspace.owner(project) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def finish(workspace: OpenWorkspace, project: str, *, wait: bool = True) -> Report:
    """Complete the run, stopping its crawl first if one is running; the status. Unless `wait`, a running crawl
    completes it by itself."""
    if workspace.owner(project) is not None:
        _send(workspace, project, Command.FINISH)
        if not wait:
            return reports.status(workspace, project)
        if not _has_ended(workspace, project):
            raise StoreError(f"the crawl of project {project!r} did not end within {STOP_WAIT_S:.0f} s")
    with _owned(workspace, project) as run:
        if run.state is RunState.PAUSED:
            runs.finish(workspace.db, run, "finished by hand", now_us())
    return reports.status(workspace, project)


def clear_queue(workspace: OpenWorkspace, project: str) -> int:
    """Skip the queued URLs, which completes the run; how many."""
    with _owned(workspace, project) as run:
        if run.state is not RunState.PAUSED:
            raise NothingToDo(f"project {project!r} has no queued URLs to clear")
        return runs.finish(workspace.db, run, "queue cleared by hand", now_us())


def release(workspace: OpenWorkspace, project: str, pattern: str) -> int:
    """Queue the parked URLs of the family with this pattern, or those that match it; how many."""
    finds = patterns.finder(option("release"), pattern)
    with _owned(workspace, project) as run:
        chosen = [
            (number, rule.partition(": ")[2])
            for number, url, rule in runs.trapped(workspace.db, run.id)
            if rule.partition(": ")[2] == pattern or finds(url)
        ]
        if not chosen:
            raise NothingToDo(f"project {project!r} has no parked URLs that match {pattern!r}")
        numbers, families = [number for number, _ in chosen], {family for _, family in chosen}
        runs.release(workspace.db, run, numbers, families, now_us())
    return len(chosen)


@contextmanager
def _owned(workspace: OpenWorkspace, project: str) -> Iterator[Run]:
    """The project's latest run, locked; a crashed crawl is recorded first."""
    found = runs.project(workspace.db, project)
    with workspace.own(project):
        runs.settle_crashed(workspace.db, found.id, now_us())
        yield runs.run_of(workspace.db, found, None)
