"""What a request says of who asks: the user's headers and parameters, basic authentication, cookies.

Owns the secrets of a crawl while it runs. Always holds: the user's headers and parameters go to the origins
(scheme, host and port) that the user named, a cookie to the origin that set it, and none of them anywhere else;
what a redirect or a link leads to is another request and judged by its own origin. Never shows a value: no error,
log or `repr` has one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus, urlencode

from orbweb.fetching.cookies import CookieJar

ACCEPT = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

Lines = tuple[str | bytes, ...]

REDACTED = b"[redacted]"
_CREDENTIALS = frozenset((b"authorization", b"cookie", b"proxy-authorization"))
_LEAST_SECRET = 4
"""Characters of a secret that is looked for in what servers send: a shorter one is in everything."""
_USERINFO = re.compile(rb"([/\\]{2})[^/\\?#\r\n]*@")
_COOKIE = re.compile(rb"(?i)(set-cookie2?:[^=;\r\n]*=)[^;\r\n]*")


class Identity:
    """The header lines of each request. Without anything to say they are the same for all."""

    def __init__(
        self,
        origins: frozenset[str] = frozenset(),
        headers: Mapping[str, str] | None = None,
        jar: CookieJar | None = None,
        *,
        params: Mapping[str, str] | None = None,
        secret: Collection[str] = (),
        clock: Callable[[], float],
    ) -> None:
        """`secret` names the headers and parameters whose values only the environment knows."""
        given = dict(headers or {})
        self._redacts = _CREDENTIALS | {name.lower().encode() for name in secret}
        self._secrets = tuple(_spellings([*given.items(), *(params or {}).items()], self._redacts))
        shown = {name: "REDACTED" if name.lower().encode() in self._redacts else value
                 for name, value in (params or {}).items()}  # fmt: skip
        self._shown_query = urlencode(shown)
        self.is_discreet = jar is not None or bool(given) or bool(params)
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

    def shown_query(self, url: str) -> bytes:
        """What `asked` adds to a URL, without secrets."""
        if not self._asked_with or _split(url)[0] not in self._asked_with:
            return b""
        return f"{'&' if '?' in url else '?'}{self._shown_query}".encode()

    def shown(self, lines: Lines) -> Lines:
        """The lines of a request as they may be written down."""
        return tuple(map(self._shown_line, lines)) if self.is_discreet else lines

    def _shown_line(self, line: str | bytes) -> bytes:
        given = line if isinstance(line, bytes) else line.encode()
        name, colon, _ = given.partition(b":")
        return name + colon + b" " + REDACTED if name.lower() in self._redacts else given

    def shown_answer(self, lines: Sequence[bytes]) -> list[bytes]:
        """The head of an answer as it may be written down: who is known to a server is given secrets in turn."""
        return [self._without_secrets(_COOKIE.sub(rb"\1" + REDACTED, line)) for line in lines]

    def _without_secrets(self, line: bytes) -> bytes:
        for secret in self._secrets:
            line = line.replace(secret, REDACTED)
        return line

    def heard(self, url: str, set_cookies: Sequence[str]) -> None:
        """The Set-Cookie headers of an answer."""
        if self._jar is not None and set_cookies:
            self._jar.keep(*_split(url), set_cookies, self._clock())


def without_passwords(lines: Sequence[bytes]) -> list[bytes]:
    """Lines without the user and the password of a URL."""
    return [_USERINFO.sub(rb"\1" + REDACTED + b"@", line) for line in lines]


def _spellings(given: Sequence[tuple[str, str]], redacts: Collection[bytes]) -> Iterator[bytes]:
    """The secrets among what is sent, as a server may repeat them; a part of one after the whole."""
    for name, value in given:
        if name.lower().encode() in redacts:
            parts = [value, *_parts(value)]
            for part in parts:
                for spelling in dict.fromkeys((part, quote(part, safe=""), quote_plus(part))):
                    if len(spelling) >= _LEAST_SECRET:
                        yield spelling.encode()


def _parts(value: str) -> Iterator[str]:
    """What of a credential is secret by itself: the token of a scheme, a password, the value of a cookie."""
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
    """The origin and the path of a URL."""
    at = url.index("/", url.index("//") + 2)
    return url[:at], url[at:].partition("?")[0]


def _line(name: str, value: str) -> bytes:
    return f"{name}: {value}".encode()
