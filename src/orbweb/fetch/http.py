"""HTTP by libcurl: many transfers on one event loop, HTTP/2 where the server speaks it.

Owns connections, timeouts, decoding and the cap on decoded bytes. Never follows a redirect, retries or
decides what an answer means: that is the engine's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import pycurl

from orbweb.fetch import Listener
from orbweb.model import Failed, FailKind, Fetched

READ_BUFFER = 128 * 1024
DISCARD_BYTES = 64 * 1024
HEADER_LINES = 1_000

# Types whose body is read: what may be a page, or may turn out to be one when the header lies.
READ_TYPES = ("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml")
READ_UNKNOWN = ("", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*")

_E_HTTP2_STREAM = 92
_KINDS = {
    pycurl.E_COULDNT_RESOLVE_HOST: FailKind.DNS,
    pycurl.E_COULDNT_CONNECT: FailKind.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: FailKind.TIMEOUT,
    pycurl.E_GOT_NOTHING: FailKind.INTERRUPTED,
    pycurl.E_RECV_ERROR: FailKind.INTERRUPTED,
    pycurl.E_SEND_ERROR: FailKind.INTERRUPTED,
    pycurl.E_PARTIAL_FILE: FailKind.INTERRUPTED,
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
    connect_to: tuple[str, ...] = ()


def _worth_reading(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind in READ_TYPES or kind in READ_UNKNOWN


class _Transfer:
    """One request under way; its methods are curl's callbacks, so they are small."""

    __slots__ = (
        "body", "chunks", "curl", "headers", "max_bytes", "refused", "size", "started_at", "ticket", "url",
    )  # fmt: skip

    def __init__(self, curl: pycurl.Curl, ticket: int, url: str, max_bytes: int) -> None:
        self.curl = curl
        self.ticket = ticket
        self.url = url
        self.max_bytes = max_bytes
        self.headers: list[bytes] = []
        self.chunks: list[bytes] = []
        self.size = 0
        self.refused: FailKind | None = None
        self.body = True
        self.started_at = time.monotonic()

    def header(self, line: bytes) -> int | None:
        if line.startswith(b"HTTP/"):
            self.headers.clear()
        self.headers.append(line)
        if len(self.headers) > HEADER_LINES:
            self.refused = FailKind.TOO_LARGE
            return -1
        return None

    def write(self, chunk: bytes) -> int | None:
        if not self.size:
            self._first_chunk()
        self.size += len(chunk)
        if not self.body:
            return -1 if self.size > DISCARD_BYTES else None
        if self.size > self.max_bytes:
            self.refused = FailKind.TOO_LARGE
            return -1
        self.chunks.append(chunk)
        return None

    def _first_chunk(self) -> None:
        content_type = self.find(b"content-type")
        self.body = _worth_reading(content_type or "")

    def find(self, name: bytes) -> str | None:
        """The value of the last header of that name, one printable line."""
        for line in reversed(self.headers):
            key, colon, value = line.partition(b":")
            if colon and key.strip().lower() == name:
                text = value.strip().decode("utf-8", "replace")
                return "".join(c if c.isprintable() else "\ufffd" for c in text)
        return None

    def latency_ms(self) -> int:
        return round((time.monotonic() - self.started_at) * 1000)


class HttpFetcher:
    """Transfers on the running asyncio loop."""

    def __init__(self, settings: HttpSettings, listener: Listener) -> None:
        self._settings = settings
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._idle: list[pycurl.Curl] = []
        self._active: dict[pycurl.Curl, _Transfer] = {}
        self._watched: dict[int, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)

    def start(self, ticket: int, url: str) -> None:
        curl = self._idle.pop() if self._idle else self._handle()
        transfer = _Transfer(curl, ticket, url, self._settings.max_bytes)
        curl.setopt(pycurl.HEADERFUNCTION, transfer.header)
        curl.setopt(pycurl.WRITEFUNCTION, transfer.write)
        curl.setopt(pycurl.PREREQFUNCTION, self._about_to_send(ticket))
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.REQUEST_TARGET, url[url.index("/", url.index("//") + 2) :])
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
        for fd in list(self._watched):
            self._unwatch(fd)

    def _about_to_send(self, ticket: int) -> Callable[..., int]:
        def prereq(*_addresses: object) -> int:
            self._listener.sent(ticket)
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
        curl.setopt(pycurl.HTTPHEADER, ["Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"])
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, round(settings.connect_timeout_s * 1000))
        curl.setopt(pycurl.TIMEOUT_MS, round(settings.timeout_s * 1000))
        curl.setopt(pycurl.BUFFERSIZE, READ_BUFFER)
        if settings.connect_to:
            curl.setopt(pycurl.CONNECT_TO, list(settings.connect_to))
        return curl

    def _watch(self, event: int, fd: int, _multi: object, _data: object) -> None:
        if event == pycurl.POLL_REMOVE:
            self._unwatch(fd)
            return
        had = self._watched.get(fd, 0)
        self._watched[fd] = event
        if event & pycurl.POLL_IN and not had & pycurl.POLL_IN:
            self._loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
        elif had & pycurl.POLL_IN and not event & pycurl.POLL_IN:
            self._loop.remove_reader(fd)
        if event & pycurl.POLL_OUT and not had & pycurl.POLL_OUT:
            self._loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
        elif had & pycurl.POLL_OUT and not event & pycurl.POLL_OUT:
            self._loop.remove_writer(fd)

    def _unwatch(self, fd: int) -> None:
        had = self._watched.pop(fd, 0)
        if had & pycurl.POLL_IN:
            self._loop.remove_reader(fd)
        if had & pycurl.POLL_OUT:
            self._loop.remove_writer(fd)

    def _set_timer(self, timeout_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if timeout_ms >= 0:
            self._timer = self._loop.call_later(timeout_ms / 1000, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, events: int) -> None:
        self._multi.socket_action(fd, events)
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
        if transfer.refused is not None:
            return Failed(transfer.refused, _refusal(transfer, self._settings.max_bytes))
        unread = code == pycurl.E_WRITE_ERROR and not transfer.body
        if code and not unread:
            return _failed(code, message)
        curl = transfer.curl
        return Fetched(
            url=transfer.url,
            status=curl.getinfo(pycurl.RESPONSE_CODE),
            body=b"".join(transfer.chunks) if transfer.body else None,
            content_type=transfer.find(b"content-type"),
            location=transfer.find(b"location"),
            etag=transfer.find(b"etag"),
            last_modified=transfer.find(b"last-modified"),
            wire_bytes=round(curl.getinfo(pycurl.SIZE_DOWNLOAD)),
            latency_ms=transfer.latency_ms(),
        )


def _refusal(transfer: _Transfer, max_bytes: int) -> str:
    if len(transfer.headers) > HEADER_LINES:
        return f"more than {HEADER_LINES} header lines"
    return f"more than {max_bytes} bytes decoded (fetch.max_bytes)"


def _failed(code: int, message: str) -> Failed:
    kind = _KINDS.get(code, FailKind.PROTOCOL)
    return Failed(kind, message or f"curl error {code}", retriable=kind in _RETRIABLE)
