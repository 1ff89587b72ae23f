"""The verb `settings`: every effective setting of a project, and the layer that it comes from.

Values are those that the next `crawl` of the project would use. A value that may be a secret is redacted, so a
report can be pasted into an issue. The notes about stored options at the start of a crawl are derived from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from orbweb.app.callbacks import Note, redacted
from orbweb.app.directory import CONFIG_FILE, OpenWorkspace
from orbweb.app.options import option_words
from orbweb.app.request import Request, configure, has_file, stored
from orbweb.config import schema, sources
from orbweb.config.notation import has_contact, is_variable
from orbweb.config.schema import Config
from orbweb.errors import call, options_source
from orbweb.store import runs
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Project
from orbweb.store.workspace_paths import RECORD

DEFAULT = "default"
STORED = "project"
REDACTED = "[redacted]"
NAMED = 8
LONGEST = 60
MODES = ("store.file_mode", "store.dir_mode")
SHAREABLE = (
    *("user_agent", "incremental", "limits.", "scope.", "policy.", "urls.", "robots.", "sitemap.", "resources."),
    *("cache.", "recrawl.", "engine.", "fetch.timeout_s", "fetch.connect_timeout_s", "fetch.retries"),
    *(
        "fetch.backoff_s",
        "fetch.backoff_cap_s",
        "fetch.busy_retries",
        "fetch.max_retry_after_s",
        "fetch.max_bytes",
    ),
    *("fetch.max_ratio", "fetch.languages", "fetch.cache_control", "fetch.cookies"),
)
"""Settings, and sections of them, that name no file, program, address or secret: a client of the server may change
them, and a report may show them."""

Layer = tuple[str, Mapping[str, Any]]


class Setting(NamedTuple):
    """One setting: its value now, where that comes from, and its default."""

    key: str
    value: Any
    default: Any
    source: str

    @property
    def differs(self) -> bool:
        return bool(self.value != self.default)


class Change(NamedTuple):
    """A stored setting that a crawl replaces."""

    key: str
    old: Any
    new: Any


def settings(workspace: OpenWorkspace, request: Request) -> Report:
    """Every setting of a project as the next `crawl` would use it, with these options."""
    known = runs.project(workspace.db, request.project or "")
    request = _with_file(workspace, request)
    return {
        "project": known.name,
        "file": None if request.config_file is None else str(request.config_file),
        "settings": _reported(workspace, known, request),
    }


def new_settings(workspace: OpenWorkspace, request: Request) -> list[Report]:
    """Every setting as the `crawl` of a new project would use it, with these options."""
    return _reported(workspace, None, _with_file(workspace, request))


def names_contact(user_agent: str) -> bool:
    """Whether a user agent names a contact."""
    return has_contact(user_agent)


def _with_file(workspace: OpenWorkspace, request: Request) -> Request:
    if request.config_file is None and has_file(workspace, CONFIG_FILE):
        return replace(request, config_file=workspace.path / CONFIG_FILE)
    return request


def _reported(workspace: OpenWorkspace, known: Project | None, request: Request) -> list[Report]:
    words = option_words()
    return [
        {
            "key": each.key,
            "option": words.get(each.key),
            "value": _shown(each.key, each.value),
            "default": each.default,
            "source": each.source,
            "differs": each.differs,
        }
        for each in (_recorded(each, workspace) for each in effective(known, request))
    ]


def _recorded(each: Setting, workspace: OpenWorkspace) -> Setting:
    """A path as the workspace has recorded it; the settings of a call may name another only before there are
    files."""
    path = workspace.paths.given.get(each.key)
    return each if path is None else each._replace(value=path, source=RECORD)


def effective(known: Project | None, request: Request) -> list[Setting]:
    """Every setting of a request, in the order of the reference."""
    config, _ = configure(known, request)
    now, defaults = dict(_plain(config)), dict(_plain(Config()))
    layers = _layers(known, request, config.profile)
    return [Setting(key, now[key], default, _source(key, layers)) for key, default in defaults.items()]


def note_stored(known: Project | None, request: Request, note: Note) -> None:
    """Tell the user which stored options are in force and differ from the default, in one line."""
    if known is None:
        return
    found = [each for each in effective(known, request) if each.source == STORED and each.differs]
    if found:
        texts = [f"{_word(each.key)} {setting_text(each.key, each.value)}" for each in found]
        note(f"stored options in force: {_listed(texts)} ({call('settings', known.name)})")


def note_changes(known: Project | None, settings: Mapping[str, Any], note: Note) -> None:
    """Tell the user which stored options these settings replace."""
    found = [] if known is None else changes(known, settings)
    if found:
        texts = [
            f"{_word(each.key)} {setting_text(each.key, each.old)} -> {setting_text(each.key, each.new)}"
            for each in found
        ]
        note(f"changes stored options: {_listed(texts)}")


def changes(known: Project, settings: Mapping[str, Any]) -> list[Change]:
    """How settings differ from those that are stored with the project."""
    new = dict(_plain(stored(replace(known, settings=dict(settings)))))
    return [Change(key, value, new[key]) for key, value in _plain(stored(known)) if value != new[key]]


def setting_text(key: str, value: Any) -> str:
    """A value in a line for people, without secrets."""
    found = f"0{value:o}" if key in MODES else _text(_shown(key, value))
    return found if len(found) <= LONGEST else f"{found[: LONGEST - 3]}..."


def _text(value: Any) -> str:
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return " ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(each)}" for name, each in value.items())
    return str(value)


def _listed(texts: list[str]) -> str:
    more = len(texts) - NAMED
    return ", ".join(texts[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _word(key: str) -> str:
    """A setting as the user gave it: the name of its option, or its key."""
    return option_words().get(key, key)


def _plain(config: Config) -> Iterable[tuple[str, Any]]:
    """Every setting as (dotted key, JSON value)."""
    sections = config.model_dump(mode="json")
    for key, _ in schema.values(config):
        section, _, name = key.rpartition(".")
        yield key, (sections[section] if section else sections)[name]


def _layers(known: Project | None, request: Request, profile: str | None) -> list[Layer]:
    """Where settings can come from, the strongest first."""
    file = request.config_file
    return [
        (options_source(), schema.given(request.settings or {}, source=options_source())),
        *_environment(),
        *([(str(file), sources.read_file(file))] if file is not None else []),
        (STORED, known.settings if known else {}),
        (f"profile {profile}", sources.read_profile(profile)),
    ]


def _environment() -> list[Layer]:
    """One layer per environment variable."""
    return [
        (f"environment variable {name}", sources.read_environment({name: value}))
        for name, value in sorted(os.environ.items())
        if name.startswith(sources.PREFIX)
    ]


def _source(key: str, layers: list[Layer]) -> str:
    section, _, name = key.rpartition(".")
    return next((source for source, layer in layers if name in _part(layer, section)), DEFAULT)


def _part(layer: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    return (layer.get(section) or {}) if section else layer


def _shown(key: str, value: Any) -> Any:
    """A value without what may be a secret: headers that are no variables, and passwords of proxies."""
    if key in ("fetch.headers", "fetch.params"):
        return {name: each if each is None or is_variable(each) else REDACTED for name, each in value.items()}
    if key == "proxy.urls":
        return [redacted(each) for each in value]
    return value
