"""Commands that crawl, and what goes before: crawl, resume, recrawl, rules, plan, fetch, demo."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from orbweb.cli import output, settle_memory
from orbweb.cli.options import (
    DEFAULT_WORKSPACE,
    AllowPrivate,
    AsJson,
    Budget,
    ConfigFile,
    Exclude,
    Headers,
    Hops,
    Include,
    MaxDepth,
    MetricsPort,
    NoProgress,
    OrderOption,
    PageLimit,
    Processes,
    ProfileOption,
    ProjectName,
    Rate,
    Refresh,
    Resolve,
    ResourcesOption,
    SeedsFile,
    SitemapOption,
    Store,
    StrictPath,
    Trust,
    UserAgent,
    Workers,
    WorkspaceDir,
    given,
    headers_of,
    limit_of,
    open_workspace,
    pace,
    rate_of,
)

app = typer.Typer()


class FetchAs(StrEnum):
    """The choices of fetch --as."""

    MARKDOWN = "markdown"
    HTML = "html"
    TEXT = "text"


@app.command()
def crawl(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL...", help="Where to start; a host alone means https.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="A name; made from the first URL if not given.")] = None,
    workers: Workers = None,
    processes: Processes = None,
    budget: Budget = None,
    page_limit: PageLimit = None,
    max_depth: MaxDepth = None,
    rate: Rate = None,
    external_hops: Hops = None,
    strict_path: StrictPath = None,
    include: Include = None,
    exclude: Exclude = None,
    resources: ResourcesOption = None,
    sitemap: SitemapOption = None,
    profile: ProfileOption = None,
    config: ConfigFile = None,
    seeds: SeedsFile = None,
    user_agent: UserAgent = None,
    headers: Headers = None,
    resolve: Resolve = None,
    allow_private: AllowPrivate = None,
    order: OrderOption = None,
    store: Store = None,
    refresh: Refresh = False,
    new_run: Annotated[bool, typer.Option("--new-run", help="Start over instead of resuming.")] = False,
    trust: Trust = None,
    metrics_port: MetricsPort = None,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Crawl a site into the workspace, or go on with a paused run.

    Without a URL: the base URLs of --seeds, of the project, or of seeds.txt in the workspace, with the settings of
    orbweb.yaml there.

    Exit codes: 0 completed, 3 completed with failures, 4 stopped with URLs left, 5 busy, 2 bad use, 1 our fault.
    """
    settings = given(
        profile=profile and profile.value,
        user_agent=user_agent,
        resolve=resolve,
        fetch__allow_private=allow_private,
        fetch__headers=headers_of(headers),
        limits__rate=rate_of(rate),
        limits__workers=workers,
        limits__budget=limit_of("--budget", budget),
        limits__page_limit=limit_of("--page-limit", page_limit),
        limits__max_depth=limit_of("--max-depth", max_depth),
        scope__strict_path=strict_path,
        scope__external_hops=external_hops,
        scope__include=include,
        scope__exclude=exclude,
        resources__mode=resources and resources.value,
        sitemap__mode=sitemap and sitemap.value,
        engine__order=order and order.value,
        engine__processes=processes,
        store__layout=store and store.value,
    )
    from orbweb.app import Request

    request = Request(
        urls or (),
        project,
        config,
        settings,
        new_run,
        refresh=refresh,
        seeds=seeds,
        metrics_port=metrics_port,
        trust=trust or (),
    )
    raise typer.Exit(_run("crawl", request, workspace, create=True, as_json=as_json, quiet=no_progress))


@app.command()
def resume(
    project: ProjectName,
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
    """Go on with the paused run of a project. Options given here replace the stored ones."""
    settings = pace(budget, workers, processes, rate)
    from orbweb.app import Request

    request = Request((), project, config, settings, refresh=refresh, metrics_port=metrics_port, trust=trust or ())
    raise typer.Exit(_run("resume", request, workspace, create=False, as_json=as_json, quiet=no_progress))


@app.command()
def recrawl(
    project: ProjectName,
    budget: Budget = None,
    workers: Workers = None,
    processes: Processes = None,
    rate: Rate = None,
    config: ConfigFile = None,
    due: Annotated[
        bool, typer.Option("--due", help="Ask only for pages that may have changed by now; take the others over.")
    ] = False,
    refresh: Refresh = False,
    trust: Trust = None,
    metrics_port: MetricsPort = None,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Start a new run that visits the known URLs first, in their old order, and transfers only what has changed.

    Options given here replace the stored ones. Pages that have vanished are kept; `orbweb pages --gone` lists
    them. A paused run must be resumed or finished first.
    """
    settings = pace(budget, workers, processes, rate)
    from orbweb.app import Request

    request = Request(
        (), project, config, settings, refresh=refresh, due=due, metrics_port=metrics_port, trust=trust or ()
    )
    raise typer.Exit(_run("recrawl", request, workspace, create=False, as_json=as_json, quiet=no_progress))


@app.command()
def rules(
    project: ProjectName,
    page_limit: PageLimit = None,
    max_depth: MaxDepth = None,
    external_hops: Hops = None,
    strict_path: StrictPath = None,
    include: Include = None,
    exclude: Exclude = None,
    sitemap: SitemapOption = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Change which URLs a project visits, also while a crawl is running; without options, show the rules.

    What no longer fits is skipped, what fits now comes back. Options given here replace the stored ones. Exit
    code 4 if the run is not yet judged by the rules: its crawl is busy, or was killed.
    """
    settings = given(
        limits__page_limit=limit_of("--page-limit", page_limit),
        limits__max_depth=limit_of("--max-depth", max_depth),
        scope__strict_path=strict_path,
        scope__external_hops=external_hops,
        scope__include=include,
        scope__exclude=exclude,
        sitemap__mode=sitemap and sitemap.value,
    )
    from orbweb import app as application
    from orbweb.cli.output.rules import rules_text

    request = application.Request((), project, config, settings)
    with open_workspace(workspace) as opened:
        report = application.rules(opened, request, note=lambda text: typer.echo(text, err=True))
    output.emit(report, rules_text, as_json=as_json)
    raise typer.Exit(0 if report["in_force"] else 4)


@app.command()
def plan(
    urls: Annotated[
        list[str], typer.Argument(metavar="URL...|PROJECT", help="Where a crawl would start, or what to recrawl.")
    ],
    page_limit: PageLimit = None,
    max_depth: MaxDepth = None,
    rate: Rate = None,
    external_hops: Hops = None,
    strict_path: StrictPath = None,
    include: Include = None,
    exclude: Exclude = None,
    sitemap: SitemapOption = None,
    profile: ProfileOption = None,
    config: ConfigFile = None,
    user_agent: UserAgent = None,
    headers: Headers = None,
    resolve: Resolve = None,
    allow_private: AllowPrivate = None,
    trust: Trust = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Say what a crawl would do, without crawling: robots.txt, sitemaps, scope with examples, rate.

    Visits the URLs themselves, robots.txt and sitemaps; nothing is kept. For a project: what its next recrawl
    would visit by these options, told from its latest run without any request. Exit code 3 if a base URL cannot
    be crawled.
    """
    settings = given(
        profile=profile and profile.value,
        user_agent=user_agent,
        resolve=resolve,
        fetch__allow_private=allow_private,
        fetch__headers=headers_of(headers),
        limits__rate=rate_of(rate),
        limits__page_limit=limit_of("--page-limit", page_limit),
        limits__max_depth=limit_of("--max-depth", max_depth),
        scope__strict_path=strict_path,
        scope__external_hops=external_hops,
        scope__include=include,
        scope__exclude=exclude,
        sitemap__mode=sitemap and sitemap.value,
    )
    from orbweb.app import Request
    from orbweb.app import plan as planning
    from orbweb.cli.output.rules import plan_text, replan_text

    if planning.names_project(workspace, urls):
        report = planning.replan(Request((), urls[0], config, settings), of=workspace, note=output.unsaid)
        output.emit(report, replan_text, as_json=as_json)
    else:
        request = Request(urls, None, config, settings, trust=trust or ())
        report = planning.plan(request, beside=workspace, note=lambda text: typer.echo(text, err=True))
        output.emit(report, plan_text, as_json=as_json)
    raise typer.Exit(3 if any(base["problem"] for base in report["bases"]) else 0)


@app.command()
def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page.")],
    fetch_as: Annotated[FetchAs, typer.Option("--as", help="What to print.")] = FetchAs.MARKDOWN,
    rate: Rate = None,
    config: ConfigFile = None,
    user_agent: UserAgent = None,
    headers: Headers = None,
    resolve: Resolve = None,
    allow_private: AllowPrivate = None,
    trust: Trust = None,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Print one page as Markdown, text or HTML; nothing is kept.

    Asked for as by a crawl: robots.txt, the rate of the host and the guard hold. Exit code 3 if there is no page.
    """
    settings = given(
        user_agent=user_agent,
        resolve=resolve,
        fetch__allow_private=allow_private,
        fetch__headers=headers_of(headers),
        limits__rate=rate_of(rate),
    )
    from orbweb.app import Request
    from orbweb.app import plan as planning

    request = Request([url], None, config, settings, trust=trust or ())
    got = planning.fetch(request, beside=workspace)
    if got.document is None:
        typer.echo(f"orbweb: {url} gives no page: {got.problem}", err=True)
        raise typer.Exit(3)
    if fetch_as is FetchAs.HTML:
        output.write(got.body)
    else:
        text = got.document.markdown if fetch_as is FetchAs.MARKDOWN else got.document.text
        output.write(text.encode("utf-8", "replace"))


@app.command()
def demo(no_progress: NoProgress = False, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Crawl a small site that comes with orbweb, served on loopback, and write its pages as Markdown."""
    from orbweb.app import Request
    from orbweb.cli import demo as site
    from orbweb.library import Workspace

    settings = {"limits": {"rate": "max"}}
    with site.serve() as url:
        typer.echo(f"demo site at {url}", err=True)
        request = Request((url,), "demo", None, settings, new_run=True)
        code = _run("crawl", request, workspace, create=True, as_json=False, quiet=no_progress)
    done = Workspace(workspace).export("demo", to="markdown", out=workspace / "demo-markdown")
    output.say(f"Markdown of {done.pages} pages: {done.out}")
    raise typer.Exit(code)


def _run(verb: str, request: Any, path: Path, *, create: bool, as_json: bool, quiet: bool) -> int:
    """Crawl and tell how it went; the exit code."""
    from orbweb import app as application
    from orbweb.cli.output.crawls import crawl_text
    from orbweb.cli.progress import Display

    verbs = {"crawl": application.crawl, "resume": application.resume, "recrawl": application.recrawl}
    settle_memory()
    if create:
        application.check_new(path, request)
    with open_workspace(path, create=create) as workspace, Display(quiet=quiet) as display:
        report = verbs[verb](workspace, request, watch=display.watch, note=display.note)
    output.emit(report, crawl_text, as_json=as_json)
    return application.exit_code(report)
