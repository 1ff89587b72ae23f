"""An engine built by hand from the parts that `app.build` chooses, but for its store, its limiter and its bodies.

The network is real.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from memory.bodies import MemoryBodies
from memory.captures import NoCaptures
from memory.limiter import MemoryLimiter
from memory.store import MemoryStore
from orbweb import urls
from orbweb.app import build, settings
from orbweb.app.directory import now_us
from orbweb.config.schema import Config
from orbweb.engine.commit import Committer
from orbweb.engine.context import CommitSettings, RunContext
from orbweb.engine.control import ControlFiles
from orbweb.engine.loop import Engine
from orbweb.engine.parts import EngineEvents, EngineParts
from orbweb.engine.sitemaps import SitemapReader
from orbweb.engine.startup import BaseScope, Startup
from orbweb.fetching import Fetcher, Listener
from orbweb.fetching.dns import DnsResolver
from orbweb.fetching.guard import Guard, PrivateConsent
from orbweb.fetching.headers import Identity
from orbweb.fetching.http import HttpFetcher, trusted_certificates
from orbweb.fetching.proxies import Direct
from orbweb.fetching.revalidation import Revalidator
from orbweb.fetching.transfer import Egress, HttpSettings
from orbweb.frontier import Frontier
from orbweb.frontier.dispatch import Dispatcher
from orbweb.model import Resources
from orbweb.policy.rules import Policy
from orbweb.policy.traps import Traps
from orbweb.store import RunStore
from orbweb.store.rows import Ending
from orbweb.store.runs import Run

MakeFrontier = Callable[[RunStore], Frontier]


def crawl(
    store: MemoryStore, run: Run, config: Config, make_frontier: MakeFrontier, workspace: Path
) -> Ending | None:
    """Work on a run until its crawl ends. `workspace` has the control files, and nothing else."""
    return asyncio.run(_crawl(store, run, config, make_frontier, workspace))


async def _crawl(
    store: MemoryStore, run: Run, config: Config, make_frontier: MakeFrontier, workspace: Path
) -> Ending | None:
    notes: list[str] = []
    events = EngineEvents(
        on_progress=lambda _: None, note=notes.append, on_written=lambda: None, on_paused=lambda _: None
    )
    parts = _parts(store, run, config, make_frontier, workspace, notes.append)
    by_level = parts.committer.has_scores
    limits = settings.engine_settings(
        config, resources=Resources.OFF, by_level=by_level, only_plan=False, is_recrawl=False
    )
    engine = Engine(limits, parts, events)
    sites = frozenset(urls.site(base.url) for base in store.open_run(run).bases())
    fetcher = _fetcher(config, sites, engine.in_flight, notes.append)
    reading = settings.processor_settings(config)
    pool = await build.pool(config, reading, engine.in_flight.processed, engine.fail)
    engine.in_flight.attach(fetcher, pool)
    try:
        return await engine.run()
    finally:
        pool.close()
        fetcher.close()


def _parts(
    store: MemoryStore,
    run: Run,
    config: Config,
    make_frontier: MakeFrontier,
    workspace: Path,
    note: Callable[[str], None],
) -> EngineParts:
    opened = store.open_run(run)
    frontier = make_frontier(opened)
    dispatcher = Dispatcher(MemoryLimiter(), settings.dispatch_settings(config, halved=False), _monotonic_us)
    return EngineParts(
        committer=_committer(opened, frontier, config),
        frontier=frontier,
        dispatcher=dispatcher,
        robots=build.robots(store.robots(), config, dispatcher, note, run, opened.bases()),
        sitemaps=SitemapReader(settings.survey_settings(config), note, None),
        revalidator=Revalidator(NoCaptures(), fresh_since=None),
        control=ControlFiles(workspace, "memory"),
        brakes=(),
        spool=None,
        clock=now_us,
        steady=now_us,
    )


def _committer(run: RunStore, frontier: Frontier, config: Config) -> Committer:
    bases = run.bases()
    context = RunContext(
        CommitSettings(settings.url_rules(config)),
        run,
        frontier,
        Policy(settings.policy_rules(config), [base.scope_key for base in bases]),
        Traps(run.run_id, run.families(), lambda key: frontier.known(key) is not None),
        Startup(
            [BaseScope(base.number, base.scope_key) for base in bases],
            {} if run.run.scope_fixed else run.open_bases(),
            by_site=config.engine.order == "relaxed",
        ),
        settings.lane_of(config),
    )
    bodies = MemoryBodies()
    return Committer(context, bases, bodies=bodies, known_bodies=bodies, clock=now_us)


def _fetcher(config: Config, sites: frozenset[str], listener: Listener, note: Callable[[str], None]) -> Fetcher:
    """A client that may connect to these private sites."""
    clock = asyncio.get_running_loop().time
    names = DnsResolver((), config.fetch.connect_timeout_s, clock=clock)
    http = HttpSettings(
        user_agent=config.user_agent,
        timeout_s=config.fetch.timeout_s,
        connect_timeout_s=config.fetch.connect_timeout_s,
        max_bytes=config.fetch.max_bytes,
        max_ratio=config.fetch.max_ratio,
        ca_file=trusted_certificates(),
        connections=config.limits.workers,
    )
    egress = Egress(Identity(clock=time.time), Direct(), Guard(names, PrivateConsent(), {}, clock=clock))
    return HttpFetcher(http, Guard(names, PrivateConsent(sites), {}, clock=clock), egress, listener, note)


def _monotonic_us() -> int:
    return time.monotonic_ns() // 1000
