"""--resources: what pages load is visited in the same queue and budget, and kept if asked for."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from harness import Cli
from servers.site import Answer, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site")
CSS = b"@import '/static/more.css'; @font-face { src: url(fonts/a.woff2) } /* url(never.png) */"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
HEAD = '<link rel=stylesheet href="/static/site.css"><script src="/static/app.js"></script>'


def of_type(content_type: str, body: bytes) -> Answer:
    return Answer(200, (("Content-Type", content_type),), body)


SITE: dict[str, Any] = {
    "/docs/": html(f"<!doctype html><title>a</title>{HEAD}<img src=logo.png><a href=b>b</a>"),
    "/docs/b": html(
        f"<!doctype html><title>b</title>{HEAD}<img src=gone.png><img src=/r><img src=//127.0.0.1:1/x>"
    ),
    "/docs/logo.png": of_type("image/png", PNG),
    "/r": redirect("/static/moved.png"),
    "/static/moved.png": of_type("image/png", PNG[:50]),
    "/static/site.css": of_type("text/css", CSS),
    "/static/more.css": of_type("text/css", b"body { background: url('bg.png') }"),
    "/static/fonts/a.woff2": of_type("font/woff2", b"wOF2" + bytes(100)),
    "/static/bg.png": of_type("image/png", PNG[:99]),
    "/static/app.js": of_type("text/javascript", b"let x = '<a href=/docs/never>'"),
    "/static/secret.css": of_type("text/css", b""),
    "/robots.txt": text("User-agent: *\nDisallow: /docs/logo.png"),
}
LOADED = {
    "/static/site.css", "/static/app.js", "/static/more.css", "/static/fonts/a.woff2", "/static/bg.png",
    "/docs/gone.png", "/r", "/static/moved.png",
}  # fmt: skip


def rows(cli: Cli, sql: str) -> list[Any]:
    with sqlite3.connect(cli.workspace / "orbweb.db") as db:
        found = db.execute(sql).fetchall()
    db.close()
    return found


@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize("mode", ["check", "store"])
def test_what_pages_load_is_visited_too(cli: Cli, mode: str, processes: int) -> None:
    with serve(StaticSite(SITE)) as server:
        done = cli.crawl(f"{server.url}docs/", *FAST, "--resources", mode, "--processes", processes).ok(3).json
        asked = [hit.path for hit in server.log]
    assert set(asked) == {"/docs/", "/docs/b", *LOADED}
    assert len(asked) == len(set(asked))
    assert (done["pages"], done["visited"], done["failed"]) == (2, 9, 1)
    assert done["skipped"] == {"out_of_scope": 1, "robots": 1}
    kept = rows(cli, "SELECT COUNT(*) FROM visits WHERE role = '-' AND body_sha256 IS NOT NULL")[0][0]
    assert kept == (6 if mode == "store" else 0)
    sources = dict(rows(cli, "SELECT source, COUNT(*) FROM urls GROUP BY source"))
    assert sources == {"initial": 1, "spider": 1, "resource": 10}
    told = cli.ask("explain", "site", f"{server.url}static/fonts/a.woff2", "--json").ok().json
    assert [step["how"] for step in told["chain"]] == ["initial", "resource", "resource"]
    assert told["referrers"] == [{"url": f"{server.url}static/site.css", "kind": "font", "nofollow": False}]
    cli.check("site")
    assert cli("doctor", "--json").ok(0).json["healthy"]
    if mode == "store":
        shown = cli.ask("show", "site", f"{server.url}static/app.js", "--as", "html").ok()
        assert shown.out == "let x = '<a href=/docs/never>'"


def test_what_base_pages_load_is_theirs_with_several_base_urls_too(cli: Cli) -> None:
    site = {
        "/a/": html("<!doctype html><title>a</title><img src=/static/i.png><a href=/blog>"),
        "/b/": html("<!doctype html><title>b</title>"),
        "/static/i.png": of_type("image/png", PNG),
    }
    with serve(StaticSite(site)) as server:
        bases = (f"{server.url}a/", f"{server.url}b/")
        done = cli.crawl(*bases, *FAST, "--resources", "check").ok(0).json
    assert (done["visited"], done["skipped"]) == (3, {"out_of_scope": 1})


def test_without_resources_none_are_asked_for(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(f"{server.url}docs/", *FAST).ok(0)
        assert {hit.path for hit in server.log} == {"/docs/", "/docs/b"}


def test_budget_depth_and_order_hold_for_resources(cli: Cli, tmp_path: Any) -> None:
    with serve(StaticSite(SITE)) as server:
        start = f"{server.url}docs/"
        hashes = set()
        for name, options in {
            "one": ("--workers", 1),
            "many": ("--workers", 16, "--processes", 1),
            "daily": ("--budget", 2),
        }.items():
            other = Cli(tmp_path / name)
            while other.crawl(start, *FAST, "--resources", "store", *options).code == 4:
                pass
            hashes.add(other.manifest_hash("site"))
        shallow = cli.crawl(start, *FAST, "--resources", "check", "--max-depth", 0).ok(0).json
    assert len(hashes) == 1
    assert (shallow["visited"], shallow["pages"]) == (6, 1)
    assert shallow["skipped"] == {"max_depth": 1, "robots": 1}
