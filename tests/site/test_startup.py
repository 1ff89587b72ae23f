"""Relaxed order at the outset: who has settled base URLs goes on, and the result is what it would be anyway.

Each test has a base URL that is busy until its event is set, which the other hosts' requests do. An engine that
waits for it has no one to set the event, and ends with a failure.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from harness import Cli, kill, wait_until
from servers.pages import page
from servers.site import Answer, Request, Server, StaticSite, redirect, serve, text

RELAXED = ("--rate", "max", "--project", "site", "--order", "relaxed", "--workers", 8)
PATIENT = {"ORBWEB_LIMITS__SLOWEST_S": "0.1", "ORBWEB_FETCH__BUSY_RETRIES": "4", "ORBWEB_ENGINE__GROUP_PAGES": "1"}
BUSY = Answer(429, (("Retry-After", "0"),), b"busy")

Answers = dict[str, Answer | Callable[[Request], Answer]]


class Late:
    """Answers that are not given before the event."""

    def __init__(self) -> None:
        self.now = threading.Event()

    def until_then(self, answer: Answer) -> Callable[[Request], Answer]:
        return lambda _request: answer if self.now.is_set() else BUSY

    def release(self, answer: Answer) -> Callable[[Request], Answer]:
        def released(_request: Request) -> Answer:
            self.now.set()
            return answer

        return released


@pytest.fixture
def late() -> Late:
    return Late()


@pytest.fixture
def served() -> Iterator[Callable[[Answers], Server]]:
    with ExitStack() as stack:
        yield lambda answers: stack.enter_context(serve(StaticSite(answers)))


Serve = Callable[[Answers], Server]


def asked(server: Server) -> list[str]:
    return [hit.path for hit in server.log]


def sitemap(*paths: str) -> Answer:
    body = "<urlset>" + "".join(f"<url><loc>{path}</loc></url>" for path in paths) + "</urlset>"
    return Answer(200, (("Content-Type", "application/xml"),), body.encode())


def states(cli: Cli, *sites: Server) -> dict[str, object]:
    """What became of every URL, whoever found it first."""
    names = {site.url: f"{number}/" for number, site in enumerate(sites)}
    rows = cli.check("site")
    lines = [(line[1], line[2]) for line in cli.manifest("site")]
    for url, name in names.items():
        lines = [(found.replace(url, name), status) for found, status in lines]
    return {
        "visited": sorted(lines),
        "skipped": rows["skipped"],
        "failed": rows["failed"],
        "queued": rows["queued"],
    }


def test_a_host_does_not_wait_for_the_base_url_of_another(cli: Cli, late: Late, served: Serve) -> None:
    good = served(
        {
            "/": page("start", "/a"),
            "/a": page("a", "/b"),
            "/b": late.release(page("b")),
            "/mapped": page("mapped"),
            "/sitemap.xml": sitemap("/mapped"),
        }
    )
    slow = served({"/": late.until_then(page("slow", "/x")), "/x": page("x")})
    done = cli.crawl(slow.url, good.url, *RELAXED, env=PATIENT).ok(0)
    assert done.json["visited"] == 6
    assert set(asked(good)) == {"/", "/a", "/b", "/mapped"}
    cli.check("site")


@pytest.mark.parametrize("what", ["robots.txt", "sitemap.xml"])
def test_nor_for_its_other_files(cli: Cli, late: Late, served: Serve, what: str) -> None:
    good = served({"/": page("start", "/a"), "/a": late.release(page("a"))})
    slow = served({"/": page("slow", "/x"), "/x": page("x"), f"/{what}": late.until_then(text(""))})
    done = cli.crawl(slow.url, good.url, *RELAXED, env=PATIENT).ok(0)
    assert done.json["visited"] == 4


def moving(late: Late, served: Serve, last: Late) -> tuple[Server, Server]:
    """The slow base URL leads onto the good host. What the good host links to there is out of scope until then,
    and what it links to on the slow host is in scope until then. The last page of the good host sets `last`."""
    slow_url = ""
    good = served(
        {
            "/docs": lambda _request: page(
                "docs", "/docs/a", "/late/x", f"{slow_url}old", "/docs/last", "/docs/no"
            ),
            "/docs/a": lambda _request: page("a", "/late/y", f"{slow_url}older"),
            "/docs/last": last.release(page("last")),
            "/late": page("late"),
            "/late/x": page("x"),
            "/late/y": page("y"),
            "/robots.txt": text("User-agent: *\nDisallow: /docs/no"),
        }
    )
    slow = served(
        {"/": late.until_then(redirect(f"{good.url}late")), "/old": page("old"), "/older": page("older")}
    )
    slow_url = slow.url
    return slow, good


MOVED = {
    "visited": [
        ("0/", "301"),
        *((f"1/{path}", "200") for path in ("docs", "docs/a", "docs/last", "late", "late/x", "late/y")),
    ],
    "skipped": {"out_of_scope": 2, "robots": 1},
    "failed": 0,
    "queued": 0,
}
OPEN = ("--sitemap", "off", "--allow-private")


def test_a_base_url_that_moves_late_changes_the_verdicts_and_nothing_that_was_visited(
    cli: Cli, late: Late, served: Serve
) -> None:
    slow, good = moving(late, served, late)
    cli.crawl(slow.url, f"{good.url}docs", *RELAXED, *OPEN, env=PATIENT).ok(0)
    assert states(cli, slow, good) == MOVED
    assert set(asked(slow)) == {"/"}
    assert len(asked(good)) == len(set(asked(good))), "nothing is asked for twice"


def test_strict_order_comes_to_the_same(cli: Cli, late: Late, served: Serve) -> None:
    slow, good = moving(late, served, late)
    late.now.set()
    cli.crawl(slow.url, f"{good.url}docs", *RELAXED, "--order", "strict", *OPEN, env=PATIENT).ok(0)
    assert states(cli, slow, good) == MOVED


@pytest.mark.parametrize("order", ["relaxed", "strict"])
def test_a_crawl_that_is_killed_before_it_moves(cli: Cli, late: Late, served: Serve, order: str) -> None:
    """Pages of the good host are durable by then."""
    slow, good = moving(late, served, Late())
    env = {**PATIENT, "ORBWEB_FETCH__BUSY_RETRIES": "100"}
    crawl = cli.start("crawl", slow.url, f"{good.url}docs", *RELAXED, *OPEN, env=env)
    wait_until(lambda: cli("show", "site", f"{good.url}docs/a", "--as", "meta").code == 0)
    kill(crawl)
    late.now.set()
    cli.resume("site", env={**PATIENT, "ORBWEB_ENGINE__ORDER": order}).ok(0)
    assert states(cli, slow, good) == MOVED


def test_a_place_outside_the_scope_waits_for_all_base_urls(cli: Cli, late: Late, served: Serve) -> None:
    """A base URL that is still to move could make it one inside, and its links less far away."""
    other = served({"/x": page("x", "/y"), "/y": page("y")})
    good = served({"/": page("start", f"{other.url}x", "/a"), "/a": late.release(page("a"))})
    slow = served({"/": late.until_then(redirect(other.url + "x"))})
    cli.crawl(slow.url, good.url, *RELAXED, *OPEN, "--external-hops", 1, env=PATIENT).ok(0)
    settled_at = max(hit.at for hit in slow.log)
    assert min(hit.at for hit in other.log) >= settled_at
    assert asked(other) == ["/x", "/y"]
    cli.check("site")


def test_a_plan_asks_for_base_urls_and_sitemaps_only(cli: Cli, served: Serve) -> None:
    good = served({"/": page("start", "/a"), "/a": page("a")})
    slow = served({"/": page("slow", delay_s=0.3)})
    cli("plan", good.url, slow.url, "--rate", "max", "--json", env={"ORBWEB_ENGINE__ORDER": "relaxed"}).ok(0)
    assert asked(good) == ["/"]
