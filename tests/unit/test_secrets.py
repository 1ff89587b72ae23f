"""Settings that need a secret name an environment variable; no error quotes what stands in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orbweb import config
from orbweb.errors import ConfigError

SECRET = "s3cret"


def read_all(settings: dict[str, Any], environ: dict[str, str]) -> None:
    found = config.build(settings, source="file.yaml")
    config.sent_headers(found.fetch, environ)
    config.proxies(found.proxy, environ)


def refused(settings: dict[str, Any], environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        read_all(settings, environ or {})
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def headers(given: dict[str, Any], environ: dict[str, str] | None = None, **fetch: Any) -> dict[str, str]:
    found = config.build({"fetch": {"headers": given, **fetch}}, source="file.yaml")
    return config.sent_headers(found.fetch, environ or {})


def test_headers_with_secrets_from_the_environment() -> None:
    given = {"X-Plain": "as it is", "Authorization": "$TOKEN", "X-Gone": None}
    assert headers(given, {"TOKEN": f"Bearer {SECRET}"}) == {
        "x-plain": "as it is",
        "authorization": f"Bearer {SECRET}",
    }


def test_a_dollar_inside_is_no_variable() -> None:
    assert headers({"X-Price": "5 $US", "X-Other": "$1"}) == {"x-price": "5 $US", "x-other": "$1"}


def test_basic_authentication() -> None:
    assert headers({}, {"A": "ann:pass:word"}, auth="$A") == {"authorization": "Basic YW5uOnBhc3M6d29yZA=="}


@pytest.mark.parametrize(
    "name",
    ["Authorization", "COOKIE", "X-Api-Key", "x-auth", "X-CSRF-Token", "X-Session-Id", "My-Password", "X-Secret"],
)
def test_a_literal_secret_is_refused(name: str) -> None:
    said = refused({"fetch": {"headers": {name: SECRET}}})
    assert f"fetch.headers: {name.lower()} looks like a secret" in said
    assert "environment variable" in said


@pytest.mark.parametrize(
    "name",
    ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "TE", "Upgrade", "Expect", "User-Agent", "Range",
     "Accept-Encoding", "Proxy-Authorization", "If-None-Match", "a b", "a:b", "", "a\r\nb", "\u00e4"],
)  # fmt: skip
@pytest.mark.parametrize("value", [SECRET, "$NAME"])
def test_names_that_cannot_be_set(name: str, value: str) -> None:
    assert "fetch.headers" in refused({"fetch": {"headers": {name: value}}})


@pytest.mark.parametrize("value", [f"{SECRET}\r\nX: y", f"{SECRET}\n", f"\x00{SECRET}", f"{SECRET}\x7f", " "])
def test_values_are_one_line(value: str) -> None:
    assert "one line" in refused({"fetch": {"headers": {"X-A": value}}})
    assert "$V is not one line" in refused({"fetch": {"headers": {"X-A": "$V"}}}, {"V": value})


@pytest.mark.parametrize(
    ("settings", "environ", "said"),
    [
        ({"fetch": {"auth": f"ann:{SECRET}"}}, {}, "fetch.auth: settings are stored"),
        ({"fetch": {"auth": "$A"}}, {}, "fetch.auth: the environment variable A is not set"),
        ({"fetch": {"auth": "$A"}}, {"A": ""}, "fetch.auth: the environment variable A is not set"),
        ({"fetch": {"auth": "$A"}}, {"A": SECRET}, "variable A does not hold user:password"),
        ({"fetch": {"auth": "$A"}}, {"A": f"a:{SECRET}\n"}, "variable A does not hold user:password"),
        ({"fetch": {"headers": {"X-A": "$A"}}}, {}, "fetch.headers: x-a: the environment variable A is not set"),
        ({"fetch": {"headers": {"Authorization": "$A"}, "auth": "$A"}}, {"A": f"a:{SECRET}"}, "keep one of them"),
        ({"fetch": {"headers": SECRET}}, {}, "fetch.headers: must be"),
        ({"fetch": {"headers": [SECRET]}}, {}, "fetch.headers: must be"),
        ({"fetch": {"headers": {"X-A": [SECRET]}}}, {}, "fetch.headers.X-A"),
        ({"fetch": {"auth": [SECRET]}}, {}, "fetch.auth"),
        ({"fetch": SECRET}, {}, "fetch: must be"),
        ({"proxy": [SECRET]}, {}, "proxy: must be"),
        ({"proxy": {"urls": SECRET}}, {}, "proxy.urls"),
        ({"proxy": {"urls": [{"a": SECRET}]}}, {}, "proxy.urls"),
        ({"proxy": {"urls": [f"http://ann:{SECRET}@p.example:1"]}}, {}, "number 1 has a user or password in it"),
        ({"proxy": {"urls": [f"http://{SECRET}@proxy.example:1"]}}, {}, "number 1 has a user or password in it"),
        ({"proxy": {"urls": ["http://a:1", f"ftp://a:{SECRET}@b:1"]}}, {},
         "number 2 must start with one of http://"),
        ({"proxy": {"urls": ["proxy.example:3128"]}}, {}, "number 1 must start with one of http://"),
        ({"proxy": {"urls": ["http://"]}}, {}, "number 1 is not SCHEME://HOST:PORT"),
        ({"proxy": {"urls": [f"http://a:1/{SECRET}"]}}, {}, "number 1 is not SCHEME://HOST:PORT"),
        ({"proxy": {"urls": [f"http://a:{SECRET}"]}}, {}, "number 1 is not a URL"),
        ({"proxy": {"urls": ["http://a:99999"]}}, {}, "number 1 is not a URL"),
        ({"proxy": {"urls": ["$P"]}}, {}, "proxy.urls: the environment variable P is not set"),
        ({"proxy": {"urls": ["$P"]}}, {"P": f"http://a:{SECRET}@b:x"}, "(environment variable P): number 1"),
        ({"proxy": {"urls": ["$P"]}}, {"P": f"{SECRET}://b"}, "(environment variable P): number 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_not_quoted(
    settings: dict[str, Any], environ: dict[str, str], said: str
) -> None:
    assert said in refused(settings, environ)


def test_proxies() -> None:
    found = config.build({"proxy": {"urls": ["$P", "socks5://p.example", "http://[::1]:8"]}}, source="file.yaml")
    assert config.proxies(found.proxy, {"P": "http://a%40b:c%3Ad@Proxy.example:3128/"}) == [
        ("http", "proxy.example", 3128, "a@b", "c:d"),
        ("socks5", "p.example", 1080, None, ""),
        ("http", "[::1]", 8, None, ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"fetch: {{auth: *{SECRET}}}",
        f"fetch: {{auth: !{SECRET} x}}",
        f"fetch: {{auth: !{SECRET}'x y}}",
        f"fetch: {{auth: &{SECRET} a, cookies: &{SECRET} b",
        f"fetch:\n  auth: ann: {SECRET}",
        f"fetch:\n  auth: '{SECRET}",
        f"fetch:\n  auth: @{SECRET}",
        f"fetch:\n  auth: %{SECRET}",
        f"fetch:\n  auth: {{{SECRET}",
        f"fetch:\n  auth: {SECRET}\n {SECRET}: x",
        f'fetch:\n  auth: "\\{SECRET}"',
        f"%{SECRET}\nfetch: x",
        f"fetch: {{auth: {SECRET}, auth: *x}}",
    ],
)
def test_no_line_of_a_broken_file_is_quoted(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        config.read_file(file)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert "file.yaml: not valid YAML: line" in str(caught.value)
