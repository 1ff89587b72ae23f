"""The syntax of text settings: pins, proxies, name servers, headers, environment variables, user agents.

Invalid text raises a ValueError that does not quote possible secrets.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

PROXY_SCHEMES = {"http": 80, "https": 443, "socks4": 1080, "socks5": 1080, "socks5h": 1080}
NAME_A_VARIABLE = "settings are stored, so name an environment variable instead"

_VARIABLE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]{1,100}")
_SECRET = re.compile(r"auth|cookie|token|secret|passw|credential|session|signature|api[-_]?key|access[-_]?key")
_OURS = {
    "host": "it is taken from the URL",
    "user-agent": "use user_agent",
    "accept-encoding": "orbweb lists the encodings it can decode",
    "proxy-authorization": "put it into the URL of the proxy (proxy.urls)",
}
_FRAMING = re.compile(
    r"connection|content-(length|encoding)|expect|http2-settings|keep-alive|proxy-connection|range|te|trailer"
    r"|transfer-encoding|upgrade|if-(match|none-match|modified-since|unmodified-since|range)"
)
_CONTACT = re.compile(r"\+(https://|mailto:)[^\s()<>;,]+\.[^\s()<>;,]+")


class ResolvePin(NamedTuple):
    """A host and port, and the address and port to connect to instead. IPv6 addresses have their brackets."""

    host: str
    port: str
    address: str
    target_port: str


def read_pin(text: str) -> ResolvePin:
    """HOST:PORT:ADDR[:PORT], or ValueError."""
    host, rest = _take_host(text)
    port, _, target = rest.partition(":")
    address, rest = _take_host(target)
    target_port = rest or port
    if not (host and address and _is_port(port) and _is_port(target_port)):
        raise ValueError(f"{text!r} is not HOST:PORT:ADDR or HOST:PORT:ADDR:PORT")
    return ResolvePin(host, port, address, target_port)


class ProxyUrl(NamedTuple):
    """A configured proxy. An IPv6 `host` has its brackets."""

    scheme: str
    host: str
    port: int
    user: str | None
    password: str


def read_proxy(text: str, name: str) -> ProxyUrl:
    """SCHEME://[USER:PASSWORD@]HOST:PORT, or a ValueError with what the proxy is called; it quotes nothing."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"{name} is not a URL such as http://proxy.example:3128") from None
    if parts.scheme not in PROXY_SCHEMES:
        raise ValueError(f"{name} must start with one of {', '.join(f'{s}://' for s in PROXY_SCHEMES)}")
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment or not text.isprintable():
        raise ValueError(f"{name} is not SCHEME://HOST:PORT")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    user = unquote(parts.username) if parts.username is not None else None
    return ProxyUrl(parts.scheme, host, port or PROXY_SCHEMES[parts.scheme], user, unquote(parts.password or ""))


def is_variable(text: str) -> bool:
    """Whether the text is the name of an environment variable: `$NAME`."""
    return _VARIABLE.fullmatch(text) is not None


def check_header(name: str, value: str | None) -> None:
    """A header that a user may set, its name in lower case; ValueError otherwise."""
    if not _TOKEN.fullmatch(name):
        raise ValueError("a name is not a valid header name")
    if name in _OURS:
        raise ValueError(f"{name} cannot be set: {_OURS[name]}")
    if _FRAMING.fullmatch(name):
        raise ValueError(f"{name} cannot be set: orbweb sends it when needed")
    if value is None or is_variable(value):
        return
    if _SECRET.search(name):
        raise ValueError(f"{name} looks like a secret; {NAME_A_VARIABLE}, such as $SITE_TOKEN")
    if not is_header_value(value):
        raise ValueError(f"{name}: a value must be one line of printable characters")


def is_header_value(value: str) -> bool:
    """Whether it is one non-empty line of printable characters."""
    return bool(value.strip()) and all(character.isprintable() or character == "\t" for character in value)


def has_contact(user_agent: str) -> bool:
    """Whether the user agent has a contact: +https://... or +mailto:..."""
    return _CONTACT.search(user_agent) is not None


def check_server(text: str) -> None:
    """ADDR or ADDR:PORT, an IPv6 address with a port in brackets; ValueError otherwise."""
    host, port = (text, "53") if text.count(":") > 1 and not text.startswith("[") else _take_host(text)
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        host = ""
    if not host or not _is_port(port or "53"):
        raise ValueError(f"{text!r} is not an IP address, or an IP address and a port such as 192.0.2.1:53")


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 65536


def _take_host(text: str) -> tuple[str, str]:
    """The host before the next colon, with its brackets, and the rest; empty for an unclosed bracket."""
    if text.startswith("["):
        host, closed, rest = text.partition("]")
        joined = closed and (not rest or rest.startswith(":"))
        return (host + "]", rest[1:]) if joined else ("", "")
    host, _, rest = text.partition(":")
    return host, rest
