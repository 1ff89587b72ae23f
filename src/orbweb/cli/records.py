"""Files that are made of the database, and the state of a crawl as files: replay, import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orbweb.cli import output, settle_memory
from orbweb.cli.commands import DEFAULT_WORKSPACE, AsJson, NoProgress, RunNumber, WorkspaceDir, app

OptionalProject = Annotated[
    str | None, typer.Argument(metavar="[PROJECT]", help="A project of the workspace; needed if it has several.")
]


@app.command()
def replay(
    project: OptionalProject = None,
    run: RunNumber = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write there; the workspace itself if not given.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check every stored body against its hash.")] = False,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Make the pages table, the metadata, the link table and the Markdown of a run again, without any request.

    Pages that another extractor read are read again from their stored bodies first. Exit codes: 0 all is well, 3 a
    body is damaged or cannot be read, 5 a crawl is running.
    """
    from orbweb import app as application
    from orbweb.cli.progress import Steps
    from orbweb.library import Workspace

    settle_memory()
    with Steps("records", quiet=no_progress) as steps:
        report = Workspace(workspace).replay(project, run=run, out=out, verify=verify, on_progress=steps.watch)
    output.emit(report, output.replay_text, as_json=as_json)
    raise typer.Exit(application.replay_code(report))
