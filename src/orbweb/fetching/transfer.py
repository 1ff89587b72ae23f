"""One request on one curl handle: its options, its callbacks, and how much of the response is read.

A socket is created only for an address that the guard accepts for this connection. The body of a redirect is not
decoded, and no body is decoded twice. A compressed body that ends too early is marked as truncated.
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pycurl

from orbweb.fetching import Listener, Validators, Want, content_coding, request_head, response_head
from orbweb.fetching.guard import Guard, Pin
from orbweb.fetching.headers import Identity, Lines, without_passwords
from orbweb.fetching.proxies import Proxies, Proxy, no_proxy
from orbweb.fetching.suspension import Moment
from orbweb.model import Failed, FailKind, Head
from orbweb.parsing import http_heads
from orbweb.parsing.encodings import UNDECLARED, media_type

DISCARD_BYTES = 64 * 1024
HEAD_BYTES = 256 * 1024
MOST_INTERIM = 100
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Errors of socket() that have nothing to do with the address."""

# Types whose body is read: those of pages, and those that pages are sent with by mistake.
READ_TYPES = ("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml")

_NOTHING: Mapping[bytes, str] = {}


@dataclass(frozen=True, slots=True)
class Egress:
    """The identity of requests, the proxies and the guard of their addresses, and the encoder of stored heads."""

    identity: Identity
    proxies: Proxies
    proxy_guard: Guard
    head_encoder: http_heads.HeadEncoder = field(default_factory=http_heads.HeadEncoder)


class Route(NamedTuple):
    """The checked addresses of a site and of the proxy in front of it."""

    pin: Pin
    proxy: Proxy | None = None
    proxy_pin: Pin | None = None


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Settings of all requests."""

    user_agent: str
    timeout_s: float
    connect_timeout_s: float
    max_bytes: int
    max_ratio: int
    ca_file: str
    connections: int


def worth_reading(content_type: str, want: Want) -> bool:
    kind = media_type(content_type)
    return want.any_type or kind in READ_TYPES or kind in UNDECLARED or (want.styles and kind == "text/css")


class _Socket(socket.socket):
    """Closes itself, because pycurl duplicates the descriptor and drops the object."""

    def __del__(self) -> None:
        if self.fileno() >= 0:
            self.close()


class Transfer:
    """A curl handle and its current request; reused for the next one. The public methods are curl's callbacks."""

    __slots__ = (
        "_connect_to",
        "_decoder",
        "_egress",
        "_guard",
        "_has_coded",
        "_has_head",
        "_head_lines",
        "_header_lines",
        "_interim",
        "_is_secure",
        "_lines",
        "_listener",
        "_max_bytes",
        "_new_connection",
        "_own",
        "_user_agent",
        "_via",
        "chunks",
        "curl",
        "failed",
        "found",
        "is_cut",
        "is_new",
        "is_sent",
        "lacks_file",
        "route",
        "set_cookies",
        "size",
        "started",
        "status",
        "ticket",
        "url",
        "want",
        "wanted",
    )

    def __init__(
        self, curl: pycurl.Curl, settings: HttpSettings, guard: Guard, egress: Egress, listener: Listener
    ) -> None:
        self.curl = curl
        self._max_bytes = settings.max_bytes
        self._guard = guard
        self._egress = egress
        self._listener = listener
        self._connect_to = ""
        self._new_connection = False
        self._is_secure = False
        self._header_lines: Lines = ()
        self._user_agent = settings.user_agent
        self._via: tuple[Proxy, str] | None = None
        curl.setopt(pycurl.HEADERFUNCTION, self.header)
        curl.setopt(pycurl.WRITEFUNCTION, self.write)
        curl.setopt(pycurl.PREREQFUNCTION, self.about_to_send)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self.open_socket)
        curl.setopt(pycurl.SOCKOPTFUNCTION, self.socket_opened)

    def begin(self, ticket: int, url: str, want: Want, route: Route, started: Moment) -> None:
        """Set the handle up for one request; options that did not change are not set again."""
        self.ticket = ticket
        self.url = url
        self.want = want
        self.route = route
        self.started = started
        self.failed: Failed | None = None
        self.set_cookies: Sequence[str] = ()
        self.status = 0
        self.found: Mapping[bytes, str] = _NOTHING
        self.chunks: list[bytes] = []
        self.size = 0
        self._decoder: content_coding.Decoder | None = None
        self._has_coded = False
        self.wanted = True
        self.is_cut = False
        self.is_sent = False
        self.is_new = False
        self.lacks_file = False
        self._lines: list[bytes] = []
        self._head_lines = 0
        self._interim = 0
        self._has_head = False
        if route.pin.connect_to != self._connect_to:
            self.curl.setopt(pycurl.CONNECT_TO, [route.pin.connect_to])
            self._connect_to = route.pin.connect_to
        is_secure = url.startswith("https:")
        if is_secure is not self._is_secure:
            self.curl.setopt(pycurl.PIPEWAIT, is_secure)
            self._is_secure = is_secure
        if want.new_connection is not self._new_connection:
            self.curl.setopt(pycurl.FRESH_CONNECT, want.new_connection)
            self._new_connection = want.new_connection
        self._own = lines = self._egress.identity.lines(url)
        if want.unless is not None:
            lines = (*lines, *_conditions(want.unless))
        if lines != self._header_lines:
            self.curl.setopt(pycurl.HTTPHEADER, list(lines))
            self._header_lines = lines
        if route.proxy is not None or self._via is not None:
            self._set_proxy(route)
        requested = self._egress.identity.requested_url(url)
        self.curl.setopt(pycurl.URL, requested)
        self.curl.setopt(pycurl.REQUEST_TARGET, requested[requested.index("/", 8) :])

    def _set_proxy(self, route: Route) -> None:
        """curl gets the name of the proxy with its checked address, so it never resolves a name itself."""
        proxy, pin = route.proxy, route.proxy_pin
        via = (proxy, pin.addresses[0]) if proxy is not None and pin is not None else None
        if via == self._via:
            return
        self._via = via
        if proxy is None or pin is None:
            self.curl.setopt(pycurl.PROXY, "")
            return
        address = pin.addresses[0]
        shown = f"[{address}]" if ":" in address else address
        self.curl.setopt(pycurl.RESOLVE, [f"-{proxy.site}", f"{proxy.site}:{shown}"])
        self.curl.setopt(pycurl.PROXY, proxy.url)
        if proxy.user is None:
            self.curl.unsetopt(pycurl.PROXYUSERNAME)
            self.curl.unsetopt(pycurl.PROXYPASSWORD)
        else:
            self.curl.setopt(pycurl.PROXYUSERNAME, proxy.user.encode())
            self.curl.setopt(pycurl.PROXYPASSWORD, proxy.password.encode())

    def open_socket(self, _purpose: int, address: pycurl.CurlSockAddr) -> socket.socket | int:
        """The last check, on the address that curl connects to."""
        route, found = self.route, str(address.addr[0])
        if route.proxy is None or route.proxy_pin is None:
            self.failed = self._guard.refusal(route.pin, found)
        else:
            refused = self._egress.proxy_guard.refusal(route.proxy_pin, found)
            self.failed = refused and no_proxy(route.proxy, refused)
        if self.failed is not None:
            return pycurl.SOCKET_BAD
        self.is_new = self.is_new or not self.is_sent
        try:
            created = _Socket(address.family, address.socktype, address.protocol)
        except OSError as error:
            self.lacks_file = error.errno in NO_ROOM
            return pycurl.SOCKET_BAD
        self.lacks_file = True
        return created

    def socket_opened(self, _fd: int, _purpose: int) -> int:
        """pycurl has duplicated the socket, which needs a descriptor too; without one this is not called."""
        self.lacks_file = False
        return pycurl.SOCKOPT_OK

    def about_to_send(self, *_addresses: object) -> int:
        """Stops curl from repeating a request after a broken connection: retries are counted and rate-limited by
        us."""
        if self.is_sent:
            return pycurl.PREREQFUNC_ABORT
        self.is_sent = True
        self._listener.sent(self.ticket)
        return pycurl.PREREQFUNC_OK

    def header(self, line: bytes) -> int | None:
        self._lines.append(line)
        return self._head_read() if len(line) <= 2 and not self._has_head else None

    def _head_read(self) -> int | None:
        """Called at the empty line: the head is complete and nothing of the body has been decoded."""
        self.status = status = response_head.status(self._lines[0])
        if status < 200:
            return self._another_interim()
        self._has_head = True
        self._head_lines = len(self._lines)
        self.found = response_head.headers(self._lines)
        if self._egress.identity.wants_cookies:
            self.set_cookies = response_head.cookies(self._lines)
        redirects = 300 <= status < 400
        self.wanted = not redirects and worth_reading(self.found.get(b"content-type", ""), self.want)
        coding = self.found.get(response_head.CODING)
        return self._prepare_decoding(coding) if coding is not None else None

    def _prepare_decoding(self, named: str) -> int | None:
        found = [name for name in named.split(",") if name not in content_coding.NO_CODING]
        if len(found) > 1:
            self.failed = Failed(FailKind.BAD_ENCODING, f"more than one content coding ({', '.join(found)})")
            return -1
        if found:
            self._decoder = content_coding.decoder(found[0])
        return None

    @property
    def coded(self) -> bool:
        """Whether the body is compressed."""
        return self._decoder is not None

    @property
    def truncated(self) -> bool:
        """Whether the compressed body that was read ended before its end mark."""
        return self._has_coded and self._decoder is not None and not self._decoder.ended and not self.is_cut

    def _another_interim(self) -> int | None:
        self._interim += 1
        self._lines.clear()
        if self._interim <= MOST_INTERIM:
            return None
        self.failed = Failed(FailKind.PROTOCOL, f"more than {MOST_INTERIM} interim responses (1xx)")
        return -1

    def head_is_too_large(self) -> bool:
        """libcurl fails at 300 KiB of headers, with only a general receive error."""
        return sum(map(len, self._lines)) > HEAD_BYTES

    def head(self) -> Head | None:
        """The heads of request and response as they are stored; None if no complete head arrived."""
        if not self._has_head:
            return None
        raw: Sequence[bytes] = self._lines[: self._head_lines]
        lines, query, identity = self._own, b"", self._egress.identity
        if identity.has_secrets:
            lines, query = identity.shown(lines), identity.shown_query(self.url)
            raw = identity.shown_response(raw)
        if b"@" in b"".join(raw):
            raw = without_passwords(raw)
        unless = self.want.unless
        request = request_head.template(self._user_agent, lines, self._version(raw[0]), query, unless)
        given = b"" if unless is None else request_head.values(unless, self.found, self.status)
        return self._egress.head_encoder.head(request, given, raw, self.found)

    def own_head(self) -> Head | None:
        """The heads in a form that can be decoded without the row of a visit."""
        head, found = self.head(), self.found
        if head is None:
            return None
        etag, modified = found.get(b"etag"), found.get(b"last-modified")
        if self.status == 304 and self.want.unless is not None:
            etag, modified = etag or self.want.unless.etag, modified or self.want.unless.last_modified
        return http_heads.whole(http_heads.decode(head, self.url, etag, modified))

    def _version(self, line: bytes) -> bytes:
        """The version of the request: libcurl falls back to 1.0 on a connection whose responses are 1.0."""
        version = line[:8]
        if version == b"HTTP/1.0" and self.curl.getinfo(pycurl.NUM_CONNECTS):
            return b"HTTP/1.1"
        return version.rstrip()

    def write(self, chunk: bytes) -> int | None:
        most = self.want.most or self._max_bytes
        if self._decoder is not None and self.wanted:
            self._has_coded = True
            try:
                chunk = self._decoder.decode(chunk, most - self.size + 1)
            except content_coding.BadCoding as error:
                self.failed = Failed(FailKind.BAD_ENCODING, str(error))
                return -1
        self.size += len(chunk)
        if not self.wanted:
            return -1 if self.size > DISCARD_BYTES else None
        if self.size > most:
            self._overflow(chunk[: most - self.size], most)
            return -1
        self.chunks.append(chunk)
        return None

    def _overflow(self, rest: bytes, most: int) -> None:
        """The body is longer than wanted: cut it off, or fail."""
        if self.want.cut:
            self.chunks.append(rest)
            self.is_cut = True
        else:
            self.failed = Failed(FailKind.TOO_LARGE, f"more than {most} bytes decoded (fetch.max_bytes)")

    def clear(self) -> None:
        """Free the body of an idle handle."""
        self.chunks = []
        self._lines = []
        self._decoder = None

    def latency_ms(self) -> int:
        return round((time.monotonic() - self.started.at) * 1000)


def _conditions(unless: Validators) -> Lines:
    tag = (f"If-None-Match: {unless.etag}",) if unless.etag else ()
    return (*tag, f"If-Modified-Since: {unless.last_modified}") if unless.last_modified else tag
