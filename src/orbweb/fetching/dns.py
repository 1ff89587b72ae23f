"""DNS lookups with c-ares: the system's name servers and hosts file, or the servers a user configures.

The event loop never blocks (c-ares has a thread of its own); concurrent lookups of one name share one query; every
`on_done` is called exactly once, later and in the loop's thread, unless `close` came first. c-ares is imported at
the first lookup, because a site given by its IP address needs none.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orbweb.model import Failed, FailKind

if TYPE_CHECKING:
    import pycares

LEAST_S = 5.0
MOST_S = 300.0
NEGATIVE_S = 5.0
MOST_CACHED = 10_000
TRIES = 2
SHARE = 4

# ARES_AI_NOSORT of c-ares' ares.h, which pycares does not name: sorting opens a socket for every address.
_NO_SORT = 1 << 7

_KINDS = {
    "ARES_ENOTFOUND": FailKind.DNS_NXDOMAIN,
    "ARES_EBADNAME": FailKind.DNS_NXDOMAIN,
    "ARES_ENODATA": FailKind.DNS_NO_ADDRESS,
    "ARES_ETIMEOUT": FailKind.DNS_TIMEOUT,
}
_MESSAGES = {
    FailKind.DNS_NXDOMAIN: "no such host name",
    FailKind.DNS_NO_ADDRESS: "the host name has no address",
    FailKind.DNS_TIMEOUT: "DNS lookup timed out (fetch.connect_timeout_s)",
}
_PERMANENT = (FailKind.DNS_NXDOMAIN, FailKind.DNS_NO_ADDRESS)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Every address of a name, in the order they should be tried, and when they expire."""

    addresses: tuple[str, ...]
    until: float


OnDone = Callable[[Resolved | Failed], None]


class DnsResolver:
    """Caches results for their TTL, but at least 5 s and at most 300 s."""

    def __init__(self, servers: Sequence[str], timeout_s: float, *, clock: Callable[[], float]) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._timeout_s = timeout_s
        self._cache: dict[str, tuple[Resolved | Failed, float]] = {}
        self._pending: dict[str, list[OnDone]] = {}
        self._closed = False
        self._deadlines: dict[str, asyncio.TimerHandle] = {}
        self._servers = servers
        self._channel: pycares.Channel | None = None

    def resolve(self, name: str, on_done: OnDone) -> None:
        """Look the name up; `on_done` is called later with the result."""
        cached = self._cache.get(name)
        if cached is not None and cached[1] > self._clock():
            self.later(on_done, cached[0])
        elif name in self._pending:
            self._pending[name].append(on_done)
        else:
            self._pending[name] = [on_done]
            late = _failed(name, FailKind.DNS_TIMEOUT)
            self._deadlines[name] = self._loop.call_later(self._timeout_s, self._finish, name, late)
            self._query(name)

    def later(self, on_done: OnDone, result: Resolved | Failed) -> None:
        """Report a result without a lookup, with the same timing as one."""
        self._loop.call_soon(self._report, on_done, result)

    def close(self) -> None:
        """Drop every pending lookup; no callback is called after this."""
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._pending.clear()
        self._closed = True
        if self._channel is not None:
            self._channel.close()

    def _report(self, on_done: OnDone, result: Resolved | Failed) -> None:
        if not self._closed:
            on_done(result)

    def _query(self, name: str) -> None:
        def on_result(result: pycares.AddrInfoResult | None, error: int | None) -> None:
            """Called in the thread of c-ares, possibly after the loop was closed."""
            addresses, ttl = _read(result) if result is not None else ((), 0)
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._on_result, name, addresses, ttl, error)

        if self._channel is None:
            self._channel = _open_channel(self._servers, self._timeout_s)
        self._channel.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=_NO_SORT, callback=on_result)

    def _on_result(self, name: str, addresses: tuple[str, ...], ttl: int, error: int | None) -> None:
        if error is not None:
            self._finish(name, _from_error(name, error))
        elif addresses:
            until = self._clock() + min(max(float(ttl), LEAST_S), MOST_S)
            self._finish(name, Resolved(addresses, until))
        else:
            self._finish(name, _failed(name, FailKind.DNS_NO_ADDRESS))

    def _finish(self, name: str, result: Resolved | Failed) -> None:
        deadline = self._deadlines.pop(name, None)
        if deadline is not None:
            deadline.cancel()
        self._remember(name, result)
        for on_done in self._pending.pop(name, ()):
            on_done(result)

    def _remember(self, name: str, result: Resolved | Failed) -> None:
        if isinstance(result, Failed) and result.retriable:
            return
        if len(self._cache) >= MOST_CACHED:
            self._cache.clear()
        until = result.until if isinstance(result, Resolved) else self._clock() + NEGATIVE_S
        self._cache[name] = (result, until)


def _read(result: pycares.AddrInfoResult) -> tuple[tuple[str, ...], int]:
    """The addresses, alternating between IPv4 and IPv6 so that a broken family costs one try, and the shortest
    TTL."""
    families: dict[int, list[str]] = {socket.AF_INET: [], socket.AF_INET6: []}
    for node in result.nodes:
        families[node.family].append(node.addr[0].decode("ascii"))
    fours, sixes = families.values()
    shared = min(len(fours), len(sixes))
    turns = [address for pair in zip(fours, sixes, strict=False) for address in pair]
    ordered = dict.fromkeys([*turns, *fours[shared:], *sixes[shared:]])
    return tuple(ordered), min((node.ttl for node in result.nodes), default=0)


def _open_channel(servers: Sequence[str], timeout_s: float) -> pycares.Channel:
    import pycares

    return pycares.Channel(servers=servers or None, timeout=timeout_s / SHARE, tries=TRIES)


def _from_error(name: str, error: int) -> Failed:
    from pycares import errno

    kind = _KINDS.get(errno.errorcode.get(error, ""), FailKind.DNS_SERVFAIL)
    return _failed(name, kind, f"the name server failed: {errno.strerror(error)!s}")


def _failed(name: str, kind: FailKind, message: str = "") -> Failed:
    return Failed(kind, f"{name}: {_MESSAGES.get(kind, message)}", retriable=kind not in _PERMANENT)
