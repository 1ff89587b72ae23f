"""Host names to addresses, by c-ares: the system's name servers and hosts file, or the servers a user names.

Owns the answers that are remembered and the questions under way. Always holds: the event loop never waits (c-ares
works in a thread of its own); a name that is being asked for is not asked for twice; whoever asks is told
exactly once, later and in the loop's thread, unless `close` came first. Never judges an address. c-ares is loaded
for the first name: a site that is given by its address needs none.
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
KEPT = 10_000
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
_WORDS = {
    FailKind.DNS_NXDOMAIN: "there is no such name",
    FailKind.DNS_NO_ADDRESS: "the name has no address",
    FailKind.DNS_TIMEOUT: "no name server answered in time (fetch.connect_timeout_s)",
}
_LASTING = (FailKind.DNS_NXDOMAIN, FailKind.DNS_NO_ADDRESS)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Every address of a name, in the order they should be tried, and until when they hold."""

    addresses: tuple[str, ...]
    until: float


Told = Callable[[Resolved | Failed], None]


class DnsResolver:
    """Asks, and remembers answers as long as they say, but 5 s at least and 300 s at most."""

    def __init__(self, servers: Sequence[str], timeout_s: float, *, clock: Callable[[], float]) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._timeout_s = timeout_s
        self._known: dict[str, tuple[Resolved | Failed, float]] = {}
        self._asked: dict[str, list[Told]] = {}
        self._closed = False
        self._deadlines: dict[str, asyncio.TimerHandle] = {}
        self._servers = servers
        self._channel: pycares.Channel | None = None

    def ask(self, name: str, told: Told) -> None:
        """`told` is called with the answer."""
        known = self._known.get(name)
        if known is not None and known[1] > self._clock():
            self.later(told, known[0])
        elif name in self._asked:
            self._asked[name].append(told)
        else:
            self._asked[name] = [told]
            late = _failed(name, FailKind.DNS_TIMEOUT)
            self._deadlines[name] = self._loop.call_later(self._timeout_s, self._settle, name, late)
            self._query(name)

    def later(self, told: Told, answer: Resolved | Failed) -> None:
        """Tell what is known without asking, as if it had been asked for."""
        self._loop.call_soon(self._tell, told, answer)

    def close(self) -> None:
        """Nobody is told anything any more."""
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._asked.clear()
        self._closed = True
        if self._channel is not None:
            self._channel.close()

    def _tell(self, told: Told, answer: Resolved | Failed) -> None:
        if not self._closed:
            told(answer)

    def _query(self, name: str) -> None:
        def answered(result: pycares.AddrInfoResult | None, error: int | None) -> None:
            """In the thread of c-ares. A loop that is closed wants no answer."""
            addresses, ttl = _read(result) if result is not None else ((), 0)
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._answered, name, addresses, ttl, error)

        if self._channel is None:
            self._channel = _open_channel(self._servers, self._timeout_s)
        self._channel.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=_NO_SORT, callback=answered)

    def _answered(self, name: str, addresses: tuple[str, ...], ttl: int, error: int | None) -> None:
        if error is not None:
            self._settle(name, _refused(name, error))
        elif addresses:
            until = self._clock() + min(max(float(ttl), LEAST_S), MOST_S)
            self._settle(name, Resolved(addresses, until))
        else:
            self._settle(name, _failed(name, FailKind.DNS_NO_ADDRESS))

    def _settle(self, name: str, answer: Resolved | Failed) -> None:
        deadline = self._deadlines.pop(name, None)
        if deadline is not None:
            deadline.cancel()
        self._remember(name, answer)
        for told in self._asked.pop(name, ()):
            told(answer)

    def _remember(self, name: str, answer: Resolved | Failed) -> None:
        if isinstance(answer, Failed) and answer.retriable:
            return
        if len(self._known) >= KEPT:
            self._known.clear()
        until = answer.until if isinstance(answer, Resolved) else self._clock() + NEGATIVE_S
        self._known[name] = (answer, until)


def _read(result: pycares.AddrInfoResult) -> tuple[tuple[str, ...], int]:
    """The addresses, IPv4 and IPv6 by turns so that a broken family costs one try, and the shortest lifetime."""
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


def _refused(name: str, error: int) -> Failed:
    from pycares import errno

    kind = _KINDS.get(errno.errorcode.get(error, ""), FailKind.DNS_SERVFAIL)
    return _failed(name, kind, f"the name server failed: {errno.strerror(error)!s}")


def _failed(name: str, kind: FailKind, words: str = "") -> Failed:
    return Failed(kind, f"{name}: {_WORDS.get(kind, words)}", retriable=kind not in _LASTING)
