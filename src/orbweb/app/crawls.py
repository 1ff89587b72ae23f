"""The verbs that crawl: `crawl`, `resume`, `recrawl`.

For a project whose name ends with `.discovery` that is discovery, which keeps no bodies and writes the spool.
Always holds: the project is owned by this process while it works.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from orbweb.app import pipeline
from orbweb.app.build import catch_up
from orbweb.app.control import Workspace, now_us
from orbweb.app.directory import exists
from orbweb.app.judging import nothing_to_resume, take_up
from orbweb.app.request import Note, Request, Watch, completed, configure, discreet, name_of, named
from orbweb.app.run import go_on, hold
from orbweb.app.session import Ready, ReplayedRun, Session, left_in, paused_run, ready
from orbweb.app.settings import policy_rules, url_rules
from orbweb.config.schema import Config
from orbweb.errors import UsageError
from orbweb.frontier import seeds
from orbweb.policy.rules import Policy
from orbweb.store import runs
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Project, Run
from orbweb.urls import Target


def check_new(path: Path, request: Request) -> None:
    """Refuse what `crawl` would refuse, before it makes the workspace at `path`; nothing, if there is one."""
    if exists(path):
        return
    with closing(Workspace(path, blank=True)) as workspace:
        request = completed(workspace, request, lambda _text: None)
        name = name_of(workspace, request)
        pipeline.check_role(workspace, name)
        _asked(workspace, name, None, replace(request, remembers=False), lambda _text: None)


def crawl(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Start a run, or go on with the paused one."""
    note = discreet(note)
    request = completed(workspace, request, note)
    name = name_of(workspace, request)
    pipeline.check_role(workspace, name)
    with workspace.own(name):
        known = runs.find_project(workspace.db, name)
        config, settings, bases, secrets, permit = _asked(workspace, name, known, request, note)
        if known is None and request.project is None and name != (taken := seeds.project_name(bases[0].key)):
            note(f"project {taken} has other base URLs, so this one is {name}; --project gives it another name")
        catch_up(workspace, known, config)
        paused = paused_run(workspace, known, note)
        if paused is not None and config.incremental and not request.new_run:
            _same_bases(workspace, paused, bases, name)
            note(f"resuming run {paused.number} of {name}, {left_in(workspace, paused)}")
        elif paused is not None:
            given_up = runs.finish(workspace.db, paused, "a new run was started", now_us())
            note(f"run {paused.number} of {name} is finished, {given_up} URLs given up; starting a new run")
            paused = None
        urls_given = [base.url for base in bases]
        project, paused = take_up(workspace, name, config, settings, urls_given, paused, note)
        session = Session(workspace, project, config, secrets, permit, watch, note, request)
        return go_on(session, paused) if paused is not None else hold(session, None, bases)


def resume(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Go on with the paused run; an error if there is none."""
    note = discreet(note)
    name = named(workspace, request, "resume")
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
        project, run = take_up(workspace, name, config, settings, known.bases, latest, note)
        session = Session(workspace, project, config, secrets, permit, watch, note, request)
        return go_on(session, run or latest)


def recrawl(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Start a run that visits what the latest one knew first, in its order; an error if that one is paused."""
    note = discreet(note)
    name = named(workspace, request, "recrawl")
    known = runs.project(workspace.db, name)
    pipeline.check_role(workspace, name)
    with workspace.own(name):
        config, settings, bases, secrets, permit = ready(workspace, known, request, known.bases, note)
        _check_bases(config, bases)
        catch_up(workspace, known, config)
        paused = paused_run(workspace, known, note)
        if paused is not None and config.incremental:
            raise UsageError(
                f"run {paused.number} of {name!r} is paused, {left_in(workspace, paused)}. Go on with "
                f"it: `orbweb resume {name}`; or end it first: `orbweb finish {name}`."
            )
        if paused is not None:
            given_up = runs.finish(workspace.db, paused, "a recrawl was started", now_us())
            note(f"run {paused.number} of {name} is finished, {given_up} URLs left to the recrawl")
        latest = runs.run_of(workspace.db, known, None)
        project = runs.save_project(workspace.db, name, settings, [base.url for base in bases], now_us())
        session = Session(workspace, project, config, secrets, permit, watch, note, request)
        if request.replay:
            session = replace(session, replays=ReplayedRun(latest, url_rules(configure(known, Request())[0])))
        return hold(session, None, bases, latest, due_only=request.due)


def _asked(workspace: Workspace, name: str, known: Project | None, request: Request, note: Note) -> Ready:
    """What a crawl works with, and where it begins."""
    found = ready(workspace, known, request, request.urls or (known.bases if known else ()), note)
    if not found.bases:
        raise UsageError(f"project {name!r} does not exist yet: give at least one URL to crawl")
    _check_bases(found.config, found.bases)
    return found


def _check_bases(config: Config, bases: Sequence[Target]) -> None:
    """Patterns are RE2, and base URLs are on a host that may be asked."""
    policy = Policy(policy_rules(config), [base.key for base in bases])
    for base in bases:
        rule = policy.bars_base(base.key)
        if rule is not None and config.policy.hosts:
            raise UsageError(f"{base.url} cannot be a base URL: {rule}")


def _same_bases(workspace: Workspace, run: Run, bases: Sequence[Target], name: str) -> None:
    stored = {base.url for base in runs.bases_of(workspace.db, run.id)}
    if stored != {base.url for base in bases}:
        raise UsageError(
            f"project {name!r} has a paused run with other base URLs ({', '.join(sorted(stored))}). Resume it "
            f"with `orbweb resume {name}`, start over with --new-run, or use another --project."
        )
