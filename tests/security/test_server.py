"""Every route of the server, as its router has it, against requests that another site or a stranger could send."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from starlette.routing import Mount

import orbweb
from harness import Cli
from orbweb.app.jobs.service import JobService, JobSettings
from orbweb.server.application import create_app
from orbweb.server.credentials import Credentials
from orbweb.server.security import PUBLIC, allowed_hosts
from orbweb.server.services import Services
from servers.pages import chain
from servers.site import StaticSite, serve
from serving import RunningServer, served, site_of

READS = ("GET", "HEAD")


class Target(NamedTuple):
    """A method of a route, its path filled in."""

    method: str
    path: str

    @property
    def is_api(self) -> bool:
        return self.path.startswith("/api/")


class Attacked(NamedTuple):
    server: RunningServer
    workspace: Path
    targets: list[Target]
    tokens: dict[str, str]


def routes(workspace: Path) -> list[tuple[str, str]]:
    """Every method and path of the application, without a server."""
    workspace.mkdir()
    space = orbweb.open(workspace)
    space.prepare()
    jobs = JobService(JobSettings(workspace, {}))
    try:
        app = create_app(
            Services(space, jobs, Credentials("x", jobs.permission_of, cookie="c"), allowed_hosts("::1", ()))
        )
        return [
            (method, route.path)
            for route in flattened(app.routes)
            if not isinstance(route, Mount)
            for method in sorted(route.methods or ())
        ]
    finally:
        jobs.close()


def flattened(found: Any) -> Iterator[Any]:
    for route in found:
        inner = getattr(route, "effective_candidates", None)
        if inner is not None:
            yield from flattened(inner())
        else:
            yield getattr(route, "starlette_route", None) or route


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    top = tmp_path_factory.mktemp("attacked")
    with (
        serve(StaticSite(chain(6))) as site,
        served(top / "workspace", "--private-host", site_of(site.url)) as server,
    ):
        started = server.crawl(site.url, project="site", budget=3)
        made = {
            scope: server.post("/tokens", {"name": scope, "scope": scope}, status=201)
            for scope in ("read", "crawl")
        }
        filled = {
            "project": "site",
            "suffix": "json",
            "run": "1",
            "run_id": started["runID"],
            "crawl_id": started["crawlID"],
            "job_id": started["jobID"],
            "token_id": made["read"]["id"],
        }
        targets = [
            Target(method, re.sub(r"\{(\w+)\}", lambda match: str(filled[match[1]]), path))
            for method, path in routes(top / "empty")
        ]
        tokens = {"admin": server.token, **{scope: each["token"] for scope, each in made.items()}}
        yield Attacked(server, top / "workspace", targets, tokens)


def books(workspace: Path) -> list[str]:
    """Everything that is stored, but for events."""
    found = []
    for name in ("orbweb.db", "server.db"):
        with closing(sqlite3.connect(workspace / name)) as db:
            found += [line for line in db.iterdump() if '"events"' not in line and "sqlite_sequence" not in line]
    return [*found, *sorted(path.name for path in (workspace / "control").glob("*"))]


def send(
    attacked: Attacked, target: Target, headers: dict[str, str], content: str | None = None
) -> httpx.Response:
    with httpx.Client(base_url=attacked.server.url, trust_env=False, timeout=60) as client:
        request = client.build_request(target.method, target.path, headers=headers, content=content)
        response = client.send(request, stream=True)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            response.close()
        else:
            response.read()
        return response


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_the_router_is_not_empty(attacked: Attacked) -> None:
    paths = {target.path for target in attacked.targets}
    assert {"/", "/login", "/api/v1/crawl", "/api/v1/events", "/api/v1/tokens", "/api/v1/openapi.json"} <= paths
    assert len(attacked.targets) > 60


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "192.0.2.1"])
def test_a_foreign_host_reaches_no_route(attacked: Attacked, host: str) -> None:
    before = books(attacked.workspace)
    for target in [*attacked.targets, Target("GET", "/static/orbweb.css")]:
        found = send(attacked, target, {**bearer(attacked.server.token), "host": host})
        assert found.status_code == 403, (target, found.status_code)
    assert books(attacked.workspace) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
    ],
    ids=str,
)
def test_a_foreign_origin_reaches_no_route(attacked: Attacked, headers: dict[str, str]) -> None:
    before = books(attacked.workspace)
    for target in attacked.targets:
        found = send(attacked, target, {**bearer(attacked.server.token), **headers}, _json(target))
        assert found.status_code in (403, 415), (target, found.status_code)
        assert "access-control-allow-origin" not in found.headers
    assert books(attacked.workspace) == before


def _json(target: Target) -> str | None:
    return None if target.method in READS else "{}"


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Bearer", "Basic eDp5"])
def test_without_a_token_only_public_paths_answer(attacked: Attacked, authorization: str | None) -> None:
    before = books(attacked.workspace)
    headers = {} if authorization is None else {"authorization": authorization}
    for target in attacked.targets:
        if target.path in PUBLIC and target.method in READS:
            continue
        types = {"content-type": "application/json" if target.is_api else "application/x-www-form-urlencoded"}
        found = send(attacked, target, {**headers, **types}, _json(target))
        if target.method in READS and not target.is_api:
            assert (found.status_code, found.headers["location"][:6]) == (303, "/login"), target
        else:
            assert found.status_code == 401, (target, found.status_code)
    assert books(attacked.workspace) == before


def test_a_token_that_may_only_read_changes_nothing(attacked: Attacked) -> None:
    before = books(attacked.workspace)
    for target in attacked.targets:
        if target.method in READS or not target.is_api:
            continue
        headers = {**bearer(attacked.tokens["read"]), "content-type": "application/json"}
        assert send(attacked, target, headers, "{}").status_code == 403, target
    assert books(attacked.workspace) == before


def test_what_needs_the_scope_admin_refuses_one_that_may_crawl(attacked: Attacked) -> None:
    before = books(attacked.workspace)
    guarded = [
        each
        for each in attacked.targets
        if "/tokens" in each.path or (each.method == "DELETE" and each.path == "/api/v1/projects/site")
    ]
    assert len(guarded) >= 6
    for target in guarded:
        headers = {**bearer(attacked.tokens["crawl"]), "content-type": "application/json"}
        found = send(attacked, target, headers, '{"name": "x"}' if target.method == "POST" else None)
        assert found.status_code == 403, (target, found.status_code)
    assert books(attacked.workspace) == before


@pytest.mark.parametrize(
    "media_type", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"]
)
def test_what_a_form_of_another_site_could_send_changes_nothing(attacked: Attacked, media_type: str) -> None:
    """Even with the cookie of a login, which no browser would send with it."""
    login = httpx.post(f"{attacked.server.url}/login", data={"token": attacked.server.token}, trust_env=False)
    cookie = login.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    before = books(attacked.workspace)
    for target in attacked.targets:
        if target.method in READS:
            continue
        headers = {"cookie": cookie.partition(";")[0], "content-type": media_type}
        found = send(attacked, target, headers, "token=wrong&form_token=wrong")
        assert found.status_code in (401, 403, 415), (target, found.status_code)
    assert books(attacked.workspace) == before


def test_every_answer_has_the_headers_that_keep_pages_harmless(attacked: Attacked) -> None:
    for target in attacked.targets:
        if target.method != "GET":
            continue
        found = send(attacked, target, bearer(attacked.server.token))
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"


def test_a_login_works_with_its_token_and_leads_only_to_this_server(attacked: Attacked) -> None:
    with httpx.Client(base_url=attacked.server.url, trust_env=False) as browser:
        wrong = browser.post("/login", data={"token": "wrong"})
        assert wrong.status_code == 401
        done = browser.post("/login", data={"token": attacked.server.token, "next": "//evil.example/"})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        page = browser.get("/")
        assert page.status_code == 200
        token = re.search(r'name="form_token" value="(\w+)"', page.text)
        assert token is not None
        assert browser.get("/api/v1/projects").status_code == 200
        assert browser.post("/logout", data={"form_token": "wrong"}).status_code == 403
        assert browser.post("/logout", data={"form_token": token[1]}).status_code == 303
        browser.cookies.clear()
        assert browser.get("/").status_code == 303


def test_a_body_that_is_too_large_is_refused(attacked: Attacked) -> None:
    found = attacked.server.send("POST", "/api/v1/crawl", {"url": "http://x.example/" + "a" * 2_000_000})
    assert found.status_code == 413
    headers = {**bearer(attacked.server.token), "content-type": "application/json"}
    parts = (b"x" * 100_000 for _ in range(20))
    chunked = attacked.server.http.post("/api/v1/crawl", content=parts, headers=headers)
    assert chunked.status_code in (400, 413)


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
