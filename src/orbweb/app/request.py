"""What the caller of a verb wants, and the settings that result from it.

Layers, lowest first: the profile, the settings of the project, the file, the environment, the options. Nothing is
started or stored here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from orbweb.app.callbacks import Note
from orbweb.app.directory import CONFIG_FILE, SEEDS_FILE, OpenWorkspace
from orbweb.app.options import check_names, file_of, settings_of, texts_of
from orbweb.app.settings import routes, url_rules
from orbweb.config import schema, sources
from orbweb.config.schema import Config
from orbweb.errors import UnknownProject, UsageError, call, option, options_source
from orbweb.fetching import ProxyChooser
from orbweb.frontier import seeds
from orbweb.store import runs, workspace_files
from orbweb.store.runs import Project
from orbweb.store.workspace_files import DATABASE
from orbweb.store.workspace_paths import PLACEHOLDERS, RECORD
from orbweb.urls import DEFAULT_RULES, UrlRules

URL_FORM = "a URL starts with http:// or https://"


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller wants a verb to do. Settings are layered over those of the project."""

    urls: Sequence[str] = ()
    project: str | None = None
    config_file: Path | None = None
    settings: Mapping[str, Any] | None = None
    save: bool = False
    """Whether a crawl of a known project stores the settings given."""
    new_run: bool = False
    plan: PlanRequest | None = None
    refresh: bool = False
    due: bool = False
    replay: bool = False
    seeds: Path | None = None
    spool: Path | None = None
    """The directory of a spool that the user named."""
    of_others: bool = False
    """Whether URLs come from the lines of another producer: there are no base URLs."""
    metrics_port: int | None = None
    trust: Sequence[str] = ()
    proxy_chooser: ProxyChooser | None = None
    typed: bool = True
    """Whether the user named the URLs, and not the workspace."""
    remote: frozenset[str] | None = None
    """Set for a request over the network: the only sites at private addresses that it may name, as HOST:PORT."""
    remembers: bool = True
    """Whether consent is stored on this machine; not for a plan, which leaves nothing."""


@dataclass(slots=True)
class PlanRequest:
    """A crawl that ends after its base URLs and sitemaps; it collects the sitemaps and their numbers of URLs."""

    sitemaps: list[tuple[str, int]] = field(default_factory=list)


def request_of(
    verb: str, options: Mapping[str, Any], urls: str | Sequence[str] = (), project: str | None = None
) -> Request:
    """The request that options stand for; UsageError for one that the verb does not take."""
    check_names(options, verb)
    return Request(
        urls=(urls,) if isinstance(urls, str) else tuple(urls),
        project=project,
        config_file=file_of(options, "config"),
        settings=settings_of(options),
        save=bool(options.get("save")),
        new_run=bool(options.get("new_run")),
        refresh=bool(options.get("refresh")),
        due=bool(options.get("due")),
        seeds=file_of(options, "seeds"),
        metrics_port=options.get("metrics_port"),
        trust=texts_of(options, "trust"),
        proxy_chooser=options.get("proxy_chooser"),
    )


def with_seeds(workspace: OpenWorkspace, request: Request, note: Note) -> Request:
    """The request with the URLs of its seeds file. Without URLs, with what `orbweb configure` wrote into the
    workspace: its settings, and its seeds if the project does not exist yet."""
    if request.urls and request.seeds is not None:
        raise UsageError(f"give either URLs or {option('seeds')}, not both")
    if request.urls:
        return request
    request = with_settings(workspace, request, note)
    known = runs.find_project(workspace.db, request.project) if request.project else None
    file = request.seeds or workspace.path / SEEDS_FILE
    if request.seeds is None and (known is not None or not has_file(workspace, SEEDS_FILE)):
        return request
    given = seeds.read_seeds(file, url_rules(configure(known, request)[0]))
    note(f"using {len(given)} base URLs from {file}")
    return replace(request, urls=given, typed=not _is_in_workspace(file))


def with_settings(workspace: OpenWorkspace, request: Request, note: Note) -> Request:
    """The request with the settings file of the workspace, if none is given."""
    if request.config_file is not None or not has_file(workspace, CONFIG_FILE):
        return request
    own = workspace.path / CONFIG_FILE
    note(f"using settings from {own}")
    return replace(request, config_file=own)


def has_file(workspace: OpenWorkspace, name: str) -> bool:
    """Whether a workspace has such a file; ForeignFile for a link."""
    return workspace.path.is_dir() and workspace_files.check(workspace.path, name, writes=False)


def name_of(workspace: OpenWorkspace, request: Request) -> str:
    """The name given, or one derived from the first URL; with `-2` and so on if a project with other base URLs has
    that name."""
    if request.project is not None:
        return seeds.check_project_name(request.project)
    if not request.urls:
        raise UsageError(
            f"give a URL to crawl, {option('seeds', 'FILE')}, or {option('project', 'NAME')} of an existing "
            f"project; {call('configure')} writes a seeds file into a workspace"
        )
    rules = url_rules(configure(None, request)[0])
    for word in request.urls:
        _check_word(workspace, word, rules)
    bases = seeds.base_urls(request.urls, rules)
    wanted = tuple(base.url for base in bases)
    former, is_known = _place(workspace, seeds.former_name(bases[0].key), wanted)
    return former if is_known else _place(workspace, seeds.project_name(bases[0].key), wanted)[0]


def require_project(workspace: OpenWorkspace, request: Request, verb: str) -> str:
    """The project given to a verb; UnknownProject for a URL, with the projects that have it as a base URL."""
    word = request.project or ""
    if seeds.HAS_SCHEME.match(word) is None and (seeds.could_name_project(word) or not seeds.names_host(word)):
        return name_of(workspace, request)
    base = seeds.base_urls([word], DEFAULT_RULES)[0].key
    there = [
        each.name
        for each in runs.projects(workspace.db)
        if base in (target.key for target in seeds.base_urls(each.bases, DEFAULT_RULES))
    ]
    if not there:
        raise UnknownProject(f"{verb} takes a project, not a URL: {runs.unknown(workspace.db, word)}")
    hints = " or ".join(call(verb, name) for name in there)
    raise UnknownProject(f"{verb} takes a project, not a URL; {word!r} is a base URL of: {hints}")


def _place(workspace: OpenWorkspace, stem: str, wanted: tuple[str, ...]) -> tuple[str, bool]:
    """The first name that is free or has these base URLs, and whether it is known."""
    for name in chain([stem], (f"{stem}-{number}" for number in count(2))):
        known = runs.find_project(workspace.db, name)
        if known is None or known.bases == wanted:
            return name, known is not None
    raise AssertionError("names never run out")


def _check_word(workspace: OpenWorkspace, word: str, rules: UrlRules) -> None:
    """UsageError for a project name, known or not, in place of a URL. A host without a scheme is a URL, unless a
    project has that name and another base URL."""
    if not seeds.could_name_project(word):
        return
    known, is_host = runs.find_project(workspace.db, word), seeds.names_host(word)
    if known is None and not is_host:
        raise no_project(workspace, word)
    if known is not None and not (is_host and seeds.base_urls([word], rules)[0].url in known.bases):
        raise UsageError(
            f"{word!r} is a project: crawl it with {call('crawl', project=word)}, or resume its paused run with "
            f"{call('resume', word)}; {URL_FORM}"
        )


def no_project(workspace: OpenWorkspace, word: str) -> UnknownProject:
    """The error for a word that is neither a project of the workspace nor a URL."""
    return UnknownProject(f"{runs.unknown(workspace.db, word)}; {URL_FORM}")


def configure(known: Project | None, request: Request) -> tuple[Config, dict[str, Any]]:
    """The settings of a request, checked; and the same as they are stored with the project."""
    file = sources.read_file(request.config_file) if request.config_file else {}
    environment = sources.read_environment(os.environ)
    flags = schema.given(request.settings or {}, source=options_source())
    settings = schema.merge(known.settings if known else {}, file, environment, flags)
    config = _built(settings, source="settings")
    routes(config)
    return config, without_paths(settings)


def without_paths(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are stored with a project: paths belong to the workspace."""
    left = dict(settings)
    for section, _, name in (key.rpartition(".") for key in PLACEHOLDERS):
        if name in left.get(section, {}):
            left[section] = {key: value for key, value in left[section].items() if key != name}
            if not left[section]:
                del left[section]
    return left


def called_settings(request: Request, environ: Mapping[str, str]) -> Config:
    """The settings of a call, without those that are stored with a project."""
    file = sources.read_file(request.config_file) if request.config_file else {}
    flags = schema.given(request.settings or {}, source=options_source())
    return _built(schema.merge(file, sources.read_environment(environ), flags), source="settings")


def own_settings(request: Request, environ: Mapping[str, str]) -> Config:
    """The settings that the user named in this call: not those of a project, nor of a file in a workspace."""
    file = request.config_file
    own_file = sources.read_file(file) if file is not None and not _is_in_workspace(file) else {}
    flags = schema.given(request.settings or {}, source=options_source())
    return _built(schema.merge(own_file, sources.read_environment(environ), flags), source="settings")


def _is_in_workspace(file: Path) -> bool:
    """Whether a file lies in a workspace, by its name or after following links."""
    return any(
        os.path.lexists(above / name)
        for path in (file.absolute(), file.resolve())
        for above in path.parents
        for name in (DATABASE, RECORD)
    )


def stored(project: Project) -> Config:
    """The settings stored with a project."""
    return _built(project.settings, source=f"settings of project {project.name!r}")


def _built(settings: Mapping[str, Any], *, source: str) -> Config:
    """The settings on top of those of the profile they name."""
    profile = sources.read_profile(settings.get("profile"))
    return schema.build(schema.merge(profile, settings), source=source)
