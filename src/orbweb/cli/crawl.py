"""Commands that crawl, and those that prepare a crawl: crawl, resume, recrawl, rules, plan, fetch, demo."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from orbweb.cli import output, settle_memory
from orbweb.cli.options import (
    DEFAULT_WORKSPACE,
    AsJson,
    NoProgress,
    ProjectName,
    Verbose,
    WorkspaceDir,
    seeded,
    takes,
    urls_from_stdin,
)
from orbweb.errors import NoPage

if TYPE_CHECKING:
    from orbweb.app import CrawlResult
    from orbweb.cli.progress import Display

app = typer.Typer()

NARROWEST = 30

Urls = Annotated[list[str] | None, typer.Argument(metavar="URL...", help="Base URLs; a host alone means https.")]


class FetchAs(StrEnum):
    """The choices of fetch --as."""

    MARKDOWN = "markdown"
    HTML = "html"
    TEXT = "text"


@app.command()
@takes("crawl")
def crawl(
    urls: Urls = None,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Project name [derived from the first URL].")
    ] = None,
    no_progress: NoProgress = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Crawl a site, or resume its paused run.

    Without a URL: the base URLs of --seeds, of the project, or of seeds.txt in the workspace, with the settings of
    its orbweb.yaml.

    Exit codes: 0 completed, 1 internal error, 2 usage error, 3 some URLs failed, 4 stopped early, 5 locked by
    another process, 6 nothing was crawled.
    """
    from orbweb.app import Workspace

    verb = Workspace(workspace).crawl
    how = Reporting(no_progress=no_progress, verbose=verbose, as_json=as_json)
    given = seeded(urls, options)
    raise typer.Exit(run_crawl(verb, given, how, project=project, **options))


@app.command()
@takes("resume")
def resume(
    project: ProjectName,
    no_progress: NoProgress = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Resume the paused run of a project.

    Options given here hold for this crawl; with --save they are stored with the project.
    """
    from orbweb.app import Workspace

    verb = Workspace(workspace).resume
    how = Reporting(no_progress=no_progress, verbose=verbose, as_json=as_json)
    raise typer.Exit(run_crawl(verb, project, how, **options))


@app.command()
@takes("recrawl")
def recrawl(
    project: ProjectName,
    no_progress: NoProgress = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Start a new run over the URLs that are known.

    They come first, in their old order, with conditional requests. Options given here hold for this crawl; with
    --save they are stored with the project. Pages that have vanished stay stored; `orbweb pages --gone` lists
    them. A paused run must be resumed or finished first.
    """
    from orbweb.app import Workspace

    verb = Workspace(workspace).recrawl
    how = Reporting(no_progress=no_progress, verbose=verbose, as_json=as_json)
    raise typer.Exit(run_crawl(verb, project, how, **options))


class Reporting(NamedTuple):
    """What a crawl prints besides notes."""

    no_progress: bool
    verbose: bool
    as_json: bool = False

    def watches(self, display: Display) -> dict[str, Any]:
        """The callbacks of a verb that crawls. A display is drawn on hold, too."""
        from orbweb.app import AlsoOnHold

        shows_visits = self.verbose and not output.is_quiet()
        return {
            "on_progress": AlsoOnHold(display.watch),
            "note": display.note,
            "on_visit": display.visit if shows_visits else None,
        }


def run_crawl(verb: Callable[..., CrawlResult], given: Any, how: Reporting, **options: Any) -> int:
    """Crawl and print the result; the exit code."""
    from orbweb.cli.output.crawls import crawl_text
    from orbweb.cli.progress import Display

    settle_memory()
    with Display(quiet=how.no_progress) as display:
        result = verb(given, **how.watches(display), **options)
    print_summary(result.report(), crawl_text, as_json=how.as_json)
    return result.exit_code


def print_summary(
    report: dict[str, Any], text: Callable[..., str], *, as_json: bool, scraped: bool = False
) -> None:
    """Print the end of a crawl: a table on a terminal, plain lines in a pipe."""
    if as_json or not sys.stdout.isatty() or report["run"] is None:
        output.emit(report, text, as_json=as_json)
        return
    from orbweb.cli.output import colour
    from orbweb.cli.output.format import hint
    from orbweb.cli.output.summary import crawl_summary

    project = report["project"]
    again = hint("scrape", project=project) if scraped else hint("resume", project)
    width = max(shutil.get_terminal_size().columns, NARROWEST)
    output.line(crawl_summary(report, width=width, colour=colour.on(sys.stdout), again=again))


@app.command()
@takes("rules")
def rules(
    project: ProjectName,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Show or change which URLs a project visits.

    Works during a crawl too. URLs that no longer match are skipped, URLs that match now are queued again. Options
    given here replace the stored ones; without options the rules are shown. Exits with 4 if the run has not
    applied the rules yet: its crawl is busy, or was killed.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.rules import rules_text

    report = Workspace(workspace).rules(project, note=output.note, **options)
    output.emit(report, rules_text, as_json=as_json)
    raise typer.Exit(0 if report.in_force else 4)


@app.command()
@takes("plan")
def plan(
    urls: Annotated[list[str], typer.Argument(metavar="URL...|PROJECT", help="Base URLs, or a project.")],
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Show what a crawl would do without running it.

    Reports robots.txt, sitemaps, scope with examples, and rate. Requests only these and the base URLs, and stores
    nothing. For a project: what its next recrawl would visit with these options, computed from its latest run
    without requests. Exits with 6 if no base URL can be crawled, 3 if one of several cannot.
    """
    from orbweb.app import RecrawlPlan, Workspace
    from orbweb.cli.output.rules import plan_text, replan_text

    report = Workspace(workspace).plan(urls, note=output.note, **options)
    output.emit(report, replan_text if isinstance(report, RecrawlPlan) else plan_text, as_json=as_json)
    raise typer.Exit(report.exit_code)


@app.command()
@takes("fetch")
def fetch(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Pages; - reads URLs from standard input.")],
    fetch_as: Annotated[FetchAs, typer.Option("--as", help="What to print.")] = FetchAs.MARKDOWN,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="PATH", help="File to write, or a directory for one file per page [standard output]."
        ),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Print pages as Markdown, text or HTML.

    Nothing is stored. Requested as in a crawl: robots.txt, rate limits and address checks apply. Several pages are
    separated by an empty line; --json prints one array. Exits with 3 if one of them gave no page.
    """
    from orbweb.app import Workspace, redacted
    from orbweb.cli.fetched import PageWriter

    asked = [url for word in urls for url in (urls_from_stdin() if word == "-" else [word])]
    writer = PageWriter(fetch_as.value, out, as_json=as_json, several=len(asked) > 1)
    for url, found in zip(asked, Workspace(workspace).fetch_each(asked, **options), strict=True):
        if isinstance(found, NoPage):
            output.problem(redacted(f"orbweb: {found}"))
        writer.add(url, found)
    writer.close()
    raise typer.Exit(3 if writer.missing else 0)


@app.command()
def demo(
    no_progress: NoProgress = False, verbose: Verbose = False, workspace: WorkspaceDir = DEFAULT_WORKSPACE
) -> None:
    """Crawl a small bundled site, served on loopback.

    Its pages are written as Markdown, too.
    """
    from orbweb.app import Workspace
    from orbweb.cli import demo as site

    opened = Workspace(workspace)
    with site.serve() as url:
        output.note(f"demo site at {url}")
        options = {"project": "demo", "rate": "max", "new_run": True}
        how = Reporting(no_progress=no_progress, verbose=verbose)
        code = run_crawl(opened.crawl, url, how, **options)
    done = opened.export("demo", to="markdown", out=workspace / "demo-markdown")
    output.line(f"Markdown of {done.pages} pages: {done.out}")
    raise typer.Exit(code)
