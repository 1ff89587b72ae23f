"""Who may request what: pure decisions about the head of a request. `middleware` enforces them.

Always: a request is judged before any route sees it, in this order: host, origin, form of the body, token, scope.
A route is never reached without a token unless its path is in `PUBLIC`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from orbweb.app.tokens import Permission
from orbweb.server.credentials import Credentials, Identified

API = "/api/"
LOGIN = "/login"
STATIC = "/static/"
PUBLIC = frozenset({"/api/v1/health", LOGIN, "/favicon.ico"})
"""Need no token. `STATIC` is public too."""
PERSONAL = frozenset({"/logout", "/theme"})
"""Forms that change nothing but cookies of who sends them: any token may."""
READING = frozenset({"GET", "HEAD"})
OWN_SITE = frozenset({"same-origin", "none"})
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
LARGEST_BODY = 1 << 20
LARGEST_LOGIN = 1 << 14
"""The body of a login, which anyone may send."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not no-referrer: a browser would then send `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
CAPTURED = "sandbox; default-src 'none'"
"""The policy of a response with captured bytes."""

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?").fullmatch


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What is judged of a request. Header names are in lower case; a repeated header has several values."""

    method: str
    path: str
    scheme: str
    headers: Mapping[str, tuple[str, ...]]

    def header(self, name: str) -> str | None:
        """The value of a header that was sent once."""
        values = self.headers.get(name, ())
        return values[0] if len(values) == 1 else None

    @property
    def is_read(self) -> bool:
        return self.method in READING

    @property
    def is_api(self) -> bool:
        return self.path.startswith(API)

    @property
    def media_type(self) -> str | None:
        found = self.header("content-type")
        return found.partition(";")[0].strip().lower() if found is not None else None


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a request is refused."""

    status: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The names by which clients may call this server; a foreign page that rebinds its own name has another.

    `everywhere`: any IP address is allowed, because a name that is rebound is never one.
    """

    names: frozenset[str]
    everywhere: bool = False

    def allows(self, host: str | None) -> bool:
        found = _HOST(host or "")
        if found is None:
            return False
        name = found["name"].lower()
        if name in self.names or name == "localhost" or (host or "").lower() in self.names:
            return True
        address = address_of(name)
        return address is not None and (self.everywhere or address.is_loopback)


def address_of(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a server that is bound to this host."""
    address = address_of(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def allowed_hosts(host: str, more: Iterable[str]) -> AllowedHosts:
    """The names of a server that is bound to this host, and those that its user adds."""
    named = {name.lower() for name in more}
    if is_loopback(host):
        return AllowedHosts(frozenset(named))
    return AllowedHosts(frozenset({*named, host.lower()}), everywhere=True)


def judge(head: RequestHead, hosts: AllowedHosts, credentials: Credentials) -> Denial | Identified | None:
    """A denial, or who requests this: None for a public path."""
    denial = _judge_host(head, hosts) or _judge_origin(head) or _judge_body(head)
    if denial is not None:
        return denial
    if head.path in PUBLIC or head.path.startswith(STATIC):
        return None
    found = identify(head, credentials)
    if found is None:
        return Denial(401, "token_required", "send a token: `Authorization: Bearer TOKEN`, or log in at /login")
    if not head.is_read and found.permission < Permission.CRAWL and head.path not in PERSONAL:
        return scope_denial(Permission.CRAWL)
    if not head.is_read and head.is_api and found.session is not None and head.media_type != JSON:
        return _wrong_type(JSON)
    return found


def scope_denial(needed: Permission) -> Denial:
    return Denial(403, "scope_too_small", f"this needs a token with the scope {needed.word}")


def _judge_host(head: RequestHead, hosts: AllowedHosts) -> Denial | None:
    if hosts.allows(head.header("host")):
        return None
    return Denial(
        403, "host_not_allowed", "this server is not called by that name; see `orbweb serve --allow-host`"
    )


def _judge_origin(head: RequestHead) -> Denial | None:
    """A page of another origin may only link here. The scheme does not count: a proxy may have added TLS, and no
    two servers share a host and a port."""
    foreign = Denial(403, "foreign_origin", "requests of other origins are refused")
    origins, sites = head.headers.get("origin", ()), head.headers.get("sec-fetch-site", ())
    host = (head.header("host") or "").lower()
    if any(origin.lower() not in (f"http://{host}", f"https://{host}") for origin in origins):
        return foreign
    if all(site in OWN_SITE for site in sites):
        return None
    is_link = head.header("sec-fetch-mode") == "navigate" and head.header("sec-fetch-dest") == "document"
    return None if head.is_read and is_link and not head.is_api else foreign


def _judge_body(head: RequestHead) -> Denial | None:
    """A change is requested as JSON or, of a page, by a form: what another site can send unasked is neither, or
    lacks the form's token. A call of the API without a body needs no type, unless it comes with a cookie."""
    length = head.header("content-length")
    if length is not None and length.isdigit() and int(length) > largest_body(head):
        return too_large(largest_body(head))
    if head.is_read:
        return None
    has_body = "transfer-encoding" in head.headers or (length or "0") != "0"
    wanted = JSON if head.is_api else FORM
    has_type = "content-type" in head.headers
    if head.media_type != wanted and (has_type or has_body or not head.is_api):
        return _wrong_type(wanted)
    return None


def _wrong_type(wanted: str) -> Denial:
    return Denial(415, "wrong_media_type", f"send the body as {wanted}")


def largest_body(head: RequestHead) -> int:
    return LARGEST_LOGIN if head.path == LOGIN else LARGEST_BODY


def too_large(largest: int) -> Denial:
    return Denial(413, "body_too_large", f"a body may have {largest} bytes")


def identify(head: RequestHead, credentials: Credentials) -> Identified | None:
    """Who sends a request, by the token of its header or by the cookie of a login."""
    if "authorization" in head.headers:
        scheme, _, token = (head.header("authorization") or "").partition(" ")
        return credentials.by_token(token.strip()) if scheme.lower() == "bearer" else None
    cookie = cookie_of(head, credentials.cookie)
    return credentials.by_session(cookie) if cookie else None


def cookie_of(head: RequestHead, name: str) -> str | None:
    try:
        found = SimpleCookie("; ".join(head.headers.get("cookie", ()))).get(name)
    except CookieError:
        return None
    return found.value if found is not None else None
