"""Files made of the database, and the state of a crawl as files: export, extract, replay, index, import."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orbweb.cli import output, settle_memory
from orbweb.cli.options import (
    DEFAULT_WORKSPACE,
    AsJson,
    NoProgress,
    Processes,
    ProjectName,
    RunNumber,
    WorkspaceDir,
    given,
    open_workspace,
)
from orbweb.errors import UsageError

app = typer.Typer()

OptionalProject = Annotated[
    str | None, typer.Argument(metavar="[PROJECT]", help="A project; needed if several have anything stored.")
]


class ExportTo(StrEnum):
    """The choices of export --to."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    CSV = "csv"
    ZIP = "zip"
    LLMS = "llms"
    FILES = "files"
    STATE = "state"


@app.command()
def export(
    project: ProjectName,
    to: Annotated[
        ExportTo, typer.Option("--to", help="markdown, llms, files and state: a folder. Others: one file.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="PATH", help="The folder or the file; - writes jsonl and csv to stdout."),
    ],
    run: RunNumber = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="csv: cells as they are, also those that a spreadsheet would compute.")
    ] = False,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Write the pages of a run to files: Markdown with links between the files, JSON lines, CSV, bodies.

    Needs no network. Interrupted, it goes on when it is repeated; repeated later, it writes what has changed.
    """
    from dataclasses import asdict

    from orbweb.cli.output.files import export_text
    from orbweb.cli.progress import Display
    from orbweb.library import Workspace

    standard = str(out) == "-"
    if standard and as_json:
        raise UsageError("--json and --out - both write to standard output; leave one of them out")
    settle_memory()
    with Display(quiet=no_progress) as display, output.to_reader() if standard else nullcontext():
        done = Workspace(workspace).export(
            project,
            to=to.value,
            out=sys.stdout.buffer if standard else out,
            run=run,
            raw=raw,
            on_progress=display.count,
        )
        if standard:
            sys.stdout.flush()
        if standard and not no_progress:
            display.note(export_text(asdict(done)))
    if not standard:
        output.emit(asdict(done), export_text, as_json=as_json)


@app.command()
def extract(
    project: ProjectName,
    run: RunNumber = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what this extractor has read already.")] = False,
    processes: Processes = None,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Read stored pages again with the extractor of this version, without any request.

    Markdown, text and figures of the pages change; pages, alternates and the manifest stay as they are.
    Exit codes: 0 all read, 3 some could not be and keep what they had, 4 stopped with pages left, 5 busy.
    """
    from orbweb import app as application
    from orbweb.cli.output.files import extract_text
    from orbweb.cli.progress import Display

    settle_memory()
    request = application.Request((), project, None, given(engine__processes=processes))
    with open_workspace(workspace) as opened, Display(quiet=no_progress) as display:
        report = application.extract(
            opened, request, number=run, everything=everything, watch=display.watch, note=display.note
        )
    output.emit(report, extract_text, as_json=as_json)
    raise typer.Exit(application.extract_code(report))


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
    from orbweb.cli.output.files import replay_text
    from orbweb.cli.progress import Steps
    from orbweb.library import Workspace

    settle_memory()
    with Steps("records", quiet=no_progress) as steps:
        report = Workspace(workspace).replay(project, run=run, out=out, verify=verify, on_progress=steps.watch)
    output.emit(report, replay_text, as_json=as_json)
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
    from orbweb.cli.output.files import index_text
    from orbweb.library import Workspace

    output.emit(list(Workspace(workspace).page_index(project, run=run)), index_text, as_json=as_json)


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
    from orbweb.cli.output.files import import_text
    from orbweb.cli.progress import Steps
    from orbweb.library import Workspace

    settle_memory()
    with Steps("visits", quiet=no_progress) as steps:
        report = Workspace(workspace).import_state(
            path, project=project, bases=base or (), bodies=bodies, on_progress=steps.watch
        )
    output.emit(report, import_text, as_json=as_json)
