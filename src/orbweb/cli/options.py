"""The options that several commands take, and how their words become settings. It has no command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbweb.errors import UsageError

if TYPE_CHECKING:
    from orbweb.app.control import Workspace


class Order(StrEnum):
    """The choices of --order."""

    STRICT = "strict"
    RELAXED = "relaxed"


class StoreLayout(StrEnum):
    """The choices of --store."""

    SEGMENTS = "segments"
    FILES = "files"


class SitemapMode(StrEnum):
    """The choices of --sitemap."""

    AUTO = "auto"
    ONLY = "only"
    OFF = "off"


class ResourceMode(StrEnum):
    """The choices of --resources."""

    OFF = "off"
    CHECK = "check"
    STORE = "store"


class Profile(StrEnum):
    """The choices of --profile."""

    DOCS = "docs"
    SITE = "site"
    GITHUB = "github"
    NONE = "none"


ProjectName = Annotated[str, typer.Argument(metavar="PROJECT", help="A project of the workspace.")]


UrlOfProject = Annotated[
    list[str],
    typer.Argument(
        metavar="[PROJECT] URL", help="A project and a URL; a workspace's only project may be left out."
    ),
]


WorkspaceDir = Annotated[
    Path, typer.Option("--workspace", envvar="ORBWEB_WORKSPACE", help="The directory that holds everything.")
]


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


RunNumber = Annotated[int | None, typer.Option("--run", min=1, help="Which run; the latest if not given.")]


DEFAULT_WORKSPACE = Path("orbweb-data")
MOST_DIGITS = 30


Budget = Annotated[
    str | None, typer.Option(metavar="N|none", help="Visit at most so many URLs, then pause [none].")
]


PageLimit = Annotated[str | None, typer.Option(metavar="N|none", help="Unique pages per base URL [none].")]


MaxDepth = Annotated[str | None, typer.Option(metavar="N|none", help="Links from a base URL [none].")]


Rate = Annotated[
    str | None, typer.Option(metavar="R|max", help="Requests per second per host [2]. max: for servers you own.")
]


Workers = Annotated[int | None, typer.Option(min=1, max=1024, help="Requests under way at once [5].")]


Processes = Annotated[
    int | None,
    typer.Option(
        min=0, max=64, help="Worker processes that parse pages [one per core]. 0: none, for sites you trust."
    ),
]


Hops = Annotated[int | None, typer.Option(min=0, max=5, help="Steps outside the base URLs [0].")]


StrictPath = Annotated[
    bool | None, typer.Option("--strict-path/--no-strict-path", help="/api does not cover /api-blog [strict].")
]


Include = Annotated[
    list[str] | None, typer.Option(metavar="RE", help="Only URLs that match (RE2, may be repeated).")
]


Exclude = Annotated[
    list[str] | None, typer.Option(metavar="RE", help="No URLs that match (RE2, may be repeated).")
]


ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings in YAML.")]


ProfileOption = Annotated[
    Profile | None, typer.Option(help="Settings that come with orbweb, below all others. none: take it back.")
]


SeedsFile = Annotated[
    Path | None, typer.Option("--seeds", metavar="FILE", help="Base URLs, one a line, instead of URL...")
]


UserAgent = Annotated[str | None, typer.Option(metavar="UA", help="Who we say we are; name a contact.")]


Headers = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="'NAME: VALUE'",
        help="Sent to the origins of the base URLs only. A secret is $NAME of an environment variable; "
        "'NAME:' takes a stored header back. May be repeated.",
    ),
]


Resolve = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST:PORT:ADDR[:PORT]", help="Pin a host to an address (tests, staging)."),
]


AllowPrivate = Annotated[
    bool | None,
    typer.Option(
        "--allow-private/--no-allow-private", help="Links may lead to addresses that are not public [no]."
    ),
]


OrderOption = Annotated[
    Order | None, typer.Option(help="strict: one order for the run [default]. relaxed: one order per host.")
]


ResourcesOption = Annotated[
    ResourceMode | None,
    typer.Option(help="Scripts, styles, images, fonts: visit them too (check), keep them (store) [off]."),
]


SitemapOption = Annotated[
    SitemapMode | None, typer.Option(help="auto: read sitemaps too [default]. only: follow no links. off: none.")
]


Store = Annotated[StoreLayout | None, typer.Option(help="How bodies are kept [segments].")]


Refresh = Annotated[
    bool, typer.Option("--refresh", help="Reuse nothing that earlier runs captured: fetch every page anew.")
]


MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port", metavar="N", min=0, max=65535, help="Serve counters for Prometheus there; 0: any port."
    ),
]


Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="WHAT",
        help="Allow what came with the workspace, by the words of the refusal, such as "
        "'$SITE_TOKEN=https://example.org'. Remembered on this machine. May be repeated.",
    ),
]


NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress on stderr.")]


@contextmanager
def open_workspace(path: Path, *, create: bool = False) -> Iterator[Workspace]:
    from orbweb.app.control import opened

    with opened(path, create=create) as workspace:
        yield workspace


def project_and_url(command: str, words: list[str], path: Path) -> tuple[str, str]:
    """What a command is asked about. Without a project it is the workspace's only one, and that is told."""
    if len(words) == 2:
        return words[0], words[1]
    if len(words) > 2:
        raise UsageError(f"{words[2]!r} is a word too many: `orbweb {command} PROJECT URL`")
    from orbweb.store import runs

    with open_workspace(path) as opened:
        names = [project.name for project in runs.projects(opened.db)]
    if words[0] in names:
        raise UsageError(f"say which URL of project {words[0]!r}: `orbweb {command} {words[0]} URL`")
    if len(names) != 1:
        there = f"has {', '.join(names)}" if names else "has none yet"
        raise UsageError(f"name the project first: `orbweb {command} PROJECT {words[0]}`; {path} {there}")
    typer.echo(f"project {names[0]}", err=True)
    return names[0], words[0]


def given(**options: Any) -> dict[str, Any]:
    """Options that were given, as nested settings: `limits__rate` is the key `rate` of `limits`."""
    settings: dict[str, Any] = {}
    for name, value in options.items():
        if value is None or value == []:
            continue
        section, _, key = name.rpartition("__")
        (settings.setdefault(section, {}) if section else settings)[key] = None if value == "none" else value
    return settings


def rate_of(text: str | None) -> float | str | None:
    if text is None or text == "max":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--rate {text!r}: give requests per second, such as 2 or 0.5, or max") from None


def limit_of(option: str, text: str | None) -> int | str | None:
    """A number, or `none`, which takes back the limit a project has stored."""
    if text is None or text == "none":
        return text
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise UsageError(f"{option} {text[:MOST_DIGITS]!r}: give a whole number, or none for no limit")
    return int(text)


def headers_of(given: list[str] | None) -> dict[str, str | None] | None:
    """Each as NAME: VALUE. What is wrong is not quoted, for it may be a secret."""
    found: dict[str, str | None] = {}
    for number, text in enumerate(given or (), 1):
        name, colon, value = text.partition(":")
        if not (colon and name.strip()):
            raise UsageError(f"--header number {number} is not 'NAME: VALUE'")
        found[name.strip().lower()] = value.strip() or None
    return found or None


def pace(budget: str | None, workers: int | None, processes: int | None, rate: str | None) -> dict[str, Any]:
    """The settings that may be changed when a project is crawled further."""
    return given(
        limits__budget=limit_of("--budget", budget),
        limits__workers=workers,
        limits__rate=rate_of(rate),
        engine__processes=processes,
    )
