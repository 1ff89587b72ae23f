"""URLs: resolution as in browsers, the canonical key, and the parts of a key. Pure.

The only definition of a URL's identity. Parsing follows WHATWG (ada). `canonicalize` is idempotent. A key or
target is http or https and has no fragment and no userinfo. An invalid URL, or one longer than `MAX_URL`, is
`None`, never an exception.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

import ada_url

from orbweb._hrefs import MAX_LENGTH, HrefDirectory, Memo

# Parameters that identify a click, a campaign or a visitor, never content. A trailing * matches a prefix.
# fmt: off
TRACKING_PARAMS = frozenset({
    "utm_*", "mtm_*", "pk_*", "piwik_*", "hsa_*", "matomo_*",
    "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "srsltid", "_ga", "_gl", "_gac",
    "fbclid", "igshid", "igsh", "msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", "epik",
    "s_kwcid", "wickedid", "rb_clickid",
    "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "__hstc", "__hssc", "__hsfp", "hsctatracking",
    "vero_id", "vero_conv", "oly_anon_id", "oly_enc_id", "ml_subscriber", "ml_subscriber_hash", "_openstat",
    "phpsessid", "jsessionid",
})
# fmt: on

MAX_URL = 8_192
"""Longest accepted URL in characters. Servers refuse longer ones; hostile pages fill memory with them."""

_HTTP = ("http://", "https://")
_AUTHORITY = 8
"""The first slash at or after this position ends the host of a key."""
_PORTS = {"http": 80, "https": 443}
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

# What a path or query may contain unchanged (RFC 3986: pchar, slash, question mark, and upper-case escapes of
# reserved characters); the rest is escaped or unescaped.
_CHARACTERS = r"A-Za-z0-9\-._~!$&'()*+,;=:@/?"
_ESCAPE = r"%(?!2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])[0-9A-F]{2}"
_SETTLED = re.compile(rf"(?:[{_CHARACTERS}]++|{_ESCAPE})*+", re.ASCII).fullmatch
_UNSETTLED = re.compile(rf"(?!{_ESCAPE})(?:%[0-9A-Fa-f]{{2}}|[^{_CHARACTERS}])", re.ASCII)
_USERINFO = re.compile(r"(?<=[/\\][/\\])[^/\\?#]*@")
_SECRET_VALUE = re.compile(
    r"([?&;](?:[^=&;?#\s]*(?:token|secret|passw|credential|signature|api[-_]?key|access[-_]?key|session)[^=&;?#\s]*"
    r"|key|sig|auth|jwt|pwd)=)[^&;#\s'\"<>]+",
    re.IGNORECASE,
)
_SLASHES = re.compile("/{2,}")
_PAGE_FILE = re.compile(
    r"\.(?:html?|xhtml|shtml|php\d?|phtml|aspx?|jspx?|cgi|cfm|md|txt|xml|rst|pdf|json)$", re.IGNORECASE
)

_PLAIN_FILE = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*").fullmatch

# A reference whose target depends only on the base's directory, not on its last segment or its query.
_BY_DIRECTORY = re.compile(r"(?!https?:(?!//))[A-Za-z0-9_~./%-][^\t\r\n]*", re.IGNORECASE).fullmatch
_MEMO_ENTRIES = 32_768


@dataclass(frozen=True, slots=True)
class UrlRules:
    """Which query parameters are part of a key. Names are compared without case; `utm_*` is a prefix.

    `keep_params` replaces `drop_params`: only the named parameters are kept, none if it is empty. `secret_params`,
    in lower case, are removed from the URL of a request too.
    """

    drop_params: frozenset[str] = TRACKING_PARAMS
    keep_params: tuple[str, ...] | None = None
    secret_params: frozenset[str] = frozenset()
    _names: frozenset[str] = field(init=False, repr=False, compare=False)
    _prefixes: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        listed = self.drop_params if self.keep_params is None else self.keep_params
        folded = {name.lower() for name in listed}
        prefixes = {name for name in folded if name.endswith("*")}
        object.__setattr__(self, "_names", frozenset(folded - prefixes))
        object.__setattr__(self, "_prefixes", tuple(sorted(name[:-1] for name in prefixes)))

    def keeps(self, name: str) -> bool:
        """Whether the parameter called `name` is part of a key."""
        folded = name.lower()
        listed = folded in self._names or folded.startswith(self._prefixes)
        return listed is (self.keep_params is not None)

    def public(self, href: str) -> str:
        """The href without the parameters that are secrets."""
        if not self.secret_params:
            return href
        front, mark, query = href.partition("?")
        if not mark:
            return href
        pieces = query.split("&")
        kept = [piece for piece in pieces if _settled(piece.partition("=")[0]).lower() not in self.secret_params]
        if len(kept) == len(pieces):
            return href
        return f"{front}?{'&'.join(kept)}" if kept else front


DEFAULT_RULES = UrlRules()


class Target(NamedTuple):
    """The target of a link: `key` is its identity, `url` is what a request uses."""

    key: str
    url: str


class Parts(NamedTuple):
    """The parts of a key; an IPv6 `host` has its brackets, `query` has no question mark."""

    scheme: str
    host: str
    port: int
    path: str
    query: str


def resolve(url: str, base: str | None = None) -> str | None:
    """The href of `url` (resolved against `base`) as in a browser, of any scheme; None if it is invalid."""
    try:
        return ada_url.normalize_url(url) if base is None else ada_url.join_url(base, url)
    except ValueError:
        return None


def canonicalize(url: str, rules: UrlRules = DEFAULT_RULES) -> str | None:
    """The key of an absolute http(s) URL, None for anything else."""
    found = target(url, rules=rules)
    return None if found is None else found.key


def target(url: str, base: str | None = None, *, rules: UrlRules = DEFAULT_RULES) -> Target | None:
    """The target of `url` (resolved against `base`); None if that is not a valid http(s) URL."""
    href = resolve(url, base) if len(url) <= MAX_URL else None
    if href is None or len(href) > MAX_URL or not href.startswith(_HTTP):
        return None
    return _judged(_without_secrets(href), rules)


def _judged(href: str, rules: UrlRules) -> Target:
    """The target of an http(s) href that has no fragment and no userinfo."""
    request = rules.public(href)
    key = _key(request, rules)
    return Target(request if key == request else key, request)


def split(key: str) -> Parts:
    """The parts of a key or of a target's URL."""
    scheme, _, rest = key.partition("://")
    authority, _, rest = rest.partition("/")
    path, _, query = rest.partition("?")
    host, port = _host_port(authority)
    return Parts(scheme, host, int(port) if port else _PORTS[scheme], "/" + path, query)


def path(key: str) -> str:
    """The path of a key, as in its parts; separate because it is needed for every link."""
    return key[key.index("/", _AUTHORITY) :].partition("?")[0]


def site(key: str) -> str:
    """The `host:port` of a key or target's URL: the unit of politeness."""
    return _site(key[: key.index("/", _AUTHORITY)])


@lru_cache(maxsize=4096)
def _site(origin: str) -> str:
    scheme, _, authority = origin.partition("://")
    host, port = _host_port(_undotted(authority))
    return f"{host}:{port or _PORTS[scheme]}"


def scope(key: str) -> str:
    """The key of the scope of a base URL: its directory if it names a file."""
    directory, _, name = key.partition("?")[0].rpartition("/")
    if not _PAGE_FILE.search(name) or directory.endswith("/"):
        return key
    return directory if directory.count("/") > 2 else f"{directory}/"


def scope_site(key: str) -> str:
    """The site for comparisons of scope: as `site`, but the default ports of http and https are equal and
    omitted."""
    return _scope_site(key[: key.index("/", _AUTHORITY)])


@lru_cache(maxsize=4096)
def _scope_site(origin: str) -> str:
    host, port = _host_port(origin.partition("://")[2])
    return host if port in ("", "80", "443") else f"{host}:{port}"


def same_site(left: str, right: str) -> bool:
    """Whether two keys have the same host name and port; the default ports of http and https are equal."""
    return scope_site(left) == scope_site(right)


class Resolver:
    """Resolves the hrefs of many pages to targets. One per worker, with the rules of one project.

    Targets are cached per directory, because the pages of a directory repeat each other's links. The cache is
    emptied when it has `entries` targets; a directory with a long name is not cached.
    """

    __slots__ = ("_directories", "_memo", "rules")

    def __init__(self, rules: UrlRules = DEFAULT_RULES, *, entries: int = _MEMO_ENTRIES) -> None:
        self.rules = rules
        self._memo = Memo(Target, partial(_judged, rules=rules), entries)
        self._directories = self._memo.directories

    def page(self, url: str) -> PageUrls | None:
        """The page at an absolute http(s) `url`, to resolve its hrefs; None if the URL is not one."""
        file = url.rfind("/") + 1
        directory = self._directories.get(url[:file])
        if directory is not None and _PLAIN_FILE(url, file):
            return PageUrls(self.rules, directory, Target(directory.prefix + url[file:], url))
        found = target(url, rules=self.rules)
        return None if found is None else PageUrls(self.rules, self._directory(_directory_of(found.url)), found)

    def _directory(self, url: str) -> HrefDirectory:
        known = self._directories.get(url)
        if known is None:
            own = Target(_key(url, self.rules), url)
            known = self._memo.enter(own, own.key.rstrip("/") + "/")
        return known


class PageUrls:
    """Resolves the links of one page: its own target, and the targets of its hrefs."""

    __slots__ = ("_known", "_rules", "directory", "own")

    def __init__(self, rules: UrlRules, directory: HrefDirectory, own: Target) -> None:
        self._rules = rules
        self._known = directory.known
        self.directory = directory
        self.own = own

    def target(self, href: str) -> Target | None:
        """The target of an href of this page; None if that is not a valid http(s) URL."""
        cut = href.find("#")
        if cut == 0:
            return self.own
        # A trailing blank is ignored, but a blank before a fragment is part of the path.
        if cut > 0 and href[cut - 1] > " ":
            href = href[:cut]
        try:
            return self._known[href]
        except KeyError:
            return self.resolve(href)

    def resolve(self, href: str) -> Target | None:
        """The target of an href that is not cached in this directory; its fragment is removed already."""
        if not href:
            return self.own
        if self.directory.is_plain(href):
            return self._known[href]
        if len(href) > MAX_LENGTH or not _BY_DIRECTORY(href):
            return target(href, self.own.url, rules=self._rules)
        found = target(href, self.directory.own.url, rules=self._rules)
        return self.directory.learn(href, found)


def _directory_of(url: str) -> str:
    path = url.partition("?")[0]
    return path[: path.rindex("/") + 1]


def shown(text: str) -> str:
    """Text with URLs, valid or not, as it may be shown: without user names, passwords, and values of query
    parameters whose names indicate a secret."""
    return _SECRET_VALUE.sub(r"\1***", _USERINFO.sub("", text))


def _without_secrets(href: str) -> str:
    """An http(s) href without fragment and userinfo."""
    href = href.partition("#")[0]
    scheme, _, rest = href.partition("://")
    authority, _, rest = rest.partition("/")
    if "@" not in authority:
        return href
    return f"{scheme}://{authority.rpartition('@')[2]}/{rest}"


def _key(url: str, rules: UrlRules) -> str:
    """The key of an http(s) href that has no fragment and no userinfo."""
    scheme, _, rest = url.partition("://")
    authority, _, rest = rest.partition("/")
    path, _, query = rest.partition("?")
    if authority.endswith(".") or ".:" in authority:
        authority = _undotted(authority)
    path = _settled(path)
    if "//" in path:
        path = _SLASHES.sub("/", path)
    path = path.strip("/")
    if query:
        query = _query(query, rules)
    return f"{scheme}://{authority}/{path}?{query}" if query else f"{scheme}://{authority}/{path}"


def _undotted(authority: str) -> str:
    """Remove the trailing dot of a fully qualified host name. Two dots stay: that is not a valid name."""
    host, port = _host_port(authority)
    if host == "." or not host.endswith(".") or host.endswith(".."):
        return authority
    return f"{host[:-1]}:{port}" if port else host[:-1]


def _host_port(authority: str) -> tuple[str, str]:
    host, colon, port = authority.rpartition(":")
    return (host, port) if colon and not port.endswith("]") else (authority, "")


def _query(query: str, rules: UrlRules) -> str:
    kept = []
    for piece in _settled(query).replace("%20", "+").split("&"):
        name = piece.partition("=")[0]
        if name and rules.keeps(name):
            kept.append(piece)
    return "&".join(sorted(kept))


def _settled(text: str) -> str:
    """The canonical spelling of a path or query: unreserved characters unescaped, others escaped if needed."""
    return text if _SETTLED(text) else _UNSETTLED.sub(_settle, text)


def _settle(match: re.Match[str]) -> str:
    text = match.group()
    if len(text) == 1:
        return f"%{ord(text):02X}"
    character = chr(int(text[1:], 16))
    return character if character in _UNRESERVED else text.upper()
