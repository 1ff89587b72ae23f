"""Which sitemaps are asked for, in which order, and what they gave.

Owns the lists of files still to be read and what has to be told about them. Always holds: the files of a reading
are read one at a time, in the order in which robots.txt and the indexes name them, so what they give has one
order; all readings together read no file twice and no more files and URLs than allowed, and an index leads no
deeper than two levels. Decides, never sends: what it wants asked, the engine asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orbweb import urls
from orbweb.engine.responses import REDIRECTS, TOO_MANY, UNAVAILABLE
from orbweb.frontier import politeness
from orbweb.model import Failed, Fetched
from orbweb.parsing.sitemaps.entries import Sitemap, SitemapEntry
from orbweb.urls import UrlRules

USUAL_PLACE = "/sitemap.xml"
MAX_REDIRECTS = 5
MAX_LEVEL = 2
SHOWN_PROBLEMS = 10
RETRY_CAP_S = 30.0


@dataclass(frozen=True, slots=True)
class SitemapSettings:
    """How much is read, how often a file is asked for, and whether there is nothing to visit without one."""

    max_files: int
    max_urls: int
    tries: int
    waits: int
    backoff_s: float
    needed: bool
    url_rules: UrlRules


class SitemapOrigin(NamedTuple):
    """A server whose sitemaps are read: those its robots.txt lists, and the usual place."""

    base: int
    name: str
    listed: Sequence[str]


class _File(NamedTuple):
    """`guessed`: nobody said that it exists."""

    url: str
    base: int
    level: int
    guessed: bool


@dataclass(frozen=True, slots=True)
class OpenSitemap:
    """Ask for this file, after so many seconds and if robots.txt lets us."""

    url: str
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ParseSitemap:
    """Read this body, which was answered at `url`, and hand the result to `read`."""

    url: str
    body: bytes


@dataclass(frozen=True, slots=True)
class SitemapsDone:
    """There is nothing more to read."""


Step = OpenSitemap | ParseSitemap | SitemapsDone


class SitemapReader:
    """All sitemaps of a run: the limits its readings share, and what is told about them."""

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
        """Tell what all readings gave."""
        if self._files:
            self._note(f"sitemaps: {self._urls} URLs, {self._files} files read")
        elif self.settings.needed:
            self._note("no sitemap was found, and with --sitemap only no links are followed")

    def tell(self, url: str, problem: str) -> None:
        """Something is wrong with a file that somebody named."""
        self._problems += 1
        if self._problems <= SHOWN_PROBLEMS:
            self._note(f"sitemap {url}: {problem}")

    def take(self, url: str, sitemap: Sitemap) -> Sequence[SitemapEntry]:
        """The entries of a file, as many as may still be read."""
        entries = sitemap.entries[: self.settings.max_urls - self._urls]
        self._urls += len(entries)
        if sitemap.entries or sitemap.children:
            self._files += 1
            if self._on_file is not None:
                self._on_file((url, len(sitemap.entries)))
        return entries

    def lists(self, url: str) -> bool:
        """Whether the file is to be read: it was not named before, and is not one too many."""
        if url in self._listed or len(self._listed) > self.settings.max_files:
            return False
        self._listed.add(url)
        if len(self._listed) > self.settings.max_files:
            self._note(f"sitemaps: only {self.settings.max_files} files are read (sitemap.max_files)")
            return False
        return True

    def is_full(self) -> bool:
        """Whether no more URLs may be read, though there are files; told once."""
        if self._urls < self.settings.max_urls:
            return False
        if not self._cut:
            self._note(f"sitemaps: only {self.settings.max_urls} URLs are read (sitemap.max_urls)")
        self._cut = True
        return True


class SitemapReading:
    """The sitemaps of some origins, one file after another."""

    def __init__(self, survey: SitemapReader) -> None:
        self._survey = survey
        self._settings = survey.settings
        self._left: deque[_File] = deque()
        self._asked = 0

    def start(self, origins: Sequence[SitemapOrigin]) -> Step:
        """Begin with the files that these origins list."""
        for origin in origins:
            for listed in origin.listed:
                self._list(urls.resolve(listed, f"{origin.name}/"), origin.base, 0, guessed=False)
            self._list(origin.name + USUAL_PLACE, origin.base, 0, guessed=True)
        return self._next()

    @property
    def base(self) -> int:
        """The base URL on whose behalf the file at hand is read."""
        return self._file.base

    def refused(self, rule: str) -> Step:
        """robots.txt does not let us ask for the file."""
        if not self._file.guessed:
            self._tell(f"not asked for, {rule}")
        return self._next()

    def answered(self, answer: Fetched | Failed) -> Step:
        """What an answer means for the file at hand."""
        if isinstance(answer, Failed):
            return self._again(self._settings.tries) if answer.retriable else self._give_up(answer.error)
        status = answer.status
        if status == TOO_MANY or (status == UNAVAILABLE and answer.retry_after is not None):
            return self._again(1 + self._settings.waits, f"HTTP {status}")
        if status >= 500:
            return self._again(self._settings.tries, f"HTTP {status}")
        if status in REDIRECTS and answer.location:
            return self._redirected(answer.location)
        if 200 <= status < 300 and answer.body:
            return ParseSitemap(self._url, answer.body)
        return self._next() if self._file.guessed else self._give_up(f"HTTP {status}")

    def read(self, sitemap: Sitemap) -> tuple[Sequence[SitemapEntry], Step]:
        """What the file gave: its entries, and what to do after they are written down."""
        if sitemap.problem and not self._file.guessed:
            self._tell(sitemap.problem)
        entries = self._survey.take(self._url, sitemap)
        file = self._file
        if sitemap.children and file.level >= MAX_LEVEL:
            self._tell(f"an index below {MAX_LEVEL} others is not followed")
        else:
            waiting, self._left = self._left, deque()
            for child in sitemap.children:
                self._list(child.url, file.base, file.level + 1, guessed=False)
            self._left.extend(waiting)
        return entries, self._next()

    def _list(self, url: str | None, base: int, level: int, *, guessed: bool) -> None:
        target = None if url is None else urls.target(url, rules=self._settings.url_rules)
        if target is not None and self._survey.lists(target.url):
            self._left.append(_File(target.url, base, level, guessed))

    def _next(self) -> Step:
        if not self._left or self._survey.is_full():
            return SitemapsDone()
        self._file = self._left.popleft()
        self._url = self._file.url
        self._redirects = self._asked = 0
        return OpenSitemap(self._url)

    def _again(self, most: int, error: str = "no answer") -> Step:
        self._asked += 1
        if self._asked >= most:
            return self._give_up(error)
        wait = politeness.backoff(self._asked, base_s=self._settings.backoff_s, cap_s=RETRY_CAP_S, jitter=1.0)
        return OpenSitemap(self._url, wait)

    def _redirected(self, location: str) -> Step:
        target = urls.target(location, self._url, rules=self._settings.url_rules)
        if target is None or self._redirects >= MAX_REDIRECTS:
            return self._give_up("redirects to nowhere")
        self._redirects += 1
        self._url = target.url
        return OpenSitemap(self._url)

    def _give_up(self, error: str) -> Step:
        self._tell(error)
        return self._next()

    def _tell(self, problem: str) -> None:
        self._survey.tell(self._url, problem)
