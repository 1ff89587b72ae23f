"""S1: a public page never leads to a private address. Whatever the spelling and the way there, the canary hears
nothing."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

import pytest

from harness import Cli
from security.addresses import LITERAL, LOOPBACK, NAMED, canary
from servers.dns import at, serve_names
from servers.pages import page
from servers.site import Answer, Request, Server, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site", "--workers", 32)
QUICK = {"ORBWEB_FETCH__RETRIES": "0", "ORBWEB_FETCH__CONNECT_TIMEOUT_S": "5", "ORBWEB_FETCH__TIMEOUT_S": "5"}
HOSTS = (*LITERAL, *NAMED)


def in_ascii(url: str) -> str:
    """As a header can hold it: other characters are escaped, which browsers undo even in a host."""
    return "".join(character if character.isascii() else quote(character) for character in url)


def title(url: str) -> str:
    """Titles are kept as they are, so a password must not be in them; without one the pages would be one page."""
    return url.rpartition("@")[2]


# How a page or a server leads to a URL.
WAYS = {
    "link": lambda url: html(f'<title>{title(url)}</title><a href="{escape(url)}">x</a>'),
    "area": lambda url: html(f'<title>{title(url)}</title><map><area href="{escape(url)}"></map>'),
    "iframe": lambda url: html(f'<title>{title(url)}</title><iframe src="{escape(url)}"></iframe>'),
    "canonical": lambda url: html(f'<title>{title(url)}</title><link rel="canonical" href="{escape(url)}">'),
    "next": lambda url: html(f'<title>{title(url)}</title><link rel="next" href="{escape(url)}">'),
    "refresh": lambda url: html(
        f'<title>{title(url)}</title><meta http-equiv="refresh" content="0; url={escape(url)}">'
    ),
    "base": lambda url: html(f'<title>{title(url)}</title><base href="{escape(url)}"><a href="x">x</a>'),
    "redirect": lambda url: redirect(in_ascii(url), 302),
    "moved": lambda url: redirect(in_ascii(url), 308),
}

# Recorded and never asked for, so silence proves nothing yet; it stays in the table for the day it is followed.
NOT_FOLLOWED = ("canonical",)


def answers(port: int, *, hosts: tuple[str, ...] = HOSTS) -> dict[str, Answer]:
    """A start page, and a page for each way and host that leads to the canary by it."""
    pages = {
        f"/{way}/{number}": lead(f"http://{host}:{port}/{way}/{number}/")
        for way, lead in WAYS.items()
        for number, host in enumerate(hosts)
    }
    return {"/": page("start", *pages), **pages}


def failures(cli: Cli) -> dict[str, dict[str, str]]:
    return {failure["url"]: failure for failure in cli.ask("failed", "site", "--json").ok().json}


def crawl_all(cli: Cli, server: Server, *options: object, env: dict[str, str]) -> None:
    cli.crawl(server.url, *FAST, "--external-hops", 1, *options, env={**QUICK, **env}).ok(3)


def test_no_spelling_gets_through_by_any_way(cli: Cli) -> None:
    with canary() as watch, serve_names(NAMED) as names, serve(StaticSite(answers(watch.port))) as server:
        crawl_all(cli, server, env=names.env)
        assert watch.hits() == 0
    failed = failures(cli)
    assert {failure["kind"] for failure in failed.values()} == {"blocked_address"}
    ways = {way: sum(f"/{way}/" in url for url in failed) for way in WAYS}
    assert len(HOSTS) >= 60
    assert ways == {way: 0 if way in NOT_FOLLOWED else len(HOSTS) for way in WAYS}
    shown = "".join(failure["reason"] for failure in failed.values())
    for word in (
        "loopback",
        "private",
        "link-local",
        "cloud metadata",
        "multicast",
        "site-local",
        "--allow-private",
    ):
        assert word in shown
    assert "secret" not in cli.workspace.joinpath("orbweb.db").read_bytes().decode("latin-1")
    cli.check("site")


def test_every_way_is_followed_when_it_is_allowed(cli: Cli) -> None:
    """The same pages with consent for everything, towards a server that answers: the test above can fail."""
    hosts = ("127.0.0.1", "0", "localhost", "[::ffff:127.0.0.1]", "loopback.test")
    with serve(StaticSite({})) as target, serve_names(NAMED) as names:
        with serve(StaticSite(answers(target.port, hosts=hosts))) as server:
            crawl_all(cli, server, "--allow-private", env=names.env)
        asked = {hit.path.rstrip("/x") for hit in target.log}
    followed = [way for way in WAYS if way not in NOT_FOLLOWED]
    assert asked == {f"/{way}/{number}" for way in followed for number in range(len(hosts))}


def test_the_canary_hears_a_connection(cli: Cli) -> None:
    with canary() as watch, serve(StaticSite({"/": page("start", f"http://127.0.0.2:{watch.port}/")})) as server:
        env = {"ORBWEB_FETCH__TIMEOUT_S": "0.5", "ORBWEB_ROBOTS__OBEY": "false"}
        crawl_all(cli, server, "--allow-private", env=env)
        assert watch.hits() == 1


def test_robots_txt_does_not_lead_there_and_a_pinned_host_is_still_public(cli: Cli) -> None:
    """Hosts of --resolve may be asked; what their robots.txt and their pages lead to may not."""
    with canary() as watch, serve_names(NAMED) as names:

        def answer(request: Request) -> Answer:
            number = int(request.host.partition(".")[0].removeprefix("h"))
            return redirect(f"http://{in_ascii(HOSTS[number])}:{watch.port}/robots.txt")

        hosts = [f"h{number}.example" for number in range(len(HOSTS))]
        start = page("start", *(f"http://{host}/" for host in hosts))

        def site(request: Request) -> Answer:
            return text("") if request.host.startswith("127.") else answer(request)

        with serve(StaticSite({"/robots.txt": site, "/": start})) as server:
            pins = [word for host in hosts for word in ("--resolve", f"{host}:80:127.0.0.1:{server.port}")]
            crawl_all(cli, server, *pins, env=names.env)
            asked = {hit.host for hit in server.whole_log}
        assert watch.hits() == 0
    assert set(hosts) <= asked
    failed = failures(cli)
    assert {failure["kind"] for failure in failed.values()} == {"blocked_address"}
    assert len(failed) == len(HOSTS)
    cli.check("site")


def test_consent_is_for_a_host_and_port(cli: Cli) -> None:
    """The base URL's own host and port, and nothing beside them: not its other ports, not its other names."""
    with canary() as watch, serve(StaticSite({})) as other:
        start = page(
            "start",
            "/inside",
            f"http://127.0.0.1:{watch.port}/port",
            f"http://localhost:{other.port}/name",
            f"{other.url}elsewhere",
        )
        with serve(StaticSite({"/": start, "/inside": page("inside")})) as server:
            done = cli.crawl(server.url, *FAST, "--external-hops", 2, env=QUICK).ok(3)
            failed = failures(cli)
            assert done.json["visited"] == 2
            assert len(failed) == 3
            assert {failure["kind"] for failure in failed.values()} == {"blocked_address"}
            assert {failure["tries"] for failure in failed.values()} == {1}
            assert not other.whole_log
            assert watch.hits() == 0
            reason = failed[f"http://localhost:{other.port}/name"]["reason"]
            assert f"localhost:{other.port} is at 127.0.0.1, which is not public (loopback)" in reason
            reason = failed[f"http://127.0.0.1:{watch.port}/port"]["reason"]
            assert reason.startswith("127.0.0.1 is not public (loopback)")


def test_a_scope_moved_by_a_redirect_gives_no_consent(cli: Cli) -> None:
    with serve(StaticSite({"/": page("private")})) as private:
        with serve(StaticSite({"/": redirect(private.url)})) as server:
            done = cli.crawl(server.url, *FAST, env=QUICK).ok(6)
        assert done.json["visited"] == 1
        assert [failure["kind"] for failure in failures(cli).values()] == ["blocked_address"]
        assert not private.whole_log


def test_consent_of_a_resumed_run(cli: Cli) -> None:
    with serve(StaticSite({"/": page("start", "/a", "/b"), "/a": page("a"), "/b": page("b")})) as server:
        cli.crawl(server.url, *FAST, "--budget", 1).ok(4)
        assert cli.resume("site", "--budget", 1).ok(4).json["visited"] == 2
        assert cli.crawl("--project", "site", "--budget", "none").ok(0).json["visited"] == 3


def test_allow_private_sticks_and_can_be_taken_back(cli: Cli) -> None:
    with serve(StaticSite({"/x": page("x")})) as other:
        with serve(StaticSite({"/": page("start", f"{other.url}x")})) as server:
            cli.crawl(server.url, *FAST, "--external-hops", 1, "--allow-private").ok(0)
            cli.crawl("--project", "site", "--new-run").ok(0)
            cli.crawl("--project", "site", "--new-run", "--no-allow-private").ok(3)
        assert [hit.path for hit in other.log] == ["/x", "/x"]


def test_a_base_url_in_an_odd_spelling_is_consent_for_where_it_leads(cli: Cli) -> None:
    with serve(StaticSite({"/": page("start", "/a"), "/a": page("a")})) as server, serve_names(NAMED) as names:
        for number, host in enumerate(("2130706433", "localhost", "LOCALHOST.", "[::ffff:127.0.0.1]", "any.test")):
            url = f"http://{host}:{server.port}/"
            done = cli.crawl(url, "--rate", "max", "--project", f"p{number}", env=names.env)
            assert done.ok(0).json["visited"] == 2, host


@pytest.mark.parametrize("target", ["127.0.0.1", "localhost", "0x7f.1", "loopback.test", "LocalHost"])
def test_resolve_asks_the_address_it_names(cli: Cli, target: str) -> None:
    site = StaticSite({"/": page("start", "/a"), "/a": page("a")})
    with serve(site) as server, serve_names({"loopback.test": at("127.0.0.1")}) as names:
        pin = f"Docs.Example.org:80:{target}:{server.port}"
        done = cli.crawl("http://docs.example.org/", *FAST, "--resolve", pin, env=names.env).ok(0)
        assert done.json["visited"] == 2
        assert {hit.host for hit in server.whole_log} == {"docs.example.org"}
        assert not [name for name, _ in names.questions if "example" in name]


def test_a_pin_that_names_no_host_is_refused_at_the_start(cli: Cli) -> None:
    done = cli.crawl("http://docs.example.org/", *FAST, "--resolve", "a b:80:127.0.0.1")
    assert done.code == 2
    assert "--resolve 'a b:80:127.0.0.1': a b is not a host" in done.err


def test_only_http_and_https(cli: Cli) -> None:
    others = ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:70/", "dict://localhost/", "data:,x"]
    redirects = {f"/{number}": redirect(url) for number, url in enumerate(others)}
    with serve(StaticSite({"/": page("start", *others, *redirects), **redirects})) as server:
        done = cli.crawl(server.url, *FAST, "--external-hops", 5).ok(3)
        assert (done.json["discovered"], done.json["visited"]) == (6, 1)
    assert {failure["kind"] for failure in failures(cli).values()} == {"bad_redirect"}


@pytest.mark.parametrize("options", [(), ("--allow-private",)], ids=["refused", "heard if allowed"])
def test_sitemaps_do_not_lead_there(cli: Cli, options: tuple[str, ...]) -> None:
    """Neither as files that robots.txt names, nor by redirects of such files, nor by what they list."""
    hosts = ("127.0.0.1", "127.0.0.2", "loopback.test") if options else HOSTS
    env = {**QUICK, "ORBWEB_FETCH__TIMEOUT_S": "0.5", "ORBWEB_ROBOTS__RETRY_FOR_S": "0"}
    with canary() as watch, serve_names(NAMED) as names:
        away = [in_ascii(f"http://{host}:{watch.port}/{number}") for number, host in enumerate(hosts)]
        listed = "".join(f"<url><loc>{escape(url)}</loc></url>" for url in away)
        files = {f"/s{number}.xml": redirect(url) for number, url in enumerate(away)}

        def robots(_request: Request) -> Answer:
            own = [f"{server.url}sitemap.xml", *(f"{server.url}{name[1:]}" for name in files)]
            return text("".join(f"Sitemap: {url}\n" for url in (*own, *away)))

        urlset = Answer(200, (("Content-Type", "application/xml"),), f"<urlset>{listed}</urlset>".encode())
        site = {"/": page("start", "/a"), "/a": page("a"), "/robots.txt": robots, "/sitemap.xml": urlset, **files}
        with serve(StaticSite(site)) as server:
            done = cli.crawl(server.url, *FAST, "--external-hops", 1, *options, env={**env, **names.env}).ok(0, 3)
            assert {"/sitemap.xml", "/s0.xml"} <= {hit.path for hit in server.whole_log}
        assert bool(watch.hits()) == bool(options)
    assert done.json["visited"] == 2
    if not options:
        assert {failure["kind"] for failure in failures(cli).values()} == {"blocked_address"}


def test_loopback_spellings_are_what_they_claim(cli: Cli) -> None:
    """The table is worth something only if a browser would go where it says."""
    from orbweb import urls

    hosts = [urls.target(f"http://{host}/") for host in LOOPBACK]
    assert sum(found is not None for found in hosts) >= len(LOOPBACK) - 2
    assert sum(urls.split(found.url).host == "127.0.0.1" for found in hosts if found is not None) >= 18
