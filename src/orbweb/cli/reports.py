"""Commands that tell what a run has found: runs, pages, show, search, diff, explain, failed, manifest."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbweb.cli import output
from orbweb.cli.options import (
    DEFAULT_WORKSPACE,
    AsJson,
    NoProgress,
    ProjectName,
    RunNumber,
    UrlOfProject,
    WorkspaceDir,
    open_workspace,
    project_and_url,
)
from orbweb.errors import UsageError

if TYPE_CHECKING:
    from orbweb.model import Document
    from orbweb.parsing.http_heads import Exchange

app = typer.Typer()


class ShowAs(StrEnum):
    """The choices of show --as."""

    MARKDOWN = "markdown"
    TEXT = "text"
    HTML = "html"
    HEAD = "head"
    META = "meta"


@app.command()
def runs(project: ProjectName, as_json: AsJson = False, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Show the runs of a project with their crawls."""
    from orbweb.cli.output.crawls import runs_text

    with open_workspace(workspace) as opened:
        output.emit(opened.runs(project), runs_text, as_json=as_json)


@app.command()
def pages(
    project: ProjectName,
    run: RunNumber = None,
    near: Annotated[
        bool, typer.Option("--near-duplicates", help="Only pages that say nearly the same, in groups.")
    ] = False,
    within: Annotated[
        int, typer.Option(min=0, max=64, metavar="BITS", help="How much two may differ, of 64 bits.")
    ] = 6,
    gone: Annotated[
        bool, typer.Option("--gone", help="Instead, the pages that have vanished, and since when.")
    ] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """List the unique pages of a run, with their alternates, words and tokens."""
    from orbweb.cli.output.pages import gone_text, near_text, pages_text

    if gone and near:
        raise UsageError("--gone lists what has vanished, --near-duplicates what is there: use one of them")
    with open_workspace(workspace) as opened:
        if gone:
            output.emit(opened.gone(project, run), gone_text, as_json=as_json)
        elif near:
            output.emit(opened.near_duplicates(project, run, within=within), near_text, as_json=as_json)
        else:
            output.emit(opened.pages(project, run), pages_text, as_json=as_json)


@app.command()
def show(
    words: UrlOfProject,
    show_as: Annotated[
        ShowAs,
        typer.Option(
            "--as",
            help="markdown, text: what was read out of the page. html: the stored body. head: the headers sent "
            "and received. meta: what is known.",
        ),
    ] = ShowAs.META,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Show one URL: its Markdown, text, stored body or headers, or everything known about it.

    A pipe gets exactly what is kept, a terminal no control characters. An alternate shows the page it belongs to.
    Exit code 3 if the run never saw the URL or kept no page of it.
    """
    from orbweb.cli.output.urls import url_text
    from orbweb.library import Workspace

    if as_json and show_as is not ShowAs.META:
        raise UsageError(f"--json goes with --as meta, not with --as {show_as.value}")
    project, url = project_and_url("show", words, workspace)
    opened = Workspace(workspace)
    report = opened.show(project, url, run=run)
    if report is None:
        typer.echo(f"orbweb: {_told(url)} is not known in this run of {project}", err=True)
        raise typer.Exit(3)
    if show_as is ShowAs.META:
        output.emit(report, url_text, as_json=as_json)
    elif show_as is ShowAs.HEAD:
        _write_head(opened.head(project, url, run=run), report)
    elif show_as is ShowAs.HTML and report.get("body_sha256"):
        output.write(opened.body(report["body_sha256"]), report["encoding"] or "utf-8")
    else:
        _write_document(opened.document(project, url, run=run), report, show_as)


def _told(url: str) -> str:
    """A URL that the user typed, as it may be repeated: without a password."""
    from orbweb import urls

    return urls.shown(url)


def _write_head(found: Exchange | None, report: dict[str, Any]) -> None:
    """The head of the request, then that of the response; exit code 3 where there are none."""
    if found is None:
        typer.echo(f"orbweb: no head is stored of {report['url']}: {_why_no_head(report)}", err=True)
        raise typer.Exit(3)
    output.write(found.request + found.response, "latin-1")


def _why_no_head(report: dict[str, Any]) -> str:
    from orbweb.cli.output.urls import why_no_page

    if report.get("reuse") == "cached":
        return "it was taken from an earlier run without a request"
    if report["state"] == "visited":
        return "it was visited by an earlier version of orbweb, or imported"
    return why_no_page(report)


def _write_document(document: Document | None, report: dict[str, Any], show_as: ShowAs) -> None:
    """The text of a page on stdout; where there is none, why, and exit code 3."""
    from orbweb.cli.output.urls import why_no_page

    if document is None or show_as is ShowAs.HTML:
        what = "body" if show_as is ShowAs.HTML else "page"
        typer.echo(f"orbweb: no {what} is kept of {report['url']}: {why_no_page(report)}", err=True)
        raise typer.Exit(3)
    if report["role"] == "alternate":
        typer.echo(f"an alternate of {report['primary']}", err=True)
    text = document.markdown if show_as is ShowAs.MARKDOWN else document.text
    output.write(text.encode("utf-8", "replace"))


@app.command()
def search(
    project: ProjectName,
    query: Annotated[
        list[str], typer.Argument(metavar="QUERY...", help='Words, "a phrase", a beginning*, and -not these.')
    ],
    run: RunNumber = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Results at most.")] = 20,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Find pages by their words, the best first. The first search after a crawl indexes what is new.

    Exit code 3 if nothing is found.
    """
    from orbweb.cli.output.pages import search_text
    from orbweb.cli.progress import Steps
    from orbweb.library import Workspace

    with Steps("pages indexed", quiet=no_progress) as steps:
        found = Workspace(workspace).search(
            project, " ".join(query), run=run, limit=limit, on_progress=steps.watch
        )
    output.emit(found, search_text, as_json=as_json)
    raise typer.Exit(0 if found else 3)


@app.command()
def diff(
    project: ProjectName,
    old: Annotated[int | None, typer.Argument(metavar="RUN", help="The earlier run.")] = None,
    new: Annotated[int | None, typer.Argument(metavar="RUN", help="The later run; the latest.")] = None,
    stat: Annotated[bool, typer.Option("--stat", help="How many lines of each page changed, not which.")] = False,
    noise: Annotated[
        bool, typer.Option("--noise", help="Dates, counters and tokens count as changes too.")
    ] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if there are differences.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Show what changed between two runs: the latest and the one before it, unless others are named."""
    from orbweb.cli.output.diff import diff_text
    from orbweb.store.queries.diff import differs

    with open_workspace(workspace) as opened:
        report = opened.diff(project, old, new, keep_noise=noise)
    if stat:
        report["changed"] = [{name: page[name] for name in page if name != "diff"} for page in report["changed"]]
    output.emit(report, diff_text, as_json=as_json)
    if exit_code and differs(report):
        raise typer.Exit(1)


@app.command()
def explain(
    words: UrlOfProject,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Say why a URL was visited, refused, failed or is still queued, by which rule, and who links to it.

    For a URL that the run never saw: what the settings would say about it now, and exit code 3.
    """
    from orbweb.cli.output.urls import explain_text
    from orbweb.library import Workspace

    project, url = project_and_url("explain", words, workspace)
    report = Workspace(workspace).explain(project, url, run=run)
    output.emit(report, explain_text, as_json=as_json)
    if report["state"] == "unknown":
        typer.echo(f"orbweb: {_told(url)} is not known in run {report['run']} of {project}", err=True)
        raise typer.Exit(3)


@app.command()
def failed(
    project: ProjectName,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """List the URLs that failed, and why."""
    from orbweb.cli.output.pages import failed_text

    with open_workspace(workspace) as opened:
        output.emit(opened.failed(project, run), failed_text, as_json=as_json)


@app.command()
def manifest(
    project: ProjectName,
    run: RunNumber = None,
    show_hash: Annotated[bool, typer.Option("--hash", help="One SHA-256 over the lines.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Print one line per visit, in order: place, url, status, body sha256, content sha256, role, truncated|-."""
    with open_workspace(workspace) as opened:
        if show_hash:
            digest = opened.manifest_hash(project, run)
            output.emit({"project": project, "sha256": digest}, lambda report: report["sha256"], as_json=as_json)
        else:
            output.manifest(opened.manifest(project, run), as_json=as_json)
