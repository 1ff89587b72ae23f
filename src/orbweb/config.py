"""Typed settings: defaults, then a profile, the project's own, a YAML file, the environment, the flags.

Owns every setting and its limits. Always holds: an unknown or wrong key is refused with the file,
variable or option, the key and the reason; nothing is guessed. Settings are stored, secrets are not: a setting
that needs one names an environment variable (`$NAME`), which is read at the start of a crawl, and no error
quotes what stands where a secret may stand. Imports pydantic, so it is imported late.
"""

from __future__ import annotations

import ast
import base64
import difflib
import inspect
import re
import reprlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from orbweb import __version__
from orbweb.errors import ConfigError

if TYPE_CHECKING:
    import yaml

MAX_WORKERS = 1024
PATTERN_BYTES = 1000
PROFILES = ("docs", "site", "github")

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100

# What stands at these keys may be a secret, rightly or by mistake: no error quotes it.
_UNQUOTED = ("fetch.headers", "fetch.params", "fetch.auth", "proxy.urls")
_VARIABLE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]{1,100}")
_SECRET = re.compile(r"auth|cookie|token|secret|passw|credential|session|signature|api[-_]?key|access[-_]?key")
_PARAM = re.compile(r"[A-Za-z0-9._~-]+")
_OURS = {
    "host": "the URL says it",
    "user-agent": "use user_agent",
    "accept-encoding": "orbweb says what it can decode",
    "proxy-authorization": "it belongs into the URL of the proxy (proxy.urls)",
}
_FRAMING = re.compile(
    r"connection|content-(length|encoding)|expect|http2-settings|keep-alive|proxy-connection|range|te|trailer"
    r"|transfer-encoding|upgrade|if-(match|none-match|modified-since|unmodified-since|range)"
)
PROXY_SCHEMES = {"http": 80, "https": 443, "socks4": 1080, "socks5": 1080, "socks5h": 1080}

Settings = dict[str, Any]
Pattern = Annotated[str, Field(min_length=1, max_length=PATTERN_BYTES)]
HostName = Annotated[str, Field(pattern=r"^(\*\.)?[^*/?#@\s]+$", max_length=260)]
_NAME = r"^[a-z][a-z0-9_]{0,49}$"


YamlOff = BeforeValidator(lambda value: "off" if value is False else value)
"""YAML reads a bare `off` as false."""


class Section(BaseModel):
    """A part of the configuration. Unknown keys are errors.

    The checks of all parts are built once, with those of the whole, when settings are first checked: built part by
    part, they would take a good share of the time a command needs to start.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Fetch(Section):
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
    headers: dict[str, str | None] = {}
    """Headers sent to the origins (scheme, host and port) of the base URLs and to no other. A secret is the name
    of an environment variable, such as `$SITE_TOKEN`; null takes a stored header back."""
    params: dict[str, str | None] = {}
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
            _check_header(name.lower(), value)
        return {name.lower(): value for name, value in headers.items()}

    @field_validator("params")
    @classmethod
    def _params(cls, params: dict[str, str | None]) -> dict[str, str | None]:
        for name, value in params.items():
            if not _PARAM.fullmatch(name):
                raise ValueError("a name is not that of a query parameter")
            if value is not None and not _VARIABLE.fullmatch(value):
                raise ValueError(f"{name}: {_NAME_A_VARIABLE}, such as $SITE_TOKEN")
        return params

    @field_validator("auth")
    @classmethod
    def _auth(cls, auth: str | None) -> str | None:
        if auth is not None and not _VARIABLE.fullmatch(auth):
            raise ValueError(f"{_NAME_A_VARIABLE}, such as $SITE_AUTH, that holds user:password")
        return auth

    @field_validator("dns_servers")
    @classmethod
    def _servers(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        for server in servers:
            _check_server(server)
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
            if not _VARIABLE.fullmatch(text) and read_proxy(text, number).user is not None:
                raise ValueError(f"number {number} has a user or password in it; {_NAME_A_VARIABLE}")
        return found


class Limits(Section):
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
    budget: int | None = Field(None, ge=1)
    """URLs one crawl may visit. The rest stays queued for the next crawl."""
    page_limit: int | None = Field(None, ge=1)
    """Unique pages per base URL."""
    max_depth: int | None = Field(None, ge=0)
    """Links from a base URL (depth 0)."""

    @field_validator("rate")
    @classmethod
    def _positive(cls, rate: float | str) -> float | str:
        if not isinstance(rate, str) and not 0 < rate <= 100_000:
            raise ValueError("must be more than 0 and at most 100000 requests per second, or max")
        return rate


class Scope(Section):
    """Which URLs belong to the project."""

    strict_path: bool = True
    """`/api` covers `/api` and `/api/...` but not `/api-blog`. False: any path that starts with it."""
    external_hops: int = Field(0, ge=0, le=5)
    """Steps outside the base URLs that are followed."""
    include: tuple[Pattern, ...] = ()
    """RE2 patterns searched in the whole canonical URL; when given, a URL must match one."""
    exclude: tuple[Pattern, ...] = ()
    """RE2 patterns; a URL that matches one is skipped."""
    park_traps: bool = True
    """URLs that a site makes up for ever (calendars, session ids, repeated paths) are skipped until released."""


class PageType(Section):
    """URLs of one type."""

    type: str = Field(pattern=_NAME)
    pattern: Pattern
    score: int = Field(0, ge=-1000, le=1000)

    @field_validator("type")
    @classmethod
    def _not_all(cls, name: str) -> str:
        if name == "pages":
            raise ValueError("pages is the cap on all types, so no type can have this name")
        return name


class Score(Section):
    """URLs that have their turn sooner or later than others of their depth."""

    pattern: Pattern
    score: int = Field(ge=-1000, le=1000)


class Group(Section):
    """URLs of which only so many are visited."""

    name: str = Field(pattern=_NAME)
    pattern: Pattern
    caps: dict[str, Annotated[int, Field(ge=0)]] = Field(min_length=1)
    types: tuple[str, ...] = ()
    fold_case: bool = False


class Policy(Section):
    """The rules of a host: which URLs may be asked for, how many of a kind, and in which order."""

    hosts: tuple[HostName, ...] = ()
    """Hosts that are the scope: with them a URL is internal if it is on one of them, whatever the paths of the
    base URLs. `example.org` is that host alone, `*.example.org` each host below it."""
    deny_subdomains: tuple[HostName, ...] = ()
    """Hosts that are refused with all hosts below them, even if `hosts` or external hops would let them in."""
    allow: tuple[Pattern, ...] = ()
    """RE2 patterns searched in the whole canonical URL; when given, a URL must match one, and one of
    `scope.include` if that is given too."""
    deny: tuple[Pattern, ...] = ()
    """RE2 patterns; a URL that matches one of them, or one of `scope.exclude`, is skipped."""
    page_types: tuple[PageType, ...] = ()
    """Each with `type`, `pattern` and perhaps `score`: the first pattern that matches gives a URL its type. Others
    are of type `page`."""
    scores: tuple[Score, ...] = ()
    """Each with `pattern` and `score`, -1000 to 1000: the first that matches goes before the score of the page
    type. Of URLs of one depth those with a higher score have their turn first; without a rule it is 0."""
    groups: tuple[Group, ...] = ()
    """Each with `name`, `pattern` and `caps`, perhaps `types` and `fold_case: true`. URLs (of these page types) in
    which the named parts of the pattern, such as `(?P<owner>[^/]+)`, are the same are one group, of which at most
    so many are admitted: `pages` in all, other caps by page type."""
    contact_required: bool = False
    """A crawl does not begin without a contact in `user_agent`: `+https://...` or `+mailto:...`. Otherwise it
    warns, unless all base URLs are on this machine or at private addresses."""
    terms: tuple[str, ...] = ()
    """Links to the terms under which the hosts let themselves be crawled, shown when a crawl begins."""


class Urls(Section):
    """What makes two URLs the same."""

    drop_params: tuple[str, ...] = ()
    """Query parameters dropped besides the built-in tracking parameters."""
    keep_params: tuple[str, ...] | None = None
    """When given, only these query parameters are kept; an empty list drops the query, from requests too."""


class Robots(Section):
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


class Sitemap(Section):
    """Which sitemaps are read."""

    mode: Annotated[Literal["auto", "only", "off"], YamlOff] = "auto"
    """`auto`: those that robots.txt lists and /sitemap.xml. `only`: no links are followed besides. `off`: none."""
    max_files: int = Field(1000, ge=1, le=100_000)
    """Files that are read in a run, those of an index included."""
    max_urls: int = Field(500_000, ge=1)
    """URLs that are taken from sitemaps in a run."""


class Resources(Section):
    """What pages load: scripts, styles, images, fonts."""

    mode: Annotated[Literal["off", "check", "store"], YamlOff] = "off"
    """`check`: visit them too, in the same queue and budget. `store`: keep their bodies, and those of every other
    answer that is no page."""


class Cache(Section):
    """What earlier runs of the workspace captured, and a run may take over."""

    max_age_s: float = Field(0.0, ge=0, le=3_153_600_000)
    """A page captured at most so long before the run began is taken as it is, and nothing is sent. 0: every page
    is asked for, and taken over if the server says that it is unchanged (304)."""


class Recrawl(Section):
    """When `recrawl --due` asks for a page again: how often it changes is estimated from the runs there are."""

    min_interval_s: float = Field(3_600.0, ge=0, le=3_153_600_000)
    """A page that was asked for less than this long before the run began is not due, however often it changes."""

    max_interval_s: float = Field(2_592_000.0, ge=0, le=3_153_600_000)
    """A page that was asked for longer ago than this is due, however seldom it changes [30 days]."""


class Content(Section):
    """What is made of pages."""

    tokens: str = Field("estimate", min_length=1, max_length=100)
    """What counts tokens: `estimate`, which needs nothing, or an encoding of tiktoken such as `o200k_base`, which
    needs `orbweb[tokens]` and its data on this machine. Nothing is downloaded."""


class Engine(Section):
    """How the work is ordered and shared."""

    order: Literal["strict", "relaxed"] = "strict"
    """`strict`: one order for the whole run. `relaxed`: one order per host, results as they come."""
    processes: int | None = Field(None, ge=0, le=64)
    """Worker processes that parse, read, hash and compress. Unset: none, until a hundred pages come in four
    seconds; then cores - 1, at least 2 and at most 4. 0: inside the main process. Very large pages have a process
    of their own, started when the first comes."""
    defer_s: float = Field(120.0, gt=0, le=86_400)
    """In strict order: a host that keeps everyone waiting so long (Retry-After, no robots.txt) has its URLs
    put back, and the order moves on."""
    window: int = Field(1024, ge=8, le=65536)
    """Places that may be leased and not yet committed; a crash costs at most so many refetches."""
    window_bytes: int = Field(64_000_000, ge=1_000_000)
    """Bytes of finished results that may wait for their turn."""
    group_pages: int = Field(512, ge=1, le=8192)
    """Commits per database transaction at most."""
    group_ms: int = Field(500, ge=1, le=10_000)
    """Longest time a commit waits for its transaction."""


class Store(Section):
    """Where bodies go."""

    layout: Literal["segments", "files"] = "segments"
    """`segments`: few append-only files. `files`: one file a body under store/html/aa/bb."""
    compress: bool = True
    """With `files`: write .html.zst rather than .html."""
    file_mode: int = Field(0o600, ge=0, le=0o777)
    """Permissions of the files of the `files` layout."""
    reserve_mb: int = Field(64, ge=0)
    """While less disk space is free nothing is asked for; a crawl goes on when there is a quarter more."""


class Spool(Section):
    """What discovery hands to scraping."""

    rotate_mb: float = Field(64.0, gt=0, le=100_000)
    """A file that has grown to this is followed by another."""
    rotate_s: float = Field(3_600.0, gt=0, le=31_536_000)
    """So is one that is as old as this."""
    max_backlog_gb: float = Field(1.0, gt=0, le=100_000)
    """When more than this is not yet scraped, discovery waits until it is less than 80 % of it."""
    keep: Literal["all", "archive", "none"] = "all"
    """What becomes of a file when scraping has gone on to the next: it stays, goes to spool/archive, or is
    deleted."""


class Outputs(Section):
    """Files that follow a crawl in the workspace; each is made again if it is lost."""

    pages: bool = True
    """`logs/pages-<run>.csv`: a row a visit, with seventeen columns."""
    edges: bool = True
    """`logs/edges-<run>.csv`: a row a link."""
    metadata: bool = True
    """`metadata/crawl_metadata-<run>.jsonl`: an object a visit; `metadata/crawl_metadata.jsonl` leads to it."""
    raw: bool = False
    """Cells as they are, also those that a spreadsheet would compute."""


class Metrics(Section):
    """Counters of a crawl."""

    flush_interval_sec: float = Field(10.0, ge=0, le=86_400)
    """`logs/crawler_metrics-<run>.csv` gets a row a counter so often, and at the end. 0: it is not written."""
    host: str = Field("127.0.0.1", min_length=1, max_length=255)
    """The address at which `--metrics-port` listens. Whoever can reach it can read the counters."""


class Config(Section):
    """All settings of a project."""

    user_agent: str = Field(f"orbweb/{__version__}", min_length=1, max_length=500)
    """Sent with every request. Name a contact, e.g. `mybot/1.0 (+https://example.org/bot)`."""
    profile: Literal["docs", "site", "github"] | None = None
    """Settings that come with orbweb, below all others: the project keeps the name, not what it stands for."""
    incremental: bool = True
    """`crawl` resumes a paused run; false finishes it and starts a new one."""
    resolve: tuple[str, ...] = ()
    """HOST:PORT:ADDR[:PORT] pins, for tests and staging."""
    fetch: Fetch = Fetch.model_construct()
    proxy: ProxyList = ProxyList.model_construct()
    limits: Limits = Limits.model_construct()
    scope: Scope = Scope.model_construct()
    policy: Policy = Policy.model_construct()
    urls: Urls = Urls.model_construct()
    robots: Robots = Robots.model_construct()
    sitemap: Sitemap = Sitemap.model_construct()
    resources: Resources = Resources.model_construct()
    content: Content = Content.model_construct()
    cache: Cache = Cache.model_construct()
    recrawl: Recrawl = Recrawl.model_construct()
    engine: Engine = Engine.model_construct()
    store: Store = Store.model_construct()
    outputs: Outputs = Outputs.model_construct()
    metrics: Metrics = Metrics.model_construct()
    spool: Spool = Spool.model_construct()

    @field_validator("user_agent")
    @classmethod
    def _one_line(cls, agent: str) -> str:
        if not (agent.isascii() and agent.isprintable()):
            raise ValueError("must be one line of printable ASCII")
        return agent

    @field_validator("resolve")
    @classmethod
    def _pins(cls, pins: tuple[str, ...]) -> tuple[str, ...]:
        for pin in pins:
            read_pin(pin)
        return pins


class Pin(NamedTuple):
    """A host and port, and the address and port that are asked in their stead. Brackets are kept."""

    host: str
    port: str
    address: str
    target_port: str


def read_pin(text: str) -> Pin:
    """HOST:PORT:ADDR[:PORT], or ValueError."""
    host, rest = _take_host(text)
    port, _, target = rest.partition(":")
    address, rest = _take_host(target)
    target_port = rest or port
    if not (host and address and _is_port(port) and _is_port(target_port)):
        raise ValueError(f"{text!r} is not HOST:PORT:ADDR or HOST:PORT:ADDR:PORT")
    return Pin(host, port, address, target_port)


class ProxyUrl(NamedTuple):
    """A proxy as a user names it. `host` keeps its brackets."""

    scheme: str
    host: str
    port: int
    user: str | None
    password: str


def read_proxy(text: str, number: int) -> ProxyUrl:
    """SCHEME://[USER:PASSWORD@]HOST:PORT, or a ValueError that says which of the list it is; it quotes nothing."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"number {number} is not a URL such as http://proxy.example:3128") from None
    if parts.scheme not in PROXY_SCHEMES:
        raise ValueError(
            f"number {number}: a proxy starts with one of {', '.join(f'{s}://' for s in PROXY_SCHEMES)}"
        )
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment or not text.isprintable():
        raise ValueError(f"number {number} is not SCHEME://HOST:PORT")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    user = unquote(parts.username) if parts.username is not None else None
    return ProxyUrl(parts.scheme, host, port or PROXY_SCHEMES[parts.scheme], user, unquote(parts.password or ""))


_NAME_A_VARIABLE = "settings are stored, so name an environment variable instead"


def _check_header(name: str, value: str | None) -> None:
    if not _TOKEN.fullmatch(name):
        raise ValueError("a name is not that of a header")
    if name in _OURS:
        raise ValueError(f"{name} cannot be set: {_OURS[name]}")
    if _FRAMING.fullmatch(name):
        raise ValueError(f"{name} cannot be set: orbweb sends it where it is needed")
    if value is None or _VARIABLE.fullmatch(value):
        return
    if _SECRET.search(name):
        raise ValueError(f"{name} looks like a secret; {_NAME_A_VARIABLE}, such as $SITE_TOKEN")
    if not _is_header_value(value):
        raise ValueError(f"{name}: a value is one line of printable characters")


def _is_header_value(value: str) -> bool:
    return bool(value.strip()) and all(character.isprintable() or character == "\t" for character in value)


def has_secrets(fetch: Fetch) -> bool:
    """Whether something is sent that only the environment knows."""
    values = [value for value in fetch.headers.values() if value is not None]
    return fetch.auth is not None or any(_VARIABLE.fullmatch(value) for value in values)


def sent_headers(fetch: Fetch, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers as they are sent, secrets and basic authentication included."""
    headers = {}
    for name, value in fetch.headers.items():
        if value is not None:
            headers[name] = _value(f"fetch.headers: {name}", value, environ)
            if not _is_header_value(headers[name]):
                raise ConfigError(f"fetch.headers: {name}: {value} is not one line of printable characters")
    if fetch.auth is not None:
        pair = _value("fetch.auth", fetch.auth, environ)
        if ":" not in pair or not pair.isprintable():
            raise ConfigError(f"fetch.auth: the environment variable {fetch.auth[1:]} does not hold user:password")
        if "authorization" in headers:
            raise ConfigError("fetch.auth and fetch.headers both set authorization; keep one of them")
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    return headers


def sent_params(fetch: Fetch, environ: Mapping[str, str]) -> dict[str, str]:
    """The query parameters as they are sent."""
    given = {name: value for name, value in fetch.params.items() if value is not None}
    return {name: _value(f"fetch.params: {name}", value, environ) for name, value in given.items()}


def proxies(proxy: ProxyList, environ: Mapping[str, str]) -> list[ProxyUrl]:
    """The proxies in their order, those from the environment included."""
    found = []
    for number, text in enumerate(proxy.urls, 1):
        try:
            found.append(read_proxy(_value("proxy.urls", text, environ), number))
        except ValueError as error:
            source = f" (environment variable {text[1:]})" if _VARIABLE.fullmatch(text) else ""
            raise ConfigError(f"proxy.urls{source}: {error}") from None
    return found


def _value(key: str, text: str, environ: Mapping[str, str]) -> str:
    """The text, or what the environment variable it names holds."""
    if not _VARIABLE.fullmatch(text):
        return text
    value = environ.get(text[1:], "")
    if not value:
        raise ConfigError(f"{key}: the environment variable {text[1:]} is not set; export it before the crawl")
    return value


def _check_server(text: str) -> None:
    """ADDR or ADDR:PORT, an IPv6 address with a port in brackets; ValueError otherwise."""
    host, port = (text, "53") if text.count(":") > 1 and not text.startswith("[") else _take_host(text)
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        host = ""
    if not host or not _is_port(port or "53"):
        raise ValueError(f"{text!r} is not an IP address, or an IP address and a port such as 192.0.2.1:53")


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 65536


def _take_host(text: str) -> tuple[str, str]:
    """The host before the next colon, brackets kept, and what follows; an unclosed bracket is no host."""
    if text.startswith("["):
        host, closed, rest = text.partition("]")
        joined = closed and (not rest or rest.startswith(":"))
        return (host + "]", rest[1:]) if joined else ("", "")
    host, _, rest = text.partition(":")
    return host, rest


def read_file(path: Path) -> Settings:
    """The settings of a YAML file, checked as they stand and plain enough to be stored."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {_reason(error)}") from error
    loaded = _read_yaml(text, source=str(path))
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: expected keys such as `limits:`, found {type(loaded).__name__}")
    return given(loaded, source=str(path))


def profile_text(name: str) -> str:
    """A profile as it is shipped: YAML with comments."""
    if name not in PROFILES:
        raise ConfigError(f"profile: {name!r} is none; there are {', '.join(PROFILES)}")
    return (files("orbweb") / "profiles" / f"{name}.yaml").read_text(encoding="utf-8")


def read_profile(name: str | None) -> Settings:
    """The settings that the profile stands for."""
    if name is None:
        return {}
    source = f"profile {name}"
    return given(_read_yaml(profile_text(name), source=source), source=source)


_CONTACT = re.compile(r"\+(https://|mailto:)[^\s()<>;,]+\.[^\s()<>;,]+")


def has_contact(user_agent: str) -> bool:
    """Whether the agent says how to reach who runs it: +https://... or +mailto:..."""
    return _CONTACT.search(user_agent) is not None


def read_environment(environ: Mapping[str, str]) -> Settings:
    """Settings from variables such as ORBWEB_LIMITS__RATE=5 or ORBWEB_USER_AGENT=probe/1."""
    settings: Settings = {}
    for name, text in sorted(environ.items()):
        section, nested, key = name.removeprefix("ORBWEB_").lower().partition("__")
        if not name.startswith("ORBWEB_") or not (nested or section in Config.model_fields):
            continue
        source = f"environment variable {name}"
        value = _read_yaml(text, source=source)
        settings = merge(settings, given({section: {key: value} if nested else value}, source=source))
    return settings


def _read_yaml(text: str, *, source: str) -> Any:
    """Imported when there is something to read: most crawls have neither file nor variables."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not valid YAML: {_yaml_reason(error)}") from None


def given(settings: Mapping[str, Any], *, source: str) -> Settings:
    """The settings that were given, checked, as JSON can hold them."""
    return build(settings, source=source).model_dump(mode="json", exclude_unset=True)


def merge(*layers: Mapping[str, Any]) -> Settings:
    """Later layers win, key by key."""
    merged: Settings = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            nested = isinstance(below, dict) and isinstance(value, dict)
            merged[key] = merge(below or {}, value) if nested else value
    return merged


def build(settings: Mapping[str, Any], *, source: str) -> Config:
    """Check the settings; `source` is named in the error."""
    try:
        return Config.model_validate(dict(settings))
    except ValidationError as error:
        problems = "; ".join(_explain(problem) for problem in error.errors())
        raise ConfigError(f"{source}: {problems}") from None


def keys(section: type[Section] = Config, prefix: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every setting as (dotted key, meaning, default), for the reference."""
    meanings = _meanings(section)
    for name, field in section.model_fields.items():
        default = field.get_default()
        if isinstance(default, Section):
            yield from keys(type(default), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", meanings.get(name, ""), default


@cache
def _meanings(section: type[Section]) -> dict[str, str]:
    """The text under each field. Read from the source, because only the reference needs it."""
    body = cast("ast.ClassDef", ast.parse(inspect.getsource(section)).body[0]).body
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def values(section: Section, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting as (dotted key, value)."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from values(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _explain(problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"] if part not in ("float", "literal['max']"))
    if problem["type"] == "extra_forbidden":
        close = difflib.get_close_matches(key, [known for known, _, _ in keys()], n=1, cutoff=0.5)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"unknown key {key}{hint}"
    message = problem["msg"].removeprefix("Value error, ")
    if key.startswith(_UNQUOTED) or key in ("fetch", "proxy"):
        return f"{key}: {message}"
    return f"{key}: {message}, got {_SHORT.repr(problem['input'])}"


# An unknown alias, anchor or tag is quoted by the YAML reader; it may be a password that begins with * & or !.
_QUOTED = re.compile(r"(?<=[\s(])(?!'<[a-z ]+>'|'.'|\".\")(['\"]).+\1")


def _yaml_reason(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = _QUOTED.sub("...", getattr(error, "problem", None) or "unreadable")
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8 text"
