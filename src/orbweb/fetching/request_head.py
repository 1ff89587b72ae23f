"""The head of a request as libcurl sends it, rebuilt from its options, without secrets.

libcurl reports the sent head only to its debug callback, which costs more than the request. So the lines are
assembled here in the same order; tests compare them with what a server receives. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from orbweb.fetching import Validators, content_coding
from orbweb.fetching.headers import Lines
from orbweb.parsing import http_heads

_END = http_heads.field(http_heads.LITERAL, b"\r\n") + http_heads.field(http_heads.BORDER)
_TAG = http_heads.field(http_heads.ETAG, b"If-None-Match: ")
_DATE = http_heads.field(http_heads.MODIFIED, b"If-Modified-Since: ")


def template(user_agent: str, lines: Lines, version: bytes, query: bytes, unless: Validators | None) -> bytes:
    """The request part of a template (see `parsing.http_heads`); `query` is what is added to the URL."""
    if unless is None:
        return _template(user_agent, lines, version, query, b"")
    conditions = (_TAG if unless[0] else b"") + (_DATE if unless[1] else b"")
    return _template(user_agent, lines, version, query, conditions)


@lru_cache(maxsize=256)
def _template(user_agent: str, lines: Lines, version: bytes, query: bytes, conditions: bytes) -> bytes:
    all_lines = [f"User-Agent: {user_agent}", f"Accept-Encoding: {content_coding.OFFERED}", *lines]
    sent = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\r\n" for line in all_lines)
    return b"".join(
        (
            http_heads.field(http_heads.TARGET, b"GET "),
            http_heads.field(http_heads.LITERAL, query + b" " + version + b"\r\n"),
            http_heads.field(http_heads.HOST, b"Host: "),
            http_heads.field(http_heads.LITERAL, sent),
            conditions,
            _END,
        )
    )


def values(unless: Validators, found: Mapping[bytes, str], status: int) -> bytes:
    """The values of the conditions. For a header that a 304 omits, the row of the visit has the value sent."""
    etag, date = unless
    if status == 304:
        known = found.get(b"etag") or etag, found.get(b"last-modified") or date
    else:
        known = found.get(b"etag"), found.get(b"last-modified")
    return (_value(etag, known[0]) if etag else b"") + (_value(date, known[1]) if date else b"")


def _value(sent: str, known: str | None) -> bytes:
    return http_heads.INHERITED if sent == known else http_heads.text(sent.encode())
