"""What a request says of who asks: the user's headers and parameters, basic authentication, cookies.

Owns the secrets of a crawl while it runs. Always holds: the user's headers and parameters go to the origins
(scheme, host and port) that the user named, a cookie to the origin that set it, and none of them anywhere else;
what a redirect or a link leads to is another request and judged by its own origin. Never shows a value: no error,
log or `repr` has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

from orbweb.fetch.cookies import Jar

ACCEPT = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

Lines = tuple[str | bytes, ...]


class Identity:
    """The header lines of each request. Without anything to say they are the same for all."""

    def __init__(
        self,
        origins: frozenset[str] = frozenset(),
        headers: Mapping[str, str] | None = None,
        jar: Jar | None = None,
        *,
        params: Mapping[str, str] | None = None,
        clock: Callable[[], float],
    ) -> None:
        given = dict(headers or {})
        self._query = urlencode(params or {})
        self._asked_with = origins if self._query else frozenset()
        self._origins = origins if given else frozenset()
        self._cookie = given.pop("cookie", None)
        accept = () if "accept" in given else (ACCEPT,)
        self._own: Lines = (*accept, *(_line(name, value) for name, value in given.items()))
        self._jar = jar
        self._clock = clock
        self.hears = jar is not None

    def asked(self, url: str) -> str:
        """The URL as it is asked for: with the user's parameters where they belong."""
        if not self._asked_with or _split(url)[0] not in self._asked_with:
            return url
        return f"{url}{'&' if '?' in url else '?'}{self._query}"

    def lines(self, url: str) -> Lines:
        """What is sent with a request for the URL."""
        if not self._origins and self._jar is None:
            return (ACCEPT,)
        origin, path = _split(url)
        named = origin in self._origins
        kept = self._jar.header(origin, path, self._clock()) if self._jar is not None else None
        cookies = "; ".join(filter(None, (self._cookie if named else None, kept)))
        own = self._own if named else (ACCEPT,)
        return (*own, _line("Cookie", cookies)) if cookies else own

    def heard(self, url: str, set_cookies: Sequence[str]) -> None:
        """The Set-Cookie headers of an answer."""
        if self._jar is not None and set_cookies:
            self._jar.keep(*_split(url), set_cookies, self._clock())


def _split(url: str) -> tuple[str, str]:
    """The origin and the path of a URL."""
    at = url.index("/", url.index("//") + 2)
    return url[:at], url[at:].partition("?")[0]


def _line(name: str, value: str) -> bytes:
    return f"{name}: {value}".encode()
