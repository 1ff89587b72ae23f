"""A recrawl visits what is known first, follows what is new, and tells what has vanished."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from orbweb.app import CrawlResult, Workspace
from orbweb.app.directory import OpenWorkspace as Directory
from orbweb.engine.commit import Committer
from orbweb.errors import UsageError
from orbweb.model import Item, Unchanged
from orbweb.store import links as packed_links
from orbweb.store.captures import StoredCaptures
from orbweb.store.runs import RequestProfile, Run
from servers.graph import GraphSite
from servers.site import Answer, Server, StaticSite, Validated, html, redirect, serve

Lines = list[list[str]]


def page(name: str, *hrefs: str) -> Answer:
    links = "".join(f'<li><a href="{href}">{href}</a>' for href in hrefs)
    return html(f"<title>{name}</title><h1>{name}</h1><p>The page called {name}.</p><ul>{links}</ul>")


def crawl(workspace: Path, url: str, **options: Any) -> CrawlResult:
    given = {"rate": "max", "processes": 0, "sitemap": "off", **options}
    return orbweb.open(workspace).crawl(url, project="site", **given)


def recrawl(workspace: Path, **options: Any) -> CrawlResult:
    return orbweb.open(workspace).recrawl("site", **options)


def manifest(workspace: Path, run: int | None = None) -> Lines:
    return [line.split("\t") for line in orbweb.open(workspace).manifest("site", run=run)]


def visited(workspace: Path, run: int | None = None) -> list[str]:
    return ["/" + line[1].split("/", 3)[3] for line in manifest(workspace, run)]


def gone(workspace: Path, run: int | None = None) -> dict[str, tuple[int, str, int]]:
    found = orbweb.open(workspace).gone("site", run=run)
    return {"/" + each.url.split("/", 3)[3]: (each.since, each.why, each.last) for each in found}


def removed(workspace: Path) -> dict[str, str]:
    report = orbweb.open(workspace).diff("site")
    return {"/" + each.url.split("/", 3)[3]: each.why for each in report.removed}


# A site that is edited between runs.


@pytest.fixture
def pages() -> dict[str, Answer]:
    return {
        "/": page("start", "/a", "/b"),
        "/a": page("a", "/c"),
        "/b": page("b", "/d", "/e"),
        "/c": page("c"),
        "/d": page("d"),
        "/e": page("e", "/f"),
        "/f": page("f"),
    }


@pytest.fixture
def server(pages: dict[str, Answer]) -> Iterator[Server]:
    with serve(Validated(StaticSite(pages))) as server:
        yield server


def bodies(server: Server) -> list[str]:
    found = [hit.path for hit in server.log if hit.status == 200]
    server.reset()
    return found


def test_known_urls_come_first_in_their_old_order_and_new_links_after_them(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    crawl(tmp_path, server.url)
    assert visited(tmp_path) == ["/", "/a", "/b", "/c", "/d", "/e", "/f"]
    pages["/"] = page("start", "/new", "/b", "/a")
    pages["/new"] = page("new", "/deep")
    pages["/deep"] = page("deep")
    server.reset()
    second = recrawl(tmp_path)
    assert visited(tmp_path) == ["/", "/a", "/b", "/new", "/c", "/d", "/e", "/deep", "/f"]
    assert bodies(server) == ["/", "/new", "/deep"]
    assert (second.not_modified, second.exit_code) == (6, 0)
    assert gone(tmp_path) == {}


def test_what_is_reached_only_over_unchanged_pages_is_visited(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    crawl(tmp_path, server.url, budget=3)
    with pytest.raises(UsageError, match="run 1 of 'site' is paused, 3 URLs queued"):
        recrawl(tmp_path)
    orbweb.open(tmp_path).finish("site")
    server.reset()
    recrawl(tmp_path, budget=None)
    assert visited(tmp_path) == ["/", "/a", "/b", "/c", "/d", "/e", "/f"]
    assert bodies(server) == ["/c", "/d", "/e", "/f"]


def test_a_paused_run_is_finished_where_runs_are_not_incremental(server: Server, tmp_path: Path) -> None:
    config = tmp_path / "whole.yaml"
    config.write_text("incremental: false")
    crawl(tmp_path, server.url, budget=2, config=config)
    recrawl(tmp_path, budget=None)
    assert [run.state for run in orbweb.open(tmp_path).runs("site")] == ["completed", "completed"]
    assert len(visited(tmp_path)) == 7


def test_pages_that_vanish_are_kept_and_not_asked_for_again(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    crawl(tmp_path, server.url)
    pages["/b"] = page("b", "/d")
    del pages["/d"]
    recrawl(tmp_path)
    assert visited(tmp_path) == ["/", "/a", "/b", "/c", "/d", "/e", "/f"]
    unlinked = (2, "no longer linked", 2)
    vanished = {"/d": (2, "HTTP 404", 1), "/e": unlinked, "/f": unlinked}
    assert gone(tmp_path) == vanished
    assert gone(tmp_path, 1) == {}
    assert removed(tmp_path) == {path: why for path, (_, why, _) in vanished.items()}
    recrawl(tmp_path)
    assert visited(tmp_path) == ["/", "/a", "/b", "/c", "/d"]
    assert gone(tmp_path) == vanished
    assert removed(tmp_path) == {}
    workspace = Workspace(tmp_path)
    url = server.url.rstrip("/")
    assert workspace.explain("site", f"{url}/e").gone == orbweb.GonePage(f"{url}/e", 2, "no longer linked", 2)
    shown, kept = (workspace.show("site", f"{url}/{name}") for name in "dc")
    assert shown
    assert shown.gone == orbweb.GonePage(f"{url}/d", 2, "HTTP 404", 1)
    assert kept
    assert kept.gone is None
    assert "gone since run 2 (no longer linked)" in Cli(tmp_path).ask("pages", "site", "--gone").ok().out
    assert "gone since run 2" in Cli(tmp_path).ask("explain", "site", f"{url}/f").ok(3).out
    pages["/c"] = page("c", "/e")
    recrawl(tmp_path)
    assert visited(tmp_path) == ["/", "/a", "/b", "/c", "/d", "/e", "/f"]
    assert gone(tmp_path) == {"/d": (2, "HTTP 404", 1)}
    added = [each.url.removeprefix(url) for each in workspace.diff("site").added]
    assert added == ["/e", "/f"]


def test_a_page_that_fails_for_now_still_has_its_links(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    quick = tmp_path / "quick.yaml"
    quick.write_text("fetch: {backoff_s: 0.01, retries: 0}")
    crawl(tmp_path, server.url, config=quick)
    kept = pages["/b"]
    pages["/b"] = html("broken", status=500)
    for _ in range(2):
        assert recrawl(tmp_path).exit_code == 3
        assert gone(tmp_path) == {}
        assert sorted(visited(tmp_path)) == ["/", "/a", "/b", "/c", "/d", "/e", "/f"]
    pages["/b"] = kept
    recrawl(tmp_path)
    assert gone(tmp_path) == {}


def test_a_run_that_is_reopened_is_marked_anew(pages: dict[str, Answer], server: Server, tmp_path: Path) -> None:
    quick = tmp_path / "quick.yaml"
    quick.write_text("fetch: {backoff_s: 0.01, retries: 0}")
    pages["/a"] = page("a", "/c", "/late")
    pages["/late"] = page("late")
    crawl(tmp_path, server.url, config=quick)
    pages["/b"] = page("b", "/d")
    pages["/late"] = html("broken", status=500)
    recrawl(tmp_path)
    assert set(gone(tmp_path)) == {"/e", "/f"}
    pages["/late"] = page("late, and longer", "/e")
    workspace = orbweb.open(tmp_path)
    assert workspace.retry("site") == 1
    workspace.resume("site")
    assert gone(tmp_path) == {}


def test_what_was_found_on_a_page_that_is_not_known_any_more_has_no_referrer(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    pages["/a"] = html('<meta name=robots content=noindex><a href="/c">c</a>')
    pages["/c"] = page("c", "/d", "/e")
    crawl(tmp_path, server.url)
    pages["/b"] = Answer(410, (), b"")
    for _ in range(2):
        recrawl(tmp_path)
    chains = {path: orbweb.open(tmp_path).explain("site", server.url + path).chain for path in ("c", "d", "e")}
    assert {path: len(chain) for path, chain in chains.items()} == {"c": 1, "d": 1, "e": 1}
    assert Cli(tmp_path)("doctor", "--json").ok().json["healthy"]


def test_what_a_sitemap_lists_is_not_gone(pages: dict[str, Answer], server: Server, tmp_path: Path) -> None:
    def listing(*paths: str) -> Answer:
        entries = "".join(f"<url><loc>{server.url.rstrip('/')}{path}</loc></url>" for path in paths)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return Answer(
            200, (("Content-Type", "application/xml"),), f'<urlset xmlns="{space}">{entries}</urlset>'.encode()
        )

    pages["/sitemap.xml"] = listing("/c", "/alone", "/lost")
    pages["/alone"] = page("alone", "/below")
    pages["/below"] = page("below")
    pages["/lost"] = page("lost")
    crawl(tmp_path, server.url, sitemap="auto")
    pages["/a"] = page("a")
    pages["/sitemap.xml"] = listing("/alone", "/f")
    recrawl(tmp_path)
    assert set(gone(tmp_path)) == {"/c", "/lost"}
    recrawl(tmp_path)
    assert set(gone(tmp_path)) == {"/c", "/lost"}
    assert sorted(visited(tmp_path)) == ["/", "/a", "/alone", "/b", "/below", "/d", "/e", "/f"]


def test_known_urls_are_judged_by_the_rules_of_now(server: Server, tmp_path: Path) -> None:
    crawl(tmp_path, server.url)
    narrow = tmp_path / "narrow.yaml"
    narrow.write_text("scope: {exclude: ['/e$']}\nlimits: {max_depth: 2}")
    recrawl(tmp_path, config=narrow)
    assert visited(tmp_path) == ["/", "/a", "/b", "/c", "/d"]
    explained = Workspace(tmp_path).explain("site", f"{server.url.rstrip('/')}/e")
    assert (explained.reason, explained.rule) == ("excluded", "scope.exclude: /e$")
    Cli(tmp_path).check("site")


def test_a_base_url_that_leads_elsewhere_moves_the_scope_of_what_is_known(tmp_path: Path) -> None:
    pages = {
        "/": redirect("/one/"),
        "/one/": page("one", "/one/x", "/two/x"),
        "/one/x": page("one x"),
        "/two/": page("two", "/one/x", "/two/x", "/two/y"),
        "/two/x": page("two x"),
        "/two/y": page("two y"),
    }
    with serve(Validated(StaticSite(pages))) as server:
        crawl(tmp_path, server.url)
        assert visited(tmp_path) == ["/", "/one/", "/one/x"]
        recrawl(tmp_path)
        assert visited(tmp_path) == ["/", "/one/", "/one/x"]
        pages["/"] = redirect("/two/")
        recrawl(tmp_path)
        assert visited(tmp_path) == ["/", "/two/", "/two/x", "/two/y"]
    Cli(tmp_path).check("site")


# A random graph with duplicates, redirects, failures: any way to crawl it again gives the same.


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path, Path]]:
    """The server, a workspace with one run, and one with an undisturbed recrawl after it."""
    once = tmp_path_factory.mktemp("recrawl") / "once"
    with serve(Validated(GraphSite(3, 120))) as server:
        quick = once.with_name("quick.yaml")
        quick.write_text("fetch: {backoff_s: 0.01}\nengine: {window: 32, group_pages: 8, group_ms: 20}")
        crawl(once, server.url, workers=16, config=quick)
        whole = shutil.copytree(once, once.with_name("whole"))
        recrawl(whole, workers=5)
        yield server, once, whole


@pytest.fixture
def copy(graph: tuple[Server, Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(graph[1], tmp_path / "copy"))


@pytest.mark.parametrize("workers", [1, 4, 32])
def test_an_unchanged_site_is_the_same_with_any_number_of_workers(
    graph: tuple[Server, Path, Path], copy: Path, workers: int
) -> None:
    recrawl(copy, workers=workers)
    assert manifest(copy) == manifest(graph[2])
    first = {line[1]: line[3:5] for line in manifest(copy, 1)}
    assert {line[1]: line[3:5] for line in manifest(copy)} == first
    assert gone(copy) == {}


def edges(workspace: Path, run: int) -> dict[str, list[tuple[str, str, bool]]]:
    """What each page of a run links to and loads, by keys, in the order of the page."""
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
        keys = dict(db.execute("SELECT id, key FROM urls WHERE run_id = ?", [run]))
        records = db.execute("SELECT url_id, packed FROM outlinks WHERE run_id = ?", [run]).fetchall()
    return {
        keys[page]: [(keys[edge.target], edge.kind, edge.nofollow) for edge in packed_links.unpack(packed)]
        for page, packed in records
    }


@pytest.mark.parametrize("order", ["number", "-number", "number * 7919 % 127"])
def test_a_capture_is_the_same_in_whatever_order_they_are_asked_for(
    graph: tuple[Server, Path, Path], copy: Path, order: str
) -> None:
    keys = f"SELECT key FROM urls JOIN visits ON url_id = id ORDER BY {order}"
    with closing(Directory(copy)) as space, closing(sqlite3.connect(copy / "orbweb.db")) as db:
        run = space.run("site")
        found = captures(space, run)
        asked = [key for (key,) in db.execute(keys)]
        for key in [*asked, f"{graph[0].url}never-seen", *asked[:9]]:
            assert found.find(key) == captures(space, run).find(key)


def captures(space: Directory, run: Run) -> StoredCaptures:
    return space.captures(run, RequestProfile(None, None), 1, only=run.id)


def test_unchanged_pages_have_the_links_they_had(graph: tuple[Server, Path, Path]) -> None:
    assert len(edges(graph[2], 1)) > 60
    assert edges(graph[2], 2) == edges(graph[2], 1)


def test_links_to_what_is_not_there_make_the_page_be_fetched_again(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    crawl(tmp_path, server.url)
    lost, far = packed_links.pack([2, 3, 400], bytes(3)), packed_links.pack([2**32 - 1], bytes(1))
    with closing(sqlite3.connect(tmp_path / "orbweb.db")) as db, db:
        db.execute("UPDATE outlinks SET packed = ? WHERE url_id = 1", [lost])
        db.execute("UPDATE outlinks SET packed = ? WHERE url_id = 2", [far])
    again = recrawl(tmp_path)
    assert (again.visited, again.not_modified) == (len(pages), len(pages) - 2)
    assert visited(tmp_path) == visited(tmp_path, 1)


@pytest.mark.parametrize("fault", ["run_created:1", "rows_written:3", "crawl_ended:1", "page_settled:60"])
def test_a_recrawl_that_is_killed_goes_on_as_if_it_had_not_been(
    graph: tuple[Server, Path, Path], copy: Path, fault: str
) -> None:
    cli = Cli(copy)
    killed = cli("recrawl", "site", "--json", "--no-progress", "--workers", 8, env={"ORBWEB_FAULT": fault})
    assert killed.code == -signal.SIGKILL
    if fault != "crawl_ended:1":
        cli.resume("site").ok(3)
    assert manifest(copy) == manifest(graph[2])
    cli.check("site")
    assert cli("doctor", "--json").ok().json["healthy"]


TIMES = ("created_at", "started_at", "ended_at", "updated_at", "fetched_at", "latency_ms", "changed_in")


def rows(workspace: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that a workspace holds, but for when it was."""
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        columns = {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in tables}
        kept = {table: ", ".join(name for name in columns[table] if name not in TIMES) for table in tables}
        return {table: sorted(db.execute(f"SELECT {kept[table]} FROM {table}"), key=repr) for table in tables}


def derived(workspace: Path) -> list[str]:
    """The links as files tell them; what else they tell has times in it."""
    return (workspace / "logs" / "edges-site-2.csv").read_text().splitlines()


def taken_over(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each unchanged page was taken over by the short way."""
    told: list[bool] = []
    short = Committer.commit_unchanged

    def take_over(ledger: Committer, item: Item, seen: Unchanged) -> bool:
        told.append(short(ledger, item, seen))
        return told[-1]

    monkeypatch.setattr(Committer, "commit_unchanged", take_over)
    return told


TIMED = {"outputs", "units"}
"""Cursors of files whose lines have times in them, and the times themselves."""


@pytest.mark.parametrize("options", [{}, {"budget": 50}, {"page_limit": 40}, {"order": "relaxed"}])
def test_the_short_way_makes_the_rows_of_the_long_one(
    graph: tuple[Server, Path, Path],
    copy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
) -> None:
    config = tmp_path / "more.yaml"
    limits = {name: value for name, value in options.items() if name != "order"}
    config.write_text(json.dumps({"limits": limits, "engine": {"order": options.get("order", "strict")}}))
    other = Path(shutil.copytree(copy, tmp_path / "other"))
    with monkeypatch.context() as patched:
        told = taken_over(patched)
        short = recrawl(copy, config=config)
    assert sum(told) > 15
    monkeypatch.setattr(StoredCaptures, "stands", lambda *_: False)
    assert recrawl(other, config=config).ended_by == short.ended_by
    found, expected = rows(copy), rows(other)
    assert {name: found[name] for name in found if name not in TIMED} == {
        name: expected[name] for name in expected if name not in TIMED
    }
    assert derived(copy) == derived(other)


def test_the_short_way_is_not_taken_where_more_is_to_be_done(
    pages: dict[str, Answer], server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that comes to have the content of another, one of a family, and one whose links are refused now."""
    pages["/e"] = page("e", "/f", "/list?from=1", "/out")
    pages["/list"] = page("list", "/a")
    pages["/out"] = page("out", "/f")
    pages["/robots.txt"] = Answer(200, (("Content-Type", "text/plain"),), b"")
    crawl(tmp_path, server.url)
    pages["/a"] = page("c")
    pages["/robots.txt"] = Answer(200, (("Content-Type", "text/plain"),), b"User-agent: *\nDisallow: /out\n")
    with closing(sqlite3.connect(tmp_path / "orbweb.db")) as db, db:
        db.execute("DELETE FROM robots")
    other = Path(shutil.copytree(tmp_path, tmp_path.with_name("other")))
    with monkeypatch.context() as patched:
        told = taken_over(patched)
        recrawl(tmp_path)
    assert True in told
    assert False in told
    monkeypatch.setattr(StoredCaptures, "stands", lambda *_: False)
    recrawl(other)
    found, expected = rows(tmp_path), rows(other)
    others = {*TIMED, "robots"}
    assert {name: found[name] for name in found if name not in others} == {
        name: expected[name] for name in expected if name not in others
    }


def test_budgets_split_a_recrawl_exactly(graph: tuple[Server, Path, Path], copy: Path) -> None:
    workspace = orbweb.open(copy)
    done = recrawl(copy, budget=17)
    while done.exit_code == 4:
        assert done.crawl_visited + done.crawl_failed == 17
        done = workspace.resume("site", budget=17)
    assert manifest(copy) == manifest(graph[2])


def test_relaxed_order_knows_the_same(graph: tuple[Server, Path, Path], copy: Path, tmp_path: Path) -> None:
    config = tmp_path / "relaxed.yaml"
    config.write_text("engine: {order: relaxed}")
    recrawl(copy, config=config)
    assert sorted(line[1] for line in manifest(copy)) == sorted(line[1] for line in manifest(graph[2]))


def test_without_a_run_there_is_nothing_to_crawl_again(tmp_path: Path) -> None:
    done = Cli(tmp_path)("recrawl", "nothing")
    assert done.code == 2


# Only what is due.


def aged(workspace: Path, **hours: int) -> None:
    """Let the pages have been asked for so many hours before they were: `a=5` is /a, others are as they are."""
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db, db:
        for name, past in hours.items():
            db.execute(
                "UPDATE visits SET fetched_at = fetched_at - ? WHERE (run_id, url_id) IN "
                "(SELECT run_id, id FROM urls WHERE key LIKE ?)",
                (past * 3_600_000_000, f"%/{name}"),
            )


def statuses(workspace: Path) -> dict[str, str]:
    return {"/" + line[1].split("/", 3)[3]: line[2] for line in manifest(workspace)}


def test_only_what_is_due_is_asked_for_and_the_run_is_whole(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    crawl(tmp_path, server.url)
    aged(tmp_path, a=2, e=2)
    pages["/e"] = page("e, edited", "/f", "/new")
    pages["/new"] = page("new")
    server.reset()
    done = recrawl(tmp_path, due=True)
    found = statuses(tmp_path)
    assert {path for path, status in found.items() if status != "cached"} == {"/a", "/e", "/new"}
    assert (found["/a"], found["/e"]) == ("304", "200")
    assert [hit.path for hit in server.log] == ["/a", "/e", "/new"]
    assert (done.pages, done.exit_code, gone(tmp_path)) == (8, 0, {})
    assert [each.url[-2:] for each in orbweb.open(tmp_path).diff("site").changed] == ["/e"]


def test_what_a_sitemap_dates_later_than_the_capture_is_due(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    dated = "<url><loc>{0}{1}</loc><lastmod>{2}</lastmod></url>"
    rows = [
        dated.format(server.url.rstrip("/"), path, day)
        for path, day in {"/c": "2001-01-01", "/d": "2101-01-01"}.items()
    ]
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(rows)}</urlset>'
    pages["/sitemap.xml"] = Answer(200, (("Content-Type", "application/xml"),), body.encode())
    crawl(tmp_path, server.url, sitemap="auto")
    recrawl(tmp_path, due=True)
    assert [path for path, status in statuses(tmp_path).items() if status == "304"] == ["/d"]


def test_a_run_of_what_is_due_goes_on_with_what_is_due(
    graph: tuple[Server, Path, Path], copy: Path, tmp_path: Path
) -> None:
    aged(copy, **{"p%": 2})
    whole = Path(shutil.copytree(copy, tmp_path / "whole"))
    recrawl(whole, due=True)
    recrawl(copy, due=True, budget=40)
    assert orbweb.open(copy).resume("site", budget=None).queued == 0
    assert manifest(copy) == manifest(whole)
    assert {"cached", "304"} <= {line[2] for line in manifest(copy)}


def test_what_was_answered_otherwise_since_it_was_captured_is_asked_for(
    pages: dict[str, Answer], server: Server, tmp_path: Path
) -> None:
    crawl(tmp_path, server.url)
    pages["/a"] = redirect("/c")
    pages["/d"] = Answer(404, (), b"")
    pages["/e"] = Answer(410, (), b"")
    pages["/c"] = html("<meta name=robots content=noindex><p>Not to be kept.</p>")
    recrawl(tmp_path)
    answers = {"/": "cached", "/a": "301", "/b": "cached", "/d": "404", "/e": "410"}
    server.reset()
    recrawl(tmp_path, due=True)
    assert {hit.path for hit in server.log} == {"/a", "/c", "/d", "/e"}
    assert statuses(tmp_path) == answers
    assert orbweb.open(tmp_path).diff("site").added == ()
    config = tmp_path / "fresh.yaml"
    config.write_text("cache: {max_age_s: 3600}")
    assert recrawl(tmp_path, config=config).failed == 2
    assert statuses(tmp_path) == answers
