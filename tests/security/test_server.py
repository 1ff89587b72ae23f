"""Every route of the server, as its router has it, against requests that another site or a stranger could send."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from harness import Cli, wait_until
from orbweb.server.security import PERSONAL, PUBLIC
from security.routes import CHANGES, FORM, JSON, STATIC, Target, filled, routes
from servers.pages import chain, page
from servers.site import StaticSite, html, serve
from serving import ENDED, RunningServer, served, site_of

PAGES = 20


class Attacked:
    """A server with two runs, an export, and tokens; and all that can be requested of it."""

    def __init__(self, server: RunningServer, workspace: Path, url: str, known: list[tuple[str, str]]) -> None:
        self.server, self.workspace, self.url = server, workspace, url
        first = server.crawl(url, project="site")
        second = server.post("/recrawl/site", {"budget": 5})
        assert server.ended(second["jobID"])["result"]["failed"] == 1
        export = server.ended(server.post("/projects/site/exports", {"to": "csv"}, status=202)["id"])
        made = {scope: server.post("/tokens", {"name": scope, "scope": scope}, status=201) for scope in SCOPES}
        self.tokens = {scope: each["token"] for scope, each in made.items()}
        self.values: dict[str, Any] = {
            "project": "site", "suffix": "csv", "run": 2, "old": 1, "new": 2, "pair": "1..2", "url": f"{url}/1",
            "file": "base.css", "run_id": first["runID"], "crawl_id": second["crawlID"], "job_id": export["id"],
            "token_id": server.post("/tokens", {"name": "x"}, status=201)["id"], "token": server.token,
        }  # fmt: skip
        self.targets = [Target(method, route, filled(route, self.values)) for method, route in known]
        self.logins = {"admin": self.login(server.token), **{s: self.login(t) for s, t in self.tokens.items()}}

    def login(self, token: str) -> tuple[str, str]:
        """The cookie of a login, and the token of its forms."""
        with httpx.Client(base_url=self.server.url, trust_env=False, timeout=60) as browser:
            assert browser.post("/login", data={"token": token}).status_code == 303
            found = re.search(r'name="form_token" value="(\w+)"', browser.get("/keys").text)
            assert found is not None
            return "; ".join(f"{name}={value}" for name, value in browser.cookies.items()), found[1]

    def allowed(self, target: Target, scope: str = "admin") -> dict[str, str]:
        """The headers by which a client with this scope is known: a token to the API, a cookie to pages."""
        token = self.tokens.get(scope, self.server.token)
        found = {"authorization": f"Bearer {token}"} if target.is_api else {"cookie": self.logins[scope][0]}
        return found if target.is_read else {**found, "content-type": target.media_type}

    def content(self, target: Target, scope: str = "admin") -> str | None:
        """The right body."""
        if target.is_read:
            return None
        body = {
            name: filled(value, self.values) if isinstance(value, str) else value
            for name, value in CHANGES[target.method, target.route].body.items()
        }
        return json.dumps(body) if target.is_api else urlencode({"form_token": self.logins[scope][1], **body})

    def send(self, target: Target, headers: Mapping[str, str], content: str | None = None) -> httpx.Response:
        request = self.server.http.build_request(target.method, target.path, headers=headers, content=content)
        response = self.server.http.send(request, stream=True)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        if is_stream and target.method == "GET":
            response.close()
        else:
            response.read()
        self.server.http.cookies.clear()
        return response

    def digest(self) -> dict[str, str]:
        """Everything that is stored, but for events and the index of a search."""
        found = {}
        for name in ("orbweb.db", "server.db"):
            with closing(sqlite3.connect(self.workspace / name)) as db:
                lines = [
                    each for each in db.iterdump() if '"events"' not in each and "sqlite_sequence" not in each
                ]
            found[name] = "\n".join(lines)
        for path in self.workspace.rglob("*"):
            if path.is_file() and not path.name.startswith(("orbweb.db", "server.db", "search.db")):
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found


SCOPES = ("read", "crawl")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    top = tmp_path_factory.mktemp("attacked")
    answers = chain(PAGES)
    start = page("start", "/broken", *(f"/{number}" for number in range(1, PAGES + 1)))
    with (
        serve(StaticSite({**answers, "/": start, "/broken": html("broken", 500)})) as site,
        served(
            top / "workspace", "--private-host", site_of(site.url), env={"ORBWEB_FETCH__RETRIES": "0"}
        ) as server,
    ):
        yield Attacked(server, top / "workspace", site.url, routes(top / "empty"))


def test_every_route_is_known_with_a_request_that_is_right(attacked: Attacked) -> None:
    paths = {target.route for target in attacked.targets}
    assert {"/", "/login", "/api/v1/crawl", "/api/v1/events", "/p/{project}/live/events", STATIC} <= paths
    assert len(attacked.targets) > 110
    assert {(each.method, each.route) for each in attacked.targets if not each.is_read} == set(CHANGES)


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8080", "127.0.0.1.evil.example", "192.0.2.1", "localhost.evil.example"),
        *(
            "localhost@evil.example",
            "127.0.0.1:80:80",
            "[::1].evil.example",
            "[::ffff:192.0.2.1]",
            "0x7f000001",
            "",
        ),
    ],
)
def test_a_foreign_host_reaches_no_route(attacked: Attacked, host: str) -> None:
    before = attacked.digest()
    for target in attacked.targets:
        found = attacked.send(target, {**attacked.allowed(target), "host": host}, attacked.content(target))
        assert found.status_code == 403, (target, found.status_code)
        assert "set-cookie" not in found.headers
    assert attacked.digest() == before


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LOCALHOST:1", "127.9.9.9:65535", "[::1]", "[::1]:8080"]
)
def test_loopback_has_several_names(attacked: Attacked, host: str) -> None:
    headers = {"authorization": f"Bearer {attacked.server.token}", "host": host}
    assert attacked.server.http.get("/api/v1/projects", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    ],
    ids=str,
)
def test_a_foreign_origin_reaches_no_route(attacked: Attacked, headers: dict[str, str]) -> None:
    before = attacked.digest()
    for target in attacked.targets:
        found = attacked.send(target, {**attacked.allowed(target), **headers}, attacked.content(target))
        assert found.status_code == 403, (target, found.status_code)
        assert "access-control-allow-origin" not in found.headers
    assert attacked.digest() == before


def test_another_site_may_link_to_pages_and_change_nothing_by_it(attacked: Attacked) -> None:
    before = attacked.digest()
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    for target in attacked.targets:
        found = attacked.send(target, {**attacked.allowed(target), **link}, attacked.content(target))
        if target.is_api or not target.is_read:
            assert found.status_code == 403, (target, found.status_code)
        else:
            assert found.status_code < 400, (target, found.status_code)
    assert attacked.digest() == before


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Bearer"},
        {"authorization": "Basic eDp5"},
        {"authorization": "Bearer \u00e9"},
        {"cookie": "{cookie}=made.up.cookie"},
    ],
    ids=str,
)
def test_without_a_token_only_public_paths_answer(attacked: Attacked, headers: dict[str, str]) -> None:
    before = attacked.digest()
    name = attacked.logins["admin"][0].partition("=")[0]
    given = {key: value.replace("{cookie}", name).encode() for key, value in headers.items()}
    for target in attacked.targets:
        if target.path in PUBLIC or target.route == STATIC:
            continue
        typed = {} if target.is_read else {"content-type": target.media_type}
        found = attacked.send(target, {**given, **typed}, attacked.content(target))  # type: ignore[dict-item]
        if target.is_read and not target.is_api:
            assert (found.status_code, found.headers["location"][:6]) == (303, "/login"), target
        else:
            assert found.status_code == 401, (target, found.status_code)
            assert found.headers["www-authenticate"] == "Bearer"
    assert attacked.digest() == before


def test_a_token_that_may_only_read_changes_nothing(attacked: Attacked) -> None:
    before = attacked.digest()
    for target in attacked.targets:
        if target.is_read or target.path in PUBLIC or target.path in PERSONAL:
            continue
        found = attacked.send(target, attacked.allowed(target, "read"), attacked.content(target, "read"))
        assert found.status_code == 403, (target, found.status_code)
    assert attacked.digest() == before


def test_what_needs_the_scope_admin_refuses_one_that_may_crawl(attacked: Attacked) -> None:
    before = attacked.digest()
    guarded = [
        each
        for each in attacked.targets
        if "/tokens" in each.path
        or each.path == "/p/site/delete"
        or (each.method == "DELETE" and each.path == "/api/v1/projects/site")
    ]
    assert len(guarded) >= 11
    for target in guarded:
        found = attacked.send(target, attacked.allowed(target, "crawl"), attacked.content(target, "crawl"))
        assert found.status_code == 403, (target, found.status_code)
    assert attacked.digest() == before


@pytest.mark.parametrize("media_type", [FORM, JSON, "text/plain", "multipart/form-data; boundary=x", "", None])
def test_a_body_of_another_type_changes_nothing(attacked: Attacked, media_type: str | None) -> None:
    """With every right that there is, and the right text."""
    before = attacked.digest()
    for target in attacked.targets:
        if target.is_read or media_type == target.media_type:
            continue
        headers = {name: value for name, value in attacked.allowed(target).items() if name != "content-type"}
        headers |= {} if media_type is None else {"content-type": media_type}
        found = attacked.send(target, headers, attacked.content(target))
        assert found.status_code == 415, (target, found.status_code)
    assert attacked.digest() == before


@pytest.mark.parametrize("media_type", [FORM, "text/plain", "multipart/form-data; boundary=x", None])
@pytest.mark.parametrize("text", ["token=wrong&form_token=wrong", ""])
def test_what_a_form_of_another_site_could_send_changes_nothing(
    attacked: Attacked, media_type: str | None, text: str
) -> None:
    """Even with the cookie of a login, which no browser would send with it."""
    before = attacked.digest()
    for target in attacked.targets:
        if target.is_read or (target.path == "/login" and media_type == FORM):
            continue
        headers = {"cookie": attacked.logins["admin"][0]}
        headers |= {} if media_type is None else {"content-type": media_type}
        found = attacked.send(target, headers, text)
        assert found.status_code in (403, 415), (target, found.status_code)
    assert attacked.digest() == before


def test_a_form_needs_the_token_of_its_own_login(attacked: Attacked) -> None:
    before = attacked.digest()
    for target in attacked.targets:
        if target.is_read or target.is_api or target.path == "/login":
            continue
        found = attacked.send(target, attacked.allowed(target), attacked.content(target, "crawl"))
        assert found.status_code == 403, (target, found.status_code)
    assert attacked.digest() == before


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PROPFIND", "BREW"])
def test_other_methods_do_nothing(attacked: Attacked, method: str) -> None:
    before = attacked.digest()
    for target in attacked.targets:
        other = Target(method, target.route, target.path)
        assert attacked.send(other, {}).status_code in (401, 405, 415), target
        found = attacked.send(other, {**attacked.allowed(target), "content-type": target.media_type})
        assert found.status_code in (403, 405), (target, found.status_code)
        assert "access-control-allow-origin" not in found.headers
    assert attacked.digest() == before


def test_every_read_answers_and_head_is_get_without_a_body(attacked: Attacked) -> None:
    reads = {target.path: target for target in attacked.targets if target.is_read}
    for target in reads.values():
        found = attacked.send(target, attacked.allowed(target))
        assert found.status_code < 400, (target, found.status_code, found.text)
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        if target.path != "/favicon.ico":
            head = attacked.send(Target("HEAD", target.route, target.path), attacked.allowed(target))
            assert (head.status_code, head.headers.get("content-type"), head.content) == (
                found.status_code,
                found.headers.get("content-type"),
                b"",
            ), target


# The same requests with the right credentials do work.


class Rightful:
    """Brings the project `site` into the state that a change needs. A slow crawl serves several of them."""

    def __init__(self, attacked: Attacked) -> None:
        self._server, self._url = attacked.server, attacked.url
        self._slow: dict[str, Any] | None = None

    def bring(self, state: str) -> dict[str, Any]:
        """What is different of the path parameters then."""
        if state in ("idle", "paused", "failed"):
            return self._at_rest(state)
        if self._slow is None:
            self._settle()
            verb = "/resume-crawl/site" if self._server.get("/queue/site")["hasQueue"] else "/recrawl/site"
            self._slow = self._server.post(verb, {"rate": 0.5, "budget": None})
        if state == "waiting":
            waiting = self._server.post("/crawl", {"url": self._url, "project": "waits"})
            return {"job_id": waiting["jobID"]}
        return {"crawl_id": self._slow["crawlID"]}

    def _at_rest(self, state: str) -> dict[str, Any]:
        self._settle()
        has_queue = self._server.get("/queue/site")["hasQueue"]
        if state == "failed" and has_queue:
            self._server.call("DELETE", "/queue/site")
        if state == "failed" or (state == "paused" and not has_queue):
            self._server.ended(self._server.post("/recrawl/site", {"budget": 5})["jobID"])
        return {"crawl_id": self._server.get("/queue/site")["runCrawlIDs"][-1]}

    def _settle(self) -> None:
        """No crawl is at work, and none waits."""
        for job in self._server.get("/jobs")["items"]:
            if job["state"] == "queued":
                self._server.send("DELETE", f"/api/v1/jobs/{job['id']}")
            if job["state"] == "running" and job["kind"] == "crawl":
                wait_until(lambda number=job["id"]: self._has_begun(number))
                self._server.send("POST", f"/api/v1/crawl/{self._server.job(job['id'])['crawlID']}/stop")
        wait_until(lambda: all(job["state"] in ENDED for job in self._server.get("/jobs")["items"]))
        self._slow = None

    def _has_begun(self, number: int) -> bool:
        job = self._server.job(number)
        return job["state"] in ENDED or job["crawlID"] is not None


def test_the_same_requests_change_something_with_the_right_credentials(attacked: Attacked) -> None:
    rightful = Rightful(attacked)
    for (method, route), change in CHANGES.items():
        values = {**attacked.values, **rightful.bring(change.before), **change.filled}
        if route in ("/tokens/{number}/revoke", "/api/v1/tokens/{token_id}"):
            values["token_id"] = attacked.server.post("/tokens", {"name": "short"}, status=201)["id"]
        target = Target(method, route, filled(route, values))
        before = attacked.digest()
        found = attacked.send(target, attacked.allowed(target), attacked.content(target))
        if change.is_refused:
            assert found.json()["code"] in ("nothing_to_do", "not_trusted"), (target, found.text)
            continue
        assert found.status_code < 400, (target, found.status_code, found.text)
        if route not in UNCHANGING:
            wait_until(lambda known=before: attacked.digest() != known)
    rightful.bring("idle")


UNCHANGING = {
    "/api/v1/plan", "/new/plan", "/api/v1/queue/{project}/preview", "/login", "/theme", "/logout",
}  # fmt: skip
"""Changes that store nothing: what they return, or a cookie, is all that they do."""


# Logins, bodies and connections.


def test_a_login_works_with_its_token_and_leads_only_to_this_server(attacked: Attacked) -> None:
    with httpx.Client(base_url=attacked.server.url, trust_env=False, timeout=60) as browser:
        wrong = browser.post("/login", data={"token": "wrong"})
        assert (wrong.status_code, wrong.cookies) == (401, {})
        done = browser.post("/login", data={"token": attacked.server.token, "next": "//evil.example/"})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        assert attacked.server.token not in done.headers["set-cookie"]
        assert "httponly" in done.headers["set-cookie"].lower()
        assert "samesite=strict" in done.headers["set-cookie"].lower()
        page = browser.get("/")
        assert page.status_code == 200
        token = re.search(r'name="form_token" value="(\w+)"', page.text)
        assert token is not None
        assert browser.get("/api/v1/projects").status_code == 200
        assert browser.post("/logout", data={"form_token": "wrong"}).status_code == 403
        assert browser.post("/logout", data={"form_token": token[1]}).status_code == 303
        browser.cookies.clear()
        assert browser.get("/").status_code == 303


@pytest.mark.parametrize(
    "after",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "/a\r\nset-cookie: x=y",
        "javascript:x",
        "\t//e.x",
    ],
)
def test_a_login_leads_to_no_other_site(attacked: Attacked, after: str) -> None:
    data = {"token": attacked.server.token, "next": after}
    done = httpx.post(f"{attacked.server.url}/login", data=data, trust_env=False)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert len(done.headers.get_list("set-cookie")) == 1


def test_who_may_only_read_can_log_out_and_choose_a_theme(attacked: Attacked) -> None:
    for path in sorted(PERSONAL):
        target = next(each for each in attacked.targets if each.path == path)
        found = attacked.send(target, attacked.allowed(target, "read"), attacked.content(target, "read"))
        assert found.status_code == 303


def test_a_revoked_token_loses_its_logins_and_its_event_streams(attacked: Attacked) -> None:
    made = attacked.server.post("/tokens", {"name": "soon gone", "scope": "crawl"}, status=201)
    cookie, _ = attacked.login(made["token"])
    with (
        httpx.Client(base_url=attacked.server.url, trust_env=False, timeout=60) as client,
        client.stream("GET", "/api/v1/events", headers={"authorization": f"Bearer {made['token']}"}) as by_token,
        client.stream("GET", "/p/site/live/events", headers={"cookie": cookie}) as by_cookie,
    ):
        lines = [by_token.iter_lines(), by_cookie.iter_lines()]
        assert all(next(each) for each in lines)
        attacked.server.call("DELETE", f"/tokens/{made['id']}", status=204)
        assert client.get("/", headers={"cookie": cookie}).status_code == 303
        for each in lines:
            for _ in each:
                pass  # until it ends; a stream that goes on times out


def test_a_body_that_is_too_large_is_refused(attacked: Attacked) -> None:
    found = attacked.server.send("POST", "/api/v1/crawl", {"url": "http://x.example/" + "a" * 2_000_000})
    assert (found.status_code, found.json()["code"]) == (413, "body_too_large")
    headers = {"authorization": f"Bearer {attacked.server.token}", "content-type": JSON}
    parts = (b"x" * 100_000 for _ in range(20))
    chunked = attacked.server.http.post("/api/v1/crawl", content=parts, headers=headers)
    assert chunked.status_code == 413
    login = attacked.server.http.post("/login", data={"token": "x" * 20_000})
    assert login.status_code == 413


def raw(server: RunningServer, *parts: bytes) -> bytes:
    """What a server answers to these bytes until it closes the connection; nothing if it does so meanwhile."""
    host, _, port = site_of(server.url).partition(":")
    found = b""
    with socket.create_connection((host, int(port)), timeout=60) as client, suppress(ConnectionError):
        for part in parts:
            client.sendall(part)
        while part := client.recv(65536):
            found += part
    return found


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"x-%d: y\r\n" % number for number in range(20_000)) + b"\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: a\x00b\r\n\r\n",
        b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: gzip\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nhost: evil.example\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=lambda head: repr(head[:60]),
)
def test_a_head_that_makes_no_sense_is_refused(attacked: Attacked, head: bytes) -> None:
    found = raw(attacked.server, head)
    assert re.match(rb"HTTP/1.1 (400|403) " if len(head) < 100_000 else b"(HTTP/1.1 400 |$)", found), found[:200]
    assert attacked.server.get("/health") == {"status": "ok"}


def test_a_body_that_never_comes_holds_nobody_up(attacked: Attacked) -> None:
    host, _, port = site_of(attacked.server.url).partition(":")
    head = (
        f"POST /api/v1/plan HTTP/1.1\r\nhost: {host}\r\ncontent-type: {JSON}\r\ncontent-length: 1000\r\n"
        f"authorization: Bearer {attacked.server.token}\r\n\r\n{{"
    )
    waiting = [socket.create_connection((host, int(port)), timeout=60) for _ in range(100)]
    try:
        for client in waiting:
            client.sendall(head.encode())
        assert len(attacked.server.get("/projects")["items"]) >= 1
        assert waiting[0].recv(100).startswith(b"HTTP/1.1 408 ")
    finally:
        for client in waiting:
            client.close()


def test_a_connection_without_a_request_is_closed(attacked: Attacked) -> None:
    host, _, port = site_of(attacked.server.url).partition(":")
    with (
        socket.create_connection((host, int(port)), timeout=120) as silent,
        socket.create_connection((host, int(port)), timeout=120) as endless,
    ):
        endless.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ")
        assert silent.recv(100) == b""
        assert endless.recv(100) == b""


@pytest.mark.parametrize(
    "path",
    [
        "/static/../serve.py", "/static/%2e%2e/serve.py", "/static/..%2fserve.py", "/static//etc/passwd",
        "/static/%2fetc%2fpasswd", "/static/..%5cserve.py", "/static/base.css%00.png", "/static/",
        "/static/../api/v1/projects", "/static/%2e%2e/api/v1/projects",
    ],
)  # fmt: skip
def test_static_files_are_those_of_their_folder(attacked: Attacked, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode()
    found = raw(attacked.server, request)
    assert re.match(rb"HTTP/1.1 (404|303|400) ", found), found[:200]


def test_wrong_tokens_cost_nothing_that_lasts(attacked: Attacked) -> None:
    before = attacked.digest()
    for number in range(300):
        found = attacked.server.http.post("/login", data={"token": f"guess-{number}"})
        assert (found.status_code, "set-cookie" in found.headers) == (401, False)
    assert attacked.digest() == before


# Starting a server.


def test_a_host_that_others_can_reach_needs_a_token_of_the_user(cli: Cli) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        refused = cli("serve", "--host", host, "--port", 0, env={"ORBWEB_TOKEN": ""}).ok(2)
        assert "ORBWEB_TOKEN" in refused.err
    assert not cli.workspace.exists()


def test_on_loopback_a_token_is_printed_once_and_needed(tmp_path: Path) -> None:
    with served(tmp_path / "workspace", env={"ORBWEB_TOKEN": ""}) as server:
        assert len(server.token) >= 40
        assert server.get("/projects")["items"] == []
        assert httpx.get(f"{server.url}/api/v1/projects", trust_env=False).status_code == 401
        assert httpx.get(f"{server.url}/api/v1/health", trust_env=False).json() == {"status": "ok"}
        server.http.close()
        server.process.terminate()
        out, err = server.process.communicate(timeout=60)
    assert (out, server.process.returncode) == ("", 0), err


def test_a_token_is_neither_given_to_jobs_nor_stored(tmp_path: Path) -> None:
    with (
        serve(StaticSite(chain(3))) as site,
        served(tmp_path / "workspace", "--private-host", site_of(site.url)) as server,
    ):
        server.crawl(site.url, project="site")
        token = server.token.encode()
    for path in (tmp_path / "workspace").rglob("*"):
        assert not path.is_file() or token not in path.read_bytes(), path


def test_two_servers_do_not_share_a_workspace(tmp_path: Path, cli: Cli) -> None:
    with served(cli.workspace):
        second = subprocess.run(
            cli.command("serve", "--port", 0), capture_output=True, text=True, timeout=60, cwd=tmp_path
        )
    assert second.returncode == 5, second.stderr
    assert "serves" in second.stderr
