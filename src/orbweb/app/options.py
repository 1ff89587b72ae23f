"""The options of the verbs, in one table: the keywords of Python and the options of the command line.

An option has the same name everywhere, with dashes on the command line. One that is a setting is stored with its
project by `crawl`, and by `resume` and `recrawl` with `save`. Values are checked where settings are merged, so
this module imports no settings.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from orbweb.errors import UsageError, option

if TYPE_CHECKING:
    from orbweb.fetching import ProxyChooser


class Kind(StrEnum):
    """What values an option takes."""

    INTEGER = "integer"
    LIMIT = "limit"
    """A whole number; None removes a stored limit."""
    RATE = "rate"
    """Requests per second, or `max`."""
    FLAG = "flag"
    """Given or not."""
    SWITCH = "switch"
    """On or off."""
    TEXT = "text"
    TEXTS = "texts"
    HEADERS = "headers"
    """Values by name; None removes a stored header."""
    CHOICE = "choice"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: the verbs that take it, and the setting that it sets, if any."""

    name: str
    kind: Kind
    verbs: frozenset[str]
    help: str
    setting: str | None = None
    choices: tuple[str, ...] = ()
    removable: bool = False
    """Whether None removes a stored choice; `none` on the command line."""
    between: tuple[int, int] | None = None
    metavar: str | None = None
    word: str | None = None
    """Its name on the command line, if that is not `name` with dashes."""

    @property
    def flag(self) -> str:
        return f"--{self.word or self.name.replace('_', '-')}"


CRAWL = frozenset({"crawl", "discover", "run"})
RESUME = CRAWL | {"resume", "recrawl", "scrape"}
SHOWN = frozenset({"settings"})
"""Takes every setting, to show what a crawl with it would use."""
PLAN = CRAWL | SHOWN | {"plan"}
FETCH = PLAN | {"fetch"}
RULES = PLAN | {"rules"}

OPTIONS = (
    Option(
        "workers",
        Kind.INTEGER,
        RESUME | SHOWN,
        "Requests in flight at once [5].",
        setting="limits.workers",
        between=(1, 1024),
    ),
    Option(
        "processes",
        Kind.INTEGER,
        RESUME | SHOWN | {"extract"},
        "Worker processes that parse pages [one per core]; 0 parses in the main process, for sites you trust.",
        setting="engine.processes",
        between=(0, 64),
    ),
    Option(
        "budget",
        Kind.LIMIT,
        RESUME | SHOWN,
        "Stop after N URLs; resume later [no limit].",
        setting="limits.budget",
    ),
    Option("page_limit", Kind.LIMIT, RULES, "Unique pages per base URL [no limit].", setting="limits.page_limit"),
    Option(
        "max_depth",
        Kind.LIMIT,
        RULES,
        "Maximum link depth from a base URL [no limit].",
        setting="limits.max_depth",
    ),
    Option(
        "rate",
        Kind.RATE,
        RESUME | FETCH,
        "Requests per second per host [2]; max is for servers you own.",
        setting="limits.rate",
    ),
    Option(
        "external_hops",
        Kind.INTEGER,
        RULES,
        "Links to follow outside the base URLs, in steps [0].",
        setting="scope.external_hops",
        between=(0, 5),
    ),
    Option(
        "strict_path",
        Kind.SWITCH,
        RULES,
        "Treat paths as whole segments: /api excludes /api-blog [on].",
        setting="scope.strict_path",
    ),
    Option(
        "include",
        Kind.TEXTS,
        RULES,
        "Visit only URLs that match this RE2 pattern; may be repeated.",
        setting="scope.include",
        metavar="RE",
    ),
    Option(
        "exclude",
        Kind.TEXTS,
        RULES,
        "Skip URLs that match this RE2 pattern; may be repeated.",
        setting="scope.exclude",
        metavar="RE",
    ),
    Option(
        "resources",
        Kind.CHOICE,
        CRAWL | SHOWN,
        "Scripts, styles, images and fonts: check requests them, store also stores them [off].",
        setting="resources.mode",
        choices=("off", "check", "store"),
    ),
    Option(
        "sitemap",
        Kind.CHOICE,
        RULES,
        "auto reads sitemaps and follows links, only follows no links, prefer follows links where sitemaps list no"
        " page, off reads no sitemaps [auto].",
        setting="sitemap.mode",
        choices=("auto", "only", "prefer", "off"),
    ),
    Option(
        "profile",
        Kind.CHOICE,
        PLAN | {"validate_policy"},
        "Built-in settings profile, overridden by everything else; `none` removes it.",
        setting="profile",
        choices=("docs", "site", "github"),
        removable=True,
    ),
    Option(
        "config",
        Kind.FILE,
        RESUME | FETCH | RULES | {"validate_policy"},
        "YAML file of settings.",
    ),
    Option(
        "seeds",
        Kind.FILE,
        CRAWL,
        "File of base URLs, one per line, instead of URL arguments; - is standard input.",
    ),
    Option(
        "user_agent",
        Kind.TEXT,
        FETCH,
        "User-Agent header; include a contact URL or e-mail.",
        setting="user_agent",
        metavar="UA",
    ),
    Option(
        "headers",
        Kind.HEADERS,
        FETCH,
        "Header for the origins of the base URLs only. Write a secret as $NAME of an environment variable; "
        "'NAME:' removes a stored header. May be repeated.",
        setting="fetch.headers",
        word="header",
    ),
    Option(
        "resolve",
        Kind.TEXTS,
        FETCH,
        "Pin a host to an address, for tests and staging; may be repeated.",
        setting="resolve",
        metavar="HOST:PORT:ADDR[:PORT]",
    ),
    Option(
        "allow_private",
        Kind.SWITCH,
        FETCH,
        "Follow links to addresses that are not public [off].",
        setting="fetch.allow_private",
    ),
    Option(
        "order",
        Kind.CHOICE,
        CRAWL | SHOWN,
        "strict keeps one order for the run, relaxed one per host [strict].",
        setting="engine.order",
        choices=("strict", "relaxed"),
    ),
    Option(
        "store",
        Kind.CHOICE,
        CRAWL | SHOWN,
        "How bodies are stored [segments].",
        setting="store.layout",
        choices=("segments", "files"),
    ),
    Option(
        "due",
        Kind.FLAG,
        frozenset({"recrawl"}),
        "Request only pages that are due, by how often they changed; reuse the others.",
    ),
    Option("refresh", Kind.FLAG, RESUME, "Fetch every page again; reuse nothing that earlier runs captured."),
    Option(
        "save",
        Kind.FLAG,
        RESUME - CRAWL,
        "Store the options given here with the project; without it they hold for this crawl only.",
    ),
    Option("new_run", Kind.FLAG, CRAWL, "Start a new run instead of resuming the paused one."),
    Option(
        "trust",
        Kind.TEXTS,
        (RESUME | FETCH) - SHOWN,
        "Allow what the workspace asks for, in the words of the refusal, such as "
        "'$SITE_TOKEN=https://example.org'. Remembered on this machine. May be repeated.",
        metavar="WHAT",
    ),
    Option(
        "metrics_port",
        Kind.INTEGER,
        RESUME,
        "Serve Prometheus metrics on this port; 0 picks a free one.",
        between=(0, 65535),
        metavar="N",
    ),
)
OBJECTS = {"proxy_chooser": (RESUME | FETCH) - SHOWN}
"""Keywords of Python whose values are objects of the program, and the verbs that take them. No command line can
give them, and no project stores them."""
_BY_NAME = {each.name: each for each in OPTIONS}
_PLAIN = (str, int, float, list, dict, NoneType)


class _Effort(TypedDict, total=False):
    """How a crawl works, and when it stops."""

    workers: int
    processes: int | None
    budget: int | None
    rate: float | Literal["max"]
    config: str | PathLike[str]
    refresh: bool
    trust: Sequence[str]
    metrics_port: int | None
    proxy_chooser: ProxyChooser | None


class ResumeOptions(_Effort, total=False):
    """What `resume` and `scrape` take, for this crawl; with `save` they are stored. None lifts a limit."""

    save: bool


class _Rules(TypedDict, total=False):
    """Which URLs are visited."""

    page_limit: int | None
    max_depth: int | None
    external_hops: int
    strict_path: bool
    include: Sequence[str]
    exclude: Sequence[str]
    sitemap: Literal["auto", "only", "prefer", "off"]


class RuleOptions(_Rules, total=False):
    """What `rules` takes. None removes a stored limit."""

    config: str | PathLike[str]


class RecrawlOptions(ResumeOptions, total=False):
    """What `recrawl` takes."""

    due: bool


class CrawlOptions(_Effort, _Rules, total=False):
    """What `crawl` takes. Settings stick to the project; `config`, `seeds`, `new_run`, `refresh`, `trust` and
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


class SettingsOptions(_Rules, total=False):
    """What `settings` takes: the settings of a crawl, shown as if it were started with them."""

    workers: int
    processes: int | None
    budget: int | None
    rate: float | Literal["max"]
    config: str | PathLike[str]
    profile: Literal["docs", "site", "github"] | None
    user_agent: str
    resolve: Sequence[str]
    allow_private: bool
    headers: Mapping[str, str | None]
    resources: Literal["off", "check", "store"]
    order: Literal["strict", "relaxed"]
    store: Literal["segments", "files"]


class PolicyOptions(TypedDict, total=False):
    """What `validate_policy` takes."""

    config: str | PathLike[str]
    profile: Literal["docs", "site", "github"] | None


def options_of(verb: str) -> list[Option]:
    """The options that a verb takes, in the order of the table."""
    return [each for each in OPTIONS if verb in each.verbs]


def check_names(given: Mapping[str, object], verb: str) -> None:
    """UsageError for an option that the verb does not take, with the closest that it does."""
    objects = (name for name, verbs in OBJECTS.items() if verb in verbs)
    names = sorted([*(each.name for each in options_of(verb)), *objects])
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
            raise UsageError(f"unknown option {name} ({hint})")


def option_words() -> dict[str, str]:
    """The name on the command line of each setting that has an option, without the dashes."""
    return {each.setting: each.flag.removeprefix("--") for each in OPTIONS if each.setting is not None}


def settings_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as nested settings, plain enough to be stored as JSON."""
    settings: dict[str, Any] = {}
    for name, value in given.items():
        path = None if name in OBJECTS else _BY_NAME[name].setting
        if path is not None:
            section, _, key = path.rpartition(".")
            (settings.setdefault(section, {}) if section else settings)[key] = _plain(name, value)
    return settings


def _plain(name: str, value: object) -> object:
    plain = list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
    if not isinstance(plain, _PLAIN):
        raise UsageError(
            f"{option(name)}: {type(value).__name__} cannot be stored; give text, a number, a list or None"
        )
    return plain


def file_of(given: Mapping[str, Any], name: str) -> Path | None:
    return None if given.get(name) is None else Path(given[name])


def texts_of(given: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts; one text alone is a list of one."""
    texts = given.get(name, ())
    return (texts,) if isinstance(texts, str) else tuple(texts)


def words_of(given: Mapping[str, Any]) -> list[str]:
    """The same options as words of a command line, for a process that is started by one."""
    for name in OBJECTS.keys() & given.keys():
        raise UsageError(
            f"{option(name)}: an object cannot be given to the process that discovers; use discover and scrape, "
            "or name an installed chooser in proxy.chooser"
        )
    return [word for name, value in given.items() for word in _words(_BY_NAME[name], value)]


def _words(found: Option, value: Any) -> Iterator[str]:
    if found.kind is Kind.FLAG:
        yield from [found.flag] * bool(value)
    elif found.kind is Kind.SWITCH:
        yield found.flag if value else f"--no-{found.flag.removeprefix('--')}"
    elif found.kind is Kind.HEADERS:
        for name, text in value.items():
            yield f"{found.flag}={name}:{'' if text is None else f' {text}'}"
    elif found.kind is Kind.TEXTS:
        yield from (f"{found.flag}={text}" for text in ((value,) if isinstance(value, str) else value))
    elif value is not None or found.kind in (Kind.LIMIT, Kind.CHOICE):
        yield f"{found.flag}={'none' if value is None else value}"
