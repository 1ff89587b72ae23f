"""Commands that steer a project: status, pause, unpause, stop, finish, queue, retry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orbweb.cli import output
from orbweb.cli.options import DEFAULT_WORKSPACE, AsJson, ProjectName, WorkspaceDir, open_workspace
from orbweb.errors import UsageError

app = typer.Typer()


@app.command()
def status(
    project: Annotated[str | None, typer.Argument(metavar="[PROJECT]", help="All if not given.")] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Say where a project stands, and whether a crawl is running."""
    from orbweb.cli.output.crawls import status_text, statuses_text

    with open_workspace(workspace) as opened:
        if project is None:
            output.emit(opened.statuses(), statuses_text, as_json=as_json)
        else:
            output.emit(opened.status(project), status_text, as_json=as_json)


@app.command()
def pause(project: ProjectName, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Hold the running crawl: no new request until `unpause`."""
    _tell("pause", project, workspace)
    output.say(f"{project}: held; `orbweb unpause {project}` goes on")


@app.command()
def unpause(project: ProjectName, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Let a held crawl go on."""
    _tell("unpause", project, workspace)
    output.say(f"{project}: going on")


@app.command()
def stop(project: ProjectName, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Stop the running crawl; what is under way is finished, the rest stays queued."""
    with open_workspace(workspace) as opened:
        ended = opened.stop(project)
    output.say(f"{project}: {'stopped' if ended else 'asked to stop, still finishing what is under way'}")


@app.command()
def finish(project: ProjectName, as_json: AsJson = False, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Complete the run by hand: what is queued is skipped."""
    from orbweb.cli.output.crawls import status_text

    with open_workspace(workspace) as opened:
        output.emit(opened.finish(project), status_text, as_json=as_json)


@app.command()
def queue(
    project: ProjectName,
    clear: Annotated[bool, typer.Option("--clear", help="Give up what is queued; completes the run.")] = False,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Queue parked URLs: the family with this pattern, or those in which this RE2 pattern is found.",
        ),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Show what is queued, by source, what is next, and what is parked as a trap."""
    from orbweb.cli.output.crawls import queue_text

    if clear and release is not None:
        raise UsageError("--clear gives up what --release queues: use one of them")
    with open_workspace(workspace) as opened:
        if release is not None:
            typer.echo(f"{opened.release(project, release)} parked URLs queued", err=True)
        if clear:
            typer.echo(f"{opened.clear_queue(project)} queued URLs given up", err=True)
        output.emit(opened.queue(project), queue_text, as_json=as_json)


@app.command()
def retry(
    project: ProjectName,
    kind: Annotated[str | None, typer.Option(help="Only failures of this kind, such as timeout.")] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Queue failed URLs again; `resume` then visits them."""
    from orbweb.app import retry as queue_again
    from orbweb.cli.output.crawls import retry_text

    with open_workspace(workspace) as opened:
        number = queue_again(opened, project, kind)
    output.emit({"project": project, "queued": number}, retry_text, as_json=as_json)


def _tell(verb: str, project: str, path: Path) -> None:
    from orbweb.engine.control import Command

    with open_workspace(path) as opened:
        opened.tell(project, Command(verb))
