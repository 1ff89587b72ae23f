"""Commands about the rules of a crawl and the workspace it works in: validate-policy, configure, reset, doctor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from orbweb.cli import output
from orbweb.cli.options import DEFAULT_WORKSPACE, AsJson, ConfigFile, Profile, ProfileOption, WorkspaceDir
from orbweb.errors import UsageError

app = typer.Typer()


@app.command("validate-policy")
def validate_policy(
    urls: Annotated[list[str] | None, typer.Argument(metavar="URL...", help="URLs to judge.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--urls", metavar="FILE", help="URLs, one a line, each alone or after allow or deny."),
    ] = None,
    config: ConfigFile = None,
    profile: ProfileOption = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Say whether the policy lets URLs in, by which rule, their page types, groups and what is left of the caps.

    URLs are judged in order, so caps count down. Without --config and --profile: by orbweb.yaml of the workspace,
    if there is one. Exit code 3 if a URL is judged otherwise than the file says.
    """
    from orbweb.app import Request, validate_policy
    from orbweb.cli.output.rules import rulings_text, wrong_text

    settings = {} if profile is None else {"profile": None if profile is Profile.NONE else profile.value}
    found = validate_policy.validate(Request((), None, config, settings), urls or (), file, beside=workspace)
    output.emit(found, rulings_text, as_json=as_json)
    wrong = [ruling for ruling in found if ruling["wrong"]]
    for ruling in wrong:
        typer.echo(f"orbweb: {wrong_text(ruling)}", err=True)
    raise typer.Exit(3 if wrong else 0)


@app.command()
def configure(
    profile: Annotated[Profile, typer.Option(help="Which settings to begin with.")] = Profile.DOCS,
    directory: Annotated[
        Path,
        typer.Option("--dir", "--workspace", envvar="ORBWEB_WORKSPACE", help="The workspace; made if need be."),
    ] = DEFAULT_WORKSPACE,
    force: Annotated[bool, typer.Option("--force", help="Replace orbweb.yaml and seeds.txt.")] = False,
    as_json: AsJson = False,
) -> None:
    """Prepare a workspace: settings to edit (orbweb.yaml), base URLs to fill in (seeds.txt), and its folders.

    `orbweb crawl` without a URL then uses both files.
    """
    from orbweb.app import configure
    from orbweb.cli.output.files import configured_text

    if profile is Profile.NONE:
        raise UsageError("--profile none: there would be nothing to write; use docs, site or github")
    report = configure.configure(directory, profile.value, force=force)
    output.emit(report, configured_text, as_json=as_json)


@app.command()
def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Wipe all that crawls left in the workspace: database, bodies, logs, spool, state. Settings and seeds stay.

    Asks for the name of the directory first. Exit code 5 while a crawl is running in it.
    """
    from orbweb.app import configure
    from orbweb.cli.output.files import reset_text

    configure.check(workspace)
    name = workspace.resolve().name
    if (
        not yes
        and _typed(f"This wipes all that was crawled into {workspace.resolve()}. Type {name} to go on: ") != name
    ):
        raise UsageError(f"{name} was not typed; nothing was wiped")
    output.emit(configure.reset(workspace), reset_text, as_json=as_json)


def _typed(question: str) -> str:
    """What a person answers; nothing at the end of the input."""
    typer.echo(question, err=True, nl=False)
    return sys.stdin.readline().strip()


@app.command()
def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Set aside what is damaged and queue its URLs again.")
    ] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Verify database, bodies, links, counters, the spool and the tables of runs, and name each damage.

    Exit codes: 0 healthy or all repaired, 3 damage is left or something is lost for good, 5 a crawl is running in
    the workspace.
    """
    from orbweb import app as application
    from orbweb.cli.output.files import doctor_text

    report = application.doctor(workspace, mend=repair)
    output.emit(report, doctor_text, as_json=as_json)
    raise typer.Exit(0 if report["healthy"] and not report["lost"] else 3)
