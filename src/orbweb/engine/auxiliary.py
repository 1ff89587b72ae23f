"""Requests that are not places: robots.txt before the first page of an origin, sitemaps before the first link.

One request per robots.txt, and one sitemap of a site at a time. The sitemaps of a scope are read when it is fixed,
before links to its site are followed. These requests cost no budget and leave no visit. What is requested is
decided in `robots_gate` and `sitemaps`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from orbweb import urls
from orbweb.engine import sitemaps as sitemap_reader
from orbweb.engine.parts import EngineParts
from orbweb.engine.responses import cut_short
from orbweb.engine.robots_gate import FetchRobots, FetchRobotsLater, OriginKnown, origin_of
from orbweb.engine.sitemaps import (
    OpenSitemap,
    ParseSitemap,
    SitemapOrigin,
    SitemapReading,
    SitemapsDone,
)
from orbweb.engine.startup import BaseScope
from orbweb.fetching import ROBOTS, SITEMAP, Want
from orbweb.model import Failed, Fetched, Place, Refused
from orbweb.parsing import sitemaps
from orbweb.parsing.sitemaps.entries import Sitemap, SitemapEntry
from orbweb.urls import UrlRules

BEFORE_ALL = Place(-1, 0)
RESENDS = 50
"""How often a request is repeated after failures that do not count, before one counts."""
ENTRIES_AT_ONCE = 2_000


class Sender(Protocol):
    """Gives out tickets and receives the results."""

    def ticket(self) -> int:
        """A new ticket, unique in this crawl."""

    def wake(self) -> None:
        """Wake the loop: there is something to send or to lease."""

    def rules_known(self, known: OriginKnown) -> None:
        """The rules of an origin are known, or its server cannot be reached: places that waited continue."""


class AuxiliaryRequests:
    """The auxiliary requests of one crawl."""

    def __init__(self, sender: Sender, parts: EngineParts, url_rules: UrlRules) -> None:
        self._sender = sender
        self._robots = parts.robots
        self._sitemaps = parts.sitemaps
        self._committer = parts.committer
        self._scope = parts.committer.scope
        self._dispatcher = parts.dispatcher
        self._url_rules = url_rules
        self._loop = asyncio.get_running_loop()
        self._robots_requests: dict[int, FetchRobots] = {}
        self._files: dict[int, tuple[SitemapReading, str]] = {}
        self._read_for: dict[SitemapReading, Sequence[BaseScope]] = {}
        self._resends: Counter[int] = Counter()
        self._closed = False

    def close(self) -> None:
        """Ignore all further events."""
        self._closed = True

    def request(self, ticket: int) -> tuple[str, Want] | None:
        """The request of a ticket; None if it is not an auxiliary request."""
        found = self._wanted(ticket)
        if found is None or not self._resends[ticket]:
            return found
        url, want = found
        return url, want._replace(new_connection=True)

    def _wanted(self, ticket: int) -> tuple[str, Want] | None:
        request = self._robots_requests.get(ticket)
        if request is not None:
            return request.url, ROBOTS
        return (self._files[ticket][1], SITEMAP) if ticket in self._files else None

    def on_response(self, ticket: int, response: Fetched | Failed) -> None:
        """The response to a ticket, if it is an auxiliary request. A file that was cut short is not used."""
        if isinstance(response, Failed) and not response.counts and self._resend(ticket):
            return
        self._resends.pop(ticket, None)
        if isinstance(response, Fetched) and response.truncated and 200 <= response.status < 300:
            response = cut_short(response)
        request = self._robots_requests.pop(ticket, None)
        if request is not None:
            self.apply(self._robots.on_response(request, response))
        elif ticket in self._files:
            reading, _ = self._files.pop(ticket)
            self._continue(reading, reading.on_response(response))

    def _resend(self, ticket: int) -> bool:
        """Queue the ticket again, unless it was resent too often or is not an auxiliary request."""
        found = self._wanted(ticket)
        if found is None or self._closed or self._resends[ticket] >= RESENDS:
            return False
        self._resends[ticket] += 1
        self._queue(ticket, found[0])
        return True

    def apply(self, step: FetchRobots | FetchRobotsLater | OriginKnown) -> None:
        """Carry out what `robots_gate` decided about a robots.txt."""
        if self._closed:
            return
        match step:
            case FetchRobots(url=url):
                ticket = self._sender.ticket()
                self._robots_requests[ticket] = step
                self._queue(ticket, url)
            case FetchRobotsLater(request, delay_s):
                self._loop.call_later(delay_s, self.apply, request)
            case OriginKnown():
                for ticket in self._files.keys() & set(step.waiting):
                    self._request_file(ticket, step.failed)
                self._sender.rules_known(step)

    def _queue(self, ticket: int, url: str) -> None:
        self._dispatcher.add(ticket, urls.site(url), BEFORE_ALL)
        self._sender.wake()

    # Sitemaps.

    def begin_surveys(self) -> None:
        """Start to read the sitemaps of scopes that have become fixed."""
        for scopes in self._scope.unsurveyed():
            if self._sitemaps is None or self._scope.every_limit_reached:
                self._scope.end_survey(scopes)
                continue
            reading = SitemapReading(self._sitemaps)
            self._read_for[reading] = scopes
            self._continue(reading, reading.start(self._origins(scopes)))

    def _origins(self, scopes: Sequence[BaseScope]) -> list[SitemapOrigin]:
        """The origins of the scopes, each once; an origin without rules could not be reached and is left out."""
        found: dict[str, SitemapOrigin] = {}
        for base, key in scopes:
            name = origin_of(key)
            listed = self._robots.sitemaps(name)
            if name not in found and listed is not None:
                found[name] = SitemapOrigin(base, name, listed)
        return list(found.values())

    def _continue(self, reading: SitemapReading, step: sitemap_reader.Step) -> None:
        match step:
            case OpenSitemap(url, delay_s):
                ticket = self._sender.ticket()
                self._files[ticket] = (reading, url)
                self._loop.call_later(delay_s, self._request_file, ticket)
            case ParseSitemap(url, body):
                parsing = self._loop.run_in_executor(None, sitemaps.parse, body, url)
                parsing.add_done_callback(partial(self._read, reading))
            case SitemapsDone():
                unlisted = self._scope.end_survey(self._read_for.pop(reading))
                if self._sitemaps is not None:
                    self._sitemaps.tell_unlisted(unlisted)
                    if self._committer.batch.surveyed:
                        self._sitemaps.close()
                self._sender.wake()

    def _request_file(self, ticket: int, failed: Failed | None = None) -> None:
        """Queue the file if robots.txt allows it; if its server cannot be reached, that is the result."""
        if self._closed:
            return
        reading, url = self._files[ticket]
        verdict = failed or self._robots.judge(ticket, url)
        if isinstance(verdict, Failed):
            del self._files[ticket]
            self._continue(reading, reading.on_response(verdict))
        elif isinstance(verdict, Refused):
            del self._files[ticket]
            self._continue(reading, reading.refused(verdict.rule))
        elif isinstance(verdict, FetchRobots):
            self.apply(verdict)
        elif verdict:
            self._queue(ticket, url)

    def _read(self, reading: SitemapReading, parsing: asyncio.Future[Sitemap]) -> None:
        if not parsing.cancelled() and not self._closed:
            base = reading.base
            entries, step = reading.read(parsing.result())
            self._add_entries(reading, base, entries, step)

    def _add_entries(
        self, reading: SitemapReading, base: int, entries: Sequence[SitemapEntry], step: sitemap_reader.Step
    ) -> None:
        """Admit the entries of a file in portions, so that the loop stays responsive."""
        if self._closed:
            return
        targets = [
            (urls.target(entry.url, rules=self._url_rules), entry.lastmod) for entry in entries[:ENTRIES_AT_ONCE]
        ]
        self._scope.add_sitemap_entries(
            base, [(target, lastmod) for target, lastmod in targets if target is not None]
        )
        self._committer.begin_flush()
        if len(entries) > ENTRIES_AT_ONCE:
            self._loop.call_soon(partial(self._add_entries, reading, base, entries[ENTRIES_AT_ONCE:], step))
        else:
            self._continue(reading, step)
