"""Decisions of the server about the head of a request."""

from __future__ import annotations

import pytest

from orbweb.app.tokens import Permission, fingerprint
from orbweb.server.credentials import SESSION_S, Credentials, Identified
from orbweb.server.security import Denial, RequestHead, allowed_hosts, is_loopback, judge

TOKEN, READER = "the-token-of-the-server", "a-token-that-may-read"
HERE = allowed_hosts("127.0.0.1", ())


def credentials(now: float = 0.0) -> Credentials:
    stored = {fingerprint(READER): Permission.READ}
    return Credentials(TOKEN, stored.get, cookie="login", clock=lambda: now)


def head(method: str = "GET", path: str = "/api/v1/projects", **headers: str) -> RequestHead:
    given = {"host": "127.0.0.1:8080", "authorization": f"Bearer {TOKEN}", **headers}
    named = {name.replace("_", "-"): (value,) for name, value in given.items() if value}
    return RequestHead(method, path, "http", named)


def code(found: Denial | Identified | None) -> str:
    return found.code if isinstance(found, Denial) else "allowed"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (head(), "allowed"),
        (head(host="localhost:9"), "allowed"),
        (head(host="[::1]:8080"), "allowed"),
        (head(host="evil.example"), "host_not_allowed"),
        (head(host="127.0.0.1.evil.example:8080"), "host_not_allowed"),
        (head(host="192.0.2.7:8080"), "host_not_allowed"),
        (head(host=""), "host_not_allowed"),
        (head(host="localhost:8080@evil.example"), "host_not_allowed"),
        (head(path="/api/v1/health", host="evil.example"), "host_not_allowed"),
        (head(origin="http://127.0.0.1:8080"), "allowed"),
        (head(origin="http://127.0.0.1:3000"), "foreign_origin"),
        (head(origin="https://127.0.0.1:8080"), "allowed"),
        (head(origin="null"), "foreign_origin"),
        (head(sec_fetch_site="cross-site"), "foreign_origin"),
        (head(sec_fetch_site="same-site"), "foreign_origin"),
        (head(path="/p/docs", sec_fetch_site="cross-site", sec_fetch_mode="no-cors"), "foreign_origin"),
        (
            head(
                path="/p/docs", sec_fetch_site="cross-site", sec_fetch_mode="navigate", sec_fetch_dest="document"
            ),
            "allowed",
        ),
        (
            head("POST", sec_fetch_site="cross-site", sec_fetch_mode="navigate", sec_fetch_dest="document"),
            "foreign_origin",
        ),
        (head("POST", content_type="application/json", content_length="2"), "allowed"),
        (head("POST"), "allowed"),
        (head("POST", content_length="2"), "wrong_media_type"),
        (head("POST", content_type="text/plain", content_length="2"), "wrong_media_type"),
        (head("POST", content_type="application/x-www-form-urlencoded"), "wrong_media_type"),
        (head("POST", "/login", content_type="application/x-www-form-urlencoded"), "allowed"),
        (head("POST", "/login", content_type="text/plain"), "wrong_media_type"),
        (head("POST", content_type="application/json", content_length="2000000"), "body_too_large"),
        (head(authorization=""), "token_required"),
        (head(authorization="Bearer wrong"), "token_required"),
        (head(authorization=f"Basic {TOKEN}"), "token_required"),
        (head(path="/api/v1/health", authorization=""), "allowed"),
        (head(path="/static/orbweb.css", authorization=""), "allowed"),
        (head(authorization=f"Bearer {READER}"), "allowed"),
        (head("DELETE", authorization=f"Bearer {READER}"), "scope_too_small"),
    ],
)
def test_a_request_is_judged_by_its_head(given: RequestHead, expected: str) -> None:
    assert code(judge(given, HERE, credentials())) == expected


def test_a_repeated_host_is_refused() -> None:
    twice = {"host": ("127.0.0.1", "evil.example"), "authorization": (f"Bearer {TOKEN}",)}
    assert code(judge(RequestHead("GET", "/", "http", twice), HERE, credentials())) == "host_not_allowed"


def test_a_server_for_others_is_called_by_addresses_and_by_the_names_it_is_given() -> None:
    hosts = allowed_hosts("0.0.0.0", ["Crawler.example"])
    assert hosts.allows("192.0.2.7:8080")
    assert hosts.allows("crawler.example")
    assert not hosts.allows("evil.example")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")


def test_a_login_ends_with_its_time_and_with_its_token() -> None:
    session = credentials().login(READER)
    assert session is not None
    found = credentials().by_session(session)
    assert found is not None
    assert found.permission is Permission.READ
    assert credentials(SESSION_S + 1.0).by_session(session) is None
    assert Credentials(TOKEN, {}.get, cookie="login", clock=lambda: 0.0).by_session(session) is None
    assert credentials().login("wrong") is None


def test_a_login_cannot_be_made_up() -> None:
    session = credentials().login(READER)
    assert session is not None
    mark, rest = session.split(".", 1)
    forged = f"{fingerprint(TOKEN)}.{rest}"
    assert credentials().by_session(forged) is None
    assert credentials().by_session("") is None
    assert credentials().by_session(f"{mark}.é") is None
    assert credentials().form_token(session) != credentials().form_token(forged)
