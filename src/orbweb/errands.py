"""Requests that are no places: robots.txt before the first page of an origin, sitemaps before the first link.

Owns the tickets of these requests and what is done with their answers; what is asked for is decided in `gate` and
`survey`. Always holds: one request a robots.txt and one sitemap at a time; sitemaps are read when the scope is
fixed and before anything beyond the base URLs is leased. They cost no budget and leave no visit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from orbweb import sitemaps, survey, urls
from orbweb.dispatch import Dispatcher
from orbweb.fetch import ROBOTS, SITEMAP, Want
from orbweb.gate import Ask, AskLater, Gate, Known, origin_of
from orbweb.ledger import Ledger
from orbweb.model import Failed, Fetched, Place, Refused
from orbweb.sitemaps import Entry, Sitemap
from orbweb.survey import Closed, Open, Origin, Parse, Survey
from orbweb.urls import UrlRules

BEFORE_ALL = Place(-1, 0)
CHARTED = 2_000


class Sender(Protocol):
    """Who gives out tickets and is told what became of an errand."""

    def ticket(self) -> int:
        """A number no request has had."""

    def wake(self) -> None:
        """There is something to send or to lease."""

    def rules_known(self, known: Known) -> None:
        """The rules of an origin are known, or its server is not there: its places need wait no longer."""


class Errands:
    """The errands of one crawl."""

    def __init__(
        self,
        sender: Sender,
        *,
        gate: Gate,
        survey: Survey | None,
        ledger: Ledger,
        dispatcher: Dispatcher,
        url_rules: UrlRules,
    ) -> None:
        self._sender = sender
        self._gate = gate
        self._survey = survey
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._url_rules = url_rules
        self._loop = asyncio.get_running_loop()
        self._asks: dict[int, Ask] = {}
        self._file: tuple[int, str] | None = None
        self._surveying = False

    def request(self, ticket: int) -> tuple[str, Want] | None:
        """What the ticket asks for; None if it is no errand."""
        ask = self._asks.get(ticket)
        if ask is not None:
            return ask.url, ROBOTS
        if self._file is not None and self._file[0] == ticket:
            return self._file[1], SITEMAP
        return None

    def answered(self, ticket: int, answer: Fetched | Failed) -> None:
        """The fetcher is done with a ticket, which may be an errand."""
        ask = self._asks.pop(ticket, None)
        if ask is not None:
            self.act(self._gate.answered(ask, answer))
        elif self._survey is not None and self._file is not None and self._file[0] == ticket:
            self._file = None
            self._explore(self._survey.answered(answer))

    def act(self, step: Ask | AskLater | Known) -> None:
        """Do what the gate wants done about a robots.txt."""
        match step:
            case Ask(url=url):
                ticket = self._sender.ticket()
                self._asks[ticket] = step
                self._queue(ticket, url)
            case AskLater(ask, delay_s):
                self._loop.call_later(delay_s, self.act, ask)
            case Known():
                if self._file is not None and self._file[0] in step.waiting:
                    self._ask_for_file(*self._file, step.failed)
                self._sender.rules_known(step)

    def _queue(self, ticket: int, url: str) -> None:
        self._dispatcher.add(ticket, urls.site(url), BEFORE_ALL)
        self._sender.wake()

    # Sitemaps.

    def begin_survey(self) -> None:
        """Start to read the sitemaps, if it is time to."""
        ledger = self._ledger
        if ledger.surveyed or self._surveying or not ledger.scope_fixed:
            return
        if self._survey is None or ledger.every_limit_reached:
            ledger.end_survey()
            return
        self._surveying = True
        self._explore(self._survey.start(self._origins()))

    def _origins(self) -> list[Origin]:
        """Where the scopes lie, each server once; one that gave no rules was not there and is not asked."""
        found: dict[str, Origin] = {}
        for base, key in self._ledger.scopes():
            name = origin_of(key)
            listed = self._gate.sitemaps(name)
            if name not in found and listed is not None:
                found[name] = Origin(base, name, listed)
        return list(found.values())

    def _explore(self, step: survey.Step) -> None:
        match step:
            case Open(url, delay_s):
                self._file = (self._sender.ticket(), url)
                self._loop.call_later(delay_s, self._ask_for_file, *self._file)
            case Parse(url, body):
                reading = self._loop.run_in_executor(None, sitemaps.parse, body, url)
                reading.add_done_callback(self._read)
            case Closed():
                self._ledger.end_survey()
                self._surveying = False
                self._sender.wake()

    def _ask_for_file(self, ticket: int, url: str, failed: Failed | None = None) -> None:
        """Queue the file if robots.txt lets us; if its server is not there at all, that is the answer."""
        if self._survey is None:
            return
        verdict = failed or self._gate.judge(ticket, url)
        if isinstance(verdict, Failed):
            self._explore(self._survey.answered(verdict))
        elif isinstance(verdict, Refused):
            self._explore(self._survey.refused(verdict.rule))
        elif isinstance(verdict, Ask):
            self.act(verdict)
        elif verdict:
            self._queue(ticket, url)

    def _read(self, reading: asyncio.Future[Sitemap]) -> None:
        if self._survey is not None and not reading.cancelled():
            base = self._survey.base
            entries, step = self._survey.read(reading.result())
            self._chart(base, entries, step)

    def _chart(self, base: int, entries: Sequence[Entry], step: survey.Step) -> None:
        """Write down what a file lists, in portions between which the loop does other things."""
        targets = [(urls.target(entry.url, rules=self._url_rules), entry.lastmod) for entry in entries[:CHARTED]]
        self._ledger.chart(base, [(target, lastmod) for target, lastmod in targets if target is not None])
        self._ledger.flush()
        if len(entries) > CHARTED:
            self._loop.call_soon(partial(self._chart, base, entries[CHARTED:], step))
        else:
            self._explore(step)
