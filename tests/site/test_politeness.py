"""P4: requests to one host are evenly spaced, across restarts and across processes. Judged by the server's log."""

from __future__ import annotations

from pathlib import Path

from harness import Cli, kill, wait_until
from servers.pages import chain, page
from servers.site import Hit, StaticSite, redirect, serve

RATE = 20
TOLERANCE = 0.001


def violations(hits: list[Hit]) -> list[float]:
    times = sorted(hit.at for hit in hits)
    gaps = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
    return [gap for gap in gaps if gap < 1 / RATE - TOLERANCE]


def test_even_spacing_counts_retries_and_redirects(cli: Cli) -> None:
    answers = chain(12) | {"/3": redirect("/3/"), "/3/": page("three"), "/5": redirect("/elsewhere")}
    answers |= {"/7": lambda request: page("seven") if request.nth == 3 else page("no", delay_s=0)}
    with serve(StaticSite(answers)) as server:
        cli.crawl(server.url, "--project", "site", "--rate", RATE, "--workers", 8).ok(3)
        assert len(server.log) == 15
        assert violations(list(server.log)) == []
        span = server.log[-1].at - server.log[0].at
        assert span < 15 / RATE * 1.25, "spacing does not waste time"


def test_default_rate_is_two(cli: Cli) -> None:
    with serve(StaticSite(chain(2))) as server:
        cli.crawl(server.url, "--project", "site").ok(0)
        times = [hit.at for hit in server.log]
    assert all(0.499 <= later - earlier < 0.6 for earlier, later in zip(times, times[1:], strict=False))


def test_spacing_holds_across_a_restart(cli: Cli) -> None:
    with serve(StaticSite(chain(60))) as server:
        process = cli.start("crawl", server.url, "--project", "site", "--rate", RATE)
        wait_until(lambda: len(server.log) > 10)
        kill(process)
        cli.resume("site").ok(0)
        assert len(server.log) >= 61
        assert violations(list(server.log)) == []


def test_spacing_holds_for_two_projects_on_one_host(cli: Cli) -> None:
    with serve(StaticSite(chain(25))) as server:
        started = [
            cli.start("crawl", server.url, "--project", name, "--rate", RATE, "--workers", 4)
            for name in ("one", "two")
        ]
        for process in started:
            process.communicate(timeout=60)
            assert process.returncode == 0
        assert len(server.log) == 52
        assert violations(list(server.log)) == []
    for name in ("one", "two"):
        assert cli.check(name)["visited"] == 26


def test_hosts_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with serve(StaticSite(chain(10))) as one, serve(StaticSite(chain(10))) as two:
        cli = Cli(tmp_path / "w")
        done = cli.crawl(one.url, two.url, "--project", "site", "--rate", 10, "--workers", 8).ok(0)
        assert done.json["visited"] == 22
        assert done.json["seconds"] < 2.0


def test_user_agent_and_resolve(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(
            "http://docs.example.org/", "--project", "site", "--rate", "max", "--user-agent", "probe/1 (+mailto:a@b.c)",
            "--resolve", f"docs.example.org:80:127.0.0.1:{server.port}",
        ).ok(0)  # fmt: skip
        assert {hit.user_agent for hit in server.log} == {"probe/1 (+mailto:a@b.c)"}
        assert {hit.host for hit in server.log} == {"docs.example.org"}
