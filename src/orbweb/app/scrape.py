"""The verb `scrape`: visits what is spooled, run after run; and `run`, which is discovery and scraper at once.

One run of a scraper belongs to one run of discovery, and uses its settings. The lines of another producer are one
run, which is reopened for more of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orbweb.app import pipeline
from orbweb.app.build import catch_up
from orbweb.app.callbacks import CrawlCallbacks, Relay
from orbweb.app.child_process import ChildProcess
from orbweb.app.directory import OpenWorkspace, exists, now_us, open_workspace
from orbweb.app.options import file_of, texts_of, words_of
from orbweb.app.request import Request, with_settings
from orbweb.app.results.crawls import (
    SEVERITY,
    CrawlResult,
    PipelineResult,
    crawl_result,
)
from orbweb.app.run import run_crawl
from orbweb.app.session import Session, left_in, paused_run, ready
from orbweb.config import schema
from orbweb.engine.control import ControlKind
from orbweb.errors import IdleScraper, NothingToDo, ScraperIdle, call
from orbweb.frontier import seeds
from orbweb.lifecycle import EndedBy, RunState
from orbweb.store import runs, spool_rows
from orbweb.store.queries.reports import Report
from orbweb.store.runs import DISCOVERY, Project


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ScrapeCallbacks(CrawlCallbacks):
    """`follows`: whether to wait for more. `relay` receives the commands that arrive as signals."""

    follows: Callable[[], bool] = _never
    relay: Relay | None = None


def scrape(workspace: OpenWorkspace, request: Request, callbacks: ScrapeCallbacks) -> Report:
    """Visit what discovery has spooled, run after run, until there is no more and it no longer follows.

    ScraperIdle if it is stopped while it follows, before there was anything to scrape.
    """
    callbacks = callbacks.redacted()
    name = seeds.check_project_name(pipeline.scraped_name(workspace, request.project, request.spool))
    pipeline.check_scraped(workspace, name, request.spool)
    with workspace.own(name):
        if (own := runs.find_project(workspace.db, name)) is not None:
            catch_up(workspace, own, schema.build(own.settings, source=f"settings of project {name!r}"))
        report = None
        while True:
            feed = pipeline.due_feed(workspace, name, request.spool)
            if feed is not None:
                report = _scrape(workspace, name, feed, request, callbacks)
                if report["run_state"] != RunState.COMPLETED:
                    return report
            elif not callbacks.follows():
                if report is None:
                    raise _nothing_spooled(workspace, name)
                return report
            elif not _waited(workspace, name, request.spool, callbacks.follows):
                if report is None:
                    raise _idle(workspace, name, request.spool)
                return report


def _has_work(workspace: OpenWorkspace, name: str, spool: Path | None = None) -> bool:
    """Whether there is something to scrape."""
    return pipeline.due_feed(workspace, name, spool) is not None


def _nothing_spooled(workspace: OpenWorkspace, name: str) -> NothingToDo:
    again = (
        f"{call('discover', project=name, new_run=True)} discovers again."
        if _is_discovered(workspace, name)
        else f"Start with {call('discover', 'URL', project=name)}."
    )
    return NothingToDo(f"there is nothing to scrape for project {name!r}: {_why_none(workspace, name)}. {again}")


def _idle(workspace: OpenWorkspace, name: str, spool: Path | None) -> ScraperIdle:
    left = _has_work(workspace, name, spool)
    why = "discovery has started a run that is not scraped" if left else _why_none(workspace, name)
    result = IdleScraper(
        project=name,
        run=None,
        run_state=RunState.PAUSED.value if left else None,
        ended_by=EndedBy.CANCELLED.value,
        why=why,
        visited=0,
        failed=0,
        queued=0,
        skipped={},
        workspace=str(workspace.path),
    )
    return ScraperIdle(f"the scraper of project {name!r} was stopped: {why}", result)


def _why_none(workspace: OpenWorkspace, name: str) -> str:
    if workspace.discovery_of(name) is None and workspace.is_scraped(name):
        return "every line of its spool is scraped"
    return "everything discovered is scraped" if _is_discovered(workspace, name) else "nothing was discovered yet"


def _is_discovered(workspace: OpenWorkspace, name: str) -> bool:
    discovery = workspace.discovery_of(name)
    return discovery is not None and runs.latest_run(workspace.db, discovery.id) is not None


def _waited(workspace: OpenWorkspace, name: str, spool: Path | None, follows: Callable[[], bool]) -> bool:
    """Wait for more to scrape, as long as it follows; False if stopped."""
    control = workspace.control(name, ControlKind.SCRAPER)
    come = pipeline.wait_for(lambda: _has_work(workspace, name, spool) or not follows(), control)
    if not come:
        others = {part for each in spool_rows.pipelines(workspace.db) for part in (each, each + DISCOVERY)} - {
            name
        }
        control.clear(alone=not any(map(workspace.owner, others)))
    return come


def _scrape(
    workspace: OpenWorkspace, name: str, feed: pipeline.Feed, request: Request, callbacks: ScrapeCallbacks
) -> Report:
    """One run, of one run of discovery or of the lines of another producer. It has the settings of discovery, but
    for its limits."""
    note = callbacks.note
    own, taken, urls_given = runs.find_project(workspace.db, name), {}, []
    if feed.discovery is not None:
        discovery = runs.project(workspace.db, name + DISCOVERY)
        taken = _handed_on(discovery.settings)
        urls_given = [base.url for base in runs.bases_of(workspace.db, feed.discovery.id)]
    else:
        request = replace(with_settings(workspace, request, note), of_others=True)
    taken = schema.merge(own.settings if own else {}, taken)
    works_as = replace(own, settings=taken) if own else Project(0, name, taken, tuple(urls_given), now_us())
    config, settings, bases, secrets, permit = ready(workspace, works_as, request, urls_given, note)
    budget = (request.settings or {}).get("limits", {}).get("budget")
    config = config.model_copy(update={"limits": config.limits.model_copy(update={"budget": budget})})
    paused = paused_run(workspace, own, note)
    kept = settings if request.save else taken
    project = runs.save_project(workspace.db, name, kept, urls_given, now_us())
    if paused is not None:
        note(f"resuming run {paused.number} of {name}, {left_in(workspace, paused)}")
    session = Session(
        workspace,
        project,
        config,
        secrets,
        permit,
        callbacks,
        request,
        feeds=feed,
        follows=callbacks.follows,
        relay=callbacks.relay,
    )
    return run_crawl(session, paused, bases)


def _handed_on(settings: Mapping[str, Any]) -> dict[str, Any]:
    limits = {
        key: value for key, value in settings.get("limits", {}).items() if key not in ("budget", "page_limit")
    }
    return {**settings, "limits": limits}


# Both at once.


def discover_and_scrape(
    path: Path,
    urls: Sequence[str],
    name: str,
    options: Mapping[str, Any],
    callbacks: ScrapeCallbacks,
    *,
    quiet: bool,
) -> PipelineResult:
    """Discover in a process beside this one, and scrape here, until both are done.

    With a metrics port, discovery has that port and the scraper the next one.
    """
    command = [sys.executable, "-m", "orbweb", "discover", *words_of(options), f"--project={name}"]
    command += [f"--workspace={path}", "--json", *["--no-progress"] * quiet, "--", *urls]
    scraped = None
    with ChildProcess(command, lambda line: callbacks.note(f"discovery: {line}")) as discovery:
        if discovery.begins(lambda: exists(path)):
            scraped = _scrape_beside(path, name, options, discovery, callbacks)
    found = crawl_result(discovery.report) if discovery.report is not None else None
    codes = [discovery.exit_code, *([scraped.exit_code] if scraped else [])]
    return PipelineResult(scraped, found, min(codes, key=SEVERITY.index))


def _scrape_beside(
    path: Path, name: str, options: Mapping[str, Any], discovery: ChildProcess, callbacks: ScrapeCallbacks
) -> CrawlResult | IdleScraper | None:
    """Scrape what the discovery finds, as long as it runs; None if it finds nothing."""
    with open_workspace(path) as workspace:
        if not discovery.begins(lambda: _has_work(workspace, name)) or not _has_work(workspace, name):
            return None
        port = options.get("metrics_port")
        request = Request(
            project=name,
            config_file=file_of(options, "config"),
            refresh=bool(options.get("refresh")),
            metrics_port=port and port + 1,
            trust=texts_of(options, "trust"),
        )
        try:
            follower = replace(callbacks, follows=discovery.is_running, relay=discovery.send)
            return crawl_result(scrape(workspace, request, follower))
        except ScraperIdle as idle:
            return idle.result
