"""The table of events of the design, row by row: item, crawl, run, exit code, budget, manifest."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import Cli, deaf_port, kill, wait_until
from orbweb.engine.loop import GRACE_S
from servers.pages import Unending, chain, page
from servers.site import Answer, Ending, Request, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site")
QUICK = {"ORBWEB_FETCH__BACKOFF_S": "0.01", "ORBWEB_FETCH__TIMEOUT_S": "0.5"}


def statuses(cli: Cli) -> dict[str, str]:
    return {"/" + line[1].split("/", 3)[3]: line[2] for line in cli.manifest("site")}


def test_every_kind_of_answer(cli: Cli) -> None:
    answers = {
        "/": page("start", "/ok", "/moved", "/empty", "/text", "/picture", "/gone", "/broken", "/again", "/slow",
                  "/cut", "/drop", "/loop", "/nowhere", "/teapot"),
        "/ok": page("ok"),
        "/moved": redirect("/ok"),
        "/empty": Answer(204),
        "/text": text("plain"),
        "/picture": Answer(200, (("Content-Type", "image/png"),), b"\x89PNG" * 50_000),
        "/gone": html("gone", 410),
        "/broken": html("broken", 503),
        "/again": lambda request: page("at last") if request.nth == 3 else html("not yet", 500),
        "/slow": page("slow", delay_s=5.0),
        "/cut": Answer(200, (("Content-Type", "text/html"),), b"x" * 5000, ending=Ending.CUT),
        "/drop": Answer(ending=Ending.DROP),
        "/loop": redirect("/loop"),
        "/nowhere": redirect("gopher://nowhere/"),
        "/teapot": html("no", 418),
    }  # fmt: skip
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST, "--budget", 15, env=QUICK).ok(3)
        hits = [hit.path for hit in server.log]
    assert statuses(cli) == {
        "/": "200", "/ok": "200", "/moved": "301", "/empty": "204", "/text": "200", "/picture": "200",
        "/gone": "410", "/broken": "503", "/again": "200", "/slow": "timeout", "/cut": "interrupted",
        "/drop": "interrupted", "/loop": "redirect_loop", "/nowhere": "bad_redirect", "/teapot": "418",
    }  # fmt: skip
    assert done.json["visited"] == 7
    assert done.json["failed"] == 8
    assert done.json["pages"] == 3
    assert (done.json["state"], done.json["ended_by"]) == ("completed_with_errors", "exhausted")
    assert {path: hits.count(path) for path in ("/broken", "/again", "/slow", "/gone", "/teapot")} == {
        "/broken": 3, "/again": 3, "/slow": 3, "/gone": 1, "/teapot": 1,
    }  # fmt: skip
    failed = {row["url"].rpartition("/")[2]: row for row in cli.ask("failed", "site", "--json").ok().json}
    assert failed["broken"]["kind"] == "http_5xx"
    assert failed["broken"]["tries"] == 3
    assert failed["gone"]["kind"] == "http_4xx"
    cli.check("site")


def test_too_large_is_a_failure_and_never_a_cut_page(cli: Cli) -> None:
    answers = {"/": page("start", "/big"), "/big": html("x" * 300_000)}
    with serve(StaticSite(answers)) as server:
        cli.crawl(server.url, *FAST, env={"ORBWEB_FETCH__MAX_BYTES": "200000"}).ok(3)
    assert statuses(cli)["/big"] == "too_large"


def _packed(body: bytes) -> Answer:
    return Answer(200, (("Content-Type", "text/html"), ("Content-Encoding", "gzip")), gzip.compress(body))


def test_compressed_answers_are_decoded_and_capped_by_what_they_decode_to(cli: Cli) -> None:
    """The second answer is 5 MB in 5 kB."""
    small = b"<!doctype html><title>packed</title><a href=/bomb>"
    with serve(StaticSite({"/": _packed(small), "/bomb": _packed(b"x" * 5_000_000)})) as server:
        cli.crawl(server.url, *FAST, env={"ORBWEB_FETCH__MAX_BYTES": "1000000"}).ok(3)
    assert statuses(cli) == {"/": "200", "/bomb": "too_large"}
    assert cli.ask("pages", "site", "--json").ok().json[0]["bytes"] == len(small)


@pytest.mark.parametrize("more", [b"\0" * 20, gzip.compress(b"more")], ids=["padding", "another member"])
def test_what_follows_the_end_of_a_compressed_body_makes_it_a_bad_encoding(cli: Cli, more: bytes) -> None:
    packed = _packed(b"<title>packed</title>")
    with serve(StaticSite({"/": replace(packed, body=packed.body + more)})) as server:
        cli.crawl(server.url, *FAST).ok(6)
    (failed,) = cli.ask("failed", "site", "--json").ok().json
    assert failed["kind"] == "bad_encoding"
    assert "curl" not in failed["reason"]


def test_an_interim_answer_alone_is_a_failure(cli: Cli) -> None:
    """A server that switches protocols without being asked."""
    switched = Answer(101, (("Upgrade", "echo"),), b"hello", ending=Ending.CLOSE)
    with serve(StaticSite({"/": page("start", "/switched"), "/switched": switched})) as server:
        cli.crawl(server.url, *FAST).ok(3)
    assert statuses(cli) == {"/": "200", "/switched": "protocol"}
    cli.check("site")


def test_connections_that_the_server_has_closed_cost_one_try(cli: Cli) -> None:
    """The server answers once on a connection and closes it at the second request; eight are kept open."""
    names = [f"/{number}" for number in range(8)]
    pages = {"/": page("start", *names), **{name: page(name, "/last", delay_s=0.2) for name in names}}
    site = StaticSite(pages | {"/last": page("last")})
    seen: set[int] = set()

    class OnceAConnection:
        def answer(self, request: Request) -> Answer:
            if request.connection in seen:
                return Answer(ending=Ending.DROP)
            seen.add(request.connection)
            return site.answer(request)

    with serve(OnceAConnection()) as server:
        cli.crawl(server.url, *FAST, "--workers", 8, env=QUICK).ok(0)
        assert [hit.status for hit in server.log if hit.path == "/last"] == [0, 200]


def test_a_thousand_requests_at_once(cli: Cli) -> None:
    with serve(StaticSite(chain(1100, delay_s=1.5))) as server:
        cli.crawl(server.url, *FAST, "--workers", 1024).ok(0)
        assert server.stats["peak_pending"] > 900
    assert cli.check("site")["visited"] == 1101


def test_skips_cost_no_budget(cli: Cli) -> None:
    answers = {"/d/": page("start", "/outside", "http://other.invalid/", "/d/1", "/d/2"), "/d/1": page("1"),
               "/d/2": page("2")}  # fmt: skip
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(f"{server.url}d/", *FAST, "--budget", 3).ok(0)
    assert done.json["skipped"] == {"out_of_scope": 2}
    assert done.json["visited"] == 3


def test_budget_pauses_the_run(cli: Cli) -> None:
    with serve(StaticSite(chain(9))) as server:
        done = cli.crawl(server.url, *FAST, "--budget", 4).ok(4)
        assert (done.json["state"], done.json["ended_by"], done.json["run_state"]) == (
            "stopped_early",
            "budget",
            "paused",
        )
        assert done.json["queued"] == 6
        resumed = cli.resume("site").ok(4)
        assert resumed.json["crawl_visited"] == 4, "the budget sticks"
        cli.resume("site", "--budget", 100).ok(0)
    assert cli.check("site")["state"] == "completed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_finishes_what_is_under_way(cli: Cli, number: int) -> None:
    with serve(StaticSite(chain(200, delay_s=0.05))) as server:
        process = cli.start("crawl", server.url, *FAST, "--workers", 4)
        wait_until(lambda: len(server.log) > 20)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        report = json.loads(out.splitlines()[-1])
        assert process.returncode == 4, err
        assert (report["state"], report["ended_by"], report["run_state"]) == ("interrupted", "cancelled", "paused")
        status = cli.check("site")
        assert status["crawls"][-1]["state"] == "interrupted"
        assert len(server.log) == report["visited"], "what was under way is committed"
        cli.resume("site").ok(0)
        assert len(server.log) == 201
    cli.check("site")


ENDLESS_S = 60.0
"""Answers of a server that nobody waits for."""


def endless() -> StaticSite:
    return StaticSite(chain(20, delay_s=ENDLESS_S) | {"/": page("start", *(f"/{n}" for n in range(1, 21)))})


def stop_twice(cli: Cli) -> float:
    """Seconds from the second signal to the end of the process."""
    with serve(endless()) as server:
        process = cli.start("crawl", server.url, *FAST, "--workers", 4)
        wait_until(lambda: len(server.log) >= 5)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.7)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        process.communicate(timeout=ENDLESS_S / 2)
        ended = time.monotonic()
    assert process.returncode == 4
    assert cli.check("site")["queued"] == 20
    return ended - sent


@pytest.mark.alone
def test_second_signal_stops_at_once(tmp_path: Path) -> None:
    """Long before the grace of the first is over; the best of several, for a busy machine."""
    for number in range(4):
        with closing(Cli(tmp_path / str(number))) as cli:
            if stop_twice(cli) < GRACE_S / 2:
                return
    pytest.fail("the second signal is not obeyed at once")


@pytest.mark.alone
def test_stop_waits_no_longer_than_its_grace(cli: Cli) -> None:
    with serve(endless()) as server:
        process = cli.start("crawl", server.url, *FAST, "--workers", 4)
        wait_until(lambda: len(server.log) >= 5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=ENDLESS_S / 2)
    assert process.returncode == 4


def test_kill_is_told_as_crashed_and_settled_at_the_next_start(cli: Cli) -> None:
    with serve(StaticSite(chain(200, delay_s=0.02))) as server:
        process = cli.start("crawl", server.url, *FAST, "--workers", 4)
        wait_until(lambda: len(server.log) > 60)
        kill(process)
        status = cli.check("site")
        assert (status["running"], status["state"]) == (False, "paused")
        assert status["crawls"][-1]["ended_by"] == "crashed"
        resumed = cli.resume("site").ok(0)
        assert "killed" in resumed.err
        runs = cli.ask("runs", "site", "--json").ok().json
    assert [crawl["ended_by"] for crawl in runs[0]["crawls"]] == ["crashed", "exhausted"]
    assert runs[0]["visited"] == 201


def test_busy_changes_nothing(cli: Cli) -> None:
    with serve(Unending()) as server:
        process = cli.start("crawl", server.url, *FAST, "--workers", 2)
        wait_until(lambda: len(server.log) > 5)
        for command in (
            ("crawl", server.url, *FAST),
            ("resume", "site"),
            ("retry", "site"),
            ("queue", "site", "--clear"),
        ):
            refused = cli(*command)
            assert refused.code == 5, refused
            assert str(process.pid) in refused.err
        assert cli.ask("status", "site", "--json").ok().json["running"] is True
        kill(process)
    cli.check("site")


def test_finish_by_hand(cli: Cli) -> None:
    with serve(StaticSite(chain(9))) as server:
        cli.crawl(server.url, *FAST, "--budget", 4).ok(4)
    report = cli("finish", "site", "--json").ok().json
    assert (report["state"], report["skipped"]) == ("completed", {"finished": 6})
    assert cli.resume("site").code == 2
    cli.check("site")


def test_finish_ends_a_running_crawl(cli: Cli) -> None:
    with serve(Unending()) as server:
        process = cli.start("crawl", server.url, *FAST, "--workers", 2)
        wait_until(lambda: len(server.log) > 5)
        report = cli("finish", "site", "--json").ok().json
        out, _ = process.communicate(timeout=120)
    assert report["state"] == "completed"
    assert report["queued"] == 0
    assert process.returncode == 0
    assert json.loads(out.splitlines()[-1])["ended_by"] == "cancelled"
    cli.check("site")


def test_retry_reopens_the_run(cli: Cli) -> None:
    down = {"now": True}

    def flaky(_: Any) -> Answer:
        return html("down", 503) if down["now"] else page("up", "/child")

    answers = {"/": page("start", "/a", "/missing", "/b"), "/a": flaky, "/b": page("b"), "/child": page("child")}
    with serve(StaticSite(answers)) as server:
        cli.crawl(server.url, *FAST, env=QUICK).ok(3)
        assert cli("retry", "site", "--kind", "nonsense").code == 2
        assert cli("retry", "site", "--kind", "timeout", "--json").ok().json["queued"] == 0
        assert cli("retry", "site", "--kind", "http_5xx", "--json").ok().json["queued"] == 1
        assert cli.check("site")["state"] == "paused"
        down["now"] = False
        done = cli.resume("site").ok(3)
    assert done.json["crawl_visited"] == 2
    assert done.json["failed"] == 1
    assert [line[1].rpartition("/")[2] for line in cli.manifest("site")] == ["", "missing", "b", "a", "child"]
    cli.check("site")


def test_new_run_and_incremental(cli: Cli) -> None:
    with serve(StaticSite(chain(9))) as server:
        cli.crawl(server.url, *FAST, "--budget", 4).ok(4)
        again = cli.crawl(server.url, *FAST).ok(4)
        assert again.json["run"] == 1
        assert "resuming run 1" in again.err
        fresh = cli.crawl(server.url, *FAST, "--new-run", "--budget", 100).ok(0)
        assert fresh.json["run"] == 2
        third = cli.crawl(server.url, *FAST).ok(0)
        assert third.json["run"] == 3
    runs = cli.ask("runs", "site", "--json").ok().json
    assert [run["state"] for run in runs] == ["completed"] * 3
    assert runs[0]["skipped"] == {"finished": 2}
    cli.check("site")


def test_dead_host(cli: Cli) -> None:
    with deaf_port() as dead:
        done = cli.crawl(f"http://127.0.0.1:{dead}/", *FAST, env=QUICK).ok(6)
    assert done.json["failed"] == 1
    assert cli.ask("failed", "site", "--json").ok().json[0]["kind"] == "connect"
    assert "connect" in cli.ask("failed", "site").ok().out
