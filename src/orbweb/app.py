"""Composition: the only place that builds things.

`crawl`, `resume` and `recrawl` turn base URLs and settings into an engine at work on a run; for a project whose
name ends with `.discovery` that is discovery, which keeps no bodies and writes the spool. `scrape` does the same
for the lines of the spool. Always holds: the project is owned by this process while it works; whatever happens,
the run is left in a state from which `resume` goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from orbweb import __version__, brakes, content, pipeline, politeness, rejudge, reload, seeds, spool, urls, wire
from orbweb import config as configuration
from orbweb.addresses import normal, not_public
from orbweb.adoption import Bodies, Home
from orbweb.adoption import adopt as adopt_state
from orbweb.brakes import Brake
from orbweb.config import Config
from orbweb.content.tokens import tokenizer
from orbweb.control import Command, Kind, signals
from orbweb.digest import Digester, DigestSettings
from orbweb.dispatch import Dispatcher, DispatchSettings
from orbweb.engine import Engine, EngineSettings
from orbweb.errors import Busy, ConfigError, NothingToDo, OrbwebError, StoreError, UsageError
from orbweb.events import Reading, Snapshot
from orbweb.extraction import Extraction
from orbweb.failpoints import failpoint
from orbweb.feed import Feed
from orbweb.fetch import Fetcher
from orbweb.fetch.cookies import Jar
from orbweb.fetch.guard import Consent, Guard
from orbweb.fetch.http import HttpFetcher, trusted_certificates
from orbweb.fetch.identity import Identity
from orbweb.fetch.names import Names
from orbweb.fetch.proxies import Direct, Proxies, Proxy, RoundRobin
from orbweb.fetch.replay import ReplayFetcher
from orbweb.fetch.transfer import Egress, HttpSettings
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.gate import Gate, GateSettings, origin_of
from orbweb.grouping import GroupRule, ScoreRule, TypeRule, Types
from orbweb.intake import Intake, IntakeSettings
from orbweb.ledger import Ledger
from orbweb.lifecycle import EndedBy, RunState
from orbweb.model import Resources, SkipReason
from orbweb.outputs.chronicle import Chronicle, MetricsSettings
from orbweb.outputs.forms import Subject, Wanted, are_behind
from orbweb.outputs.replay import rebuild
from orbweb.policy import Policy, Rules
from orbweb.pool import Broken, Done, GrowingPool, InlinePool, Pool, ProcessPool, SplitPool
from orbweb.recall import Recall
from orbweb.rejudge import Change, Terms
from orbweb.reuse import Shelf
from orbweb.revisit import Bounds, Calendar
from orbweb.robots import Robots, product_token
from orbweb.spool import Outbox, SpoolSettings
from orbweb.statefiles import Folder
from orbweb.store import Ending, UrlRow, end, outline, reports, runs
from orbweb.store import robots as robots_memory
from orbweb.store.blobs import BodyStore, Discarded
from orbweb.store.files import FileStore
from orbweb.store.limiter import Limiter
from orbweb.store.recording import Recording
from orbweb.store.reports import Report
from orbweb.store.runs import DISCOVERY, Base, Manner, Project, Run
from orbweb.store.segments import SegmentStore
from orbweb.survey import Survey, SurveySettings
from orbweb.urls import TRACKING_PARAMS, Target, UrlRules
from orbweb.workspace import CONFIG_FILE, SEEDS_FILE, Workspace, now_us

Watch = Callable[[Snapshot], None]
Note = Callable[[str], None]
Relay = Callable[[Command], None]

SPARE_FILES = 128
MOST_PROCESSES = 4
CONNECTIONS = 8
RULES_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks a crawl to do. Settings are layered over those of the project."""

    urls: Sequence[str] = ()
    project: str | None = None
    config_file: Path | None = None
    settings: Mapping[str, Any] | None = None
    new_run: bool = False
    plan: Plan | None = None
    refresh: bool = False
    due: bool = False
    replay: bool = False
    seeds: Path | None = None
    metrics_port: int | None = None


@dataclass(slots=True)
class Plan:
    """A crawl that ends when its base URLs and sitemaps are read; the sitemaps it read, and what each lists."""

    sitemaps: list[tuple[str, int]] = field(default_factory=list)


def crawl(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Start a run, or go on with the paused one."""
    note = _discreet(note)
    request = completed(workspace, request, note)
    name = _name(workspace, request)
    pipeline.check_role(workspace, name)
    with workspace.own(name):
        known = runs.find_project(workspace.db, name)
        config, settings, secrets = _ready(known, request)
        rules = url_rules(config)
        bases = seeds.base_urls(request.urls or (known.bases if known else ()), rules)
        if not bases:
            raise UsageError(f"project {name!r} does not exist yet: give at least one URL to crawl")
        _check_bases(config, bases)
        _catch_up(workspace, known, config)
        paused = _paused_run(workspace, known, note)
        if paused is not None and config.incremental and not request.new_run:
            _same_bases(workspace, paused, bases, name)
            note(f"resuming run {paused.number} of {name}, {_queued(workspace, paused)} URLs queued")
        elif paused is not None:
            given_up = runs.finish(workspace.db, paused, "a new run was started", now_us())
            note(f"run {paused.number} of {name} is finished, {given_up} URLs given up; starting a new run")
            paused = None
        urls_given = [base.url for base in bases]
        project, paused = _take_up(workspace, name, config, settings, urls_given, paused, note)
        session = _Session(workspace, project, config, secrets, watch, note, request)
        return _go_on(session, paused) if paused is not None else _hold(session, None, bases)


def resume(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Go on with the paused run; an error if there is none."""
    note = _discreet(note)
    name = _name(workspace, request)
    known = runs.project(workspace.db, name)
    pipeline.check_role(workspace, name)
    with workspace.own(name):
        config, settings, secrets = _ready(known, request)
        _catch_up(workspace, known, config)
        _paused_run(workspace, known, note)
        latest = runs.latest_run(workspace.db, known.id)
        if latest is None:
            raise _nothing_to_resume(known, None)
        project, run = _take_up(workspace, name, config, settings, known.bases, latest, note)
        session = _Session(workspace, project, config, secrets, watch, note, request)
        return _go_on(session, run or latest)


def recrawl(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Start a run that visits what the latest one knew first, in its order; an error if that one is paused."""
    note = _discreet(note)
    name = _name(workspace, request)
    known = runs.project(workspace.db, name)
    pipeline.check_role(workspace, name)
    with workspace.own(name):
        config, settings, secrets = _ready(known, request)
        bases = seeds.base_urls(known.bases, url_rules(config))
        _check_bases(config, bases)
        _catch_up(workspace, known, config)
        paused = _paused_run(workspace, known, note)
        if paused is not None and config.incremental:
            raise UsageError(
                f"run {paused.number} of {name!r} is paused, {_queued(workspace, paused)} URLs queued. Go on with "
                f"it: `orbweb resume {name}`; or end it first: `orbweb finish {name}`."
            )
        if paused is not None:
            given_up = runs.finish(workspace.db, paused, "a recrawl was started", now_us())
            note(f"run {paused.number} of {name} is finished, {given_up} URLs left to the recrawl")
        latest = runs.run_of(workspace.db, known, None)
        project = runs.save_project(workspace.db, name, settings, [base.url for base in bases], now_us())
        session = _Session(workspace, project, config, secrets, watch, note, request)
        if request.replay:
            session = replace(session, replays=_Replays(latest, url_rules(configure(known, Request())[0])))
        return _hold(session, None, bases, latest, due_only=request.due)


def rules(workspace: Workspace, request: Request, *, note: Note) -> Report:
    """Change the rules of a project: at once, or in the crawl that is running. Without settings, show them."""
    name = _name(workspace, request)
    known = runs.project(workspace.db, name)
    if not request.settings and request.config_file is None:
        return _rules_report(workspace, known, None)
    if workspace.owner(name) is not None:
        return _tell_rules(workspace, known, request)
    with workspace.own(name):
        config, settings = configure(known, request)
        Policy(policy_rules(config), list(known.bases))
        _paused_run(workspace, known, _discreet(note))
        latest = runs.latest_run(workspace.db, known.id)
        with workspace.db.transaction():
            project = runs.write_project(workspace.db, name, settings, known.bases, now_us())
            change = _rejudge(workspace, latest, config) if latest is not None else None
        failpoint("rules_committed")
    return _rules_report(workspace, project, change)


def _tell_rules(workspace: Workspace, known: Project, request: Request) -> Report:
    """Store the rules and wait until the running crawl works by them."""
    config, settings = configure(known, request)
    Policy(policy_rules(config), list(known.bases))
    project = runs.save_project(workspace.db, known.name, settings, known.bases, now_us())
    workspace.control(known.name).write(Command.RULES)
    deadline = time.monotonic() + RULES_WAIT_S
    while workspace.owner(known.name) is not None and time.monotonic() < deadline:
        latest = runs.latest_run(workspace.db, known.id)
        if latest is not None and latest.rules == terms(config).text():
            break
        time.sleep(0.05)
    return _rules_report(workspace, project, None)


def _rules_report(workspace: Workspace, project: Project, change: Change | None) -> Report:
    config = _stored(project)
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
        "queued": _queued(workspace, latest) if latest else 0,
    }


def _policy_report(rules: Rules) -> Report:
    """The rules of the section `policy`, each as one line."""
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


def scrape(
    workspace: Workspace,
    request: Request,
    *,
    follows: Callable[[], bool] = lambda: False,
    watch: Watch,
    note: Note,
    relay: Relay | None = None,
) -> Report:
    """Visit what discovery has spooled, run after run, until there is no more and it `follows` no longer.

    What it is told by signals goes to `relay` too.
    """
    note = _discreet(note)
    name = seeds.check_project_name(pipeline.scraped_name(workspace, request.project))
    with workspace.own(name):
        report = None
        while True:
            source = pipeline.due_run(workspace, name)
            if source is not None:
                report = _scrape(
                    workspace, name, source, request, follows=follows, watch=watch, note=note, relay=relay
                )
                if report["run_state"] != RunState.COMPLETED:
                    return report
            elif not follows() or not _waited(workspace, name, follows):
                return report or _nothing_spooled(name)


def has_work(workspace: Workspace, name: str) -> bool:
    """Whether discovery has begun a run that is not scraped."""
    return pipeline.due_run(workspace, name) is not None


def _nothing_spooled(name: str) -> Report:
    raise NothingToDo(
        f"there is nothing to scrape for project {name!r}: all that was discovered is scraped. "
        f"`orbweb discover --project {name} --new-run` looks again."
    )


def _waited(workspace: Workspace, name: str, follows: Callable[[], bool]) -> bool:
    """Wait for the next run of discovery, as long as it follows; False if stopped."""
    control = workspace.control(name, Kind.SCRAPER)
    come = pipeline.wait_for(lambda: has_work(workspace, name) or not follows(), control)
    if not come:
        control.clear(alone=not any(workspace.owner(each + DISCOVERY) for each in pipeline.pipelines(workspace)))
    return come


def _scrape(
    workspace: Workspace,
    name: str,
    source: Run,
    request: Request,
    *,
    follows: Callable[[], bool],
    watch: Watch,
    note: Note,
    relay: Relay | None,
) -> Report:
    """One run, for one run of discovery. Settings of discovery hold, but for how much it may find."""
    discovery = runs.project(workspace.db, name + DISCOVERY)
    own = runs.find_project(workspace.db, name)
    taken = configuration.merge(own.settings if own else {}, _handed_on(discovery.settings))
    config, settings, secrets = _ready(replace(own or discovery, settings=taken), request)
    budget = (request.settings or {}).get("limits", {}).get("budget")
    config = config.model_copy(update={"limits": config.limits.model_copy(update={"budget": budget})})
    paused = _paused_run(workspace, own, note)
    urls_given = [base.url for base in runs.bases_of(workspace.db, source.id)]
    bases = seeds.base_urls(urls_given, url_rules(config))
    project = runs.save_project(workspace.db, name, settings, urls_given, now_us())
    if paused is not None:
        note(f"going on with run {paused.number} of {name}, {_queued(workspace, paused)} URLs queued")
    session = _Session(workspace, project, config, secrets, watch, note, request, source, follows, relay)
    return _hold(session, paused, bases)


def _handed_on(settings: Mapping[str, Any]) -> dict[str, Any]:
    limits = {
        key: value for key, value in settings.get("limits", {}).items() if key not in ("budget", "page_limit")
    }
    return {**settings, "limits": limits}


def extract(
    workspace: Workspace,
    request: Request,
    *,
    number: int | None,
    everything: bool,
    watch: Callable[[Reading], None],
    note: Note,
) -> Report:
    """Read the stored pages of a run again: those that another extractor read, or all of them."""
    known = runs.project(workspace.db, _name(workspace, request))
    if known.name.endswith(DISCOVERY):
        raise UsageError(f"project {known.name!r} keeps no bodies: there is nothing to read again")
    with workspace.own(known.name):
        config, _ = configure(known, request)
        if runs.settle_crashed(workspace.db, known.id, now_us()):
            note("the last crawl was killed; nothing it had committed is lost")
        run = runs.run_of(workspace.db, known, number)
        started = time.monotonic()
        done = asyncio.run(_extract(workspace, config, run, everything=everything, watch=watch))
        return {
            "project": known.name,
            "run": run.number,
            "extractor": content.VERSION,
            "pages": done.pages,
            "extracted": done.extracted,
            "failed": [{"url": url, "problem": problem} for url, problem in done.problems],
            "left": done.left,
            "seconds": round(time.monotonic() - started, 3),
            "workspace": str(workspace.path),
        }


async def _extract(
    workspace: Workspace, config: Config, run: Run, *, everything: bool, watch: Callable[[Reading], None]
) -> Extraction:
    with workspace.reader() as body:
        extraction = Extraction(
            workspace.db,
            run.id,
            everything=everything,
            body=body,
            alone=lambda: workspace.idle_but_for(run.project_id),
            watch=watch,
        )
        settings = replace(digest_settings(config), resources=False)
        pool = await _pool(config, settings, extraction.digested, extraction.broke)
        try:
            with signals(extraction.tell):
                await extraction.run(pool)
        finally:
            pool.close()
    return extraction


def replay(
    workspace: Workspace,
    request: Request,
    *,
    number: int | None,
    out: Path | None,
    verify: bool,
    watch: Callable[[int, int], None],
    note: Note,
) -> Report:
    """Make the files and the Markdown of a run again from what is stored; nothing is asked of a server."""
    from orbweb.export import Format

    known = runs.project(workspace.db, request.project or _only_project(workspace))
    with workspace.own(known.name):
        config, _ = configure(known, request)
        if runs.settle_crashed(workspace.db, known.id, now_us()):
            note("the last crawl was killed; nothing it had committed is lost")
        run, started = runs.run_of(workspace.db, known, number), time.monotonic()
        top = workspace.path if out is None else out
        told = subject(workspace, known, run, config)
        damaged = list(_damaged(workspace, run, watch)) if verify else []
        read = asyncio.run(_extract(workspace, config, run, everything=False, watch=lambda _now: None))
        everything = Wanted(pages=True, edges=True, metadata=True, raw=config.outputs.raw)
        files = rebuild(told, everything, top, watch)
        markdown = top / "markdown" if out is not None else top / "markdown" / told.label
        pages = workspace.export(
            known.name, Format.MARKDOWN, markdown, run.number, rules=url_rules(config), watch=watch
        )
        return {
            "project": known.name,
            "run": run.number,
            "out": str(top),
            "visits": reports.settled(workspace.db, run.id),
            "pages": pages.pages,
            "files": [asdict(file) for file in files],
            "markdown": str(markdown),
            "verified": verify,
            "damaged": damaged,
            "failed": [{"url": url, "problem": problem} for url, problem in read.problems],
            "seconds": round(time.monotonic() - started, 3),
            "workspace": str(workspace.path),
        }


def _only_project(workspace: Workspace) -> str:
    names = [project.name for project in runs.projects(workspace.db)]
    if len(names) != 1:
        raise UsageError(f"name a PROJECT: {workspace.path} has {', '.join(names) or 'none yet'}")
    return names[0]


def _damaged(workspace: Workspace, run: Run, watch: Callable[[int, int], None]) -> Iterator[Report]:
    """Every visit of the run whose stored body is not what was captured; each body is read once."""
    total, known = outline.count_bodies(workspace.db, run.id), dict[bytes, str | None]()
    with workspace.reader() as read:
        for done, body in enumerate(outline.bodies(workspace.db, run.id), 1):
            if body.sha256 not in known:
                known[body.sha256] = _problem(read, body.sha256)
            problem = known[body.sha256]
            if problem is not None:
                yield {"url": body.url, "sha256": body.sha256.hex(), "problem": problem}
            watch(done, total)


def _problem(read: Callable[[bytes], bytes], sha256: bytes) -> str | None:
    try:
        read(sha256)
    except StoreError as error:
        return str(error)
    return None


def adopt(
    workspace: Workspace,
    path: Path,
    *,
    project: str | None,
    bases: Sequence[str],
    bodies: Path | None,
    watch: Callable[[int, int], None],
) -> Report:
    """Take over the state of a crawl that is in plain files, as a new project with a paused run."""
    folder = Folder(path)
    state = folder.state()
    said = state.fields if state is not None else {}
    name = seeds.check_project_name(project or str(said.get("project") or path.resolve().name))
    given = said.get("settings")
    config, settings = configure(None, Request(settings=given if isinstance(given, dict) else {}))
    if runs.find_project(workspace.db, name) is not None:
        raise UsageError(f"project {name!r} is in {workspace.path} already. Choose another name: --project NAME")
    intake = Intake(folder, IntakeSettings(url_rules(config), _lane_of(config), tuple(bases)))
    with workspace.own(name):
        if not workspace.idle_but_for(0):
            raise Busy(f"a crawl is running in {workspace.path}: import when it has ended, or elsewhere")
        found_at = [base.url for base in intake.bases]
        resources = Resources(config.resources.mode)
        home = Home(
            name,
            json.dumps(settings, sort_keys=True),
            _manner_of(config, found_at, digest_settings(config), resources, refresh=False),
            url_rules(config),
            _new_bodies(workspace, config),
            now_us(),
        )
        found = Bodies(bodies or path / "bodies", config.fetch.max_bytes)
        taken = adopt_state(workspace.db, intake, home, found, Digester(digest_settings(config)), watch)
    run = workspace.run(name)
    return {
        "project": name,
        "run": run.number,
        "state": run.state.value,
        **asdict(taken),
        "repeated": intake.repeated,
        "workspace": str(workspace.path),
    }


def _new_bodies(workspace: Workspace, config: Config) -> Callable[[int], BodyStore]:
    """The body store of a project that is being made: a new segment is made in the same transaction."""

    def made(project_id: int) -> BodyStore:
        if config.store.layout == "files":
            return workspace.file_writer(
                project_id, compress=config.store.compress, file_mode=config.store.file_mode
            )
        return SegmentStore(
            workspace.path / "store",
            allocate=lambda: int(workspace.db.value("add_segment", project_id=project_id)),
        )

    return made


def replay_code(report: Report) -> int:
    """What the result of a replay tells a script."""
    return 3 if report["damaged"] or report["failed"] else 0


def extract_code(report: Report) -> int:
    """What the result of an extraction tells a script."""
    return 4 if report["left"] else 3 if report["failed"] else 0


def _discreet(note: Note) -> Note:
    """What is told in passing, without what looks like a secret in a URL."""
    return lambda text: note(urls.shown(text))


def completed(workspace: Workspace, request: Request, note: Note) -> Request:
    """A request with the URLs of its file of seeds. Without URLs, with what `orbweb configure` put into the
    workspace: its settings, and its seeds if the project is not known yet."""
    if request.urls and request.seeds is not None:
        raise UsageError("--seeds names a file of URLs, and there are URLs besides: use one of them")
    if request.urls:
        return request
    own = workspace.path / CONFIG_FILE
    if request.config_file is None and own.is_file():
        request = replace(request, config_file=own)
        note(f"settings of {own}")
    known = runs.find_project(workspace.db, request.project) if request.project else None
    file = request.seeds or workspace.path / SEEDS_FILE
    if request.seeds is None and (known is not None or not file.is_file()):
        return request
    given = seeds.read_seeds(file, url_rules(configure(known, request)[0]))
    note(f"{len(given)} base URLs of {file}")
    return replace(request, urls=given)


def _name(workspace: Workspace, request: Request) -> str:
    """The name given, or one made from the first URL; `-2` and so on if other base URLs have that name."""
    if request.project is not None:
        return seeds.check_project_name(request.project)
    if not request.urls:
        raise UsageError(
            "give a URL to crawl, --seeds FILE, or --project NAME for one that exists; `orbweb configure` writes "
            "a file of seeds into a workspace"
        )
    bases = seeds.base_urls(request.urls, url_rules(configure(None, request)[0]))
    stem = seeds.project_name(bases[0].key)
    wanted = tuple(base.url for base in bases)
    for name in chain([stem], (f"{stem}-{number}" for number in count(2))):
        known = runs.find_project(workspace.db, name)
        if known is None or known.bases == wanted:
            return name
    raise AssertionError("names never run out")


def configure(known: Project | None, request: Request) -> tuple[Config, dict[str, Any]]:
    """The project's settings with the file's, the environment's and the command line's on top."""
    file = configuration.read_file(request.config_file) if request.config_file else {}
    environment = configuration.read_environment(os.environ)
    flags = configuration.given(request.settings or {}, source="command line")
    settings = configuration.merge(known.settings if known else {}, file, environment, flags)
    config = _built(settings, source="settings")
    routes(config)
    return config, settings


def _built(settings: Mapping[str, Any], *, source: str) -> Config:
    """The settings on top of those of the profile they name."""
    profile = configuration.read_profile(settings.get("profile"))
    return configuration.build(configuration.merge(profile, settings), source=source)


def _ready(known: Project | None, request: Request) -> tuple[Config, dict[str, Any], _Secrets]:
    """The settings of a crawl, and what they ask of this machine: secrets, the data of a tokenizer."""
    config, settings = configure(known, request)
    _check_contact(config)
    Policy(policy_rules(config), ())
    secrets = _secrets(config, os.environ)
    tokenizer(config.content.tokens)
    return config, settings, secrets


def _paused_run(workspace: Workspace, known: Project | None, note: Note) -> Run | None:
    if known is None:
        return None
    if runs.settle_crashed(workspace.db, known.id, now_us()):
        note("the last crawl was killed; nothing it had committed is lost")
    latest = runs.latest_run(workspace.db, known.id)
    return latest if latest is not None and latest.state is RunState.PAUSED else None


def _nothing_to_resume(known: Project, latest: Run | None) -> NothingToDo:
    why = f"run {latest.number} is {latest.state.value}, nothing is queued" if latest else "it was never crawled"
    return NothingToDo(
        f"project {known.name!r} has no paused run to resume: {why}. "
        f"`orbweb crawl --project {known.name}` starts a new one, "
        f"`orbweb retry {known.name}` queues failed URLs again."
    )


def _take_up(
    workspace: Workspace,
    name: str,
    config: Config,
    settings: dict[str, Any],
    bases: Sequence[str],
    run: Run | None,
    note: Note,
) -> tuple[Project, Run | None]:
    """Save the settings of a project and judge the run that goes on by them, in one transaction."""
    change = None
    with workspace.db.transaction():
        project = runs.write_project(workspace.db, name, settings, bases, now_us())
        if run is not None:
            change = _rejudge(workspace, run, config)
            if run.state is RunState.COMPLETED and (change is None or change.state is RunState.COMPLETED):
                raise _nothing_to_resume(project, run)
    if change is not None:
        failpoint("rules_committed")
        note(str(change))
    return project, runs.run_of(workspace.db, project, run.number) if run is not None else None


def _rejudge(workspace: Workspace, run: Run, config: Config) -> Change | None:
    """Judge a run that nobody works on by these settings, inside a transaction."""
    bases = runs.bases_of(workspace.db, run.id)
    return rejudge.apply(workspace.db, run, bases, terms(config), lane_of=_lane_of(config), now=now_us())


def _catch_up(workspace: Workspace, known: Project | None, config: Config) -> None:
    """A crawl that was killed after its last commit left its files behind, and nobody goes on with its run."""
    latest = runs.latest_run(workspace.db, known.id) if known else None
    if known is None or latest is None or latest.state is not RunState.COMPLETED:
        return
    left = subject(workspace, known, latest, config)
    if are_behind(left):
        Chronicle(left, outputs_wanted(config), MetricsSettings(0.0), clock=now_us).close()


def _why_not(workspace: Workspace, known: Project) -> str:
    latest = runs.latest_run(workspace.db, known.id)
    return f"run {latest.number} is {latest.state.value}, nothing is queued" if latest else "it was never crawled"


def _queued(workspace: Workspace, run: Run) -> int:
    return int(reports.counts(workspace.db, run.id)["queued"])


def _same_bases(workspace: Workspace, run: Run, bases: Sequence[Target], name: str) -> None:
    stored = {base.url for base in runs.bases_of(workspace.db, run.id)}
    if stored != {base.url for base in bases}:
        raise UsageError(
            f"project {name!r} has a paused run with other base URLs ({', '.join(sorted(stored))}). Resume it "
            f"with `orbweb resume {name}`, start over with --new-run, or use another --project."
        )


def url_rules(config: Config) -> UrlRules:
    secret = frozenset(name.lower() for name, value in config.fetch.params.items() if value is not None)
    return UrlRules(TRACKING_PARAMS | frozenset(config.urls.drop_params), config.urls.keep_params, secret)


def _check_contact(config: Config) -> None:
    if config.policy.contact_required and not configuration.has_contact(config.user_agent):
        raise ConfigError(
            f"user_agent: {config.user_agent!r} names no contact, and policy.contact_required asks for one. Say "
            "how you can be reached, with --user-agent or in the configuration: "
            "'mybot/1.0 (+https://example.org/bot)' or 'mybot/1.0 (+mailto:me@example.org)'."
        )


def _check_bases(config: Config, bases: Sequence[Target]) -> None:
    """Patterns are RE2, and base URLs are on a host that may be asked."""
    policy = Policy(policy_rules(config), [base.key for base in bases])
    for base in bases:
        rule = policy.bars_base(base.key)
        if rule is not None and config.policy.hosts:
            raise UsageError(f"{base.url} cannot be a base URL: {rule}")


def _introduce(config: Config, bases: Sequence[str], note: Note) -> None:
    """Say who asks, and by whose rules; who cannot be reached is warned."""
    if not config.policy.contact_required and not config.policy.terms:
        if not configuration.has_contact(config.user_agent):
            note(
                f"warning: user_agent {config.user_agent!r} names no contact; add +https://... or +mailto:... so "
                "that site owners can reach you"
            )
        return
    note(f"asking as {config.user_agent}")
    for origin in dict.fromkeys(origin_of(base) for base in bases):
        note(f"robots.txt: {origin}/robots.txt, {'obeyed' if config.robots.obey else 'NOT obeyed'}")
    for link in config.policy.terms:
        note(f"terms: {link}")


def policy_rules(config: Config) -> Rules:
    policy = config.policy
    return Rules(
        strict_path=config.scope.strict_path,
        external_hops=config.scope.external_hops,
        max_depth=config.limits.max_depth,
        page_limit=config.limits.page_limit,
        sitemap_only=config.sitemap.mode == "only",
        include=config.scope.include,
        exclude=config.scope.exclude,
        obey_directives=config.robots.obey_directives,
        follow_nofollow_links=config.robots.follow_nofollow_links,
        park_traps=config.scope.park_traps,
        hosts=policy.hosts,
        deny_subdomains=policy.deny_subdomains,
        allow=policy.allow,
        deny=policy.deny,
        page_types=tuple(TypeRule(each.type, each.pattern, each.score) for each in policy.page_types),
        scores=tuple(ScoreRule(each.pattern, each.score) for each in policy.scores),
        groups=tuple(
            GroupRule(each.name, each.pattern, tuple(each.caps.items()), each.types, each.fold_case)
            for each in policy.groups
        ),
    )


def terms(config: Config) -> Terms:
    """All by which the URLs of a run are judged."""
    return Terms(policy_rules(config), config.robots.obey, _reads_sitemaps(config))


def _reads_sitemaps(config: Config) -> bool:
    return config.sitemap.mode != "off" and config.limits.max_depth != 0


def policy_of(workspace: Workspace, rules: Rules, run: Run, bases: Sequence[Base]) -> Policy:
    """The policy of a run as it stands: with what its groups have admitted."""
    policy = Policy(rules, [base.scope_key for base in bases])
    if policy.has_caps:
        policy.recount(key for _, key, *_ in workspace.db.each("admitted_urls", run_id=run.id))
    return policy


def robots_refusal(workspace: Workspace, config: Config, url: str) -> str | None:
    """The line of a remembered robots.txt that refuses the URL; None if none does or none is known."""
    file = robots_memory.load(workspace.db, origin_of(url), 0) if config.robots.obey else None
    return Robots.parse(file.body, product_token(config.user_agent)).refusal(url) if file else None


def digest_settings(config: Config, *, only_links: bool = False) -> DigestSettings:
    resources = Resources(config.resources.mode) is not Resources.OFF and not only_links
    return DigestSettings(
        url_rules(config), product_token(config.user_agent), resources, config.content.tokens, only_links
    )


def routes(config: Config) -> dict[str, tuple[str, str]]:
    """The site that each `--resolve` names, and the host and port that are asked in its stead."""
    found = {}
    for text in config.resolve:
        pin = configuration.read_pin(text)
        site = urls.target(f"http://{pin.host}:{pin.port}/")
        asked = urls.target(f"http://{pin.address}:{pin.target_port}/")
        if site is None or asked is None:
            raise UsageError(f"--resolve {text!r}: {pin.host if site is None else pin.address} is not a host")
        found[urls.site(site.url)] = (urls.split(asked.url).host, pin.target_port)
    return found


def consent(config: Config, bases: Sequence[Base]) -> Consent:
    """What the user named: the host:port of the base URLs as given, and of `--resolve`. Where a base URL redirects
    to is not what the user named."""
    named = {urls.site(url) for base in bases for url in (base.url, urls.canonicalize(base.url) or base.url)}
    return Consent(frozenset(named | set(routes(config))), config.fetch.allow_private)


def _lane_of(config: Config) -> Callable[[str], str]:
    return urls.site if config.engine.order == "relaxed" else lambda _key: ""


def _open_run(
    workspace: Workspace,
    project: Project,
    config: Config,
    paused: Run | None,
    bases: Sequence[Target],
    manner: Manner,
    recalls: Run | None,
    *,
    due_only: bool,
) -> tuple[Run, int]:
    budget, lane_of = config.limits.budget, _lane_of(config)
    if paused is not None:
        runs.set_lanes(workspace.db, paused.id, lane_of if config.engine.order == "relaxed" else None)
        return runs.continue_run(workspace.db, project, paused, budget, now_us(), manner)
    rows = [runs.initial_url(number, *base, lane_of(base.key)) for number, base in enumerate(bases)]
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
        manner,
        recalls=recalls.id if recalls else None,
        due_only=due_only,
        rules=terms(config).text(),
    )


def _recall(
    workspace: Workspace, config: Config, earlier: Run, bases: Sequence[Base], rows: Sequence[UrlRow]
) -> list[UrlRow]:
    """What the earlier run knew, judged by the scopes it had. Where one moves, the ledger judges again."""
    before = {base.url: base for base in runs.bases_of(workspace.db, earlier.id)}
    scopes = [before[base.url].scope_key if base.url in before else base.scope_key for base in bases]
    moved = {before[base.url].number: base.number for base in bases if base.url in before}
    policy = Policy(policy_rules(config), scopes)
    recall = Recall(policy, rows, moved=moved, rules=url_rules(config), lane_of=_lane_of(config))
    return recall.rows(workspace.db.each("recalled_urls", run_id=earlier.id))


def _manner(session: _Session) -> Manner:
    digesting = digest_settings(session.config, only_links=session.discovers)
    return _manner_of(
        session.config, session.project.bases, digesting, session.resources, refresh=session.request.refresh
    )


def _manner_of(
    config: Config, bases: Sequence[str], digesting: DigestSettings, resources: Resources, *, refresh: bool
) -> Manner:
    read_with = _fingerprint([__version__, content.VERSION, wire.encode_settings(digesting), resources.value])
    return Manner(asked_as(config, bases), read_with, refresh)


def asked_as(config: Config, bases: Sequence[str]) -> str | None:
    """Stands for all by which a server may answer one crawl otherwise than another. None where that is cookies or
    a secret, of which nothing is written down."""
    fetch = config.fetch
    if fetch.cookies == "keep" or configuration.has_secrets(fetch):
        return None
    headers = {name: value for name, value in fetch.headers.items() if value is not None}
    return _fingerprint(
        [
            product_token(config.user_agent),
            headers,
            sorted({origin_of(url) for url in bases}) if headers else [],
            sorted(config.resolve),
            sorted(config.proxy.urls),
            sorted(fetch.dns_servers),
        ]
    )


def _fingerprint(facts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _shelf(workspace: Workspace, run: Run, config: Config, manner: Manner, replays: _Replays | None) -> Shelf:
    """What the run may reuse. Ages are counted from the start of the run, so that one that goes on after a crash
    takes what it would have taken."""
    if replays is not None:
        return Shelf(workspace.captures(run, manner, content.VERSION, only=replays.run.id), fresh_since=0)
    age = round(config.cache.max_age_s * politeness.SECOND)
    fresh_since = run.started_at - age if age else None
    captures = workspace.captures(run, manner, content.VERSION)
    if not run.due_only:
        return Shelf(captures, fresh_since=fresh_since)
    intervals = (config.recrawl.min_interval_s, config.recrawl.max_interval_s)
    calendar = Calendar(workspace.db, run, Bounds(*(round(each * politeness.SECOND) for each in intervals)))
    return Shelf(captures, fresh_since=fresh_since, is_due=calendar.is_due)


@dataclass(frozen=True, slots=True)
class _Secrets:
    """What the environment holds for this crawl; in memory only."""

    headers: Mapping[str, str] = field(repr=False)
    params: Mapping[str, str] = field(repr=False)
    proxies: Sequence[Proxy]


def _secrets(config: Config, environ: Mapping[str, str]) -> _Secrets:
    fetch = config.fetch
    return _Secrets(
        configuration.sent_headers(fetch, environ),
        configuration.sent_params(fetch, environ),
        proxies_of(config, environ),
    )


def proxies_of(config: Config, environ: Mapping[str, str]) -> list[Proxy]:
    """The proxies of the settings; a ConfigError if one of them may not be used."""
    found = configuration.proxies(config.proxy, environ)
    return [_proxy(config, number, url) for number, url in enumerate(found, 1)]


def _proxy(config: Config, number: int, given: configuration.ProxyUrl) -> Proxy:
    """A proxy that may be used as far as its host tells; a name is judged when it is looked up."""
    host = urls.target(f"http://{given.host}:{given.port}/")
    if host is None:
        raise ConfigError(f"proxy.urls: number {number} has no host that can be asked")
    proxy = Proxy(number, given.scheme, urls.split(host.url).host, given.port, given.user, given.password)
    address = normal(proxy.host.strip("[]"))
    why = not_public(address) if address is not None and not _private_proxies(config) else None
    if why is not None:
        raise ConfigError(
            f"proxy.urls: number {number} is at {address}, which is not public ({why}); "
            "proxy.allow_private: true allows it"
        )
    return proxy


def _private_proxies(config: Config) -> bool:
    return config.proxy.allow_private or config.fetch.allow_private


@dataclass(frozen=True, slots=True)
class _Session:
    """One crawl of a run, and who is told about it."""

    workspace: Workspace
    project: Project
    config: Config
    secrets: _Secrets
    watch: Watch
    note: Note
    request: Request
    feeds: Run | None = None
    follows: Callable[[], bool] = lambda: False
    relay: Relay | None = None
    replays: _Replays | None = None

    @property
    def plan(self) -> Plan | None:
        return self.request.plan

    @property
    def discovers(self) -> bool:
        """Whether this crawl finds what another one scrapes: pages only, and nothing of them is kept."""
        return self.project.name.endswith(DISCOVERY)

    @property
    def is_trial(self) -> bool:
        """Whether nothing of this crawl is to be left."""
        return self.plan is not None or self.replays is not None

    @property
    def resources(self) -> Resources:
        return Resources.OFF if self.discovers else Resources(self.config.resources.mode)


@dataclass(frozen=True, slots=True)
class _Replays:
    """The run whose answers stand for those of servers, and the URL rules it had."""

    run: Run
    rules: UrlRules

    def key_of(self, url: str) -> str | None:
        target = urls.target(url, rules=self.rules)
        return target.key if target else None


def _go_on(session: _Session, run: Run) -> Report:
    """Work on a run that was paused. If the rules of now leave nothing of it to do, it is completed already."""
    if run.state is RunState.PAUSED:
        return _hold(session, run, [])
    return {**_result(session, run, 0.0), "crawl_visited": 0, "crawl_failed": 0, "crawl_pages": 0}


def _hold(
    session: _Session,
    paused: Run | None,
    bases: Sequence[Target],
    recalls: Run | None = None,
    *,
    due_only: bool = False,
) -> Report:
    """Work on a new run, or on the paused one, until the crawl ends; its report."""
    workspace, note = session.workspace, session.note
    control, alone = workspace.control(session.project.name), workspace.idle_but_for(session.project.id)
    for stale in control.clear(alone=alone):
        note(f"removed {stale}, left over from an earlier crawl")
    _introduce(session.config, session.project.bases, note)
    if session.discovers:
        config = session.config
        pipeline.write_owed(workspace, session.project, _spool_settings(config), _page_type(config))
    manner = _manner(session)
    run, crawl_id = _open_run(
        workspace, session.project, session.config, paused, bases, manner, recalls, due_only=due_only
    )
    started = time.monotonic()
    try:
        asyncio.run(_work(session, run, manner))
    except OrbwebError as error:
        _mark_failed(workspace, run, crawl_id, error)
        raise
    for remark in reports.dead_ends(workspace.db, run.id):
        note(remark)
    return _result(_heed_late_rules(session, run), run, time.monotonic() - started)


def _heed_late_rules(session: _Session, run: Run) -> _Session:
    """Rules that were stored when the crawl was about to end hold for its run as well."""
    workspace, session = session.workspace, _ruled_anew(session)
    with workspace.db.transaction():
        change = _rejudge(workspace, runs.run_of(workspace.db, session.project, run.number), session.config)
    if change is not None:
        session.note(str(change))
    return session


def _mark_failed(workspace: Workspace, run: Run, crawl_id: int, error: OrbwebError) -> None:
    """Say in the database why the crawl ended; where even that cannot be written, the next start will."""
    try:
        runs.end_crawl(workspace.db, run.id, crawl_id, Ending(EndedBy.ERROR, str(error)), now_us())
    except StoreError as second:
        error.add_note(f"the end of the crawl could not be recorded either: {second}")


async def _work(session: _Session, run: Run, manner: Manner) -> None:
    workspace, config = session.workspace, session.config
    _raise_file_limit(config.limits.workers)
    bodies = _bodies(workspace, session.project, config) if session.replays is None else Discarded()
    limiter = workspace.limiter()
    shelf = _shelf(workspace, run, config, manner, session.replays)
    try:
        with closing(_chronicle(session, run)) as chronicle:
            while run.state is RunState.IN_PROGRESS and not await _crawl(
                session, run, bodies, limiter, shelf, chronicle
            ):
                session, run = _with_new_rules(session, run)
            chronicle.finish()
    finally:
        alone = workspace.idle_but_for(session.project.id)
        workspace.control(session.project.name).clear(alone=alone)
        shelf.captures.close()
        bodies.close()
        limiter.close()


def _chronicle(session: _Session, run: Run) -> Chronicle:
    """The files and counters that follow the crawl. A plan leaves nothing."""
    config = session.config
    metrics = MetricsSettings(
        0.0 if session.is_trial else config.metrics.flush_interval_sec,
        "crawler" if session.feeds is None else "scraper",
        host=config.metrics.host,
        port=session.request.metrics_port,
    )
    wanted = _wanted(session)
    chronicle = Chronicle(subject(session.workspace, session.project, run, config), wanted, metrics, clock=now_us)
    if chronicle.port is not None:
        session.note(f"metrics at http://{config.metrics.host}:{chronicle.port}/metrics")
    return chronicle


def _wanted(session: _Session) -> Wanted:
    """Discovery tells of links, scraping of pages, a crawl of both; a trial of nothing."""
    wanted = outputs_wanted(session.config)
    if session.is_trial:
        return Wanted()
    if session.discovers:
        return replace(wanted, pages=False, metadata=False)
    return wanted if session.feeds is None else replace(wanted, edges=False, metadata=False)


def outputs_wanted(config: Config) -> Wanted:
    found = config.outputs
    return Wanted(found.pages, found.edges, found.metadata, found.raw)


def subject(workspace: Workspace, project: Project, run: Run, config: Config) -> Subject:
    """What files tell of."""
    return Subject(workspace.db, workspace.path, project.name, run.id, run.number, _page_type(config))


def _page_type(config: Config) -> Callable[[str], str]:
    """The type of a page by its key."""
    rules = policy_rules(config)
    return Types(rules.page_types, rules.scores).page_type


def _bodies(workspace: Workspace, project: Project, config: Config) -> BodyStore:
    if config.store.layout == "files":
        return workspace.file_writer(project.id, compress=config.store.compress, file_mode=config.store.file_mode)
    return workspace.segment_writer(project.id)


def _raise_file_limit(workers: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = workers + SPARE_FILES
    if soft < wanted and (hard == resource.RLIM_INFINITY or hard >= wanted):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _crawl(
    session: _Session, run: Run, bodies: BodyStore, limiter: Limiter, shelf: Shelf, chronicle: Chronicle
) -> bool:
    """Whether the crawl has ended; if not, it is to go on by other rules."""
    workspace, project, config = session.workspace, session.project, session.config
    bases = runs.bases_of(workspace.db, run.id)
    policy = policy_of(workspace, _rules_of(session), run, bases)
    frontier = SqliteFrontier(workspace.db, run.id, known_urls=run.next_url, clock=now_us)
    ledger = Ledger(
        workspace.db,
        run,
        runs.crawls_of(workspace.db, run.id)[-1],
        bases=bases,
        policy=policy,
        frontier=frontier,
        bodies=bodies,
        keeps_resources=session.resources is Resources.STORE,
        lane_of=_lane_of(config),
        drop_query=config.urls.keep_params == (),
        by_site=config.engine.order == "relaxed" and session.plan is None,
        url_rules=url_rules(config),
        is_fed=session.feeds is not None,
        clock=now_us,
    )
    dispatcher = Dispatcher(limiter, _dispatch_settings(config), _monotonic_us)
    control, live = workspace.control(project.name), _Live(config)
    outbox = _outbox(workspace, run, config) if session.discovers else None
    feed = _feed(session, session.feeds, run) if session.feeds is not None else None
    engine = Engine(
        _engine_settings(session, by_level=policy.has_scores),
        ledger=ledger,
        frontier=frontier,
        dispatcher=dispatcher,
        gate=_gate(workspace, config, dispatcher, session.note),
        survey=_survey(session),
        shelf=shelf,
        control=control,
        clock=now_us,
        brakes=_brakes(workspace, live, produces=session.discovers),
        on_progress=_both(session.watch, chronicle.watch),
        note=session.note,
        on_written=outbox.catch_up if outbox else _nothing,
        on_held=control.say_held,
        feed=feed,
    )
    fetcher = _fetcher(session, bases, shelf, engine)
    read_with = digest_settings(config, only_links=session.discovers)
    pool = await _pool(config, read_with, engine.digested, engine.broke)
    engine.attach(fetcher, pool)

    def tell(command: Command) -> None:
        if command is Command.RELOAD:
            _reload(session, live, engine, dispatcher, bodies)
        elif command is Command.REPORT:
            session.note(_told(session, run, engine.snapshot()))
        else:
            engine.tell(command)
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


def _with_new_rules(session: _Session, run: Run) -> tuple[_Session, Run]:
    """Judge the run of a crawl at work, which has written everything, by the rules that are stored by now.

    If nothing is left to do the crawl ends here, in the same transaction.
    """
    workspace = session.workspace
    workspace.control(session.project.name).heeded(Command.RULES)
    session = _ruled_anew(session)
    with workspace.db.transaction():
        change = _rejudge(workspace, runs.run_of(workspace.db, session.project, run.number), session.config)
        if change is not None and change.state is RunState.COMPLETED:
            crawl_id = runs.crawls_of(workspace.db, run.id)[-1].id
            end(workspace.db, run.id, crawl_id, Ending(EndedBy.EXHAUSTED), now_us())
    if change is not None:
        failpoint("rules_committed")
        session.note(str(change))
    return session, runs.run_of(workspace.db, session.project, run.number)


def _ruled_anew(session: _Session) -> _Session:
    """The session by the rules that are stored with its project now."""
    project = runs.project(session.workspace.db, session.project.name)
    return replace(session, project=project, config=_with_rules_of(session.config, _stored(project)))


def _stored(project: Project) -> Config:
    return _built(project.settings, source=f"settings of project {project.name!r}")


def _with_rules_of(config: Config, other: Config) -> Config:
    """The settings of a crawl at work with the rules of others. Its budget, and all that is no rule, stays."""
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


def _fetcher(session: _Session, bases: Sequence[Base], shelf: Shelf, engine: Engine) -> Fetcher:
    config = session.config
    if session.replays is not None:
        run_id, key_of = session.replays.run.id, session.replays.key_of
        return ReplayFetcher(Recording(session.workspace.db, run_id, shelf.captures, key_of), engine)
    clock = asyncio.get_running_loop().time
    names = Names(config.fetch.dns_servers, config.fetch.connect_timeout_s, clock=clock)
    guard = Guard(names, consent(config, bases), routes(config), clock=clock)
    return HttpFetcher(_http_settings(config), guard, _egress(session, bases, names), engine)


def _both(watch: Watch, also: Watch) -> Watch:
    def told(now: Snapshot) -> None:
        also(now)
        watch(now)

    return told


@dataclass(slots=True)
class _Live:
    """The settings as they are now: some change while a crawl is at work."""

    config: Config


def _nothing() -> None:
    """Nobody follows the run."""


def _rules_of(session: _Session) -> Rules:
    """What is fed was judged by discovery: by links that a scraper does not follow, and in families and groups it
    does not see."""
    rules = policy_rules(session.config)
    if session.feeds is None:
        return rules
    return replace(
        rules, sitemap_only=False, park_traps=False, page_limit=None, page_types=(), scores=(), groups=()
    )


def _spool_settings(config: Config) -> SpoolSettings:
    return SpoolSettings(round(config.spool.rotate_mb * spool.MEGABYTE), config.spool.rotate_s)


def _outbox(workspace: Workspace, run: Run, config: Config) -> Outbox:
    return pipeline.outbox(workspace, run.id, _spool_settings(config), _page_type(config))


def _feed(session: _Session, source: Run, run: Run) -> Feed:
    config = session.config
    return pipeline.feed(
        session.workspace,
        session.project.name,
        source,
        run,
        settings=_spool_settings(config),
        page_type=_page_type(config),
        keep=config.spool.keep,
        follows=session.follows,
        note=session.note,
    )


def _brakes(workspace: Workspace, live: _Live, *, produces: bool) -> list[Brake]:
    disk = brakes.Limit(
        workspace.free_space,
        lambda: live.config.store.reserve_mb * 1e6,
        brakes.disk_reason,
        time.monotonic,
        enough=True,
    )
    if not produces:
        return [disk]
    backlog = brakes.Limit(
        workspace.backlog, lambda: live.config.spool.max_backlog_gb * 1e9, brakes.backlog_reason, time.monotonic
    )
    return [disk, backlog]


def _reload(session: _Session, live: _Live, engine: Engine, dispatcher: Dispatcher, bodies: BodyStore) -> None:
    """Read the settings again, as at the start; put in force what can be, and say what cannot."""
    try:
        config, _ = configure(session.project, session.request)
    except OrbwebError as error:
        session.note(f"not reloaded, all stays as it was: {error}")
        return
    found = reload.changes(configuration.values(live.config), configuration.values(config))
    live.config = config
    _raise_file_limit(config.limits.workers)
    budget = config.limits.budget if session.feeds is None else session.config.limits.budget
    engine.adjust(workers=config.limits.workers, group_s=config.engine.group_ms / 1000, budget=budget)
    dispatcher.adjust(_dispatch_settings(config))
    if isinstance(bodies, FileStore):
        bodies.compress(config.store.compress)
    session.note(reload.told(found, str(session.request.config_file or "settings")))


def _told(session: _Session, run: Run, now: Snapshot) -> str:
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


def _gate(workspace: Workspace, config: Config, dispatcher: Dispatcher, note: Note) -> Gate:
    def slow_down(origin: str, delay_s: float) -> None:
        kept = min(delay_s, config.robots.max_crawl_delay_s)
        cut = f", cut to {kept:g} s (robots.max_crawl_delay_s)" if kept < delay_s else ""
        note(f"{origin} asks for a Crawl-delay of {delay_s:g} s{cut}")
        dispatcher.slow(urls.site(f"{origin}/"), round(kept * politeness.SECOND))

    settings = GateSettings(
        obey=config.robots.obey,
        agent=product_token(config.user_agent),
        retry_for_s=config.robots.retry_for_s,
        cache_s=config.robots.cache_s,
        tries=1 + config.fetch.retries,
        backoff_s=config.fetch.backoff_s,
    )
    return Gate(workspace.db, settings, clock=now_us, monotonic=time.monotonic, on_delay=slow_down)


def _survey(session: _Session) -> Survey | None:
    config = session.config
    if not _reads_sitemaps(config) or session.feeds is not None:
        return None
    settings = SurveySettings(
        max_files=config.sitemap.max_files,
        max_urls=config.sitemap.max_urls,
        tries=1 + config.fetch.retries,
        waits=config.fetch.busy_retries,
        backoff_s=config.fetch.backoff_s,
        needed=config.sitemap.mode == "only",
        url_rules=url_rules(config),
    )
    on_file = session.plan.sitemaps.append if session.plan else None
    return Survey(settings, session.note, on_file)


def _monotonic_us() -> int:
    return time.monotonic_ns() // 1000


def default_processes(cores: int) -> int:
    """One main process has little to do for itself, and cannot feed more than four workers."""
    return 0 if cores == 1 else min(max(cores - 1, 2), MOST_PROCESSES)


async def _pool(config: Config, settings: DigestSettings, digested: Done, broke: Broken) -> Pool:
    processes = config.engine.processes
    heavy = ProcessPool(settings, digested, broke)
    if processes is None and (by_cores := default_processes(os.cpu_count() or 1)):
        inline = InlinePool(settings, digested, heavy)
        return GrowingPool(inline, ProcessPool(settings, digested, broke), by_cores)
    if not processes:
        return InlinePool(settings, digested, heavy)
    return SplitPool(await ProcessPool.start(processes, settings, digested, broke), heavy)


def _http_settings(config: Config) -> HttpSettings:
    return HttpSettings(
        user_agent=config.user_agent,
        timeout_s=config.fetch.timeout_s,
        connect_timeout_s=config.fetch.connect_timeout_s,
        max_bytes=config.fetch.max_bytes,
        max_ratio=config.fetch.max_ratio,
        ca_file=trusted_certificates(),
    )


def _dispatch_settings(config: Config) -> DispatchSettings:
    interval = politeness.interval(config.limits.rate)
    return DispatchSettings(
        interval=interval,
        slowest=round(config.limits.slowest_s * politeness.SECOND),
        connections=config.limits.per_host or (CONNECTIONS if interval else None),
    )


def _egress(session: _Session, bases: Sequence[Base], names: Names) -> Egress:
    """The user's headers go to the origins of the base URLs as given, not to where these redirect."""
    config, secrets, clock = session.config, session.secrets, asyncio.get_running_loop().time
    origins = frozenset(origin_of(base.url) for base in bases)
    jar = Jar() if config.fetch.cookies == "keep" else None
    proxies: Proxies = RoundRobin(secrets.proxies, clock=clock) if secrets.proxies else Direct()
    return Egress(
        Identity(origins, secrets.headers, jar, params=secrets.params, clock=time.time),
        proxies,
        Guard(names, Consent(everything=_private_proxies(config)), {}, clock=clock),
    )


def _engine_settings(session: _Session, *, by_level: bool) -> EngineSettings:
    config = session.config
    return EngineSettings(
        workers=config.limits.workers,
        window=config.engine.window,
        window_bytes=config.engine.window_bytes,
        group_pages=min(config.engine.group_pages, config.engine.window // 2),
        group_s=config.engine.group_ms / 1000,
        budget=config.limits.budget,
        tries=1 + config.fetch.retries,
        backoff_s=config.fetch.backoff_s,
        backoff_cap_s=config.fetch.backoff_cap_s,
        waits=config.fetch.busy_retries,
        longest_wait_s=config.fetch.max_retry_after_s,
        defer_s=config.engine.defer_s,
        url_rules=url_rules(config),
        resources=session.resources,
        relaxed=config.engine.order == "relaxed",
        by_level=by_level,
        only_plan=session.plan is not None,
    )


def _result(session: _Session, run: Run, seconds: float) -> Report:
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
        "crawl": last["crawl"],
        "run_state": report["state"],
        "state": last["state"],
        "ended_by": last["ended_by"],
        "shown": last["shown"],
        "crawl_visited": last["visited"],
        "crawl_failed": last["failed"],
        "crawl_pages": last["pages"],
        "seconds": round(seconds, 3),
        "window": session.config.engine.window,
        "workspace": str(workspace.path),
    }


def exit_code(report: Report) -> int:
    """What the result of a crawl tells a script. A run that waits for its sitemaps may have nothing queued."""
    if report["queued"] or report["run_state"] == RunState.PAUSED:
        return 4
    return 3 if report["failed"] or SkipReason.ROBOTS_UNAVAILABLE in report["skipped"] else 0
