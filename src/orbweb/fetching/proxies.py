"""Which proxy a request uses: the next of a list, or the one that a program of the user chooses.

With proxies configured there is no direct request. A proxy of the list that failed rests, longer each time; when
all rest, the one due first is used. Records and messages name a proxy by its number (in the list, or in the order
in which it was first chosen), host and port, never with its password.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orbweb import urls
from orbweb.errors import ProxyChooserError
from orbweb.fetching import ProxyChooser
from orbweb.model import Failed, FailKind

REST_S = 5.0
LONGEST_REST_S = 300.0
MOST_CHOSEN = 1_000
"""Proxies whose numbers are remembered; a chooser may invent any number of them."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy. An IPv6 `host` has its brackets. `given` is the text by which a chooser knows it."""

    number: int
    scheme: str
    host: str
    port: int
    user: str | None = field(default=None, repr=False)
    password: str = field(default="", repr=False)
    given: str = field(default="", repr=False, compare=False)

    @property
    def id(self) -> str:
        """The name of the proxy in records and messages."""
        return f"{self.number} {self.site}"

    @property
    def site(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """For curl, without user name and password."""
        return f"{'socks5' if self.scheme == 'socks5h' else self.scheme}://{self.site}"


class Proxies(Protocol):
    """Chooses a proxy for each request, and learns whether it worked."""

    def pick(self, site: str, ticket: int) -> Proxy | None:
        """The proxy for a request to the site; None for a direct request."""

    def report(self, proxy: Proxy, *, ok: bool) -> None:
        """Whether the proxy delivered a request, whatever the server returned."""


class Direct:
    """No proxy at all."""

    def pick(self, _site: str, _ticket: int) -> Proxy | None:
        return None

    def report(self, _proxy: Proxy, *, ok: bool) -> None:
        """Nothing to do."""


class RoundRobin:
    """Each in turn, except those that rest."""

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


class ChosenProxies:
    """The proxies that a chooser returns. What it raises, or returns instead of a proxy, is a ProxyChooserError:
    no request goes direct because of it."""

    def __init__(self, chooser: ProxyChooser, read: Callable[[str, int], Proxy]) -> None:
        """`read` makes the proxy of a text and its number; ValueError if it is none, which must quote nothing."""
        self._chooser = chooser
        self._read = read
        self._known: dict[str, Proxy] = {}
        self._chosen = 0

    def pick(self, site: str, _ticket: int) -> Proxy | None:
        host = site.rpartition(":")[0]
        call = f"pick({host!r})"
        try:
            given = self._chooser.pick(host)
        except Exception as error:
            raise _chooser_raised(call, error) from error
        if not isinstance(given, str):
            raise ProxyChooserError(
                f"the proxy chooser: {call} returned {type(given).__name__}, not a proxy such as "
                "'http://proxy.example:3128'; nothing was requested without a proxy"
            )
        return self._known.get(given) or self._read_new(call, given)

    def _read_new(self, call: str, given: str) -> Proxy:
        try:
            proxy = self._read(given, self._chosen + 1)
        except ValueError as error:
            raise ProxyChooserError(
                f"the proxy chooser: what {call} returned {error}; nothing was requested without a proxy"
            ) from None
        self._chosen += 1
        if len(self._known) >= MOST_CHOSEN:
            del self._known[next(iter(self._known))]
        self._known[given] = proxy
        return proxy

    def report(self, proxy: Proxy, *, ok: bool) -> None:
        try:
            self._chooser.report(proxy.given, ok)
        except Exception as error:
            raise _chooser_raised(f"report({proxy.site!r}, {ok})", error) from error


def _chooser_raised(call: str, error: Exception) -> ProxyChooserError:
    return ProxyChooserError(f"the proxy chooser: {call} raised {type(error).__name__}: {urls.shown(str(error))}")


def no_proxy(proxy: Proxy, failed: Failed) -> Failed:
    """The failure of a proxy whose name did not resolve or whose address is not allowed."""
    why = failed.error
    if failed.kind is FailKind.BLOCKED_ADDRESS:
        why = f"{why.partition(';')[0]}; proxy.allow_private allows it"
    return proxy_failed(proxy, why)


def proxy_failed(proxy: Proxy, why: str) -> Failed:
    return Failed(FailKind.PROXY, f"proxy {proxy.id}: {why}", retriable=True, proxy=proxy.id)
