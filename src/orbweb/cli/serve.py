"""The command serve."""

from __future__ import annotations

import importlib.util
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from orbweb.cli import output
from orbweb.cli.options import DEFAULT_WORKSPACE, WorkspaceDir
from orbweb.errors import UsageError

app = typer.Typer()

DEMO = "demo"
LARGEST_PORT = 65_535


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; one that others can reach needs ORBWEB_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 picks a free one.")] = 8080,
    demo: Annotated[bool, typer.Option("--demo", help="Also serve and crawl the bundled site.")] = False,
    max_active: Annotated[
        int, typer.Option("--max-active", min=1, max=64, metavar="N", help="Crawls at once; others wait.")
    ] = 1,
    no_autoresume: Annotated[
        bool, typer.Option("--no-autoresume", help="Do not resume crawls that a crash of the server ended.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A further name of this server, such as that of a proxy; may be repeated."
        ),
    ] = None,
    private_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT", help="A site at a private address that requests may crawl; may be repeated."
        ),
    ] = None,
    resolve: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT:ADDR[:PORT]", help="Pin a host to an address; may be repeated."),
    ] = None,
    workspace: WorkspaceDir = DEFAULT_WORKSPACE,
) -> None:
    """Serve the workspace: an HTTP API and a web interface.

    Needs `pip install 'orbweb[serve]'`. Every request needs a token: the value of ORBWEB_TOKEN or, on loopback,
    the one that is printed at the start. Crawls that are running when the server ends are resumed at its next
    start.
    """
    if importlib.util.find_spec("fastapi") is None or importlib.util.find_spec("uvicorn") is None:
        raise UsageError("orbweb serve needs further packages: pip install 'orbweb[serve]'")
    from orbweb.cli import demo as site
    from orbweb.server.serve import ServeSettings
    from orbweb.server.serve import serve as run_server

    with ExitStack() as stack:
        private, prepare = list(private_host or ()), partial(_say_if_new, workspace, is_new=not workspace.exists())
        if demo:
            url = stack.enter_context(site.serve(port + 1 if 0 < port < LARGEST_PORT else 0))
            private.append(url.removeprefix("http://").partition("/")[0])
            prepare = partial(_crawl_demo, workspace, url)
        settings = ServeSettings(
            workspace,
            host,
            port,
            max_active,
            autoresume=not no_autoresume,
            allow_hosts=tuple(allow_host or ()),
            private_hosts=tuple(private),
            resolve=tuple(resolve or ()),
        )
        run_server(settings, print_line=_print, prepare=prepare)


def _print(text: str) -> None:
    """At once: a program that starts the server waits for these lines."""
    typer.echo(text)


def _say_if_new(workspace: Path, *, is_new: bool) -> None:
    """A mistyped directory would otherwise look like a workspace that lost everything."""
    if is_new:
        output.note(f"{workspace} is a new workspace")


def _crawl_demo(workspace: Path, url: str) -> None:
    """Crawl the bundled site, unless the workspace has a crawl of it from this address."""
    from orbweb.app import Workspace

    output.note(f"demo site at {url}")
    opened = Workspace(workspace)
    known = {status.project: status for status in opened.statuses()}.get(DEMO)
    if known is None or known.state != "completed" or url not in [base.url for base in known.bases]:
        output.note("crawling it first, which takes a few seconds")
        opened.crawl(url, project=DEMO, rate="max", new_run=True)
