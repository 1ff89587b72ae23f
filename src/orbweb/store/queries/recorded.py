"""The recorded responses of a run, with which a crawl can be repeated by other rules without requests.

A URL that the run visited has its recorded response. A URL that it did not visit is a page with unique content and
no links, because its real links are unknown. A noindex page, which was not stored, is rebuilt from its links. The
URLs of all sitemaps are one list, returned for the first sitemap that is requested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from orbweb.model import Failed, FailKind, Fetched, SkipReason
from orbweb.store import Captures, Queries
from orbweb.store import links as packed_links
from orbweb.store.robots_cache import StoredRobots

HTML = "text/html; charset=utf-8"
LISTED_AT_ONCE = 50_000
"""URLs that one sitemap may list."""


class Recording:
    """The responses of a run. `key_of` returns the key of a URL by the rules of that run; None if it is
    invalid."""

    def __init__(self, db: Queries, run_id: int, captures: Captures, key_of: Callable[[str], str | None]) -> None:
        self._db = db
        self._run_id = run_id
        self._captures = captures
        self._key_of = key_of
        self._lists: dict[str, Sequence[str]] = {}
        self._has_listed = False

    def page(self, url: str) -> Fetched | Failed:
        """The recorded response of a URL."""
        key = self._key_of(url) or url
        row = self._db.one("answer_of", run_id=self._run_id, key=key)
        if row is None:
            return _html(url, _unknown(url))
        number, reason, rule, final_url, status, kind, error, location, content_type = row
        if reason == SkipReason.NOINDEX:
            return _html(url, self._noindex_page(number, rule or ""))
        if kind is not None:
            return Failed(FailKind(kind), error or kind)
        if status is None:
            return _html(url, _unknown(url))
        capture = self._captures.find(key)
        body = self._captures.body(capture) if capture is not None else None
        tags = capture.robots_tags if capture is not None else ()
        shown = 200 if body is not None else status
        return Fetched(final_url or url, shown, body, content_type, location, None, None, 0, 0, robots_tags=tags)

    def _noindex_page(self, number: int, rule: str) -> str:
        """A page with the recorded robots directives and links."""
        packed = self._db.value("outlinks_of", run_id=self._run_id, url_id=number)
        links = [
            f'<a href="{escape(self._db.value("url_of", run_id=self._run_id, id=edge.target))}"'
            f"{' rel=nofollow' if edge.nofollow else ''}>link</a>"
            for edge in (packed_links.unpack(packed) if packed else ())
        ]
        directives = "noindex, nofollow" if "nofollow" in rule or "none" in rule else "noindex"
        return f'<meta name="robots" content="{directives}"><p>{number}, left out</p>{"".join(links)}'

    def robots(self, origin: str, url: str) -> Fetched:
        """The cached robots.txt of an origin; 404 if there was none, 503 if it was unavailable."""
        file = StoredRobots(self._db).load(origin, 0)
        if file is not None:
            return Fetched(url, file.status, file.body, "text/plain", None, None, None, 0, 0)
        silent = self._db.value(
            "unavailable_of",
            run_id=self._run_id,
            first=f"{origin}/",
            beyond=f"{origin}0",
            reason="robots_unavailable",
        )
        return Fetched(url, 404 if silent is None else 503, None, None, None, None, None, 0, 0)

    def sitemap(self, url: str) -> Fetched:
        """The URLs of all sitemaps of the run as one sitemap, or as an index if they are too many for one."""
        if not self._has_listed:
            self._has_listed = True
            listed = [found for (found,) in self._db.each("listed_urls", run_id=self._run_id)]
            parts = range(0, len(listed), LISTED_AT_ONCE)
            self._lists = {f"{url}.{start}": listed[start : start + LISTED_AT_ONCE] for start in parts}
            if len(self._lists) == 1:
                return _list(url, listed)
            if self._lists:
                index = "".join(f"<sitemap><loc>{escape(part)}</loc></sitemap>" for part in self._lists)
                return _list(url, [f"<sitemapindex>{index}</sitemapindex>"], "application/xml")
        return _list(url, self._lists.pop(url, ()))


def _html(url: str, body: str) -> Fetched:
    return Fetched(url, 200, body.encode("utf-8", "replace"), HTML, None, None, None, 0, 0)


def _unknown(url: str) -> str:
    return f"<p>{escape(url)}</p>"


def _list(url: str, lines: Sequence[str], content_type: str = "text/plain") -> Fetched:
    body = "\n".join(lines).encode("utf-8", "replace")
    return Fetched(url, 200 if lines else 404, body or None, content_type, None, None, None, 0, 0)
