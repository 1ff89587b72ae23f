"""Exit code 6: no base URL gave a page. The message says why and what to do, and `plan` agrees with `crawl`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, deaf_port
from orbweb.app import CrawlResult
from servers.pages import page
from servers.site import Answer, StaticSite, html, redirect, serve, text

PDF = Answer(200, (("Content-Type", "application/pdf"),), b"%PDF-1.4")
FORBIDDEN = text("User-agent: *\nDisallow: /")
NOINDEX = html("<!doctype html><title>n</title><meta name=robots content=noindex><a href=/a>a</a>")
QUICK = {"rate": "max", "processes": 0, "project": "site"}


@pytest.fixture
def notes() -> list[str]:
    return []


def both(
    site: dict[str, Any], path: Path, notes: list[str], *start: str, **options: Any
) -> tuple[CrawlResult, int]:
    """The result of a crawl, and the exit code of a plan of the same."""
    with serve(StaticSite({"/sitemap.xml": html("no", 404)} | site)) as server:
        urls = [f"{server.url}{each}" for each in start or ("",)]
        space = orbweb.open(path)
        planned = space.plan(urls, note=notes.append, rate="max", processes=0).exit_code
        return space.crawl(urls, note=notes.append, **QUICK, **options), planned


@pytest.mark.parametrize(
    ("site", "why", "what"),
    [
        ({"/": page("x"), "/robots.txt": FORBIDDEN}, "(robots)", "robots.obey"),
        ({}, "HTTP 404", "in a browser"),
        ({"/": html("no", 401)}, "HTTP 401", "login"),
        ({"/": PDF}, "application/pdf, not HTML", "resources"),
        ({"/": Answer(204)}, "not HTML", "HTML page"),
        ({"/": redirect("/gone")}, "HTTP 404", "in a browser"),
        ({"/": NOINDEX}, "noindex", "robots.obey_directives"),
    ],
    ids=["robots", "404", "401", "pdf", "204", "redirect to 404", "noindex"],
)
def test_no_base_url_gave_a_page(
    tmp_path: Path, notes: list[str], site: dict[str, Any], why: str, what: str
) -> None:
    site = site | {"/a": html("gone", 404)}
    done, planned = both(site, tmp_path, notes, max_depth=0)
    said = "\n".join(notes)
    assert (done.exit_code, done.state, done.pages) == (6, "completed_with_errors", 0)
    assert done.bases[0].problem
    assert planned == (0 if why == "noindex" else 6), "a plan does not know what links lead to"
    assert "nothing was crawled" in said
    assert why in said
    assert what in said
    status = orbweb.open(tmp_path).status("site")
    assert (status.state, status.crawls[-1].state) == ("completed", done.state)


def test_nobody_listens(cli: Cli) -> None:
    env = {"ORBWEB_FETCH__RETRIES": "0", "ORBWEB_LIMITS__RATE": "max"}
    with deaf_port() as port:
        for command in (("crawl", "--no-progress"), ("plan",)):
            done = cli(*command, f"http://127.0.0.1:{port}/", "--json", env=env).ok(6)
            assert "nothing was crawled" in done.err
            assert "server is running" in done.err
            assert done.json["bases"][0]["problem"]


@pytest.mark.parametrize(
    ("site", "code"),
    [
        ({"/": redirect("/a"), "/a": page("a")}, 0),
        ({"/": NOINDEX, "/a": page("a")}, 0),
        (
            {"/": html("no", 404), "/a": page("a")}
            | {"/sitemap.xml": text("<urlset><url><loc>/a</loc></url></urlset>")},
            3,
        ),
    ],
    ids=["redirect", "noindex with links", "sitemap"],
)
def test_something_was_crawled(tmp_path: Path, notes: list[str], site: dict[str, Any], code: int) -> None:
    done, planned = both(site, tmp_path, notes)
    assert (done.exit_code, planned) == (code, code)
    assert done.state == ("completed_with_errors" if code else "completed")
    assert not any("nothing was crawled" in note for note in notes)


@pytest.mark.parametrize("bad", ["file.pdf", "secret/", "gone"])
def test_one_of_several_base_urls(tmp_path: Path, notes: list[str], bad: str) -> None:
    rules = text("User-agent: *\nDisallow: /secret")
    site = {"/good/": page("good"), "/file.pdf": PDF, "/secret/": page("s"), "/robots.txt": rules}
    done, planned = both(site, tmp_path, notes, "good/", bad)
    assert (done.exit_code, planned, done.state) == (3, 3, "completed_with_errors")
    assert [bool(base.problem) for base in done.bases] == [False, True]
    assert any(bad in note for note in notes)


def test_a_file_that_is_stored_is_something(tmp_path: Path, notes: list[str]) -> None:
    with serve(StaticSite({"/": PDF})) as server:
        done = orbweb.open(tmp_path).crawl(server.url, resources="store", **QUICK)
    assert (done.exit_code, done.bytes > 0) == (0, True)


def test_a_budget_that_ends_before_the_base_urls_leaves_urls(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path)
    with serve(StaticSite({"/b": page("b")})) as server:
        urls = [f"{server.url}a", f"{server.url}b"]
        stopped = space.crawl(urls, budget=1, **QUICK)
        resumed = space.resume("site", budget=None)
        again = space.recrawl("site", budget=None)
    assert (stopped.exit_code, stopped.state, stopped.ended_by) == (4, "stopped_early", "budget")
    assert (resumed.exit_code, resumed.state) == (3, "completed_with_errors")
    assert again.exit_code == 3


def test_a_run_with_an_earlier_page_is_not_empty(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path)
    site = {"/": page("start", "/gone")}
    with serve(StaticSite(site)) as server:
        assert space.crawl(server.url, budget=1, **QUICK).exit_code == 4
        resumed = space.resume("site", budget=None)
    assert (resumed.exit_code, resumed.pages, resumed.crawl_pages) == (3, 1, 0)


def test_a_recrawl_that_changes_nothing_is_not_empty(tmp_path: Path) -> None:
    from servers.site import Validated

    space = orbweb.open(tmp_path)
    with serve(Validated(StaticSite({"/": page("start")}))) as server:
        assert space.crawl(server.url, **QUICK).exit_code == 0
        again = space.recrawl("site")
        due = space.recrawl("site", due=True)
    assert (again.exit_code, again.not_modified, due.exit_code) == (0, 1, 0)


def test_a_finished_run_is_not_empty(cli: Cli) -> None:
    """Nobody can say what a base URL gives before it was visited."""
    space = orbweb.open(cli.workspace)
    with serve(StaticSite({"/b": page("b")})) as server:
        space.crawl([f"{server.url}a", f"{server.url}b"], budget=1, **QUICK)
    assert space.finish("site").crawls[-1].state == "stopped_early"


def test_discovery_that_finds_nothing(cli: Cli) -> None:
    with serve(StaticSite({})) as server:
        words = (server.url, "--project", "site", "--rate", "max", "--no-progress", "--json")
        assert cli("discover", *words).code == 6
        assert cli("run", *words, "--new-run").code == 6


def test_a_scraper_that_had_nothing_to_do_is_no_failure() -> None:
    idle = orbweb.IdleScraper("site", None, None, "cancelled", "nothing was discovered yet", 0, 0, 0, {}, "w")
    assert idle.exit_code == 0
    assert idle._replace(run_state="paused").exit_code == 4
