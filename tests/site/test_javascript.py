"""A page that needs JavaScript is said to: at the end of a crawl, by `status`, `pages` and `show`."""

from __future__ import annotations

import pytest

import orbweb
from harness import Cli
from servers.pages import page
from servers.site import StaticSite, html, serve

SHELL = html("<!doctype html><title>App</title><div id=root></div><script src=/static/js/main.1f.js></script>")
OTHER = html("<!doctype html><title>Other</title><div id=app></div><script src=/app.js></script>")
TEXT = html("<!doctype html><title>Text</title><div id=root></div><script src=a.js></script><p>" + "words " * 300)


@pytest.mark.parametrize("processes", [0, 1])
def test_shells_are_counted_and_named(cli: Cli, processes: int) -> None:
    site = {"/": page("start", "/app", "/other", "/text"), "/app": SHELL, "/other": OTHER, "/text": TEXT}
    with serve(StaticSite(site)) as server:
        options = ("--project", "site", "--rate", "max", "--processes", processes)
        done = cli.crawl(server.url, *options).ok(0)
    app, other, normal = (f"{server.url}{path}" for path in ("app", "other", "text"))
    assert done.json["needs_javascript"] == {"count": 2, "examples": [app, other]}
    assert "2 of 4 pages have almost no text without JavaScript" in done.err
    assert app in done.err
    assert "--sitemap only" in done.err
    assert "--render" not in done.err
    assert cli.ask("status", "site", "--json").ok().json["needs_javascript"]["count"] == 2
    assert app in cli.ask("status", "site").ok().out
    marks = {row["url"]: row["needs_javascript"] for row in cli.ask("pages", "site", "--json").ok().json}
    assert marks == {server.url: False, app: True, other: True, normal: False}
    assert cli.ask("pages", "site").ok().out.count("needs JavaScript") == 2
    assert "#root" in cli.ask("show", "site", app, "--json").ok().json["needs_javascript"]
    assert cli.ask("show", "site", normal, "--json").ok().json["needs_javascript"] is None
    assert "needs JavaScript" in cli.ask("show", "site", app, "--as", "markdown").ok().err
    assert cli.ask("show", "site", normal, "--as", "markdown").ok().err == ""


def test_a_body_that_is_lost_tells_nothing(cli: Cli) -> None:
    with serve(StaticSite({"/": SHELL})) as server:
        done = orbweb.crawl(server.url, workspace=cli.workspace, project="site", rate="max", processes=0)
    assert done.needs_javascript.count == 1
    for segment in (cli.workspace / "store" / "segments").iterdir():
        segment.write_bytes(b"")
    assert cli.ask("status", "site", "--json").ok().json["needs_javascript"]["count"] == 0


def test_discovery_stores_no_bodies_and_says_nothing(cli: Cli) -> None:
    with serve(StaticSite({"/": SHELL})) as server:
        done = cli("discover", server.url, "--project", "site", "--rate", "max", "--json").ok(0)
    assert done.json["needs_javascript"] == {"count": 0, "examples": []}
