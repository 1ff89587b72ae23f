"""Numbers, sizes, times and URLs as the pages show them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit

WEB = ("http", "https")
NOTHING = "\N{EN DASH}"
"""Shown for a value that is not there."""
_THOUSAND = 1000
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


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


def rate(value: float) -> str:
    """Per second: 25.6/s."""
    return f"{value:.1f}/s"


def took(seconds: float) -> str:
    """A duration as a clock shows it: 08:46, 1:38:40."""
    whole = round(seconds)
    hours, minutes = whole // _HOUR, whole % _HOUR // _MINUTE
    return f"{hours}:{minutes:02d}:{whole % _MINUTE:02d}" if hours else f"{minutes:02d}:{whole % _MINUTE:02d}"


def span(seconds: float) -> str:
    """A duration in words: 12 s, 4 min, 2 h 18 min, 3 d."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < _DAY:
        return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"
    return f"{seconds / _DAY:.0f} d"


def ago(instant: str | None, now: datetime) -> str:
    """How long ago an instant was, in one unit: now, 41 s, 2 min, 5 h, 12 d."""
    if instant is None:
        return NOTHING
    seconds = max(timedelta(), now - datetime.fromisoformat(instant)).total_seconds()
    if seconds < 2:
        return "now"
    for unit, length, limit in (("s", 1, _MINUTE), ("min", _MINUTE, _HOUR), ("h", _HOUR, _DAY)):
        if seconds < limit:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds // _DAY:.0f} d"


def day(instant: str | None, now: datetime) -> str:
    """An instant in a list: the time of today, else the day."""
    if instant is None:
        return NOTHING
    found = datetime.fromisoformat(instant).astimezone(UTC)
    return f"{found:%H:%M:%S}" if found.date() == now.date() else _date(found, now)


def when(instant: str | None, now: datetime) -> str:
    """An instant with its time: today 04:10:06, else 11 Nov 02:00:04."""
    if instant is None:
        return NOTHING
    found = datetime.fromisoformat(instant).astimezone(UTC)
    return f"{'today' if found.date() == now.date() else _date(found, now)} {found:%H:%M:%S}"


def in_full(instant: str | None) -> str:
    """An instant in full: 2026-11-18 04:16:28 UTC."""
    return f"{datetime.fromisoformat(instant).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if instant else NOTHING


def _date(found: datetime, now: datetime) -> str:
    return f"{found.day} {found:%b}" if found.year == now.year else f"{found.day} {found:%b %Y}"


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


def outward(url: str | None) -> str | None:
    """A URL that a link may point to; None for anything else than http and https."""
    if url is None:
        return None
    try:
        return url if urlsplit(url).scheme in WEB else None
    except ValueError:
        return None


def segment(text: str) -> str:
    """A text as one segment of a path, or one value of a query."""
    return quote(text, safe="")
