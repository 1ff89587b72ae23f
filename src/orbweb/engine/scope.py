"""The base URLs of a run at work: where scopes lie, what base URLs may still give, what sitemaps and a feed bring.

Owns the page limits and the outset, and with them which places may be asked for. Always holds: no place but a base
URL is asked for before the scopes of its site can move no more and their sitemaps are read. Never settles a visit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orbweb import urls
from orbweb.engine.admission import Admission, FoundUrl
from orbweb.engine.batch import Batch
from orbweb.engine.rescope import Rescope
from orbweb.engine.startup import BaseScope, Startup
from orbweb.frontier.spool.files import SpoolLine
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.model import Carried, Item, SkipReason, Source
from orbweb.policy.rules import Candidate, Policy
from orbweb.store import QUEUED, BaseRow, CarryRow, DateRow, ListRow, skipped
from orbweb.store.runs import Base, Run
from orbweb.urls import Target, UrlRules


class ScopeTracker:
    """What is known of the base URLs of one run."""

    def __init__(
        self,
        run: Run,
        bases: Sequence[Base],
        *,
        books: Batch,
        admission: Admission,
        review: Rescope,
        policy: Policy,
        frontier: SqliteFrontier,
        outset: Startup,
        url_rules: UrlRules,
        is_fed: bool,
    ) -> None:
        self._run = run
        self._run_id = run.id
        self._bases = {base.number: base for base in bases}
        self._books = books
        self._admission = admission
        self._review = review
        self._policy = policy
        self._frontier = frontier
        self._outset = outset
        self._url_rules = url_rules
        self._is_fed = is_fed
        for base in bases:
            if self._check_limit(base.number):
                self._outset.drop(base.number)
        if not books.scope_fixed and outset.is_settled:
            review.fix_scope()

    @property
    def every_limit_reached(self) -> bool:
        return self._policy.all_full

    def page_room(self, base: int) -> int | None:
        """Unique pages the base URL may still give; None without a limit."""
        limit = self._policy.rules.page_limit
        return None if limit is None else limit - self._bases[base].pages

    def add_page(self, base: int) -> None:
        """The base URL gave a page; the last it may give ends what it has queued."""
        owner = self._bases[base]
        self._save(Base(owner.number, owner.url, owner.scope_key, owner.pages + 1))
        self._check_limit(base)

    def may_fetch(self, item: Item) -> bool:
        """Whether the place may be asked for: a base URL, or what lies in the scope however others still move."""
        if not item.depth or self._books.surveyed or self.is_fed_now:
            return True
        if item.hops or not self._outset.is_free(item.key):
            return False
        return not self._policy.judge(Candidate(item.key, item.depth, 0, item.base, item.source)).hops

    def unsurveyed(self) -> list[tuple[BaseScope, ...]]:
        """The scopes whose sitemaps may be read from now on, each named once."""
        return [] if self._books.surveyed else self._outset.due()

    def add_sitemap_entries(self, base: int, entries: Iterable[tuple[Target, str | None]]) -> None:
        """Find what a sitemap lists, in its order, as if the base URL linked to it."""
        owner = self._bases[base]
        parent = Item(base + 1, owner.scope_key, owner.url, Source.INITIAL, 0, 0, "", 0, 0, base)
        for (key, url), lastmod in entries:
            found = FoundUrl(key, url, Source.SITEMAP, 1, 0, parent, lastmod)
            known = self._frontier.known(key)
            number = self._admission.find(found, known)
            if known is not None and self._run.recalls is not None:
                self._books.group.changes.append(
                    ("carry_url", CarryRow(Carried.LISTED.value, self._run_id, number))
                )
            if known is not None:
                self._books.group.changes.append(("list_url", ListRow(self._run_id, number)))
            if known is not None and lastmod is not None:
                self._books.group.changes.append(("date_url", DateRow(lastmod, self._run_id, number)))

    def end_survey(self, scopes: Iterable[BaseScope]) -> None:
        """Their sitemaps are read, or none are to be; after the last of them all links are followed.

        What is due is asked of the database, so what the sitemaps date has to be there.
        """
        if self._run.due_only:
            self._books.flush()
        self._outset.read(scopes)
        self._books.surveyed = self._outset.is_over and not self._is_fed

    @property
    def is_fed_now(self) -> bool:
        """Whether lines of the spool may be taken: base URLs are settled, and there may be more lines."""
        return self._is_fed and not self._books.surveyed and self._outset.is_over

    def feed(self, lines: Iterable[SpoolLine]) -> None:
        """Admit what discovery found, in its order, with its depth, as if the page it was found on led there."""
        for line in lines:
            self._books.fed += 1
            target = urls.target(line.url, rules=self._url_rules)
            if target is not None:
                source = Source.SPIDER if line.depth else Source.INITIAL
                parent = self._referrer(line)
                found = FoundUrl(target.key, target.url, source, line.depth, 0, parent, fed=True)
                self._admission.find(found, self._frontier.known(target.key))

    def _referrer(self, line: SpoolLine) -> Item:
        """The page that led there, if this run knows it where it should be; else nobody."""
        page = urls.target(line.referrer, rules=self._url_rules) if line.referrer else None
        known = self._frontier.known(page.key) if page else None
        if page is None or known is None or known.depth != line.depth - 1:
            return Item(0, self._bases[0].scope_key, "", Source.INITIAL, 0, 0, "", 0, 0, 0)
        owner = self._policy.owner(page.key) or 0
        return Item(known.id, page.key, page.url, Source.SPIDER, known.depth, 0, "", known.hops, 0, owner)

    def end_feed(self) -> None:
        """No line will come any more."""
        self._books.surveyed = True

    def _save(self, base: Base) -> None:
        self._bases[base.number] = base
        self._books.group.bases[base.number] = BaseRow(base.scope_key, base.pages, self._run_id, base.number)

    def _check_limit(self, base: int) -> bool:
        """Skip what the base URL has queued if its page limit is reached; whether it is."""
        room = self.page_room(base)
        if room is None or room > 0:
            return False
        rule = self._policy.page_limit_rule()
        self._policy.fill(base)
        self._frontier.drop(base)
        self._books.group.limited[base] = rule
        self._books.count(QUEUED, skipped(SkipReason.PAGE_LIMIT.value), self._books.queued_by_base[base])
        self._books.queued_by_base[base] = 0
        return True

    def move(self, base: int, key: str) -> None:
        """The base URL redirected: its scope is where it led."""
        self._policy.move_scope(base, key)
        self._outset.move(base, key)
        moved = self._bases[base]
        self._save(Base(base, moved.url, key, moved.pages))

    def base_settled(self, base: int) -> None:
        """When the last base URL and what it redirects to are settled, the scope is fixed."""
        self._outset.settle(base)
        if self._outset.is_settled:
            self._review.fix_scope()
