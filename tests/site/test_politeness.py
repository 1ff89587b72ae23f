"""P4: requests to one host are evenly spaced, across restarts and across processes. Judged by the server's log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

import pytest

from harness import Cli, kill, wait_until
from servers.pages import chain
from servers.site import Hit, Remote, StaticSite, serve, spawn

pytestmark = pytest.mark.alone

RATE = 20
SHORT = 0.5
"""A gap of less than so much of an interval is short. Requests that nobody spaces come within milliseconds."""
FEW = 0.2
"""Short gaps that a busy machine makes: the server notes an arrival late, and the next in time."""
PATIENCE = 3
"""A crawl on a busy machine may take so many times as long."""


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    with spawn("--seed", "2", "--pages", "60", "--warm") as running:
        yield running


@pytest.fixture
def site(remote: Remote) -> Remote:
    remote.reset()
    return remote


def gaps(hits: Sequence[Hit]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(sorted(hit.at for hit in hits))]


def violations(hits: Sequence[Hit], since: float) -> list[float]:
    """Requests that came before their time, counted from a moment before the first of them, which no delay can
    feign; and gaps that are short, if they are not few."""
    times = sorted(hit.at for hit in hits)
    early = [at for number, at in enumerate(times) if at < since + number / RATE]
    short = [gap for gap in gaps(hits) if gap < SHORT / RATE]
    return early + (short if len(short) > FEW * len(times) else [])


def settled(report: dict[str, int]) -> int:
    return report["crawl_visited"] + report["crawl_failed"]


def test_every_request_is_spaced_and_no_time_is_wasted(cli: Cli, site: Remote) -> None:
    """The site has redirects, retries and failures; they count like any other request."""
    since = time.monotonic()
    done = cli.crawl(site.url, "--project", "site", "--rate", RATE, "--workers", 8, "--budget", 60)
    hits = site.log()
    assert settled(done.json) == 60
    assert len(hits) > 60, "retries and followed redirects are in the log"
    assert violations(hits, since) == []
    assert hits[-1].at - hits[0].at < len(hits) / RATE * PATIENCE


def test_default_rate_is_two(cli: Cli, site: Remote) -> None:
    cli.crawl(site.url, "--project", "site", "--budget", 4, "--sitemap", "off").ok(4)
    found = gaps(site.log())
    assert min(found) >= 0.5 * SHORT
    assert median(found) < 0.5 * PATIENCE


def test_spacing_holds_across_a_restart(cli: Cli, site: Remote) -> None:
    since = time.monotonic()
    process = cli.start("crawl", site.url, "--project", "site", "--rate", RATE, "--budget", 30)
    wait_until(lambda: site.stats()["requests"] > 10)
    kill(process)
    assert settled(cli.resume("site").ok(4).json) == 30
    assert violations(site.log(), since) == []


def test_a_restart_waits_for_the_slot_of_the_last_request(cli: Cli, site: Remote) -> None:
    """With one request in two seconds a restart right after a request must wait, not ask at once."""
    options = ("--project", "site", "--rate", 0.5, "--budget", 1)
    cli.crawl(site.url, *options).ok(4)
    cli.crawl(site.url, *options).ok(4)
    assert min(gaps(site.log())) >= 2.0 * SHORT


def test_spacing_holds_for_two_projects_on_one_host(cli: Cli, site: Remote) -> None:
    options = ("--rate", RATE, "--workers", 4, "--budget", 25)
    since = time.monotonic()
    started = [cli.start("crawl", site.url, "--project", name, *options) for name in ("one", "two")]
    for process in started:
        process.communicate(timeout=120)
        assert process.returncode == 4
    assert len(site.log()) >= 50
    assert violations(site.log(), since) == []
    for name in ("one", "two"):
        status = cli.check(name)
        assert status["visited"] + status["failed"] == 25


def test_hosts_do_not_wait_for_each_other(cli: Cli) -> None:
    with serve(StaticSite(chain(10))) as one, serve(StaticSite(chain(10))) as two:
        done = cli.crawl(one.url, two.url, "--project", "site", "--rate", 4, "--workers", 8).ok(0)
        assert done.json["visited"] == 22
        times = sorted(hit.at for hit in (*one.log, *two.log))
        assert times[-1] - times[0] < 0.75 * len(times) / 4, "in turn they take the whole"


def test_user_agent_and_resolve(cli: Cli) -> None:
    agent = "probe/1 (+mailto:a@example.org)"
    with serve(StaticSite(chain(1))) as server:
        pin = f"docs.example.org:80:127.0.0.1:{server.port}"
        options = ("--project", "site", "--rate", "max", "--user-agent", agent, "--resolve", pin)
        cli.crawl("http://docs.example.org/", *options).ok(0)
        assert {hit.user_agent for hit in server.log} == {agent}
        assert {hit.host for hit in server.log} == {"docs.example.org"}


@pytest.mark.parametrize(("base", "pinned"), [("docs.test.", "docs.test"), ("docs.test", "docs.test.")])
def test_a_dot_at_the_end_of_a_host_is_the_same_host_to_resolve(cli: Cli, base: str, pinned: str) -> None:
    with serve(StaticSite(chain(1))) as server:
        pin = f"{pinned}:80:127.0.0.1:{server.port}"
        nobody = {"ORBWEB_FETCH__DNS_SERVERS": "['127.0.0.1:9']", "ORBWEB_FETCH__RETRIES": "0"}
        done = cli.crawl(f"http://{base}/", "--rate", "max", "--project", "site", "--resolve", pin, env=nobody)
    assert done.ok(0).json["visited"] == 2
