"""The options of the verbs: their names, and the settings they stand for.

Always holds: an option has the name it has on the command line, with underscores; one that is unknown is refused
with the nearest that is known. Values are checked where settings are merged.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypedDict

from orbweb.errors import UsageError

# Option -> section and key of the setting. `config`, `new_run`, `refresh`, `trust` and
# `metrics_port` are no settings.
_SETTINGS = {
    "profile": ("", "profile"),
    "user_agent": ("", "user_agent"),
    "resolve": ("", "resolve"),
    "allow_private": ("fetch", "allow_private"),
    "headers": ("fetch", "headers"),
    "rate": ("limits", "rate"),
    "workers": ("limits", "workers"),
    "budget": ("limits", "budget"),
    "page_limit": ("limits", "page_limit"),
    "max_depth": ("limits", "max_depth"),
    "strict_path": ("scope", "strict_path"),
    "external_hops": ("scope", "external_hops"),
    "include": ("scope", "include"),
    "exclude": ("scope", "exclude"),
    "resources": ("resources", "mode"),
    "sitemap": ("sitemap", "mode"),
    "order": ("engine", "order"),
    "processes": ("engine", "processes"),
    "store": ("store", "layout"),
}
_PLAIN = (str, int, float, list, dict, NoneType)


class ResumeOptions(TypedDict, total=False):
    """What may be changed when a run goes on. None takes a stored limit back."""

    workers: int
    processes: int | None
    budget: int | None
    rate: float | Literal["max"]
    config: str | PathLike[str]
    refresh: bool
    trust: Sequence[str]
    metrics_port: int | None


class _Rules(TypedDict, total=False):
    """What decides which URLs are visited."""

    page_limit: int | None
    max_depth: int | None
    external_hops: int
    strict_path: bool
    include: Sequence[str]
    exclude: Sequence[str]
    sitemap: Literal["auto", "only", "off"]


class RuleOptions(_Rules, total=False):
    """The rules that `orbweb rules` can be given. None takes a stored limit back."""

    config: str | PathLike[str]


class RecrawlOptions(ResumeOptions, total=False):
    """What `orbweb recrawl` can be given. `due` holds for the run that is started."""

    due: bool


class CrawlOptions(ResumeOptions, _Rules, total=False):
    """What `orbweb crawl` can be given. Settings stick to the project; `config`, `seeds`, `new_run`, `refresh` and
    `metrics_port` do not."""

    profile: Literal["docs", "site", "github"] | None
    seeds: str | PathLike[str]
    user_agent: str
    resolve: Sequence[str]
    allow_private: bool
    headers: Mapping[str, str | None]
    resources: Literal["off", "check", "store"]
    order: Literal["strict", "relaxed"]
    store: Literal["segments", "files"]
    new_run: bool


class PolicyOptions(TypedDict, total=False):
    """Where a policy comes from."""

    config: str | PathLike[str]
    profile: Literal["docs", "site", "github"] | None


def check_names(given: Mapping[str, object], names: frozenset[str]) -> None:
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(names))}"
            raise UsageError(f"unknown option {name} ({hint})")


def trusted(given: Mapping[str, Any]) -> tuple[str, ...]:
    """What a program allows a workspace; one word alone is one."""
    words = given.get("trust", ())
    return (words,) if isinstance(words, str) else tuple(words)


def config_file(given: Mapping[str, Any]) -> Path | None:
    return file_of(given, "config")


def file_of(given: Mapping[str, Any], name: str) -> Path | None:
    return Path(given[name]) if name in given else None


def settings_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as nested settings, plain enough to be stored; their values are checked where they are merged."""
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name in _SETTINGS:
            section, key = _SETTINGS[name]
            (settings.setdefault(section, {}) if section else settings)[key] = _plain(name, value)
    return settings


def _plain(name: str, value: object) -> object:
    plain = list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
    if not isinstance(plain, _PLAIN):
        raise UsageError(f"{name}: {type(value).__name__} cannot be stored; give text, a number, a list or None")
    return plain
