"""HTTP by libcurl: many transfers on one event loop, HTTP/2 where the server speaks it.

Owns connections, timeouts, decoding and the cap on decoded bytes. Never follows a redirect, retries or
decides what an answer means: that is the engine's.
"""

from __future__ import annotations

import asyncio
import select
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

import certifi
import pycurl

from orbweb.encodings import UNDECLARED, media_type
from orbweb.fetch import PAGE, Listener, Want
from orbweb.model import Failed, FailKind, Fetched

READ_BUFFER = 128 * 1024
DISCARD_BYTES = 64 * 1024
ACCEPT = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

# Types whose body is read: what may be a page, or may turn out to be one when the header lies.
READ_TYPES = ("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml")

_ROBOTS_TAG = b"x-robots-tag"
_HEADERS = frozenset((b"content-type", b"location", b"etag", b"last-modified", b"retry-after", _ROBOTS_TAG))
_EVENTS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
_E_HTTP2_STREAM = 92
_KINDS = {
    pycurl.E_COULDNT_RESOLVE_HOST: FailKind.DNS,
    pycurl.E_COULDNT_CONNECT: FailKind.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: FailKind.TIMEOUT,
    pycurl.E_GOT_NOTHING: FailKind.INTERRUPTED,
    pycurl.E_RECV_ERROR: FailKind.INTERRUPTED,
    pycurl.E_SEND_ERROR: FailKind.INTERRUPTED,
    pycurl.E_PARTIAL_FILE: FailKind.INTERRUPTED,
    pycurl.E_ABORTED_BY_CALLBACK: FailKind.INTERRUPTED,
    pycurl.E_HTTP2: FailKind.INTERRUPTED,
    _E_HTTP2_STREAM: FailKind.INTERRUPTED,
    pycurl.E_BAD_CONTENT_ENCODING: FailKind.BAD_ENCODING,
    pycurl.E_FILESIZE_EXCEEDED: FailKind.TOO_LARGE,
    pycurl.E_SSL_CONNECT_ERROR: FailKind.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: FailKind.TLS,
    pycurl.E_SSL_CERTPROBLEM: FailKind.TLS,
    pycurl.E_SSL_CIPHER: FailKind.TLS,
    pycurl.E_SSL_ISSUER_ERROR: FailKind.TLS,
    pycurl.E_UNSUPPORTED_PROTOCOL: FailKind.PROTOCOL,
}
_RETRIABLE = (FailKind.DNS, FailKind.CONNECT, FailKind.TIMEOUT, FailKind.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """What every request has in common."""

    user_agent: str
    timeout_s: float
    connect_timeout_s: float
    max_bytes: int
    ca_file: str
    connect_to: tuple[str, ...] = ()


def _worth_reading(content_type: str) -> bool:
    kind = media_type(content_type)
    return kind in READ_TYPES or kind in UNDECLARED


def trusted_certificates() -> str:
    """The file of the system's certificate authorities, or the one that comes with certifi.

    The system's own choice (`SSL_CERT_FILE` included) comes first; libcurl does not know where it lies.
    """
    return ssl.get_default_verify_paths().cafile or certifi.where()


class _Transfer:
    """One request under way. `write` is curl's callback, so it is small."""

    __slots__ = (
        "_headers",
        "chunks",
        "curl",
        "found",
        "lines",
        "max_bytes",
        "size",
        "started_at",
        "ticket",
        "too_large",
        "url",
        "want",
        "wanted",
    )

    def __init__(self, curl: pycurl.Curl, ticket: int, url: str, want: Want, max_bytes: int) -> None:
        self.curl = curl
        self.ticket = ticket
        self.url = url
        self.want = want
        self.max_bytes = want.most or max_bytes
        self.lines: list[bytes] = []
        self.found: dict[bytes, str] | None = None
        self.chunks: list[bytes] = []
        self.size = 0
        self.too_large = False
        self.wanted = True
        self.started_at = time.monotonic()

    def write(self, chunk: bytes) -> int | None:
        if not self.size:
            self.wanted = self.want.any_type or _worth_reading(self.headers().get(b"content-type", ""))
        self.size += len(chunk)
        if not self.wanted:
            return -1 if self.size > DISCARD_BYTES else None
        if self.size > self.max_bytes:
            self.too_large = True
            self.chunks.append(chunk[: self.max_bytes - self.size])
            return -1
        self.chunks.append(chunk)
        return None

    def headers(self) -> dict[bytes, str]:
        """The headers that matter here. They are complete when the body begins."""
        if self.found is None:
            self.found = self._read_headers()
        return self.found

    def _read_headers(self) -> dict[bytes, str]:
        """Of the last answer: after a 1xx there is more than one."""
        found: dict[bytes, str] = {}
        for line in self.lines:
            name, _, value = line.partition(b":")
            name = name.lower()
            if name in _HEADERS:
                text = _printable(value.strip().decode("utf-8", "replace"))
                found[name] = f"{found[name]}\n{text}" if name == _ROBOTS_TAG and name in found else text
            elif line.startswith(b"HTTP/"):
                found.clear()
        return found

    def latency_ms(self) -> int:
        return round((time.monotonic() - self.started_at) * 1000)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


class HttpFetcher:
    """Transfers on the running asyncio loop.

    curl's sockets are watched by an epoll of their own, which the loop watches as one file: a transfer then
    costs the loop nothing but the wake-up.
    """

    def __init__(self, settings: HttpSettings, listener: Listener) -> None:
        self._settings = settings
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._idle: list[pycurl.Curl] = []
        self._active: dict[pycurl.Curl, _Transfer] = {}
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        self._loop.add_reader(self._epoll.fileno(), self._on_sockets)

    def start(self, ticket: int, url: str, want: Want = PAGE) -> None:
        curl = self._idle.pop() if self._idle else self._handle()
        transfer = _Transfer(curl, ticket, url, want, self._settings.max_bytes)
        curl.setopt(pycurl.HEADERFUNCTION, transfer.lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, transfer.write)
        curl.setopt(pycurl.PREREQFUNCTION, self._about_to_send(ticket))
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.REQUEST_TARGET, url[url.index("/", 8) :])
        self._active[curl] = transfer
        self._multi.add_handle(curl)

    def cancel_all(self) -> None:
        for curl in list(self._active):
            self._multi.remove_handle(curl)
            curl.close()
        self._active.clear()

    def close(self) -> None:
        self.cancel_all()
        if self._timer is not None:
            self._timer.cancel()
        for curl in self._idle:
            curl.close()
        self._idle.clear()
        self._multi.close()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _about_to_send(self, ticket: int) -> Callable[..., int]:
        """curl would repeat a request whose connection broke by itself; that is for us to count and to space."""
        unsent = [ticket]

        def prereq(*_addresses: object) -> int:
            if not unsent:
                return pycurl.PREREQFUNC_ABORT
            self._listener.sent(unsent.pop())
            return pycurl.PREREQFUNC_OK

        return prereq

    def _handle(self) -> pycurl.Curl:
        settings = self._settings
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        curl.setopt(pycurl.PIPEWAIT, 1)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.ACCEPT_ENCODING, "")
        curl.setopt(pycurl.USERAGENT, settings.user_agent)
        curl.setopt(pycurl.HTTPHEADER, [ACCEPT])
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, round(settings.connect_timeout_s * 1000))
        curl.setopt(pycurl.TIMEOUT_MS, round(settings.timeout_s * 1000))
        curl.setopt(pycurl.CAINFO, settings.ca_file)
        curl.setopt(pycurl.BUFFERSIZE, READ_BUFFER)
        if settings.connect_to:
            curl.setopt(pycurl.CONNECT_TO, list(settings.connect_to))
        return curl

    def _watch(self, event: int, fd: int, _multi: object, _data: object) -> None:
        if event == pycurl.POLL_REMOVE:
            if fd in self._watched:
                self._watched.remove(fd)
                self._epoll.unregister(fd)
        elif fd in self._watched:
            self._epoll.modify(fd, _EVENTS[event])
        else:
            self._watched.add(fd)
            self._epoll.register(fd, _EVENTS[event])

    def _on_sockets(self) -> None:
        for fd, events in self._epoll.poll(0):
            self._multi.socket_action(fd, _action(events))
        self._collect()

    def _set_timer(self, timeout_ms: int) -> None:
        """curl moves its timer several times a transfer; the loop's is set only when it must ring earlier."""
        if timeout_ms < 0:
            self._due = None
            return
        self._due = self._loop.time() + timeout_ms / 1000
        if self._timer is not None:
            if self._timer.when() <= self._due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(self._due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self._timer = self._loop.call_at(self._due, self._on_timer)
            return
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _collect(self) -> None:
        while True:
            more, good, bad = self._multi.info_read()
            for curl in good:
                self._done(curl, 0, "")
            for curl, code, message in bad:
                self._done(curl, code, message)
            if not more:
                return

    def _done(self, curl: pycurl.Curl, code: int, message: str) -> None:
        transfer = self._active.pop(curl)
        answer = self._answer(transfer, code, message)
        self._multi.remove_handle(curl)
        self._idle.append(curl)
        self._listener.answered(transfer.ticket, answer)

    def _answer(self, transfer: _Transfer, code: int, message: str) -> Fetched | Failed:
        if transfer.too_large and not transfer.want.cut:
            return Failed(FailKind.TOO_LARGE, f"more than {transfer.max_bytes} bytes decoded (fetch.max_bytes)")
        unread = code == pycurl.E_WRITE_ERROR and (transfer.too_large or not transfer.wanted)
        if code and not unread:
            return _failed(code, message)
        curl, headers = transfer.curl, transfer.headers()
        return Fetched(
            url=transfer.url,
            status=curl.getinfo(pycurl.RESPONSE_CODE),
            body=b"".join(transfer.chunks) if transfer.wanted else None,
            content_type=headers.get(b"content-type"),
            location=headers.get(b"location"),
            etag=headers.get(b"etag"),
            last_modified=headers.get(b"last-modified"),
            wire_bytes=curl.getinfo(pycurl.SIZE_DOWNLOAD_T),
            latency_ms=transfer.latency_ms(),
            retry_after=headers.get(b"retry-after"),
            robots_tags=tuple(headers.get(_ROBOTS_TAG, "").splitlines()),
        )


def _action(events: int) -> int:
    """What epoll saw, in curl's words."""
    action = 0
    if events & select.EPOLLIN:
        action |= pycurl.CSELECT_IN
    if events & select.EPOLLOUT:
        action |= pycurl.CSELECT_OUT
    if events & (select.EPOLLERR | select.EPOLLHUP):
        action |= pycurl.CSELECT_ERR
    return action


def _failed(code: int, message: str) -> Failed:
    kind = _KINDS.get(code, FailKind.PROTOCOL)
    if code == pycurl.E_ABORTED_BY_CALLBACK:
        message = "the connection broke before an answer came"
    return Failed(kind, message or f"curl error {code}", retriable=kind in _RETRIABLE)
