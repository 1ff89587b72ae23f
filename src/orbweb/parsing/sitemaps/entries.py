"""What a document names: its entries, what it is, and what has to be said about it.

Owns the records of a sitemap. Always: an entry is an absolute http(s) URL; one that is not is counted and told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from orbweb.urls import resolve

MAX_URL = 8_192
"""Characters of a URL; the protocol allows 2,048."""

_SHOWN = 200


class SitemapKind(StrEnum):
    """What a document is, by its first element."""

    URLSET = "urlset"
    INDEX = "index"
    RSS = "rss"
    ATOM = "atom"
    TEXT = "text"
    UNKNOWN = "unknown"


class SitemapEntry(NamedTuple):
    """An absolute http(s) URL as the document has it, and its date as written."""

    url: str
    lastmod: str | None


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What one document names: pages in `entries`, the sitemaps of an index in `children`.

    `problem` says why the document was not read, or not to its end, or what was left out of it.
    """

    kind: SitemapKind
    entries: tuple[SitemapEntry, ...] = ()
    children: tuple[SitemapEntry, ...] = ()
    problem: str | None = None


@dataclass(slots=True)
class SitemapEntries:
    """The entries so far, and what has to be said about them. Full is what has one more than allowed."""

    base: str
    max_urls: int
    entries: list[SitemapEntry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    full: bool = False
    _refused: int = 0
    _first_refused: str = ""

    def add(self, url: str, date: str | None) -> None:
        """Note an entry. One that is no http(s) URL is counted only."""
        if len(self.entries) == self.max_urls:
            self.full = True
            return
        href = resolve(url, self.base) if len(url) <= MAX_URL else None
        if href is not None and href.startswith(("http://", "https://")):
            self.entries.append(SitemapEntry(href, date))
            return
        self._refused += 1
        self._first_refused = self._first_refused or url

    def told(self) -> list[str]:
        """The problems, in the order of their weight."""
        told = list(self.problems)
        if self.full:
            told.append(f"there are more than {self.max_urls} entries, the rest is not read")
        if self._refused:
            said = "1 entry is" if self._refused == 1 else f"{self._refused} entries are"
            first = _shown(self._first_refused)
            told.append(f"{said} no http(s) URL of at most {MAX_URL} characters, the first: {first}")
        return told


def _shown(text: str) -> str:
    """A value fit to be printed: nothing that could steer a terminal, and not without end."""
    shown = ascii(text[:_SHOWN])
    return shown if len(text) <= _SHOWN else shown + "..."
