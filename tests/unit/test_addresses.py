"""Which addresses are public: the registries, every way to carry IPv4 inside IPv6, and the odd ones out."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbweb.fetching.addresses import normal, not_public

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
          "168.63.129.15", "168.63.129.17", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
          "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
          "2001:200::1", "2001:4860:4860::8888", "64:ff9b::808:808", "::ffff:8.8.8.8",
          "2002:808:808::1"]  # fmt: skip

NOT_PUBLIC = {
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "10.0.0.1": "private",
    "100.64.0.1": "carrier-grade NAT",
    "100.100.100.200": "carrier-grade NAT",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "168.63.129.16": "cloud metadata",
    "169.254.169.254": "cloud metadata",
    "169.254.170.2": "link-local",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.0.0.192": "reserved",
    "192.0.2.1": "documentation",
    "192.88.99.1": "reserved",
    "192.168.0.1": "private",
    "198.18.0.1": "benchmarking",
    "198.51.100.1": "documentation",
    "203.0.113.1": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.250": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "::127.0.0.1": "loopback",
    "::8.8.8.8": "reserved",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:0:127.0.0.1": "loopback",
    "64:ff9b::7f00:1": "loopback",
    "64:ff9b::a9fe:a9fe": "cloud metadata",
    "64:ff9b:1::808:808": "reserved",
    "64:ff9b:1::a00:1": "private",
    "100::1": "reserved",
    "2001::1": "unspecified",
    "2001:0:808:808::f7f7:f7f7": "reserved",
    "2001:0:808:808::80ff:fffe": "loopback",
    "2001:0:a00:1::f7f7:f7f7": "private",
    "2001:db8::1": "documentation",
    "3fff::1": "documentation",
    "2002:7f00:1::": "loopback",
    "2002:a9fe:a9fe::": "cloud metadata",
    "2606:4700::5efe:10.0.0.1": "private",
    "2606:4700::200:5efe:192.168.1.1": "private",
    "5f00::1": "reserved",
    "fc00::1": "private",
    "fd00:ec2::254": "cloud metadata",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fe80::5efe:8.8.8.8": "link-local",
    "fec0::1": "site-local",
    "ff02::1": "multicast",
    "example.org": "not an IP address",
    "127.1": "not an IP address",
    "": "not an IP address",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert not_public(address) is None


@pytest.mark.parametrize(("address", "why"), NOT_PUBLIC.items())
def test_not_public_and_why(address: str, why: str) -> None:
    assert why in (not_public(address) or "")


WRAPPED = {
    "mapped": lambda v4: (0xFFFF << 32) | v4,
    "NAT64": lambda v4: (0x64_FF9B << 96) | v4,
    "6to4": lambda v4: (0x2002 << 112) | (v4 << 80) | 1,
}
REFUSED_ANYWAY = {
    "compatible": lambda v4: v4,
    "translated": lambda v4: (0xFFFF << 48) | v4,
    "local NAT64": lambda v4: (0x64_FF9B_0001 << 80) | v4,
    "Teredo server": lambda v4: (0x2001_0000 << 96) | (v4 << 64) | 0xF7F7_F7F7,
    "Teredo client": lambda v4: (0x2001_0000 << 96) | (0x0808_0808 << 64) | (v4 ^ 0xFFFF_FFFF),
}
ISATAP = {
    "ISATAP": lambda v4: (0x2606_4700 << 96) | (0x5EFE << 32) | v4,
    "ISATAP, global": lambda v4: (0x2606_4700 << 96) | (0x0200_5EFE << 32) | v4,
}

fours = st.integers(0, 2**32 - 1)


@given(fours)
def test_an_address_inside_another_counts_as_itself(four: int) -> None:
    inner = not_public(str(IPv4Address(four)))
    for wrap in (WRAPPED | ISATAP).values():
        outer = not_public(str(IPv6Address(wrap(four))))
        assert (outer is None) == (inner is None)
        assert inner is None or (outer or "").startswith(inner)


@given(fours)
def test_what_no_public_server_has_is_refused_whatever_it_carries(four: int) -> None:
    for wrap in REFUSED_ANYWAY.values():
        assert not_public(str(IPv6Address(wrap(four)))) is not None


@given(st.integers(0, 2**128 - 1))
def test_only_global_unicast_and_nat64_are_public_in_ipv6(value: int) -> None:
    carried = value >> 32 in (0xFFFF, 0x64_FF9B << 64)
    assert not_public(str(IPv6Address(value))) is not None or value >> 125 == 1 or carried


@given(fours)
def test_stricter_than_the_standard_library(four: int) -> None:
    address = IPv4Address(four)
    assert not_public(str(address)) is not None or address.is_global


def test_one_spelling() -> None:
    assert normal("::ffff:127.0.0.1") == normal("::FFFF:7F00:1")
    assert normal("0:0::1") == "::1"
    assert normal("fe80::1%eth0") == "fe80::1"
    assert normal("127.0.0.1") == "127.0.0.1"
    assert normal("localhost") is None
    assert normal("127.1") is None
