"""Sitemaps: the URLs that a sitemap, a sitemap index, a feed or a list of URLs names (sitemaps.org).

Owns reading the bytes, packed or not, whole or broken. Always: any bytes give an answer, in the document's
order; every URL is absolute and http(s); time is linear in the body, and body, entries and tags have a limit
that is told where it cuts. Never: fetches, raises, reads a DTD, or replaces an entity other than the five of
XML and numbered characters. Keys, scope and what follows from an entry are the caller's business.
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
    """Read the document that was answered at `url`. It may be packed with gzip, twice if need be."""
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
        problem="; ".join(found.told()) or None,
    )


def _read(body: bytes, found: SitemapEntries) -> SitemapKind:
    """Fill in the entries; the kind says how the body was understood."""
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
    found.problems.append("the document has no line that is an http(s) URL")
    return SitemapKind.UNKNOWN
