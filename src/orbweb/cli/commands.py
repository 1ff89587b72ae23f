"""Every command, in the order of `orbweb --help`. The reference and the man page are generated from here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.main import get_command, get_command_name
from typer.models import CommandInfo

from orbweb import __version__
from orbweb.cli import completion, control, crawl, export, overview, pipeline, reports, serve, workspace
from orbweb.cli.options import completed
from orbweb.cli.overview import Line

MODULES = (crawl, pipeline, control, reports, export, serve, workspace, completion)

app = typer.Typer(
    help=overview.INTRODUCTION,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def name_of(command: CommandInfo) -> str:
    return command.name or get_command_name(command.callback.__name__ if command.callback else "")


def _all() -> list[CommandInfo]:
    """The commands of all modules, in the order of the groups; others come last."""
    found = {name_of(command): command for module in MODULES for command in module.app.registered_commands}
    for command in found.values():
        if command.callback is not None:
            command.callback = completed(command.callback)
    return [found[name] for name in dict.fromkeys((*overview.ordered(found), *found))]


app.registered_commands = _all()


def lines() -> list[Line]:
    """Every command and its summary."""
    return [
        Line(name_of(command), overview.summary(command.callback.__doc__))
        for command in app.registered_commands
        if command.callback is not None
    ]


@contextmanager
def only(names: list[str]) -> Iterator[typer.Typer]:
    """The app with only the named command, or with all of them if there is none of that name.

    Typer reads options from signatures, which for all commands takes longer than most commands.
    """
    every = app.registered_commands
    app.registered_commands = [each for each in every if name_of(each) in names] or every
    try:
        yield app
    finally:
        app.registered_commands = every


def built(name: str) -> Any:
    """The command as typer builds it; None if there is none of that name."""
    with only([name]) as found:
        group: Any = get_command(found)
    return group.commands.get(name)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"orbweb {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version.")
    ] = False,
) -> None:
    """Turn websites into a durable, deduplicated, searchable local archive."""
