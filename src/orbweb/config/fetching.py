"""Settings of requests, proxies, limits and robots.

The string under each field is its description in the reference.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from orbweb.config.notation import (
    NAME_A_VARIABLE,
    check_header,
    check_server,
    is_header_value,
    is_variable,
    read_proxy,
)
from orbweb.config.section import LARGEST, Section, YamlOff

MAX_WORKERS = 1024

_PARAM = re.compile(r"[A-Za-z0-9._~-]+")
_LANGUAGE = re.compile(r"\*|[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")


class FetchSection(Section):
    """How a URL is requested."""

    timeout_s: float = Field(30.0, gt=0, le=3600)
    """Timeout of one request, from connect to the last byte."""
    connect_timeout_s: float = Field(10.0, gt=0, le=600)
    """Timeout of the DNS lookup, and of connecting to the server."""
    retries: int = Field(2, ge=0, le=20)
    """Retries after the first request, for timeouts, broken connections, 408, 425 and 5xx."""
    backoff_s: float = Field(0.5, ge=0, le=60)
    """Delay before the first retry; doubled for each further one, with jitter."""
    backoff_cap_s: float = Field(8.0, ge=0, le=3600)
    """Longest delay between two retries."""
    busy_retries: int = Field(12, ge=0, le=1000)
    """Retries after 429, or 503 with Retry-After; they do not count towards `retries`."""
    max_retry_after_s: float = Field(3600.0, ge=0, le=3600)
    """A longer Retry-After is cut to this."""
    max_bytes: int = Field(20_000_000, ge=1, le=2_000_000_000)
    """Largest decoded body. A larger one fails as `too_large`; it is never truncated."""
    max_ratio: int = Field(200, ge=1, le=1_000_000)
    """A compressed body above 1 MB that decodes to more than N times its size on the wire fails as
    `decompression_bomb`."""
    allow_private: bool = False
    """Allow links and redirects to private addresses. Without it, only the host and port of a base URL or of
    `resolve` may be at one."""
    dns_servers: tuple[str, ...] = ()
    """ADDR or ADDR:PORT of the name servers. Empty: those of the system."""
    languages: tuple[str, ...] = Field(("en",), max_length=20)
    """Accept-Language header: the languages of pages, the preferred first, such as `[de-AT, de, en]` or `de`.
    Empty: it is not sent."""
    cache_control: Annotated[str, YamlOff] = Field("auto", max_length=200)
    """Cache-Control header, such as `no-cache` or `max-age=60`. `auto`: the scraper sends `no-cache`, so that
    caches on the way ask the server; other crawls send none. `off`: it is not sent."""
    headers: dict[str, str | None] = Field({})
    """Headers sent only to the origins (scheme, host and port) of the base URLs. Give a secret as the name of an
    environment variable, such as `$SITE_TOKEN`; null removes a stored header."""
    params: dict[str, str | None] = Field({})
    """Query parameters added to each request to these origins, such as `{token: $SITE_TOKEN}`: the value is the
    name of an environment variable. They are removed from every URL that is stored or shown, wherever it was
    found; null removes a stored parameter."""
    auth: str | None = None
    """`$NAME` of an environment variable with `user:password`: basic authentication, sent to the same origins as
    `headers`."""
    cookies: Annotated[Literal["off", "keep"], YamlOff] = "off"
    """`keep`: send cookies back to the origin that set them, for the duration of one crawl. Pages may then depend
    on the order of requests."""

    @field_validator("languages", mode="before")
    @classmethod
    def _list(cls, languages: object) -> object:
        return [each.strip() for each in languages.split(",")] if isinstance(languages, str) else languages

    @field_validator("languages")
    @classmethod
    def _languages(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        for language in languages:
            if not _LANGUAGE.fullmatch(language):
                raise ValueError(f"{language!r} is not a language such as en or de-AT")
        return languages

    @field_validator("cache_control")
    @classmethod
    def _cache_control(cls, value: str) -> str:
        if not (value.isascii() and is_header_value(value)):
            raise ValueError("must be one line of printable ASCII such as no-cache, or auto or off")
        return value

    @field_validator("headers")
    @classmethod
    def _headers(cls, headers: dict[str, str | None]) -> dict[str, str | None]:
        for name, value in headers.items():
            check_header(name.lower(), value)
        return {name.lower(): value for name, value in headers.items()}

    @field_validator("params")
    @classmethod
    def _params(cls, params: dict[str, str | None]) -> dict[str, str | None]:
        for name, value in params.items():
            if not _PARAM.fullmatch(name):
                raise ValueError("a name is not a valid query parameter")
            if value is not None and not is_variable(value):
                raise ValueError(f"{name}: {NAME_A_VARIABLE}, such as $SITE_TOKEN")
        return params

    @field_validator("auth")
    @classmethod
    def _auth(cls, auth: str | None) -> str | None:
        if auth is not None and not is_variable(auth):
            raise ValueError(f"{NAME_A_VARIABLE}, such as $SITE_AUTH, with user:password")
        return auth

    @field_validator("dns_servers")
    @classmethod
    def _servers(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        for server in servers:
            check_server(server)
        return servers


class ProxyList(Section):
    """The proxies of requests: a list that is used in turn, or a program that chooses."""

    urls: tuple[str, ...] = ()
    """SCHEME://HOST:PORT of each proxy, or `$NAME` of an environment variable that contains it (required if there
    is a password). Schemes: http, https, socks4, socks5. Empty: no proxy."""
    chooser: str | None = Field(None, pattern=r"^[A-Za-z0-9_.-]{1,100}$")
    """Name of an installed entry point of the group `orbweb.proxy_choosers`: a program that chooses the proxy of
    each request, instead of `urls`."""
    allow_private: bool = False
    """Allow proxies at private addresses. `fetch.allow_private` allows it too."""

    @field_validator("urls")
    @classmethod
    def _urls(cls, found: tuple[str, ...]) -> tuple[str, ...]:
        for number, text in enumerate(found, 1):
            if not is_variable(text) and read_proxy(text, f"number {number}").user is not None:
                raise ValueError(f"number {number} has a user or password in it; {NAME_A_VARIABLE}")
        return found


class LimitsSection(Section):
    """How much, how fast, how deep."""

    rate: float | Literal["max"] = 2.0
    """Requests per second to one host:port, evenly spaced. `max` is for servers you own."""
    workers: int = Field(5, ge=1, le=MAX_WORKERS)
    """Requests in flight at once."""
    per_host: int | None = Field(None, ge=1, le=MAX_WORKERS)
    """Requests in flight to one host:port, and so connections to it. Unset: 8, and no cap with rate `max`.
    `discover` and `scrape` use half of it each, at least one."""
    slowest_s: float = Field(10.0, ge=0, le=3600)
    """Each 429 or 503 halves the request rate of a host, down to one request per N seconds."""
    budget: int | None = Field(None, ge=1, le=LARGEST)
    """URLs that one crawl visits at most. The rest stays queued for the next crawl."""
    page_limit: int | None = Field(None, ge=1, le=LARGEST)
    """Unique pages per base URL."""
    max_depth: int | None = Field(None, ge=0, le=LARGEST)
    """Links from a base URL (depth 0)."""

    @field_validator("rate")
    @classmethod
    def _positive(cls, rate: float | str) -> float | str:
        if not isinstance(rate, str) and not 0 < rate <= 100_000:
            raise ValueError("must be more than 0 and at most 100000 requests per second, or max")
        return rate


class RobotsSection(Section):
    """How robots.txt (RFC 9309) and the robots directives of pages are obeyed."""

    obey: bool = True
    """Obey robots.txt. False only for servers you own."""
    obey_directives: bool = True
    """Obey meta robots and X-Robots-Tag: a `noindex` page is not stored, links of a `nofollow` page are not
    followed."""
    follow_nofollow_links: bool = True
    """False: a URL whose only links have rel=nofollow is not visited."""
    retry_for_s: float = Field(300.0, ge=0, le=86_400)
    """How long a robots.txt that returns 5xx, 429 or nothing is requested again before its URLs are skipped."""
    max_crawl_delay_s: float = Field(60.0, ge=0, le=3600)
    """A longer Crawl-delay is cut to this."""
    cache_s: float = Field(86_400.0, ge=0, le=86_400)
    """How long the robots.txt of an origin is cached. The first run of a project requests it again if the stored
    copy, which projects share, is older than an hour."""
