"""The cookie jar of one crawl, in memory only.

A cookie is sent only to the scheme, host and port that set it (a Domain attribute is ignored, which is stricter
than a browser). Limits: 50 cookies per origin, 4 KB each, 1,000 origins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

MOST_PER_ORIGIN = 50
MOST_BYTES = 4096
MOST_ORIGINS = 1000
SESSION = float("inf")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DELIMITERS = re.compile(r"[\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?!\d)")
_NUMBER = re.compile(r"(\d{1,4})(?!\d)")
_SECONDS = re.compile(r"-?\d+")


@dataclass(frozen=True, slots=True)
class Cookie:
    """A parsed Set-Cookie header."""

    name: str
    value: str
    path: str
    expires: float


class CookieJar:
    """The cookies of every origin of one crawl."""

    def __init__(self) -> None:
        self._origins: dict[str, dict[tuple[str, str], Cookie]] = {}

    def store(self, origin: str, path: str, lines: Iterable[str], now: float) -> None:
        """Store the Set-Cookie headers of a response; an expired cookie deletes the stored one of its name."""
        for line in lines:
            cookie = read(line, origin=origin, path=path, now=now)
            if cookie is not None:
                self._put(origin, cookie, now)

    def header(self, origin: str, path: str, now: float) -> str | None:
        """The Cookie header of a request; longer paths first, then the order in which they were set."""
        stored = self._origins.get(origin)
        if not stored:
            return None
        fit = [cookie for cookie in stored.values() if cookie.expires > now and _covers(cookie.path, path)]
        fit.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in fit) or None

    def _put(self, origin: str, cookie: Cookie, now: float) -> None:
        stored = self._origins.setdefault(origin, {})
        key = (cookie.name, cookie.path)
        if cookie.expires <= now:
            stored.pop(key, None)
            return
        stored[key] = cookie
        if len(stored) > MOST_PER_ORIGIN:
            expired = (each for each, old in stored.items() if old.expires <= now)
            del stored[next(expired, next(iter(stored)))]
        if len(self._origins) > MOST_ORIGINS:
            del self._origins[next(iter(self._origins))]


def read(line: str, *, origin: str, path: str, now: float) -> Cookie | None:
    """Parse a Set-Cookie header by section 5.2 of RFC 6265; None if it must be ignored.

    A Secure cookie is accepted only from an https origin.
    """
    pair, *attributes = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not (equals and name) or len(name) + len(value) > MOST_BYTES or not f"{name}{value}".isprintable():
        return None
    given = {}
    for attribute in attributes:
        key, _, content = attribute.partition("=")
        given[key.strip().lower()] = content.strip()
    if "secure" in given and not origin.startswith("https://"):
        return None
    prefix = given.get("path", "")
    return Cookie(name, value, prefix if prefix.startswith("/") else _directory(path), _expiry(given, now))


def _expiry(attributes: dict[str, str], now: float) -> float:
    """Max-Age wins over Expires; an invalid value is ignored."""
    age = attributes.get("max-age", "")
    if _SECONDS.fullmatch(age):
        return now + int(age[:12]) if not age.startswith("-") else 0.0
    moment = read_date(attributes["expires"]) if "expires" in attributes else None
    return SESSION if moment is None else moment


def read_date(text: str) -> float | None:
    """A cookie date by section 5.1.1 of RFC 6265, in seconds since 1970."""
    found: dict[str, tuple[int, ...]] = {}
    for token in filter(None, _DELIMITERS.split(text)):
        for part, value in _readings(token):
            if part not in found:
                found[part] = value
                break
    if len(found) < 4:
        return None
    year, (hour, minute, second) = found["year"][0], found["time"]
    year += 1900 if 70 <= year <= 99 else 2000 if year <= 69 else 0
    try:
        day = datetime(year, found["month"][0], found["day"][0], tzinfo=UTC)
        return day.replace(hour=hour, minute=minute, second=second).timestamp()
    except ValueError:
        return None


def _readings(token: str) -> Iterable[tuple[str, tuple[int, ...]]]:
    """The parts of a date that a token may be, in order of precedence."""
    if clock := _TIME.match(token):
        yield "time", tuple(map(int, clock.groups()))
    number = _NUMBER.match(token)
    if number and len(number[1]) <= 2:
        yield "day", (int(number[1]),)
    if token[:3].lower() in _MONTHS:
        yield "month", (_MONTHS.index(token[:3].lower()) + 1,)
    if number and len(number[1]) in (2, 4):
        yield "year", (int(number[1]),)


def _directory(path: str) -> str:
    """The default path of a cookie: the path of the request without its last segment."""
    return path.rpartition("/")[0] or "/"


def _covers(prefix: str, path: str) -> bool:
    return path == prefix or (path.startswith(prefix) and (prefix.endswith("/") or path[len(prefix)] == "/"))
