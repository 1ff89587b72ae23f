"""Runs an engine on a run, from its opening to its end.

Whatever happens, the run is left in a state from which `resume` continues. New rules are applied between two
engines, when everything is written; settings that can change at work are changed in the running one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from orbweb.app import advice, build, javascript
from orbweb.app.build import LiveSettings
from orbweb.app.callbacks import UNATTACHED, Note, Watch
from orbweb.app.clock import Clock, longest_wait, monotonic_us, steady_clock
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.identity import print_banner, request_profile
from orbweb.app.live_progress import CallerWatch, ProgressFile
from orbweb.app.request import configure
from orbweb.app.results.crawls import NOTHING_CRAWLED, exit_code
from orbweb.app.rules import apply_pending_rules, policy_of, rules_of, with_new_rules
from orbweb.app.session import Session, open_run, result
from orbweb.app.settings import (
    dispatch_settings,
    engine_settings,
    modes,
    processor_settings,
)
from orbweb.app.visits import VisitFollower
from orbweb.config import reload, schema
from orbweb.engine.backpressure import Brake
from orbweb.engine.control import Command, ControlFiles, signals
from orbweb.engine.loop import Engine
from orbweb.engine.parts import EngineEvents, EngineParts
from orbweb.engine.workers.page import ProcessorSettings
from orbweb.engine.workers.pool import Spawned
from orbweb.errors import OrbwebError, StoreError
from orbweb.events import Snapshot
from orbweb.export.live.run_outputs import RunOutputs
from orbweb.fetching.revalidation import Revalidator
from orbweb.frontier import politeness
from orbweb.frontier.dispatch import Dispatcher
from orbweb.frontier.spool.source import SpoolSource
from orbweb.frontier.spool.writer import Outbox
from orbweb.lifecycle import EndedBy, RunState
from orbweb.store import Limiter, journal, runs
from orbweb.store.bodies import BodyStore, NullBodyStore
from orbweb.store.queries import reports
from orbweb.store.queries.base_outcomes import base_outcomes
from orbweb.store.queries.reports import Report
from orbweb.store.rows import Ending
from orbweb.store.runs import RequestProfile, Run
from orbweb.urls import Target

WAIT_S = 0.2

_STOPS = {Command.STOP, Command.STOP_NOW, Command.FINISH}


def resume_run(session: Session, run: Run) -> Report:
    """Work on a run that was paused. If the rules of now leave nothing of it to do, it is completed already."""
    if run.state is RunState.PAUSED:
        return run_crawl(session, run, [])
    return {**result(session, run, 0.0), "crawl_visited": 0, "crawl_failed": 0, "crawl_pages": 0}


def run_crawl(
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
    if not session.is_trial:
        workspace.let_through(modes(session.config))
    print_banner(session.config, session.project.bases, note)
    manner = _manner(session)
    run, crawl_id = open_run(session, paused, bases, manner, recalls, due_only=due_only)
    started = time.monotonic()
    try:
        asyncio.run(_work(session, run, crawl_id, manner, spawned))
    except OrbwebError as error:
        _mark_failed(workspace, run, crawl_id, error)
        raise
    done = result(apply_pending_rules(session, run), run, time.monotonic() - started)
    for remark in _remarks(session, run, done):
        note(remark)
    return done


def _remarks(session: Session, run: Run, done: Report) -> Iterator[str]:
    """What the user should know about the end of a crawl."""
    db = session.workspace.db
    yield from reports.dead_ends(db, run.id)
    if done["needs_javascript"]["count"]:
        yield javascript.note(done["needs_javascript"], done["pages"])
    if exit_code(done) == NOTHING_CRAWLED:
        yield advice.nothing_crawled(base_outcomes(db, run.id).values())


def _manner(session: Session) -> RequestProfile:
    return request_profile(
        session.config,
        session.project.bases,
        _reading(session),
        session.resources,
        refresh=session.request.refresh,
        chooser=session.request.proxy_chooser,
    )


def _reading(session: Session) -> ProcessorSettings:
    return processor_settings(session.config, only_links=session.discovers)


def _mark_failed(workspace: OpenWorkspace, run: Run, crawl_id: int, error: OrbwebError) -> None:
    """Say in the database why the crawl ended; where even that cannot be written, the next start will."""
    try:
        runs.end_crawl(workspace.db, run.id, crawl_id, Ending(EndedBy.ERROR, str(error)), now_us())
    except StoreError as second:
        error.add_note(f"the end of the crawl could not be recorded either: {second}")


@dataclass(frozen=True, slots=True)
class _Opened:
    """What a crawl keeps open from its first engine to its last."""

    bodies: BodyStore
    limiter: Limiter
    revalidator: Revalidator
    outputs: RunOutputs
    visits: VisitFollower | None
    watches: Sequence[Watch]
    steady: Clock
    spawned: list[Spawned]


async def _work(session: Session, run: Run, crawl_id: int, manner: RequestProfile, spawned: list[Spawned]) -> None:
    workspace, config = session.workspace, session.config
    session.callbacks.attachment.opened(run)
    replays = session.replays is not None
    bodies = NullBodyStore() if replays else build.bodies(workspace, session.project, config, session.note)
    limiter = workspace.limiter()
    revalidator = build.revalidator(workspace, run, config, manner, session.replays)
    try:
        with closing(build.outputs(session, run)) as outputs:
            visits = _visit_follower(session, run)
            watches = _watches(session, crawl_id, outputs)
            opened = _Opened(bodies, limiter, revalidator, outputs, visits, watches, steady_clock(), spawned)
            while run.state is RunState.IN_PROGRESS and not await _crawl(session, run, opened):
                session, run = with_new_rules(session, run)
            if visits is not None:
                visits.hold(is_held=False)
            outputs.finish()
    finally:
        alone = workspace.idle_but_for(session.project.id)
        workspace.control(session.project.name).clear(alone=alone)
        revalidator.captures.close()
        bodies.close()
        limiter.close()


async def _crawl(session: Session, run: Run, opened: _Opened) -> bool:
    """Whether the crawl has ended; if not, it continues by other rules."""
    workspace, project, config = session.workspace, session.project, session.config
    live, attached = LiveSettings(config), session.callbacks.attachment
    backlog = build.backlog_brake(workspace, project, live)
    outbox = build.outbox(session, run, backlog) if session.discovers else None
    spool_source = build.spool_source(session, session.feeds, run, backlog) if session.feeds is not None else None
    brakes = [build.disk_brake(workspace, live), *([_producer_brake(outbox, backlog)] if outbox else [])]
    parts = _parts(session, run, opened, brakes, spool_source)
    events = EngineEvents(
        on_progress=_watched_by(opened.watches),
        note=session.note,
        on_written=_in_turn(_followers(session, run, opened, outbox)),
        on_paused=partial(_tell_hold, parts.control, opened.visits),
    )
    settings = engine_settings(
        config,
        resources=session.resources,
        by_level=parts.committer.has_scores,
        only_plan=session.plan is not None,
        is_recrawl=run.recalls is not None,
    )
    engine = Engine(settings, parts, events)
    fetcher = build.fetcher(session, opened.revalidator, engine.in_flight)
    pool = await build.pool(config, _reading(session), engine.in_flight.processed, engine.fail, opened.spawned)
    engine.in_flight.attach(fetcher, pool)

    commands: list[Command] = []

    def handle(command: Command) -> None:
        commands.append(command)
        if command is Command.RELOAD:
            _reload(session, live, engine, parts.dispatcher, opened)
        elif command is Command.REPORT:
            session.note(_status_line(session, run, engine.snapshot()))
        else:
            engine.handle(command)
        if session.relay is not None:
            session.relay(command)

    try:
        if outbox is not None:
            outbox.catch_up()
        with signals(handle, more=True):
            attached.attach(asyncio.get_running_loop(), handle)
            ending = await engine.run()
            if outbox is not None and ending is not None and ending.ended_by is not EndedBy.CANCELLED:
                await _write_rest(outbox, backlog, parts.control, session.note, lambda: _STOPS & {*commands})
    finally:
        attached.detach()
        pool.close()
        fetcher.close()
        if outbox is not None:
            outbox.close()
        if spool_source is not None:
            spool_source.close()
    if ending is None:
        return False
    if engine.finish_requested:
        finished = runs.run_of(workspace.db, project, run.number)
        if finished.state is RunState.PAUSED:
            runs.finish(workspace.db, finished, "finished by hand", now_us())
    return True


def _producer_brake(outbox: Outbox, backlog: Brake) -> Brake:
    """Holds while lines wait for room in the spool."""

    def brake() -> str | None:
        outbox.catch_up()
        return backlog()

    return brake


async def _write_rest(
    outbox: Outbox, backlog: Brake, control: ControlFiles, note: Note, is_stopped: Callable[[], object]
) -> None:
    """Everything is discovered: wait until there is room for the last lines. If it is stopped before, whoever owns
    the project next writes them."""
    if outbox.catch_up():
        return
    reason = backlog()
    note(f"everything is discovered; waiting to write the last lines: {reason}")
    control.save_hold_reason(reason)
    while not outbox.catch_up() and not is_stopped() and control.command() is None:
        await asyncio.sleep(WAIT_S)
    control.save_hold_reason(None)


def _parts(
    session: Session, run: Run, opened: _Opened, brakes: Sequence[Brake], spool_source: SpoolSource | None
) -> EngineParts:
    workspace, config = session.workspace, session.config
    store = workspace.store()
    opened_run = store.open_run(run)
    bases = opened_run.bases()
    policy = policy_of(workspace, rules_of(session), run, bases)
    defer = round(config.engine.defer_s * politeness.SECOND)
    frontier = build.frontier(opened_run, opened.steady, longest_wait(opened.limiter, defer))
    dispatcher = Dispatcher(opened.limiter, dispatch_settings(config, halved=session.is_service), monotonic_us)
    return EngineParts(
        committer=build.committer(session, opened_run, bases, policy, frontier, opened.bodies),
        frontier=frontier,
        dispatcher=dispatcher,
        robots=build.robots(store.robots(), config, dispatcher, session.note, run, bases),
        sitemaps=build.sitemaps(session),
        revalidator=opened.revalidator,
        control=workspace.control(session.project.name),
        brakes=[*brakes, session.callbacks.attachment.brake],
        spool=spool_source,
        clock=now_us,
        steady=opened.steady,
    )


def _watches(session: Session, crawl_id: int, outputs: RunOutputs) -> list[Watch]:
    """Progress goes to the files and counters of the run, to other processes, and to the caller."""
    backlog = partial(session.workspace.backlog, session.project.name) if session.is_service else None

    def count(now: Snapshot) -> None:
        outputs.watch(now, **({"backlog_bytes": backlog()} if backlog is not None else {}))

    control = session.workspace.control(session.project.name)
    public = [] if session.is_trial else [ProgressFile(control, crawl_id, clock=now_us).watch]
    return [count, *public, CallerWatch(session.callbacks.on_progress).watch]


def _watched_by(watches: Sequence[Watch]) -> Watch:
    def watch_all(now: Snapshot) -> None:
        for watch in watches:
            watch(now)

    return watch_all


def _tell_hold(control: ControlFiles, visits: VisitFollower | None, reason: str | None) -> None:
    if visits is not None:
        visits.hold(is_held=reason is not None)
    control.save_hold_reason(reason)


def _visit_follower(session: Session, run: Run) -> VisitFollower | None:
    on_visit = session.callbacks.on_visit
    return VisitFollower(session.workspace.db, run.id, on_visit) if on_visit is not None else None


def _followers(session: Session, run: Run, opened: _Opened, outbox: Outbox | None) -> list[Callable[[], object]]:
    """What is called when a unit of work is durable."""
    followers: list[Callable[[], object]] = []
    if outbox is not None:
        followers.append(outbox.catch_up)
    if opened.visits is not None:
        followers.append(opened.visits.follow)
    if session.callbacks.attachment is not UNATTACHED:
        followers.append(partial(_announce, session, run))
    return followers


def _announce(session: Session, run: Run) -> None:
    """Report how far another thread may read. During a commit the latest rows are not yet durable."""
    if not session.workspace.db.is_writing:
        session.callbacks.attachment.written(journal.latest(session.workspace.db, run.id))


def _in_turn(followers: Sequence[Callable[[], object]]) -> Callable[[], None]:
    def follow_all() -> None:
        for follow in followers:
            follow()

    return follow_all


def _reload(
    session: Session,
    live: LiveSettings,
    engine: Engine,
    dispatcher: Dispatcher,
    opened: _Opened,
) -> None:
    """Read the settings again, as at the start; apply what can be applied, and report what cannot."""
    try:
        config, _ = configure(session.project, session.request)
    except OrbwebError as error:
        session.note(f"configuration not reloaded, previous settings stay in effect: {error}")
        return
    found = reload.changes(schema.values(live.config), schema.values(config))
    live.config = config
    budget = config.limits.budget if session.feeds is None else session.config.limits.budget
    engine.adjust(workers=config.limits.workers, group_s=config.engine.group_ms / 1000, budget=budget)
    dispatcher.adjust(dispatch_settings(config, halved=session.is_service))
    opened.outputs.adjust(flush_s=config.metrics.flush_interval_sec)
    build.adjust_bodies(opened.bodies, config)
    session.note(reload.describe(found, str(session.request.config_file or "settings")))


def _status_line(session: Session, run: Run, now: Snapshot) -> str:
    """The report of SIGUSR1."""
    lines = [
        f"{session.project.name}: run {run.number}, {now.visited} visited, {now.pages} pages, {now.failed} failed,"
        f" {now.queued} queued, {now.in_flight} in flight, {now.rate:.1f}/s, {now.seconds:.0f} s",
        f"  held: {now.held_by}" if now.held else "  stopping" if now.stopping else "  at work",
    ]
    between = session.workspace.spool(session.project.name)
    if between is not None:
        mark = between["bookmark"]
        shown = f"{mark['file']} byte {mark['offset']}" if mark else "none"
        lines.append(f"  spool: {between['backlog_bytes']} bytes not scraped, bookmark {shown}")
    return "\n".join(lines)
