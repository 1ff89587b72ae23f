"""Whether an IP address is public, and what kind of address it is if not.

The tables cover the special-purpose registries of IANA, the transition mechanisms that embed an IPv4 address in an
IPv6 one, and cloud metadata services. An address not known to be public counts as private. `ipaddress.is_global`
is not used because its result depends on the version of Python. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network

# The first network that contains the address decides. Other cloud metadata services are inside one of the
# networks below: link-local, private, carrier-grade NAT or reserved.
_V4 = {
    "0.0.0.0/8": "unspecified",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "carrier-grade NAT",
    "127.0.0.0/8": "loopback",
    "168.63.129.16/32": "cloud metadata",
    "169.254.169.254/32": "link-local, cloud metadata",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "reserved",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "benchmarking",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
    "0.0.0.0/0": None,
}
_V6 = {
    "::/128": "unspecified",
    "::1/128": "loopback",
    "::ffff:0:0/96": None,
    "64:ff9b::/96": None,
    "2001::/23": "reserved",
    "2001:db8::/32": "documentation",
    "3fff::/20": "documentation",
    "2000::/3": None,
    "fd00:ec2::254/128": "private, cloud metadata",
    "fc00::/7": "private",
    "fe80::/10": "link-local",
    "fec0::/10": "site-local",
    "ff00::/8": "multicast",
    "::/0": "reserved",
}

# Prefixes, by their length, whose last four bytes are an IPv4 address: mapped, compatible, translated, NAT64.
_LAST_32 = (
    (96, int(IPv6Address("::ffff:0:0"))),
    (96, 0),
    (96, int(IPv6Address("::ffff:0:0:0"))),
    (96, int(IPv6Address("64:ff9b::"))),
    (48, int(IPv6Address("64:ff9b:1::"))),
)
_SIX_TO_FOUR = 0x2002
_TEREDO = 0x2001_0000
_ISATAP = 0x0000_5EFE
_ISATAP_MASK = 0xFDFF_FFFF
_MASK_32 = 0xFFFF_FFFF

_Rules = tuple[tuple[int, int, str | None], ...]


def _rules(table: Mapping[str, str | None]) -> _Rules:
    networks = ((ip_network(text), why) for text, why in table.items())
    return tuple((int(net.network_address), int(net.broadcast_address), why) for net, why in networks)


_V4_RULES = _rules(_V4)
_V6_RULES = _rules(_V6)


@lru_cache(maxsize=8192)
def not_public(address: str) -> str | None:
    """The kind of an address that is not public; None if it is public. Text that is not an address is not
    public."""
    try:
        if ":" in address:
            return _v6(int(IPv6Address(address)))
        return _decide(_V4_RULES, int(IPv4Address(address)))
    except AddressValueError:
        return "not an IP address"


def normal(host: str) -> str | None:
    """The canonical spelling of an IP address, without brackets and zone; None if the host is not an address."""
    try:
        return str(IPv6Address(int(IPv6Address(host))) if ":" in host else IPv4Address(host))
    except AddressValueError:
        return None


def _decide(rules: _Rules, value: int) -> str | None:
    return next(why for first, last, why in rules if first <= value <= last)


def _v6(value: int) -> str | None:
    own = _decide(_V6_RULES, value)
    if value > 1:
        for inner in _inside(value):
            why = _decide(_V4_RULES, inner)
            if why is not None:
                return f"{why}: it carries {IPv4Address(inner)}"
    return own


def _inside(value: int) -> Iterator[int]:
    """Every IPv4 address that is embedded in an IPv6 address."""
    last = value & _MASK_32
    if any(value >> 128 - length == prefix >> 128 - length for length, prefix in _LAST_32):
        yield last
    if value >> 112 == _SIX_TO_FOUR:
        yield value >> 80 & _MASK_32
    if value >> 96 == _TEREDO:
        yield value >> 64 & _MASK_32
        yield last ^ _MASK_32
    if value >> 32 & _ISATAP_MASK == _ISATAP:
        yield last
