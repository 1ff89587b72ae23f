"""Every command and its options. The reference page docs/reference/cli.md is made from here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command_name
from typer.models import CommandInfo

from orbweb import __version__
from orbweb.cli import output, settle_memory
from orbweb.errors import UsageError

if TYPE_CHECKING:
    from orbweb.model import Document
    from orbweb.workspace import Workspace

app = typer.Typer(
    help="Turn websites into a durable, deduplicated, searchable local archive.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)


class Order(StrEnum):
    """The choices of --order."""

    STRICT = "strict"
    RELAXED = "relaxed"


class Layout(StrEnum):
    """The choices of --store."""

    SEGMENTS = "segments"
    FILES = "files"


class SitemapMode(StrEnum):
    """The choices of --sitemap."""

    AUTO = "auto"
    ONLY = "only"
    OFF = "off"


class ResourceMode(StrEnum):
    """The choices of --resources."""

    OFF = "off"
    CHECK = "check"
    STORE = "store"


class Profile(StrEnum):
    """The choices of --profile."""

    DOCS = "docs"
    SITE = "site"
    GITHUB = "github"
    NONE = "none"


class ShowAs(StrEnum):
    """The choices of show --as."""

    MARKDOWN = "markdown"
    TEXT = "text"
    HTML = "html"
    META = "meta"


class ExportTo(StrEnum):
    """The choices of export --to."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    CSV = "csv"
    ZIP = "zip"
    LLMS = "llms"
    FILES = "files"


class FetchAs(StrEnum):
    """The choices of fetch --as."""

    MARKDOWN = "markdown"
    HTML = "html"
    TEXT = "text"


ProjectName = Annotated[str, typer.Argument(metavar="PROJECT", help="A project of the workspace.")]
WorkspaceDir = Annotated[
    Path, typer.Option("--workspace", envvar="ORBWEB_WORKSPACE", help="The directory that holds everything.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
RunNumber = Annotated[int | None, typer.Option("--run", min=1, help="Which run; the latest if not given.")]

DEFAULT_WORKSPACE = Path("orbweb-data")

Budget = Annotated[
    str | None, typer.Option(metavar="N|none", help="Visit at most so many URLs, then pause [none].")
]
PageLimit = Annotated[str | None, typer.Option(metavar="N|none", help="Unique pages per base URL [none].")]
MaxDepth = Annotated[str | None, typer.Option(metavar="N|none", help="Links from a base URL [none].")]
Rate = Annotated[
    str | None, typer.Option(metavar="R|max", help="Requests per second per host [2]. max: for servers you own.")
]
Workers = Annotated[int | None, typer.Option(min=1, max=1024, help="Requests under way at once [5].")]
Processes = Annotated[
    int | None, typer.Option(min=0, max=64, help="Processes that parse and compress [by the cores]. 0: none.")
]
Hops = Annotated[int | None, typer.Option(min=0, max=5, help="Steps outside the base URLs [0].")]
StrictPath = Annotated[
    bool | None, typer.Option("--strict-path/--no-strict-path", help="/api does not cover /api-blog [strict].")
]
Include = Annotated[
    list[str] | None, typer.Option(metavar="RE", help="Only URLs that match (RE2, may be repeated).")
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="RE", help="No URLs that match (RE2, may be repeated).")
]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings in YAML.")]
ProfileOption = Annotated[
    Profile | None, typer.Option(help="Settings that come with orbweb, below all others. none: take it back.")
]
SeedsFile = Annotated[
    Path | None, typer.Option("--seeds", metavar="FILE", help="Base URLs, one a line, instead of URL...")
]
UserAgent = Annotated[str | None, typer.Option(metavar="UA", help="Who we say we are; name a contact.")]
Headers = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="'NAME: VALUE'",
        help="Sent to the origins of the base URLs only. A secret is $NAME of an environment variable; "
        "'NAME:' takes a stored header back. May be repeated.",
    ),
]
Resolve = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST:PORT:ADDR[:PORT]", help="Pin a host to an address (tests, staging)."),
]
AllowPrivate = Annotated[
    bool | None,
    typer.Option(
        "--allow-private/--no-allow-private", help="Links may lead to addresses that are not public [no]."
    ),
]
OrderOption = Annotated[
    Order | None, typer.Option(help="strict: one order for the run [default]. relaxed: one order per host.")
]
ResourcesOption = Annotated[
    ResourceMode | None,
    typer.Option(help="Scripts, styles, images, fonts: visit them too (check), keep them (store) [off]."),
]
SitemapOption = Annotated[
    SitemapMode | None, typer.Option(help="auto: read sitemaps too [default]. only: follow no links. off: none.")
]
Store = Annotated[Layout | None, typer.Option(help="How bodies are kept [segments].")]
Refresh = Annotated[
    bool, typer.Option("--refresh", help="Reuse nothing that earlier runs captured: fetch every page anew.")
]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress on stderr.")]


@contextmanager
def only(names: list[str]) -> Iterator[typer.Typer]:
    """The app with the named command alone, or with all of them if there is none of that name.

    Options are read from signatures, which for all commands takes longer than many a command itself.
    """
    every = app.registered_commands
    app.registered_commands = [each for each in every if _name(each) in names] or every
    try:
        yield app
    finally:
        app.registered_commands = every


def _name(command: CommandInfo) -> str | None:
    return command.name or (get_command_name(command.callback.__name__) if command.callback else None)


@contextmanager
def _open(path: Path, *, create: bool = False) -> Iterator[Workspace]:
    from orbweb.workspace import Workspace

    workspace = Workspace(path, create=create)
    try:
        yield workspace
    finally:
        workspace.close()


def _version(show: bool) -> None:
    if show:
        typer.echo(f"orbweb {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version.")
    ] = False,
) -> None:
    """Turn websites into a durable, deduplicated, searchable local archive."""


def _rate(text: str | None) -> float | str | None:
    if text is None or text == "max":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--rate {text!r}: give requests per second, such as 2 or 0.5, or max") from None


def _limit(option: str, text: str | None) -> int | str | None:
    """A number, or `none`, which takes back the limit a project has stored."""
    if text is None or text == "none":
        return text
    if not text.isdigit():
        raise UsageError(f"{option} {text!r}: give a whole number, or none for no limit")
    return int(text)


def _headers(given: list[str] | None) -> dict[str, str | None] | None:
    """Each as NAME: VALUE. What is wrong is not quoted, for it may be a secret."""
    found: dict[str, str | None] = {}
    for number, text in enumerate(given or (), 1):
        name, colon, value = text.partition(":")
        if not (colon and name.strip()):
            raise UsageError(f"--header number {number} is not 'NAME: VALUE'")
        found[name.strip().lower()] = value.strip() or None
    return found or None


def _given(**options: Any) -> dict[str, Any]:
    """Options that were given, as nested settings: `limits__rate` is the key `rate` of `limits`."""
    settings: dict[str, Any] = {}
    for name, value in options.items():
        if value is None or value == []:
            continue
        section, _, key = name.rpartition("__")
        (settings.setdefault(section, {}) if section else settings)[key] = None if value == "none" else value
    return settings


@app.command()
def crawl(
    urls: Annotated[list[str] | None, typer.Argument(metavar="URL...", help="Where to start.")] = None,
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
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Crawl a site into the workspace, or go on with a paused run.

    Without a URL: the base URLs of --seeds, of the project, or of seeds.txt in the workspace, with the settings of
    orbweb.yaml there.

    Exit codes: 0 completed, 3 completed with failures, 4 stopped with URLs left, 5 busy, 2 bad use, 1 our fault.
    """
    settings = _given(
        profile=profile and profile.value,
        user_agent=user_agent,
        resolve=resolve,
        fetch__allow_private=allow_private,
        fetch__headers=_headers(headers),
        limits__rate=_rate(rate),
        limits__workers=workers,
        limits__budget=_limit("--budget", budget),
        limits__page_limit=_limit("--page-limit", page_limit),
        limits__max_depth=_limit("--max-depth", max_depth),
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

    request = Request(urls or (), project, config, settings, new_run, refresh=refresh, seeds=seeds)
    raise typer.Exit(_run("crawl", request, workspace, create=True, as_json=as_json, quiet=no_progress))


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
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Say what a crawl would do, without crawling: robots.txt, sitemaps, scope with examples, rate.

    Visits the URLs themselves, robots.txt and sitemaps; nothing is kept. For a project: what its next recrawl
    would visit by these options, told from its latest run without any request. Exit code 3 if a base URL cannot
    be crawled.
    """
    settings = _given(
        profile=profile and profile.value,
        user_agent=user_agent,
        resolve=resolve,
        fetch__allow_private=allow_private,
        fetch__headers=_headers(headers),
        limits__rate=_rate(rate),
        limits__page_limit=_limit("--page-limit", page_limit),
        limits__max_depth=_limit("--max-depth", max_depth),
        scope__strict_path=strict_path,
        scope__external_hops=external_hops,
        scope__include=include,
        scope__exclude=exclude,
        sitemap__mode=sitemap and sitemap.value,
    )
    from orbweb import plan as planning
    from orbweb.app import Request

    if planning.names_project(workspace, urls):
        report = planning.replan(Request((), urls[0], config, settings), of=workspace, note=output.unsaid)
        output.emit(report, output.replan_text, as_json=as_json)
    else:
        request = Request(urls, None, config, settings)
        report = planning.plan(request, beside=workspace, note=lambda text: typer.echo(text, err=True))
        output.emit(report, output.plan_text, as_json=as_json)
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
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Print one page as Markdown, text or HTML; nothing is kept.

    Asked for as by a crawl: robots.txt, the rate of the host and the guard hold. Exit code 3 if there is no page.
    """
    settings = _given(
        user_agent=user_agent,
        resolve=resolve,
        fetch__allow_private=allow_private,
        fetch__headers=_headers(headers),
        limits__rate=_rate(rate),
    )
    from orbweb import plan as planning
    from orbweb.app import Request

    request = Request([url], None, config, settings)
    got = planning.fetch(request, beside=workspace)
    if got.document is None:
        typer.echo(f"orbweb: {url} gives no page: {got.problem}", err=True)
        raise typer.Exit(3)
    if fetch_as is FetchAs.HTML:
        output.write(got.body)
    else:
        text = got.document.markdown if fetch_as is FetchAs.MARKDOWN else got.document.text
        output.write(text.encode("utf-8", "replace"))


def _pace(budget: str | None, workers: int | None, processes: int | None, rate: str | None) -> dict[str, Any]:
    """The settings that may be changed when a project is crawled further."""
    return _given(
        limits__budget=_limit("--budget", budget),
        limits__workers=workers,
        limits__rate=_rate(rate),
        engine__processes=processes,
    )


@app.command()
def resume(
    project: ProjectName,
    budget: Budget = None,
    workers: Workers = None,
    processes: Processes = None,
    rate: Rate = None,
    config: ConfigFile = None,
    refresh: Refresh = False,
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Go on with the paused run of a project. Options given here replace the stored ones."""
    settings = _pace(budget, workers, processes, rate)
    from orbweb.app import Request

    request = Request((), project, config, settings, refresh=refresh)
    raise typer.Exit(_run("resume", request, workspace, create=False, as_json=as_json, quiet=no_progress))


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
    settings = _given(
        limits__page_limit=_limit("--page-limit", page_limit),
        limits__max_depth=_limit("--max-depth", max_depth),
        scope__strict_path=strict_path,
        scope__external_hops=external_hops,
        scope__include=include,
        scope__exclude=exclude,
        sitemap__mode=sitemap and sitemap.value,
    )
    from orbweb import app as application

    request = application.Request((), project, config, settings)
    with _open(workspace) as opened:
        report = application.rules(opened, request, note=lambda text: typer.echo(text, err=True))
    output.emit(report, output.rules_text, as_json=as_json)
    raise typer.Exit(0 if report["in_force"] else 4)


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
    no_progress: NoProgress = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Start a new run that visits the known URLs first, in their old order, and transfers only what has changed.

    Options given here replace the stored ones. Pages that have vanished are kept; `orbweb pages --gone` lists
    them. A paused run must be resumed or finished first.
    """
    settings = _pace(budget, workers, processes, rate)
    from orbweb.app import Request

    request = Request((), project, config, settings, refresh=refresh, due=due)
    raise typer.Exit(_run("recrawl", request, workspace, create=False, as_json=as_json, quiet=no_progress))


def _run(verb: str, request: Any, path: Path, *, create: bool, as_json: bool, quiet: bool) -> int:
    """Crawl and tell how it went; the exit code."""
    from orbweb import app as application
    from orbweb.cli.progress import Display

    settle_memory()
    verbs = {"crawl": application.crawl, "resume": application.resume, "recrawl": application.recrawl}
    with _open(path, create=create) as workspace, Display(quiet=quiet) as display:
        report = verbs[verb](workspace, request, watch=display.watch, note=display.note)
    output.emit(report, output.crawl_text, as_json=as_json)
    return application.exit_code(report)


@app.command()
def status(
    project: Annotated[str | None, typer.Argument(metavar="[PROJECT]", help="All if not given.")] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Say where a project stands, and whether a crawl is running."""
    with _open(workspace) as opened:
        if project is None:
            output.emit(opened.statuses(), output.statuses_text, as_json=as_json)
        else:
            output.emit(opened.status(project), output.status_text, as_json=as_json)


def _tell(verb: str, project: str, path: Path) -> None:
    from orbweb.control import Command

    with _open(path) as opened:
        opened.tell(project, Command(verb))


@app.command()
def pause(project: ProjectName, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Hold the running crawl: no new request until `unpause`."""
    _tell("pause", project, workspace)
    typer.echo(f"{project}: held; `orbweb unpause {project}` goes on")


@app.command()
def unpause(project: ProjectName, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Let a held crawl go on."""
    _tell("unpause", project, workspace)
    typer.echo(f"{project}: going on")


@app.command()
def stop(project: ProjectName, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Stop the running crawl; what is under way is finished, the rest stays queued."""
    with _open(workspace) as opened:
        ended = opened.stop(project)
    typer.echo(f"{project}: {'stopped' if ended else 'asked to stop, still finishing what is under way'}")


@app.command()
def finish(project: ProjectName, as_json: AsJson = False, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Complete the run by hand: what is queued is skipped."""
    with _open(workspace) as opened:
        output.emit(opened.finish(project), output.status_text, as_json=as_json)


@app.command()
def runs(project: ProjectName, as_json: AsJson = False, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Show the runs of a project with their crawls."""
    with _open(workspace) as opened:
        output.emit(opened.runs(project), output.runs_text, as_json=as_json)


@app.command()
def queue(
    project: ProjectName,
    clear: Annotated[bool, typer.Option("--clear", help="Give up what is queued; completes the run.")] = False,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Queue parked URLs: the family with this pattern, or those in which this RE2 pattern is found.",
        ),
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Show what is queued, by source, what is next, and what is parked as a trap."""
    if clear and release is not None:
        raise UsageError("--clear gives up what --release queues: use one of them")
    with _open(workspace) as opened:
        if release is not None:
            typer.echo(f"{opened.release(project, release)} parked URLs queued", err=True)
        if clear:
            typer.echo(f"{opened.clear_queue(project)} queued URLs given up", err=True)
        output.emit(opened.queue(project), output.queue_text, as_json=as_json)


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
    with _open(workspace) as opened:
        if gone:
            output.emit(opened.gone(project, run), output.gone_text, as_json=as_json)
        elif near:
            output.emit(opened.near_duplicates(project, run, within=within), output.near_text, as_json=as_json)
        else:
            output.emit(opened.pages(project, run), output.pages_text, as_json=as_json)


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
    from orbweb.store.compare import differs

    with _open(workspace) as opened:
        report = opened.diff(project, old, new, keep_noise=noise)
    if stat:
        report["changed"] = [{name: page[name] for name in page if name != "diff"} for page in report["changed"]]
    output.emit(report, output.diff_text, as_json=as_json)
    if exit_code and differs(report):
        raise typer.Exit(1)


@app.command()
def show(
    project: ProjectName,
    url: Annotated[str, typer.Argument(metavar="URL")],
    show_as: Annotated[
        ShowAs,
        typer.Option(
            "--as",
            help="markdown, text: what was read out of the page. html: the stored body. meta: what is known.",
        ),
    ] = ShowAs.META,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Show one URL: its Markdown, text or stored body, or everything known about it.

    A pipe gets exactly what is kept, a terminal no control characters. An alternate shows the page it belongs to.
    Exit code 3 if the run never saw the URL or kept no page of it.
    """
    from orbweb.library import Workspace

    if as_json and show_as is not ShowAs.META:
        raise UsageError(f"--json goes with --as meta, not with --as {show_as.value}")
    opened = Workspace(workspace)
    report = opened.show(project, url, run=run)
    if report is None:
        typer.echo(f"orbweb: {url} is not known in this run of {project}", err=True)
        raise typer.Exit(3)
    if show_as is ShowAs.META:
        output.emit(report, output.url_text, as_json=as_json)
    elif show_as is ShowAs.HTML and report.get("body_sha256"):
        output.write(opened.body(report["body_sha256"]), report["encoding"] or "utf-8")
    else:
        _write_document(opened.document(project, url, run=run), report, show_as)


def _write_document(document: Document | None, report: dict[str, Any], show_as: ShowAs) -> None:
    """The text of a page on stdout; where there is none, why, and exit code 3."""
    if document is None or show_as is ShowAs.HTML:
        what = "body" if show_as is ShowAs.HTML else "page"
        typer.echo(f"orbweb: no {what} is kept of {report['url']}: {output.why_no_page(report)}", err=True)
        raise typer.Exit(3)
    if report["role"] == "alternate":
        typer.echo(f"an alternate of {report['primary']}", err=True)
    text = document.markdown if show_as is ShowAs.MARKDOWN else document.text
    output.write(text.encode("utf-8", "replace"))


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
    from orbweb.cli.progress import Display

    settle_memory()
    request = application.Request((), project, None, _given(engine__processes=processes))
    with _open(workspace) as opened, Display(quiet=no_progress) as display:
        report = application.extract(
            opened, request, number=run, everything=everything, watch=display.watch, note=display.note
        )
    output.emit(report, output.extract_text, as_json=as_json)
    raise typer.Exit(application.extract_code(report))


@app.command()
def export(
    project: ProjectName,
    to: Annotated[ExportTo, typer.Option("--to", help="markdown, llms and files: a folder. Others: one file.")],
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

    from orbweb.cli.progress import Display
    from orbweb.library import Workspace

    standard = str(out) == "-"
    if standard and as_json:
        raise UsageError("--json and --out - both write to standard output; leave one of them out")
    settle_memory()
    with Display(quiet=no_progress) as display:
        done = Workspace(workspace).export(
            project,
            to=to.value,
            out=sys.stdout.buffer if standard else out,
            run=run,
            raw=raw,
            on_progress=display.count,
        )
        if standard and not no_progress:
            display.note(output.export_text(asdict(done)))
    if not standard:
        output.emit(asdict(done), output.export_text, as_json=as_json)


@app.command()
def explain(
    project: ProjectName,
    url: Annotated[str, typer.Argument(metavar="URL")],
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Say why a URL was visited, refused, failed or is still queued, by which rule, and who links to it.

    For a URL that the run never saw: what the settings would say about it now, and exit code 3.
    """
    from orbweb.library import Workspace

    report = Workspace(workspace).explain(project, url, run=run)
    output.emit(report, output.explain_text, as_json=as_json)
    if report["state"] == "unknown":
        typer.echo(f"orbweb: {url} is not known in run {report['run']} of {project}", err=True)
        raise typer.Exit(3)


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
    from orbweb.cli.progress import Steps
    from orbweb.library import Workspace

    with Steps("pages indexed", quiet=no_progress) as steps:
        found = Workspace(workspace).search(
            project, " ".join(query), run=run, limit=limit, on_progress=steps.watch
        )
    output.emit(found, output.search_text, as_json=as_json)
    raise typer.Exit(0 if found else 3)


@app.command()
def failed(
    project: ProjectName,
    run: RunNumber = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """List the URLs that failed, and why."""
    with _open(workspace) as opened:
        output.emit(opened.failed(project, run), output.failed_text, as_json=as_json)


@app.command()
def retry(
    project: ProjectName,
    kind: Annotated[str | None, typer.Option(help="Only failures of this kind, such as timeout.")] = None,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Queue failed URLs again; `resume` then visits them."""
    with _open(workspace) as opened:
        number = opened.retry(project, kind)
    output.emit({"project": project, "queued": number}, output.retry_text, as_json=as_json)


@app.command()
def manifest(
    project: ProjectName,
    run: RunNumber = None,
    show_hash: Annotated[bool, typer.Option("--hash", help="One SHA-256 over the lines.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Print one line a visit, in order: place, url, status, body sha256, content sha256, role."""
    with _open(workspace) as opened:
        if show_hash:
            digest = opened.manifest_hash(project, run)
            output.emit({"project": project, "sha256": digest}, lambda report: report["sha256"], as_json=as_json)
        else:
            output.manifest(opened.manifest(project, run), as_json=as_json)


@app.command()
def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Set aside what is damaged and queue its URLs again.")
    ] = False,
    as_json: AsJson = False,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Verify database, bodies, links and counters, and name each damage.

    Exit codes: 0 healthy or all repaired, 3 damage is left, 5 a crawl is running in the workspace.
    """
    from orbweb.workspace import Workspace

    report = Workspace.doctor(workspace, mend=repair)
    output.emit(report, output.doctor_text, as_json=as_json)
    raise typer.Exit(0 if report["healthy"] else 3)


@app.command()
def demo(no_progress: NoProgress = False, workspace: WorkspaceDir = DEFAULT_WORKSPACE) -> None:
    """Crawl a small site that comes with orbweb, served on loopback, and write its pages as Markdown."""
    from orbweb import demo as site
    from orbweb.app import Request
    from orbweb.library import Workspace

    settings = {"limits": {"rate": "max"}}
    with site.serve() as url:
        typer.echo(f"demo site at {url}", err=True)
        request = Request((url,), "demo", None, settings, new_run=True)
        code = _run("crawl", request, workspace, create=True, as_json=False, quiet=no_progress)
    done = Workspace(workspace).export("demo", to="markdown", out=workspace / "demo-markdown")
    typer.echo(f"Markdown of {done.pages} pages: {done.out}")
    raise typer.Exit(code)
