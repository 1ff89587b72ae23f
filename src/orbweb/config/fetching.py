"""Settings of how servers are asked: requests, proxies, how much and how fast, what robots may do.

Owns their limits and their meaning: the text under each is what the reference says of it.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from orbweb.config.notation import (
    NAME_A_VARIABLE,
    check_header,
    check_server,
    is_variable,
    read_proxy,
)
from orbweb.config.section import LARGEST, Section, YamlOff

MAX_WORKERS = 1024

_PARAM = re.compile(r"[A-Za-z0-9._~-]+")


class FetchSection(Section):
    """How one URL is asked for."""

    timeout_s: float = Field(30.0, gt=0, le=3600)
    """Longest time for one try, from connect to the last byte."""
    connect_timeout_s: float = Field(10.0, gt=0, le=600)
    """Longest time to reach the server."""
    retries: int = Field(2, ge=0, le=20)
    """Further tries after the first, for timeouts, broken connections, 408, 425 and 5xx."""
    backoff_s: float = Field(0.5, ge=0, le=60)
    """Wait before the first further try; doubled each time, with jitter."""
    backoff_cap_s: float = Field(8.0, ge=0, le=3600)
    """Longest wait between two tries."""
    busy_retries: int = Field(12, ge=0, le=1000)
    """Further tries for a host that answers 429, or 503 with Retry-After; they do not count as retries."""
    max_retry_after_s: float = Field(3600.0, ge=0, le=3600)
    """A host that asks for a longer pause (Retry-After) is left alone for this long."""
    max_bytes: int = Field(20_000_000, ge=1, le=2_000_000_000)
    """Largest decoded body. A larger one fails as `too_large`; it is never cut."""
    max_ratio: int = Field(200, ge=1, le=1_000_000)
    """A compressed body above 1 MB that is more than so many times its size on the wire fails as
    `decompression_bomb`."""
    allow_private: bool = False
    """Let links and redirects lead to addresses that are not public. Without it only the host and port of a base
    URL or of `resolve` may be there."""
    dns_servers: tuple[str, ...] = ()
    """ADDR or ADDR:PORT of the name servers to ask; none: those of the system."""
    headers: dict[str, str | None] = Field({})
    """Headers sent to the origins (scheme, host and port) of the base URLs and to no other. A secret is the name
    of an environment variable, such as `$SITE_TOKEN`; null takes a stored header back."""
    params: dict[str, str | None] = Field({})
    """Query parameters added to each request to these origins, such as `{token: $SITE_TOKEN}`: the value is the
    name of an environment variable. No URL that is kept or shown has one of them, wherever it was found; null
    takes a stored one back."""
    auth: str | None = None
    """`$NAME` of an environment variable that holds `user:password`: basic authentication, sent where `headers`
    are."""
    cookies: Annotated[Literal["off", "keep"], YamlOff] = "off"
    """`keep`: send cookies back to the very origin that set them, for one crawl. What pages say may then depend
    on the order in which they are asked for."""

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
                raise ValueError("a name is not that of a query parameter")
            if value is not None and not is_variable(value):
                raise ValueError(f"{name}: {NAME_A_VARIABLE}, such as $SITE_TOKEN")
        return params

    @field_validator("auth")
    @classmethod
    def _auth(cls, auth: str | None) -> str | None:
        if auth is not None and not is_variable(auth):
            raise ValueError(f"{NAME_A_VARIABLE}, such as $SITE_AUTH, that holds user:password")
        return auth

    @field_validator("dns_servers")
    @classmethod
    def _servers(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        for server in servers:
            check_server(server)
        return servers


class ProxyList(Section):
    """By which proxies servers are asked, in turn."""

    urls: tuple[str, ...] = ()
    """SCHEME://HOST:PORT of each proxy, or `$NAME` of an environment variable that holds it, as it must where
    there is a password. Schemes: http, https, socks4, socks5. None: servers are asked directly."""
    allow_private: bool = False
    """Proxies may be at addresses that are not public. `fetch.allow_private` allows it too."""

    @field_validator("urls")
    @classmethod
    def _urls(cls, found: tuple[str, ...]) -> tuple[str, ...]:
        for number, text in enumerate(found, 1):
            if not is_variable(text) and read_proxy(text, number).user is not None:
                raise ValueError(f"number {number} has a user or password in it; {NAME_A_VARIABLE}")
        return found


class LimitsSection(Section):
    """How much, how fast, how deep."""

    rate: float | Literal["max"] = 2.0
    """Requests per second to one host:port, evenly spaced. `max` is for servers you own."""
    workers: int = Field(5, ge=1, le=MAX_WORKERS)
    """Requests under way at once."""
    per_host: int | None = Field(None, ge=1, le=MAX_WORKERS)
    """Requests under way at one host:port, and so connections to it. Unset: 8, and no cap with rate `max`.
    `discover` and `scrape` take half of it each, and one at least."""
    slowest_s: float = Field(10.0, ge=0, le=3600)
    """Each 429 or 503 halves the rate of a host, down to one request in so many seconds."""
    budget: int | None = Field(None, ge=1, le=LARGEST)
    """URLs one crawl may visit. The rest stays queued for the next crawl."""
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
    """How robots.txt (RFC 9309) and what pages say to robots are obeyed."""

    obey: bool = True
    """robots.txt. False only for servers you own."""
    obey_directives: bool = True
    """meta robots and X-Robots-Tag: a `noindex` page is not kept, links of a `nofollow` page are not followed."""
    follow_nofollow_links: bool = True
    """False: a URL that is linked with rel=nofollow only is not visited."""
    retry_for_s: float = Field(300.0, ge=0, le=86_400)
    """A robots.txt that answers 5xx, 429 or not at all is asked for again so long; then its URLs are skipped."""
    max_crawl_delay_s: float = Field(60.0, ge=0, le=3600)
    """A longer Crawl-delay is cut to this."""
    cache_s: float = Field(86_400.0, ge=0, le=86_400)
    """How long the rules of an origin are kept."""
