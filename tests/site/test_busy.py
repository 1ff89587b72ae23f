"""P4, R10: a host that says it is busy is left alone, then asked more slowly; others go on. Judged by the log."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest

from harness import Cli, kill, wait_until
from servers.pages import chain, page
from servers.site import Answer, Hit, Request, StaticSite, serve

FAST = ("--rate", "max", "--project", "site")
LATE_S = 0.04
"""An arrival is noted late by so much on a busy machine, the one after it perhaps not."""
IN_FLIGHT_S = 0.1


def busy(retry_after: str | None, status: int = 429) -> Answer:
    headers = (("Retry-After", retry_after),) if retry_after is not None else ()
    return Answer(status, (*headers, ("Content-Type", "text/plain")), b"busy")


def once(first: Callable[[Request], Answer], then: Answer, times: int = 1) -> Any:
    return lambda request: first(request) if request.nth <= times else then


def soon(seconds: float) -> Callable[[Request], str]:
    """The date at least so many seconds from now; dates have whole seconds."""
    return lambda _request: formatdate(time.time() + seconds + 1, usegmt=True)


def pause_after(hits: tuple[Hit, ...], status: int) -> float:
    """Seconds from the answer with this status to the next request that was not yet under way."""
    told = next(hit.at for hit in hits if hit.status == status)
    return min(hit.at for hit in hits if hit.at > told + IN_FLIGHT_S) - told


@pytest.mark.alone
@pytest.mark.parametrize(
    ("form", "status", "workers"), [("seconds", 429, 1), ("seconds", 503, 8), ("date", 429, 8), ("date", 503, 1)]
)
def test_nobody_asks_before_retry_after_is_over(cli: Cli, form: str, status: int, workers: int) -> None:
    value = (lambda _request: "2") if form == "seconds" else soon(1)
    site = chain(9)
    site["/3"] = once(lambda request: busy(value(request), status), site["/3"])
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST, "--workers", workers).ok(0)
        hits = server.log
    assert pause_after(hits, status) >= (2 if form == "seconds" else 1)
    assert done.json["visited"] == 10
    assert f"returned {status} with Retry-After" in done.err
    cli.check("site")


def test_an_absurd_retry_after_is_cut_and_shown(cli: Cli) -> None:
    site = chain(5)
    site["/3"] = once(lambda _request: busy("99999999999"), site["/3"])
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST, env={"ORBWEB_FETCH__MAX_RETRY_AFTER_S": "1"}).ok(0)
        assert 1 <= pause_after(server.log, 429) < 3
    assert "returned 429 with Retry-After: 1e+11 s, cut to 1 s (fetch.max_retry_after_s)" in done.err


def test_a_stop_does_not_wait_for_retry_after(cli: Cli) -> None:
    site = {"/": page("start", "/busy"), "/busy": busy("3000")}
    with serve(StaticSite(site)) as server:
        process = cli.start("crawl", server.url, *FAST)
        wait_until(lambda: len(server.log) == 2)
        cli("stop", "site").ok()
        assert process.wait(timeout=120) == 4
        assert len(server.log) == 2
    process.communicate()
    assert cli.check("site")["queued"] == 1


def test_retry_after_holds_across_a_kill_and_for_another_project(cli: Cli) -> None:
    site = {**chain(3), "/busy": once(lambda _request: busy("3"), page("at last"))}
    with serve(StaticSite(site)) as server:
        process = cli.start("crawl", f"{server.url}busy", *FAST)
        wait_until(lambda: found(cli, "limiter.db", "SELECT COUNT(*) FROM hosts WHERE pace > 0"))
        kill(process)
        cli.crawl(server.url, "--rate", "max", "--project", "other").ok(0)
        cli.resume("site").ok(0)
        hits = server.log
    assert pause_after(hits, 429) >= 3
    assert len(hits) == 6


def test_without_retry_after_the_place_is_tried_until_the_storm_is_over(cli: Cli) -> None:
    """More busy answers than `fetch.retries` has tries, for every page at once."""
    calm = chain(6)
    storm = {path: once(lambda _request: busy(None), answer, times=3) for path, answer in calm.items()}
    env = {
        "ORBWEB_LIMITS__SLOWEST_S": "0.1",
        "ORBWEB_FETCH__RETRIES": "0",
        "ORBWEB_FETCH__BACKOFF_S": "0.05",
    }
    with serve(StaticSite(storm)) as server:
        assert cli.crawl(server.url, *FAST, "--workers", 8, env=env, timeout=60).ok(0).json["visited"] == 7
    cli.check("site")


def test_a_host_that_is_always_busy_fails_in_the_end(cli: Cli) -> None:
    site = {"/": page("start", "/busy", "/ok"), "/busy": busy("0"), "/ok": page("ok")}
    env = {"ORBWEB_FETCH__BUSY_RETRIES": "2", "ORBWEB_LIMITS__SLOWEST_S": "0.1"}
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST, env=env).ok(3)
        assert [hit.path for hit in server.log].count("/busy") == 3
    assert (done.json["visited"], done.json["failed"]) == (2, 1)
    (failed,) = cli.ask("failed", "site", "--json").ok().json
    assert (failed["kind"], failed["tries"]) == ("http_4xx", 3)
    assert done.err.count("halving the request rate") == 1


@pytest.mark.alone
def test_each_busy_answer_halves_the_rate_and_good_ones_bring_it_back(cli: Cli) -> None:
    site = chain(40)
    for path in ("/2", "/3"):
        site[path] = once(lambda _request: busy(None, 503), site[path])
    with serve(StaticSite(site)) as server:
        env = {"ORBWEB_FETCH__BACKOFF_S": "0"}
        cli.crawl(server.url, "--project", "site", "--rate", 20, "--workers", 1, env=env).ok(0)
        hits = server.log
    gaps = [later.at - earlier.at for earlier, later in pairwise(hits)]
    first, second = [number for number, hit in enumerate(hits) if hit.status == 503]
    assert min(gaps[first:second]) >= 0.1 - LATE_S
    assert min(gaps[second : second + 9]) >= 0.2 - LATE_S
    assert min(gaps[-5:]) < 0.18, "0.167 after ten good answers"


def test_a_host_has_at_most_so_many_connections(cli: Cli) -> None:
    with serve(StaticSite(chain(40, delay_s=0.05))) as server:
        env = {"ORBWEB_LIMITS__PER_HOST": "3"}
        cli.crawl(server.url, *FAST, "--workers", 16, env=env).ok(0)
        assert server.stats["peak_open"] == 3
        assert server.stats["peak_pending"] == 3


def test_a_polite_crawl_has_at_most_eight_connections_to_a_host(cli: Cli) -> None:
    with serve(StaticSite(chain(20, delay_s=1.0))) as server:
        cli.crawl(server.url, "--project", "site", "--rate", 100, "--workers", 32).ok(0)
        assert server.stats["peak_open"] == 8


def test_a_busy_host_holds_up_the_others_at_most_until_it_is_deferred(cli: Cli) -> None:
    """Strict order: the busy host's pages come first in it, and give way after `engine.defer_s`."""
    slow = chain(5)
    for path in ("/1", "/2", "/3"):
        slow[path] = once(lambda _request: busy("4"), slow[path])
    with serve(StaticSite(slow)) as one, serve(StaticSite(chain(30))) as two:
        env = {"ORBWEB_ENGINE__DEFER_S": "1", "ORBWEB_LIMITS__SLOWEST_S": "0.1"}
        done = cli.crawl(one.url, two.url, *FAST, "--workers", 4, env=env).ok(0)
        again = min(hit.at for hit in one.log if hit.at > one.log[0].at + 2)
    assert done.json["visited"] == 6 + 31
    assert "is blocking the crawl; deferring its URLs for" in done.err
    order = [line[1] for line in cli.manifest("site")]
    held = [number for number, url in enumerate(order) if url.startswith(one.url) and url[-1] in "123"]
    assert min(held) > max(number for number, url in enumerate(order) if url.startswith(two.url))
    assert again - two.log[-1].at > 1
    cli.check("site")


def test_deferred_urls_wait_across_a_kill(cli: Cli) -> None:
    slow = {"/": page("start", "/busy", "/ok"), "/busy": once(lambda _r: busy("4"), page("at last"))}
    slow["/ok"] = page("ok", "/deep")
    slow["/deep"] = page("deep")
    env = {"ORBWEB_ENGINE__DEFER_S": "0.3", "ORBWEB_ENGINE__GROUP_MS": "10"}
    with serve(StaticSite(slow)) as server:
        process = cli.start("crawl", server.url, *FAST, "--workers", 1, env=env)
        wait_until(lambda: any(hit.status == 429 for hit in server.log))
        wait_until(lambda: found(cli, "orbweb.db", "SELECT COUNT(*) FROM urls WHERE due_at IS NOT NULL"))
        kill(process)
        told = cli.ask("explain", "site", f"{server.url}busy").ok().out
        assert "queued at place 1:3, 0 URLs before it, deferred until 20" in told
        cli.resume("site", env=env).ok(0)
    assert cli.check("site")["visited"] == 4


def found(cli: Cli, database: str, count: str) -> int:
    """What the query counts, as soon as there is a database with its tables."""
    if not (cli.workspace / database).exists():
        return 0
    with closing(sqlite3.connect(cli.workspace / database, timeout=10)) as db:
        try:
            return int(db.execute(count).fetchone()[0])
        except sqlite3.OperationalError:
            return 0
