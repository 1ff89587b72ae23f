"""`on_visit`: each committed visit reaches the caller once, in order, when it is durable."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest

import orbweb
from harness import wait_until
from servers.pages import Unending, chain, page
from servers.site import Answer, Request, StaticSite, redirect, serve


class Enough(Exception):
    """What a caller may raise."""


def committed(workspace: Path) -> list[int]:
    """The numbers of the visits that another process sees."""
    with sqlite3.connect(workspace / "orbweb.db") as db:
        return [number for (number,) in db.execute("SELECT number FROM visits ORDER BY number")]


def test_the_record_says_what_happened(tmp_path: Path) -> None:
    seen: list[orbweb.Visit] = []
    site = {"/": page("start", "/a", "/old", "/gone"), "/a": page("start", "/a", "/old", "/gone")}
    with serve(StaticSite({**site, "/old": redirect("/a")})) as server:
        before = datetime.now(UTC)
        orbweb.crawl(server.url, workspace=tmp_path / "w", rate="max", on_visit=seen.append)
    by_path = {visit.url.removeprefix(server.url): visit for visit in seen}
    assert [(path, visit.state, visit.status, visit.role) for path, visit in by_path.items()] == [
        ("", "visited", 200, "primary"),
        ("a", "visited", 200, "alternate"),
        ("old", "visited", 301, "-"),
        ("gone", "failed", 404, "-"),
    ]
    first, gone = by_path[""], by_path["gone"]
    assert (first.number, first.depth, first.source, first.referrer) == (1, 0, "initial", None)
    assert first.title == "start"
    assert (gone.depth, gone.source, gone.referrer) == (1, "spider", server.url)
    assert (gone.kind, gone.error, first.kind, first.error) == ("http_4xx", "HTTP 404", None, None)
    assert by_path["old"].redirect_to == by_path["a"].url
    assert first.bytes > 0
    assert before <= first.at <= datetime.now(UTC)
    assert (first.tries, first.reused, first.truncated, first.final_url) == (1, False, False, server.url)
    with pytest.raises(FrozenInstanceError):
        first.url = "other"  # type: ignore[misc]


def test_a_visit_is_durable_when_it_is_reported(tmp_path: Path) -> None:
    seen: list[int] = []

    def check(visit: orbweb.Visit) -> None:
        assert visit.number in committed(tmp_path / "w")
        seen.append(visit.number)

    with serve(StaticSite(chain(40))) as server:
        orbweb.crawl(server.url, workspace=tmp_path / "w", rate="max", on_visit=check)
    assert seen == committed(tmp_path / "w") == list(range(1, 42))


def test_each_crawl_of_a_run_reports_its_own_visits(tmp_path: Path) -> None:
    space, first, rest, again = orbweb.open(tmp_path / "w"), list[str](), list[str](), list[orbweb.Visit]()
    with serve(StaticSite(chain(9))) as server:
        space.crawl(
            server.url, project="site", rate="max", budget=4, on_visit=lambda visit: first.append(visit.url)
        )
        space.resume("site", budget=None, on_visit=lambda visit: rest.append(visit.url))
        space.recrawl("site", budget=None, on_visit=again.append)
    assert len(first) == 4
    assert len(rest) == 6
    assert [visit.url for visit in again] == first + rest


def test_what_the_callback_raises_ends_the_crawl_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    seen: list[str] = []

    def enough(visit: orbweb.Visit) -> None:
        seen.append(visit.url)
        if len(seen) == 3:
            raise Enough

    space = orbweb.open(tmp_path / "w")
    with serve(Unending()) as server:
        with pytest.raises(Enough):
            space.crawl(server.url, project="site", rate="max", on_visit=enough)
        assert space.status("site").state == "paused"
        before = len(committed(tmp_path / "w"))
        assert space.resume("site", budget=5).visited == before + 5
    assert len(seen) == 3


def test_discovery_and_scraper_report_too(tmp_path: Path) -> None:
    space, found, scraped = orbweb.open(tmp_path / "w"), list[str](), list[str]()
    with serve(StaticSite(chain(3))) as server:
        space.discover(server.url, project="site", rate="max", on_visit=lambda visit: found.append(visit.url))
        space.scrape("site", rate="max", on_visit=lambda visit: scraped.append(visit.url))
    assert len(found) == 4
    assert scraped == found


def test_on_hold_nothing_is_reported_and_then_everything_in_order(tmp_path: Path) -> None:
    """What was in flight is committed during the hold, and reported after it. Progress is silent from the snapshot
    on that says why."""
    space, gate = orbweb.open(tmp_path / "w"), Event()
    seen, progress = list[str](), list[orbweb.Snapshot]()

    def slow(_request: Request) -> Answer:
        gate.wait(120)
        return page("slow", "/last")

    site: dict[str, Answer | Callable[[Request], Answer]] = {
        "/": page("start", "/a", "/slow"),
        "/a": page("a"),
        "/slow": slow,
        "/last": page("last"),
    }
    with serve(StaticSite(site)) as server:
        crawl = space.start(
            server.url,
            project="site",
            rate="max",
            sitemap="off",
            on_visit=lambda visit: seen.append(visit.url.removeprefix(server.url)),
            on_progress=progress.append,
        )
        wait_until(lambda: seen == ["", "a"])
        space.pause("site")
        wait_until(lambda: space.status("site").held)
        told = len(progress)
        gate.set()
        wait_until(lambda: len(committed(tmp_path / "w")) == 3)
        time.sleep(1.0)
        assert seen == ["", "a"]
        assert len(progress) == told
        assert (progress[-1].state, [now.held for now in progress].count(True)) == ("on_hold", 1)
        space.unpause("site")
        assert crawl.result(timeout=120).visited == 4
    assert seen == ["", "a", "slow", "last"]
    assert not progress[-1].held


def test_what_was_committed_on_hold_is_reported_when_the_crawl_is_stopped(tmp_path: Path) -> None:
    space, seen, progress = orbweb.open(tmp_path / "w"), list[int](), list[orbweb.Snapshot]()
    with serve(Unending()) as server:
        crawl = space.start(
            server.url,
            project="site",
            rate="max",
            workers=2,
            on_visit=lambda visit: seen.append(visit.number),
            on_progress=progress.append,
        )
        wait_until(lambda: seen)
        space.pause("site")
        wait_until(lambda: space.status("site").held)
        requested = len(server.log)
        assert space.stop("site")
        crawl.result(timeout=120)
    assert seen == committed(tmp_path / "w")
    assert len(seen) <= requested
    assert progress[-1].state == "stopping"
