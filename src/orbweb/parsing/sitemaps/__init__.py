"""Sitemaps: the URLs of a sitemap, a sitemap index, a feed or a list of URLs (sitemaps.org).

Any bytes parse, compressed or not, complete or broken, without an exception, in document order. Every URL is
absolute and http(s). Time is linear in the body; body, entries and tags are limited, and a cut is reported. DTDs
are not read, and only numeric references and the five entities of XML are replaced.
"""

from __future__ import annotations

from orbweb.parsing.sitemaps.decode import as_utf8, unpacked
from orbweb.parsing.sitemaps.entries import Sitemap, SitemapEntries, SitemapEntry, SitemapKind
from orbweb.parsing.sitemaps.reader import read_items, root_of
from orbweb.parsing.sitemaps.tokens import decoded, lines_of

__all__ = ["Kind", "Sitemap", "SitemapEntry", "parse"]

MAX_URLS = 50_000
MAX_BYTES = 50_000_000


def parse(body: bytes, url: str, *, max_urls: int = MAX_URLS, max_bytes: int = MAX_BYTES) -> Sitemap:
    """Parse the document at `url`. It may be compressed with gzip, also twice."""
    plain, trouble = unpacked(body, max_bytes)
    if plain is None:
        return Sitemap(SitemapKind.UNKNOWN, problem=trouble)
    found = SitemapEntries(url, max_urls)
    if trouble:
        found.problems.append(trouble)
    kind = _read(as_utf8(plain), found)
    entries = tuple(found.entries)
    return Sitemap(
        kind,
        entries=() if kind is SitemapKind.INDEX else entries,
        children=entries if kind is SitemapKind.INDEX else (),
        problem="; ".join(found.messages()) or None,
    )


def _read(body: bytes, found: SitemapEntries) -> SitemapKind:
    """Collect the entries; return the kind of document."""
    root = root_of(body)
    if root is not None:
        read_items(body, root, found)
        return root.form.kind
    if not body.strip():
        found.problems.append("the document is empty")
    elif body.lstrip().startswith(b"<"):
        found.problems.append("the document is neither a sitemap nor a feed")
    else:
        return _read_lines(body, found)
    return SitemapKind.UNKNOWN


def _read_lines(body: bytes, found: SitemapEntries) -> SitemapKind:
    for line in lines_of(body):
        found.add(decoded(line[1]), None)
        if found.full:
            break
    if found.entries:
        return SitemapKind.TEXT
    found.problems.append("the document has no http(s) URL on a line of its own")
    return SitemapKind.UNKNOWN
