"""Numbers, sizes, times and URLs as the pages show them. Pure."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit

from orbweb.app.pictures import NOTHING, WEB, host_of, in_full, many, number, rest_of, short, size, took, words

__all__ = [
    "NOTHING",
    "ago",
    "day",
    "host_of",
    "in_full",
    "many",
    "number",
    "outward",
    "rate",
    "rest_of",
    "segment",
    "sentence",
    "shell",
    "short",
    "size",
    "span",
    "took",
    "when",
    "words",
]

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def rate(value: float) -> str:
    """Per second: 25.6/s."""
    return f"{value:.1f}/s"


def span(seconds: float) -> str:
    """A duration in words: 12 s, 4 min, 2 h 18 min, 3 d."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < _DAY:
        return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"
    return f"{seconds / _DAY:.0f} d"


def sentence(text: str) -> str:
    """A message as a sentence: it begins with a capital, unless that would change a name, and ends with a stop."""
    text = text.strip()
    first = text.split(" ", 1)[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
    return begun if not begun or begun.endswith((".", "?", "!", "`")) else f"{begun}."


def shell(text: str) -> str:
    """A word as a shell takes it."""
    return shlex.quote(text)


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


def _date(found: datetime, now: datetime) -> str:
    return f"{found.day} {found:%b}" if found.year == now.year else f"{found.day} {found:%b %Y}"


def cause_of(reason: str) -> str:
    """The last part of a reason; the parts before it name the host."""
    return reason.rpartition(": ")[2]


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
