"""Protection against requests to private addresses (SSRF): the checked addresses of each site, called pins.

A site without consent gets a pin only if every address of its name is public: one private address blocks all of
them. Connections go only to the pinned addresses, and each new connection checks its address again (`refusal`),
which defeats DNS rebinding. Consent is for a `host:port` that the user named, never for the targets of its links
and redirects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from orbweb.errors import option
from orbweb.fetching.addresses import normal, not_public
from orbweb.fetching.dns import DnsResolver, Resolved
from orbweb.model import Failed, FailKind

MOST_ADDRESSES = 16
MOST_PINS = 10_000
FOREVER = float("inf")

Judge = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class PrivateConsent:
    """The private sites that the user allowed, by `host:port`, or all of them.

    `requested` are sites that only the workspace names, which is not consent; with `is_spooled`, all are named by
    lines of a spool, which are not either.
    """

    sites: frozenset[str] = frozenset()
    everything: bool = False
    requested: frozenset[str] = frozenset()
    is_spooled: bool = False

    def named_by(self, site: str) -> str | None:
        """What names a site without being consent; None if it was found on a page."""
        if site in self.requested:
            return "the base URL came with the workspace"
        return "a line of a spool is no consent" if self.is_spooled else None

    def covers(self, site: str) -> bool:
        return self.everything or site in self.sites


@dataclass(frozen=True, slots=True)
class Pin:
    """The checked addresses of a site, the first being the one in use, and when they expire."""

    site: str
    port: str
    addresses: tuple[str, ...]
    consented: bool
    until: float
    connect_to: str = field(init=False)

    def __post_init__(self) -> None:
        """The address in use as curl's CONNECT_TO, for any host: a handle carries one request at a time."""
        address = self.addresses[0]
        object.__setattr__(self, "connect_to", f"::{f'[{address}]' if ':' in address else address}:{self.port}")


OnPin = Callable[[str, Pin | Failed], None]


class Guard:
    """Resolves a site to its pin, or to the reason why it has none.

    `routes` are the user's `--resolve` options: site -> the host and port to connect to instead. `on_private` is
    called with each site at a private address that consent allows.
    """

    def __init__(
        self,
        names: DnsResolver,
        consent: PrivateConsent,
        routes: Mapping[str, tuple[str, str]],
        *,
        clock: Callable[[], float],
        judge: Judge = not_public,
        on_private: Callable[[str], None] = lambda _site: None,
    ) -> None:
        self._names = names
        self._consent = consent
        self._routes = routes
        self._clock = clock
        self._judge = judge
        self._on_private = on_private
        self._pins: dict[str, Pin] = {}

    def pin(self, site: str) -> Pin | None:
        """The unexpired pin of a site."""
        pin = self._pins.get(site)
        return pin if pin is not None and pin.until > self._clock() else None

    def find(self, site: str, on_done: OnPin) -> None:
        """Look the site up; `on_done` is called later with the site and its pin or failure."""
        host, _, port = site.rpartition(":")
        host = host.removesuffix(".")
        host, port = self._routes.get(f"{host}:{port}", (host, port))
        address = normal(host.strip("[]"))
        if address is not None:
            self._names.later(partial(self._found, site, port, on_done), Resolved((address,), FOREVER))
        else:
            self._names.resolve(host.removesuffix("."), partial(self._found, site, port, on_done))

    def rotate(self, pin: Pin) -> None:
        """Use the next address, because the one in use could not be reached."""
        if self._pins.get(pin.site) is pin and len(pin.addresses) > 1:
            self._pins[pin.site] = replace(pin, addresses=(*pin.addresses[1:], pin.addresses[0]))

    def refusal(self, pin: Pin, address: str) -> Failed | None:
        """The failure if a connection to `address` is not allowed for the pin; None if it is."""
        if normal(address) not in pin.addresses:
            return _blocked(pin.site, address, "not the address that was checked")
        why = None if pin.consented else self._judge(address)
        return None if why is None else _blocked(pin.site, address, why)

    def close(self) -> None:
        self._names.close()

    def _found(self, site: str, port: str, on_done: OnPin, found: Resolved | Failed) -> None:
        pin = found if isinstance(found, Failed) else self._checked(site, port, found)
        if isinstance(pin, Pin):
            if len(self._pins) >= MOST_PINS:
                self._pins.clear()
            self._pins[site] = pin
        on_done(site, pin)

    def _checked(self, site: str, port: str, found: Resolved) -> Pin | Failed:
        """Judge every address; the one in use stays first if the name still has it."""
        consented = self._consent.covers(site)
        for address in found.addresses:
            why = self._judge(address)
            if why is not None and not consented:
                return _blocked(site, address, why, named_by=self._consent.named_by(site))
            if why is not None:
                self._on_private(site)
                break
        addresses = [address for address in map(normal, found.addresses[:MOST_ADDRESSES]) if address is not None]
        before = self._pins.get(site)
        if before is not None and before.addresses[0] in addresses:
            addresses.insert(0, before.addresses[0])
        return Pin(site, port, tuple(dict.fromkeys(addresses)), consented, found.until)


def _blocked(site: str, address: str, why: str, *, named_by: str | None = None) -> Failed:
    is_named = site.rpartition(":")[0].strip("[]") != address
    what = f"{site} is at {address}, which is" if is_named else f"{address} is"
    remedy = (
        f"allow it with a base URL or {option('resolve')} that names {site}, or with {option('allow_private')}"
    )
    if named_by is not None:
        remedy = f"{named_by}; allow it with {option('trust', f'private={site}')}"
    return Failed(FailKind.BLOCKED_ADDRESS, f"{what} not public ({why}); {remedy}")
