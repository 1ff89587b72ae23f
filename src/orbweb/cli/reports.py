"""Commands that report: runs, settings, pages, show, search, diff, explain, failed, manifest."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbweb.cli import output
from orbweb.cli.options import (
    DEFAULT_WORKSPACE,
    MOST_DIGITS,
    AsJson,
    NoProgress,
    ProjectName,
    RunNumber,
    UrlOfProject,
    WorkspaceDir,
    project_and_url,
    project_and_words,
    takes,
)
from orbweb.errors import UsageError

if TYPE_CHECKING:
    from orbweb.app import UrlDetails
    from orbweb.model import Document

app = typer.Typer()


class PageOrder(StrEnum):
    """The choices of pages --sort."""

    PLACE = "place"
    URL = "url"
    TITLE = "title"
    WORDS = "words"
    TOKENS = "tokens"
    BYTES = "bytes"
    DEPTH = "depth"


Match = Annotated[str | None, typer.Option(metavar="RE", help="Only URLs that match this RE2 pattern.")]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="List at most N.")]
NoPager = Annotated[bool, typer.Option("--no-pager", help="Print a long list without a pager.")]


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
    from orbweb.app import Workspace
    from orbweb.cli.output.crawls import runs_text

    output.emit(Workspace(workspace).runs(project), runs_text, as_json=as_json)


@app.command()
@takes("settings")
def settings(
    project: ProjectName,
    everything: Annotated[bool, typer.Option("--all", help="Show settings with their default value too.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Show the settings of a project and where they come from.

    Each with its value, its default and its source: a profile, the project (options stored by an earlier crawl), a
    file, an environment variable or this command line, as the next `crawl` would use it. `resume` and `recrawl`
    read no orbweb.yaml. Values that may be secrets are redacted.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.settings import settings_text

    report = Workspace(workspace).settings(project, **options)
    output.emit(report, lambda found: settings_text(found, everything=everything), as_json=as_json)


@app.command()
def pages(
    project: ProjectName,
    run: RunNumber = None,
    near: Annotated[
        bool, typer.Option("--near-duplicates", help="Only pages with nearly the same text, in groups.")
    ] = False,
    within: Annotated[
        int, typer.Option(min=0, max=64, metavar="BITS", help="Maximum difference between two, of 64 bits.")
    ] = 6,
    gone: Annotated[
        bool, typer.Option("--gone", help="List the pages that have vanished instead, and since when.")
    ] = False,
    match: Match = None,
    sort: Annotated[
        PageOrder, typer.Option(help="Order of the list; words, tokens and bytes from the largest down.")
    ] = PageOrder.PLACE,
    limit: Limit = None,
    no_pager: NoPager = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """List the unique pages of a run.

    Each with its alternates, words and tokens. A long list on a terminal is shown in $PAGER, or in less.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.pages import gone_text, near_text, pages_text

    if gone and near:
        raise UsageError("--gone and --near-duplicates list different pages; use one of them")
    if (gone or near) and (match is not None or limit is not None or sort is not PageOrder.PLACE):
        other = "--gone" if gone else "--near-duplicates"
        raise UsageError(f"{other} lists all of its pages in order; leave out --match, --sort and --limit")
    opened, paged = Workspace(workspace), not no_pager
    if gone:
        output.emit(opened.gone(project, run=run), gone_text, as_json=as_json, paged=paged)
    elif near:
        found = opened.near_duplicates(project, run=run, within=within)
        output.emit(found, near_text, as_json=as_json, paged=paged)
    else:
        listed = opened.pages(project, run=run, match=match, sort=sort.value, limit=limit)
        output.emit(listed, pages_text, as_json=as_json, paged=paged)


@app.command()
def show(
    words: UrlOfProject,
    show_as: Annotated[
        ShowAs,
        typer.Option(
            "--as",
            help="markdown or text: the extracted page. html: the stored body. head: the headers sent and received"
            ". meta: everything known about it.",
        ),
    ] = ShowAs.META,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Show one URL: its page, body, headers or metadata.

    A pipe receives the exact bytes; control characters are removed for a terminal. An alternate, or a URL
    that redirects to a page, shows that page.
    Exits with 3 if the run never saw the URL or stored no page of it.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.urls import url_text

    if as_json and show_as is not ShowAs.META:
        raise UsageError(f"--json goes with --as meta, not with --as {show_as.value}")
    project, url = project_and_url("show", words, workspace)
    opened = Workspace(workspace)
    report = opened.show(project, url, run=run)
    if report is None:
        output.problem(f"orbweb: {_redacted(url)} is not known in this run of {project}")
        raise typer.Exit(3)
    if show_as is ShowAs.META:
        output.emit(report, url_text, as_json=as_json)
    elif show_as is ShowAs.HEAD:
        head = opened.head(project, url, run=run)
        _write_head(None if head is None else head.request + head.response, report)
    elif show_as is ShowAs.HTML and report.body_sha256:
        output.write(opened.body(report.body_sha256), report.encoding or "utf-8")
    else:
        if report.needs_javascript:
            output.note(
                f"orbweb: this page needs JavaScript, which orbweb does not run yet: {report.needs_javascript}"
            )
        _write_document(opened.document(project, url, run=run), report, show_as)


def _redacted(url: str) -> str:
    """A URL that the user typed, without a password."""
    from orbweb.app import redacted

    return redacted(url)


def _write_head(head: bytes | None, report: UrlDetails) -> None:
    """The head of the request, then that of the response; exit code 3 if none is stored."""
    if head is None:
        output.problem(f"orbweb: no headers are stored for {report.url}: {_why_no_head(report)}")
        raise typer.Exit(3)
    output.write(head, "latin-1")


def _why_no_head(report: UrlDetails) -> str:
    from orbweb.cli.output.urls import why_no_page

    if report.reuse == "cached":
        return "it was reused from an earlier run without a request"
    if report.state == "visited":
        return "it was visited by an earlier version of orbweb, or imported"
    return why_no_page(report.report())


def _write_document(document: Document | None, report: UrlDetails, show_as: ShowAs) -> None:
    """The text of a page on stdout; without one the reason, and exit code 3."""
    from orbweb.cli.output.urls import why_no_page

    if document is None or show_as is ShowAs.HTML:
        what = "body" if show_as is ShowAs.HTML else "page"
        output.problem(f"orbweb: no {what} is stored for {report.url}: {why_no_page(report.report())}")
        raise typer.Exit(3)
    if report.role == "alternate":
        output.note(f"alternate of {report.primary}")
    elif report.redirects_to:
        output.note(f"redirects to {report.primary}")
    text = document.markdown if show_as is ShowAs.MARKDOWN else document.text
    output.write(text.encode("utf-8", "replace"))


@app.command()
def search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[PROJECT] QUERY...",
            help='Words, "a phrase", a prefix*, and -excluded words; the only project may be omitted.',
        ),
    ],
    run: RunNumber = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of results.")] = 20,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Search the text of pages, best match first.

    The first search after a crawl indexes new pages. Exits with 3 if nothing is found.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.pages import search_text
    from orbweb.cli.progress import Display

    project, query = project_and_words(words, workspace)
    if not query:
        raise UsageError(f"missing words to search for; usage: orbweb search {project} QUERY...")
    with Display(quiet=no_progress) as display:
        found = Workspace(workspace).search(
            project, " ".join(query), run=run, limit=limit, on_progress=display.count
        )
    output.emit(found, search_text, as_json=as_json)
    raise typer.Exit(0 if found else 3)


@app.command()
def diff(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROJECT] [RUN [RUN]]",
            help="Earlier run [the one before the later run] and later run [the latest]; the only project may be "
            "omitted.",
        ),
    ] = None,
    stat: Annotated[
        bool, typer.Option("--stat", help="Show how many lines of each page changed, not the lines.")
    ] = False,
    noise: Annotated[
        bool, typer.Option("--noise", help="Count dates, counters and tokens as changes too.")
    ] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if there are differences.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """List the pages that differ between two runs.

    Added, removed, moved and changed ones, between the latest two runs unless others are named.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.diff import diff_text

    project, numbers = project_and_words(words or [], workspace, str.isdecimal)
    found = Workspace(workspace).diff(project, *_run_numbers(numbers), keep_noise=noise)
    report = found.report()
    if stat:
        for page in report["changed"]:
            del page["diff"]
    output.emit(report, diff_text, as_json=as_json)
    if exit_code and found.differs:
        raise typer.Exit(1)


def _run_numbers(words: list[str]) -> list[int]:
    """The runs to compare, as they were typed."""
    if len(words) > 2:
        raise UsageError(f"unexpected argument {words[2]!r}; usage: orbweb diff PROJECT RUN RUN")
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) <= MOST_DIGITS):
            raise UsageError(
                f"{word[:MOST_DIGITS]!r} is not the number of a run; usage: orbweb diff PROJECT RUN RUN"
            )
    return [int(word) for word in words]


@app.command()
def explain(
    words: UrlOfProject,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Explain why a URL was visited, skipped or failed.

    Shows the rule that decided, how the URL was found, and what links to it. For a URL that the run never saw:
    what the rules decide about it now; exits with 3.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.urls import explain_text

    project, url = project_and_url("explain", words, workspace)
    report = Workspace(workspace).explain(project, url, run=run)
    output.emit(report, explain_text, as_json=as_json)
    if report.state == "unknown":
        output.problem(f"orbweb: {_redacted(url)} is not known in run {report.run} of {project}")
        raise typer.Exit(3)


@app.command()
def failed(
    project: ProjectName,
    run: RunNumber = None,
    kind: Annotated[str | None, typer.Option(help="Only failures of this kind, such as timeout.")] = None,
    host: Annotated[str | None, typer.Option(metavar="HOST[:PORT]", help="Only URLs of this host.")] = None,
    match: Match = None,
    limit: Limit = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV: one row per broken link.")] = False,
    no_pager: NoPager = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """List the URLs that failed, why, and what links to them.

    Counts by kind and host come first, then each URL with the pages that link to it and the text of the link: `-`
    if the page is not stored.
    """
    from orbweb.app import Workspace, failures_csv
    from orbweb.cli.output.pages import failed_text

    if as_csv and as_json:
        raise UsageError("--csv and --json are different formats; use one of them")
    opened, chosen = Workspace(workspace), {"run": run, "kind": kind, "host": host, "match": match}
    found = opened.failed(project, **chosen, limit=limit)  # type: ignore[arg-type]
    if as_csv:
        output.write(b"".join(failures_csv(found)))
        return
    counts = {} if as_json else opened.failure_counts(project, **chosen).report()  # type: ignore[arg-type]
    output.emit(found, lambda rows: failed_text(rows, counts), as_json=as_json, paged=not no_pager)


@app.command()
def manifest(
    project: ProjectName,
    run: RunNumber = None,
    show_hash: Annotated[bool, typer.Option("--hash", help="Print one SHA-256 over the lines.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Print one line per visit, in order.

    Columns: place, url, status, body sha256, content sha256, role, truncated|-. There are no times in it, so equal
    runs have equal manifests.
    """
    from orbweb.app import Workspace

    if show_hash:
        digest = Workspace(workspace).manifest_hash(project, run=run)
        output.emit({"project": project, "sha256": digest}, lambda report: report["sha256"], as_json=as_json)
    else:
        output.manifest(Workspace(workspace).manifest(project, run=run), as_json=as_json)
