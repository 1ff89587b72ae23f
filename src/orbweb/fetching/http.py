"""HTTP with libcurl: many transfers on one event loop, HTTP/2 if the server supports it.

A connection is opened only to an address that the guard has checked, and checked again for this connection. With a
proxy, that is the address of the proxy, which is given the checked address of the site and never its name.
Redirects and retries are left to the engine.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import pycurl

from orbweb import urls
from orbweb.fetching import PAGE, Listener, Want, content_coding
from orbweb.fetching.guard import Guard, Pin
from orbweb.fetching.proxies import Proxy, no_proxy, proxy_failed
from orbweb.fetching.response_head import ROBOTS_TAG
from orbweb.fetching.sockets import Sockets
from orbweb.fetching.suspension import Moment, SuspensionClock
from orbweb.fetching.transfer import Egress, HttpSettings, Route, Transfer
from orbweb.model import Failed, FailKind, Fetched

READ_BUFFER = 128 * 1024
BOMB_BYTES = 1_000_000
RECOVERY_S = 1.0
"""After a socket could not be created, the number of connections doubles at this interval."""

# CURLOPT_SUPPRESS_CONNECT_HEADERS of curl.h, which pycurl does not define: the headers of a proxy are not the
# site's.
_SUPPRESS_CONNECT_HEADERS = 265

_E_HTTP2_STREAM = 92
_KINDS = {
    pycurl.E_COULDNT_CONNECT: FailKind.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: FailKind.TIMEOUT,
    pycurl.E_GOT_NOTHING: FailKind.INTERRUPTED,
    pycurl.E_RECV_ERROR: FailKind.INTERRUPTED,
    pycurl.E_SEND_ERROR: FailKind.INTERRUPTED,
    pycurl.E_PARTIAL_FILE: FailKind.INTERRUPTED,
    pycurl.E_ABORTED_BY_CALLBACK: FailKind.INTERRUPTED,
    pycurl.E_HTTP2: FailKind.INTERRUPTED,
    _E_HTTP2_STREAM: FailKind.INTERRUPTED,
    pycurl.E_FILESIZE_EXCEEDED: FailKind.TOO_LARGE,
    pycurl.E_SSL_CONNECT_ERROR: FailKind.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: FailKind.TLS,
    pycurl.E_SSL_CERTPROBLEM: FailKind.TLS,
    pycurl.E_SSL_CIPHER: FailKind.TLS,
    pycurl.E_SSL_ISSUER_ERROR: FailKind.TLS,
    pycurl.E_UNSUPPORTED_PROTOCOL: FailKind.PROTOCOL,
}
# How OpenSSL and GnuTLS complain about a server that answers a TLS handshake with text.
_IS_PLAIN = re.compile("wrong version number|packet length too long|unexpected TLS packet|http request")
_RETRIABLE = (FailKind.CONNECT, FailKind.TIMEOUT, FailKind.INTERRUPTED)


def trusted_certificates() -> str:
    """The certificate authorities of the system (`SSL_CERT_FILE` included), or else those of certifi.

    libcurl does not find the system's file by itself.
    """
    found = ssl.get_default_verify_paths().cafile
    if found is None:
        import certifi

        found = certifi.where()
    return found


class HttpFetcher:
    """Transfers on the running asyncio loop.

    At most `settings.connections` transfers run at a time, on as many connections; others wait. If a socket still
    cannot be created for lack of file descriptors, the limit is lowered; this is never reported as a failure of
    the site.
    """

    def __init__(
        self,
        settings: HttpSettings,
        guard: Guard,
        egress: Egress,
        listener: Listener,
        on_note: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._guard = guard
        self._egress = egress
        self._listener = listener
        self._on_note = on_note
        self._loop = asyncio.get_running_loop()
        self._suspension = SuspensionClock(self._loop)
        self._backlog: deque[tuple[int, str, Want, Route]] = deque()
        self._recovery: asyncio.TimerHandle | None = None
        self._has_noted = False
        self._idle: list[Transfer] = []
        self._active: dict[pycurl.Curl, Transfer] = {}
        self._unresolved: dict[str, list[tuple[int, str, Want]]] = {}
        self._lookup_started: dict[str, Moment] = {}
        self._waiting: set[int] = set()
        self._multi = pycurl.CurlMulti()
        self._sockets = Sockets(self._multi.socket_action, self._collect)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._sockets.watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._sockets.set_timer)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        self._allow(settings.connections)

    def start(self, ticket: int, url: str, want: Want = PAGE) -> None:
        site = urls.site(url)
        pin = self._guard.pin(site)
        if pin is not None:
            self._route(ticket, url, want, pin)
        elif site in self._unresolved:
            self._unresolved[site].append((ticket, url, want))
        else:
            self._unresolved[site] = [(ticket, url, want)]
            self._lookup_started[site] = self._suspension.now()
            self._guard.find(site, self._found)

    def _found(self, site: str, found: Pin | Failed) -> None:
        if site not in self._unresolved:
            return
        started = self._lookup_started.pop(site)
        if isinstance(found, Failed) and found.kind is FailKind.DNS_TIMEOUT and self._suspension.took(started):
            found = replace(found, counts=False)
        for ticket, url, want in self._unresolved.pop(site):
            if isinstance(found, Pin):
                self._route(ticket, url, want, found)
            else:
                self._listener.answered(ticket, found)

    def _route(self, ticket: int, url: str, want: Want, pin: Pin) -> None:
        """Choose the proxy for an allowed site. The name of a proxy is looked up and checked like that of a
        site."""
        proxy = self._egress.proxies.pick(pin.site, ticket)
        if proxy is None:
            self._send(ticket, url, want, Route(pin))
            return
        known = self._egress.proxy_guard.pin(proxy.site)
        if known is not None:
            self._send(ticket, url, want, Route(pin, proxy, known))
            return
        self._waiting.add(ticket)
        self._egress.proxy_guard.find(proxy.site, partial(self._proxy_found, ticket, url, want, pin, proxy))

    def _proxy_found(
        self, ticket: int, url: str, want: Want, pin: Pin, proxy: Proxy, _site: str, found: Pin | Failed
    ) -> None:
        if ticket not in self._waiting:
            return
        self._waiting.remove(ticket)
        if isinstance(found, Pin):
            self._send(ticket, url, want, Route(pin, proxy, found))
        else:
            self._egress.proxies.report(proxy, ok=False)
            self._listener.answered(ticket, no_proxy(proxy, found))

    def _send(self, ticket: int, url: str, want: Want, route: Route) -> None:
        if self._backlog or len(self._active) >= self._most:
            self._backlog.append((ticket, url, want, route))
        else:
            self._begin(ticket, url, want, route)

    def _begin(self, ticket: int, url: str, want: Want, route: Route) -> None:
        transfer = self._idle.pop() if self._idle else self._transfer()
        transfer.begin(ticket, url, want, route, self._suspension.now())
        self._active[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)

    # File descriptors for connections.

    def _allow(self, most: int) -> None:
        """curl closes idle connections if a new one would exceed the limit."""
        self._most = most
        self._multi.setopt(pycurl.M_MAX_TOTAL_CONNECTIONS, most)

    def _send_backlog(self) -> None:
        while self._backlog and len(self._active) < self._most:
            self._begin(*self._backlog.popleft())

    def _put_back(self, transfer: Transfer) -> None:
        """No file descriptor was left for the socket, so nothing was sent: send it when other transfers are
        done."""
        if not self._has_noted:
            self._has_noted = True
            self._on_note("too many open files (ulimit -n): closing idle connections and sending fewer requests")
        self._backlog.appendleft((transfer.ticket, transfer.url, transfer.want, transfer.route))
        self._allow(max(1, len(self._active)))
        if self._recovery is None:
            self._recovery = self._loop.call_later(RECOVERY_S, self._recover)

    def _recover(self) -> None:
        self._recovery = None
        self._allow(min(self._most * 2, self._settings.connections))
        if self._most < self._settings.connections:
            self._recovery = self._loop.call_later(RECOVERY_S, self._recover)
        self._send_backlog()

    def cancel_all(self) -> None:
        self._unresolved.clear()
        self._lookup_started.clear()
        self._waiting.clear()
        self._backlog.clear()
        for curl in list(self._active):
            self._multi.remove_handle(curl)
            curl.close()
        self._active.clear()

    def close(self) -> None:
        self.cancel_all()
        self._guard.close()
        for transfer in self._idle:
            transfer.curl.close()
        self._idle.clear()
        self._multi.close()
        self._sockets.close()
        self._suspension.close()
        if self._recovery is not None:
            self._recovery.cancel()

    def _transfer(self) -> Transfer:
        return Transfer(self._handle(), self._settings, self._guard, self._egress, self._listener)

    def _handle(self) -> pycurl.Curl:
        settings = self._settings
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.HTTPPROXYTUNNEL, 1)
        curl.setopt(_SUPPRESS_CONNECT_HEADERS, 1)
        curl.setopt(pycurl.HEADEROPT, pycurl.HEADER_SEPARATE)
        curl.setopt(pycurl.PROXY_CAINFO, settings.ca_file)
        curl.setopt(pycurl.ACCEPT_ENCODING, content_coding.OFFERED)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        curl.setopt(pycurl.USERAGENT, settings.user_agent)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, round(settings.connect_timeout_s * 1000))
        curl.setopt(pycurl.TIMEOUT_MS, round(settings.timeout_s * 1000))
        curl.setopt(pycurl.CAINFO, settings.ca_file)
        curl.setopt(pycurl.BUFFERSIZE, READ_BUFFER)
        return curl

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
        if code and transfer.lacks_file:
            self._multi.remove_handle(curl)
            self._idle.append(transfer)
            self._put_back(transfer)
            return
        response = self._response(transfer, code, message)
        if isinstance(response, Failed):
            response = replace(response, head=transfer.own_head())
        if transfer.set_cookies:
            self._egress.identity.store_cookies(transfer.url, transfer.set_cookies)
        self._multi.remove_handle(curl)
        transfer.clear()
        self._idle.append(transfer)
        if transfer.route.proxy is not None:
            self._report_proxy(transfer, transfer.route.proxy, response)
        self._listener.answered(transfer.ticket, response)
        self._send_backlog()

    def _report_proxy(self, transfer: Transfer, proxy: Proxy, response: Fetched | Failed) -> None:
        """A proxy that returns 5xx (it cannot reach the site) works; other failures before the request are its
        own."""
        failed = isinstance(response, Failed) and response.kind is FailKind.PROXY
        status = transfer.curl.getinfo(pycurl.HTTP_CONNECTCODE) if failed else 0
        self._egress.proxies.report(proxy, ok=not failed or status >= 500)

    def _response(self, transfer: Transfer, code: int, message: str) -> Fetched | Failed:
        proxy = transfer.route.proxy
        if transfer.failed is not None:
            return replace(transfer.failed, proxy=proxy.id if proxy is not None else None)
        unread = code == pycurl.E_WRITE_ERROR and (transfer.is_cut or not transfer.wanted)
        if code and not unread:
            failed = self._failure(transfer, code, message)
            return failed if self._counts(transfer, code) else replace(failed, counts=False)
        if transfer.status < 200:
            return Failed(
                FailKind.PROTOCOL, "only interim responses (1xx) were received", proxy=proxy.id if proxy else None
            )
        wire_bytes = transfer.curl.getinfo(pycurl.SIZE_DOWNLOAD_T)
        if transfer.coded and transfer.size > max(BOMB_BYTES, self._settings.max_ratio * wire_bytes):
            bomb = _bomb(transfer.size, wire_bytes, self._settings.max_ratio)
            return replace(bomb, proxy=proxy.id if proxy is not None else None)
        return self._fetched(transfer, wire_bytes)

    def _counts(self, transfer: Transfer, code: int) -> bool:
        """Whether a failure counts against the site. It does not if the server had closed an idle connection, or
        if this process was suspended for most of the time before the timeout."""
        if code == pycurl.E_ABORTED_BY_CALLBACK:
            return transfer.is_new
        return code != pycurl.E_OPERATION_TIMEDOUT or not self._suspension.took(transfer.started)

    def _failure(self, transfer: Transfer, code: int, message: str) -> Failed:
        """With a proxy, failures before the request is sent are its own, except for the certificate of the
        site."""
        proxy, proxy_pin = transfer.route.proxy, transfer.route.proxy_pin
        if proxy is None or proxy_pin is None:
            if not transfer.is_sent:
                self._guard.rotate(transfer.route.pin)
            return _failed(transfer, code, message)
        tunnelled = proxy.scheme != "https" or transfer.curl.getinfo(pycurl.HTTP_CONNECTCODE) == 200
        if transfer.is_sent or (_KINDS.get(code) is FailKind.TLS and tunnelled):
            return replace(_failed(transfer, code, message), proxy=proxy.id)
        self._egress.proxy_guard.rotate(proxy_pin)
        self._guard.rotate(transfer.route.pin)
        return proxy_failed(proxy, message or f"curl error {code}")

    def _fetched(self, transfer: Transfer, wire_bytes: int) -> Fetched:
        headers = transfer.found
        return Fetched(
            transfer.url,
            transfer.status,
            b"".join(transfer.chunks) if transfer.wanted else None,
            headers.get(b"content-type"),
            headers.get(b"location"),
            headers.get(b"etag"),
            headers.get(b"last-modified"),
            wire_bytes,
            transfer.latency_ms(),
            headers.get(b"retry-after"),
            tuple(headers[ROBOTS_TAG].splitlines()) if ROBOTS_TAG in headers else (),
            transfer.route.proxy.id if transfer.route.proxy is not None else None,
            headers.get(b"date"),
            transfer.truncated,
            transfer.head(),
        )


def _bomb(size: int, wire_bytes: int, max_ratio: int) -> Failed:
    return Failed(
        FailKind.BOMB,
        f"{wire_bytes} bytes decompressed to {size}, more than {max_ratio} times the size (fetch.max_ratio)",
    )


def _failed(transfer: Transfer, code: int, message: str) -> Failed:
    kind = _KINDS.get(code, FailKind.PROTOCOL)
    if code == pycurl.E_RECV_ERROR and transfer.head_is_too_large():
        kind = FailKind.PROTOCOL
    if code == pycurl.E_ABORTED_BY_CALLBACK:
        message = "the connection was closed before a response arrived"
    if code == pycurl.E_SSL_CONNECT_ERROR and _IS_PLAIN.search(message):
        message = f"the server does not speak TLS ({message}); did you mean {_plain_http(transfer.url)} ?"
    if code == pycurl.E_OPERATION_TIMEDOUT and _lacks_handshake(transfer):
        message = f"no answer to the TLS handshake; did you mean {_plain_http(transfer.url)} ?"
    return Failed(kind, message or f"curl error {code}", retriable=kind in _RETRIABLE)


def _lacks_handshake(transfer: Transfer) -> bool:
    """Whether the server accepted the connection, but not TLS, at another port than that of https."""
    is_secure = transfer.url.startswith("https:") and urlsplit(transfer.url).port is not None
    times = (transfer.curl.getinfo(each) for each in (pycurl.CONNECT_TIME, pycurl.APPCONNECT_TIME))
    return is_secure and [bool(each) for each in times] == [True, False]


def _plain_http(url: str) -> str:
    """The root of the server, asked without TLS at the same port."""
    parts = urlsplit(url)
    return f"http://{parts.netloc if parts.port else f'{parts.netloc}:443'}/"
