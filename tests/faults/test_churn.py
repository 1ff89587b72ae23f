"""R20: connections that servers end as they like, and a process that stands still, cost no URL and end no crawl.

A request that meets a closed connection is repeated by a new one and costs no try; a connection that breaks in the
middle of an answer is the site's failure, and each page here breaks once. So one retry has to be enough for all.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from harness import Cli, Result, wait_until
from servers.churn import Churn, spawn

HOSTS = 30
PLAIN = ("--order", "relaxed", "--rate", "max", "--sitemap", "off", "--project", "site")
ONE_RETRY = {"ORBWEB_FETCH__RETRIES": "1", "ORBWEB_FETCH__BACKOFF_S": "0.05"}
NO_RETRY = {"ORBWEB_FETCH__RETRIES": "0", "ORBWEB_FETCH__TIMEOUT_S": "1"}
STILL_S = 1.6


def assert_all_visited(cli: Cli, done: Result, urls: int) -> None:
    done.ok(0)
    assert "internal error" not in done.err
    assert (done.json["visited"], done.json["failed"]) == (urls, 0)
    cli.check("site")


def crawl_through_churn(cli: Cli, pages: int, processes: int) -> dict[str, int]:
    with spawn("--hosts", str(HOSTS), "--pages", str(pages), "--seed", str(processes)) as churn:
        options = (*PLAIN, "--workers", 64, "--processes", processes)
        done = cli.crawl(*churn.urls, *options, env=ONE_RETRY, timeout=600)
        assert_all_visited(cli, done, HOSTS * (pages + 1))
        return churn.stats()


@pytest.mark.parametrize("processes", [0, 2])
def test_no_ended_connection_ends_a_crawl_or_costs_a_url(cli: Cli, processes: int) -> None:
    done = crawl_through_churn(cli, 24, processes)
    assert done["requests"] >= 1_000
    ended = [what for what in done if what.startswith(("idle:", "busy:"))]
    assert len(ended) == 9, "every way to end a connection was met"


@pytest.mark.long
@pytest.mark.parametrize("processes", [0, 2])
def test_no_ended_connection_ends_a_long_crawl_or_costs_a_url(cli: Cli, processes: int) -> None:
    assert crawl_through_churn(cli, 530, processes)["requests"] >= 20_000


# A process that stands still: SIGSTOP, a suspended laptop, a machine without time for us.


def stand_still(crawl: subprocess.Popen[str], times: int, is_time: Callable[[int], bool]) -> None:
    """Stop the crawl for longer than its requests may take, and let it go on."""
    for number in range(times):
        wait_until(lambda number=number: is_time(number) or crawl.poll() is not None, 60)
        assert crawl.poll() is None, "over before it was stopped"
        os.kill(crawl.pid, signal.SIGSTOP)
        time.sleep(STILL_S)
        os.kill(crawl.pid, signal.SIGCONT)


def crawl_with_stops(cli: Cli, churn: Churn, pages: int, stops: int, processes: int) -> None:
    hosts, apart = len(churn.urls), len(churn.urls) * pages // (stops + 1)
    options = (*PLAIN, "--workers", 16, "--processes", processes)
    crawl = cli.start("crawl", *churn.urls, *options, env=NO_RETRY)
    stand_still(crawl, stops, lambda number: churn.stats()["requests"] >= apart * (number + 1))
    out, err = crawl.communicate(timeout=120)
    assert_all_visited(cli, Result(crawl.returncode, out, err), hosts * (pages + 1))


@pytest.mark.parametrize("processes", [0, 2])
def test_a_standstill_beyond_the_timeout_costs_no_url(cli: Cli, processes: int) -> None:
    with spawn("--hosts", "4", "--pages", "50", "--breaks", "0", "--delay-ms", "250") as churn:
        crawl_with_stops(cli, churn, 50, 2, processes)


@pytest.mark.long
@pytest.mark.parametrize("processes", [0, 2])
def test_twenty_standstills_cost_no_url(cli: Cli, processes: int) -> None:
    with spawn("--hosts", "10", "--pages", "200", "--breaks", "0", "--delay-ms", "250") as churn:
        crawl_with_stops(cli, churn, 200, 20, processes)


def test_a_server_that_never_answers_has_failed_though_we_stood_still(cli: Cli) -> None:
    with spawn("--hosts", "1", "--pages", "1", "--breaks", "0", "--delay-ms", "3600000") as churn:
        env = {**NO_RETRY, "ORBWEB_ROBOTS__OBEY": "false"}
        crawl = cli.start("crawl", *churn.urls, *PLAIN, env=env)
        stand_still(crawl, 1, lambda _number: churn.stats()["requests"] >= 1)
        out, err = crawl.communicate(timeout=60)
        assert Result(crawl.returncode, out, err).ok(6).json["failed"] == 1
        assert churn.stats()["requests"] == 2
    assert "timeout" in cli.ask("failed", "site").ok().out
