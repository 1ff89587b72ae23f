"""Files that are made of the database, and the state of a crawl as files: replay, index, import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orbweb.cli import output, settle_memory
from orbweb.cli.commands import DEFAULT_WORKSPACE, AsJson, NoProgress, ProjectName, RunNumber, WorkspaceDir, app

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


@app.command()
def index(
    project: ProjectName,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """List what is known of each URL that was asked for: status, time, ETag, Last-Modified, hash, stored path.

    By these a later run asks for a page only if it has changed.
    """
    from orbweb.library import Workspace

    output.emit(list(Workspace(workspace).page_index(project, run=run)), output.index_text, as_json=as_json)


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder with the files of the state.")],
    project: Annotated[
        str | None, typer.Option(help="The name it gets; that of the state, or of the folder, if not given.")
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Where the scope begins, if no file tells. May be repeated."),
    ] = None,
    bodies: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Stored bodies, aa/bb/HASH.html or .html.zst; PATH/bodies if not given."),
    ] = None,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Take over a crawl that is in plain files, as a new project with a paused run; `resume` goes on with it.

    Reads frontier.jsonl, page_index.jsonl, fetched_urls.txt, and skipped.jsonl and state.json if they are there. A
    bad line is named and nothing is imported. What was fetched is not fetched again.
    """
    from orbweb.cli.progress import Steps
    from orbweb.library import Workspace

    settle_memory()
    with Steps("visits", quiet=no_progress) as steps:
        report = Workspace(workspace).import_state(
            path, project=project, bases=base or (), bodies=bodies, on_progress=steps.watch
        )
    output.emit(report, output.import_text, as_json=as_json)
