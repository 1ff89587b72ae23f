"""Sitemaps: read after the base URLs, in their order, within limits, by the rules. Judged by log and manifest."""

from __future__ import annotations

import gzip
import resource
import signal
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from harness import Cli, kill, wait_until
from servers.pages import page
from servers.site import Answer, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site")
MOST_CPU_S = 15.0


def xml(body: str | bytes, content_type: str = "application/xml") -> Answer:
    return Answer(200, (("Content-Type", content_type),), body if isinstance(body, bytes) else body.encode())


def urlset(*urls: str, lastmod: str = "") -> str:
    dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        + "".join(f"<url><loc>{url}</loc>{dated}</url>" for url in urls)
        + "</urlset>"
    )


def index(*urls: str) -> str:
    return "<sitemapindex>" + "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls) + "</sitemapindex>"


SITE: dict[str, Any] = {
    "/": page("start", "/linked"),
    "/linked": page("linked", "/deep"),
    "/deep": page("deep"),
    "/b": page("b"),
    "/a": page("a"),
}


def cpu_of_children() -> float:
    """Seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def visited(cli: Cli) -> list[str]:
    return [line[1].partition("/")[2].partition("/")[2].partition("/")[2] for line in cli.manifest("site")]


def rows(cli: Cli, sql: str) -> list[Any]:
    with sqlite3.connect(cli.workspace / "orbweb.db") as db:
        found = db.execute(sql).fetchall()
    db.close()
    return found


def test_the_usual_place_is_read_after_the_base_and_its_urls_have_depth_one(cli: Cli) -> None:
    site = {**SITE, "/sitemap.xml": xml(urlset("/b", "/a", "/linked", lastmod="2024-02-03"))}
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST, "--workers", 4).ok(0)
        asked = [hit.path for hit in server.whole_log]
    assert asked[:3] == ["/robots.txt", "/", "/sitemap.xml"]
    assert visited(cli) == ["", "linked", "b", "a", "deep"]
    assert "sitemaps: 3 URLs, 1 files read" in done.err
    found = rows(cli, "SELECT key, source, depth, lastmod FROM urls ORDER BY id")
    assert [(key.rpartition("/")[2], *rest) for key, *rest in found] == [
        ("", "initial", 0, None),
        ("linked", "spider", 1, "2024-02-03"),
        ("b", "sitemap", 1, "2024-02-03"),
        ("a", "sitemap", 1, "2024-02-03"),
        ("deep", "spider", 2, None),
    ]
    told = cli.ask("explain", "site", f"{server.url}b", "--json").ok().json
    assert (told["source"], [step["how"] for step in told["chain"]]) == ("sitemap", ["initial", "sitemap"])
    cli.check("site")


def test_robots_lists_files_that_may_be_packed_plain_feeds_or_indexes(cli: Cli) -> None:
    listed = "User-agent: *\nDisallow: /secret\nSitemap: /index.xml\nSitemap: /list.txt\nSitemap: /secret.xml\n"
    feed = "<rss><channel><item><link>/from-rss</link></item></channel></rss>"
    site = {
        **SITE,
        "/robots.txt": text(listed),
        "/index.xml": xml(index("/packed.xml.gz", "/moved", "/gone.xml")),
        "/packed.xml.gz": xml(gzip.compress(urlset("/b").encode()), "application/octet-stream"),
        "/moved": redirect("/feed"),
        "/feed": xml(feed, "application/rss+xml"),
        "/from-rss": page("rss"),
        "/list.txt": Answer(200, (("Content-Type", "image/png"),), b"/no\nhttp://127.0.0.1:1/x\n"),
        "/secret.xml": xml(urlset("/a")),
    }
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST).ok(0)
        asked = [hit.path for hit in server.whole_log]
    assert visited(cli) == ["", "linked", "b", "from-rss", "deep"]
    assert "/secret.xml" not in asked
    assert "gone.xml: HTTP 404" in done.err
    assert "secret.xml: not fetched, robots.txt" in done.err
    assert done.json["skipped"] == {"out_of_scope": 1}
    cli.check("site")


def test_only_visits_what_the_sitemap_lists(cli: Cli) -> None:
    site = {**SITE, "/sitemap.xml": xml(urlset("/b", "/linked")), "/b": redirect("/a")}
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST, "--sitemap", "only").ok(0)
    assert visited(cli) == ["", "b", "linked", "a"]
    assert done.json["skipped"] == {"sitemap_only": 1}
    told = cli.ask("explain", "site", f"{server.url}deep", "--json").ok().json
    assert (told["reason"], told["rule"]) == ("sitemap_only", "sitemap.mode: only")
    cli.check("site")


def test_only_without_a_sitemap_says_so(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        done = cli.crawl(server.url, *FAST, "--sitemap", "only").ok(0)
    assert visited(cli) == [""]
    assert "no sitemap was found" in done.err


def test_off_asks_for_none(cli: Cli) -> None:
    with serve(StaticSite({**SITE, "/sitemap.xml": xml(urlset("/b"))})) as server:
        cli.crawl(server.url, *FAST, "--sitemap", "off").ok(0)
        assert "/sitemap.xml" not in [hit.path for hit in server.whole_log]
    assert visited(cli) == ["", "linked", "deep"]


def test_the_scope_counts_after_the_base_moved(cli: Cli) -> None:
    site = {
        "/": redirect("/docs/"),
        "/docs/": page("docs"),
        "/docs/x": page("x"),
        "/sitemap.xml": xml(urlset("/blog", "/docs/x")),
    }
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST).ok(0)
    assert visited(cli) == ["", "docs/", "docs/x"]
    assert done.json["skipped"] == {"out_of_scope": 1}


@pytest.mark.parametrize(
    "make",
    [
        lambda: (
            "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><urlset><url><loc>&b;</loc></url></urlset>"
        ),
        lambda: (
            "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>/&f;</loc></url></urlset>"
        ),
        lambda: "<urlset>" * 300_000,
        lambda: urlset(*[f"/p{number}" for number in range(60_000)]),
        lambda: gzip.compress(b"<urlset>" + b" " * 200_000_000),
        lambda: b"\xff\xfe\x00garbage" * 1000,
    ],
    ids=["entities", "external entity", "nested", "60,000 URLs", "bomb", "garbage"],
)
def test_a_hostile_sitemap_costs_little(cli: Cli, make: Callable[[], str | bytes]) -> None:
    before = cpu_of_children()
    with serve(
        StaticSite({**SITE, "/sitemap.xml": xml(make()), "/robots.txt": text("Sitemap: /sitemap.xml")})
    ) as server:
        done = cli.crawl(server.url, *FAST, "--budget", 3)
    assert cpu_of_children() - before < MOST_CPU_S
    assert done.code in (0, 4), done.err
    assert done.json["discovered"] <= 50_004
    cli.check("site")


def test_an_index_that_leads_to_itself_and_ever_deeper_ends(cli: Cli) -> None:
    def deeper(request: Any) -> Answer:
        return xml(index("/sitemap.xml", request.path + "x", request.path + "y"))

    site = StaticSite(SITE)

    class Endless:
        def answer(self, request: Any) -> Answer:
            return deeper(request) if "sitemap" in request.path else site.answer(request)

    with serve(Endless()) as server:
        done = cli.crawl(server.url, *FAST).ok(0)
        files = [hit.path for hit in server.whole_log if "sitemap" in hit.path]
    assert len(files) == len(set(files)) == 7
    assert "an index below 2 others is not followed" in done.err


def test_limits_on_files_and_urls_are_told(cli: Cli) -> None:
    site = {**SITE, "/sitemap.xml": xml(index(*[f"/s{number}.xml" for number in range(9)]))}
    for number in range(9):
        site[f"/s{number}.xml"] = xml(urlset(*[f"/n{number}-{each}" for each in range(10)]))
    env = {"ORBWEB_SITEMAP__MAX_FILES": "6", "ORBWEB_SITEMAP__MAX_URLS": "25"}
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST, "--budget", 1, env=env).ok(4)
        assert done.json["discovered"] == 2
        done = cli.resume("site", "--budget", "none", env=env).ok(3)
    assert "only 6 files are read (sitemap.max_files)" in done.err
    assert "only 25 URLs are read (sitemap.max_urls)" in done.err
    assert done.json["discovered"] == 3 + 25


def test_sessions_of_one_and_a_kill_give_the_same_as_one_crawl(cli: Cli, tmp_path: Any) -> None:
    many = [f"/m{number}" for number in range(12)]
    site = {
        **SITE,
        **{path: page(path) for path in many},
        "/sitemap.xml": xml(index("/one.xml", "/two.xml")),
        "/one.xml": xml(urlset(*many[:8])),
        "/two.xml": xml(urlset(*many[4:])),
    }
    hashes = set()
    with serve(StaticSite(site)) as server:
        for name, budget in (("whole", 100), ("daily", 3)):
            other = Cli(tmp_path / name)
            while other.crawl(server.url, *FAST, "--budget", budget).code == 4:
                pass
            hashes.add(other.manifest_hash("site"))
        slow = {"ORBWEB_LIMITS__RATE": "20"}
        process = cli.start("crawl", server.url, "--project", "site", env=slow)
        wait_until(lambda: [hit.path for hit in server.whole_log][-1] == "/one.xml")
        kill(process)
        cli.resume("site", "--rate", "max").ok(0)
        hashes.add(cli.manifest_hash("site"))
    assert len(hashes) == 1


def test_a_busy_or_broken_sitemap_is_asked_for_again(cli: Cli) -> None:
    def late(request: Any) -> Answer:
        return xml(urlset("/b")) if request.nth > 2 else html("starting", 500)

    with serve(StaticSite({**SITE, "/sitemap.xml": late})) as server:
        cli.crawl(server.url, *FAST, env={"ORBWEB_FETCH__BACKOFF_S": "0.05"}).ok(0)
    assert "b" in visited(cli)


# prefer: links are followed only where sitemaps list nothing.


NOTHING = {
    "no sitemap": {},
    "only the base URL": {"/sitemap.xml": xml(urlset("/"))},
    "only what is outside": {"/sitemap.xml": xml(urlset("http://127.0.0.1:1/x"))},
    "only what is excluded": {"/sitemap.xml": xml(urlset("/b?print=1"))},
    "an error": {"/sitemap.xml": html("no", 404), "/robots.txt": text("Sitemap: /sitemap.xml")},
}
BOTH = {
    "/docs/": page("docs", "/docs/linked", "/blog/from-docs"),
    "/docs/linked": page("docs linked"),
    "/docs/listed": page("docs listed", "/docs/deep", "/blog/deep"),
    "/docs/deep": page("docs deep"),
    "/docs/from-blog": page("docs from blog"),
    "/blog/": page("blog", "/blog/linked", "/docs/from-blog"),
    "/blog/linked": page("blog linked", "/blog/deep"),
    "/blog/deep": page("blog deep"),
    "/blog/from-docs": page("blog from docs"),
    "/sitemap.xml": xml(urlset("/docs/listed", "/elsewhere")),
}


def test_prefer_is_only_where_a_sitemap_lists_pages(cli: Cli, tmp_path: Any) -> None:
    other = Cli(tmp_path / "only")
    with serve(StaticSite({**SITE, "/sitemap.xml": xml(urlset("/b", "/linked"))})) as server:
        done = cli.crawl(server.url, *FAST, "--sitemap", "prefer").ok(0)
        other.crawl(server.url, *FAST, "--sitemap", "only").ok(0)
    assert visited(cli) == ["", "b", "linked"]
    assert cli.manifest_hash("site") == other.manifest_hash("site")
    assert done.json["skipped"] == {"sitemap_only": 1}
    assert "links are followed" not in done.err
    told = cli.ask("explain", "site", f"{server.url}deep", "--json").ok().json
    assert (told["reason"], told["rule"]) == ("sitemap_only", "sitemap.mode: prefer")
    unseen = cli.ask("explain", "site", f"{server.url}unseen", "--json").json
    assert (unseen["verdict"], unseen["state"]) == ("allowed", "unknown")
    cli.check("site")


@pytest.mark.parametrize("lists", NOTHING)
def test_prefer_follows_links_where_sitemaps_list_nothing(cli: Cli, tmp_path: Any, lists: str) -> None:
    other, rule = Cli(tmp_path / "off"), ("--exclude", "print=")
    with serve(StaticSite({**SITE, **NOTHING[lists]})) as server:
        done = cli.crawl(server.url, *FAST, *rule, "--sitemap", "prefer").ok(0)
        other.crawl(server.url, *FAST, *rule, "--sitemap", "off").ok(0)
    assert visited(cli) == ["", "linked", "deep"]
    assert cli.manifest_hash("site") == other.manifest_hash("site")
    assert f"sitemaps list no page of {server.url}: links are followed (--sitemap prefer)" in done.err
    assert "sitemap_only" not in done.json["skipped"]
    cli.check("site")


@pytest.mark.parametrize("order", ["strict", "relaxed"])
def test_prefer_decides_for_each_base_url(cli: Cli, order: str) -> None:
    with serve(StaticSite(BOTH)) as server:
        bases = (f"{server.url}docs/", f"{server.url}blog/")
        done = cli.crawl(*bases, *FAST, "--sitemap", "prefer", "--order", order).ok(0)
    assert sorted(visited(cli)) == sorted(
        ["docs/", "blog/", "docs/listed", "blog/from-docs", "blog/linked", "blog/deep"]
    )
    assert done.json["skipped"] == {"out_of_scope": 1, "sitemap_only": 3}
    assert f"sitemaps list no page of {server.url}blog: links are followed" in done.err
    assert f"sitemaps list no page of {server.url}docs" not in done.err
    cli.check("site")


@pytest.mark.parametrize("listed", [True, False])
def test_prefer_in_sessions_of_one_and_after_kills_gives_the_same(cli: Cli, tmp_path: Any, listed: bool) -> None:
    site = BOTH if listed else {path: answer for path, answer in BOTH.items() if path != "/sitemap.xml"}
    hashes = set()
    with serve(StaticSite(site)) as server:
        bases = (f"{server.url}docs/", f"{server.url}blog/")
        crawl = (*bases, *FAST, "--sitemap", "prefer")
        for name, budget, workers in (("whole", 100, 1), ("many", 100, 16), ("daily", 1, 4)):
            other = Cli(tmp_path / name)
            while other.crawl(*crawl, "--budget", budget, "--workers", workers).code == 4:
                pass
            hashes.add(other.manifest_hash("site"))
            other.check("site")
        for fault in ("group_committed:1", "rows_written:2", "group_committed:2", "group_committed:3"):
            other = Cli(tmp_path / fault.replace(":", "-"))
            env = {"ORBWEB_FAULT": fault, "ORBWEB_ENGINE__GROUP_PAGES": "1"}
            assert other.crawl(*crawl, env=env).code == -signal.SIGKILL
            other.resume("site").ok(0)
            hashes.add(other.manifest_hash("site"))
            other.check("site")
    assert len(hashes) == 1


@pytest.mark.parametrize("listed", [True, False])
def test_a_plan_tells_where_links_are_followed(cli: Cli, listed: bool) -> None:
    site = {**SITE, "/sitemap.xml": xml(urlset("/b", "/a"))} if listed else SITE
    with serve(StaticSite(site)) as server:
        plan = cli("plan", server.url, "--rate", "max", "--sitemap", "prefer", "--json").ok(0).json
        shown = cli("plan", server.url, "--rate", "max", "--sitemap", "prefer").ok(0).out
        usual = cli("plan", server.url, "--rate", "max", "--json").ok(0).json
    assert [base["follows_links"] for base in plan["bases"]] == [not listed]
    assert plan["by_source"] == ({"sitemap": 2} if listed else {"spider": 1})
    assert ("links: not followed" in shown) == listed
    assert [base["follows_links"] for base in usual["bases"]] == [True]


def test_a_recrawl_and_changed_rules_decide_anew(cli: Cli) -> None:
    site = dict(SITE)
    with serve(StaticSite(site)) as server:
        cli.crawl(server.url, *FAST, "--sitemap", "prefer").ok(0)
        assert visited(cli) == ["", "linked", "deep"]
        cli("recrawl", "site").ok(0)
        assert visited(cli) == ["", "linked", "deep"]
        site["/sitemap.xml"] = xml(urlset("/b", "/linked"))
        cli("recrawl", "site").ok(0)
        assert visited(cli) == ["", "b", "linked"]
        cli("rules", "site", "--sitemap", "auto").ok(0)
        cli.resume("site").ok(0)
        assert visited(cli) == ["", "b", "linked", "deep"]
    cli.check("site")


def test_a_run_that_is_told_to_prefer_sitemaps_keeps_what_they_list(cli: Cli) -> None:
    site = {**SITE, "/": page("start", "/linked", "/a"), "/sitemap.xml": xml(urlset("/linked", "/b"))}
    with serve(StaticSite(site)) as server:
        cli.crawl(server.url, *FAST, "--budget", 1).ok(4)
        cli.resume("site", "--budget", 1).ok(4)
        cli("rules", "site", "--sitemap", "prefer").ok(0)
        cli.resume("site", "--budget", "none").ok(0)
    assert visited(cli) == ["", "linked", "b"]
    told = cli.ask("explain", "site", f"{server.url}a", "--json").ok().json
    assert (told["reason"], told["rule"]) == ("sitemap_only", "sitemap.mode: prefer")
    cli.check("site")
