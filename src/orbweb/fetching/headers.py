"""The headers of requests: those of every request, the user's, cookies; and the user's query parameters.

The user's headers and parameters are sent only to the origins (scheme, host and port) that the user named, and a
cookie only to the origin that set it. The target of a redirect or link is a separate request, judged by its own
origin. No error, log or `repr` contains a value.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus, urlencode

from orbweb.fetching.cookies import CookieJar

ACCEPT = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
NO_CACHE = "no-cache"
_LEAST_QUALITY = 1
"""Tenths: a language that is named is wanted, however many come before it."""

Lines = tuple[str | bytes, ...]

REDACTED = b"[redacted]"
_CREDENTIALS = frozenset((b"authorization", b"cookie", b"proxy-authorization"))
_LEAST_SECRET = 4
"""Shorter secrets are not searched for in responses: they would match everywhere."""
_USERINFO = re.compile(rb"([/\\]{2})[^/\\?#\r\n]*@")
_COOKIE = re.compile(rb"(?i)(set-cookie2?:[^=;\r\n]*=)[^;\r\n]*")


def standard_lines(languages: Sequence[str], cache_control: str | None) -> tuple[str, ...]:
    """The header lines of every request: Accept, Accept-Language with the preferred language first, Cache-Control.
    A user's header of the same name replaces one."""
    preferred = ",".join(map(_with_quality, languages, range(10, 10 - len(languages), -1)))
    return (
        ACCEPT,
        *([f"Accept-Language: {preferred}"] if preferred else []),
        *([f"Cache-Control: {cache_control}"] if cache_control else []),
    )


def _with_quality(language: str, tenths: int) -> str:
    return language if tenths == 10 else f"{language};q=0.{max(tenths, _LEAST_QUALITY)}"


class Identity:
    """The header lines of each request. Without credentials, headers or cookies they are the same for all."""

    def __init__(
        self,
        standard: tuple[str, ...] = (ACCEPT,),
        origins: frozenset[str] = frozenset(),
        headers: Mapping[str, str] | None = None,
        jar: CookieJar | None = None,
        *,
        params: Mapping[str, str] | None = None,
        secret: Collection[str] = (),
        clock: Callable[[], float],
    ) -> None:
        """`standard` are the lines of every request; `secret` names the headers and parameters whose values came
        from the environment."""
        given = dict(headers or {})
        self._redacts = _CREDENTIALS | {name.lower().encode() for name in secret}
        self._secrets = tuple(_spellings([*given.items(), *(params or {}).items()], self._redacts))
        shown = {name: "REDACTED" if name.lower().encode() in self._redacts else value
                 for name, value in (params or {}).items()}  # fmt: skip
        self._shown_query = urlencode(shown)
        self.has_secrets = jar is not None or bool(given) or bool(params)
        self._query = urlencode(params or {})
        self._query_origins = origins if self._query else frozenset()
        self._origins = origins if given else frozenset()
        self._cookie = given.pop("cookie", None)
        self._standard: Lines = standard
        kept = (line for line in standard if line.partition(":")[0].lower() not in given)
        self._own: Lines = (*kept, *(_line(name, value) for name, value in given.items()))
        self._jar = jar
        self._clock = clock
        self.wants_cookies = jar is not None

    def requested_url(self, url: str) -> str:
        """The URL as it is sent: with the user's parameters if its origin was named."""
        if not self._query_origins or _split(url)[0] not in self._query_origins:
            return url
        return f"{url}{'&' if '?' in url else '?'}{self._query}"

    def lines(self, url: str) -> Lines:
        """The header lines that are sent with a request for the URL."""
        if not self._origins and self._jar is None:
            return self._standard
        origin, path = _split(url)
        named = origin in self._origins
        stored = self._jar.header(origin, path, self._clock()) if self._jar is not None else None
        cookies = "; ".join(filter(None, (self._cookie if named else None, stored)))
        own = self._own if named else self._standard
        return (*own, _line("Cookie", cookies)) if cookies else own

    def shown_query(self, url: str) -> bytes:
        """The query that `requested_url` adds to a URL, without secrets."""
        if not self._query_origins or _split(url)[0] not in self._query_origins:
            return b""
        return f"{'&' if '?' in url else '?'}{self._shown_query}".encode()

    def shown(self, lines: Lines) -> Lines:
        """The header lines of a request with secrets redacted."""
        return tuple(map(self._shown_line, lines)) if self.has_secrets else lines

    def _shown_line(self, line: str | bytes) -> bytes:
        given = line if isinstance(line, bytes) else line.encode()
        name, colon, _ = given.partition(b":")
        return name + colon + b" " + REDACTED if name.lower() in self._redacts else given

    def shown_response(self, lines: Sequence[bytes]) -> list[bytes]:
        """The head of a response with secrets redacted: those of the user that it repeats, and those it sets."""
        return [self._without_secrets(_COOKIE.sub(rb"\1" + REDACTED, line)) for line in lines]

    def _without_secrets(self, line: bytes) -> bytes:
        for secret in self._secrets:
            line = line.replace(secret, REDACTED)
        return line

    def store_cookies(self, url: str, set_cookies: Sequence[str]) -> None:
        if self._jar is not None and set_cookies:
            self._jar.store(*_split(url), set_cookies, self._clock())


def without_passwords(lines: Sequence[bytes]) -> list[bytes]:
    """Lines with the user name and password of URLs redacted."""
    return [_USERINFO.sub(rb"\1" + REDACTED + b"@", line) for line in lines]


def _spellings(given: Sequence[tuple[str, str]], redacts: Collection[bytes]) -> Iterator[bytes]:
    """The secrets that are sent, in the spellings in which a server may repeat them; the whole before its
    parts."""
    for name, value in given:
        if name.lower().encode() in redacts:
            parts = [value, *_parts(value)]
            for part in parts:
                for spelling in dict.fromkeys((part, quote(part, safe=""), quote_plus(part))):
                    if len(spelling) >= _LEAST_SECRET:
                        yield spelling.encode()


def _parts(value: str) -> Iterator[str]:
    """The parts of a credential that are secret by themselves: a token, a password, the value of a cookie."""
    scheme, _, token = value.partition(" ")
    if token:
        yield token
    if scheme.lower() == "basic":
        yield from base64.b64decode(token, validate=False).decode("utf-8", "replace").split(":", 1)
    for pair in value.split(";"):
        cookie = pair.partition("=")[2].strip()
        if cookie:
            yield cookie


def _split(url: str) -> tuple[str, str]:
    """Origin and path."""
    at = url.index("/", url.index("//") + 2)
    return url[:at], url[at:].partition("?")[0]


def _line(name: str, value: str) -> bytes:
    return f"{name}: {value}".encode()
