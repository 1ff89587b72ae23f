"""Commands that write files or read them: export, report, extract, replay, index, import."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from orbweb.cli import output, settle_memory
from orbweb.cli.options import (
    DEFAULT_WORKSPACE,
    AsJson,
    NoProgress,
    ProjectName,
    RunNumber,
    WorkspaceDir,
    takes,
)
from orbweb.errors import UsageError

app = typer.Typer()

OptionalProject = Annotated[
    str | None, typer.Argument(metavar="[PROJECT]", help="A project; required if several have stored pages.")
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
        ExportTo, typer.Option("--to", help="markdown, llms, files and state write a folder, the others one file.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="PATH", help="Folder or file to write; - writes jsonl and csv to stdout."),
    ],
    run: RunNumber = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="csv: do not escape cells that a spreadsheet would compute.")
    ] = False,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Write the pages of a run to files.

    Markdown with links between the files, JSON lines, CSV, bodies and more. Sends no requests. Repeat it to
    continue after an interruption, or to write what has changed since.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import export_text
    from orbweb.cli.progress import Display

    standard = str(out) == "-"
    if standard and as_json:
        raise UsageError("--json and --out - both write to standard output; use one of them")
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
            display.note(export_text(done.report()))
    if not standard:
        output.emit(done.report(), export_text, as_json=as_json)


@app.command()
def report(
    project: ProjectName,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write; - writes to stdout.")],
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Write a run as one HTML file for a browser.

    What was found, what failed and which pages link to it, what was skipped and by which rule, a map, and the
    changes since the run before. It opens offline, requests nothing, has no script and prints well. The same run
    gives the same bytes.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import report_text

    standard = str(out) == "-"
    if standard and as_json:
        raise UsageError("--json and --out - both write to standard output; use one of them")
    with output.to_reader() if standard else nullcontext():
        done = Workspace(workspace).write_report(project, out=sys.stdout.buffer if standard else out, run=run)
    if not standard:
        output.emit(done, report_text, as_json=as_json)


@app.command()
@takes("extract")
def extract(
    project: ProjectName,
    run: RunNumber = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Include pages that this version has extracted already.")
    ] = False,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Extract stored pages again, without requests.

    Uses the extractor of this version. Markdown, text and metadata of the pages change; pages, alternates and the
    manifest do not. Exit codes: 0 all extracted, 3 some failed and keep their old text, 4 stopped early, 5 locked
    by another process.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import extract_text
    from orbweb.cli.progress import Display

    settle_memory()
    with Display(quiet=no_progress) as display:
        done = Workspace(workspace).extract(
            project, run=run, everything=everything, on_progress=display.watch, note=display.note, **options
        )
    output.emit(done.report(), extract_text, as_json=as_json)
    raise typer.Exit(4 if done.left else 3 if done.failed else 0)


@app.command()
def replay(
    project: OptionalProject = None,
    run: RunNumber = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory to write to [the workspace].")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check every stored body against its hash.")] = False,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Rebuild the output files of a run, without requests.

    These are the pages table, the metadata, the link table and the Markdown. Pages of another extractor version
    are extracted again first. Exit codes: 0 success, 3 a body is damaged or cannot be extracted, 5 a crawl is
    running.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import replay_text
    from orbweb.cli.progress import Display

    settle_memory()
    with Display(quiet=no_progress, what="record") as display:
        report = Workspace(workspace).replay(project, run=run, out=out, verify=verify, on_progress=display.count)
    output.emit(report, replay_text, as_json=as_json)
    raise typer.Exit(3 if report.damaged or report.failed else 0)


@app.command()
def index(
    project: ProjectName,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """List the URLs that were fetched, with validators.

    Each with status, time, ETag, Last-Modified, hash and stored path. A later run uses them for conditional
    requests.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import index_text

    output.emit(list(Workspace(workspace).page_index(project, run=run)), index_text, as_json=as_json)


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Folder with the files of the state.")],
    project: Annotated[
        str | None, typer.Option(help="Project name [that of the state, or of the folder].")
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Base URL, if the files name none; may be repeated."),
    ] = None,
    bodies: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Stored bodies, aa/bb/HASH.html or .html.zst [bodies, html or store/html in PATH]."
        ),
    ] = None,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Import the state of a crawl from plain files.

    It becomes a new project with a paused run, which `resume` continues. Reads what is there of frontier.jsonl,
    page_index.jsonl, fetched_urls.txt, skipped.jsonl, robots_cache.jsonl and state.json, and of other crawlers
    frontier.lmdb, page_index.lmdb (both need orbweb[lmdb]) and seen/, in PATH or in PATH/state. What cannot be
    understood is named, and the rest is imported. Fetched URLs are not fetched again.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.files import import_text
    from orbweb.cli.progress import Display

    settle_memory()
    with Display(quiet=no_progress, what="visit") as display:
        report = Workspace(workspace).import_state(
            path, project=project, bases=base or (), bodies=bodies, on_progress=display.count
        )
    for problem in report.problems:
        output.note(problem)
    if report.unnamed_problems:
        output.note(f"and {report.unnamed_problems} more")
    output.emit(report, import_text, as_json=as_json)
