"""The verbs `plan` and `fetch`: what a crawl would do, and one page, without storing anything.

A plan visits the base URLs, robots.txt and sitemaps in a temporary workspace; only the rate limiter is that of the
user's workspace. `replan` recrawls a project in a copy of its database, with the responses of its latest run
instead of servers.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orbweb import urls
from orbweb.app.callbacks import UNATTACHED, Attachment, CrawlCallbacks, Note
from orbweb.app.crawl import crawl, recrawl
from orbweb.app.directory import OpenWorkspace, exists
from orbweb.app.pages import Page, page_of, with_body
from orbweb.app.request import URL_FORM, PlanRequest, Request, configure, no_project
from orbweb.app.rules import policy_of
from orbweb.app.settings import policy_rules
from orbweb.config import schema
from orbweb.config.schema import Config
from orbweb.engine.robots_gate import origin_of
from orbweb.errors import NoPage, UnknownProject, UsageError
from orbweb.frontier import politeness, seeds
from orbweb.lifecycle import ItemState
from orbweb.model import SkipReason
from orbweb.policy.robots import Robots, product_token
from orbweb.store import Queries, runs
from orbweb.store.queries import planning, reports
from orbweb.store.queries.base_outcomes import base_outcomes, problems
from orbweb.store.queries.page_stream import PageReader
from orbweb.store.rows import moment
from orbweb.store.runs import Run
from orbweb.store.workspace_files import DATABASE
from orbweb.urls import DEFAULT_RULES

Report = dict[str, Any]

NAME = "plan"
OFFLINE: Report = {
    "incremental": False,
    "limits": {"rate": "max", "budget": None},
    "fetch": {"retries": 0, "busy_retries": 0},
    "robots": {"retry_for_s": 0.0, "max_crawl_delay_s": 0.0},
    "engine": {"order": "strict"},
}
"""A plan of a project sends no requests, so it need not wait; a paused run counts as finished."""
EXAMPLES = 5


def plan(request: Request, *, beside: Path, note: Note) -> Report:
    """The plan for these URLs and settings. `beside` is the user's workspace, if it exists."""
    with _beside(beside) as workspace:
        return _plan(workspace, request, note)


@contextmanager
def _beside(path: Path) -> Iterator[OpenWorkspace]:
    """A temporary workspace with the rate limiter of the one at `path`."""
    with tempfile.TemporaryDirectory(prefix="orbweb-plan-") as directory:
        workspace = OpenWorkspace(Path(directory) / "workspace", create=True, limits_of=path)
        try:
            yield workspace
        finally:
            workspace.close()


def _plan(workspace: OpenWorkspace, request: Request, note: Note) -> Report:
    collected = PlanRequest()
    settings = {**(request.settings or {})}
    settings["limits"] = {**settings.get("limits", {}), "budget": None}
    request = replace(request, project=NAME, plan=collected, settings=settings, remembers=False)
    crawl(workspace, request, CrawlCallbacks(note=note))
    project = runs.project(workspace.db, NAME)
    config, _ = configure(project, request)
    run = runs.run_of(workspace.db, project, None)
    rules = _RobotsRules(workspace.db, config)
    found = _found(workspace.db, run, rules)
    return {
        "bases": _bases(workspace.db, run, rules, found["would_visit"], _linked(workspace, config, run)),
        **found,
        "sitemaps": [{"url": url, "urls": number} for url, number in collected.sitemaps],
    }


def names_project(beside: Path, given: Sequence[str]) -> bool:
    """Whether to plan a project of the workspace, and not URLs.

    A word without a scheme is the name of a project, never a host.
    """
    words = [word for word in given if not seeds.HAS_SCHEME.match(word.strip())]
    if not words:
        return False
    word = words[0]
    if not seeds.could_name_project(word):
        seeds.base_urls([word], DEFAULT_RULES)
        raise seeds.not_a_url(word)
    if not exists(beside):
        raise UnknownProject(f"no project {word!r}: {beside} is not an orbweb workspace; {URL_FORM}")
    with _opened(OpenWorkspace(beside)) as workspace:
        if runs.find_project(workspace.db, word) is None:
            raise no_project(workspace, word)
    if len(given) > 1:
        raise UsageError(f"{word!r} is a project: give one project, or URLs only; {URL_FORM}")
    return True


def replan(request: Request, *, of: Path, note: Note) -> Report:
    """What the next recrawl of a project of the workspace `of` would visit with these settings; sends no request.

    A URL that the latest run never requested counts as a page without links.
    """
    name = request.project or ""
    settings = schema.merge(request.settings or {}, OFFLINE)
    with _copy(of) as workspace:
        before = workspace.run(name)
        request = replace(request, settings=settings, replay=True, remembers=False)
        recrawl(workspace, request, CrawlCallbacks(note=note))
        return {"project": name, "run": before.number, **_effect(workspace.db, before, workspace.run(name))}


@contextmanager
def _copy(path: Path) -> Iterator[OpenWorkspace]:
    """A temporary workspace with a copy of the database at `path`, and its bodies."""
    with tempfile.TemporaryDirectory(prefix="orbweb-plan-") as directory:
        with _opened(OpenWorkspace(path)) as original:
            original.db.copy_to(Path(directory) / DATABASE)
        with _opened(OpenWorkspace(Path(directory), bodies_of=path)) as workspace:
            yield workspace


@contextmanager
def _opened(workspace: OpenWorkspace) -> Iterator[OpenWorkspace]:
    try:
        yield workspace
    finally:
        workspace.close()


def _effect(db: Queries, before: Run, after: Run) -> Report:
    visits: list[str] = []
    admitted: list[str] = []
    unknown: list[str] = []
    for url, state, reason in planning.planned_visits(db, before, after):
        visits.append(url)
        if state not in (ItemState.VISITED, ItemState.FAILED):
            admitted.append(url)
            if reason != SkipReason.NOINDEX:
                unknown.append(url)
    refused = [
        {"url": url, "reason": reason or "not_found", "rule": rule}
        for url, reason, rule in planning.no_longer_visited(db, before, after)
    ]
    return {
        "bases": _base_pages(db, before, after),
        "would_visit": len(visits),
        "visits": visits,
        "newly_admitted": _some(admitted),
        "newly_refused": {**_some(refused), "by_reason": dict(Counter(each["reason"] for each in refused))},
        "unknown": _some(unknown),
        "would_skip": {reason: _examples(db, after, reason, count) for reason, count in _skips(db, after).items()},
    }


def _some(found: Sequence[Any]) -> Report:
    return {"count": len(found), "examples": list(found[:EXAMPLES])}


def _base_pages(db: Queries, before: Run, after: Run) -> list[Report]:
    """Each base URL with the pages it would have, those it had, and its problem, if any."""
    gave = {base.url: base.pages for base in runs.bases_of(db, before.id)}
    wrong = problems(base_outcomes(db, after.id), found=reports.counts(db, after.id)["pages"])
    return [
        {
            "url": base.url,
            "scope": urls.scope(base.scope_key),
            "problem": wrong.get(base.number),
            "pages": base.pages,
            "pages_before": gave.get(base.url),
        }
        for base in runs.bases_of(db, after.id)
    ]


def fetch(request: Request, *, beside: Path, attachment: Attachment = UNATTACHED) -> Page:
    """One page as a crawl of it alone would capture it, with its robots.txt, guard, rate and redirects; NoPage."""
    (found,) = fetch_each(request, beside=beside, attachment=attachment)
    if isinstance(found, NoPage):
        raise found
    return found


def fetch_each(request: Request, *, beside: Path, attachment: Attachment = UNATTACHED) -> Iterator[Page | NoPage]:
    """The page of each URL, one after the other, or why there is none; an invalid URL is refused before the first
    request.

    Nothing is stored, so directives such as noindex do not apply. All share one limiter and one copy of each
    robots.txt.
    """
    seeds.base_urls(request.urls, DEFAULT_RULES)
    settings = {**(request.settings or {}), "robots": {"obey_directives": False}, "sitemap": {"mode": "off"}}
    settings["limits"] = {**settings.get("limits", {}), "budget": None, "max_depth": 0}
    settings["outputs"] = {"pages": False, "edges": False, "metadata": False}
    settings["metrics"] = {"flush_interval_sec": 0}
    with _beside(beside) as workspace:
        for number, url in enumerate(request.urls, 1):
            name = f"{NAME}-{number}"
            alone = replace(request, urls=(url,), project=name, settings=settings, remembers=False)
            crawl(workspace, alone, CrawlCallbacks(attachment=attachment))
            yield _captured(workspace, workspace.run(name), url)


def _captured(workspace: OpenWorkspace, run: Run, url: str) -> Page | NoPage:
    found = PageReader(workspace.db, run.id).after(0)
    if found is not None:
        return with_body(page_of(found, run, workspace.paths.store))
    problem = "; ".join(reports.dead_ends(workspace.db, run.id))
    return NoPage(url, problem or "no page was found")


class _RobotsRules:
    """The robots.txt of the origins, and the interval between requests to them."""

    def __init__(self, db: Queries, config: Config) -> None:
        agent = product_token(config.user_agent) if config.robots.obey else ""
        files = planning.robots_files(db) if config.robots.obey else {}
        self._robots = {origin: Robots.parse(body, agent) for origin, (body, _) in files.items()}
        self._requested = {origin: at for origin, (_, at) in files.items()}
        self._rate = config.limits.rate
        self._longest = config.robots.max_crawl_delay_s

    def refusal(self, url: str) -> str | None:
        robots = self._robots.get(origin_of(url))
        return robots.refusal(url) if robots else None

    def requested_at(self, url: str) -> int | None:
        return self._requested.get(origin_of(url))

    def pace(self, url: str) -> tuple[float, str]:
        """Seconds between two requests, and the rule that decides."""
        robots = self._robots.get(origin_of(url))
        delay = min(robots.crawl_delay or 0.0, self._longest) if robots else 0.0
        usual = politeness.interval(self._rate) / politeness.SECOND
        return (delay, "Crawl-delay of robots.txt") if delay > usual else (usual, f"limits.rate: {self._rate}")


def _linked(workspace: OpenWorkspace, config: Config, run: Run) -> set[int]:
    """The base URLs to whose pages links are followed."""
    bases = runs.bases_of(workspace.db, run.id)
    policy = policy_of(workspace, policy_rules(config), run, bases)
    return {base.number for base in bases if not policy.rules.sitemap_only and policy.follows_links(base.number)}


def _bases(db: Queries, run: Run, rules: _RobotsRules, would_visit: int, linked: set[int]) -> list[Report]:
    """Each base URL with the outcome of the last URL of its redirect chain."""
    outcomes = base_outcomes(db, run.id)
    wrong = problems(outcomes, found=would_visit)
    found = []
    for base in runs.bases_of(db, run.id):
        outcome = outcomes[base.number]
        gap, decided_by = rules.pace(base.scope_key)
        found.append(
            {
                "url": base.url,
                "state": outcome.state,
                "status": outcome.status,
                "problem": wrong.get(base.number),
                "scope": urls.scope(base.scope_key),
                "robots": rules.refusal(base.url) or "allowed",
                "robots_at": moment(rules.requested_at(base.url)),
                "seconds_apart": round(gap, 3),
                "rate_rule": decided_by,
                "follows_links": base.number in linked,
            }
        )
    return found


def _found(db: Queries, run: Run, rules: _RobotsRules) -> Report:
    """What is known so far: what would be visited, what each rule skips, and the minimum duration."""
    allowed: list[str] = []
    by_source: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    disallowed: list[Report] = []
    refused = 0
    for url, source in planning.queued_urls(db, run):
        line = rules.refusal(url)
        if line is not None:
            refused += 1
            if len(disallowed) < EXAMPLES:
                disallowed.append({"url": url, "rule": line})
            continue
        by_source[source] += 1
        spent[urls.site(url)] += round(rules.pace(url)[0] * politeness.SECOND)
        if len(allowed) < EXAMPLES:
            allowed.append(url)
    skipped = {reason: _examples(db, run, reason, count) for reason, count in _skips(db, run).items()}
    if refused:
        skipped[SkipReason.ROBOTS.value] = {"count": refused, "examples": disallowed}
    return {
        "would_visit": by_source.total(),
        "by_source": dict(by_source),
        "examples": allowed,
        "would_skip": skipped,
        "at_least_s": round(max(spent.values(), default=0) / politeness.SECOND, 1),
    }


def _skips(db: Queries, run: Run) -> dict[str, int]:
    found: dict[str, int] = reports.counts(db, run.id)["skipped"]
    return found


def _examples(db: Queries, run: Run, reason: str, count: int) -> Report:
    rows = planning.skipped_examples(db, run, reason, EXAMPLES)
    return {"count": count, "examples": [{"url": url, "rule": rule} for url, rule in rows]}
