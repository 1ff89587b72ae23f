"""The verbs `crawl`, `resume` and `recrawl`.

For a project whose name ends with `.discovery` they discover: no bodies are stored, and the spool is written. This
process owns the project while it works.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from orbweb.app import pipeline
from orbweb.app.build import catch_up
from orbweb.app.callbacks import CrawlCallbacks, Note, ignore_note
from orbweb.app.directory import OpenWorkspace, exists, now_us
from orbweb.app.request import Request, configure, name_of, require_project, with_seeds
from orbweb.app.rules import nothing_to_resume, save_project_and_apply_rules
from orbweb.app.run import resume_run, run_crawl
from orbweb.app.session import Ready, ReplayedRun, Session, left_in, paused_run, ready
from orbweb.app.setting_sources import note_changes, note_stored
from orbweb.app.settings import policy_rules, url_rules
from orbweb.config.schema import Config
from orbweb.errors import UsageError, call, option
from orbweb.frontier import seeds
from orbweb.lifecycle import RunState
from orbweb.policy.rules import Policy
from orbweb.store import runs
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Project, Run
from orbweb.urls import Target


def check_new(path: Path, request: Request) -> None:
    """Refuse what `crawl` would refuse, before it creates the workspace at `path`; does nothing if it exists."""
    if exists(path):
        return
    with closing(OpenWorkspace(path, blank=True)) as workspace:
        request = with_seeds(workspace, request, ignore_note)
        name = name_of(workspace, request)
        pipeline.check_role(workspace, name)
        _ready_to_start(workspace, name, None, replace(request, remembers=False), ignore_note)


def check(workspace: OpenWorkspace, name: str, request: Request) -> Ready:
    """Refuse what `crawl` would refuse, and start nothing."""
    pipeline.check_role(workspace, name)
    known = runs.find_project(workspace.db, name)
    found = _ready_to_start(workspace, name, known, request, ignore_note)
    latest = runs.latest_run(workspace.db, known.id) if known is not None else None
    resumes = found.config.incremental and not request.new_run
    if resumes and latest is not None and latest.state is not RunState.COMPLETED:
        _same_bases(workspace, latest, found.bases, name)
    return found


def crawl(workspace: OpenWorkspace, request: Request, callbacks: CrawlCallbacks) -> Report:
    """Start a run, or resume the paused one."""
    callbacks = callbacks.redacted()
    note = callbacks.note
    request = with_seeds(workspace, request, note)
    name = name_of(workspace, request)
    pipeline.check_role(workspace, name)
    with workspace.own(name):
        known = runs.find_project(workspace.db, name)
        config, settings, bases, secrets, permit = _ready_to_start(workspace, name, known, request, note)
        if known is None and request.project is None and name != (taken := seeds.project_name(bases[0].key)):
            another = option("project")
            note(f"project {taken} has other base URLs, so this one is named {name}; {another} sets another name")
        catch_up(workspace, known, config)
        paused = paused_run(workspace, known, note)
        if paused is not None and config.incremental and not request.new_run:
            _same_bases(workspace, paused, bases, name)
            note(f"resuming run {paused.number} of {name}, {left_in(workspace, paused)}")
        elif paused is not None:
            skipped = runs.finish(workspace.db, paused, "a new run was started", now_us())
            note(f"finished run {paused.number} of {name} ({skipped} queued URLs skipped); starting a new run")
            paused = None
        note_stored(known, request, note)
        note_changes(known, settings, note)
        urls_given = [base.url for base in bases]
        project, paused = save_project_and_apply_rules(workspace, name, config, settings, urls_given, paused, note)
        session = Session(workspace, project, config, secrets, permit, callbacks, request)
        return resume_run(session, paused) if paused is not None else run_crawl(session, None, bases)


def resume(workspace: OpenWorkspace, request: Request, callbacks: CrawlCallbacks) -> Report:
    """Resume the paused run; NothingToDo if there is none."""
    callbacks = callbacks.redacted()
    note = callbacks.note
    name = require_project(workspace, request, "resume")
    known = runs.project(workspace.db, name)
    pipeline.check_role(workspace, name)
    with workspace.own(name):
        latest = runs.latest_run(workspace.db, known.id)
        if latest is None:
            raise nothing_to_resume(known, None)
        begun = [base.url for base in runs.bases_of(workspace.db, latest.id)]
        config, settings, _, secrets, permit = ready(workspace, known, request, begun, note)
        catch_up(workspace, known, config)
        paused_run(workspace, known, note)
        latest = runs.run_of(workspace.db, known, latest.number)
        kept = _kept(known, settings, request, note)
        project, run = save_project_and_apply_rules(workspace, name, config, kept, known.bases, latest, note)
        session = Session(workspace, project, config, secrets, permit, callbacks, request)
        return resume_run(session, run or latest)


def recrawl(workspace: OpenWorkspace, request: Request, callbacks: CrawlCallbacks) -> Report:
    """Start a run with the URLs that the latest one knew, in its order; UsageError if that one is paused."""
    callbacks = callbacks.redacted()
    note = callbacks.note
    name = require_project(workspace, request, "recrawl")
    known = runs.project(workspace.db, name)
    pipeline.check_role(workspace, name)
    with workspace.own(name):
        config, settings, bases, secrets, permit = ready(workspace, known, request, known.bases, note)
        _check_bases(config, bases)
        catch_up(workspace, known, config)
        paused = paused_run(workspace, known, note)
        if paused is not None and config.incremental:
            raise UsageError(
                f"run {paused.number} of {name!r} is paused, {left_in(workspace, paused)}. Resume it with "
                f"{call('resume', name)}, or finish it first with {call('finish', name)}."
            )
        if paused is not None:
            skipped = runs.finish(workspace.db, paused, "a recrawl was started", now_us())
            note(f"finished run {paused.number} of {name} ({skipped} queued URLs left to the recrawl)")
        latest = runs.run_of(workspace.db, known, None)
        kept = _kept(known, settings, request, note)
        project = runs.save_project(workspace.db, name, kept, known.bases, now_us())
        session = Session(workspace, project, config, secrets, permit, callbacks, request)
        if request.replay:
            session = replace(session, replays=ReplayedRun(latest, url_rules(configure(known, Request())[0])))
        return run_crawl(session, None, bases, latest, due_only=request.due)


def _kept(known: Project, settings: dict[str, Any], request: Request, note: Note) -> dict[str, Any]:
    """The settings that stay stored with a project: those given are only for this crawl, unless they are saved."""
    note_stored(known, request, note)
    if not request.save:
        return known.settings
    note_changes(known, settings, note)
    return settings


def _ready_to_start(
    workspace: OpenWorkspace, name: str, known: Project | None, request: Request, note: Note
) -> Ready:
    """What a crawl needs, with its base URLs checked."""
    found = ready(workspace, known, request, request.urls or (known.bases if known else ()), note)
    if not found.bases:
        raise UsageError(f"project {name!r} does not exist yet: give at least one URL to crawl")
    _check_bases(found.config, found.bases)
    return found


def _check_bases(config: Config, bases: Sequence[Target]) -> None:
    """UsageError for a pattern that is not RE2, or a base URL on a host that the policy excludes."""
    policy = Policy(policy_rules(config), [base.key for base in bases])
    for base in bases:
        rule = policy.bars_base(base.key)
        if rule is not None and config.policy.hosts:
            raise UsageError(f"{base.url} cannot be a base URL: {rule}")


def _same_bases(workspace: OpenWorkspace, run: Run, bases: Sequence[Target], name: str) -> None:
    stored = {base.url for base in runs.bases_of(workspace.db, run.id)}
    if stored != {base.url for base in bases}:
        raise UsageError(
            f"project {name!r} has a paused run with other base URLs ({', '.join(sorted(stored))}). Resume it "
            f"with {call('resume', name)}, start over with {option('new_run')}, or use another "
            f"{option('project')}."
        )
