"""An engine at work on a run, from its opening to its end.

Always holds: whatever happens, the run is left in a state from which `resume` goes on; new rules are put in force
between two engines, when everything is written; settings that can change at work are changed in the one there is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from orbweb import urls
from orbweb.app import build, pipeline
from orbweb.app.build import LiveSettings
from orbweb.app.control import Workspace, now_us
from orbweb.app.identity import introduce, manner_of
from orbweb.app.judging import heed_late_rules, policy_of, rules_of, with_new_rules
from orbweb.app.request import Watch, configure
from orbweb.app.session import Session, open_run, result
from orbweb.app.settings import (
    dispatch_settings,
    engine_settings,
    page_type,
    processor_settings,
    spool_settings,
)
from orbweb.config import reload, schema
from orbweb.engine.control import Command, signals
from orbweb.engine.loop import Engine
from orbweb.engine.workers.page import ProcessorSettings
from orbweb.engine.workers.pool import Spawned
from orbweb.errors import OrbwebError, StoreError
from orbweb.events import Snapshot
from orbweb.export.live.run_outputs import RunOutputs
from orbweb.fetching.revalidation import Revalidator
from orbweb.frontier import politeness
from orbweb.frontier.dispatch import Dispatcher
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.lifecycle import EndedBy, RunState
from orbweb.model import Item
from orbweb.store import Ending, runs
from orbweb.store.bodies import BodyStore, NullBodyStore
from orbweb.store.bodies.files import FileStore
from orbweb.store.limiter import LONGEST_WAIT, Limiter
from orbweb.store.queries import reports
from orbweb.store.queries.reports import Report
from orbweb.store.runs import RequestProfile, Run
from orbweb.urls import Target

Clock = Callable[[], int]


def go_on(session: Session, run: Run) -> Report:
    """Work on a run that was paused. If the rules of now leave nothing of it to do, it is completed already."""
    if run.state is RunState.PAUSED:
        return hold(session, run, [])
    return {**result(session, run, 0.0), "crawl_visited": 0, "crawl_failed": 0, "crawl_pages": 0}


def hold(
    session: Session,
    paused: Run | None,
    bases: Sequence[Target],
    recalls: Run | None = None,
    *,
    due_only: bool = False,
) -> Report:
    """Work on a new run, or on the paused one, until the crawl ends; its report. A worker starts meanwhile, unless
    most pages may be as they were, which needs none."""
    with build.early_workers(session.config, _reading(session), count=int(recalls is None)) as spawned:
        return _hold(session, paused, bases, recalls, spawned, due_only=due_only)


def _hold(
    session: Session,
    paused: Run | None,
    bases: Sequence[Target],
    recalls: Run | None,
    spawned: list[Spawned],
    *,
    due_only: bool,
) -> Report:
    workspace, note = session.workspace, session.note
    control, alone = workspace.control(session.project.name), workspace.idle_but_for(session.project.id)
    for stale in control.clear(alone=alone):
        note(f"removed {stale}, left over from an earlier crawl")
    introduce(session.config, session.project.bases, note)
    if session.discovers:
        config = session.config
        pipeline.write_owed(workspace, session.project, spool_settings(config), page_type(config))
    manner = _manner(session)
    run, crawl_id = open_run(
        workspace, session.project, session.config, paused, bases, manner, recalls, due_only=due_only
    )
    started = time.monotonic()
    try:
        asyncio.run(_work(session, run, manner, spawned))
    except OrbwebError as error:
        _mark_failed(workspace, run, crawl_id, error)
        raise
    for remark in reports.dead_ends(workspace.db, run.id):
        note(remark)
    return result(heed_late_rules(session, run), run, time.monotonic() - started)


def _manner(session: Session) -> RequestProfile:
    return manner_of(
        session.config,
        session.project.bases,
        _reading(session),
        session.resources,
        refresh=session.request.refresh,
    )


def _reading(session: Session) -> ProcessorSettings:
    return processor_settings(session.config, only_links=session.discovers)


def _mark_failed(workspace: Workspace, run: Run, crawl_id: int, error: OrbwebError) -> None:
    """Say in the database why the crawl ended; where even that cannot be written, the next start will."""
    try:
        runs.end_crawl(workspace.db, run.id, crawl_id, Ending(EndedBy.ERROR, str(error)), now_us())
    except StoreError as second:
        error.add_note(f"the end of the crawl could not be recorded either: {second}")


async def _work(session: Session, run: Run, manner: RequestProfile, spawned: list[Spawned]) -> None:
    workspace, config = session.workspace, session.config
    bodies = build.bodies(workspace, session.project, config) if session.replays is None else NullBodyStore()
    limiter = workspace.limiter()
    shelf = build.shelf(workspace, run, config, manner, session.replays)
    steady = _steady_clock()
    try:
        with closing(build.chronicle(session, run)) as chronicle:
            while run.state is RunState.IN_PROGRESS and not await _crawl(
                session, run, bodies, limiter, shelf, chronicle, steady, spawned
            ):
                session, run = with_new_rules(session, run)
            chronicle.finish()
    finally:
        alone = workspace.idle_but_for(session.project.id)
        workspace.control(session.project.name).clear(alone=alone)
        shelf.captures.close()
        bodies.close()
        limiter.close()


async def _crawl(
    session: Session,
    run: Run,
    bodies: BodyStore,
    limiter: Limiter,
    shelf: Revalidator,
    chronicle: RunOutputs,
    steady: Clock,
    spawned: list[Spawned],
) -> bool:
    """Whether the crawl has ended; if not, it is to go on by other rules."""
    workspace, project, config = session.workspace, session.project, session.config
    bases = runs.bases_of(workspace.db, run.id)
    policy = policy_of(workspace, rules_of(session), run, bases)
    frontier = SqliteFrontier(
        workspace.db,
        run.id,
        known_urls=run.next_url,
        clock=steady,
        longest_wait=_longest_wait(limiter, round(config.engine.defer_s * politeness.SECOND)),
    )
    accounts = build.accounts(session, run, bases, policy, frontier, bodies)
    dispatcher = Dispatcher(limiter, dispatch_settings(config, halved=session.is_service), _monotonic_us)
    control, live = workspace.control(project.name), LiveSettings(config)
    outbox = build.outbox(workspace, run, config) if session.discovers else None
    feed = build.feed(session, session.feeds, run) if session.feeds is not None else None
    engine = Engine(
        engine_settings(
            config, resources=session.resources, by_level=policy.has_scores, only_plan=session.plan is not None
        ),
        books=accounts.books,
        scopes=accounts.scopes,
        ledger=accounts.ledger,
        frontier=frontier,
        dispatcher=dispatcher,
        gate=build.gate(workspace, config, dispatcher, session.note),
        survey=build.survey(session),
        shelf=shelf,
        control=control,
        clock=now_us,
        steady=steady,
        brakes=build.brakes(workspace, live, produces=session.discovers),
        on_progress=_watcher(session, chronicle),
        note=session.note,
        on_written=outbox.catch_up if outbox else _nothing,
        on_held=control.say_held,
        feed=feed,
    )
    fetcher = build.fetcher(session, shelf, engine.in_flight)
    pool = await build.pool(config, _reading(session), engine.in_flight.processed, engine.fail, spawned)
    engine.in_flight.attach(fetcher, pool)

    def tell(command: Command) -> None:
        if command is Command.RELOAD:
            _reload(session, live, engine, dispatcher, bodies, chronicle)
        elif command is Command.REPORT:
            session.note(_told(session, run, engine.snapshot()))
        else:
            engine.handle(command)
        if session.relay is not None:
            session.relay(command)

    try:
        if outbox is not None:
            outbox.catch_up()
        with signals(tell, more=True):
            ending = await engine.run()
    finally:
        pool.close()
        fetcher.close()
        if outbox is not None:
            outbox.close()
        if feed is not None:
            feed.close()
    if ending is None:
        return False
    if engine.finish_asked:
        finished = runs.run_of(workspace.db, project, run.number)
        if finished.state is RunState.PAUSED:
            runs.finish(workspace.db, finished, "finished by hand", now_us())
    return True


def _watcher(session: Session, chronicle: RunOutputs) -> Watch:
    """Who is told how the crawl goes: its files and counters, and whoever looks on."""
    backlog = session.workspace.backlog if session.is_service else None

    def told(now: Snapshot) -> None:
        chronicle.watch(now, **({"backlog_bytes": backlog()} if backlog is not None else {}))
        session.watch(now)

    return told


def _nothing() -> None:
    """Nobody follows the run."""


def _monotonic_us() -> int:
    return time.monotonic_ns() // 1000


def _steady_clock() -> Clock:
    """The wall clock as it was at the start, moved on by the monotonic one: no jump changes how long anything
    waits."""
    ahead = now_us() - _monotonic_us()
    return lambda: ahead + _monotonic_us()


def _longest_wait(limiter: Limiter, defer: int) -> Callable[[Item], int]:
    """How long a deferred place of an earlier process can have to wait: as long as the limiter, which does not use
    the wall clock, holds its host, or for one deferral. After a reboot the limiter knows nothing of it."""

    def longest(item: Item) -> int:
        due = limiter.due(urls.site(item.url))
        return max(due - _monotonic_us(), defer) if due else LONGEST_WAIT

    return longest


def _reload(
    session: Session,
    live: LiveSettings,
    engine: Engine,
    dispatcher: Dispatcher,
    bodies: BodyStore,
    chronicle: RunOutputs,
) -> None:
    """Read the settings again, as at the start; put in force what can be, and say what cannot."""
    try:
        config, _ = configure(session.project, session.request)
    except OrbwebError as error:
        session.note(f"not reloaded, all stays as it was: {error}")
        return
    found = reload.changes(schema.values(live.config), schema.values(config))
    live.config = config
    budget = config.limits.budget if session.feeds is None else session.config.limits.budget
    engine.adjust(workers=config.limits.workers, group_s=config.engine.group_ms / 1000, budget=budget)
    dispatcher.adjust(dispatch_settings(config, halved=session.is_service))
    chronicle.adjust(flush_s=config.metrics.flush_interval_sec)
    if isinstance(bodies, FileStore):
        bodies.compress(config.store.compress)
    session.note(reload.told(found, str(session.request.config_file or "settings")))


def _told(session: Session, run: Run, now: Snapshot) -> str:
    """What SIGUSR1 asks for."""
    lines = [
        f"{session.project.name}: run {run.number}, {now.visited} visited, {now.pages} pages, {now.failed} failed,"
        f" {now.queued} queued, {now.in_flight} under way, {now.rate:.1f}/s, {now.seconds:.0f} s",
        f"  held: {now.held_by}" if now.held else "  stopping" if now.stopping else "  at work",
    ]
    between = session.workspace.spool(session.project.name)
    if between is not None:
        mark = between["bookmark"]
        shown = f"{mark['file']} byte {mark['offset']}" if mark else "none"
        lines.append(f"  spool: {between['backlog_bytes']} bytes not scraped, bookmark {shown}")
    return "\n".join(lines)
