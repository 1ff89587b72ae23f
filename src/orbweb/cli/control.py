"""Commands that control a project: status, pause, unpause, stop, finish, queue, retry."""

from __future__ import annotations

from typing import Annotated

import typer

from orbweb.cli import output
from orbweb.cli.options import (
    DEFAULT_WORKSPACE,
    AsJson,
    FullProjectName,
    ProjectName,
    ProjectOrAll,
    RunningProject,
    WorkspaceDir,
)
from orbweb.errors import UsageError, call

app = typer.Typer()


@app.command()
def status(
    project: ProjectOrAll = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Show the state of a project and of its crawl."""
    from orbweb.app import Workspace
    from orbweb.cli.output.crawls import one_status_text, statuses_text

    if project is None:
        output.emit(Workspace(workspace).statuses(), statuses_text, as_json=as_json)
    else:
        output.emit(Workspace(workspace).status(project), one_status_text, as_json=as_json)


@app.command()
def pause(project: RunningProject, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Pause the running crawl; in-flight requests finish."""
    from orbweb.app import Workspace

    Workspace(workspace).pause(project)
    output.line(f"{project}: on hold; continue with {call('unpause', project)}")


@app.command()
def unpause(project: RunningProject, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Let a crawl that is on hold continue."""
    from orbweb.app import Workspace

    Workspace(workspace).unpause(project)
    output.line(f"{project}: continuing")


@app.command()
def stop(project: RunningProject, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Stop the running crawl; the rest stays queued.

    In-flight requests finish.
    """
    from orbweb.app import Workspace

    ended = Workspace(workspace).stop(project)
    output.line(f"{project}: {'stopped' if ended else 'stopping, requests are still in flight'}")


@app.command()
def finish(project: FullProjectName, as_json: AsJson = False, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Complete the run: queued URLs are skipped."""
    from orbweb.app import Workspace
    from orbweb.cli.output.crawls import status_text

    output.emit(Workspace(workspace).finish(project), status_text, as_json=as_json)


@app.command()
def queue(
    project: ProjectName,
    clear: Annotated[bool, typer.Option("--clear", help="Skip all queued URLs; completes the run.")] = False,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Queue parked URLs: the family with this pattern, or those that match this RE2 pattern.",
        ),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Show what is queued, what is next and what is parked.

    URLs are parked if they look like a crawler trap, such as a calendar.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.crawls import queue_text

    if clear and release is not None:
        raise UsageError("--clear would skip what --release queues; use one of them")
    opened = Workspace(workspace)
    if release is not None:
        output.note(f"{opened.release(project, release)} parked URLs queued")
    if clear:
        output.note(f"{opened.clear_queue(project)} queued URLs skipped")
    output.emit(opened.queue(project), queue_text, as_json=as_json)


@app.command()
def retry(
    project: ProjectName,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only failures of this kind, such as timeout.")
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Queue failed URLs again; `resume` then visits them."""
    from orbweb.app import Workspace
    from orbweb.cli.output.crawls import retry_text

    number = Workspace(workspace).retry(project, kind=kind)
    output.emit({"project": project, "queued": number}, retry_text, as_json=as_json)
