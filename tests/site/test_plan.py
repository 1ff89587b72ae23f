"""`orbweb plan`: what a crawl would do, said before it is done, and true afterwards."""

from __future__ import annotations

from itertools import pairwise

from harness import Cli
from servers.pages import page
from servers.site import StaticSite, html, redirect, serve, text

RULES = "User-agent: *\nDisallow: /docs/private\nCrawl-delay: 0.3\nSitemap: /map.xml\n"
SITE = {
    "/": redirect("/docs/"),
    "/docs/": page("docs", "/docs/a", "/docs/private/x", "/blog"),
    "/docs/a": page("a"),
    "/docs/b": page("b"),
    "/robots.txt": text(RULES),
    "/map.xml": text(
        "<urlset><url><loc>/docs/b</loc></url><url><loc>/docs/a</loc></url><url><loc>/</loc></url></urlset>"
    ),
    "/sitemap.xml": html("no", 404),
}


def test_a_plan_tells_scope_rules_sitemaps_and_rate(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        done = cli("plan", server.url, "--json").ok(0)
        asked = [hit.path for hit in server.whole_log]
        times = [hit.at for hit in server.whole_log]
        shown = cli("plan", server.url).ok(0).out
        crawled = cli.crawl(server.url, "--project", "site", "--rate", "max").ok(0)
    report = done.json
    assert asked == ["/robots.txt", "/", "/docs/", "/map.xml", "/sitemap.xml"]
    assert all(later - earlier >= 0.29 for earlier, later in pairwise(times))
    (base,) = report["bases"]
    assert (base["scope"], base["robots"], base["problem"]) == (f"{server.url}docs", "allowed", None)
    assert (base["seconds_apart"], base["rate_rule"]) == (0.505, "limits.rate: 2.0")
    assert report["sitemaps"] == [{"url": f"{server.url}map.xml", "urls": 3}]
    assert report["would_visit"] == 2
    assert report["by_source"] == {"spider": 1, "sitemap": 1}
    assert report["examples"] == [f"{server.url}docs/a", f"{server.url}docs/b"]
    assert {reason: found["count"] for reason, found in report["would_skip"].items()} == {
        "out_of_scope": 1,
        "robots": 1,
    }
    assert "Disallow: /docs/private" in report["would_skip"]["robots"]["examples"][0]["rule"]
    assert report["at_least_s"] == 1.0
    assert "2 more URLs would be visited (sitemap 1, spider 1)" in shown
    assert crawled.json["visited"] == 2 + report["would_visit"]
    assert crawled.json["skipped"] == {"out_of_scope": 1, "robots": 1}


def test_the_slower_of_rate_and_crawl_delay_is_told(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        (base,) = cli("plan", server.url, "--rate", "max", "--json").ok(0).json["bases"]
    assert (base["seconds_apart"], base["rate_rule"]) == (0.3, "Crawl-delay of robots.txt")


def test_a_plan_of_what_cannot_be_crawled_says_why(cli: Cli) -> None:
    with serve(StaticSite({"/": page("x"), "/robots.txt": text("User-agent: *\nDisallow: /")})) as server:
        refused = cli("plan", server.url, "--rate", "max", "--json").ok(6).json["bases"][0]
        missing = cli("plan", f"{server.url}gone", "--rate", "max", "--json").ok(6).json["bases"][0]
    assert "Disallow: /" in refused["robots"]
    assert refused["problem"].startswith("robots: ")
    assert "Disallow" in missing["problem"]
    nobody = cli("plan", server.url, "--rate", "max", "--json", env={"ORBWEB_FETCH__RETRIES": "0"}).ok(6).json
    assert nobody["bases"][0]["state"] == "failed"
    assert nobody["would_visit"] == 0
    assert not cli.workspace.exists()


def test_a_plan_follows_redirects_to_their_end_whatever_the_budget(cli: Cli) -> None:
    site = {"/": redirect("/a"), "/a": redirect("/gone"), "/sitemap.xml": text("<urlset></urlset>")}
    with serve(StaticSite(site)) as server:
        env = {"ORBWEB_LIMITS__BUDGET": "1", "ORBWEB_LIMITS__RATE": "max"}
        (base,) = cli("plan", server.url, "--json", env=env).ok(6).json["bases"]
        assert [hit.path for hit in server.log] == ["/", "/a", "/gone"]
    assert (base["state"], base["problem"]) == ("failed", "HTTP 404")


def test_bad_options_of_a_plan_are_named(cli: Cli) -> None:
    assert "--rate" in cli("plan", "http://127.0.0.1:1/", "--rate", "fast").ok(2).err
    assert "not a URL" in cli("plan", "..").ok(2).err


def test_explaining_an_unknown_url_asks_the_robots_txt_that_is_known(cli: Cli) -> None:
    with serve(StaticSite({"/": page("x"), "/robots.txt": text("User-agent: *\nDisallow: /private")})) as server:
        cli.crawl(server.url, "--project", "site", "--rate", "max").ok(0)
    told = cli.ask("explain", "site", f"{server.url}private/never-seen", "--json").ok(3).json
    assert (told["state"], told["reason"]) == ("unknown", "robots")
    assert "Disallow: /private" in told["rule"]
