"""One crawl of a run: its settings and callbacks, how its run is opened, and its report.

A session is made by the owner of its project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from orbweb import urls
from orbweb.app import javascript
from orbweb.app.callbacks import CrawlCallbacks, Note, Relay
from orbweb.app.consent import Permit, permit
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.identity import Secrets, check_contact, secrets_of
from orbweb.app.pipeline import Feed
from orbweb.app.request import PlanRequest, Request, configure
from orbweb.app.settings import lane_of, modes, page_type, policy_rules, terms, url_rules, window
from orbweb.config.schema import Config
from orbweb.export.live.catalog import OutputSubject
from orbweb.extraction.tokens import tokenizer
from orbweb.frontier import seeds
from orbweb.frontier.recrawl import RecrawlQueue
from orbweb.lifecycle import RunState
from orbweb.model import Resources
from orbweb.policy.rules import Policy
from orbweb.store import runs
from orbweb.store.queries import reports
from orbweb.store.queries.reports import Report
from orbweb.store.rows import UrlRow
from orbweb.store.runs import DISCOVERY, Base, Project, RequestProfile, Run
from orbweb.urls import Target, UrlRules


@dataclass(frozen=True, slots=True)
class Session:
    """One crawl of a run, and its callbacks."""

    workspace: OpenWorkspace
    project: Project
    config: Config
    secrets: Secrets
    permit: Permit
    callbacks: CrawlCallbacks
    request: Request
    feeds: Feed | None = None
    follows: Callable[[], bool] = lambda: False
    relay: Relay | None = None
    replays: ReplayedRun | None = None

    @property
    def note(self) -> Note:
        return self.callbacks.note

    @property
    def plan(self) -> PlanRequest | None:
        return self.request.plan

    @property
    def discovers(self) -> bool:
        """Whether this crawl discovers pages for a scraper and stores none of them."""
        return self.project.name.endswith(DISCOVERY)

    @property
    def is_service(self) -> bool:
        """Whether this is discovery or scraper of a pipeline."""
        return self.discovers or self.feeds is not None

    @property
    def is_trial(self) -> bool:
        """Whether this crawl leaves nothing."""
        return self.plan is not None or self.replays is not None

    @property
    def resources(self) -> Resources:
        return Resources.OFF if self.discovers else Resources(self.config.resources.mode)


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """The run whose stored responses replace those of servers, and the URL rules it had."""

    run: Run
    rules: UrlRules

    def key_of(self, url: str) -> str | None:
        target = urls.target(url, rules=self.rules)
        return target.key if target else None


class Ready(NamedTuple):
    """The settings of a crawl, its base URLs, its secrets and its permissions on this machine."""

    config: Config
    settings: dict[str, Any]
    bases: list[Target]
    secrets: Secrets
    permit: Permit


def ready(
    workspace: OpenWorkspace, known: Project | None, request: Request, bases: Sequence[str], note: Note
) -> Ready:
    """Check and collect what a crawl of these base URLs needs: settings, secrets, consent, the tokenizer."""
    config, settings = configure(known, request)
    check_contact(config)
    Policy(policy_rules(config), ())
    found = seeds.base_urls(bases, url_rules(config))
    allowed = permit(workspace, request, config, [base.url for base in found], os.environ, note)
    secrets = secrets_of(config, os.environ, request.proxy_chooser)
    tokenizer(config.content.tokens)
    return Ready(config, settings, found, secrets, allowed)


def paused_run(workspace: OpenWorkspace, known: Project | None, note: Note) -> Run | None:
    if known is None:
        return None
    if runs.settle_crashed(workspace.db, known.id, now_us()):
        note("the last crawl was killed; nothing it had committed is lost")
    latest = runs.latest_run(workspace.db, known.id)
    return latest if latest is not None and latest.state is RunState.PAUSED else None


def queued(workspace: OpenWorkspace, run: Run) -> int:
    return int(reports.counts(workspace.db, run.id)["queued"])


def left_in(workspace: OpenWorkspace, run: Run) -> str:
    """How many URLs are queued in a run, for people."""
    number = queued(workspace, run)
    return "1 URL queued" if number == 1 else f"{number} URLs queued"


def subject(workspace: OpenWorkspace, project: Project, run: Run, config: Config) -> OutputSubject:
    """The run that output files describe."""
    paths = workspace.paths
    files = paths.outputs(project.name, run)
    return OutputSubject(workspace.db, run, project.name, page_type(config), files, paths.store, modes(config))


def open_run(
    session: Session,
    paused: Run | None,
    bases: Sequence[Target],
    profile: RequestProfile,
    recalls: Run | None,
    *,
    due_only: bool,
) -> tuple[Run, int]:
    """Start a run, or resume the paused one; the run, and the number of its new crawl."""
    workspace, project, config = session.workspace, session.project, session.config
    budget, lane = config.limits.budget, lane_of(config)
    if paused is not None:
        runs.set_lanes(workspace.db, paused.id, lane if config.engine.order == "relaxed" else None)
        return runs.continue_run(workspace.db, project, paused, budget, now_us(), profile)
    rows = [runs.initial_url(number, *base, lane(base.key)) for number, base in enumerate(bases)]
    started = [Base(number, base.url, base.key) for number, base in enumerate(bases)]
    if recalls is not None:
        rows += _recall(workspace, config, recalls, started, rows)
    return runs.start_run(
        workspace.db,
        project,
        started,
        rows,
        budget,
        now_us(),
        profile,
        recalls=recalls.id if recalls else None,
        due_only=due_only,
        rules=terms(config).text(),
    )


def _recall(
    workspace: OpenWorkspace, config: Config, earlier: Run, bases: Sequence[Base], rows: Sequence[UrlRow]
) -> list[UrlRow]:
    """The URLs of the earlier run, judged by the scopes it had. Where a scope moves, the commit judges again."""
    before = {base.url: base for base in runs.bases_of(workspace.db, earlier.id)}
    scopes = [before[base.url].scope_key if base.url in before else base.scope_key for base in bases]
    moved = {before[base.url].number: base.number for base in bases if base.url in before}
    policy = Policy(policy_rules(config), scopes)
    recall = RecrawlQueue(policy, rows, moved=moved, rules=url_rules(config), lane_of=lane_of(config))
    return recall.rows(runs.recalled_urls(workspace.db, earlier.id))


def result(session: Session, run: Run, seconds: float) -> Report:
    """The object that `crawl --json` prints."""
    workspace, project = session.workspace, session.project
    report = reports.run_report(workspace.db, runs.run_of(workspace.db, project, run.number), alive=False)
    last = report.pop("crawls")[-1]
    limit = session.config.limits.page_limit
    for base in report["bases"]:
        base.update(limit=limit, remaining=None if limit is None else max(0, limit - base["pages"]))
    return {
        "project": project.name,
        **report,
        "needs_javascript": javascript.shells(workspace, run.id),
        **reports.effort(workspace.db, run.id, report["skipped"]),
        "discoveries": report["pages"] + report["alternates"] if session.discovers else 0,
        "crawl": last["crawl"],
        "run_state": report["state"],
        "state": last["state"],
        "ended_by": last["ended_by"],
        "crawl_visited": last["visited"],
        "crawl_failed": last["failed"],
        "crawl_pages": last["pages"],
        "seconds": round(seconds, 3),
        "window": window(session.config),
        "workspace": str(workspace.path),
    }
