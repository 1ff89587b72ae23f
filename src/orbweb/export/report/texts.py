"""Numbers, sizes, times and URLs as people read them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

WEB = ("http", "https")
NOTHING = "\N{EN DASH}"
"""Shown for a value that is not there."""
_THOUSAND = 1000
_MINUTE, _HOUR = 60, 3600


def number(value: int) -> str:
    """A count with commas: 12,467."""
    return f"{value:,}"


def short(value: int) -> str:
    """A large count in three or four digits: 611 k, 48.7 M, 1.6 B."""
    if value < 10 * _THOUSAND:
        return number(value)
    if value < _THOUSAND**2:
        return f"{value / _THOUSAND:.0f} k"
    return f"{value / _THOUSAND**2:.1f} M" if value < _THOUSAND**3 else f"{value / _THOUSAND**3:.1f} B"


def size(value: int) -> str:
    """A number of bytes: 412.6 MB."""
    amount = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < _THOUSAND:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _THOUSAND
    return f"{amount:.1f} TB"


def many(value: int, word: str) -> str:
    """A count with its noun: 1 page, 12,467 pages."""
    return f"{number(value)} {word}" if value == 1 else f"{number(value)} {word}s"


def words(name: str) -> str:
    """A state without underscores."""
    return name.replace("_", " ")


def took(seconds: float) -> str:
    """A duration as a clock shows it: 08:46, 1:38:40."""
    whole = round(seconds)
    hours, minutes = whole // _HOUR, whole % _HOUR // _MINUTE
    return f"{hours}:{minutes:02d}:{whole % _MINUTE:02d}" if hours else f"{minutes:02d}:{whole % _MINUTE:02d}"


def in_full(instant: str | None) -> str:
    """An instant in full: 2026-11-18 04:16:28 UTC."""
    return f"{datetime.fromisoformat(instant).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if instant else NOTHING


def host_of(url: str) -> str:
    """The host of a URL with its port, as the faint part of a shown URL."""
    return _parts(url)[0]


def rest_of(url: str) -> str:
    """What follows the host of a shown URL."""
    return _parts(url)[1]


def _parts(url: str) -> tuple[str, str]:
    scheme, found, rest = url.partition("://")
    if not found or scheme not in WEB:
        return "", url
    host, slash, path = rest.partition("/")
    return host, slash + path
