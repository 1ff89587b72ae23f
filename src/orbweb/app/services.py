"""The verb of the second service: `scrape` visits what discovery has spooled, run after run.

Always holds: one run of a scraper works for one run of discovery, by the settings of that discovery.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from orbweb.app import pipeline
from orbweb.app.build import catch_up
from orbweb.app.control import Workspace, now_us
from orbweb.app.request import Note, Relay, Request, Watch, discreet
from orbweb.app.run import hold
from orbweb.app.session import Session, left_in, paused_run, ready
from orbweb.config import schema
from orbweb.engine.control import ControlKind
from orbweb.errors import NothingToDo
from orbweb.frontier import seeds
from orbweb.lifecycle import EndedBy, RunState
from orbweb.store import runs
from orbweb.store.queries.reports import Report
from orbweb.store.runs import DISCOVERY, Run


def scrape(
    workspace: Workspace,
    request: Request,
    *,
    follows: Callable[[], bool] = lambda: False,
    watch: Watch,
    note: Note,
    relay: Relay | None = None,
) -> Report:
    """Visit what discovery has spooled, run after run, until there is no more and it `follows` no longer.

    What it is told by signals goes to `relay` too. A follower that is stopped before it had anything to do reports
    no run.
    """
    note = discreet(note)
    name = seeds.check_project_name(pipeline.scraped_name(workspace, request.project))
    with workspace.own(name):
        if (own := runs.find_project(workspace.db, name)) is not None:
            catch_up(workspace, own, schema.build(own.settings, source=f"settings of project {name!r}"))
        report = None
        while True:
            source = pipeline.due_run(workspace, name)
            if source is not None:
                report = _scrape(
                    workspace, name, source, request, follows=follows, watch=watch, note=note, relay=relay
                )
                if report["run_state"] != RunState.COMPLETED:
                    return report
            elif not follows():
                return report or _nothing_spooled(workspace, name)
            elif not _waited(workspace, name, follows):
                return report or _idle(workspace, name)


def has_work(workspace: Workspace, name: str) -> bool:
    """Whether discovery has begun a run that is not scraped."""
    return pipeline.due_run(workspace, name) is not None


def _nothing_spooled(workspace: Workspace, name: str) -> Report:
    again = (
        f"`orbweb discover --project {name} --new-run` looks again."
        if _is_discovered(workspace, name)
        else f"`orbweb discover URL --project {name}` begins."
    )
    raise NothingToDo(f"there is nothing to scrape for project {name!r}: {_why_none(workspace, name)}. {again}")


def _idle(workspace: Workspace, name: str) -> Report:
    """What there is to tell of a follower that was stopped while it waited for a run of discovery."""
    left = has_work(workspace, name)
    return {
        "project": name,
        "run": None,
        "run_state": RunState.PAUSED if left else None,
        "ended_by": EndedBy.CANCELLED,
        "why": "discovery has begun a run that is not scraped" if left else _why_none(workspace, name),
        "visited": 0,
        "failed": 0,
        "queued": 0,
        "skipped": {},
        "workspace": str(workspace.path),
    }


def _why_none(workspace: Workspace, name: str) -> str:
    return (
        "all that was discovered is scraped" if _is_discovered(workspace, name) else "nothing was discovered yet"
    )


def _is_discovered(workspace: Workspace, name: str) -> bool:
    discovery = workspace.discovery_of(name)
    return discovery is not None and runs.latest_run(workspace.db, discovery.id) is not None


def _waited(workspace: Workspace, name: str, follows: Callable[[], bool]) -> bool:
    """Wait for the next run of discovery, as long as it follows; False if stopped."""
    control = workspace.control(name, ControlKind.SCRAPER)
    come = pipeline.wait_for(lambda: has_work(workspace, name) or not follows(), control)
    if not come:
        control.clear(alone=not any(workspace.owner(each + DISCOVERY) for each in pipeline.pipelines(workspace)))
    return come


def _scrape(
    workspace: Workspace,
    name: str,
    source: Run,
    request: Request,
    *,
    follows: Callable[[], bool],
    watch: Watch,
    note: Note,
    relay: Relay | None,
) -> Report:
    """One run, for one run of discovery. Settings of discovery hold, but for how much it may find."""
    discovery = runs.project(workspace.db, name + DISCOVERY)
    own = runs.find_project(workspace.db, name)
    taken = schema.merge(own.settings if own else {}, _handed_on(discovery.settings))
    urls_given = [base.url for base in runs.bases_of(workspace.db, source.id)]
    works_as = replace(own or discovery, settings=taken)
    config, settings, bases, secrets, permit = ready(workspace, works_as, request, urls_given, note)
    budget = (request.settings or {}).get("limits", {}).get("budget")
    config = config.model_copy(update={"limits": config.limits.model_copy(update={"budget": budget})})
    paused = paused_run(workspace, own, note)
    project = runs.save_project(workspace.db, name, settings, urls_given, now_us())
    if paused is not None:
        note(f"going on with run {paused.number} of {name}, {left_in(workspace, paused)}")
    session = Session(workspace, project, config, secrets, permit, watch, note, request, source, follows, relay)
    return hold(session, paused, bases)


def _handed_on(settings: Mapping[str, Any]) -> dict[str, Any]:
    limits = {
        key: value for key, value in settings.get("limits", {}).items() if key not in ("budget", "page_limit")
    }
    return {**settings, "limits": limits}
