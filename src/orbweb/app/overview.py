"""The verbs that give an overview: projects, their runs and running crawls in a few numbers each."""

from __future__ import annotations

from orbweb.app.directory import OpenWorkspace
from orbweb.app.reports import snapshot
from orbweb.errors import UsageError, option
from orbweb.store import runs as store_runs
from orbweb.store.queries import overview
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Project


def outline(workspace: OpenWorkspace, project: str, number: int | None) -> Report:
    """A run in a few numbers; a project that was never crawled has none."""
    found, alive = store_runs.project(workspace.db, project), workspace.owner(project) is not None
    every = [run.number for run in store_runs.runs_of(workspace.db, found.id)]
    run = store_runs.run_of(workspace.db, found, number) if every else None
    return {
        "project": found.name,
        **_activity(workspace, project),
        "runs": sorted(every, reverse=True),
        **overview.outline(workspace.db, run, alive=alive),
    }


def _activity(workspace: OpenWorkspace, project: str) -> Report:
    alive = workspace.owner(project) is not None
    return {"running": alive, "held": alive and workspace.control(project).hold_reason() is not None}


def running(workspace: OpenWorkspace) -> list[Report]:
    """The crawls at work, in the order of their projects."""
    found = []
    for each in store_runs.projects(workspace.db):
        now = snapshot(workspace, each.name)
        if now is not None:
            found.append({"project": each.name, "state": now.state, "rate": round(now.rate, 1)})
    return found


def overviews(workspace: OpenWorkspace) -> list[Report]:
    return [_overview(workspace, each) for each in store_runs.projects(workspace.db)]


def _overview(workspace: OpenWorkspace, project: Project) -> Report:
    latest = store_runs.latest_run(workspace.db, project.id)
    alive = workspace.owner(project.name) is not None
    return {
        "project": project.name,
        "bases": list(project.bases),
        **_activity(workspace, project.name),
        "latest": None if latest is None else overview.history(workspace.db, latest, alive=alive),
    }


def histories(workspace: OpenWorkspace, project: str, before: int | None, limit: int | None) -> list[Report]:
    """The runs of a project with their crawls, the newest first: those before a run, at most so many."""
    if limit is not None and limit < 1:
        raise UsageError(f"{option('limit')}: {limit} is not a number of runs")
    found, alive = store_runs.project(workspace.db, project), workspace.owner(project) is not None
    every = sorted(store_runs.runs_of(workspace.db, found.id), key=lambda run: -run.number)
    older = [run for run in every if before is None or run.number < before]
    return [overview.history(workspace.db, run, alive=alive) for run in older[:limit]]


def alternates(workspace: OpenWorkspace, project: str, number: int) -> int:
    return overview.alternates(workspace.db, workspace.run(project, number).id)


def totals(workspace: OpenWorkspace, project: str, number: int | None) -> Report:
    found = store_runs.project(workspace.db, project)
    return overview.totals(workspace.db, store_runs.run_of(workspace.db, found, number))
