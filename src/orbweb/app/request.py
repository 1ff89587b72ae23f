"""What a user asks for, and the settings it amounts to.

Layered over the settings of the project, from the lowest: the file, the environment, the command line; below all,
the profile they name. It starts nothing and stores nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from orbweb import urls
from orbweb.app.control import Workspace
from orbweb.app.directory import CONFIG_FILE, SEEDS_FILE
from orbweb.app.settings import routes, url_rules
from orbweb.config import schema, sources
from orbweb.config.schema import Config
from orbweb.engine.control import Command
from orbweb.errors import UnknownProject, UsageError
from orbweb.events import Snapshot
from orbweb.frontier import seeds
from orbweb.store import runs, workspace_files
from orbweb.store.runs import Project
from orbweb.store.workspace_files import DATABASE
from orbweb.urls import DEFAULT_RULES, UrlRules

Watch = Callable[[Snapshot], None]
Note = Callable[[str], None]
Relay = Callable[[Command], None]

URL_FORM = "a URL starts with http:// or https://"


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks a crawl to do. Settings are layered over those of the project."""

    urls: Sequence[str] = ()
    project: str | None = None
    config_file: Path | None = None
    settings: Mapping[str, Any] | None = None
    new_run: bool = False
    plan: PlanRequest | None = None
    refresh: bool = False
    due: bool = False
    replay: bool = False
    seeds: Path | None = None
    metrics_port: int | None = None
    trust: Sequence[str] = ()
    typed: bool = True
    """Whether the URLs are the user's own words, not those of a workspace."""
    remembers: bool = True
    """Whether what the user allows is kept on this machine: not for what leaves nothing."""


@dataclass(slots=True)
class PlanRequest:
    """A crawl that ends when its base URLs and sitemaps are read; the sitemaps it read, and what each lists."""

    sitemaps: list[tuple[str, int]] = field(default_factory=list)


def completed(workspace: Workspace, request: Request, note: Note) -> Request:
    """A request with the URLs of its file of seeds. Without URLs, with what `orbweb configure` put into the
    workspace: its settings, and its seeds if the project is not known yet."""
    if request.urls and request.seeds is not None:
        raise UsageError("--seeds names a file of URLs, and there are URLs besides: use one of them")
    if request.urls:
        return request
    own = workspace.path / CONFIG_FILE
    if request.config_file is None and _has(workspace, CONFIG_FILE):
        request = replace(request, config_file=own)
        note(f"settings of {own}")
    known = runs.find_project(workspace.db, request.project) if request.project else None
    file = request.seeds or workspace.path / SEEDS_FILE
    if request.seeds is None and (known is not None or not _has(workspace, SEEDS_FILE)):
        return request
    given = seeds.read_seeds(file, url_rules(configure(known, request)[0]))
    note(f"{len(given)} base URLs of {file}")
    return replace(request, urls=given, typed=not _is_of_workspace(file))


def _has(workspace: Workspace, name: str) -> bool:
    """Whether a workspace has such a file; ForeignFile for a link."""
    return workspace.path.is_dir() and workspace_files.check(workspace.path, name, writes=False)


def name_of(workspace: Workspace, request: Request) -> str:
    """The name given, or one made from the first URL; `-2` and so on if other base URLs have that name."""
    if request.project is not None:
        return seeds.check_project_name(request.project)
    if not request.urls:
        raise UsageError(
            "give a URL to crawl, --seeds FILE, or --project NAME for one that exists; `orbweb configure` writes "
            "a file of seeds into a workspace"
        )
    rules = url_rules(configure(None, request)[0])
    for word in request.urls:
        _check_word(workspace, word, rules)
    bases = seeds.base_urls(request.urls, rules)
    wanted = tuple(base.url for base in bases)
    former, is_known = _place(workspace, seeds.former_name(bases[0].key), wanted)
    return former if is_known else _place(workspace, seeds.project_name(bases[0].key), wanted)[0]


def named(workspace: Workspace, request: Request, verb: str) -> str:
    """The name given to a verb that takes a project; UnknownProject for a URL, with the projects that have it."""
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
    hints = " or ".join(f"`orbweb {verb} {name}`" for name in there)
    raise UnknownProject(f"{verb} takes a project, not a URL; {word!r} is a base URL of: {hints}")


def _place(workspace: Workspace, stem: str, wanted: tuple[str, ...]) -> tuple[str, bool]:
    """The first name that is free or has these base URLs, and whether it is known."""
    for name in chain([stem], (f"{stem}-{number}" for number in count(2))):
        known = runs.find_project(workspace.db, name)
        if known is None or known.bases == wanted:
            return name, known is not None
    raise AssertionError("names never run out")


def _check_word(workspace: Workspace, word: str, rules: UrlRules) -> None:
    """UsageError for the name of a project, known or not, in the place of a URL. A host without a scheme is a URL,
    unless a project has that name and another base URL."""
    if not seeds.could_name_project(word):
        return
    known, is_host = runs.find_project(workspace.db, word), seeds.names_host(word)
    if known is None and not is_host:
        raise no_project(workspace, word)
    if known is not None and not (is_host and seeds.base_urls([word], rules)[0].url in known.bases):
        raise UsageError(
            f"{word!r} is a project: crawl it with `orbweb crawl --project {word}`, or go on with a paused run, "
            f"`orbweb resume {word}`; {URL_FORM}"
        )


def no_project(workspace: Workspace, word: str) -> UnknownProject:
    """Says that a word is neither a project of the workspace nor a URL."""
    return UnknownProject(f"{runs.unknown(workspace.db, word)}; {URL_FORM}")


def configure(known: Project | None, request: Request) -> tuple[Config, dict[str, Any]]:
    """The project's settings with the file's, the environment's and the command line's on top."""
    file = sources.read_file(request.config_file) if request.config_file else {}
    environment = sources.read_environment(os.environ)
    flags = schema.given(request.settings or {}, source="command line")
    settings = schema.merge(known.settings if known else {}, file, environment, flags)
    config = _built(settings, source="settings")
    routes(config)
    return config, settings


def own_words(request: Request, environ: Mapping[str, str]) -> Config:
    """The settings that the user named in this command: not those of a project, nor of a file in a workspace."""
    file = request.config_file
    named = sources.read_file(file) if file is not None and not _is_of_workspace(file) else {}
    flags = schema.given(request.settings or {}, source="command line")
    return _built(schema.merge(named, sources.read_environment(environ), flags), source="settings")


def _is_of_workspace(file: Path) -> bool:
    """Whether a file lies in a workspace, by its name or where a link leads."""
    return any(
        os.path.lexists(above / DATABASE) for path in (file.absolute(), file.resolve()) for above in path.parents
    )


def stored(project: Project) -> Config:
    return _built(project.settings, source=f"settings of project {project.name!r}")


def _built(settings: Mapping[str, Any], *, source: str) -> Config:
    """The settings on top of those of the profile they name."""
    profile = sources.read_profile(settings.get("profile"))
    return schema.build(schema.merge(profile, settings), source=source)


def discreet(note: Note) -> Note:
    """What is told in passing, without what looks like a secret in a URL."""
    return lambda text: note(urls.shown(text))
