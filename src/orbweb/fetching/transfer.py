"""One request on one curl handle: what is set before it, what its callbacks keep, and the caps on both.

Owns the decision how much of an answer is read. Always holds: a socket is made only for an address that the guard
accepts for this very connection; nothing of a redirect is decoded, and no answer is decoded twice; a compressed
body that ends too early is known as such. Never knows of other requests or of the event loop: that is `http`'s.
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import pycurl

from orbweb.fetching import Listener, Validators, Want, content_coding, request_head
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
"""Why no socket can be made, though not because of where it leads."""

# Types whose body is read: what may be a page, or may turn out to be one when the header lies.
READ_TYPES = ("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml")

_CODING = b"content-encoding"
_SET_COOKIE = b"set-cookie"
ROBOTS_TAG = b"x-robots-tag"
_HEADERS = frozenset(
    (
        *(b"content-type", b"content-length", b"location", b"etag", b"last-modified"),
        *(b"retry-after", b"date", ROBOTS_TAG),
    )
)
_NOTHING: Mapping[bytes, str] = {}


@dataclass(frozen=True, slots=True)
class Egress:
    """Who asks, by which proxy, and which addresses a proxy may be at; and how heads are kept."""

    identity: Identity
    proxies: Proxies
    proxy_guard: Guard
    coder: http_heads.HeadEncoder = field(default_factory=http_heads.HeadEncoder)


class Route(NamedTuple):
    """The checked addresses of a site, and of the proxy it is asked by."""

    pin: Pin
    proxy: Proxy | None = None
    proxy_pin: Pin | None = None


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """What every request has in common."""

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
    """pycurl duplicates the file and drops the object, which therefore closes itself."""

    def __del__(self) -> None:
        if self.fileno() >= 0:
            self.close()


class Transfer:
    """A curl handle and the request it carries; used again for the next. Its methods are curl's callbacks."""

    __slots__ = (
        "_connect_to",
        "_decoder",
        "_egress",
        "_guard",
        "_has_coded",
        "_has_head",
        "_head_lines",
        "_interim",
        "_is_anew",
        "_is_secure",
        "_lines",
        "_listener",
        "_max_bytes",
        "_own",
        "_said",
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
        self._is_anew = False
        self._is_secure = False
        self._said: Lines = ()
        self._user_agent = settings.user_agent
        self._via: tuple[Proxy, str] | None = None
        curl.setopt(pycurl.HEADERFUNCTION, self.header)
        curl.setopt(pycurl.WRITEFUNCTION, self.write)
        curl.setopt(pycurl.PREREQFUNCTION, self.about_to_send)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self.open_socket)
        curl.setopt(pycurl.SOCKOPTFUNCTION, self.socket_opened)

    def begin(self, ticket: int, url: str, want: Want, route: Route, started: Moment) -> None:
        """Set the handle up for one request; what is as it was is not set again."""
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
        if want.anew is not self._is_anew:
            self.curl.setopt(pycurl.FRESH_CONNECT, want.anew)
            self._is_anew = want.anew
        self._own = said = self._egress.identity.lines(url)
        if want.unless is not None:
            said = (*said, *_conditions(want.unless))
        if said != self._said:
            self.curl.setopt(pycurl.HTTPHEADER, list(said))
            self._said = said
        if route.proxy is not None or self._via is not None:
            self._go_by(route)
        asked = self._egress.identity.asked(url)
        self.curl.setopt(pycurl.URL, asked)
        self.curl.setopt(pycurl.REQUEST_TARGET, asked[asked.index("/", 8) :])

    def _go_by(self, route: Route) -> None:
        """Set the proxy up. Its name is told to curl with its checked address; curl itself asks for no name."""
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
        """The last check, on the address itself."""
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
            made = _Socket(address.family, address.socktype, address.protocol)
        except OSError as error:
            self.lacks_file = error.errno in NO_ROOM
            return pycurl.SOCKET_BAD
        self.lacks_file = True
        return made

    def socket_opened(self, _fd: int, _purpose: int) -> int:
        """pycurl has duplicated the socket, which needs a file too; where there was none this is not called."""
        self.lacks_file = False
        return pycurl.SOCKOPT_OK

    def about_to_send(self, *_addresses: object) -> int:
        """curl would repeat a request whose connection broke by itself; that is for us to count and to space."""
        if self.is_sent:
            return pycurl.PREREQFUNC_ABORT
        self.is_sent = True
        self._listener.sent(self.ticket)
        return pycurl.PREREQFUNC_OK

    def header(self, line: bytes) -> int | None:
        self._lines.append(line)
        return self._head_read() if len(line) <= 2 and not self._has_head else None

    def _head_read(self) -> int | None:
        """An empty line: the head is whole, and nothing of the body has been decoded yet."""
        self.status = status = _status(self._lines[0])
        if status < 200:
            return self._another_interim()
        self._has_head = True
        self._head_lines = len(self._lines)
        self.found = _read_headers(self._lines)
        if self._egress.identity.hears:
            self.set_cookies = _read_cookies(self._lines)
        redirects = 300 <= status < 400
        self.wanted = not redirects and worth_reading(self.found.get(b"content-type", ""), self.want)
        return self._prepare_decoding(self.found[_CODING]) if _CODING in self.found else None

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
        """Whether the body that was read is compressed and has not come to its end."""
        return self._has_coded and self._decoder is not None and not self._decoder.ended and not self.is_cut

    def _another_interim(self) -> int | None:
        self._interim += 1
        self._lines.clear()
        if self._interim <= MOST_INTERIM:
            return None
        self.failed = Failed(FailKind.PROTOCOL, f"more than {MOST_INTERIM} interim answers (1xx)")
        return -1

    def head_is_too_large(self) -> bool:
        """libcurl gives up at 300 KiB of headers and says only that it could not receive."""
        return sum(map(len, self._lines)) > HEAD_BYTES

    def head(self) -> Head | None:
        """The heads of the request and of what was answered, as they are kept; None if no head came to its end."""
        if not self._has_head:
            return None
        raw: Sequence[bytes] = self._lines[: self._head_lines]
        said, query, identity = self._own, b"", self._egress.identity
        if identity.is_discreet:
            said, query = identity.shown(said), identity.shown_query(self.url)
            raw = identity.shown_answer(raw)
        if b"@" in b"".join(raw):
            raw = without_passwords(raw)
        unless = self.want.unless
        request = request_head.template(self._user_agent, said, self._version(raw[0]), query, unless)
        given = b"" if unless is None else request_head.values(unless, self.found, self.status)
        return self._egress.coder.head(request, given, raw, self.found)

    def own_head(self) -> Head | None:
        """The heads in a form that does not need the row of an answer."""
        head, found = self.head(), self.found
        if head is None:
            return None
        etag, modified = found.get(b"etag"), found.get(b"last-modified")
        if self.status == 304 and self.want.unless is not None:
            etag, modified = etag or self.want.unless.etag, modified or self.want.unless.last_modified
        return http_heads.whole(http_heads.decode(head, self.url, etag, modified))

    def _version(self, line: bytes) -> bytes:
        """The version of the request: libcurl falls back to 1.0 on a connection that has answered so."""
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
        """More than is wanted: the rest is cut off, or the whole is refused."""
        if self.want.cut:
            self.chunks.append(rest)
            self.is_cut = True
        else:
            self.failed = Failed(FailKind.TOO_LARGE, f"more than {most} bytes decoded (fetch.max_bytes)")

    def forget(self) -> None:
        """An idle handle keeps no body."""
        self.chunks = []
        self._lines = []
        self._decoder = None

    def latency_ms(self) -> int:
        return round((time.monotonic() - self.started.at) * 1000)


def _conditions(unless: Validators) -> Lines:
    tag = (f"If-None-Match: {unless.etag}",) if unless.etag else ()
    return (*tag, f"If-Modified-Since: {unless.last_modified}") if unless.last_modified else tag


@lru_cache(maxsize=64)
def _status(line: bytes) -> int:
    words = line.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def _read_headers(lines: list[bytes]) -> dict[bytes, str]:
    """The headers that matter here. Content codings may be spread over lines; of the others the last counts."""
    found: dict[bytes, str] = {}
    for name, value, between in filter(None, map(_header, lines)):
        found[name] = f"{found[name]}{between}{value}" if between and name in found else value
    return found


@lru_cache(maxsize=1024)
def _header(line: bytes) -> tuple[bytes, str, str] | None:
    """The name of a header that matters, its value, and what comes between several; empty if the last counts.

    Servers say mostly what they said before.
    """
    name, _, value = line.partition(b":")
    name = name.lower()
    if name == _CODING:
        return name, "".join(value.decode("ascii", "replace").lower().split()), ","
    if name in _HEADERS:
        return name, _printable(value.strip().decode("utf-8", "replace")), "\n" if name == ROBOTS_TAG else ""
    return None


def _read_cookies(lines: list[bytes]) -> list[str]:
    pairs = (line.partition(b":") for line in lines)
    return [value.strip().decode("utf-8", "replace") for name, _, value in pairs if name.lower() == _SET_COOKIE]


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
