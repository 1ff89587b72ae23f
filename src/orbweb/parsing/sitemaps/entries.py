"""The entries of a sitemap, its kind, and its problems.

An entry is an absolute http(s) URL; others are counted and reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from orbweb.urls import resolve

MAX_URL = 8_192
"""The longest URL in characters; the protocol allows 2,048."""

_SHOWN = 200


class SitemapKind(StrEnum):
    """The kind of a document, by its first element."""

    URLSET = "urlset"
    INDEX = "index"
    RSS = "rss"
    ATOM = "atom"
    TEXT = "text"
    UNKNOWN = "unknown"


class SitemapEntry(NamedTuple):
    """An absolute http(s) URL and its date, as written."""

    url: str
    lastmod: str | None


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The result for one document: pages in `entries`, the sitemaps of an index in `children`.

    `problem` says why the document was not read completely, or what was omitted.
    """

    kind: SitemapKind
    entries: tuple[SitemapEntry, ...] = ()
    children: tuple[SitemapEntry, ...] = ()
    problem: str | None = None


@dataclass(slots=True)
class SitemapEntries:
    """The entries so far, and their problems. It is full with one more than allowed."""

    base: str
    max_urls: int
    entries: list[SitemapEntry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    full: bool = False
    _refused: int = 0
    _first_refused: str = ""

    def add(self, url: str, date: str | None) -> None:
        """Add an entry. One that is not an http(s) URL is only counted."""
        if len(self.entries) == self.max_urls:
            self.full = True
            return
        href = resolve(url, self.base) if len(url) <= MAX_URL else None
        if href is not None and href.startswith(("http://", "https://")):
            self.entries.append(SitemapEntry(href, date))
            return
        self._refused += 1
        self._first_refused = self._first_refused or url

    def messages(self) -> list[str]:
        """The problems, most important first."""
        messages = list(self.problems)
        if self.full:
            messages.append(f"there are more than {self.max_urls} entries, the rest is not read")
        if self._refused:
            counted = "1 entry is not an http(s) URL"
            if self._refused > 1:
                counted = f"{self._refused} entries are not http(s) URLs"
            first = _shown(self._first_refused)
            messages.append(f"{counted} of at most {MAX_URL} characters, the first: {first}")
        return messages


def _shown(text: str) -> str:
    """A value that is safe to print: without control characters, of limited length."""
    shown = ascii(text[:_SHOWN])
    return shown if len(text) <= _SHOWN else shown + "..."
