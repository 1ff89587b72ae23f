"""The separated pipeline: discover, scrape, and run, which is both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from orbweb.cli import output, settle_memory
from orbweb.cli.crawl import Reporting, Urls, print_summary, run_crawl
from orbweb.cli.options import DEFAULT_WORKSPACE, AsJson, NoProgress, Verbose, WorkspaceDir, seeded, takes

app = typer.Typer()

PipelineProject = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Project name [the workspace's pipeline, or derived from the first URL]."),
]


@app.command()
@takes("discover")
def discover(
    urls: Urls = None,
    project: PipelineProject = None,
    no_progress: NoProgress = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Find the pages of a site, for `orbweb scrape`.

    Writes one line per page to the spool, and stores no page. The frontier is that of project NAME.discovery.
    Options and exit codes are those of `crawl`.
    """
    from orbweb.app import Workspace

    verb = Workspace(workspace).discover
    how = Reporting(no_progress=no_progress, verbose=verbose, as_json=as_json)
    given = seeded(urls, options)
    raise typer.Exit(run_crawl(verb, given, how, project=project, **options))


@app.command()
@takes("scrape")
def scrape(
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Project that was discovered [the only one].")
    ] = None,
    spool: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Scrape the lines of files discoveries-*.jsonl in this directory, whoever wrote them.",
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="When everything is scraped, wait for more, also for the next discovery."),
    ] = False,
    no_progress: NoProgress = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Visit and store the pages that discovery has found.

    Links are not followed. Ends when discovery is completed and everything is scraped; exits with 4 if discovery
    is not completed and not running. Settings are those of the discovery; options given here replace them. Other
    exit codes are those of `crawl`.

    With --spool, or in a workspace with spool files and no discovery, lines of any producer are scraped. Each
    needs only a `url`. A private address in a line needs --trust private=HOST:PORT.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.crawls import scrape_text
    from orbweb.cli.progress import Display
    from orbweb.errors import ScraperIdle

    settle_memory()
    with Display(quiet=no_progress) as display:
        try:
            how = Reporting(no_progress=no_progress, verbose=verbose)
            result = Workspace(workspace).scrape(
                project, spool=spool, follow=follow, **how.watches(display), **options
            )
            report, code = result.report(), result.exit_code
        except ScraperIdle as idle:
            report, code = idle.result.report(), idle.result.exit_code
    print_summary(report, scrape_text, as_json=as_json, scraped=True)
    raise typer.Exit(code)


@app.command()
@takes("run")
def run(
    urls: Urls = None,
    project: PipelineProject = None,
    no_progress: NoProgress = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
    **options: Any,
) -> None:
    """Discover and scrape at the same time.

    Discovery runs in the background, scraping in the foreground; signals reach both. Options are those of `crawl`.
    The exit code is the worse of the two: 1, 2, 5, 6, 4, 3, 0 in this order. With --metrics-port, the scraper
    serves its metrics on the next port.
    """
    from orbweb.app import Workspace
    from orbweb.cli.output.crawls import scrape_text
    from orbweb.cli.progress import Display

    settle_memory()
    with Display(quiet=no_progress) as display:
        watches = Reporting(no_progress=no_progress, verbose=verbose).watches(display)
        if no_progress or output.is_quiet():
            watches["on_progress"] = None
        done = Workspace(workspace).run(seeded(urls, options), project=project, **watches, **options)
    if (report := done.report()) is not None:
        print_summary(report, scrape_text, as_json=as_json, scraped=True)
    raise typer.Exit(done.exit_code)
