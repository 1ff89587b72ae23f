"""Which address a site is asked at, and whether it may be.

Owns consent and the pins: the checked addresses of each `host:port`. Always holds: a site without consent has a
pin only if every address of its name is public, so one private address refuses all of them; what was checked is
what is dialled, and it is judged again for each new connection (`refusal`). Consent is for a `host:port` as a
user named it, never for where its pages or redirects lead. Never connects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from orbweb.fetching.addresses import normal, not_public
from orbweb.fetching.dns import DnsResolver, Resolved
from orbweb.model import Failed, FailKind

KEPT_ADDRESSES = 16
KEPT_PINS = 10_000
FOREVER = float("inf")

Judge = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class PrivateConsent:
    """What a user opened: sites by `host:port`, or everything. `asked`: what a workspace alone names."""

    sites: frozenset[str] = frozenset()
    everything: bool = False
    asked: frozenset[str] = frozenset()

    def covers(self, site: str) -> bool:
        return self.everything or site in self.sites


@dataclass(frozen=True, slots=True)
class Pin:
    """The addresses of a site that may be dialled, the first being the one in use, and until when they hold."""

    site: str
    port: str
    addresses: tuple[str, ...]
    consented: bool
    until: float
    connect_to: str = field(init=False)

    def __post_init__(self) -> None:
        """The address in use as curl's CONNECT_TO, for any host: a handle is set for one request at a time."""
        address = self.addresses[0]
        object.__setattr__(self, "connect_to", f"::{f'[{address}]' if ':' in address else address}:{self.port}")


class Guard:
    """Finds the pin of a site, or why it has none.

    `routes` are the user's own: site -> the host and port to ask in its stead, by `--resolve`. `opened` is told of
    a site that is at a private address by consent.
    """

    def __init__(
        self,
        names: DnsResolver,
        consent: PrivateConsent,
        routes: Mapping[str, tuple[str, str]],
        *,
        clock: Callable[[], float],
        judge: Judge = not_public,
        opened: Callable[[str], None] = lambda _site: None,
    ) -> None:
        self._names = names
        self._consent = consent
        self._routes = routes
        self._clock = clock
        self._judge = judge
        self._opened = opened
        self._pins: dict[str, Pin] = {}

    def pin(self, site: str) -> Pin | None:
        """The pin of a site, while it holds."""
        pin = self._pins.get(site)
        return pin if pin is not None and pin.until > self._clock() else None

    def find(self, site: str, told: Callable[[str, Pin | Failed], None]) -> None:
        """Look the site up; `told` is called later with it and its pin, or with why it has none."""
        host, _, port = site.rpartition(":")
        host = host.removesuffix(".")
        host, port = self._routes.get(f"{host}:{port}", (host, port))
        address = normal(host.strip("[]"))
        if address is not None:
            self._names.later(partial(self._found, site, port, told), Resolved((address,), FOREVER))
        else:
            self._names.ask(host.removesuffix("."), partial(self._found, site, port, told))

    def rotate(self, pin: Pin) -> None:
        """The address in use could not be reached: the next is."""
        if self._pins.get(pin.site) is pin and len(pin.addresses) > 1:
            self._pins[pin.site] = replace(pin, addresses=(*pin.addresses[1:], pin.addresses[0]))

    def refusal(self, pin: Pin, address: str) -> Failed | None:
        """Why a connection to `address` may not be opened for the pin; None if it may."""
        if normal(address) not in pin.addresses:
            return _blocked(pin.site, address, "not the address that was checked")
        why = None if pin.consented else self._judge(address)
        return None if why is None else _blocked(pin.site, address, why)

    def close(self) -> None:
        self._names.close()

    def _found(
        self, site: str, port: str, told: Callable[[str, Pin | Failed], None], answer: Resolved | Failed
    ) -> None:
        pin = answer if isinstance(answer, Failed) else self._checked(site, port, answer)
        if isinstance(pin, Pin):
            if len(self._pins) >= KEPT_PINS:
                self._pins.clear()
            self._pins[site] = pin
        told(site, pin)

    def _checked(self, site: str, port: str, found: Resolved) -> Pin | Failed:
        """Every address is judged, however many; then the one in use stays the first if it is still there."""
        consented = self._consent.covers(site)
        for address in found.addresses:
            why = self._judge(address)
            if why is not None and not consented:
                return _blocked(site, address, why, asked=site in self._consent.asked)
            if why is not None:
                self._opened(site)
                break
        addresses = [address for address in map(normal, found.addresses[:KEPT_ADDRESSES]) if address is not None]
        before = self._pins.get(site)
        if before is not None and before.addresses[0] in addresses:
            addresses.insert(0, before.addresses[0])
        return Pin(site, port, tuple(dict.fromkeys(addresses)), consented, found.until)


def _blocked(site: str, address: str, why: str, *, asked: bool = False) -> Failed:
    is_named = site.rpartition(":")[0].strip("[]") != address
    what = f"{site} is at {address}, which is" if is_named else f"{address} is"
    opens = f"only a base URL or --resolve that names {site}, or --allow-private, opens it"
    if asked:
        opens = f"the base URL came with the workspace; --trust private={site} opens it"
    return Failed(FailKind.BLOCKED_ADDRESS, f"{what} not public ({why}); {opens}")
