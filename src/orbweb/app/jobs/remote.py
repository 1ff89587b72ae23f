"""What a client of the server may ask for. A client names no file, proxy, pin, program or consent, and reaches a
private address only where the operator of the server has named it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orbweb.app import crawl as crawl_verb
from orbweb.app import plan
from orbweb.app.callbacks import ignore_note, redacted
from orbweb.app.consent_store import PRIVATE, ConsentStore, folder
from orbweb.app.directory import CONFIG_FILE, OpenWorkspace, now_us
from orbweb.app.jobs.records import CrawlOrder
from orbweb.app.options import Kind, Option, options_of
from orbweb.app.request import Request, name_of, request_of
from orbweb.app.results.plans import CrawlPlan, RecrawlPlan
from orbweb.app.results.record import record
from orbweb.app.session import ready
from orbweb.app.setting_sources import SHAREABLE
from orbweb.config import keys, schema, sources
from orbweb.errors import ConfigError, Spelling, UsageError, option
from orbweb.store import runs, workspace_files
from orbweb.store.runs import Project

LOCAL_OPTIONS = frozenset({"allow_private", "metrics_port", "resolve", "trust"})
"""Options of the person at the machine, besides those that name a file or a proxy."""


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _option(name: str, value: str | Sequence[str]) -> str:
    return f"`{camel(name)}`: {value}" if value else f"`{camel(name)}`"


def _call(verb: str, arguments: Sequence[str], options: Mapping[str, str | bool]) -> str:
    return f"`{' '.join((verb, *arguments, *(f'{name}={value}' for name, value in options.items())))}`"


REQUESTS = Spelling(_option, _call, "request")
"""How messages name options and calls to clients of the server."""


@dataclass(frozen=True, slots=True)
class OperatorRules:
    """What the operator of a server allows its clients: sites at private addresses, as HOST:PORT; and its pins."""

    private_sites: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment of the server and of its jobs, in which the pins are settings."""
        pins = {"ORBWEB_RESOLVE": f"[{', '.join(map(_quoted, self.pins))}]"} if self.pins else {}
        return {**environ, **pins}


def _quoted(text: str) -> str:
    return f"'{text}'"


def operator_rules(
    path: Path, environ: Mapping[str, str], *, private_hosts: Sequence[str] = (), pins: Sequence[str] = ()
) -> OperatorRules:
    """The rules by the settings file of the workspace, if that was created on this machine, by the environment and
    by the options of `serve`."""
    file: dict[str, Any] = {}
    if workspace_files.check(path, CONFIG_FILE, writes=False) and PRIVATE in ConsentStore(folder(environ)).of(
        path
    ):
        file = sources.read_file(path / CONFIG_FILE)
    given = {"serve": {"private_hosts": list(private_hosts)}, "resolve": list(pins)}
    layers = (file, sources.read_environment(environ), given)
    found = [schema.build(layer, source="options of serve") for layer in layers]
    sites = [site for config in found for site in config.serve.private_hosts]
    return OperatorRules(
        tuple(dict.fromkeys(sites)), tuple(dict.fromkeys(pin for config in found for pin in config.resolve))
    )


def for_clients(text: str, workspace: Path) -> str:
    """A message for clients of the server: without what looks like a secret in a URL, and without the path of the
    workspace."""
    for path in {workspace.absolute(), workspace.resolve()}:
        text = text.replace(f"{path}/", "").replace(str(path), "the workspace")
    return redacted(text)


def remote_options(verb: str) -> list[Option]:
    """The options of a verb that a client may give."""
    return [
        each
        for each in options_of(verb)
        if each.kind is not Kind.FILE and each.name not in LOCAL_OPTIONS and not each.name.startswith("proxy")
    ]


def remote_settings() -> list[str]:
    """The settings that a client may change by their key."""
    return [key for key, _, _ in keys() if key.startswith(SHAREABLE)]


def about_settings() -> dict[str, str]:
    """What each setting that a client may change is for."""
    allowed = set(remote_settings())
    return {key: about for key, about, _ in keys() if key in allowed}


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their dotted keys, as the layers of settings are; ConfigError for one that a client may not
    set."""
    allowed = set(remote_settings())
    made: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in allowed:
            raise ConfigError(f"{key}: not a setting that can be changed in a request")
        section, _, name = key.rpartition(".")
        (made.setdefault(section, {}) if section else made)[name] = value
    return made


def remote_request(order: CrawlOrder, project: str | None) -> Request:
    """The request of a client, with what its operator allows."""
    allowed = {each.name for each in remote_options(order.verb)}
    for name in order.options:
        if name not in allowed:
            raise UsageError(f"{option(name)} cannot be set in a request")
    made = request_of(order.verb, order.options, order.urls, project)
    return replace(
        made,
        settings=schema.merge(made.settings or {}, nested(order.settings)),
        typed=False,
        remote=frozenset(order.private_sites),
        remembers=False,
    )


def prepare_crawl(workspace: OpenWorkspace, order: CrawlOrder, project: str | None) -> Project:
    """The project of a crawl; refuses what the crawl would refuse. A new project is stored, so that it has an
    id."""
    if not order.urls and project is None:
        raise UsageError("give a `url` to crawl, or a `project`")
    request = remote_request(order, project)
    name = name_of(workspace, request)
    found = crawl_verb.check(workspace, name, request)
    known = runs.find_project(workspace.db, name)
    if known is not None:
        return known
    bases = [base.url for base in found.bases]
    return runs.save_project(workspace.db, name, found.settings, bases, now_us())


def check_session(workspace: OpenWorkspace, order: CrawlOrder, project: Project) -> None:
    """Refuses what `resume` or `recrawl` would refuse."""
    ready(workspace, project, remote_request(order, project.name), project.bases, ignore_note)


def save_settings(workspace: OpenWorkspace, order: CrawlOrder, project: str | None) -> Project:
    """Store settings with a project, which is created if it is new."""
    if not order.urls and project is None:
        raise UsageError("give the `url` or the `project` whose settings are changed")
    request = remote_request(order, project)
    name = name_of(workspace, request)
    with workspace.own(name):
        found = crawl_verb.check(workspace, name, request)
        bases = [base.url for base in found.bases]
        return runs.save_project(workspace.db, name, found.settings, bases, now_us())


def plan_crawl(path: Path, order: CrawlOrder) -> CrawlPlan | RecrawlPlan:
    """What a crawl of these URLs would do; as `Workspace.plan`."""
    request = remote_request(order, None)
    if plan.names_project(path, request.urls):
        project = remote_request(replace(order, urls=()), request.urls[0])
        return record(RecrawlPlan, plan.replan(project, of=path, note=ignore_note))
    return record(CrawlPlan, plan.plan(request, beside=path, note=ignore_note))
