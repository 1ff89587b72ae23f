"""HTTP by libcurl: many transfers on one event loop, HTTP/2 where the server speaks it.

Owns connections, timeouts, decoding and the caps on what a server may send. Always holds: a connection is opened
only to an address that the guard has checked, and has checked again for this very connection; by a proxy, that is
the address of the proxy, which is told to connect to the checked address of the site and no name. Never follows a
redirect, retries or decides what an answer means: that is the engine's.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from dataclasses import replace
from functools import partial

import pycurl

from orbweb import urls
from orbweb.fetch import PAGE, Listener, Want, codings
from orbweb.fetch.guard import Guard, Pin
from orbweb.fetch.proxies import Proxy, no_proxy, proxy_failed
from orbweb.fetch.transfer import ROBOTS_TAG, Egress, HttpSettings, Route, Transfer
from orbweb.model import Failed, FailKind, Fetched

READ_BUFFER = 128 * 1024
BOMB_BYTES = 1_000_000

# CURLOPT_SUPPRESS_CONNECT_HEADERS of curl.h, which pycurl does not name: what a proxy says is not the site's head.
_SUPPRESS_CONNECT_HEADERS = 265

_EVENTS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
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

    curl's sockets are watched by an epoll of their own, which the loop watches as one file: a transfer then
    costs the loop nothing but the wake-up. `_watched` are those that curl waits for. One that it keeps open stays
    registered, because most are used again at once; `_kept` has what for, until it is closed or something happens.
    """

    def __init__(self, settings: HttpSettings, guard: Guard, egress: Egress, listener: Listener) -> None:
        self._settings = settings
        self._guard = guard
        self._egress = egress
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._idle: list[Transfer] = []
        self._active: dict[pycurl.Curl, Transfer] = {}
        self._unresolved: dict[str, list[tuple[int, str, Want]]] = {}
        self._waiting: set[int] = set()
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        self._kept: dict[int, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = 0.0
        self._due: float | None = None
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        self._loop.add_reader(self._epoll.fileno(), self._on_sockets)

    def start(self, ticket: int, url: str, want: Want = PAGE) -> None:
        site = urls.site(url)
        pin = self._guard.pin(site)
        if pin is not None:
            self._route(ticket, url, want, pin)
        elif site in self._unresolved:
            self._unresolved[site].append((ticket, url, want))
        else:
            self._unresolved[site] = [(ticket, url, want)]
            self._guard.find(site, self._found)

    def _found(self, site: str, found: Pin | Failed) -> None:
        for ticket, url, want in self._unresolved.pop(site, ()):
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
        transfer = self._idle.pop() if self._idle else self._transfer()
        transfer.begin(ticket, url, want, route)
        self._active[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)

    def cancel_all(self) -> None:
        self._unresolved.clear()
        self._waiting.clear()
        for curl in list(self._active):
            self._multi.remove_handle(curl)
            curl.close()
        self._active.clear()

    def close(self) -> None:
        self.cancel_all()
        self._guard.close()
        if self._timer is not None:
            self._timer.cancel()
        for transfer in self._idle:
            transfer.curl.close()
        self._idle.clear()
        self._multi.close()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

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
        curl.setopt(pycurl.ACCEPT_ENCODING, codings.OFFERED)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        curl.setopt(pycurl.USERAGENT, settings.user_agent)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, round(settings.connect_timeout_s * 1000))
        curl.setopt(pycurl.TIMEOUT_MS, round(settings.timeout_s * 1000))
        curl.setopt(pycurl.CAINFO, settings.ca_file)
        curl.setopt(pycurl.BUFFERSIZE, READ_BUFFER)
        curl.setopt(pycurl.SOCKOPTFUNCTION, self._opened)
        return curl

    def _opened(self, fd: int, _purpose: int) -> int:
        """A new socket: one that had this number was closed, and the kernel does not watch it any more."""
        self._kept.pop(fd, None)
        return pycurl.SOCKOPT_OK

    def _watch(self, event: int, fd: int, _multi: object, _data: object) -> None:
        if event == pycurl.POLL_REMOVE:
            self._watched.discard(fd)
            return
        self._watched.add(fd)
        known = self._kept.get(fd)
        if known == event:
            return
        self._kept[fd] = event
        if known is None:
            self._epoll.register(fd, _EVENTS[event])
        else:
            self._epoll.modify(fd, _EVENTS[event])

    def _on_sockets(self) -> None:
        """What happens on a connection that is not in use is for curl to find out when it is."""
        for fd, events in self._epoll.poll(0):
            if fd in self._watched:
                self._multi.socket_action(fd, _action(events))
            else:
                self._epoll.unregister(fd)
                del self._kept[fd]
        self._collect()

    def _set_timer(self, timeout_ms: int) -> None:
        """curl moves its timer several times a transfer; the loop's is set only when it must ring earlier."""
        if timeout_ms < 0:
            self._due = None
            return
        self._due = self._loop.time() + timeout_ms / 1000
        if self._timer is not None:
            if self._rings_at <= self._due:
                return
            self._timer.cancel()
        self._ring(self._due)

    def _ring(self, due: float) -> None:
        self._rings_at = due
        self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self._ring(self._due)
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
            return self._not_answered(transfer, code, message)
        if transfer.status < 200:
            return Failed(
                FailKind.PROTOCOL, "no answer but an interim one (1xx)", proxy=proxy.id if proxy else None
            )
        wire_bytes = transfer.curl.getinfo(pycurl.SIZE_DOWNLOAD_T)
        if transfer.coded and transfer.size > max(BOMB_BYTES, self._settings.max_ratio * wire_bytes):
            bomb = _bomb(transfer.size, wire_bytes, self._settings.max_ratio)
            return replace(bomb, proxy=proxy.id if proxy is not None else None)
        return self._fetched(transfer, wire_bytes)

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
            transfer.truncated,
            transfer.head(),
        )


def _action(events: int) -> int:
    """What epoll saw, in curl's words."""
    if events == select.EPOLLIN:
        return pycurl.CSELECT_IN
    action = 0
    if events & select.EPOLLIN:
        action |= pycurl.CSELECT_IN
    if events & select.EPOLLOUT:
        action |= pycurl.CSELECT_OUT
    if events & (select.EPOLLERR | select.EPOLLHUP):
        action |= pycurl.CSELECT_ERR
    return action


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
