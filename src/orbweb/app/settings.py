"""The settings of each part, derived from a Config. Pure: the same settings give the same records."""

from __future__ import annotations

from collections.abc import Callable

from orbweb import urls
from orbweb.config import notation
from orbweb.config.schema import Config
from orbweb.engine.in_flight import InFlightSettings
from orbweb.engine.leasing import LeaseSettings
from orbweb.engine.loop import EngineSettings
from orbweb.engine.robots_gate import RobotsGateSettings
from orbweb.engine.sitemaps import SitemapSettings
from orbweb.engine.workers.page import ProcessorSettings
from orbweb.errors import UsageError, option
from orbweb.export.live.catalog import OutputSettings
from orbweb.frontier import politeness
from orbweb.frontier.dispatch import DispatchSettings
from orbweb.frontier.reevaluate import JudgingTerms
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.writer import SpoolSettings
from orbweb.model import Resources
from orbweb.policy.page_types import GroupRule, ScoreRule, TypeRule, Types
from orbweb.policy.robots import product_token
from orbweb.policy.rules import Rules
from orbweb.store import workspace_paths
from orbweb.store.workspace_files import FileModes
from orbweb.urls import TRACKING_PARAMS, UrlRules

CONNECTIONS = 8
WINDOW = 1024
NEW_PROJECT_S = 3600.0
"""The oldest copy of robots.txt that the first run of a project uses."""


def path_settings(config: Config) -> dict[str, str]:
    """The paths that settings name, by key."""
    found = {
        workspace_paths.STORE: config.store.root,
        workspace_paths.SPOOL: config.spool.dir,
        workspace_paths.OUTPUTS: config.outputs.dir,
        workspace_paths.NAME: config.outputs.name,
        workspace_paths.INDEX: config.index.path,
        workspace_paths.BOOKMARK: config.bookmark.path,
    }
    return {key: text for key, text in found.items() if text is not None}


def modes(config: Config) -> FileModes:
    """The permissions of bodies, outputs and spool, and of their directories."""
    return FileModes(config.store.file_mode, config.store.dir_mode)


def url_rules(config: Config) -> UrlRules:
    secret = frozenset(name.lower() for name, value in config.fetch.params.items() if value is not None)
    return UrlRules(TRACKING_PARAMS | frozenset(config.urls.drop_params), config.urls.keep_params, secret)


def policy_rules(config: Config) -> Rules:
    policy = config.policy
    return Rules(
        strict_path=config.scope.strict_path,
        external_hops=config.scope.external_hops,
        max_depth=config.limits.max_depth,
        page_limit=config.limits.page_limit,
        sitemap_only=config.sitemap.mode == "only",
        prefers_sitemaps=config.sitemap.mode == "prefer",
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


def terms(config: Config) -> JudgingTerms:
    """Everything that decides which URLs of a run are visited."""
    return JudgingTerms(policy_rules(config), config.robots.obey, reads_sitemaps(config))


def reads_sitemaps(config: Config) -> bool:
    return config.sitemap.mode != "off" and config.limits.max_depth != 0


def processor_settings(config: Config, *, only_links: bool = False) -> ProcessorSettings:
    resources = Resources(config.resources.mode) is not Resources.OFF and not only_links
    return ProcessorSettings(
        url_rules(config), product_token(config.user_agent), resources, config.content.tokens, only_links
    )


def page_type(config: Config) -> Callable[[str], str]:
    """The type of a page by its key."""
    rules = policy_rules(config)
    return Types(rules.page_types, rules.scores).page_type


def outputs_wanted(config: Config, role: str) -> OutputSettings:
    """Discovery writes links, a scraper pages, a crawl both."""
    found = config.outputs
    return OutputSettings(
        found.pages and role != "discover",
        found.edges and role != "scrape",
        found.metadata and role == "crawl",
        found.raw,
    )


def spool_settings(config: Config) -> SpoolSettings:
    return SpoolSettings(
        round(config.spool.rotate_mb * spool_files.MEGABYTE),
        config.spool.rotate_s,
        config.engine.group_pages,
        modes(config),
    )


def lane_of(config: Config) -> Callable[[str], str]:
    return urls.site if config.engine.order == "relaxed" else lambda _key: ""


def routes(config: Config) -> dict[str, tuple[str, str]]:
    """The site that each pin names, and the host and port that are requested instead."""
    found = {}
    for text in config.resolve:
        pin = notation.read_pin(text)
        site = urls.target(f"http://{pin.host}:{pin.port}/")
        pinned = urls.target(f"http://{pin.address}:{pin.target_port}/")
        if site is None or pinned is None:
            wrong = pin.host if site is None else pin.address
            raise UsageError(f"{option('resolve')} {text!r}: {wrong} is not a host")
        found[urls.site(site.key)] = (urls.split(pinned.url).host, pin.target_port)
    return found


def dispatch_settings(config: Config, *, halved: bool) -> DispatchSettings:
    """`halved`: another service requests the same hosts, so each takes half of the connections, at least one."""
    interval = politeness.interval(config.limits.rate)
    connections = config.limits.per_host or (CONNECTIONS if interval else None)
    return DispatchSettings(
        interval=interval,
        slowest=round(config.limits.slowest_s * politeness.SECOND),
        connections=max(1, connections // 2) if connections and halved else connections,
    )


def gate_settings(config: Config, *, is_new: bool) -> RobotsGateSettings:
    """`is_new`: the project has no earlier run."""
    return RobotsGateSettings(
        obey=config.robots.obey,
        agent=product_token(config.user_agent),
        retry_for_s=config.robots.retry_for_s,
        cache_s=config.robots.cache_s,
        stored_s=min(config.robots.cache_s, NEW_PROJECT_S) if is_new else config.robots.cache_s,
        tries=1 + config.fetch.retries,
        backoff_s=config.fetch.backoff_s,
    )


def survey_settings(config: Config) -> SitemapSettings:
    return SitemapSettings(
        max_files=config.sitemap.max_files,
        max_urls=config.sitemap.max_urls,
        tries=1 + config.fetch.retries,
        waits=config.fetch.busy_retries,
        backoff_s=config.fetch.backoff_s,
        needed=config.sitemap.mode == "only",
        url_rules=url_rules(config),
    )


def window(config: Config) -> int:
    """At least twice the workers: requests in flight are in the window, and half of it is left for results."""
    return config.engine.window or max(WINDOW, 2 * config.limits.workers)


def engine_settings(
    config: Config, *, resources: Resources, by_level: bool, only_plan: bool, is_recrawl: bool
) -> EngineSettings:
    leasing = LeaseSettings(
        workers=config.limits.workers,
        window=window(config),
        window_bytes=config.engine.window_bytes,
        budget=config.limits.budget,
        relaxed=config.engine.order == "relaxed",
        by_level=by_level,
    )
    in_flight = InFlightSettings(
        window_bytes=config.engine.window_bytes,
        tries=1 + config.fetch.retries,
        backoff_s=config.fetch.backoff_s,
        backoff_cap_s=config.fetch.backoff_cap_s,
        waits=config.fetch.busy_retries,
        longest_wait_s=config.fetch.max_retry_after_s,
        url_rules=url_rules(config),
        resources=resources,
    )
    return EngineSettings(
        leasing,
        in_flight,
        group_pages=min(config.engine.group_pages, window(config) // 2),
        group_s=config.engine.group_ms / 1000,
        defer_s=config.engine.defer_s,
        only_plan=only_plan,
        is_recrawl=is_recrawl,
    )
