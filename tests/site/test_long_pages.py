"""A page with thousands of new links is committed in portions, and nobody can tell from the result."""

from __future__ import annotations

import signal

import pytest

from harness import Cli
from servers.pages import page
from servers.site import Answer, StaticSite, html, serve

FOREIGN = 6_000
OPTIONS = ("--rate", "max", "--project", "site", "--sitemap", "off")
GROUP = {"ORBWEB_ENGINE__GROUP_PAGES": "4"}


def wide(*last: str) -> Answer:
    """Thousands of links that are refused, known ones among them, and at the very end some that are not."""
    foreign = "".join(f"<a href=http://elsewhere.example/{number}>x</a>" for number in range(FOREIGN))
    return html(
        f"<title>wide</title>{foreign}<a href=/a>x</a>" + "".join(f"<a href={path}>x</a>" for path in last)
    )


def site() -> StaticSite:
    """The wide page is the last of its depth, so nothing is queued while its links are followed."""
    leaves = {f"/{name}": page(name) for name in ("a", "b", "x", "y", "z")}
    return StaticSite({**leaves, "/": page("start", "/a", "/b", "/wide"), "/wide": wide("/x", "/y", "/z")})


VISITED = ["/", "/a", "/b", "/wide", "/x", "/y", "/z"]


def visited(cli: Cli) -> list[str]:
    return ["/" + line[1].split("/", 3)[3] for line in cli.manifest("site")]


@pytest.mark.parametrize("workers", [1, 8])
def test_every_link_is_found_in_its_order(cli: Cli, workers: int) -> None:
    with serve(site()) as server:
        done = cli.crawl(server.url, *OPTIONS, "--workers", workers, env=GROUP).ok(0)
        links = cli("show", "site", f"{server.url}wide", "--json").ok().json
    assert visited(cli) == VISITED
    assert done.json["skipped"] == {"out_of_scope": FOREIGN}
    assert done.json["ended_by"] == "exhausted"
    assert len(links["links"]) == FOREIGN + 4
    cli.check("site")


@pytest.mark.parametrize(
    "fault", ["portion_written:3", "portion_written:8", "rows_written:2", "group_committed:1"]
)
def test_a_kill_in_between_costs_nothing(cli: Cli, fault: str) -> None:
    with serve(site()) as server:
        killed = cli.crawl(server.url, *OPTIONS, "--workers", 4, env={**GROUP, "ORBWEB_FAULT": fault})
        assert killed.code == -signal.SIGKILL
        cli.check("site")
        done = cli.resume("site", env=GROUP).ok(0)
    assert visited(cli) == VISITED
    assert done.json["skipped"] == {"out_of_scope": FOREIGN}
    cli.check("site")


def test_a_stop_ends_in_between_pages(cli: Cli) -> None:
    """The budget ends with the wide page: it is finished, and what it led to is queued."""
    with serve(site()) as server:
        done = cli.crawl(server.url, *OPTIONS, "--budget", 4, env=GROUP).ok(4)
        assert (done.json["visited"], done.json["queued"]) == (4, 3)
        cli.check("site")
        cli.resume("site", env=GROUP).ok(0)
    assert visited(cli) == VISITED


def test_lanes_do_not_mix_up_their_pages(cli: Cli) -> None:
    """In relaxed order others are committed while a wide page is, some of them wide as well."""
    with serve(site()) as one, serve(site()) as two:
        done = cli.crawl(one.url, two.url, *OPTIONS, "--order", "relaxed", "--workers", 8, env=GROUP).ok(0)
        assert done.json["visited"] == 2 * len(VISITED)
        assert {hit.path for hit in one.log} == {hit.path for hit in two.log} == set(VISITED)
        for server in (one, two):
            shown = cli("show", "site", f"{server.url}wide", "--json").ok().json
            assert len(shown["links"]) == FOREIGN + 4
    assert done.json["skipped"] == {"out_of_scope": FOREIGN}
    cli.check("site")
