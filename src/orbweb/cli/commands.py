"""Every command, in the order of `orbweb --help`. docs/reference/cli.md is generated from here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from typer.main import get_command_name
from typer.models import CommandInfo

from orbweb import __version__
from orbweb.cli import control, crawl, export, pipeline, reports, workspace

GROUPS = (crawl, pipeline, control, reports, export, workspace)

app = typer.Typer(
    help="Turn websites into a durable, deduplicated, searchable local archive.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.registered_commands = [command for group in GROUPS for command in group.app.registered_commands]


@contextmanager
def only(names: list[str]) -> Iterator[typer.Typer]:
    """The app with only the named command, or with all of them if there is none of that name.

    Typer reads options from signatures, which for all commands takes longer than most commands.
    """
    every = app.registered_commands
    app.registered_commands = [each for each in every if _name(each) in names] or every
    try:
        yield app
    finally:
        app.registered_commands = every


def _name(command: CommandInfo) -> str | None:
    return command.name or (get_command_name(command.callback.__name__) if command.callback else None)


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
