"""`plan PROJECT`: what other settings would do, told without a request, and true in the next recrawl."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, deaf_port
from servers.pages import page
from servers.site import Answer, Server, StaticSite, html, redirect, serve, text


def site(deaf: int) -> dict[str, Answer]:
    listed = "".join(f"<url><loc>{path}</loc></url>" for path in ("/docs/listed", "/docs/a", "/docs/gone"))
    return {
        "/": redirect("/docs/"),
        "/docs/": page(
            "docs",
            *("/docs/a", "/docs/b", "/docs/moved", "/docs/private/x", "/docs/broken", "/docs/leaf/1", "/blog/x"),
            *(f"http://127.0.0.1:{deaf}/", "/docs/hidden", "/docs/kin/kin/kin/kin", "/docs/loop", "/docs/gone"),
        ),
        "/docs/a": page("a", "/docs/a/deep", "/docs/leaf/2", "/docs/same"),
        "/docs/a/deep": page("deep", "/docs/a/deeper"),
        "/docs/a/deeper": page("deeper", "/docs/a/deepest"),
        "/docs/a/deepest": page("deepest"),
        "/docs/b": html(
            '<title>b</title><p>b</p><a rel="nofollow" href="/docs/rel">x</a><a href="/docs/plain">x</a>'
        ),
        "/docs/rel": page("rel", "/docs/rel/child"),
        "/docs/rel/child": page("child of rel"),
        "/docs/plain": page("plain"),
        "/docs/same": page("plain"),
        "/docs/moved": redirect("/docs/target"),
        "/docs/target": page("target", "/docs/leaf/3"),
        "/docs/loop": redirect("/docs/loop/2"),
        "/docs/loop/2": redirect("/docs/loop"),
        "/docs/broken": html("no", 500),
        "/docs/private/x": page("x"),
        "/docs/hidden": html(
            '<meta name="robots" content="noindex"><title>h</title><p>Hidden.</p><a href="/docs/behind">x</a>'
        ),
        "/docs/behind": page("behind"),
        "/docs/listed": page("listed", "/docs/leaf/4"),
        **{f"/docs/leaf/{number}": page(f"leaf {number}") for number in range(1, 5)},
        "/docs/kin/kin/kin/kin": page("kin"),
        "/blog/x": page("blog", "/blog/y"),
        "/robots.txt": text("User-agent: *\nDisallow: /docs/private\nCrawl-delay: 0.01\nSitemap: /map.xml\n"),
        "/map.xml": text(f"<urlset>{listed}</urlset>"),
    }


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with deaf_port() as deaf, serve(StaticSite(site(deaf))) as server:
        yield server


QUICK: dict[str, Any] = {"fetch": {"retries": 0, "allow_private": True}, "limits": {"rate": "max"}}


def settings(path: Path, **sections: dict[str, Any]) -> Path:
    file = path / "settings.yaml"
    file.write_text(json.dumps({**QUICK, **sections}))
    return file


@pytest.fixture(scope="module")
def crawled(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("replan")
    done = orbweb.open(home / "workspace").crawl(server.url, project="site", processes=0, config=settings(home))
    assert (done.run_state, done.exit_code) == ("completed", 3)
    return home / "workspace"


CHANGES: dict[str, dict[str, dict[str, Any]]] = {
    "nothing": {},
    "exclude": {"scope": {"exclude": ["/leaf/", "moved"]}},
    "include": {"scope": {"include": ["/docs/[ab]", "/leaf/", "target"]}},
    "depth": {"limits": {"rate": "max", "max_depth": 1}},
    "no depth": {"limits": {"rate": "max", "max_depth": 0}},
    "limit": {"limits": {"rate": "max", "page_limit": 7}},
    "low limit": {"limits": {"rate": "max", "page_limit": 2}},
    "hops": {"scope": {"external_hops": 1}},
    "robots": {"robots": {"obey": False}},
    "directives": {"robots": {"obey_directives": False}},
    "nofollow": {"robots": {"follow_nofollow_links": False}},
    "traps": {"scope": {"park_traps": False}},
    "sitemap only": {"sitemap": {"mode": "only"}},
    "no sitemap": {"sitemap": {"mode": "off"}},
    "params": {"urls": {"keep_params": []}},
    "many": {"scope": {"exclude": ["target"], "external_hops": 1}, "limits": {"rate": "max", "max_depth": 2}},
}


def visited(path: Path) -> list[str]:
    return [line.split("\t")[1] for line in orbweb.open(path).manifest("site")]


@pytest.mark.parametrize("name", CHANGES)
def test_a_plan_of_a_project_is_what_its_recrawl_visits(
    server: Server, crawled: Path, tmp_path: Path, name: str
) -> None:
    path, config = tmp_path / "workspace", settings(tmp_path, **CHANGES[name])
    shutil.copytree(crawled, path)
    known = set(_known(path))
    server.reset()
    report = orbweb.open(path).plan("site", config=config)
    assert isinstance(report, orbweb.RecrawlPlan)
    assert server.whole_log == ()
    orbweb.open(path).recrawl("site", config=config)
    assert [url for url in report.visits if url in known] == [url for url in visited(path) if url in known]
    status = orbweb.open(path).status("site")
    planned = {reason: found.count for reason, found in report.would_skip.items()}
    if not report.unknown.count:
        assert list(report.visits) == visited(path)
        assert planned == status.skipped
        assert [base.pages for base in report.bases] == [base.pages for base in status.bases]
    assert report.would_visit == len(report.visits)


def _known(path: Path) -> list[str]:
    with closing(sqlite3.connect(path / "orbweb.db")) as db:
        return [url for (url,) in db.execute("SELECT COALESCE(url, key) FROM urls")]


def test_a_plan_tells_what_is_new_what_is_lost_and_what_is_unknown(
    cli: Cli, server: Server, crawled: Path, tmp_path: Path
) -> None:
    shutil.copytree(crawled, cli.workspace)
    before = (cli.workspace / "orbweb.db").read_bytes()
    done = cli("plan", "site", "--exclude", "/leaf/", "--external-hops", 1, "--json").ok(0)
    report = done.json
    assert (report["project"], report["run"]) == ("site", 1)
    assert report["newly_refused"]["by_reason"] == {"excluded": 4}
    assert report["newly_refused"]["examples"][0] == {
        "url": f"{server.url}docs/leaf/1",
        "reason": "excluded",
        "rule": "scope.exclude: /leaf/",
    }
    assert f"{server.url}blog/x" in report["unknown"]["examples"]
    assert report["newly_admitted"]["count"] == 2
    shown = cli("plan", "site", "--exclude", "/leaf/").ok(0).out
    assert "4 no longer visited (4 excluded)" in shown
    assert (cli.workspace / "orbweb.db").read_bytes() == before
    assert orbweb.open(cli.workspace).status("site").run == 1


def test_a_plan_of_a_paused_project_takes_the_queue_for_unknown(server: Server, tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "workspace")
    done = space.crawl(server.url, project="site", processes=0, budget=4, config=settings(tmp_path))
    report = space.plan("site")
    assert isinstance(report, orbweb.RecrawlPlan)
    assert report.unknown.count == done.queued - 1, "robots.txt refuses one"
    assert space.status("site").state == "paused"


def test_a_plan_of_a_project_names_what_is_wrong(cli: Cli, crawled: Path) -> None:
    shutil.copytree(crawled, cli.workspace)
    wrong = cli("plan", "site", "--exclude", "(").ok(2)
    assert "scope.exclude" in wrong.err
    assert "is not a URL" in cli("plan", "unknown name").ok(2).err
    blocked = cli("plan", "site", "--exclude", ".", "--json").ok(0).json
    assert blocked["would_visit"] == 2
