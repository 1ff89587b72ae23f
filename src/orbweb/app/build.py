"""The composition root: the only place that knows which class plays which part of an engine.

Each function builds one part from the settings. Nothing is started here.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from orbweb import extraction, urls
from orbweb.app import pipeline
from orbweb.app.callbacks import Note
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.identity import Secrets, chosen_proxy, private_proxies
from orbweb.app.session import ReplayedRun, Session, subject
from orbweb.app.settings import (
    gate_settings,
    lane_of,
    modes,
    outputs_wanted,
    page_type,
    reads_sitemaps,
    routes,
    spool_settings,
    survey_settings,
    url_rules,
)
from orbweb.config.schema import Config
from orbweb.engine.backpressure import Brake, Threshold, backlog_reason, disk_reason
from orbweb.engine.commit import Committer
from orbweb.engine.context import CommitSettings, RunContext
from orbweb.engine.robots_gate import RobotsGate, origin_of
from orbweb.engine.sitemaps import SitemapReader
from orbweb.engine.startup import BaseScope, Startup
from orbweb.engine.workers import Pool
from orbweb.engine.workers.page import ProcessorSettings
from orbweb.engine.workers.pool import Broken, Done, InlinePool, ProcessPool, Spawned
from orbweb.export.live.catalog import OutputSettings, are_behind
from orbweb.export.live.run_outputs import MetricsSettings, RunOutputs
from orbweb.fetching import Fetcher, Listener, open_files
from orbweb.fetching.cookies import CookieJar
from orbweb.fetching.dns import DnsResolver
from orbweb.fetching.guard import Guard, PrivateConsent
from orbweb.fetching.headers import NO_CACHE, Identity, standard_lines
from orbweb.fetching.http import HttpFetcher, trusted_certificates
from orbweb.fetching.proxies import ChosenProxies, Direct, Proxies, RoundRobin
from orbweb.fetching.replay import ReplayFetcher
from orbweb.fetching.revalidation import Revalidator
from orbweb.fetching.transfer import Egress, HttpSettings
from orbweb.frontier import Frontier, politeness
from orbweb.frontier.dispatch import Dispatcher
from orbweb.frontier.heaps import HeapFrontier
from orbweb.frontier.recrawl import Bounds, RecrawlSchedule
from orbweb.frontier.spool.source import SpoolSource
from orbweb.frontier.spool.writer import Outbox
from orbweb.model import Item, Resources
from orbweb.policy.rules import Policy
from orbweb.policy.traps import Traps
from orbweb.store import RobotsCache, RunStore, runs, workspace_paths
from orbweb.store.bodies import BodyStore
from orbweb.store.bodies.files import FileStore
from orbweb.store.queries.recorded import Recording
from orbweb.store.runs import Base, Project, RequestProfile, Run

MOST_PROCESSES = 4
OLD_ROBOTS_S = 60.0
"""From this age on, the age of a stored robots.txt is worth a note."""


@dataclass(slots=True)
class LiveSettings:
    """The settings as they are now: some change while a crawl is at work."""

    config: Config


def fetcher(session: Session, revalidator: Revalidator, listener: Listener) -> Fetcher:
    config = session.config
    if session.replays is not None:
        run_id, key_of = session.replays.run.id, session.replays.key_of
        return ReplayFetcher(Recording(session.workspace.db, run_id, revalidator.captures, key_of), listener)
    clock = asyncio.get_running_loop().time
    names = DnsResolver(config.fetch.dns_servers, config.fetch.connect_timeout_s, clock=clock)
    permit = session.permit
    guard = Guard(names, permit.consent(config), routes(config), clock=clock, on_private=permit.opened)
    room = _connections(config, session.note)
    return HttpFetcher(_http_settings(config, room), guard, _egress(session, names), listener, session.note)


def _connections(config: Config, note: Note) -> int:
    limit = open_files.raise_limit()
    processes = config.engine.processes
    wanted = default_processes(os.cpu_count() or 1) if processes is None else processes
    room = open_files.connections(limit, open_files.open_now(), wanted)
    if room < config.limits.workers:
        note(
            f"at most {room} connections are open at once, though there are {config.limits.workers} workers:"
            f" this process may open {limit} files (ulimit -n)"
        )
    return room


def _http_settings(config: Config, connections: int) -> HttpSettings:
    return HttpSettings(
        user_agent=config.user_agent,
        timeout_s=config.fetch.timeout_s,
        connect_timeout_s=config.fetch.connect_timeout_s,
        max_bytes=config.fetch.max_bytes,
        max_ratio=config.fetch.max_ratio,
        ca_file=trusted_certificates(),
        connections=connections,
    )


def _egress(session: Session, names: DnsResolver) -> Egress:
    """The user's headers go to the origins of the base URLs as given, not to where these redirect."""
    config, secrets, clock = session.config, session.secrets, asyncio.get_running_loop().time
    jar = CookieJar() if config.fetch.cookies == "keep" else None
    return Egress(
        Identity(
            standard_lines(config.fetch.languages, _cache_control(session)),
            session.permit.origins,
            secrets.headers,
            jar,
            params=secrets.params,
            secret=secrets.names,
            clock=time.time,
        ),
        _proxies(secrets, clock),
        Guard(names, PrivateConsent(everything=private_proxies(config)), {}, clock=clock),
    )


def _proxies(secrets: Secrets, clock: Callable[[], float]) -> Proxies:
    if secrets.chooser is not None:
        return ChosenProxies(secrets.chooser(), chosen_proxy)
    return RoundRobin(secrets.proxies, clock=clock) if secrets.proxies else Direct()


def _cache_control(session: Session) -> str | None:
    """What caches on the way are told: a scraper wants what the server has now."""
    given = session.config.fetch.cache_control
    if given == "auto":
        return NO_CACHE if session.feeds is not None else None
    return None if given == "off" else given


def frontier(
    run: RunStore, clock: Callable[[], int], longest_wait: Callable[[Item], int] | None = None
) -> Frontier:
    return HeapFrontier(run, known_urls=run.run.next_url, clock=clock, longest_wait=longest_wait)


def committer(
    session: Session, run: RunStore, bases: Sequence[Base], policy: Policy, frontier: Frontier, bodies: BodyStore
) -> Committer:
    config = session.config
    context = RunContext(
        CommitSettings(
            url_rules(config),
            drop_query=config.urls.keep_params == (),
            is_fed=session.feeds is not None,
            stores_resources=session.resources is Resources.STORE,
        ),
        run,
        frontier,
        policy,
        Traps(run.run_id, run.families(), lambda key: frontier.known(key) is not None),
        Startup(
            [BaseScope(base.number, base.scope_key) for base in bases],
            {} if run.run.scope_fixed else run.open_bases(),
            by_site=config.engine.order == "relaxed" and session.plan is None,
        ),
        lane_of(config),
    )
    return Committer(context, bases, bodies=bodies, known_bodies=session.workspace.known_bodies(), clock=now_us)


def robots(
    cache: RobotsCache, config: Config, dispatcher: Dispatcher, note: Note, run: Run, bases: Sequence[Base]
) -> RobotsGate:
    """A stored copy of robots.txt that is used for a base URL is named with its age."""
    named = {origin_of(key) for base in bases for key in (f"{base.url}/", f"{base.scope_key}/")}

    def slow_down(origin: str, delay_s: float) -> None:
        used = min(delay_s, config.robots.max_crawl_delay_s)
        cut = f", cut to {used:g} s (robots.max_crawl_delay_s)" if used < delay_s else ""
        note(f"{origin} sets a Crawl-delay of {delay_s:g} s{cut}")
        dispatcher.slow(urls.site(f"{origin}/"), round(used * politeness.SECOND))

    def tell_age(origin: str, age_s: float) -> None:
        if origin in named and age_s >= OLD_ROBOTS_S:
            age = f"{age_s / 60:.0f} min"
            note(f"{origin}/robots.txt: the stored copy is used, requested {age} ago (robots.cache_s)")

    settings = gate_settings(config, is_new=run.number == 1)
    return RobotsGate(
        cache, settings, clock=now_us, monotonic=time.monotonic, on_delay=slow_down, on_stored=tell_age
    )


def sitemaps(session: Session) -> SitemapReader | None:
    config = session.config
    if not reads_sitemaps(config) or session.feeds is not None:
        return None
    on_file = session.plan.sitemaps.append if session.plan else None
    return SitemapReader(survey_settings(config), session.note, on_file)


def default_processes(cores: int) -> int:
    """One a core: the main process has little to do while they work. It cannot feed more than four."""
    return min(cores, MOST_PROCESSES)


@contextmanager
def early_workers(config: Config, settings: ProcessorSettings, *, count: int) -> Iterator[list[Spawned]]:
    """Workers that start while the crawl is prepared, so that the first page does not wait for one. Those that no
    pool took end with the block."""
    spawned = [Spawned(settings) for _ in range(0 if config.engine.processes == 0 else count)]
    try:
        yield spawned
    finally:
        for worker in spawned:
            worker.close()


async def pool(
    config: Config,
    settings: ProcessorSettings,
    processed: Done,
    broke: Broken,
    spawned: list[Spawned] | None = None,
) -> Pool:
    """What reads pages. Those of `spawned` that it needs are taken out of it."""
    processes = config.engine.processes
    if processes == 0:
        return InlinePool(settings, processed, ProcessPool(settings, processed, broke, most=1, only_heavy=True))
    begin = processes or len(spawned or ())
    most = processes or default_processes(os.cpu_count() or 1)
    return await ProcessPool.start(begin, settings, processed, broke, most=most, spawned=spawned)


def bodies(workspace: OpenWorkspace, project: Project, config: Config, note: Note) -> BodyStore:
    if config.store.layout == "files":
        return workspace.file_writer(project.id, modes(config), compress=config.store.compress)
    return workspace.segment_writer(project.id, modes(config), note)


def adjust_bodies(bodies: BodyStore, config: Config) -> None:
    """Apply the settings that can change at work."""
    if isinstance(bodies, FileStore):
        bodies.compress(config.store.compress)


def revalidator(
    workspace: OpenWorkspace, run: Run, config: Config, manner: RequestProfile, replays: ReplayedRun | None
) -> Revalidator:
    """What the run may reuse. Ages are counted from the start of the run, so that one that goes on after a crash
    takes what it would have taken."""
    if replays is not None:
        return Revalidator(workspace.captures(run, manner, extraction.VERSION, only=replays.run.id), fresh_since=0)
    age = round(config.cache.max_age_s * politeness.SECOND)
    fresh_since = run.started_at - age if age else None
    captures = workspace.captures(run, manner, extraction.VERSION)
    if not run.due_only:
        return Revalidator(captures, fresh_since=fresh_since)
    intervals = (config.recrawl.min_interval_s, config.recrawl.max_interval_s)
    bounds = Bounds(*(round(each * politeness.SECOND) for each in intervals))
    calendar = RecrawlSchedule(workspace.store().open_run(run), run.started_at, bounds)
    return Revalidator(captures, fresh_since=fresh_since, is_due=calendar.is_due)


def outputs(session: Session, run: Run) -> RunOutputs:
    """The files and counters that follow the crawl. A plan leaves nothing."""
    config = session.config
    metrics = MetricsSettings(
        0.0 if session.is_trial else config.metrics.flush_interval_sec,
        "crawler" if session.feeds is None else "scraper",
        host=config.metrics.host,
        port=session.request.metrics_port,
    )
    role = session.workspace.role_of(session.project.name)
    wanted = OutputSettings() if session.is_trial else outputs_wanted(config, role)
    if not session.is_trial:
        _place_outputs(session, run)
    chronicle = RunOutputs(subject(session.workspace, session.project, run, config), wanted, metrics, clock=now_us)
    if chronicle.port is not None:
        session.note(f"metrics at http://{config.metrics.host}:{chronicle.port}/metrics")
    return chronicle


def _place_outputs(session: Session, run: Run) -> None:
    """Choose where the files of a new run are, and say so if another run has the name."""
    place = workspace_paths.assign_outputs(session.workspace.path, session.project.name, run).runs.get(run.id)
    if place is not None and place.twin > 1:
        label = session.workspace.paths.outputs_at(place).label
        session.note(f"another run has files of the same name (outputs.name), so those of this one have {label}")


def catch_up(workspace: OpenWorkspace, known: Project | None, config: Config) -> None:
    """A crawl that was killed left its files behind: write what they lack before the run loses visits or ends."""
    latest = runs.latest_run(workspace.db, known.id) if known else None
    if known is None or latest is None:
        return
    left = subject(workspace, known, latest, config)
    if are_behind(left):
        wanted = outputs_wanted(config, workspace.role_of(known.name))
        RunOutputs(left, wanted, MetricsSettings(0.0), clock=now_us).close()


def outbox(session: Session, run: Run, backlog: Brake) -> Outbox:
    return pipeline.outbox(session.workspace, session.project, run, _writing(session.config, backlog))


def _writing(config: Config, backlog: Brake) -> pipeline.WriteSettings:
    return pipeline.WriteSettings(spool_settings(config), page_type(config), lambda: backlog() is None)


def spool_source(session: Session, feed: pipeline.Feed, run: Run, backlog: Brake) -> SpoolSource:
    config = session.config
    settings = pipeline.FeedSettings(
        _writing(config, backlog), url_rules(config), config.spool.keep, session.follows, session.note
    )
    return pipeline.source(session.workspace, session.project.name, feed, run, settings)


def disk_brake(workspace: OpenWorkspace, live: LiveSettings) -> Brake:
    return Threshold(
        workspace.free_space,
        lambda: live.config.store.reserve_mb * 1e6,
        disk_reason,
        time.monotonic,
        minimum=True,
    )


def backlog_brake(workspace: OpenWorkspace, project: Project, live: LiveSettings) -> Brake:
    """Measured each time: lines are written only while it does not hold."""
    return Threshold(
        lambda: workspace.backlog(project.name),
        lambda: live.config.spool.max_backlog_gb * 1e9,
        backlog_reason,
        time.monotonic,
        every_s=0.0,
    )
