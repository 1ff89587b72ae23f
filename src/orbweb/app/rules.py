"""The verb `rules`: the rules of a project are shown, changed and applied to its run, also during a crawl.

A run is re-evaluated in one transaction, by the rules that are stored with its project or that were given for one
crawl of it. During a crawl new rules are stored first; the crawl applies them when everything in flight is
committed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orbweb.app.callbacks import Note, redacted_note
from orbweb.app.consent import remember
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.request import Request, configure, name_of, stored
from orbweb.app.session import Session, paused_run, queued
from orbweb.app.settings import lane_of, policy_rules, terms
from orbweb.config.schema import Config
from orbweb.engine.control import Command
from orbweb.engine.robots_gate import origin_of
from orbweb.errors import NothingToDo, call
from orbweb.failpoints import failpoint
from orbweb.frontier import reevaluate
from orbweb.frontier.reevaluate import RuleEffects
from orbweb.lifecycle import EndedBy, RunState
from orbweb.policy.robots import Robots, product_token
from orbweb.policy.rules import Policy, Rules, fed
from orbweb.store import runs
from orbweb.store.queries.reports import Report
from orbweb.store.robots_cache import RobotsFile, StoredRobots
from orbweb.store.rows import Ending
from orbweb.store.runs import Base, Project, Run, end

RULES_WAIT_S = 30.0


def rules(workspace: OpenWorkspace, request: Request, *, note: Note) -> Report:
    """Change the rules of a project: at once, or in the running crawl. Without settings, show them."""
    name = name_of(workspace, request)
    known = runs.project(workspace.db, name)
    if not request.settings and request.config_file is None:
        return _rules_report(workspace, known, None)
    if workspace.owner(name) is not None:
        return _rules_of_running_crawl(workspace, known, request, note)
    with workspace.own(name):
        config, settings = _changed(workspace, known, request, note)
        paused_run(workspace, known, redacted_note(note))
        latest = runs.latest_run(workspace.db, known.id)
        with workspace.db.transaction():
            project = runs.write_project(workspace.db, name, settings, known.bases, now_us())
            change = _reevaluate(workspace, project, latest, config) if latest is not None else None
        failpoint("rules_committed")
    return _rules_report(workspace, project, change)


def _changed(
    workspace: OpenWorkspace, known: Project, request: Request, note: Note
) -> tuple[Config, dict[str, Any]]:
    """The settings to store, checked."""
    config, settings = configure(known, request)
    Policy(policy_rules(config), list(known.bases))
    remember(workspace, request, config, known.bases, os.environ, note)
    return config, settings


def _rules_of_running_crawl(workspace: OpenWorkspace, known: Project, request: Request, note: Note) -> Report:
    """Store the rules and wait until the running crawl has applied them."""
    config, settings = _changed(workspace, known, request, note)
    project = runs.save_project(workspace.db, known.name, settings, known.bases, now_us())
    workspace.control(known.name).write(Command.RULES)
    deadline = time.monotonic() + RULES_WAIT_S
    while workspace.owner(known.name) is not None and time.monotonic() < deadline:
        latest = runs.latest_run(workspace.db, known.id)
        if latest is not None and latest.rules == terms(config).text():
            break
        time.sleep(0.05)
    return _rules_report(workspace, project, None)


def _rules_report(workspace: OpenWorkspace, project: Project, change: RuleEffects | None) -> Report:
    config = stored(project)
    latest = runs.latest_run(workspace.db, project.id)
    wanted = terms(config)
    return {
        "project": project.name,
        "running": workspace.owner(project.name) is not None,
        "run": latest.number if latest else None,
        "run_state": latest.state.value if latest else None,
        "in_force": latest is None or latest.rules == wanted.text(),
        "rules": {
            "scope.strict_path": wanted.rules.strict_path,
            "scope.external_hops": wanted.rules.external_hops,
            "scope.include": list(wanted.rules.include),
            "scope.exclude": list(wanted.rules.exclude),
            "scope.park_traps": wanted.rules.park_traps,
            **_policy_report(wanted.rules),
            "limits.max_depth": wanted.rules.max_depth,
            "limits.page_limit": wanted.rules.page_limit,
            "robots.obey": wanted.obey_robots,
            "robots.obey_directives": wanted.rules.obey_directives,
            "robots.follow_nofollow_links": wanted.rules.follow_nofollow_links,
            "sitemap.mode": config.sitemap.mode,
        },
        "came_back": change.came_back if change else {},
        "skipped": change.skipped if change else {},
        "queued": queued(workspace, latest) if latest else 0,
    }


def _policy_report(rules: Rules) -> Report:
    """The rules of the section `policy`, one line each."""
    caps = [(each, ", ".join(f"{cap} {number}" for cap, number in each.caps)) for each in rules.groups]
    return {
        "policy.hosts": list(rules.hosts),
        "policy.deny_subdomains": list(rules.deny_subdomains),
        "policy.allow": list(rules.allow),
        "policy.deny": list(rules.deny),
        "policy.page_types": [f"{each.type} (score {each.score}): {each.pattern}" for each in rules.page_types],
        "policy.scores": [f"{each.score}: {each.pattern}" for each in rules.scores],
        "policy.groups": [f"{each.name} ({text}): {each.pattern}" for each, text in caps],
    }


def save_project_and_apply_rules(
    workspace: OpenWorkspace,
    name: str,
    config: Config,
    settings: dict[str, Any],
    bases: Sequence[str],
    run: Run | None,
    note: Note,
) -> tuple[Project, Run | None]:
    """Save the settings of a project and apply its rules to the run that is resumed, in one transaction."""
    change = None
    with workspace.db.transaction():
        project = runs.write_project(workspace.db, name, settings, bases, now_us())
        if run is not None:
            change = _reevaluate(workspace, project, run, config)
            if run.state is RunState.COMPLETED and (change is None or change.state is RunState.COMPLETED):
                raise nothing_to_resume(project, run)
    if change is not None:
        failpoint("rules_committed")
        note(str(change))
    return project, runs.run_of(workspace.db, project, run.number) if run is not None else None


def nothing_to_resume(known: Project, latest: Run | None) -> NothingToDo:
    why = f"run {latest.number} is {latest.state.value}, nothing is queued" if latest else "it was never crawled"
    return NothingToDo(
        f"project {known.name!r} has no paused run to resume: {why}. "
        f"{call('crawl', project=known.name)} starts a new one, "
        f"{call('retry', known.name)} queues failed URLs again."
    )


def with_new_rules(session: Session, run: Run) -> tuple[Session, Run]:
    """Apply the stored rules to the run of a crawl that has committed everything.

    If that leaves nothing to do, the crawl ends in the same transaction.
    """
    workspace = session.workspace
    workspace.control(session.project.name).acknowledge(Command.RULES)
    session = _with_stored_rules(session)
    with workspace.db.transaction():
        current = runs.run_of(workspace.db, session.project, run.number)
        change = _reevaluate(workspace, session.project, current, session.config)
        if change is not None and change.state is RunState.COMPLETED:
            crawl_id = runs.crawls_of(workspace.db, run.id)[-1].id
            end(workspace.db, run.id, crawl_id, Ending(EndedBy.EXHAUSTED), now_us())
    if change is not None:
        failpoint("rules_committed")
        session.note(str(change))
    return session, runs.run_of(workspace.db, session.project, run.number)


def apply_pending_rules(session: Session, run: Run) -> Session:
    """Apply rules that were stored while the crawl was ending; without any, those of this crawl stay in force."""
    workspace, begun = session.workspace, terms(stored(session.project))
    renewed = _with_stored_rules(session)
    if terms(stored(renewed.project)) == begun:
        return session
    session = renewed
    with workspace.db.transaction():
        current = runs.run_of(workspace.db, session.project, run.number)
        change = _reevaluate(workspace, session.project, current, session.config)
    if change is not None:
        session.note(str(change))
    return session


def _with_stored_rules(session: Session) -> Session:
    """The session with the rules that are stored with its project now."""
    project = runs.project(session.workspace.db, session.project.name)
    return replace(session, project=project, config=_with_rules_of(session.config, stored(project)))


def _with_rules_of(config: Config, other: Config) -> Config:
    """The settings of a running crawl with the rules of `other`; everything else stays, such as its budget."""
    limits = config.limits.model_copy(
        update={"max_depth": other.limits.max_depth, "page_limit": other.limits.page_limit}
    )
    return config.model_copy(
        update={
            "limits": limits,
            "scope": other.scope,
            "policy": other.policy,
            "robots": other.robots,
            "sitemap": other.sitemap,
        }
    )


def _reevaluate(workspace: OpenWorkspace, project: Project, run: Run, config: Config) -> RuleEffects | None:
    """Re-evaluate a run by these settings, inside a transaction; no engine works on it."""
    return reevaluate.apply(
        workspace.store().open_run(run),
        run,
        runs.bases_of(workspace.db, run.id),
        terms(config),
        lane_of=lane_of(config),
        now=now_us(),
        is_fed=workspace.is_scraped(project.name),
    )


def policy_of(workspace: OpenWorkspace, rules: Rules, run: Run, bases: Sequence[Base]) -> Policy:
    """The policy of a run, with the URLs that its groups have admitted so far, and what its sitemaps list."""
    policy = Policy(rules, [base.scope_key for base in bases])
    if rules.prefers_sitemaps and run.surveyed:
        numbers = [base.number for base in bases]
        reevaluate.follow_unlisted(workspace.store().open_run(run), policy, numbers)
    if policy.has_caps:
        policy.recount(runs.admitted_keys(workspace.db, run.id))
    return policy


def rules_of(session: Session) -> Rules:
    """The rules of a crawl."""
    rules = policy_rules(session.config)
    return rules if session.feeds is None else fed(rules, has_bases=bool(session.project.bases))


def robots_refusal(workspace: OpenWorkspace, config: Config, url: str) -> str | None:
    """The line of a cached robots.txt that disallows the URL; None if there is none."""
    file = stored_robots(workspace, url) if config.robots.obey else None
    return Robots.parse(file.body, product_token(config.user_agent)).refusal(url) if file else None


def stored_robots(workspace: OpenWorkspace, url: str) -> RobotsFile | None:
    """The robots.txt for a URL as it was fetched last."""
    return StoredRobots(workspace.db).load(origin_of(url), 0)
