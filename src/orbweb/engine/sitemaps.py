"""Which sitemaps are read, and in which order.

The files of a reading are read one at a time, in the order in which robots.txt and the indexes list them, so that
their entries have one order. All readings of a run together read no file twice and stay within the limits on files
and URLs; indexes are followed two levels deep. This module only decides: `auxiliary` sends the requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orbweb import urls
from orbweb.engine.responses import REDIRECTS, TOO_MANY, UNAVAILABLE
from orbweb.errors import option
from orbweb.frontier import politeness
from orbweb.model import Failed, Fetched
from orbweb.parsing.sitemaps.entries import Sitemap, SitemapEntry
from orbweb.urls import UrlRules

DEFAULT_PATH = "/sitemap.xml"
MAX_REDIRECTS = 5
MAX_LEVEL = 2
SHOWN_PROBLEMS = 10
RETRY_CAP_S = 30.0


@dataclass(frozen=True, slots=True)
class SitemapSettings:
    """Limits and retries. `needed`: without a sitemap there is nothing to visit besides base URLs."""

    max_files: int
    max_urls: int
    tries: int
    waits: int
    backoff_s: float
    needed: bool
    url_rules: UrlRules


class SitemapOrigin(NamedTuple):
    """A server whose sitemaps are read: those that its robots.txt lists, and the default path."""

    base: int
    name: str
    listed: Sequence[str]


class _File(NamedTuple):
    """`guessed`: the default path, which neither robots.txt nor an index names."""

    url: str
    base: int
    level: int
    guessed: bool


@dataclass(frozen=True, slots=True)
class OpenSitemap:
    """Request this file after `delay_s` seconds, if robots.txt allows it."""

    url: str
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ParseSitemap:
    """Parse this body, the response of `url`, and pass the result to `read`."""

    url: str
    body: bytes


@dataclass(frozen=True, slots=True)
class SitemapsDone:
    """All files are read."""


Step = OpenSitemap | ParseSitemap | SitemapsDone


class SitemapReader:
    """The sitemaps of a run: the limits that its readings share, and its notes."""

    def __init__(
        self,
        settings: SitemapSettings,
        note: Callable[[str], None],
        on_file: Callable[[tuple[str, int]], None] | None = None,
    ) -> None:
        self.settings = settings
        self._note = note
        self._on_file = on_file
        self._listed: set[str] = set()
        self._problems = 0
        self._files = 0
        self._urls = 0
        self._cut = False

    def close(self) -> None:
        """Report the totals of all readings."""
        if self._files:
            self._note(f"sitemaps: {self._urls} URLs, {self._files} files read")
        elif self.settings.needed:
            self._note(f"no sitemap was found, and with {option('sitemap', 'only')} no links are followed")

    def tell_unlisted(self, scopes: Sequence[str]) -> None:
        """Sitemaps are preferred, and list no URL of these scopes."""
        for scope in scopes[:SHOWN_PROBLEMS]:
            self._note(f"sitemaps list no page of {scope}: links are followed ({option('sitemap', 'prefer')})")

    def report(self, url: str, problem: str) -> None:
        """Report a problem of a listed file; only the first few are shown."""
        self._problems += 1
        if self._problems <= SHOWN_PROBLEMS:
            self._note(f"sitemap {url}: {problem}")

    def take(self, url: str, sitemap: Sitemap) -> Sequence[SitemapEntry]:
        """The entries of a file, up to the limit of URLs."""
        entries = sitemap.entries[: self.settings.max_urls - self._urls]
        self._urls += len(entries)
        if sitemap.entries or sitemap.children:
            self._files += 1
            if self._on_file is not None:
                self._on_file((url, len(sitemap.entries)))
        return entries

    def accept(self, url: str) -> bool:
        """Whether the file is to be read: it was not listed before, and the limit of files is not reached."""
        if url in self._listed or len(self._listed) > self.settings.max_files:
            return False
        self._listed.add(url)
        if len(self._listed) > self.settings.max_files:
            self._note(f"sitemaps: only {self.settings.max_files} files are read (sitemap.max_files)")
            return False
        return True

    def is_full(self) -> bool:
        """Whether the limit of URLs is reached; reported once."""
        if self._urls < self.settings.max_urls:
            return False
        if not self._cut:
            self._note(f"sitemaps: only {self.settings.max_urls} URLs are read (sitemap.max_urls)")
        self._cut = True
        return True


class SitemapReading:
    """The sitemaps of some origins, read one file after another."""

    def __init__(self, reader: SitemapReader) -> None:
        self._reader = reader
        self._settings = reader.settings
        self._left: deque[_File] = deque()
        self._tries = 0

    def start(self, origins: Sequence[SitemapOrigin]) -> Step:
        """Begin with the files that these origins list."""
        for origin in origins:
            for listed in origin.listed:
                self._list(urls.resolve(listed, f"{origin.name}/"), origin.base, 0, guessed=False)
            self._list(origin.name + DEFAULT_PATH, origin.base, 0, guessed=True)
        return self._next()

    @property
    def base(self) -> int:
        """The base URL that the current file is read for."""
        return self._file.base

    def refused(self, rule: str) -> Step:
        """robots.txt forbids the file."""
        if not self._file.guessed:
            self._report(f"not fetched, {rule}")
        return self._next()

    def on_response(self, response: Fetched | Failed) -> Step:
        """What a response means for the current file."""
        if isinstance(response, Failed):
            return self._retry(self._settings.tries) if response.retriable else self._give_up(response.error)
        status = response.status
        if status == TOO_MANY or (status == UNAVAILABLE and response.retry_after is not None):
            return self._retry(1 + self._settings.waits, f"HTTP {status}")
        if status >= 500:
            return self._retry(self._settings.tries, f"HTTP {status}")
        if status in REDIRECTS and response.location:
            return self._redirected(response.location)
        if 200 <= status < 300 and response.body:
            return ParseSitemap(self._url, response.body)
        return self._next() if self._file.guessed else self._give_up(f"HTTP {status}")

    def read(self, sitemap: Sitemap) -> tuple[Sequence[SitemapEntry], Step]:
        """The entries of the file, and the step to take after they are admitted."""
        if sitemap.problem and not self._file.guessed:
            self._report(sitemap.problem)
        entries = self._reader.take(self._url, sitemap)
        file = self._file
        if sitemap.children and file.level >= MAX_LEVEL:
            self._report(f"an index below {MAX_LEVEL} others is not followed")
        else:
            waiting, self._left = self._left, deque()
            for child in sitemap.children:
                self._list(child.url, file.base, file.level + 1, guessed=False)
            self._left.extend(waiting)
        return entries, self._next()

    def _list(self, url: str | None, base: int, level: int, *, guessed: bool) -> None:
        target = None if url is None else urls.target(url, rules=self._settings.url_rules)
        if target is not None and self._reader.accept(target.url):
            self._left.append(_File(target.url, base, level, guessed))

    def _next(self) -> Step:
        if not self._left or self._reader.is_full():
            return SitemapsDone()
        self._file = self._left.popleft()
        self._url = self._file.url
        self._redirects = self._tries = 0
        return OpenSitemap(self._url)

    def _retry(self, most: int, error: str = "no response") -> Step:
        self._tries += 1
        if self._tries >= most:
            return self._give_up(error)
        wait = politeness.backoff(self._tries, base_s=self._settings.backoff_s, cap_s=RETRY_CAP_S, jitter=1.0)
        return OpenSitemap(self._url, wait)

    def _redirected(self, location: str) -> Step:
        target = urls.target(location, self._url, rules=self._settings.url_rules)
        if target is None or self._redirects >= MAX_REDIRECTS:
            return self._give_up("too many redirects, or one to an invalid URL")
        self._redirects += 1
        self._url = target.url
        return OpenSitemap(self._url)

    def _give_up(self, error: str) -> Step:
        self._report(error)
        return self._next()

    def _report(self, problem: str) -> None:
        self._reader.report(self._url, problem)
