"""By which proxy a request goes.

Owns the order of the proxies and which of them rest. Always holds: with proxies there is no direct request; one
that failed rests, longer each time, and when all rest the one due first is used. Never connects, and never shows a
password: a proxy is known by its number in the list, its host and its port.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orbweb.model import Failed, FailKind

REST_S = 5.0
LONGEST_REST_S = 300.0


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy of the list. `host` keeps its brackets."""

    number: int
    scheme: str
    host: str
    port: int
    user: str | None = field(default=None, repr=False)
    password: str = field(default="", repr=False)

    @property
    def id(self) -> str:
        """What is recorded of it."""
        return f"{self.number} {self.site}"

    @property
    def site(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """For curl; the user and password are told apart from it."""
        return f"{'socks5' if self.scheme == 'socks5h' else self.scheme}://{self.site}"


class Proxies(Protocol):
    """Chooses a proxy for each request and is told how it did."""

    def pick(self, site: str, ticket: int) -> Proxy | None:
        """The proxy for a request to the site; None: ask it directly."""

    def report(self, proxy: Proxy, *, ok: bool) -> None:
        """Whether the proxy carried a request; what the server answered is not its fault."""


class Direct:
    """No proxy at all."""

    def pick(self, _site: str, _ticket: int) -> Proxy | None:
        return None

    def report(self, _proxy: Proxy, *, ok: bool) -> None:
        """There is none to report."""


class RoundRobin:
    """Each in turn, but for those that rest."""

    def __init__(self, proxies: Sequence[Proxy], *, clock: Callable[[], float]) -> None:
        self._ring = list(proxies)
        self._clock = clock
        self._failures: dict[Proxy, int] = {}
        self._rests: dict[Proxy, float] = {}

    def pick(self, _site: str, _ticket: int) -> Proxy | None:
        now = self._clock()
        awake = (proxy for proxy in self._ring if self._rests.get(proxy, 0.0) <= now)
        chosen = next(awake, None) or min(self._ring, key=self._rests.__getitem__)
        self._ring.remove(chosen)
        self._ring.append(chosen)
        return chosen

    def report(self, proxy: Proxy, *, ok: bool) -> None:
        if ok:
            self._failures.pop(proxy, None)
            self._rests.pop(proxy, None)
            return
        now = self._clock()
        if self._rests.get(proxy, 0.0) > now:
            return
        times = self._failures[proxy] = self._failures.get(proxy, 0) + 1
        self._rests[proxy] = now + min(REST_S * 2 ** min(times - 1, 10), LONGEST_REST_S)


def no_proxy(proxy: Proxy, failed: Failed) -> Failed:
    """The proxy has no address, or none that it may have."""
    why = failed.error
    if failed.kind is FailKind.BLOCKED_ADDRESS:
        why = f"{why.partition(';')[0]}; proxy.allow_private allows it"
    return proxy_failed(proxy, why)


def proxy_failed(proxy: Proxy, why: str) -> Failed:
    return Failed(FailKind.PROXY, f"proxy {proxy.id}: {why}", retriable=True, proxy=proxy.id)
