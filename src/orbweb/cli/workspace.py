"""Commands about the policy and the workspace: validate-policy, configure, reset, delete, rename, doctor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbweb.app import options_of
from orbweb.cli import WORKSPACE_VARIABLE, choose_workspace, output
from orbweb.cli.options import DEFAULT_WORKSPACE, AsJson, FullProjectName, NoProgress, WorkspaceDir, takes
from orbweb.errors import UsageError

if TYPE_CHECKING:
    from orbweb.app import Deletion

app = typer.Typer()

PROFILES = next(option.choices for option in options_of("crawl") if option.name == "profile")


@app.command("validate-policy")
@takes("validate_policy")
def validate_policy(
    urls: Annotated[list[str] | None, typer.Argument(metavar="URL...", help="URLs to judge.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--urls", metavar="FILE", help="File of URLs, one per line, each optionally after allow or deny."
        ),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Show the verdict of the policy on URLs.

    Each with the rule, the page type, its groups and what is left of their caps. URLs are judged in order, so caps
    count down. Without --config and --profile, the orbweb.yaml of the workspace is used, if there is one. Exits
    with 3 if any verdict differs from the expected one.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.rules import rulings_text, wrong_text

    found = Workspace(workspace).validate_policy(urls or (), file=file, **options)
    output.emit(found, rulings_text, as_json=as_json)
    wrong = [ruling for ruling in found if ruling.wrong]
    for ruling in wrong:
        output.problem(f"orbweb: {wrong_text(ruling.report())}")
    raise typer.Exit(3 if wrong else 0)


@app.command()
def configure(
    profile: Annotated[str, typer.Option(metavar="|".join(PROFILES), help="Profile to copy.")] = PROFILES[0],
    directory: Annotated[
        Path,
        typer.Option(
            "--dir",
            "--workspace",
            envvar=WORKSPACE_VARIABLE,
            callback=choose_workspace,
            help="Workspace directory; created if missing.",
        ),
    ] = DEFAULT_WORKSPACE,
    force: Annotated[bool, typer.Option("--force", help="Replace orbweb.yaml and seeds.txt.")] = False,
    as_json: AsJson = False,
) -> None:
    """Prepare a workspace: settings, seeds and folders.

    Edit orbweb.yaml (settings) and seeds.txt (base URLs); `orbweb crawl` without a URL uses both.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import configured_text

    report = Workspace(directory).configure(profile=profile, force=force)  # type: ignore[arg-type]
    output.emit(report, configured_text, as_json=as_json)


@app.command()
def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Delete everything that was crawled.

    Database, bodies, logs, spool and state are deleted; settings and seeds stay. Asks for the name of the
    directory first. Exits with 5 while a crawl is running in it.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import reset_text

    def confirm() -> None:
        name = workspace.resolve().name
        output.note(
            f"This deletes everything crawled into {workspace.resolve()}. Type {name} to continue: ", nl=False
        )
        if sys.stdin.readline().strip() != name:
            raise UsageError(f"{name} was not typed; nothing was deleted")

    report = Workspace(workspace).reset(confirm=None if yes else confirm)
    output.emit(report, reset_text, as_json=as_json)


@app.command()
def delete(
    project: FullProjectName,
    run: Annotated[int | None, typer.Option("--run", min=1, help="Only this run [the whole project].")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Delete a project, or one run of it.

    Its rows, output files, search index and every stored body that no other run needs; other projects do not
    change. The discovery of a pipeline is deleted with it. Asks for the name of the project first. Exits with 5
    while a crawl is running in the workspace. If it is killed, run it again to finish.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import deleted_text, doomed_text

    def confirm(found: Deletion) -> None:
        doomed = doomed_text(found.report())
        if not sys.stdin.isatty():
            raise UsageError(f"confirm with --yes that {doomed} may be deleted; nothing was deleted")
        output.note(f"This deletes {doomed}. Type {project} to continue: ", nl=False)
        if sys.stdin.readline().strip() != project:
            raise UsageError(f"{project} was not typed; nothing was deleted")

    report = Workspace(workspace).delete(project, run=run, confirm=None if yes else confirm)
    output.emit(report, deleted_text, as_json=as_json)


@app.command()
def rename(
    project: FullProjectName,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Give a project another name.

    Its output files are renamed, and the discovery of a pipeline with it. Exits with 5 while it is crawled.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import renamed_text

    output.emit(Workspace(workspace).rename(project, name), renamed_text, as_json=as_json)


@app.command()
def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Quarantine what is damaged and queue its URLs again.")
    ] = False,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Find damage in a workspace, and repair it.

    Verifies database, bodies, links, counters, the spool and the output files of runs. Exit codes: 0 healthy or
    all repaired, 3 damage is left or data is lost, 5 a crawl is running in the workspace.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import doctor_text
    from orbweb.cli.progress import Display

    with Display(quiet=no_progress, what="record") as display:
        report = Workspace(workspace).doctor(repair=repair, on_progress=display.count)
    output.emit(report, doctor_text, as_json=as_json)
    raise typer.Exit(0 if report.healthy and not report.lost else 3)
