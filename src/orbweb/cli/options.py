"""The options of commands. Those of the verbs come from the table in `orbweb.app`; the rest are here.

`takes` adds the options of a verb, `completed` what every command has: `--quiet`, and a PROJECT that may be
omitted or abbreviated.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from orbweb.app import Kind, Option, options_of
from orbweb.cli import DEFAULT_PLACE, WORKSPACE_VARIABLE, choose_workspace, output, project_names
from orbweb.errors import UsageError

DEFAULT_WORKSPACE = Path(DEFAULT_PLACE)
MOST_DIGITS = 30
NONE = "none"
"""Removes a stored value."""

ProjectName = Annotated[
    str,
    typer.Argument(
        metavar="PROJECT", help="A project, or the beginning of its name; the only project may be omitted."
    ),
]

RunningProject = Annotated[
    str,
    typer.Argument(
        metavar="PROJECT", help="A project, or the beginning of its name; the only one running may be omitted."
    ),
]

FullProjectName = Annotated[str, typer.Argument(metavar="PROJECT", help="A project; its whole name.")]

ProjectOrAll = Annotated[
    str | None, typer.Argument(metavar="[PROJECT]", help="A project, or the beginning of its name [all].")
]

UrlOfProject = Annotated[
    list[str],
    typer.Argument(metavar="[PROJECT] URL", help="A project and a URL; the only project may be omitted."),
]

WorkspaceDir = Annotated[
    Path,
    typer.Option(
        "--workspace",
        metavar="DIR",
        envvar=WORKSPACE_VARIABLE,
        callback=choose_workspace,
        help="Directory that holds everything.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

RunNumber = Annotated[int | None, typer.Option("--run", min=1, metavar="N", help="Run number [the latest].")]

NoProgress = Annotated[bool, typer.Option("--no-progress", help="Show no progress on stderr.")]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")]

Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print each URL as it is visited: status, time, size.")
]

_LAST = ("no_progress", "verbose", "as_json", "workspace")
_METAVARS = {
    Kind.LIMIT: f"N|{NONE}",
    Kind.RATE: "R|max",
    Kind.HEADERS: "'NAME: VALUE'",
    Kind.FILE: "FILE",
    Kind.INTEGER: "N",
}


def completed(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--quiet`, and let PROJECT be omitted or abbreviated. A chosen project is printed."""
    signed = inspect.signature(command, eval_str=True).parameters
    chosen = signed["project"].annotation if "project" in signed else None
    optional = chosen in (ProjectName, RunningProject)

    @wraps(command)
    def called(*, quiet: bool, **given: Any) -> None:
        with output.quieted(quiet):
            if optional or (chosen == ProjectOrAll and given["project"] is not None):
                given["project"] = _project(given, running=chosen == RunningProject)
            command(**given)

    parameters = [_optional(each) if optional and each.name == "project" else each for each in signed.values()]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    quiet = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    at = next((at for at, each in enumerate(parameters) if each.name in _LAST), len(parameters))
    called.__signature__ = inspect.Signature([*parameters[:at], quiet, *parameters[at:]])  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in (*parameters, quiet)}
    return called


def _optional(parameter: inspect.Parameter) -> inspect.Parameter:
    kind, info = parameter.annotation.__origin__, parameter.annotation.__metadata__[0]
    return parameter.replace(default=None, annotation=Annotated[kind | None, info])


def _project(given: Mapping[str, Any], *, running: bool) -> str:
    """The project that is meant. What cannot be undone takes its whole name."""
    word = given["project"]
    if given.get("clear"):
        if word is None:
            raise UsageError("--clear needs the name of the project")
        return str(word)
    return announced(word, project_names.resolve(word, given["workspace"], running=running))


def announced(word: str | None, name: str) -> str:
    """The name, which is printed if it was not typed in full."""
    if word != name:
        output.note(f"project {name}")
    return name


def takes(verb: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of a verb. Its `**options` are those that were given, as in a call from Python."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        *signed, _ = inspect.signature(command, eval_str=True).parameters.values()
        own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signed]
        table = {option.name: option for option in options_of(verb)}

        @wraps(command)
        def called(**given: Any) -> None:
            options = plain({table[name]: given.pop(name) for name in table})
            command(**given, **options)

        ordered = [each for each in own if each.name not in _LAST]
        ordered += map(_parameter, table.values())
        ordered += [each for each in own if each.name in _LAST]
        called.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in ordered}
        return called

    return with_options


@cache
def _parameter(option: Option) -> inspect.Parameter:
    """An option of the table as typer reads it from a signature."""
    kind: Any = {
        Kind.INTEGER: int,
        Kind.FLAG: bool,
        Kind.SWITCH: bool,
        Kind.TEXTS: list[str],
        Kind.HEADERS: list[str],
        Kind.FILE: Path,
    }.get(option.kind, str)
    if option.kind is Kind.CHOICE:
        kind = _enum(option.name, choices(option))
    least, most = option.between or (None, None)
    flag = f"{option.flag}/--no-{option.flag.removeprefix('--')}" if option.kind is Kind.SWITCH else option.flag
    metavar = option.metavar or _METAVARS.get(option.kind)
    info = typer.Option(flag, metavar=metavar, min=least, max=most, help=option.help)
    default = False if option.kind is Kind.FLAG else None
    hint: Any = Annotated[kind if default is False else kind | None, info]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _enum(name: str, values: tuple[str, ...]) -> Any:
    return StrEnum(name, {value.upper(): value for value in values})


def choices(option: Option) -> tuple[str, ...]:
    return (*option.choices, NONE) if option.removable else option.choices


def plain(given: Mapping[Option, Any]) -> dict[str, Any]:
    """The options that were given, with the values that a program would give."""
    return {
        option.name: _value(option, value)
        for option, value in given.items()
        if value is not None and value != [] and not (option.kind is Kind.FLAG and not value)
    }


def _value(option: Option, value: Any) -> Any:
    if option.kind is Kind.LIMIT:
        return _limit(option.flag, value)
    if option.kind is Kind.RATE:
        return _rate(value)
    if option.kind is Kind.HEADERS:
        return _headers(value)
    if option.kind is Kind.CHOICE:
        return None if value == NONE else str(value)
    return value


def seeded(urls: list[str] | None, options: dict[str, Any]) -> list[str]:
    """The base URLs that were given. `--seeds -`, which is removed from the options, means those of standard
    input."""
    given = urls or []
    if str(options.get("seeds")) != "-":
        return given
    if given:
        raise UsageError("give either URLs or --seeds, not both")
    del options["seeds"]
    return urls_from_stdin("--seeds -: ")


def urls_from_stdin(name: str = "") -> list[str]:
    """One URL per line; a # at the start of a word begins a comment, and a host alone means https."""
    try:
        texts = [re.sub(r"(^|\s)#.*", "", line).strip() for line in sys.stdin]
    except UnicodeDecodeError:
        raise UsageError(f"{name}standard input is not UTF-8 text") from None
    if not any(texts):
        raise UsageError(f"{name}standard input has no URL; write one per line, such as https://example.org/docs/")
    return [text if "://" in text else f"https://{text}" for text in texts if text]


def _rate(text: str) -> float | str:
    if text == "max":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--rate {text!r}: give requests per second, such as 2 or 0.5, or max") from None


def _limit(flag: str, text: str) -> int | None:
    if text == NONE:
        return None
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise UsageError(f"{flag} {text[:MOST_DIGITS]!r}: give a whole number, or {NONE} for no limit")
    return int(text)


def _headers(given: list[str]) -> dict[str, str | None]:
    """Each as NAME: VALUE. A malformed one is not quoted, because it may be a secret."""
    found: dict[str, str | None] = {}
    for number, text in enumerate(given, 1):
        name, colon, value = text.partition(":")
        if not (colon and name.strip()):
            raise UsageError(f"--header number {number} is not 'NAME: VALUE'")
        found[name.strip().lower()] = value.strip() or None
    return found


def project_and_url(command: str, words: list[str], path: Path) -> tuple[str, str]:
    """The arguments of a command about one URL. Without a project it is the only one, which is printed."""
    if len(words) > 2:
        raise UsageError(f"unexpected argument {words[2]!r}; usage: orbweb {command} PROJECT URL")
    if len(words) == 2:
        return announced(words[0], project_names.resolve(words[0], path)), words[1]
    from orbweb.app import Workspace

    names = Workspace(path).projects()
    if words[0] in names:
        raise UsageError(f"missing URL of project {words[0]!r}; usage: orbweb {command} {words[0]} URL")
    if len(names) != 1:
        there = f"has {project_names.listed(names)}" if names else "has none yet"
        raise UsageError(f"missing project; usage: orbweb {command} PROJECT {words[0]} ({path} {there})")
    return announced(None, names[0]), words[0]


def project_and_words(
    words: list[str], path: Path, is_other: Callable[[str], bool] = lambda _word: True
) -> tuple[str, list[str]]:
    """A project and other words. The only project may be omitted before a word that `is_other`; there only its
    whole name counts."""
    from orbweb.app import Workspace

    names = Workspace(path).projects()
    if len(names) == 1 and words[:1] != names and (not words or is_other(words[0])):
        return announced(None, names[0]), words
    name = project_names.chosen(words[0] if words else None, names, path)
    return announced(words[0], name), words[1:]
