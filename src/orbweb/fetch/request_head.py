"""The head of a request as libcurl sends it, made again from what libcurl was told, without secrets.

libcurl shows what it sends only to its debug callback, which costs more than the request. So the lines are put
together here, in its order; tests compare them with what a server receives. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from orbweb import heads
from orbweb.fetch import Validators, codings
from orbweb.fetch.identity import Lines

_END = heads.field(heads.LITERAL, b"\r\n") + heads.field(heads.BORDER)
_TAG = heads.field(heads.ETAG, b"If-None-Match: ")
_DATE = heads.field(heads.MODIFIED, b"If-Modified-Since: ")


def template(user_agent: str, said: Lines, version: bytes, query: bytes, unless: Validators | None) -> bytes:
    """The part of a template (see heads) that is the request; `query` is what is added to the URL."""
    begun = _begun(user_agent, said, version, query)
    if unless is None:
        return begun + _END
    return begun + (_TAG if unless.etag else b"") + (_DATE if unless.last_modified else b"") + _END


@lru_cache(maxsize=256)
def _begun(user_agent: str, said: Lines, version: bytes, query: bytes) -> bytes:
    lines = [f"User-Agent: {user_agent}", f"Accept-Encoding: {codings.OFFERED}", *said]
    sent = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\r\n" for line in lines)
    return b"".join(
        (
            heads.field(heads.TARGET, b"GET "),
            heads.field(heads.LITERAL, query + b" " + version + b"\r\n"),
            heads.field(heads.HOST, b"Host: "),
            heads.field(heads.LITERAL, sent),
        )
    )


def values(unless: Validators | None, found: Mapping[bytes, str], status: int) -> bytes:
    """The values of the conditions. What a 304 leaves out is in the row of the visit as it was sent."""
    if unless is None:
        return b""
    bare = status == 304
    return _value(unless.etag, found.get(b"etag"), bare=bare) + _value(
        unless.last_modified, found.get(b"last-modified"), bare=bare
    )


def _value(sent: str | None, answered: str | None, *, bare: bool) -> bytes:
    if not sent:
        return b""
    return heads.INHERITED if (answered or (bare and sent)) == sent else heads.text(sent.encode())
