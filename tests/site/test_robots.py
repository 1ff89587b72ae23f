"""P4, R11: robots.txt is asked for first, obeyed to the line, and remembered. Judged by the server's log."""

from __future__ import annotations

import contextlib
import sqlite3
from itertools import pairwise
from typing import Any

import pytest

import orbweb
from harness import Cli
from servers.pages import page
from servers.site import Answer, Ending, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site")
LATE_S = 0.1
"""An arrival is noted late by so much on a busy machine, the one after it perhaps not."""
QUICK = {"ORBWEB_FETCH__BACKOFF_S": "0.05", "ORBWEB_FETCH__TIMEOUT_S": "0.4", "ORBWEB_ROBOTS__RETRY_FOR_S": "0.6"}
PAGES = {
    "/": page("start", "/open", "/private/x", "/private/ok", "/dir", "/r"),
    "/open": page("open", "/private/y"),
    "/private/ok": page("ok"),
    "/private/x": page("secret"),
    "/private/y": page("secret"),
    "/dir": redirect("/dir/"),
    "/dir/": page("dir"),
    "/r": redirect("/private/x"),
}
RULES = "User-agent: *\nDisallow: /private/\nAllow: /private/ok\n\nUser-agent: other\nDisallow: /\n"


def paths(log: Any) -> list[str]:
    return [hit.path for hit in log]


def test_disallowed_paths_are_never_asked_for(cli: Cli) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": text(RULES)})) as server:
        done = cli.crawl(server.url, *FAST, "--workers", 8).ok(0)
        asked = paths(server.whole_log)
    assert asked[0] == "/robots.txt"
    assert asked.count("/robots.txt") == 1
    assert not {"/private/x", "/private/y"} & set(asked)
    assert "/private/ok" in asked
    assert done.json["skipped"] == {"robots": 2}
    shown = cli.ask("show", "site", f"{server.url}private/x", "--json").ok().json
    assert (shown["state"], shown["reason"]) == ("skipped", "robots")
    assert "Disallow: /private/" in shown["rule"]
    cli.check("site")


def test_refusals_cost_no_budget_and_do_not_change_the_order(cli: Cli) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": text(RULES)})) as server:
        for code in (4, 4, 0):
            assert cli.crawl(server.url, *FAST, "--workers", 4, "--budget", 2).code == code
    assert [line[1].rpartition("/")[2] or "dir" for line in cli.manifest("site")] == [
        "dir", "open", "ok", "dir", "r",
    ]  # fmt: skip
    cli.check("site")


@pytest.mark.parametrize(
    ("answer", "visited"),
    [
        (html("gone", 404), 7),
        (html("no", 403), 7),
        (text(""), 7),
        (Answer(200, (("Content-Type", "text/plain"),), b"\xef\xbb\xbf" + RULES.encode()), 5),
        (html("<!doctype html><h1>Welcome</h1>"), 7),
        (Answer(200, (("Content-Type", "text/plain"),), b"\xff\x00\xfe garbage \x80" * 100), 7),
        (text(RULES + "# padding\n" * 60_000), 5),
        (text("# padding\n" * 60_000 + RULES), 7),
        (redirect("/rules"), 5),
    ],
    ids=["404", "403", "empty", "bom", "html", "garbage", "600 KB", "rules beyond 500 KiB", "redirected"],
)
def test_what_a_robots_answer_means(cli: Cli, answer: Answer, visited: int) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": answer, "/rules": text(RULES)})) as server:
        assert cli.crawl(server.url, *FAST).ok(0).json["visited"] == visited
    cli.check("site")


@pytest.mark.parametrize(
    "answer",
    [html("down", 503), html("slow down", 429), Answer(delay_s=5.0), Answer(ending=Ending.STALL, body=b"x" * 100)],
    ids=["503", "429", "timeout", "stalled"],
)
def test_a_server_that_gives_no_rules_is_not_asked_for_pages(cli: Cli, answer: Answer) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": answer})) as server:
        done = cli.crawl(server.url, *FAST, env=QUICK).ok(6)
        assert server.log == ()
        assert len(server.whole_log) > 1
    assert done.json["skipped"] == {"robots_unavailable": 1}
    assert "robots.txt" in done.err
    cli.check("site")


def test_rules_that_come_late_are_obeyed(cli: Cli) -> None:
    def late(request: Any) -> Answer:
        return text(RULES) if request.nth > 3 else html("starting", 503)

    with serve(StaticSite({**PAGES, "/robots.txt": late})) as server:
        env = {**QUICK, "ORBWEB_ROBOTS__RETRY_FOR_S": "30"}
        assert cli.crawl(server.url, *FAST, env=env).ok(0).json["skipped"] == {"robots": 2}
        assert not {"/private/x", "/private/y"} & set(paths(server.log))


def test_rules_are_remembered_by_the_workspace(cli: Cli) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": text(RULES)})) as server:
        for name in ("one", "two"):
            cli.crawl(server.url, "--rate", "max", "--project", name).ok(0)
        assert paths(server.whole_log).count("/robots.txt") == 1
        cli.crawl(server.url, "--rate", "max", "--project", "three", env={"ORBWEB_ROBOTS__CACHE_S": "0"}).ok(0)
        assert paths(server.whole_log).count("/robots.txt") > 1


def test_the_group_of_our_own_agent_counts(cli: Cli) -> None:
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: probe\nDisallow: /private/\n"
    with serve(StaticSite({**PAGES, "/robots.txt": text(rules)})) as server:
        done = cli.crawl(server.url, *FAST, "--user-agent", "Probe/2.0 (+mailto:a@example.org)").ok(0)
        assert done.json["visited"] == 4
        done = cli.crawl(server.url, "--rate", "max", "--project", "default").ok(6)
        assert done.json["skipped"] == {"robots": 1}
        assert "Disallow: /" in done.err


@pytest.mark.alone
@pytest.mark.parametrize("rate", ["max", "50"])
def test_crawl_delay_slows_down(cli: Cli, rate: str) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": text("User-agent: *\nCrawl-delay: 0.3")})) as server:
        done = cli.crawl(server.url, "--rate", rate, "--project", "site", "--workers", 4, "--budget", 4).ok(4)
        times = [hit.at for hit in server.whole_log]
    assert "Crawl-delay of 0.3 s" in done.err
    assert all(later - earlier >= 0.3 - LATE_S for earlier, later in pairwise(times))
    assert times[-1] - times[0] >= 0.3 * (len(times) - 1) - LATE_S


def test_an_absurd_crawl_delay_is_cut_and_shown(cli: Cli) -> None:
    env = {"ORBWEB_ROBOTS__MAX_CRAWL_DELAY_S": "0.2"}
    with serve(StaticSite({**PAGES, "/robots.txt": text("User-agent: *\nCrawl-delay: 86400")})) as server:
        done = cli.crawl(server.url, *FAST, "--budget", 3, env=env).ok(4)
    assert "cut to 0.2 s" in done.err


def test_robots_can_be_set_aside_for_ones_own_server(cli: Cli) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": text(RULES)})) as server:
        done = cli.crawl(server.url, *FAST, env={"ORBWEB_ROBOTS__OBEY": "false"}).ok(0)
        assert done.json["visited"] == 7
        assert paths(server.whole_log).count("/robots.txt") == 0


def test_spacing_counts_the_request_for_robots(cli: Cli) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": text(RULES)})) as server:
        cli.crawl(server.url, "--rate", 5, "--project", "site", "--budget", 3).ok(4)
        times = [hit.at for hit in server.whole_log]
    assert len(times) == 5
    assert all(later - earlier >= 0.19 for earlier, later in pairwise(times))


def age(cli: Cli, seconds: float) -> None:
    """Let the stored robots.txt be older."""
    with contextlib.closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
        db.execute("UPDATE robots SET fetched_at = fetched_at - ?", (round(seconds * 1_000_000),))
        db.commit()


def test_a_new_project_uses_no_copy_older_than_an_hour(cli: Cli) -> None:
    """An old project uses it for a day. A copy that is used is named with its age, if it has any."""
    space = orbweb.open(cli.workspace)
    notes: list[str] = []
    options: Any = {"rate": "max", "processes": 0, "note": notes.append}
    with serve(StaticSite({**PAGES, "/robots.txt": text(RULES)})) as server:

        def requests() -> int:
            return paths(server.whole_log).count("/robots.txt")

        space.crawl(server.url, project="first", **options)
        space.crawl(server.url, project="second", **options)
        assert (requests(), notes) == (1, []), "a copy of this minute needs no note"
        age(cli, 50 * 60)
        space.crawl(server.url, project="third", **options)
        assert requests() == 1
        assert notes == [f"{server.url}robots.txt: the stored copy is used, requested 50 min ago (robots.cache_s)"]
        age(cli, 20 * 60)
        space.crawl(server.url, project="first", new_run=True, **options)
        assert (requests(), len(notes)) == (1, 2)
        assert "requested 70 min ago" in notes[-1]
        space.crawl(server.url, project="fourth", **options)
        assert (requests(), len(notes)) == (2, 2)


def test_a_refusal_tells_which_copy_it_is_of(cli: Cli) -> None:
    with serve(StaticSite({**PAGES, "/robots.txt": text(RULES)})) as server:
        planned = cli("plan", f"{server.url}private/x", "--rate", "max", "--json").ok(6).json
        cli.crawl(server.url, *FAST).ok(0)
    assert planned["bases"][0]["robots_at"]
    refused, allowed = (f"{server.url}{path}" for path in ("private/x", "open"))
    report = cli.ask("explain", "site", refused, "--json").ok().json
    assert report["robots_at"] > "2020"
    assert f"(robots.txt as requested {report['robots_at']})" in cli.ask("explain", "site", refused).ok().out
    unseen = cli.ask("explain", "site", f"{server.url}private/never", "--json").ok(3).json
    assert (unseen["reason"], unseen["robots_at"]) == ("robots", report["robots_at"])
    assert cli.ask("explain", "site", allowed, "--json").ok().json["robots_at"] is None
