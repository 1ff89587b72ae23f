"""The separated pipeline: discover, scrape, and run, which is both."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbweb.cli import crawl, output, settle_memory
from orbweb.cli.options import (
    DEFAULT_WORKSPACE,
    AsJson,
    Budget,
    ConfigFile,
    MetricsPort,
    NoProgress,
    Processes,
    Rate,
    Refresh,
    Trust,
    Workers,
    WorkspaceDir,
    open_workspace,
    pace,
)

if TYPE_CHECKING:
    from orbweb.app.child_process import ChildProcess
    from orbweb.cli.progress import Display

app = typer.Typer()

SEVERITY = (1, 2, 5, 4, 3, 0)
"""Exit codes, the worst first."""


def _with_options_of_crawl(command: Callable[..., None]) -> Callable[..., None]:
    """The command takes what `crawl` takes."""
    command.__wrapped__ = crawl.crawl  # type: ignore[attr-defined]
    command.__annotations__ = crawl.crawl.__annotations__
    return command


def _name(options: dict[str, Any]) -> str:
    """The project that is scraped: as given, made from the first URL, or the one that the workspace has."""
    from orbweb.errors import UsageError
    from orbweb.frontier import seeds
    from orbweb.urls import DEFAULT_RULES

    given: str | None = options["project"]
    if given is not None:
        return seeds.check_project_name(given.removesuffix(".discovery"))
    urls = options["urls"] or _configured(Path(options["workspace"]), options["seeds"])
    if isinstance(urls, str):
        return urls
    if not urls:
        raise UsageError(
            "give a URL to discover, --seeds FILE, or a --project NAME; `orbweb configure` writes a file of seeds "
            "into a workspace"
        )
    first = seeds.base_urls(urls[:1], DEFAULT_RULES)[0].key
    former = seeds.former_name(first)
    return former if former in _pipelines(Path(options["workspace"])) else seeds.project_name(first)


def _configured(path: Path, file: Path | None) -> Sequence[str] | str:
    """The name of the pipeline that a workspace has, else the URLs of its file of seeds."""
    from orbweb.app.directory import SEEDS_FILE
    from orbweb.frontier import seeds
    from orbweb.store import workspace_files
    from orbweb.urls import DEFAULT_RULES

    known = _pipelines(path)
    if file is None and len(known) == 1:
        return known[0]
    if file is None and not (path.is_dir() and workspace_files.check(path, SEEDS_FILE, writes=False)):
        return ()
    return seeds.read_seeds(file or path / SEEDS_FILE, DEFAULT_RULES)


def _pipelines(path: Path) -> list[str]:
    """Those of the workspace; none if it is not there yet, and it is not made."""
    from orbweb.app import pipeline
    from orbweb.app.directory import exists

    if not exists(path):
        return []
    with open_workspace(path) as there:
        return pipeline.pipelines(there)


@app.command()
@_with_options_of_crawl
def discover(**options: Any) -> None:
    """Find the pages of a site and write a line for each to the spool, for `orbweb scrape`; no page is kept.

    The frontier is that of project NAME.discovery. Takes the options of `crawl`, and has its exit codes.
    """
    crawl.crawl(**{**options, "project": f"{_name(options)}.discovery"})


@app.command()
def scrape(
    project: Annotated[
        str | None, typer.Option(help="What was discovered as this project; the only one if not given.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more when all is scraped, also for the next discovery.")
    ] = False,
    budget: Budget = None,
    workers: Workers = None,
    processes: Processes = None,
    rate: Rate = None,
    config: ConfigFile = None,
    refresh: Refresh = False,
    trust: Trust = None,
    metrics_port: MetricsPort = None,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Visit the pages that discovery has spooled, and keep them. Links are not followed.

    Ends when discovery is completed and all is scraped, or when nobody discovers; then the exit code is 4.
    Settings of the discovery hold; options given here replace them. Other exit codes are those of `crawl`.
    """
    from orbweb import app as application
    from orbweb.cli.output.crawls import scrape_text
    from orbweb.cli.progress import Display

    settle_memory()
    request = application.Request(
        (),
        project,
        config,
        pace(budget, workers, processes, rate),
        refresh=refresh,
        metrics_port=metrics_port,
        trust=trust or (),
    )
    with open_workspace(workspace, create=follow) as there, Display(quiet=no_progress) as display:
        report = application.scrape(there, request, follows=lambda: follow, watch=display.watch, note=display.note)
    output.emit(report, scrape_text, as_json=as_json)
    raise typer.Exit(application.exit_code(report))


@app.command()
@_with_options_of_crawl
def run(**options: Any) -> None:
    """Discover in the background and scrape in the foreground, until both are done; a stop is passed on.

    Takes the options of `crawl`. The exit code is the worse of the two: 1, 2, 5, 4, 3, 0 in this order. With
    --metrics-port the counters of discovery are there, and those of the scraper at the port after it.
    """
    from orbweb import app as application
    from orbweb.app.child_process import ChildProcess
    from orbweb.app.directory import exists
    from orbweb.cli.output.crawls import scrape_text
    from orbweb.cli.progress import Display

    settle_memory()
    name = _name(options)
    words = [word for word in sys.argv[2:] if word != "--json"]
    report: dict[str, Any] | None = None
    with Display(quiet=bool(options["no_progress"])) as display:
        discovery = ChildProcess(
            [sys.executable, "-m", "orbweb", "discover", *words, "--json"],
            lambda line: display.note(f"discovery: {line}"),
        )
        with discovery:
            if discovery.begins(lambda: exists(Path(options["workspace"]))):
                report = _scraped(name, options, discovery, display)
    codes = [discovery.exit_code, *([application.exit_code(report)] if report else [])]
    if report is not None:
        report = {**report, "discovery": discovery.report}
        output.emit(report, scrape_text, as_json=bool(options["as_json"]))
    raise typer.Exit(min(codes, key=SEVERITY.index))


def _scraped(
    name: str, options: dict[str, Any], discovery: ChildProcess, display: Display
) -> dict[str, Any] | None:
    """Scrape what the discovery beside this finds, as long as it does; None if it finds nothing."""
    from orbweb import app as application

    with open_workspace(Path(options["workspace"])) as there:
        if not discovery.begins(lambda: application.has_work(there, name)) or not application.has_work(
            there, name
        ):
            return None
        port = options["metrics_port"]
        request = application.Request(
            (),
            name,
            options["config"],
            refresh=options["refresh"],
            metrics_port=port and port + 1,
            trust=options["trust"] or (),
        )
        return application.scrape(
            there,
            request,
            follows=discovery.is_running,
            watch=display.watch,
            note=display.note,
            relay=discovery.tell,
        )
