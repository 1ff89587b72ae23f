"""Secrets from the environment: headers, query parameters, basic authentication, proxies.

A setting names its environment variable (`$NAME`), which is read here, at the start of a crawl. No error quotes
the value.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from orbweb.config.fetching import FetchSection, ProxyList
from orbweb.config.notation import ProxyUrl, is_header_value, is_variable, read_proxy
from orbweb.errors import ConfigError


def has_secrets(fetch: FetchSection) -> bool:
    """Whether requests carry headers or authentication from the environment."""
    values = [value for value in fetch.headers.values() if value is not None]
    return fetch.auth is not None or any(is_variable(value) for value in values)


def sent_headers(fetch: FetchSection, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers as they are sent, secrets and basic authentication included."""
    headers = {}
    for name, value in fetch.headers.items():
        if value is not None:
            headers[name] = _value(f"fetch.headers: {name}", value, environ)
            if not is_header_value(headers[name]):
                raise ConfigError(f"fetch.headers: {name}: {value} is not one line of printable characters")
    if fetch.auth is not None:
        pair = _value("fetch.auth", fetch.auth, environ)
        if ":" not in pair or not pair.isprintable():
            raise ConfigError(f"fetch.auth: the environment variable {fetch.auth[1:]} does not hold user:password")
        if "authorization" in headers:
            raise ConfigError("fetch.auth and fetch.headers both set authorization; keep one of them")
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    return headers


def sent_params(fetch: FetchSection, environ: Mapping[str, str]) -> dict[str, str]:
    """The query parameters as they are sent."""
    given = {name: value for name, value in fetch.params.items() if value is not None}
    return {name: _value(f"fetch.params: {name}", value, environ) for name, value in given.items()}


def secret_names(fetch: FetchSection) -> frozenset[str]:
    """The headers and parameters whose values come from the environment."""
    given = (*fetch.headers.items(), *fetch.params.items())
    return frozenset(name for name, value in given if value is not None and is_variable(value))


def proxies(proxy: ProxyList, environ: Mapping[str, str]) -> list[ProxyUrl]:
    """The proxies in order, with those from the environment resolved."""
    found = []
    for number, text in enumerate(proxy.urls, 1):
        try:
            found.append(read_proxy(_value("proxy.urls", text, environ), f"number {number}"))
        except ValueError as error:
            source = f" (environment variable {text[1:]})" if is_variable(text) else ""
            raise ConfigError(f"proxy.urls{source}: {error}") from None
    return found


def _value(key: str, text: str, environ: Mapping[str, str]) -> str:
    """The text, or the value of the environment variable that it names."""
    if not is_variable(text):
        return text
    value = environ.get(text[1:], "")
    if not value:
        raise ConfigError(f"{key}: the environment variable {text[1:]} is not set; export it before the crawl")
    return value
