"""Composition: the only place that builds things.

`crawl`, `resume` and `recrawl` turn base URLs and settings into an engine at work on a run. Always holds: the
project is owned by this process while it works; whatever happens, the run is left in a state from which `resume`
goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from orbweb import __version__, content, politeness, rejudge, seeds, urls, wire
from orbweb import config as configuration
from orbweb.addresses import normal, not_public
from orbweb.config import Config
from orbweb.content.tokens import tokenizer
from orbweb.control import Command, signals
from orbweb.digest import DigestSettings
from orbweb.dispatch import Dispatcher, DispatchSettings
from orbweb.engine import Engine, EngineSettings
from orbweb.errors import ConfigError, NothingToDo, OrbwebError, StoreError, UsageError
from orbweb.events import Reading, Snapshot
from orbweb.extraction import Extraction
from orbweb.failpoints import failpoint
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
from orbweb.grouping import GroupRule, ScoreRule, TypeRule
from orbweb.ledger import Ledger
from orbweb.lifecycle import EndedBy, RunState
from orbweb.model import Resources, SkipReason
from orbweb.policy import Policy, Rules
from orbweb.pool import Broken, Done, GrowingPool, InlinePool, Pool, ProcessPool, SplitPool
from orbweb.recall import Recall
from orbweb.rejudge import Change, Terms
from orbweb.reuse import Shelf
from orbweb.revisit import Bounds, Calendar
from orbweb.robots import Robots, product_token
from orbweb.store import Ending, UrlRow, end, reports, runs
from orbweb.store import robots as robots_memory
from orbweb.store.blobs import BodyStore, Discarded
from orbweb.store.limiter import Limiter
from orbweb.store.recording import Recording
from orbweb.store.reports import Report
from orbweb.store.runs import Base, Manner, Project, Run
from orbweb.survey import Survey, SurveySettings
from orbweb.urls import TRACKING_PARAMS, Target, UrlRules
from orbweb.workspace import CONFIG_FILE, SEEDS_FILE, Workspace, now_us

Watch = Callable[[Snapshot], None]
Note = Callable[[str], None]

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
    seeds: Path | None = None
    replay: bool = False


@dataclass(slots=True)
class Plan:
    """A crawl that ends when its base URLs and sitemaps are read; the sitemaps it read, and what each lists."""

    sitemaps: list[tuple[str, int]] = field(default_factory=list)


def crawl(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Start a run, or go on with the paused one."""
    note = _discreet(note)
    request = completed(workspace, request, note)
    name = _name(workspace, request)
    with workspace.own(name):
        known = runs.find_project(workspace.db, name)
        config, settings, secrets = _ready(known, request)
        rules = url_rules(config)
        bases = seeds.base_urls(request.urls or (known.bases if known else ()), rules)
        if not bases:
            raise UsageError(f"project {name!r} does not exist yet: give at least one URL to crawl")
        _check_bases(config, bases)
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
        session = _Session(workspace, project, config, secrets, watch, note, request.plan, request.refresh)
        return _go_on(session, paused) if paused is not None else _hold(session, None, bases)


def resume(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Go on with the paused run; an error if there is none."""
    note = _discreet(note)
    name = _name(workspace, request)
    known = runs.project(workspace.db, name)
    with workspace.own(name):
        config, settings, secrets = _ready(known, request)
        _paused_run(workspace, known, note)
        latest = runs.latest_run(workspace.db, known.id)
        if latest is None:
            raise _nothing_to_resume(known, None)
        project, run = _take_up(workspace, name, config, settings, known.bases, latest, note)
        session = _Session(workspace, project, config, secrets, watch, note, refresh=request.refresh)
        return _go_on(session, run or latest)


def recrawl(workspace: Workspace, request: Request, *, watch: Watch, note: Note) -> Report:
    """Start a run that visits what the latest one knew first, in its order; an error if that one is paused."""
    note = _discreet(note)
    name = _name(workspace, request)
    known = runs.project(workspace.db, name)
    with workspace.own(name):
        config, settings, secrets = _ready(known, request)
        bases = seeds.base_urls(known.bases, url_rules(config))
        _check_bases(config, bases)
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
        session = _Session(workspace, project, config, secrets, watch, note, refresh=request.refresh)
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


def policy_of(workspace: Workspace, config: Config, run: Run, bases: Sequence[Base]) -> Policy:
    """The policy of a run as it stands: with what its groups have admitted."""
    policy = Policy(policy_rules(config), [base.scope_key for base in bases])
    if policy.has_caps:
        policy.recount(key for _, key, *_ in workspace.db.each("admitted_urls", run_id=run.id))
    return policy


def terms(config: Config) -> Terms:
    """All by which the URLs of a run are judged."""
    return Terms(policy_rules(config), config.robots.obey, _reads_sitemaps(config))


def _reads_sitemaps(config: Config) -> bool:
    return config.sitemap.mode != "off" and config.limits.max_depth != 0


def robots_refusal(workspace: Workspace, config: Config, url: str) -> str | None:
    """The line of a remembered robots.txt that refuses the URL; None if none does or none is known."""
    file = robots_memory.load(workspace.db, origin_of(url), 0) if config.robots.obey else None
    return Robots.parse(file.body, product_token(config.user_agent)).refusal(url) if file else None


def digest_settings(config: Config) -> DigestSettings:
    resources = Resources(config.resources.mode) is not Resources.OFF
    return DigestSettings(url_rules(config), product_token(config.user_agent), resources, config.content.tokens)


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
    config = session.config
    settings = wire.encode_settings(digest_settings(config))
    read_with = _fingerprint([__version__, content.VERSION, settings, config.resources.mode])
    return Manner(asked_as(config, session.project.bases), read_with, session.refresh)


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
    plan: Plan | None = None
    refresh: bool = False
    replays: _Replays | None = None


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
    for stale in workspace.control(session.project.name).clear():
        note(f"removed {stale}, left over from an earlier crawl")
    _introduce(session.config, session.project.bases, note)
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
    workspace.check_space(config.store.reserve_mb)
    _raise_file_limit(config.limits.workers)
    bodies = _bodies(workspace, session.project, config) if session.replays is None else Discarded()
    limiter = workspace.limiter()
    shelf = _shelf(workspace, run, config, manner, session.replays)
    try:
        while run.state is RunState.IN_PROGRESS and not await _crawl(session, run, bodies, limiter, shelf):
            session, run = _with_new_rules(session, run)
    finally:
        workspace.control(session.project.name).clear()
        shelf.captures.close()
        bodies.close()
        limiter.close()


def _bodies(workspace: Workspace, project: Project, config: Config) -> BodyStore:
    if config.store.layout == "files":
        return workspace.file_writer(project.id, compress=config.store.compress, file_mode=config.store.file_mode)
    return workspace.segment_writer(project.id)


def _raise_file_limit(workers: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = workers + SPARE_FILES
    if soft < wanted and (hard == resource.RLIM_INFINITY or hard >= wanted):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _crawl(session: _Session, run: Run, bodies: BodyStore, limiter: Limiter, shelf: Shelf) -> bool:
    """Whether the crawl has ended; if not, it is to go on by other rules."""
    workspace, project, config = session.workspace, session.project, session.config
    bases = runs.bases_of(workspace.db, run.id)
    policy = policy_of(workspace, config, run, bases)
    frontier = SqliteFrontier(workspace.db, run.id, known_urls=run.next_url, clock=now_us)
    ledger = Ledger(
        workspace.db,
        run,
        runs.crawls_of(workspace.db, run.id)[-1],
        bases=bases,
        policy=policy,
        frontier=frontier,
        bodies=bodies,
        keeps_resources=Resources(config.resources.mode) is Resources.STORE,
        lane_of=_lane_of(config),
        drop_query=config.urls.keep_params == (),
        by_site=config.engine.order == "relaxed" and session.plan is None,
        clock=now_us,
    )
    dispatcher = Dispatcher(limiter, _dispatch_settings(config), _monotonic_us)
    engine = Engine(
        _engine_settings(config, by_level=policy.has_scores, only_plan=session.plan is not None),
        ledger=ledger,
        frontier=frontier,
        dispatcher=dispatcher,
        gate=_gate(workspace, config, dispatcher, session.note),
        survey=_survey(session),
        shelf=shelf,
        control=workspace.control(project.name),
        clock=now_us,
        check_disk=lambda: workspace.check_space(config.store.reserve_mb),
        on_progress=session.watch,
        note=session.note,
    )
    fetcher = _fetcher(session, bases, shelf, engine)
    pool = await _pool(config, digest_settings(config), engine.digested, engine.broke)
    engine.attach(fetcher, pool)
    try:
        with signals(engine.tell):
            ending = await engine.run()
    finally:
        pool.close()
        fetcher.close()
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
    if not _reads_sitemaps(config):
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


def _engine_settings(config: Config, *, by_level: bool, only_plan: bool) -> EngineSettings:
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
        resources=Resources(config.resources.mode),
        relaxed=config.engine.order == "relaxed",
        by_level=by_level,
        only_plan=only_plan,
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
