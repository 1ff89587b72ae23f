"""The live page and the map over a real socket: figures, events, steering, rules, and pictures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import orbweb
from harness import Cli, kill, wait_until
from orbweb.app.jobs.reading import RunReader
from orbweb.app.pictures import sections_of
from orbweb.app.results.live import FollowedVisit
from orbweb.app.results.sections import SectionPart
from orbweb.events import OpenRequest
from orbweb.server.ui.live_figures import VisitFigures
from orbweb.server.ui.live_view import placed
from servers.site import StaticSite, html, serve
from serving import TOKEN, RunningServer, served, site_of

HOSTILE = "/docs/%3Cscript%3E.html"


def pages() -> dict[str, Any]:
    found = {f"/docs/{number}.html": html(f"<p>page {number}</p><a href='/docs/{number + 1}.html'>n</a>")
             for number in range(30)}  # fmt: skip
    found["/"] = html(
        "<a href='/docs/0.html'>d</a><a href='/old/deep/1.html'>o</a><a href='/old/deep/2.html'>o</a>"
        f"<a href='/gone/x/1.html'>g</a><a href='{HOSTILE}'>h</a>"
    )
    found["/old/deep/1.html"] = html("<p>first old one</p>")
    found["/old/deep/2.html"] = html("<p>second old one</p>")
    return found


class Live:
    """A server with a crawl that pauses, and a browser that is logged in."""

    def __init__(self, server: RunningServer, workspace: orbweb.Workspace) -> None:
        self.server, self.workspace = server, workspace
        self.http = httpx.Client(base_url=server.url, timeout=60, trust_env=False, follow_redirects=True)
        self.http.post("/login", data={"token": TOKEN})

    def page(self, path: str) -> str:
        found = self.http.get(path, headers={"accept": "text/html"})
        assert found.status_code == 200, found.text
        return found.text

    def press(self, path: str, page: str, **fields: str) -> httpx.Response:
        token = re.search(r'name="form_token" value="([^"]*)"', page)
        assert token is not None
        return self.http.post(path, data={"form_token": token[1], **fields}, headers={"accept": "text/html"})


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    workspace = tmp_path_factory.mktemp("live") / "workspace"
    with (
        serve(StaticSite(pages())) as site,
        served(workspace, "--private-host", site_of(site.url)) as server,
    ):
        started = server.post("/crawl", {"url": site.url, "project": "site", "rate": "max", "budget": 2})
        server.ended(started["jobID"])
        made = Live(server, orbweb.open(workspace))
        yield made
        made.http.close()


def test_the_page_has_the_counts_of_the_command_line(live: Live) -> None:
    known = live.workspace.status("site")
    shown = live.http.get("/p/site/live.json").json()
    assert shown["counts"] == {
        "pages": known.pages,
        "failed": known.failed,
        "queue": known.queued,
        "skipped": sum(known.skipped.values()),
    }
    assert (shown["state"], shown["at_work"]) == ("paused", False)
    page = live.page("/p/site/live")
    assert f'data-figure="queued">{known.queued}<' in page
    assert 'action="/p/site/resume"' in page
    by_class = {each["name"]: int(each["count"]) for each in shown["classes"]}
    assert sum(by_class.values()) == known.visited + known.failed == 2
    assert {each["name"]: int(each["count"]) for each in shown["sources"]}["spider"] == known.queued


def test_an_event_is_the_whole_state(live: Live) -> None:
    with live.http.stream("GET", "/p/site/live/events") as stream:
        data = next(line for line in stream.iter_lines() if line.startswith("data: "))
    assert json.loads(data.removeprefix("data: "))["counts"] == live.http.get("/p/site/live.json").json()["counts"]


def test_a_rule_is_previewed_then_applied_then_undone(live: Live) -> None:
    before = live.workspace.status("site").queued
    page = live.page("/p/site/live?kind=exclude&pattern=/old/")
    assert "Skip 2 URLs" in page
    assert live.workspace.status("site").queued == before, "a preview changes nothing"
    applied = live.press("/p/site/rule", page, kind="exclude", pattern="/old/")
    assert "2 URLs skipped" in applied.text
    assert live.workspace.status("site").queued == before - 2
    undone = live.press("/p/site/rule", applied.text, kind="exclude", pattern="/old/", undo="1")
    assert "2 URLs came back" in undone.text
    assert live.workspace.status("site").queued == before


def test_a_wrong_pattern_is_told_at_the_field_and_kept(live: Live) -> None:
    page = live.press("/p/site/rule", live.page("/p/site/live"), kind="exclude", pattern="(<b>").text
    assert 'value="(&lt;b&gt;"' in page
    assert 'aria-invalid="true"' in page
    assert "(<b>" not in page


def test_the_map_counts_what_the_pages_count_and_escapes_urls(live: Live) -> None:
    parts = RunReader(live.workspace.path).sections("site").parts
    known = live.workspace.status("site")
    assert sum(part.pages for part in parts) == known.pages
    assert sum(part.failed for part in parts) == known.failed
    for query in ("", "?view=tree", "?by=host"):
        wait_until(lambda query=query: "<svg class=" in live.page(f"/p/site/runs/latest/map{query}"))
    assert "<script>.html" not in live.page("/p/site/runs/latest/map")
    picture = live.http.get("/p/site/runs/latest/map.svg")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    rows = live.http.get("/p/site/runs/latest/map.json").json()
    assert sum(row["pages"] for row in rows) == known.pages
    assert live.http.get("/p/site/runs/99/map", headers={"accept": "text/html"}).status_code in (404, 409)


def test_a_crawl_is_put_on_hold_and_stopped_by_forms(live: Live) -> None:
    page = live.page("/p/site/live")
    started = live.server.post("/resume-crawl/site", {"rate": 1, "budget": None})
    wait_until(lambda: live.http.get("/p/site/live.json").json()["state"] == "in_progress")
    live.press("/p/site/pause", page)
    wait_until(lambda: live.http.get("/p/site/live.json").json()["state"] == "on_hold")
    live.press("/p/site/unpause", page)
    wait_until(lambda: live.http.get("/p/site/live.json").json()["state"] == "in_progress")
    live.press("/p/site/stop", page)
    live.server.ended(started["jobID"])
    known = live.workspace.status("site")
    assert (known.state, known.queued > 0) == ("paused", True)
    # What the page shows is up to a fifth of a second old.
    wait_until(lambda: not live.http.get("/p/site/live.json").json()["at_work"])


def visit(number: int, **more: Any) -> FollowedVisit:
    given: dict[str, Any] = {"status": 200, "kind": None, "error": None, "latency_ms": 10, "at": 1000.0 + number}
    return FollowedVisit(number=number, url=f"http://a.test/{number}", reused=False, **{**given, **more})


def test_visits_add_up_whatever_the_portions() -> None:
    every = [visit(number) for number in range(1, 8)]
    every += [visit(8, status=404, kind="http_4xx"), visit(9, status=None, kind="timeout")]
    at_once, in_parts = VisitFigures(1), VisitFigures(1)
    at_once.add(every)
    in_parts.add(every[:4])
    in_parts.add(every[4:])
    assert at_once.classes == in_parts.classes
    assert at_once.classes == {"2xx": 7, "3xx": 0, "4xx": 1, "5xx": 0, "no response": 1}
    assert at_once.fine.points(1001, 1010) == in_parts.fine.points(1001, 1010)
    assert [point.rate for point in at_once.fine.points(1001, 1010)] == [1.0] * 9
    assert at_once.failures["http_4xx"].newest.number == 8


def test_a_url_keeps_its_slot_until_it_is_done() -> None:
    a, b, c = (OpenRequest(f"http://a.test/{name}", 0.1) for name in "abc")
    slots = placed([], [a, b], 3)
    assert slots == [a, b, None]
    assert placed(slots, [b, c], 3) == [c, b, None]
    assert placed(slots, [], 3) == [None, None, None]


def test_sections_are_the_first_segments_with_what_is_below() -> None:
    parts = [
        SectionPart("a.test", "/", 0, 1, 0),
        SectionPart("a.test", "/docs/x/", 1, 3, 1),
        SectionPart("a.test", "/docs/y", 2, 2, 0),
    ]
    docs, root = sections_of(parts, by_host=False)
    assert (docs.name, docs.pages, docs.failed) == ("/docs", 5, 1)
    assert [(child.name, child.pages) for child in docs.children] == [("x/", 3), ("pages", 2)]
    assert (root.name, root.pages) == ("/", 1)
    assert [each.pages for each in sections_of(parts, by_host=True)] == [6]


def test_a_host_without_robots_txt_says_so_while_it_is_asked_again(live: Live) -> None:
    site = StaticSite({"/": html("never read"), "/robots.txt": html("later", 503)})
    with serve(site) as server:
        running = Cli(live.workspace.path).start("crawl", server.url, "--project", "without")
        wait_until(lambda: _paces(live, "without"))
        (pace,) = _paces(live, "without")
        assert pace.startswith("robots.txt: HTTP 503, again in "), "also of a crawl that the terminal started"
        kill(running)


def _paces(live: Live, project: str) -> list[str]:
    found = live.http.get(f"/p/{project}/live.json")
    hosts = found.json()["hosts"] if found.status_code == 200 else []
    return [each["pace"] for each in hosts if each["waits"]]


def test_the_rules_in_force_are_shown_and_can_be_removed(live: Live) -> None:
    live.workspace.rules("site", exclude=["/old/"])
    page = live.page("/p/site/live")
    assert 'aria-label="Remove /old/"' in page
    removed = live.press("/p/site/rule", page, kind="exclude", pattern="/old/", undo="1")
    assert 'aria-label="Remove /old/"' not in removed.text
