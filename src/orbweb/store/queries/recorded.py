"""What one run was answered, as answers: with them a crawl can be repeated by other rules, and nothing is sent.

Owns how a visit, a refusal or a robots.txt of the database becomes an answer again. Always holds: a URL that the
run asked for is answered as it was then; one that it never asked for is a page of its own content without links,
for what lies beyond is not known. A page that asked not to be kept is made anew of its links. What sitemaps
listed is one list, given to the first sitemap that is asked for. Never changes anything.
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
    """The answers of a run. `key_of` tells the key that the run had for a URL; None if it is none."""

    def __init__(self, db: Queries, run_id: int, captures: Captures, key_of: Callable[[str], str | None]) -> None:
        self._db = db
        self._run_id = run_id
        self._captures = captures
        self._key_of = key_of
        self._lists: dict[str, Sequence[str]] = {}
        self._gave_lists = False

    def page(self, url: str) -> Fetched | Failed:
        """What a URL answered when the run asked for it."""
        key = self._key_of(url) or url
        row = self._db.one("answer_of", run_id=self._run_id, key=key)
        if row is None:
            return _html(url, _unknown(url))
        number, reason, rule, final_url, status, kind, error, location, content_type = row
        if reason == SkipReason.NOINDEX:
            return _html(url, self._left_out(number, rule or ""))
        if kind is not None:
            return Failed(FailKind(kind), error or kind)
        if status is None:
            return _html(url, _unknown(url))
        capture = self._captures.find(key)
        body = self._captures.body(capture) if capture is not None else None
        tags = capture.robots_tags if capture is not None else ()
        answered = 200 if body is not None else status
        return Fetched(
            final_url or url, answered, body, content_type, location, None, None, 0, 0, robots_tags=tags
        )

    def _left_out(self, number: int, rule: str) -> str:
        """A page that says what it said to robots, and has the links it had."""
        packed = self._db.value("outlinks_of", run_id=self._run_id, url_id=number)
        links = [
            f'<a href="{escape(self._db.value("url_of", run_id=self._run_id, id=edge.target))}"'
            f"{' rel=nofollow' if edge.nofollow else ''}>link</a>"
            for edge in (packed_links.unpack(packed) if packed else ())
        ]
        said = "noindex, nofollow" if "nofollow" in rule or "none" in rule else "noindex"
        return f'<meta name="robots" content="{said}"><p>{number}, left out</p>{"".join(links)}'

    def robots(self, origin: str, url: str) -> Fetched:
        """The robots.txt of an origin: the one that is remembered; none, if there was none; or still no answer."""
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
        """A list of what the sitemaps of the run listed; more than one may hold is an index of lists."""
        if not self._gave_lists:
            self._gave_lists = True
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
