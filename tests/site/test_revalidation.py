"""Later runs take over what earlier ones captured: on a 304, or unasked where it is fresh."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from orbweb import extraction
from orbweb.app import CrawlResult, Workspace
from orbweb.app.doctor import check_store
from servers.graph import GraphSite
from servers.site import Answer, Request, Server, StaticSite, Validated, html, redirect, serve

PAGES = 120
Lines = list[list[str]]


def crawl(workspace: Path, url: str = "", project: str = "site", **options: Any) -> CrawlResult:
    given = {"rate": "max", "processes": 0, "sitemap": "off", **options}
    return orbweb.open(workspace).crawl(url, project=project, **given)


def again(workspace: Path, url: str, **options: Any) -> CrawlResult:
    return crawl(workspace, url, new_run=True, **options)


def manifest(workspace: Path, run: int | None = None, project: str = "site") -> Lines:
    return [line.split("\t") for line in orbweb.open(workspace).manifest(project, run=run)]


def but_status(lines: Lines) -> Lines:
    return [[*line[:2], *line[3:]] for line in lines]


def statuses(workspace: Path, project: str = "site") -> dict[str, str]:
    return {line[1].partition("/")[2].partition("/")[2].partition("/")[2]: line[2] for line in manifest(workspace)}


def asked(server: Server) -> list[tuple[str, int]]:
    found = [(hit.path, hit.status) for hit in server.log]
    server.reset()
    return found


# A random graph, crawled once; each test goes on from a copy.


@dataclass(frozen=True)
class Graph:
    server: Server
    once: Path
    first: CrawlResult


@pytest.fixture(scope="module", params=["segments", "files"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    once = tmp_path_factory.mktemp("reuse") / "once"
    with serve(Validated(GraphSite(3, PAGES))) as server:
        quick = once.with_name("quick.yaml")
        quick.write_text("fetch: {backoff_s: 0.01}")
        yield Graph(server, once, crawl(once, server.url, store=request.param, workers=16, config=quick))


@pytest.fixture
def copy(graph: Graph, tmp_path: Path) -> Path:
    graph.server.reset()
    shutil.copytree(graph.once, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("workers", [1, 4, 32])
def test_an_unchanged_site_gives_the_same_pages_and_sends_none(graph: Graph, copy: Path, workers: int) -> None:
    first = Counter(line[2] for line in manifest(copy))
    second = again(copy, graph.server.url, workers=workers)
    lines = manifest(copy)
    assert but_status(lines) == but_status(manifest(copy, 1))
    assert Counter(status for _, status in asked(graph.server))[200] == 0
    unchanged = first.pop("200")
    assert Counter(line[2] for line in lines) == first + Counter({"304": unchanged})
    assert second.reused == second.not_modified == unchanged
    assert (second.pages, second.alternates, second.bytes) == (
        graph.first.pages,
        graph.first.alternates,
        graph.first.bytes,
    )
    assert second.transferred < 0.02 * graph.first.transferred
    for page, known in zip(*(orbweb.open(copy).pages("site", run=run) for run in (2, 1)), strict=True):
        assert replace(page, status=0, captured_at="") == replace(known, status=0, captured_at="")


def test_a_second_run_that_is_killed_goes_on_as_if_it_had_not_been(graph: Graph, copy: Path) -> None:
    whole = shutil.copytree(copy, copy.with_name("whole"))
    again(whole, graph.server.url)
    cli, config = Cli(copy), copy.with_name("small.yaml")
    config.write_text("engine: {window: 32, group_pages: 8, group_ms: 20}")
    killed = cli.crawl(
        "--project",
        "site",
        "--new-run",
        "--workers",
        8,
        "--config",
        config,
        env={"ORBWEB_FAULT": "rows_written:3"},
    )
    assert killed.code == -signal.SIGKILL
    cli.resume("site").ok(3)
    assert manifest(copy) == manifest(whole)
    assert 200 not in [status for _, status in asked(graph.server)]
    assert cli("doctor", "--json").ok().json["healthy"]


def test_what_is_fresh_is_not_asked_for(graph: Graph, copy: Path, tmp_path: Path) -> None:
    config = tmp_path / "fresh.yaml"
    config.write_text("cache: {max_age_s: 3600}")
    second = again(copy, graph.server.url, config=config)
    first, now = (Counter(line[2] for line in manifest(copy, run)) for run in (1, 2))
    assert now == Counter({**first, "200": 0, "cached": first["200"]}) + Counter()
    assert (second.reused, second.not_modified) == (first["200"], 0)
    assert but_status(manifest(copy)) == but_status(manifest(copy, 1))
    assert {status // 100 for _, status in asked(graph.server)} == {3, 4, 5}
    third = again(copy, graph.server.url, budget=7)
    assert (third.visited + third.failed, third.exit_code) == (7, 4)
    captured = [[page.captured_at for page in orbweb.open(copy).pages("site", run=run)][:3] for run in (1, 2, 3)]
    assert captured[0] == captured[1] == captured[2]
    assert orbweb.open(copy).resume("site", budget=None).queued == 0
    assert manifest(copy) == manifest(copy, 2)
    assert Workspace(copy).status("site").reused == second.reused


def test_refresh_fetches_everything_and_holds_for_its_run_alone(graph: Graph, copy: Path) -> None:
    again(copy, graph.server.url, refresh=True, budget=20)
    orbweb.open(copy).resume("site", budget=None)
    assert manifest(copy) == manifest(copy, 1)
    assert 304 not in [status for _, status in asked(graph.server)]
    again(copy, graph.server.url)
    assert 200 not in [status for _, status in asked(graph.server)]


def test_refresh_on_a_resumed_run_holds_from_there_on(graph: Graph, copy: Path) -> None:
    again(copy, graph.server.url, budget=20)
    asked(graph.server)
    orbweb.open(copy).resume("site", budget=None, refresh=True)
    assert 304 not in [status for _, status in asked(graph.server)]
    assert but_status(manifest(copy)) == but_status(manifest(copy, 1))


def test_a_new_extractor_reads_the_stored_bodies_again(
    graph: Graph, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "VERSION", extraction.VERSION + 1)
    again(copy, graph.server.url)
    assert {line[5] for line in manifest(copy) if line[2] == "200"} == {"-"}
    assert but_status(manifest(copy)) == but_status(manifest(copy, 1))
    assert extractors(copy, 2) == {extraction.VERSION}
    assert extractors(copy, 1) == {extraction.VERSION - 1}


def extractors(workspace: Path, run_id: int) -> set[int]:
    asking = (
        "SELECT DISTINCT extractor FROM pages JOIN documents ON documents.sha256 = pages.document WHERE run_id = ?"
    )
    return {number for (number,) in rows(workspace, asking, run_id)}


def rows(workspace: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
        return db.execute(statement, values).fetchall()


def test_another_project_of_the_workspace_reuses_too(graph: Graph, copy: Path) -> None:
    other = crawl(copy, graph.server.url, project="other")
    assert other.not_modified == other.reused > 0
    assert 200 not in [status for _, status in asked(graph.server)]
    assert but_status(manifest(copy, project="other")) == but_status(manifest(copy))
    shown = orbweb.open(copy).show("other", graph.server.url)
    assert shown is not None
    assert (shown.reuse, shown.reused_from) == ("not_modified", orbweb.RunName("site", 1))
    assert orbweb.open(copy).explain("other", graph.server.url).reused_from == shown.reused_from


def test_other_eyes_are_shown_everything_anew(graph: Graph, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REUSE_TOKEN", "let-me-in")
    others: dict[str, dict[str, Any]] = {
        "agent": {"user_agent": "other/1.0"},
        "secret": {"headers": {"authorization": "$REUSE_TOKEN"}},
    }
    reused = {name: [again(copy, graph.server.url, project=name, budget=5, **given).reused for _ in range(2)]
              for name, given in others.items()}  # fmt: skip
    assert reused["agent"][0] == 0 < reused["agent"][1]
    assert reused["secret"] == [0, 0]


# Sites by hand: what is answered may change between runs.


@dataclass
class Shelf:
    """Answers by path, and what was asked for with which conditions."""

    answers: dict[str, Answer | Callable[[Request], Answer]]
    conditions: list[tuple[str, str | None, str | None]] = field(default_factory=list)

    def answer(self, request: Request) -> Answer:
        if request.path not in ("/robots.txt", "/sitemap.xml"):
            known = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
            self.conditions.append((request.path, *known))
        return StaticSite(self.answers).answer(request)

    def asked(self) -> dict[str, tuple[str | None, str | None]]:
        found = {path: tuple(known) for path, *known in self.conditions}
        self.conditions.clear()
        return found  # type: ignore[return-value]


def page(*links: str, text: str = "words", **headers: str) -> Answer:
    body = f"<!doctype html><title>t</title><p>{text}</p>" + "".join(f'<a href="{link}">x</a>' for link in links)
    return with_headers(html(body), **headers)


def with_headers(answer: Answer, **headers: str) -> Answer:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return replace(answer, headers=(*answer.headers, *named))


def tagged(answer: Answer, etag: str = '"one"', **more: str) -> Callable[[Request], Answer]:
    """The answer, or 304 with `more` headers for who knows it."""

    def choose(request: Request) -> Answer:
        if request.headers.get("if-none-match") == etag:
            return with_headers(Answer(304), **more)
        return with_headers(answer, ETag=etag)

    return choose


@pytest.fixture
def shelf() -> Iterator[tuple[Shelf, str]]:
    site = Shelf({})
    with serve(site) as server:
        yield site, server.url


def test_a_changed_page_is_fetched_and_unchanged_ones_lead_on(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    site, url = shelf
    site.answers = {
        "/": tagged(page("/a", "/b", text="home")),
        "/a": tagged(page(text="a")),
        "/b": tagged(page("/c", text="b")),
        "/c": tagged(page("/d", text="c")),
        "/d": tagged(page(text="d")),
    }
    crawl(tmp_path, url)
    site.answers["/a"] = tagged(page("/new", text="changed"), '"two"')
    site.answers["/new"] = tagged(page(text="new"))
    assert again(tmp_path, url).not_modified == 4
    assert statuses(tmp_path) == {"": "304", "a": "200", "b": "304", "new": "200", "c": "304", "d": "304"}
    assert again(tmp_path, url).not_modified == 6


def test_a_page_that_is_gone_or_moved_is_not_kept(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    site, url = shelf
    site.answers = {"/": tagged(page("/a", "/b")), "/a": tagged(page(text="a")), "/b": tagged(page(text="b"))}
    crawl(tmp_path, url)
    site.answers |= {"/a": html("gone", 410), "/b": redirect("/c"), "/c": page(text="b")}
    again(tmp_path, url)
    assert statuses(tmp_path) == {"": "304", "a": "410", "b": "301", "c": "200"}


def test_only_what_the_server_gave_is_asked_about(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    date = "Sun, 06 Nov 1994 08:49:37 GMT"
    site, url = shelf
    site.answers = {
        "/": page("/weak", "/dated", "/both", "/bad", "/from", text="home"),
        "/weak": page(text="weak", ETag='W/"w"'),
        "/dated": page(text="dated", Last_Modified=date),
        "/both": page(text="both", ETag='"b"', Last_Modified=date),
        "/bad": page(text="bad", ETag="*", Last_Modified="yesterday"),
        "/from": with_headers(redirect("/to"), ETag='"r"'),
        "/to": page(text="to"),
    }
    crawl(tmp_path, url)
    assert set(site.asked().values()) == {(None, None)}
    again(tmp_path, url)
    assert site.asked() == {
        "/": (None, None),
        "/weak": ('W/"w"', None),
        "/dated": (None, date),
        "/both": ('"b"', date),
        "/bad": (None, None),
        "/from": (None, None),
        "/to": (None, None),
    }


def test_validators_are_for_the_very_url_that_gave_them(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    site, url = shelf
    site.answers = {"/": page("/dir"), "/dir": redirect("/dir/"), "/dir/": tagged(page("/dir/x", text="dir"))}
    site.answers["/dir/x"] = page(text="x")
    crawl(tmp_path, url)
    site.asked()
    again(tmp_path, url)
    assert site.asked() == {
        "/": (None, None),
        "/dir": (None, None),
        "/dir/": ('"one"', None),
        "/dir/x": (None, None),
    }
    assert statuses(tmp_path)["dir"] == "304"
    shown = orbweb.open(tmp_path).show("site", f"{url}dir")
    assert shown is not None
    assert shown.final_url == f"{url}dir/"


@pytest.mark.parametrize("confused", [Answer(412), Answer(304, (("ETag", '"other"'),))])
def test_a_server_that_is_confused_by_conditions_is_asked_without(
    shelf: tuple[Shelf, str], tmp_path: Path, confused: Answer
) -> None:
    site, url = shelf
    site.answers = {"/": page(text="old", ETag='"one"')}
    crawl(tmp_path, url)
    new = page(text="new", ETag='"other"')
    site.answers = {"/": lambda request: confused if "if-none-match" in request.headers else new}
    assert again(tmp_path, url).reused == 0
    assert statuses(tmp_path) == {"": "200"}
    assert [path for path, *_ in site.conditions] == ["/", "/", "/"]


def test_a_304_that_was_not_asked_for_is_a_visit_without_a_page(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    site, url = shelf
    site.answers = {"/": page("/a"), "/a": Answer(304, (("ETag", '"one"'),))}
    for _ in range(2):
        again(tmp_path, url)
        assert manifest(tmp_path)[1][2:] == ["304", "-", "-", "-", "-"]
        assert site.asked()["/a"] == (None, None)
    assert Workspace(tmp_path).status("site").reused == 0


def test_what_is_no_page_is_asked_about_too(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    site, url = shelf
    paper = Answer(200, (("Content-Type", "application/pdf"),), b"%PDF-1.7 " + bytes(1000))
    site.answers = {"/": tagged(page("/paper")), "/paper": tagged(paper)}
    crawl(tmp_path, url)
    second = again(tmp_path, url)
    assert statuses(tmp_path) == {"": "304", "paper": "304"}
    assert (second.reused, second.transferred) == (2, 0)
    kept = again(tmp_path, url, resources="store")
    assert statuses(tmp_path) == {"": "304", "paper": "200"}
    assert kept.bytes > 1000
    assert again(tmp_path, url).transferred == 0
    assert manifest(tmp_path)[1][2:4] == ["304", manifest(tmp_path, 3)[1][3]]


@pytest.mark.parametrize("mode", ["check", "store"])
def test_what_pages_and_style_sheets_load_is_still_visited(
    shelf: tuple[Shelf, str], tmp_path: Path, mode: str
) -> None:
    site, url = shelf
    home = html('<!doctype html><link rel="stylesheet" href="/s.css"><img src="/i.png"><p>x</p><a href="/a">a</a>')
    style = Answer(200, (("Content-Type", "text/css"),), b"body { background: url(/b.png) }")
    image = Answer(200, (("Content-Type", "image/png"),), b"\x89PNG\r\n\x1a\n and more")
    found = {"/": home, "/a": page(text="a"), "/s.css": style, "/i.png": image, "/b.png": image}
    site.answers = {path: tagged(answer) for path, answer in found.items()}
    crawl(tmp_path, url, resources=mode)
    second = again(tmp_path, url)
    assert statuses(tmp_path) == dict.fromkeys(["", "a", "s.css", "i.png", "b.png"], "304")
    assert (second.reused, second.transferred) == (5, 0)
    assert but_status(manifest(tmp_path)) == but_status(manifest(tmp_path, 1))


def test_pages_that_speak_to_robots(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    site, url = shelf
    site.answers = {
        "/": tagged(page("/hidden", "/shut", "/meta", text="home")),
        "/hidden": tagged(page("/b", text="hidden", X_Robots_Tag="noindex")),
        "/shut": tagged(page("/c", text="shut", X_Robots_Tag="nofollow")),
        "/meta": tagged(html('<!doctype html><meta name="robots" content="nofollow"><p>m</p><a href="/d">d</a>')),
        "/b": tagged(page(text="b")),
    }
    crawl(tmp_path, url)
    site.asked()
    second = again(tmp_path, url)
    assert site.asked()["/hidden"] == (None, None)
    assert second.skipped == {"noindex": 1, "nofollow": 2}
    assert statuses(tmp_path) == {"": "304", "shut": "304", "meta": "304", "b": "304"}
    site.answers["/shut"] = tagged(page(text="shut"), X_Robots_Tag="noindex")
    assert again(tmp_path, url).skipped == {"noindex": 2, "nofollow": 1}
    assert statuses(tmp_path)["c"] == "404"


def test_an_alternate_whose_primary_is_gone_becomes_the_page_itself(
    shelf: tuple[Shelf, str], tmp_path: Path
) -> None:
    site, url = shelf
    twin = '<!doctype html><p>twin</p><a href="sub">sub</a>'
    site.answers = {
        "/": tagged(page("/x/a", "/y/b")),
        "/x/a": tagged(html(twin)),
        "/y/b": tagged(html(twin)),
        "/x/sub": tagged(page(text="x")),
        "/y/sub": tagged(page(text="y")),
    }
    crawl(tmp_path, url)
    site.answers["/x/a"] = html("gone", 404)
    again(tmp_path, url)
    found = {line[1]: line[5] for line in manifest(tmp_path)}
    assert found[f"{url}y/b"] == "primary"
    written = {each.url: each.document.markdown for each in documents(tmp_path)}
    assert f"{url}y/sub" in written[f"{url}y/b"]


def test_an_unchanged_alternate_is_not_read_again(
    shelf: tuple[Shelf, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site, url = shelf
    site.answers = {
        "/": tagged(page("/a", "/b", text="home")),
        "/a": tagged(html('<!doctype html><p>twin</p><a href="/c">on</a>')),
        "/b": tagged(html('<!doctype html><p>twin</p><a href="/d">on</a>')),
        "/c": tagged(page(text="c")),
        "/d": tagged(page(text="d")),
    }
    first = crawl(tmp_path, url, store="files", resources="off")
    (body,) = rows(tmp_path, "SELECT lower(hex(body_sha256)) FROM visits WHERE role = 'alternate'")[0]
    file = next((tmp_path / "store").rglob(f"{body}*"))
    file.write_bytes(b"x" * file.stat().st_size)
    with caplog.at_level("INFO", "orbweb"):
        second = again(tmp_path, url)
    assert not any("fetching " in message for message in caplog.messages)
    assert (second.not_modified, second.pages, second.alternates) == (5, first.pages, 1)
    assert manifest(tmp_path)[-1][1] == f"{url}d"


def documents(workspace: Path) -> list[Any]:
    return list(Workspace(workspace).documents("site"))


def test_a_stored_body_that_cannot_be_read_is_fetched_again(
    shelf: tuple[Shelf, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site, url = shelf
    site.answers = {"/": tagged(page("/a", text="home")), "/a": tagged(page(text="a"))}
    crawl(tmp_path, url, store="files", resources="off")
    (broken,) = rows(tmp_path, "SELECT lower(hex(body_sha256)) FROM visits WHERE number = 1")[0]
    next((tmp_path / "store").rglob(f"{broken}*")).write_bytes(b"not what was kept")
    with caplog.at_level("INFO", "orbweb"):
        second = again(tmp_path, url, resources="check")
    assert statuses(tmp_path) == {"": "200", "a": "304"}
    assert second.not_modified == 1
    assert any(message.startswith("fetching ") and broken in message for message in caplog.messages)


def test_rules_that_have_changed_read_the_stored_links_anew(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    site, url = shelf
    site.answers = {"/": tagged(page("/a?v=1", "/a?v=2", text="home")), "/a": tagged(page(text="a"))}
    assert crawl(tmp_path, url).visited == 3
    config = tmp_path / "drop.yaml"
    config.write_text("urls: {drop_params: [v]}")
    second = again(tmp_path, url, config=config)
    assert (second.visited, second.discovered) == (2, 2)
    assert statuses(tmp_path)[""] == "304"


def test_a_crawl_that_has_not_ended_is_not_looked_at(shelf: tuple[Shelf, str], tmp_path: Path) -> None:
    site, url = shelf
    site.answers = {"/": tagged(page("/a", text="home")), "/a": tagged(page(text="a"))}
    crawl(tmp_path, url, project="other")
    with closing(sqlite3.connect(tmp_path / "orbweb.db")) as db, db:
        db.execute("UPDATE crawls SET ended = NULL, state = 'in_progress', ended_by = NULL")
        db.execute("UPDATE runs SET state = 'in_progress'")
    assert crawl(tmp_path, url, budget=1).reused == 0
    assert crawl(tmp_path, url, project="other", new_run=True).reused == 2
    assert orbweb.open(tmp_path).resume("site", budget=None).reused == 0


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("reused_run = NULL", "it was reused, and the run or the way is missing"),
        ("status = 200", "its status is not 304"),
        ("reuse = NULL, reused_run = NULL", "it was not modified since no capture"),
    ],
)
def test_doctor_names_a_reuse_that_cannot_be(
    shelf: tuple[Shelf, str], tmp_path: Path, damage: str, told: str
) -> None:
    site, url = shelf
    site.answers = {"/": tagged(page("/a", text="home")), "/a": tagged(page(text="a"))}
    crawl(tmp_path, url)
    again(tmp_path, url)
    assert check_store(tmp_path)["healthy"]
    with closing(sqlite3.connect(tmp_path / "orbweb.db")) as db, db:
        db.execute(f"UPDATE visits SET {damage} WHERE run_id = 2 AND number = 2")
    assert [(found["problem"], found["urls"]) for found in check_store(tmp_path)["damages"]] == [
        (told, [f"{url}a"])
    ]
