"""S11: a secret is in no file of the workspace and in no word that is printed, whatever happens to it."""

from __future__ import annotations

import base64
import logging
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

import orbweb
from harness import Cli
from orbweb.cli import commands
from servers.pages import page
from servers.proxy import serve_proxy
from servers.site import Answer, Request, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site", "--external-hops", 1)
CANARY = "can4ry-in-the-"
REPORTS = (
    ("status", "site"), ("status",), ("runs", "site"), ("queue", "site"), ("pages", "site"), ("failed", "site"),
    ("manifest", "site"), ("doctor",),
)  # fmt: skip


def canary(name: str) -> str:
    return CANARY + name


def spelled(secret: str) -> tuple[bytes, ...]:
    """As it stands, and as basic authentication would spell it at any offset."""
    coded = (base64.b64encode(b"x" * offset + secret.encode())[4:-4] for offset in range(3))
    return (secret.encode(), *coded)


def files(workspace: Path, *, bodies: bool = True) -> bytes:
    """Every file of the workspace, and every stored body as it was before it was packed."""
    found = [path.read_bytes() for path in workspace.rglob("*") if path.is_file()]
    if bodies and (workspace / "orbweb.db").exists():
        with closing(sqlite3.connect(workspace / "orbweb.db")) as db:
            kept = [sha256.hex() for (sha256,) in db.execute("SELECT sha256 FROM bodies")]
        found += [orbweb.open(workspace).body(sha256) for sha256 in kept]
    return b"\n".join(found)


def everything_said(cli: Cli, urls: Iterable[str]) -> str:
    """What every command that reports prints, with and without --json. In this process, for there are many."""
    about = [
        (verb, "site", url, *more) for url in urls for verb, *more in (("explain",), ("show", "--as", "meta"))
    ]
    said = []
    for words in (*REPORTS, *about):
        for more in ((), ("--json",)):
            done = CliRunner().invoke(commands.app, [*words, *more, "--workspace", str(cli.workspace)])
            assert done.exit_code in (0, 3), done.output
            said.append(done.output)
    return "\n".join(said)


def assert_silent(kept: bytes, said: str) -> None:
    whole = kept + said.encode()
    assert CANARY.encode() not in whole
    for name in ("header", "auth", "proxy", "cookie"):
        assert not [word for word in spelled(canary(name)) if word in whole], name


SECRETS = {
    "SITE_TOKEN": canary("header"),
    "SITE_AUTH": f"ann:{canary('auth')}",
    "SITE_COOKIE": f"session={canary('cookie')}",
    "ORBWEB_FETCH__COOKIES": "keep",
    "ORBWEB_FETCH__RETRIES": "0",
    "ORBWEB_FETCH__BACKOFF_S": "0.01",
}
CONFIG = """\
fetch:
  auth: $SITE_AUTH
  headers: {X-Token: $SITE_TOKEN, Cookie: $SITE_COOKIE}
proxy:
  urls: [$PROXY_ONE, $PROXY_TWO]
  allow_private: true
"""


def secretive(answers: dict[str, Answer | Callable[[Request], Answer]]) -> StaticSite:
    """A site that sets a secret cookie with every answer."""

    def with_cookie(answer: Answer) -> Answer:
        return Answer(answer.status, (*answer.headers, ("Set-Cookie", f"a={canary('set')}; Path=/")), answer.body)

    return StaticSite({path: with_cookie(a) if isinstance(a, Answer) else a for path, a in answers.items()})


def test_what_the_user_gives_and_the_server_sets(cli: Cli, tmp_path: Path) -> None:
    """Headers, authentication, cookies, proxies with passwords, of which one refuses: all used, none kept."""
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    seen: list[str] = []

    def heard(request: Request) -> Answer:
        seen.extend(request.headers.values())
        return page("a")

    site = secretive({"/": page("start", "/a", "/gone", "/loop"), "/a": heard, "/loop": redirect("/loop?")})
    with serve(site) as server, serve_proxy() as proxy, serve_proxy(refuse=407) as refusing:
        env = {
            **SECRETS,
            "PROXY_ONE": proxy.url("http", f"ann:{canary('proxy')}"),
            "PROXY_TWO": refusing.url("http", f"bob:{canary('proxy')}"),
            "ORBWEB_FETCH__RETRIES": "2",
        }
        done = cli.crawl(server.url, *FAST, "--config", config, env=env).ok(3)
        assert canary("header") in seen
        assert any(canary("set") in value for value in seen)
        assert {asked.user for asked in proxy.log} == {f"ann:{canary('proxy')}"}
        assert refusing.log
        urls = [f"{server.url}{path}" for path in ("", "a", "gone", "loop")]
        said = done.out + done.err + everything_said(cli, urls)
    assert "through proxy 1 127.0.0.1:" in said
    assert_silent(files(cli.workspace), said)


def test_urls_with_passwords(cli: Cli) -> None:
    """In links, redirects, sitemaps and robots.txt. Bodies are kept as they came, so these are left out."""
    secret = f"ann:{canary('url')}@"

    def site(request: Request) -> Answer:
        host = request.host
        owned = f"http://{secret}{host}"
        sitemap = f"<urlset><url><loc>{owned}/listed</loc></url><url><loc>{owned}/gone</loc></url></urlset>"
        answers = {
            "/": html(
                f'<title>start</title><link rel="canonical" href="{owned}/"><a href="{owned}/linked">x</a>'
                f'<a href="/refresh">x</a><a href="/moved">x</a><a href="/nowhere">x</a>'
                f'<a href="http://{secret}b c/">x</a><a href="ftp://{secret}{host}/">x</a>'
                f'<img src="{owned}/image"><a href="/based">x</a>'
            ),
            "/refresh": html(f'<title>r</title><meta http-equiv="refresh" content="0; url={owned}/refreshed">'),
            "/based": html(f'<title>b</title><base href="{owned}/base/"><a href="below">x</a>'),
            "/moved": redirect(f"{owned}/target", 302),
            "/nowhere": redirect(f"ftp://{secret}{host}/", 302),
            "/robots.txt": text(f"Sitemap: {owned}/map.xml\nSitemap: {owned}/no-map.xml\nDisallow: /image"),
            "/map.xml": Answer(200, (("Content-Type", "application/xml"),), sitemap.encode()),
            "/sitemap.xml": redirect(f"{owned}/elsewhere.xml"),
            "/gone": html("gone", 404),
            "/no-map.xml": html("gone", 404),
        }
        return answers.get(request.path) or page(request.path)

    class Site:
        answer = staticmethod(site)

    with serve(Site()) as server:
        done = cli.crawl(server.url, *FAST, "--resources", "check").ok(3)
        paths = {hit.path for hit in server.whole_log}
        assert paths >= {
            "/linked",
            "/listed",
            "/refreshed",
            "/target",
            "/map.xml",
            "/no-map.xml",
            "/elsewhere.xml",
        }
        urls = [f"{server.url}{path}" for path in ("", "linked", "moved", "nowhere", "listed", "gone", "image")]
        urls += [f"http://{secret}127.0.0.1:{server.port}/{path}" for path in ("linked", "never-found")]
        said = done.out + done.err + everything_said(cli, urls)
        refused = cli.crawl(f"http://{secret}127.0.0.1:{server.port}/", "--project", "other")
        said += refused.out + refused.err
    kept = b"".join(
        path.read_bytes() for path in cli.workspace.rglob("*") if path.is_file() and "store" not in path.parts
    )
    assert CANARY not in said
    assert CANARY.encode() not in kept


WRONG = {
    "a secret in the file": ("fetch: {auth: 'ann:SECRET'}", {}),
    "a header in the file": ("fetch: {headers: {Authorization: SECRET}}", {}),
    "a proxy in the file": ("proxy: {urls: ['http://ann:SECRET@proxy.example:1']}", {}),
    "a line that is no YAML": ("fetch:\n  auth: ann: SECRET: x", {}),
    "a tag": ("fetch: {auth: !SECRET x}", {}),
    "a list for a section": ("fetch: [SECRET]", {}),
    "a wrong pair": ("fetch: {auth: $WRONG}", {"WRONG": "SECRET"}),
    "a header of two lines": ("fetch: {headers: {X-A: $WRONG}}", {"WRONG": "SECRET\nX: y"}),
    "a wrong proxy": ("proxy: {urls: [$WRONG]}", {"WRONG": "http://ann:SECRET@proxy.example:port"}),
    "a private proxy": ("proxy: {urls: [$WRONG]}", {"WRONG": "http://ann:SECRET@127.0.0.1:1"}),
    "a parameter in the file": ("fetch: {params: {token: SECRET}}", {}),
    "a variable": ("{}", {"ORBWEB_FETCH__AUTH": "ann:SECRET"}),
    "a variable that is no YAML": ("{}", {"ORBWEB_FETCH__HEADERS": "{authorization: *SECRET"}),
    "a list of proxies": ("{}", {"ORBWEB_PROXY__URLS": "http://ann:SECRET@proxy.example:1"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_not_repeated(cli: Cli, tmp_path: Path, case: str) -> None:
    written, env = WRONG[case]
    config = tmp_path / "config.yaml"
    config.write_text(written.replace("SECRET", canary("file")), encoding="utf-8")
    env = {name: value.replace("SECRET", canary("file")) for name, value in env.items()}
    done = cli.crawl("http://127.0.0.1:9/", *FAST, "--config", config, env=env)
    assert done.code == 2
    assert "orbweb: " in done.err
    assert CANARY not in done.out + done.err
    assert CANARY.encode() not in files(cli.workspace)


@pytest.mark.parametrize("header", [f"Authorization: {CANARY}", CANARY, f"Host: {CANARY}", f"X-Api-Key: {CANARY}"])
def test_a_wrong_option_is_not_repeated(cli: Cli, header: str) -> None:
    done = cli.crawl("http://127.0.0.1:9/", *FAST, "--header", header)
    assert done.code == 2
    assert CANARY not in done.out + done.err
    assert CANARY.encode() not in files(cli.workspace)


def test_a_proxy_that_is_gone(cli: Cli) -> None:
    with serve_proxy() as proxy:
        url = proxy.url("socks5", f"ann:{canary('proxy')}")
    env = {**SECRETS, "ORBWEB_PROXY__URLS": "[$P]", "ORBWEB_PROXY__ALLOW_PRIVATE": "true", "P": url}
    done = cli.crawl("http://127.0.0.1:9/", *FAST, env=env).ok(6)
    said = done.out + done.err + everything_said(cli, [])
    assert "over proxy" in said
    assert_silent(files(cli.workspace), said)


def test_a_crawl_that_is_killed(cli: Cli) -> None:
    """Nothing waits in the write-ahead log either."""
    site = secretive({"/": page("start", "/a", "/b"), "/a": page("a"), "/b": page("b")})
    given = ("--header", "X-Token: $SITE_TOKEN", "--header", "Cookie: $SITE_COOKIE")
    env = {**SECRETS, "ORBWEB_FETCH__AUTH": "$SITE_AUTH", "ORBWEB_ENGINE__GROUP_PAGES": "1"}
    with serve(site) as server:
        done = cli.crawl(server.url, *FAST, *given, env={**env, "ORBWEB_FAULT": "rows_written:2"})
        assert done.code < 0
        assert list(cli.workspace.glob("*-wal"))
        assert_silent(files(cli.workspace, bodies=False), done.out + done.err)
        again = cli.resume("site", env=env).ok(0)
        assert_silent(files(cli.workspace), again.out + again.err)


def test_the_log_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    caplog.set_level(logging.DEBUG)
    with serve(secretive({"/": page("start", "/gone")})) as server:
        headers = {"X-Token": "$SITE_TOKEN", "Cookie": "$SITE_COOKIE"}
        result = orbweb.crawl(server.url, workspace=tmp_path / "w", rate="max", headers=headers)
    assert_silent(files(tmp_path / "w"), caplog.text + repr(result))


def test_parameters_of_the_user(cli: Cli) -> None:
    """Sent with every request to the origin that was named, and to no other. Where the site repeats them, gone."""
    secret = canary("param")
    seen: dict[str, str] = {}

    def site(request: Request) -> Answer:
        seen[request.path] = request.target
        echo = f"Token={secret}"
        answers = {
            "/": html(
                f'<title>start</title><link rel="canonical" href="/?{echo}"><a href="/a?x=1&{echo}">x</a>'
                f'<a href="/moved">x</a><a href="{elsewhere.url}b?y=2&%74oken={secret}">x</a>'
            ),
            "/moved": redirect(f"/target?{echo}&z=3", 302),
            "/robots.txt": text("Sitemap: /map.xml"),
            "/map.xml": Answer(
                200, (("Content-Type", "application/xml"),),
                f"<urlset><url><loc>/listed?{echo}</loc></url></urlset>".encode(),
            ),
            "/loop": redirect(f"/loop?{echo}&again"),
            "/target": page("target", "/loop"),
        }  # fmt: skip
        return answers.get(request.path) or page(request.path)

    class Site:
        answer = staticmethod(site)

    env = {"ORBWEB_FETCH__PARAMS": "{token: $SITE_TOKEN}", "SITE_TOKEN": secret}
    with serve(StaticSite({"/b": page("b")})) as elsewhere, serve(Site()) as server:
        base = f"{server.url}?token={secret}"
        done = cli.crawl(base, *FAST, "--allow-private", env=env).ok(0, 3)
        assert seen["/a"] == f"/a?x=1&token={secret}"
        assert seen["/target"] == f"/target?z=3&token={secret}"
        assert set(seen) >= {"/robots.txt", "/map.xml", "/listed"}
        assert all(target.count(secret) == 1 for target in seen.values()), seen
        assert [hit.path for hit in elsewhere.log] == ["/b?y=2"]
        urls = [
            f"{server.url}{path}" for path in ("", "a?x=1", f"a?x=1&token={secret}", "moved", "listed", "loop")
        ]
        said = done.out + done.err + everything_said(cli, urls)
        again = cli.crawl(base, "--new-run", *FAST, "--allow-private", env=env).ok(0, 3)
        assert again.json["run"] == 2
    kept = b"".join(
        path.read_bytes() for path in cli.workspace.rglob("*") if path.is_file() and "store" not in path.parts
    )
    assert CANARY not in said
    assert CANARY.encode() not in kept


def test_a_value_that_looks_like_a_secret_is_not_told_in_passing(cli: Cli) -> None:
    """The URL of the site is kept as it is, for it is needed to ask; a note about it does not show it."""
    secret = canary("site")
    site = StaticSite({"/": page("start"), "/robots.txt": text(f"Sitemap: /no-map.xml?sig={secret}&v=2")})
    with serve(site) as server:
        done = cli.crawl(server.url, *FAST).ok(0)
        assert f"/no-map.xml?sig={secret}&v=2" in [hit.path for hit in server.whole_log]
    assert "no-map.xml?sig=***&v=2: HTTP 404" in done.err
    refused = cli.crawl(f"http://exa mple/?api_key={secret}", *FAST)
    assert refused.code == 2
    assert "api_key=***" in refused.err
    assert CANARY not in done.err + refused.err
