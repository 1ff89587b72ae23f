"""Requests that are no places: robots.txt before the first page of an origin, sitemaps before the first link.

Owns the tickets of these requests and what is done with their answers; what is asked for is decided in `gate` and
`survey`. Always holds: one request a robots.txt, and one sitemap of a reading at a time; the sitemaps of a scope
are read when it is settled and before links to its site are followed. They cost no budget and leave no visit.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from orbweb import urls
from orbweb.engine import sitemaps as sitemap_reader
from orbweb.engine.batch import Batch
from orbweb.engine.responses import cut_short
from orbweb.engine.robots_gate import FetchRobots, FetchRobotsLater, OriginKnown, RobotsGate, origin_of
from orbweb.engine.scope import ScopeTracker
from orbweb.engine.sitemaps import (
    OpenSitemap,
    ParseSitemap,
    SitemapOrigin,
    SitemapReader,
    SitemapReading,
    SitemapsDone,
)
from orbweb.engine.startup import BaseScope
from orbweb.fetching import ROBOTS, SITEMAP, Want
from orbweb.frontier.dispatch import Dispatcher
from orbweb.model import Failed, Fetched, Place, Refused
from orbweb.parsing import sitemaps
from orbweb.parsing.sitemaps.entries import Sitemap, SitemapEntry
from orbweb.urls import UrlRules

BEFORE_ALL = Place(-1, 0)
RESENDS = 50
"""How often a request is repeated for failures that are not the site's, before they count."""
CHARTED = 2_000


class Sender(Protocol):
    """Who gives out tickets and is told what became of an errand."""

    def ticket(self) -> int:
        """A number no request has had."""

    def wake(self) -> None:
        """There is something to send or to lease."""

    def rules_known(self, known: OriginKnown) -> None:
        """The rules of an origin are known, or its server is not there: its places need wait no longer."""


class AuxiliaryRequests:
    """The auxiliary of one crawl."""

    def __init__(
        self,
        sender: Sender,
        *,
        gate: RobotsGate,
        survey: SitemapReader | None,
        books: Batch,
        scopes: ScopeTracker,
        dispatcher: Dispatcher,
        url_rules: UrlRules,
    ) -> None:
        self._sender = sender
        self._gate = gate
        self._survey = survey
        self._books = books
        self._scopes = scopes
        self._dispatcher = dispatcher
        self._url_rules = url_rules
        self._loop = asyncio.get_running_loop()
        self._asks: dict[int, FetchRobots] = {}
        self._files: dict[int, tuple[SitemapReading, str]] = {}
        self._read_for: dict[SitemapReading, Sequence[BaseScope]] = {}
        self._resends: Counter[int] = Counter()
        self._closed = False

    def close(self) -> None:
        """Whatever is still to come has nobody to tell."""
        self._closed = True

    def request(self, ticket: int) -> tuple[str, Want] | None:
        """What the ticket asks for; None if it is no errand."""
        found = self._wanted(ticket)
        if found is None or not self._resends[ticket]:
            return found
        url, want = found
        return url, want._replace(anew=True)

    def _wanted(self, ticket: int) -> tuple[str, Want] | None:
        ask = self._asks.get(ticket)
        if ask is not None:
            return ask.url, ROBOTS
        return (self._files[ticket][1], SITEMAP) if ticket in self._files else None

    def answered(self, ticket: int, answer: Fetched | Failed) -> None:
        """The fetcher is done with a ticket, which may be an errand. Half of a file is none."""
        if isinstance(answer, Failed) and not answer.counts and self._resend(ticket):
            return
        self._resends.pop(ticket, None)
        if isinstance(answer, Fetched) and answer.truncated and 200 <= answer.status < 300:
            answer = cut_short(answer)
        ask = self._asks.pop(ticket, None)
        if ask is not None:
            self.apply(self._gate.answered(ask, answer))
        elif ticket in self._files:
            reading, _ = self._files.pop(ticket)
            self._explore(reading, reading.answered(answer))

    def _resend(self, ticket: int) -> bool:
        """Queue the ticket again, unless that was done too often, or it is no errand."""
        found = self._wanted(ticket)
        if found is None or self._closed or self._resends[ticket] >= RESENDS:
            return False
        self._resends[ticket] += 1
        self._queue(ticket, found[0])
        return True

    def apply(self, step: FetchRobots | FetchRobotsLater | OriginKnown) -> None:
        """Do what the gate wants done about a robots.txt."""
        if self._closed:
            return
        match step:
            case FetchRobots(url=url):
                ticket = self._sender.ticket()
                self._asks[ticket] = step
                self._queue(ticket, url)
            case FetchRobotsLater(ask, delay_s):
                self._loop.call_later(delay_s, self.apply, ask)
            case OriginKnown():
                for ticket in self._files.keys() & set(step.waiting):
                    self._ask_for_file(ticket, step.failed)
                self._sender.rules_known(step)

    def _queue(self, ticket: int, url: str) -> None:
        self._dispatcher.add(ticket, urls.site(url), BEFORE_ALL)
        self._sender.wake()

    # Sitemaps.

    def begin_surveys(self) -> None:
        """Start to read the sitemaps of the scopes that have come to be settled."""
        for scopes in self._scopes.unsurveyed():
            if self._survey is None or self._scopes.every_limit_reached:
                self._scopes.end_survey(scopes)
                continue
            reading = SitemapReading(self._survey)
            self._read_for[reading] = scopes
            self._explore(reading, reading.start(self._origins(scopes)))

    def _origins(self, scopes: Sequence[BaseScope]) -> list[SitemapOrigin]:
        """Where the scopes lie, each server once; one that gave no rules was not there and is not asked."""
        found: dict[str, SitemapOrigin] = {}
        for base, key in scopes:
            name = origin_of(key)
            listed = self._gate.sitemaps(name)
            if name not in found and listed is not None:
                found[name] = SitemapOrigin(base, name, listed)
        return list(found.values())

    def _explore(self, reading: SitemapReading, step: sitemap_reader.Step) -> None:
        match step:
            case OpenSitemap(url, delay_s):
                ticket = self._sender.ticket()
                self._files[ticket] = (reading, url)
                self._loop.call_later(delay_s, self._ask_for_file, ticket)
            case ParseSitemap(url, body):
                parsing = self._loop.run_in_executor(None, sitemaps.parse, body, url)
                parsing.add_done_callback(partial(self._read, reading))
            case SitemapsDone():
                self._scopes.end_survey(self._read_for.pop(reading))
                if self._survey is not None and self._books.surveyed:
                    self._survey.close()
                self._sender.wake()

    def _ask_for_file(self, ticket: int, failed: Failed | None = None) -> None:
        """Queue the file if robots.txt lets us; if its server is not there at all, that is the answer."""
        if self._closed:
            return
        reading, url = self._files[ticket]
        verdict = failed or self._gate.judge(ticket, url)
        if isinstance(verdict, Failed):
            del self._files[ticket]
            self._explore(reading, reading.answered(verdict))
        elif isinstance(verdict, Refused):
            del self._files[ticket]
            self._explore(reading, reading.refused(verdict.rule))
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
        """Write down what a file lists, in portions between which the loop does other things."""
        if self._closed:
            return
        targets = [(urls.target(entry.url, rules=self._url_rules), entry.lastmod) for entry in entries[:CHARTED]]
        self._scopes.add_sitemap_entries(
            base, [(target, lastmod) for target, lastmod in targets if target is not None]
        )
        self._books.begin_flush()
        if len(entries) > CHARTED:
            self._loop.call_soon(partial(self._add_entries, reading, base, entries[CHARTED:], step))
        else:
            self._explore(reading, step)
