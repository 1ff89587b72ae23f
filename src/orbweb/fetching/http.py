"""HTTP by libcurl: many transfers on one event loop, HTTP/2 where the server speaks it.

Owns connections, timeouts, decoding and the caps on what a server may send. Always holds: a connection is opened
only to an address that the guard has checked, and has checked again for this very connection; by a proxy, that is
the address of the proxy, which is told to connect to the checked address of the site and no name. Never follows a
redirect, retries or decides what an answer means: that is the engine's.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pycurl

from orbweb import urls
from orbweb.fetching import PAGE, Listener, Want, content_coding
from orbweb.fetching.guard import Guard, Pin
from orbweb.fetching.proxies import Proxy, no_proxy, proxy_failed
from orbweb.fetching.sockets import Sockets
from orbweb.fetching.suspension import Moment, SuspensionClock
from orbweb.fetching.transfer import ROBOTS_TAG, Egress, HttpSettings, Route, Transfer
from orbweb.model import Failed, FailKind, Fetched

READ_BUFFER = 128 * 1024
BOMB_BYTES = 1_000_000
RECOVERY_S = 1.0
"""After a socket could not be made, twice as many connections are tried this much later."""

# CURLOPT_SUPPRESS_CONNECT_HEADERS of curl.h, which pycurl does not name: what a proxy says is not the site's head.
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
_RETRIABLE = (FailKind.CONNECT, FailKind.TIMEOUT, FailKind.INTERRUPTED)


def trusted_certificates() -> str:
    """The file of the system's certificate authorities, or the one that comes with certifi.

    The system's own choice (`SSL_CERT_FILE` included) comes first; libcurl does not know where it lies.
    """
    found = ssl.get_default_verify_paths().cafile
    if found is None:
        import certifi

        found = certifi.where()
    return found


class HttpFetcher:
    """Transfers on the running asyncio loop.

    At most `settings.connections` of them are at work, and as many connections are open; others are held back. If
    no file is left for a socket all the same, fewer are: that is never reported as the site's failure.
    """

    def __init__(
        self,
        settings: HttpSettings,
        guard: Guard,
        egress: Egress,
        listener: Listener,
        note: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._guard = guard
        self._egress = egress
        self._listener = listener
        self._note = note
        self._loop = asyncio.get_running_loop()
        self._standstill = SuspensionClock(self._loop)
        self._held_back: deque[tuple[int, str, Want, Route]] = deque()
        self._recovery: asyncio.TimerHandle | None = None
        self._has_noted = False
        self._idle: list[Transfer] = []
        self._active: dict[pycurl.Curl, Transfer] = {}
        self._unresolved: dict[str, list[tuple[int, str, Want]]] = {}
        self._asked: dict[str, Moment] = {}
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
            self._asked[site] = self._standstill.now()
            self._guard.find(site, self._found)

    def _found(self, site: str, found: Pin | Failed) -> None:
        if site not in self._unresolved:
            return
        asked = self._asked.pop(site)
        if isinstance(found, Failed) and found.kind is FailKind.DNS_TIMEOUT and self._standstill.took(asked):
            found = replace(found, counts=False)
        for ticket, url, want in self._unresolved.pop(site):
            if isinstance(found, Pin):
                self._route(ticket, url, want, found)
            else:
                self._listener.answered(ticket, found)

    def _route(self, ticket: int, url: str, want: Want, pin: Pin) -> None:
        """The site may be asked: now by which way. A proxy's own name is looked up and judged as any other."""
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
        if self._held_back or len(self._active) >= self._most:
            self._held_back.append((ticket, url, want, route))
        else:
            self._begin(ticket, url, want, route)

    def _begin(self, ticket: int, url: str, want: Want, route: Route) -> None:
        transfer = self._idle.pop() if self._idle else self._transfer()
        transfer.begin(ticket, url, want, route, self._standstill.now())
        self._active[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)

    # Files for connections.

    def _allow(self, most: int) -> None:
        """curl closes connections that it only keeps where a new one would be more than so many."""
        self._most = most
        self._multi.setopt(pycurl.M_MAX_TOTAL_CONNECTIONS, most)

    def _send_held_back(self) -> None:
        while self._held_back and len(self._active) < self._most:
            self._begin(*self._held_back.popleft())

    def _hold_back(self, transfer: Transfer) -> None:
        """No file was left for its socket, so nothing was sent: it has its turn when others are done."""
        if not self._has_noted:
            self._has_noted = True
            self._note(
                "no more files can be opened (ulimit -n): closing idle connections, and waiting for others to end"
            )
        self._held_back.appendleft((transfer.ticket, transfer.url, transfer.want, transfer.route))
        self._allow(max(1, len(self._active)))
        if self._recovery is None:
            self._recovery = self._loop.call_later(RECOVERY_S, self._recover)

    def _recover(self) -> None:
        self._recovery = None
        self._allow(min(self._most * 2, self._settings.connections))
        if self._most < self._settings.connections:
            self._recovery = self._loop.call_later(RECOVERY_S, self._recover)
        self._send_held_back()

    def cancel_all(self) -> None:
        self._unresolved.clear()
        self._asked.clear()
        self._waiting.clear()
        self._held_back.clear()
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
        self._standstill.close()
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
            self._hold_back(transfer)
            return
        answer = self._answer(transfer, code, message)
        if isinstance(answer, Failed):
            answer = replace(answer, head=transfer.own_head())
        if transfer.route.proxy is not None:
            self._tell_proxies(transfer, transfer.route.proxy, answer)
        if transfer.set_cookies:
            self._egress.identity.heard(transfer.url, transfer.set_cookies)
        self._multi.remove_handle(curl)
        transfer.forget()
        self._idle.append(transfer)
        self._listener.answered(transfer.ticket, answer)
        self._send_held_back()

    def _tell_proxies(self, transfer: Transfer, proxy: Proxy, answer: Fetched | Failed) -> None:
        """A proxy that says it cannot reach the site (5xx) works; failures before the request are its own."""
        failed = isinstance(answer, Failed) and answer.kind is FailKind.PROXY
        says = transfer.curl.getinfo(pycurl.HTTP_CONNECTCODE) if failed else 0
        self._egress.proxies.report(proxy, ok=not failed or says >= 500)

    def _answer(self, transfer: Transfer, code: int, message: str) -> Fetched | Failed:
        proxy = transfer.route.proxy
        if transfer.failed is not None:
            return replace(transfer.failed, proxy=proxy.id if proxy is not None else None)
        unread = code == pycurl.E_WRITE_ERROR and (transfer.is_cut or not transfer.wanted)
        if code and not unread:
            failed = self._not_answered(transfer, code, message)
            return failed if self._counts(transfer, code) else replace(failed, counts=False)
        if transfer.status < 200:
            return Failed(
                FailKind.PROTOCOL, "no answer but an interim one (1xx)", proxy=proxy.id if proxy else None
            )
        wire_bytes = transfer.curl.getinfo(pycurl.SIZE_DOWNLOAD_T)
        if transfer.coded and transfer.size > max(BOMB_BYTES, self._settings.max_ratio * wire_bytes):
            bomb = _bomb(transfer.size, wire_bytes, self._settings.max_ratio)
            return replace(bomb, proxy=proxy.id if proxy is not None else None)
        return self._fetched(transfer, wire_bytes)

    def _counts(self, transfer: Transfer, code: int) -> bool:
        """Whether a failure says something about the site. It does not if the server had closed a connection that
        was kept open, nor if we stood still for most of the time that the server had."""
        if code == pycurl.E_ABORTED_BY_CALLBACK:
            return transfer.is_new
        return code != pycurl.E_OPERATION_TIMEDOUT or not self._standstill.took(transfer.started)

    def _not_answered(self, transfer: Transfer, code: int, message: str) -> Failed:
        """By a proxy, what happens before the request leaves is its failure, but for the site's certificate."""
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
        f"{wire_bytes} bytes became {size}, more than {max_ratio} times as many (fetch.max_ratio)",
    )


def _failed(transfer: Transfer, code: int, message: str) -> Failed:
    kind = _KINDS.get(code, FailKind.PROTOCOL)
    if code == pycurl.E_RECV_ERROR and transfer.head_is_too_large():
        kind = FailKind.PROTOCOL
    if code == pycurl.E_ABORTED_BY_CALLBACK:
        message = "the connection broke before an answer came"
    return Failed(kind, message or f"curl error {code}", retriable=kind in _RETRIABLE)
