"""Crawls by proxies: what they are asked for, which one is, and what happens when they fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness import Cli, deaf_port
from servers.dns import at, serve_names
from servers.pages import chain, page
from servers.proxy import serve_proxy
from servers.secure import certificate
from servers.site import Answer, Request, StaticSite, serve

FAST = ("--rate", "max", "--project", "site")
QUICK = {"ORBWEB_FETCH__BACKOFF_S": "0.01", "ORBWEB_FETCH__CONNECT_TIMEOUT_S": "5", "ORBWEB_FETCH__TIMEOUT_S": "5"}


def by(*proxies: str, allow: bool = True, **more: str) -> dict[str, str]:
    """The environment of a crawl by these proxies."""
    urls, private = json.dumps(proxies), json.dumps(allow)
    return {**QUICK, "ORBWEB_PROXY__URLS": urls, "ORBWEB_PROXY__ALLOW_PRIVATE": private, **more}


def used(cli: Cli, *urls: str) -> list[Any]:
    return [cli.ask("show", "site", url, "--as", "meta", "--json").ok().json["proxy"] for url in urls]


@pytest.mark.parametrize(
    ("scheme", "how"),
    [("http", "CONNECT"), ("socks4", "socks4"), ("socks5", "socks5"), ("socks5h", "socks5")],
)
def test_a_proxy_is_told_the_checked_address_and_no_name(cli: Cli, scheme: str, how: str) -> None:
    with (
        serve(StaticSite(chain(5))) as server,
        serve_proxy() as proxy,
        serve_names({"docs.test": at("127.0.0.1")}) as names,
    ):
        url = f"http://docs.test:{server.port}/"
        done = cli.crawl(url, *FAST, env={**by(proxy.url(scheme)), **names.env}).ok(0)
        assert done.json["visited"] == 6
        assert {(asked.how, asked.target) for asked in proxy.log} == {(how, f"127.0.0.1:{server.port}")}
        assert {hit.host for hit in server.whole_log} == {f"docs.test:{server.port}"}
        assert server.stats["connections"] == len(proxy.log)
        named = f"1 127.0.0.1:{proxy.port}"
        assert used(cli, url, f"{url}3") == [named, named]
        assert f"through proxy {named}" in cli.ask("explain", "site", url).ok().out
        assert cli.ask("explain", "site", url, "--json").ok().json["proxy"] == named
    cli.check("site")


def test_without_a_proxy_there_is_none_to_show(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server, serve_proxy() as proxy:
        env = {name: proxy.url() for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")}
        cli.crawl(server.url, *FAST, env=env).ok(0)
        assert used(cli, server.url) == [None]
        assert "proxy" not in cli.ask("explain", "site", server.url).ok().out
        assert not proxy.connections


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_secure_site(cli: Cli, tmp_path: Path, scheme: str) -> None:
    context, authority = certificate(tmp_path, "docs.test")
    with serve(StaticSite(chain(3)), tls=context) as server, serve_proxy() as proxy:
        pin = ("--resolve", f"docs.test:443:127.0.0.1:{server.port}")
        env = by(proxy.url(scheme), SSL_CERT_FILE=str(authority))
        assert cli.crawl("https://docs.test/", *FAST, *pin, env=env).ok(0).json["visited"] == 4
        assert {asked.target for asked in proxy.log} == {f"127.0.0.1:{server.port}"}


def test_a_secure_site_with_a_bad_certificate_is_not_the_proxys_fault(cli: Cli, tmp_path: Path) -> None:
    context, authority = certificate(tmp_path, "other.test")
    with serve(StaticSite(chain(1)), tls=context) as server, serve_proxy() as proxy:
        pin = ("--resolve", f"docs.test:443:127.0.0.1:{server.port}")
        env = by(proxy.url(), SSL_CERT_FILE=str(authority))
        cli.crawl("https://docs.test/", *FAST, *pin, env=env).ok(6)
        assert [failure["kind"] for failure in cli.ask("failed", "site", "--json").ok().json] == ["tls"]


def test_a_secure_proxy(cli: Cli, tmp_path: Path) -> None:
    context, authority = certificate(tmp_path, "127.0.0.1")
    with serve(StaticSite(chain(3))) as server, serve_proxy(tls=context) as proxy:
        env = by(proxy.url("https"), SSL_CERT_FILE=str(authority))
        assert cli.crawl(server.url, *FAST, env=env).ok(0).json["visited"] == 4
        assert {asked.how for asked in proxy.log} == {"CONNECT"}
        cli.crawl(server.url, "--rate", "max", "--project", "unknown", env=by(proxy.url("https"))).ok(6)
        assert [failure["kind"] for failure in cli.ask("failed", "unknown", "--json").ok().json] == ["proxy"]


def test_each_in_turn(cli: Cli) -> None:
    with (
        serve(StaticSite(chain(12))) as server,
        serve_proxy() as one,
        serve_proxy() as two,
        serve_proxy() as three,
    ):
        cli.crawl(server.url, *FAST, "--workers", 1, env=by(one.url(), two.url("socks5"), three.url())).ok(0)
        found = used(cli, *(f"{server.url}{number}" for number in range(1, 7)))
        assert {str(name)[0] for name in found} == {"1", "2", "3"}
        assert all(proxy.log for proxy in (one, two, three))


def test_one_that_is_dead_is_left_out(cli: Cli) -> None:
    with serve(StaticSite(chain(10))) as server, serve_proxy() as alive, deaf_port() as dead:
        env = by(f"http://127.0.0.1:{dead}", alive.url())
        assert cli.crawl(server.url, *FAST, env=env).ok(0).json["visited"] == 11
        assert set(used(cli, f"{server.url}1", f"{server.url}10")) == {f"2 127.0.0.1:{alive.port}"}


@pytest.mark.parametrize("scheme", ["http", "socks4", "socks5"])
def test_when_all_are_dead_nothing_goes_direct(cli: Cli, scheme: str) -> None:
    with serve(StaticSite(chain(1))) as server, deaf_port() as one, deaf_port() as two:
        env = by(*(f"{scheme}://127.0.0.1:{dead}" for dead in (one, two)))
        cli.crawl(server.url, *FAST, env=env).ok(6)
        assert not server.whole_log
    (failure,) = cli.ask("failed", "site", "--json").ok().json
    assert (failure["kind"], failure["tries"]) == ("proxy", 3)
    assert failure["reason"].startswith(("proxy 1 127.0.0.1:", "proxy 2 127.0.0.1:"))


@pytest.mark.parametrize("status", [403, 407, 502, 503])
def test_one_that_refuses_to_connect(cli: Cli, status: int) -> None:
    with serve(StaticSite(chain(1))) as server, serve_proxy(refuse=status) as proxy:
        cli.crawl(server.url, *FAST, env=by(proxy.url())).ok(6)
        assert len(proxy.log) == 3
        assert not server.whole_log
    (failure,) = cli.ask("failed", "site", "--json").ok().json
    assert failure["kind"] == "proxy"
    assert str(status) in failure["reason"]


def test_a_user_and_password_come_from_the_environment(cli: Cli) -> None:
    """Two users of one proxy are two proxies."""
    with serve(StaticSite(chain(9))) as server, serve_proxy() as proxy:
        secrets = {"ONE": proxy.url("http", "ann:p%40ss"), "TWO": proxy.url("socks5", "bob:word")}
        cli.crawl(server.url, *FAST, env=by("$ONE", "$TWO", **secrets)).ok(0)
        assert {(asked.how, asked.user) for asked in proxy.log} == {
            ("CONNECT", "ann:p@ss"),
            ("socks5", "bob:word"),
        }
        assert set(used(cli, *(f"{server.url}{number}" for number in range(1, 10)))) == {
            f"1 127.0.0.1:{proxy.port}",
            f"2 127.0.0.1:{proxy.port}",
        }


def test_the_headers_of_the_user_are_not_for_the_proxy(cli: Cli) -> None:
    with serve(StaticSite(chain(2))) as server, serve_proxy() as proxy:
        env = by(proxy.url(), TOKEN="s3cret")
        cli.crawl(
            server.url, *FAST, "--header", "Authorization: $TOKEN", "--header", "X-Plain: s3cret", env=env
        ).ok(0)
        assert proxy.log
        assert not any("s3cret" in asked.head for asked in proxy.log)


def test_what_a_proxy_says_is_no_answer(cli: Cli) -> None:
    """The head of its answer to CONNECT is not the site's, and its Set-Cookie neither."""
    cookies: list[str] = []

    def start(request: Request) -> Answer:
        cookies.append(request.headers.get("cookie", ""))
        return page("start")

    with serve(StaticSite({"/": start})) as server, serve_proxy() as proxy:
        cli.crawl(server.url, *FAST, env=by(proxy.url(), ORBWEB_FETCH__COOKIES="keep")).ok(0)
    assert cookies == [""]


# Addresses.


def test_what_may_not_be_asked_directly_may_not_be_asked_by_a_proxy(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as private, serve_proxy() as proxy:
        links = (f"{private.url}1", f"http://localhost:{private.port}/1", "http://169.254.169.254/latest", "/ok")
        with serve(StaticSite({"/": page("start", *links), "/ok": page("ok")})) as server:
            cli.crawl(server.url, *FAST, "--external-hops", 1, env=by(proxy.url())).ok(3)
            assert {asked.target for asked in proxy.log} == {f"127.0.0.1:{server.port}"}
        assert not private.whole_log
    kinds = [failure["kind"] for failure in cli.ask("failed", "site", "--json").ok().json]
    assert kinds == ["blocked_address"] * 3


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]"])
def test_a_proxy_at_a_private_address_is_refused(cli: Cli, host: str) -> None:
    done = cli.crawl("http://example.org/", *FAST, env=by(f"http://{host}:3128", allow=False))
    assert done.code == 2
    assert "proxy.urls: number 1 is at" in done.err
    assert "proxy.allow_private" in done.err


def test_a_proxy_whose_name_leads_to_a_private_address_is_refused(cli: Cli) -> None:
    with (
        serve(StaticSite(chain(1))) as server,
        serve_proxy() as proxy,
        serve_names({"proxy.test": at("127.0.0.1")}) as names,
    ):
        named = f"http://proxy.test:{proxy.port}"
        cli.crawl(server.url, *FAST, env={**by(named, allow=False), **names.env}).ok(6)
        assert not proxy.connections
        (failure,) = cli.ask("failed", "site", "--json").ok().json
        assert failure["kind"] == "proxy"
        assert (
            "is at 127.0.0.1, which is not public (loopback); proxy.allow_private allows it" in failure["reason"]
        )
        cli.crawl("--project", "site", "--new-run", env={**by(named), **names.env}).ok(0)
        assert used(cli, server.url) == [f"1 proxy.test:{proxy.port}"]


def test_a_proxy_whose_name_is_unknown(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server, serve_names({}) as names:
        cli.crawl(server.url, *FAST, env={**by("http://proxy.test:1"), **names.env}).ok(6)
        assert not server.whole_log
    (failure,) = cli.ask("failed", "site", "--json").ok().json
    assert failure["kind"] == "proxy"
    assert "no such host name" in failure["reason"]


def test_the_setting_sticks_and_the_secret_does_not(cli: Cli) -> None:
    with serve(StaticSite(chain(2))) as server, serve_proxy() as proxy:
        secret = proxy.url("http", "ann:s3cret")
        cli.crawl(server.url, *FAST, "--budget", 1, env=by("$ONE", ONE=secret)).ok(4)
        refused = cli.resume("site")
        assert refused.code == 2
        assert "the environment variable ONE is not set" in refused.err
        cli.crawl("--project", "site", "--budget", "none", env={"ONE": secret}).ok(0)
        assert {asked.user for asked in proxy.log} == {"ann:s3cret"}
