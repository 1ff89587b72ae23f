"""The file `robots_cache.jsonl`: robots.txt files, in the form that other crawlers read and write.

A line has `domain`, `content`, `fetched_at` and `expires_at`, in seconds since 1970; ours also has `origin` and
`status`. An origin that is not given is that of the URLs of the state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from orbweb import urls
from orbweb.export.state.files import StateLine
from orbweb.store.robots_cache import STORED_BYTES, RobotsFile

_SECOND = 1_000_000


def entry(file: RobotsFile, cache_s: float) -> dict[str, Any]:
    """The line of a file, which is valid for `cache_s` seconds."""
    fetched_at = file.fetched_at / _SECOND
    return {
        "domain": file.origin.partition("//")[2],
        "content": file.body.decode("utf-8", "replace"),
        "fetched_at": fetched_at,
        "expires_at": fetched_at + cache_s,
        "origin": file.origin,
        "status": file.status,
    }


def files(line: StateLine, origins: Collection[str], now: int) -> Iterator[RobotsFile]:
    """The robots.txt files of a line, of which one domain may have two; none if they have expired.

    A time in the future would never expire, so it counts as now.
    """
    named = list(_origins(line, origins))
    content = line.maybe("content", str)
    fetched_at, expires_at = line.instant("fetched_at"), line.instant("expires_at")
    status = line.get("status", int, 200)
    if not named or content is None or fetched_at is None:
        line.wrong("not a robots.txt file: domain or origin, content and fetched_at are needed")
        return
    if not 200 <= status < 500:
        line.wrong(f"status is {status}: a robots.txt that was not available is requested again")
        return
    if expires_at is not None and expires_at <= now:
        return
    for origin in named:
        yield RobotsFile(origin, min(fetched_at, now), status, content.encode("utf-8", "replace")[:STORED_BYTES])


def _origins(line: StateLine, origins: Collection[str]) -> Iterator[str]:
    given = line.maybe("origin", str)
    if given is not None:
        yield from _valid(given)
        return
    domain = line.maybe("domain", str)
    if domain is None:
        return
    known = [
        origin for scheme in ("https", "http") for origin in _valid(f"{scheme}://{domain}") if origin in origins
    ]
    yield from known or _valid(f"https://{domain}")


def _valid(origin: str) -> Iterator[str]:
    """The origin in canonical form, if it is one and nothing more."""
    target = urls.target(f"{origin}/")
    if target is not None and urls.path(target.key) == "/" and "?" not in target.key:
        yield target.key.removesuffix("/")
