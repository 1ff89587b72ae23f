"""A URL that redirects to a page is one of its alternates, marked as a redirect; the manifest stays as it is."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import orbweb
from harness import Cli
from servers.pages import framed, page
from servers.site import Server, StaticSite, html, redirect, serve, text

LINKS = (
    "/target",
    "/old",
    "/older",
    "/oldest",
    "/twin",
    "/to-twin",
    "/to-failed",
    "/to-refused",
    "/to-file",
    "/loop",
)
SITE: dict[str, Any] = {
    "/": page("start", *LINKS),
    "/target": framed("target", "one menu"),
    "/twin": framed("target", "another menu"),
    "/old": redirect("/target"),
    "/older": redirect("/old"),
    "/oldest": redirect("/older"),
    "/to-twin": redirect("/twin"),
    "/to-failed": redirect("/gone"),
    "/gone": html("gone", 410),
    "/to-refused": redirect("http://127.0.0.1:1/outside"),
    "/to-file": redirect("/file.txt"),
    "/file.txt": text("not a page"),
    "/loop": redirect("/loop2"),
    "/loop2": redirect("/loop"),
}
REDIRECTS = ["old", "older", "oldest", "to-twin"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(StaticSite(SITE)) as served:
        yield served


@pytest.fixture(scope="module")
def path(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("redirects") / "workspace"
    crawl(path, server)
    return path


def crawl(path: Path, server: Server, **options: Any) -> orbweb.CrawlResult:
    return orbweb.open(path).crawl(server.url, project="site", rate="max", processes=0, sitemap="off", **options)


def paths(server: Server, urls: Any) -> list[str]:
    return [url.removeprefix(server.url) for url in urls]


def test_pages_lists_redirects_after_the_urls_with_the_same_content(server: Server, path: Path) -> None:
    found = {paths(server, [each.url])[0]: each for each in orbweb.open(path).pages("site")}
    assert set(found) == {"", "target"}
    assert paths(server, found["target"].alternates) == ["twin", *REDIRECTS]
    assert paths(server, found["target"].redirects) == REDIRECTS
    assert (found[""].alternates, found[""].redirects) == ((), ())
    told = {row["url"]: row for row in Cli(path).ask("pages", "site", "--json").ok().json}
    assert paths(server, told[f"{server.url}target"]["alternates"]) == ["twin", *REDIRECTS]
    assert paths(server, told[f"{server.url}target"]["redirects"]) == REDIRECTS
    shown = Cli(path).ask("pages", "site").ok().out
    assert f"    also {server.url}twin\n    also {server.url}old (redirect)\n" in shown


def test_counts_and_the_manifest_are_those_of_urls(server: Server, path: Path) -> None:
    done = orbweb.open(path).status("site")
    assert (done.pages, done.alternates, done.failed) == (2, 1, 2)
    roles = {line.split("\t")[1].removeprefix(server.url): line.split("\t")[5] for line in manifest(path)}
    assert {roles[name] for name in REDIRECTS} == {"-"}
    assert (roles["target"], roles["twin"]) == ("primary", "alternate")


def manifest(path: Path, run: int | None = None) -> list[str]:
    return list(orbweb.open(path).manifest("site", run=run))


@pytest.mark.parametrize("name", ["target", "twin", *REDIRECTS])
def test_show_has_the_page_of_each_of_its_urls(server: Server, path: Path, name: str) -> None:
    shown = orbweb.open(path).show("site", f"{server.url}{name}")
    assert shown is not None
    assert shown.primary == f"{server.url}target"
    assert shown.document is not None
    assert paths(server, shown.alternates) == ["twin", *REDIRECTS]
    assert paths(server, shown.redirects) == REDIRECTS
    targets = {"old": "target", "older": "old", "oldest": "older", "to-twin": "twin"}
    assert shown.redirects_to == (f"{server.url}{targets[name]}" if name in targets else None)
    told = Cli(path).ask("show", "site", f"{server.url}{name}", "--as", "markdown").ok()
    assert "All that is to be said about target" in told.out
    assert (f"redirects to {server.url}target" in told.err) == (name in targets)


@pytest.mark.parametrize("name", ["to-failed", "to-refused", "to-file", "loop"])
def test_what_leads_to_no_page_is_no_alternate(server: Server, path: Path, name: str) -> None:
    shown = orbweb.open(path).show("site", f"{server.url}{name}")
    assert shown is not None
    assert (shown.primary, shown.document, shown.alternates, shown.redirects) == (None, None, (), ())
    every = [url for each in orbweb.open(path).pages("site") for url in each.alternates]
    assert f"{server.url}{name}" not in every
    assert Cli(path).ask("show", "site", f"{server.url}{name}", "--as", "markdown").code == 3


def test_meta_lists_them_and_marks_redirects(server: Server, path: Path) -> None:
    shown = Cli(path).ask("show", "site", f"{server.url}target").ok().out
    assert f"alternates:\n  {server.url}twin\n  {server.url}old (redirect)\n" in shown


def test_every_export_has_them(server: Server, path: Path, tmp_path: Path) -> None:
    workspace = orbweb.open(path)
    workspace.export("site", to="jsonl", out=tmp_path / "pages.jsonl")
    record = json.loads((tmp_path / "pages.jsonl").read_text().splitlines()[1])
    assert paths(server, record["alternates"]) == ["twin", *REDIRECTS]
    assert paths(server, record["redirects"]) == REDIRECTS
    table = io.BytesIO()
    workspace.export("site", to="csv", out=table)
    row = list(csv.DictReader(io.StringIO(table.getvalue().decode(), newline="")))[1]
    assert paths(server, row["alternates"].split()) == ["twin", *REDIRECTS]
    assert paths(server, row["redirects"].split()) == REDIRECTS
    workspace.export("site", to="markdown", out=tmp_path / "out")
    head = yaml.safe_load((tmp_path / "out" / "target.md").read_text().split("---\n")[1])
    assert paths(server, head["alternates"]) == ["twin", *REDIRECTS]
    assert paths(server, head["redirects"]) == REDIRECTS
    assert "redirects" not in yaml.safe_load((tmp_path / "out" / "index.md").read_text().split("---\n")[1])
    captured = {each.url: each for each in workspace.documents("site")}[f"{server.url}target"]
    assert paths(server, [url for _, url in captured.redirects]) == REDIRECTS


def test_only_redirects_of_the_run_itself_count(tmp_path: Path) -> None:
    site = {
        "/": page("start", "/a", "/moved", "/stays"),
        "/a": page("a"),
        "/moved": redirect("/a"),
        "/stays": redirect("/a"),
    }
    with serve(StaticSite(site)) as server:
        crawl(tmp_path, server)
        site["/moved"] = page("moved")
        orbweb.open(tmp_path).recrawl("site", rate="max", processes=0)
    alternates = {
        run: {each.url: paths(server, each.alternates) for each in orbweb.open(tmp_path).pages("site", run=run)}
        for run in (1, 2)
    }
    assert alternates[1][f"{server.url}a"] == ["moved", "stays"]
    assert alternates[2][f"{server.url}a"] == ["stays"]
    assert alternates[2][f"{server.url}moved"] == []


def test_a_target_that_is_still_queued_has_none(server: Server, tmp_path: Path) -> None:
    site = {
        "/": page("start", "/moved", "/else"),
        "/moved": redirect("/a"),
        "/else": page("else"),
        "/a": page("a"),
    }
    with serve(StaticSite(site)) as served:
        crawl(tmp_path, served, budget=2)
        assert [each.alternates for each in orbweb.open(tmp_path).pages("site")] == [()]
        orbweb.open(tmp_path).resume("site", budget=None)
        assert paths(served, orbweb.open(tmp_path).pages("site")[-1].redirects) == ["moved"]
