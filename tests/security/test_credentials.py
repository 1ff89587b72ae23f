"""S3: headers, passwords and cookies go to the origins they are for, wherever redirects, links and files lead."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import pytest

import orbweb
from harness import Cli
from servers.pages import page
from servers.secure import certificate
from servers.site import Answer, Request, Server, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site", "--workers", 8)
TOKEN, PASSWORD, COOKIE, PLAIN = "t0ken-canary", "passw0rd-canary", "c00kie-canary", "pl4in-canary"
CANARIES = (TOKEN, PASSWORD, COOKIE, PLAIN, "cGFzc3cwcmQ")
SECRETS = {"TOKEN": TOKEN, "AUTH": f"ann:{PASSWORD}"}
GIVEN = ("--header", "X-Token: $TOKEN", "--header", f"X-Plain: {PLAIN}")
ASKED = {**SECRETS, "ORBWEB_FETCH__AUTH": "$AUTH", "ORBWEB_FETCH__COOKIES": "keep"}

Lead = Callable[[str], Answer]


class Echo:
    """A site that keeps the headers of every request; it sets a cookie with every answer."""

    def __init__(self, answers: dict[str, Answer | Callable[[Request], Answer]], cookie: str = "") -> None:
        self._site = StaticSite(answers, default=page("any"))
        self._cookie = cookie
        self.seen: list[tuple[str, str]] = []

    def answer(self, request: Request) -> Answer:
        self.seen.append(
            (request.target, "\n".join(f"{name}: {value}" for name, value in request.headers.items()))
        )
        found = self._site.answer(request)
        headers = (*found.headers, ("Set-Cookie", self._cookie)) if self._cookie else found.headers
        return Answer(found.status, headers, found.body)

    def paths(self) -> set[str]:
        return {target for target, _ in self.seen}

    def leaked(self) -> list[tuple[str, str]]:
        return [(target, canary) for target, said in self.seen for canary in CANARIES if canary in said]


def html_page(inner: str) -> Answer:
    return html(f"<!doctype html><title>{escape(inner)}</title>{inner}")


# A page of the user's site that leads to a URL of another origin.
WAYS: dict[str, Lead] = {
    "301": lambda url: redirect(url, 301),
    "302": lambda url: redirect(url, 302),
    "303": lambda url: redirect(url, 303),
    "307": lambda url: redirect(url, 307),
    "308": lambda url: redirect(url, 308),
    "relative": lambda url: redirect(url.partition(":")[2], 302),
    "userinfo": lambda url: redirect(url.replace("//", "//eve:evil@"), 302),
    "link": lambda url: html_page(f'<a href="{url}">x</a>'),
    "refresh": lambda url: html_page(f'<meta http-equiv="refresh" content="0; url={url}">'),
    "iframe": lambda url: html_page(f'<iframe src="{url}"></iframe>'),
    "image": lambda url: html_page(f'<img src="{url}">'),
    "script": lambda url: html_page(f'<script src="{url}"></script>'),
    "style": lambda url: html_page(f"<style>body {{ background: url({url}) }}</style>"),
    "chain": lambda url: redirect(url.replace("/chain", "/back"), 302),
}


@contextlib.contextmanager
def home(away: str, *, robots: Callable[[Request], Answer] | None = None) -> Iterator[tuple[Server, Echo]]:
    """The user's site: a page for each way to the other origin."""
    answers: dict[str, Answer | Callable[[Request], Answer]] = {
        f"/{way}": lead(f"{away}/{way}") for way, lead in WAYS.items()
    }
    answers["/"] = page("start", *answers)
    answers["/robots.txt"] = robots or text("")
    answers["/sitemap.xml"] = text("", 404)
    echo = Echo(answers, f"session={COOKIE}; Path=/; Domain=127.0.0.1")
    with serve(echo) as server:
        yield server, echo


def crawl(cli: Cli, url: str, *options: object, **env: str) -> None:
    wide = ("--external-hops", 1, "--allow-private", "--resources", "check")
    cli.crawl(url, *FAST, *wide, *GIVEN, *options, env={**ASKED, **env}).ok(0)


@pytest.mark.parametrize("other", ["port", "name"])
def test_another_host_or_port_sees_nothing(cli: Cli, other: str) -> None:
    """Fourteen ways, and the robots.txt of the other origin."""
    stranger = Echo({"/robots.txt": text("")})
    with serve(stranger) as away:
        host = "127.0.0.1" if other == "port" else "localhost"
        with home(f"http://{host}:{away.port}") as (server, own):
            crawl(cli, server.url)
    assert stranger.paths() >= {f"/{way}" for way in WAYS if way != "chain"} | {"/back", "/robots.txt"}
    assert stranger.leaked() == []
    assert not any("authorization" in said or "cookie" in said for _, said in stranger.seen)
    for canary in (TOKEN, PLAIN, "authorization: Basic YW5uOnBhc3N3MHJkLWNhbmFyeQ=="):
        assert all(canary in said for _, said in own.seen), canary
    assert sum(COOKIE in said for _, said in own.seen) >= len(WAYS)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_change_of_scheme_is_another_origin(cli: Cli, tmp_path: Path, scheme: str) -> None:
    """The same host on its default ports: up to https, and down to http."""
    context, authority = certificate(tmp_path, "docs.test")
    ways = {f"/{way}": lead for way, lead in WAYS.items()}
    other = "http" if scheme == "https" else "https"
    answers: dict[str, Answer | Callable[[Request], Answer]] = {
        path: lead(f"{other}://docs.test/away{path}") for path, lead in ways.items()
    }
    answers |= {"/": page("start", *ways), "/robots.txt": text(""), "/sitemap.xml": text("", 404)}
    own, stranger = Echo(answers, f"session={COOKIE}; Path=/"), Echo({"/robots.txt": text("")})
    plain, safe = (own, stranger) if scheme == "http" else (stranger, own)
    with serve(plain) as http, serve(safe, tls=context) as https:
        pins = [f"docs.test:80:127.0.0.1:{http.port}", f"docs.test:443:127.0.0.1:{https.port}"]
        options = [word for pin in pins for word in ("--resolve", pin)]
        crawl(cli, f"{scheme}://docs.test/", *options, SSL_CERT_FILE=str(authority))
    assert len(stranger.paths()) >= len(WAYS)
    assert stranger.leaked() == []
    assert all(TOKEN in said for _, said in own.seen)


def test_files_beside_the_pages_lead_nowhere_either(cli: Cli) -> None:
    """A robots.txt that redirects, the sitemaps that it names, and those that an index lists."""
    stranger = Echo({})
    with serve(stranger) as away:
        index = (
            '<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            f"<sitemap><loc>{away.url}listed.xml</loc></sitemap></sitemapindex>"
        )
        own = Echo(
            {
                "/": page("start", "/a"),
                "/robots.txt": text(f"Sitemap: {away.url}named.xml\nSitemap: /index.xml\nSitemap: /moved.xml"),
                "/index.xml": Answer(200, (("Content-Type", "application/xml"),), index.encode()),
                "/moved.xml": redirect(f"{away.url}moved.xml"),
            },
            f"session={COOKIE}; Path=/",
        )
        with serve(own) as server:
            crawl(cli, server.url)
        assert stranger.paths() >= {"/named.xml", "/moved.xml", "/robots.txt"}
        beside = Echo({"/robots.txt": redirect(f"{away.url}robots-moved.txt")}, f"session={COOKIE}; Path=/")
        with serve(beside) as server:
            cli.crawl(server.url, "--rate", "max", "--project", "moved", "--allow-private", *GIVEN, env=ASKED).ok(
                0
            )
        assert "/robots-moved.txt" in stranger.paths()
    assert stranger.leaked() == []
    assert all(TOKEN in said for _, said in [*own.seen, *beside.seen])


def test_where_a_base_url_redirects_to_is_not_what_the_user_named(cli: Cli) -> None:
    """The scope moves, the secrets do not."""
    moved = Echo({"/": page("start", "/a", "/b"), "/robots.txt": text("")})
    with serve(moved) as away, serve(Echo({"/": redirect(away.url)}, f"session={COOKIE}; Path=/")) as server:
        crawl(cli, server.url)
    assert moved.paths() >= {"/", "/a", "/b"}
    assert moved.leaked() == []


def test_cookies_of_another_origin_go_back_to_it_alone(cli: Cli) -> None:
    away = Echo({"/robots.txt": text("")}, "theirs=their-cookie; Path=/")
    with serve(away) as other:
        own = Echo({"/": page("start", *(f"{other.url}{n}" for n in range(4)), "/a"), "/robots.txt": text("")})
        with serve(own) as server:
            crawl(cli, server.url, "--workers", 1)
    assert any("their-cookie" in said for _, said in away.seen)
    assert not any("their-cookie" in said for _, said in own.seen)


def test_cookies_are_off_unless_asked_for(cli: Cli) -> None:
    own = Echo({"/": page("start", "/a"), "/robots.txt": text("")}, f"session={COOKIE}; Path=/")
    with serve(own) as server:
        cli.crawl(server.url, *FAST).ok(0)
    assert not any("cookie" in said for _, said in own.seen)


def test_cookies_last_for_one_crawl_and_one_project(cli: Cli) -> None:
    env = {"ORBWEB_FETCH__COOKIES": "keep"}
    own = Echo({"/": page("start", "/a"), "/a": page("a")}, f"session={COOKIE}; Path=/")
    with serve(own) as server:
        cli.crawl(server.url, *FAST, env=env).ok(0)
        assert COOKIE in own.seen[-1][1]
        for again in (("--new-run", *FAST), ("--rate", "max", "--project", "other")):
            own.seen.clear()
            cli.crawl(server.url, "--workers", 1, *again, env={**env, "ORBWEB_ROBOTS__CACHE_S": "0"}).ok(0)
            assert COOKIE not in own.seen[0][1]
            assert COOKIE in own.seen[-1][1]


def test_a_cookie_of_the_user_and_those_of_the_site_are_one_header(cli: Cli) -> None:
    own = Echo({"/": page("start", "/a"), "/robots.txt": text("")}, "theirs=1; Path=/")
    env = {"ORBWEB_FETCH__COOKIES": "keep", "MINE": "mine=2"}
    with serve(own) as server:
        cli.crawl(server.url, *FAST, "--header", "Cookie: $MINE", env=env).ok(0)
    assert "cookie: mine=2; theirs=1" in dict(own.seen)["/a"]


def test_headers_stick_and_can_be_taken_back(cli: Cli) -> None:
    own = Echo({"/": page("start"), "/robots.txt": text("")})
    with serve(own) as server:
        cli.crawl(server.url, *FAST, "--header", "X-One: 1", "--header", "x-two: 2").ok(0)
        cli.crawl("--project", "site", "--new-run", "--header", "X-TWO: 3").ok(0)
        cli.crawl("--project", "site", "--new-run", "--header", "X-One:").ok(0)
    heads = [said for target, said in own.seen if target == "/"]
    assert [("x-one: 1" in said, "x-two: 2" in said, "x-two: 3" in said) for said in heads] == [
        (True, True, False),
        (True, False, True),
        (False, False, True),
    ]


def test_a_header_of_ours_may_be_replaced(cli: Cli) -> None:
    own = Echo({"/": page("start"), "/robots.txt": text("")})
    with serve(own) as server:
        cli.crawl(server.url, *FAST, "--header", "Accept: text/x-mine", "--header", "Accept-Language: de").ok(0)
    said = dict(own.seen)["/"]
    assert "accept: text/x-mine" in said
    assert "accept-language: de" in said


def test_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_TOKEN", TOKEN)
    own = Echo({"/": page("start"), "/robots.txt": text("")})
    with serve(own) as server:
        headers = {"X-Token": "$SITE_TOKEN", "X-Plain": PLAIN}
        orbweb.crawl(server.url, workspace=tmp_path / "w", rate="max", headers=headers)
    assert TOKEN in dict(own.seen)["/"]
    assert PLAIN in dict(own.seen)["/"]


@pytest.mark.parametrize("text", ["no colon", ": value", ""])
def test_a_header_without_a_name(cli: Cli, text: str) -> None:
    done = cli.crawl("http://127.0.0.1:9/", "--header", text)
    assert done.code == 2
    assert "--header number 1 is not 'NAME: VALUE'" in done.err
