"""S1, beyond links and redirects: an index of sitemaps, what pages load, and the proxies of a user."""

from __future__ import annotations

import json
from html import escape
from urllib.parse import unquote

from harness import Cli
from orbweb import config
from orbweb.app.identity import proxies_of
from orbweb.errors import ConfigError
from security.addresses import LITERAL, NAMED, canary
from security.test_guard import FAST, HOSTS, QUICK, failures, in_ascii, title
from servers.dns import serve_names
from servers.pages import page
from servers.site import Answer, StaticSite, html, serve

XML = (("Content-Type", "application/xml"),)
LOADS = {
    "image": '<img src="{}">',
    "srcset": '<img srcset="{} 2x">',
    "script": '<script src="{}"></script>',
    "stylesheet": '<link rel="stylesheet" href="{}">',
    "style": "<style>body {{ background: url('{}') }}</style>",
    "icon": '<link rel="icon" href="{}">',
}


def test_no_index_of_sitemaps_leads_to_a_private_address(cli: Cli) -> None:
    with canary() as watch, serve_names(NAMED) as names:
        urls = [f"http://{in_ascii(host)}:{watch.port}/{number}.xml" for number, host in enumerate(HOSTS)]
        files = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>" for url in urls)
        index = Answer(200, XML, f"<sitemapindex>{files}</sitemapindex>".encode())
        with serve(StaticSite({"/": page("start"), "/sitemap.xml": index})) as server:
            done = cli.crawl(server.url, *FAST, env={**QUICK, **names.env}).ok(0)
        assert watch.hits() == 0
    assert "127.0.0.1 is not public (loopback)" in done.err


def test_nothing_that_a_page_loads_is_at_a_private_address(cli: Cli) -> None:
    with canary() as watch, serve_names(NAMED) as names:
        pages = {
            f"/{way}/{number}": html(
                f"<title>{title(host)} {way}</title>"
                + tag.format(escape(f"http://{host}:{watch.port}/{way}/{number}/"))
            )
            for way, tag in LOADS.items()
            for number, host in enumerate(HOSTS)
        }
        with serve(StaticSite({"/": page("start", *pages), **pages})) as server:
            options = ("--resources", "check", "--external-hops", 1)
            cli.crawl(server.url, *FAST, *options, env={**QUICK, **names.env}).ok(3)
        assert watch.hits() == 0
    failed = failures(cli)
    assert {failure["kind"] for failure in failed.values()} == {"blocked_address"}
    assert {way: sum(f"/{way}/" in url for url in failed) for way in LOADS} == dict.fromkeys(LOADS, len(HOSTS))


def test_no_proxy_is_at_a_private_address(cli: Cli) -> None:
    """Names are judged when they are looked up, addresses before the crawl begins."""
    with canary() as watch, serve_names(NAMED) as names, serve(StaticSite({"/": page("start")})) as server:
        urls = [f"http://{host}:{watch.port}" for host in NAMED]
        tries = {"ORBWEB_FETCH__RETRIES": "19", "ORBWEB_FETCH__BACKOFF_S": "0"}
        env = {**QUICK, **names.env, **tries, "ORBWEB_PROXY__URLS": json.dumps(urls)}
        cli.crawl(server.url, *FAST, env=env).ok(6)
        assert {name for name, _ in names.questions} == set(NAMED)
        assert not server.whole_log
        assert watch.hits() == 0
    (failure,) = failures(cli).values()
    assert (failure["kind"], failure["tries"]) == ("proxy", 20)


def test_every_spelling_of_a_private_proxy_is_refused(cli: Cli) -> None:
    accepted = []
    for host in LITERAL:
        if "localhost" in unquote(host).lower():
            continue
        try:
            proxies_of(config.build({"proxy": {"urls": [f"http://{host}:3128"]}}, source="test"), {})
        except ConfigError:
            continue
        accepted.append(host)
    assert accepted == []
