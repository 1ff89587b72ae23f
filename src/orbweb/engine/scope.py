"""The base URLs of a running crawl: their scopes and page limits, and the URLs that sitemaps and a spool add.

Until the scopes on a site are fixed and its sitemaps are read, only base URLs of that site are fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from orbweb import urls
from orbweb.engine.admission import Admission, FoundUrl
from orbweb.engine.batch import Batch
from orbweb.engine.context import RunContext
from orbweb.engine.rescope import Rescope
from orbweb.engine.startup import BaseScope
from orbweb.frontier.spool.files import SpoolLine
from orbweb.frontier.spool.source import DrawnLine
from orbweb.model import Carried, Item, SkipReason, Source
from orbweb.policy.rules import Candidate
from orbweb.store.rows import QUEUED, skipped
from orbweb.store.runs import Base
from orbweb.urls import Target


class ScopeTracker:
    """The base URLs of one run; one that a spool of another producer feeds has none. `flush` makes everything
    committed durable. `passed` are queued URLs whose lines the bookmark was set past, each with the rule."""

    def __init__(
        self,
        context: RunContext,
        batch: Batch,
        admission: Admission,
        rescope: Rescope,
        bases: Sequence[Base],
        *,
        flush: Callable[[], None],
    ) -> None:
        self._run = context.store.run
        self._bases = {base.number: base for base in bases}
        self._batch = batch
        self._admission = admission
        self._rescope = rescope
        self._policy = context.policy
        self._frontier = context.frontier
        self._startup = context.startup
        self._url_rules = context.settings.url_rules
        self._is_fed = context.settings.is_fed
        self._flush = flush
        self.passed: dict[int, str] = {}
        for base in bases:
            if self._check_limit(base.number):
                self._startup.drop(base.number)
        if not batch.scope_fixed and self._startup.all_committed:
            rescope.fix_scope()

    @property
    def every_limit_reached(self) -> bool:
        return self._policy.all_full

    def page_room(self, base: int) -> int | None:
        """How many more unique pages the base URL may have; None without a limit."""
        limit = self._policy.rules.page_limit
        return None if limit is None else limit - self._bases[base].pages

    def add_page(self, base: int) -> None:
        """Count a page; when the limit is reached, the queued URLs of the base URL are skipped."""
        owner = self._bases.get(base)
        if owner is not None:
            self._save(Base(owner.number, owner.url, owner.scope_key, owner.pages + 1))
            self._check_limit(base)

    def may_fetch(self, item: Item) -> bool:
        """Whether the place may be fetched: a base URL, or a URL that stays in the scope wherever others move."""
        if not item.depth or self._batch.surveyed or self.is_fed_now:
            return True
        if item.hops or not self._startup.is_free(item.key):
            return False
        return not self._policy.judge(Candidate(item.key, item.depth, 0, item.base, item.source)).hops

    def unsurveyed(self) -> list[tuple[BaseScope, ...]]:
        """Scopes whose sitemaps may be read now; each is returned once."""
        return [] if self._batch.surveyed else self._startup.due()

    def add_sitemap_entries(self, base: int, entries: Iterable[tuple[Target, str | None]]) -> None:
        """Admit the entries of a sitemap, in its order, as if the base URL linked to them."""
        owner = self._bases[base]
        parent = Item(base + 1, owner.scope_key, owner.url, Source.INITIAL, 0, 0, "", 0, 0, base)
        for (key, url), lastmod in entries:
            found = FoundUrl(key, url, Source.SITEMAP, 1, 0, parent, lastmod)
            known = self._frontier.known(key)
            number = self._admission.find(found, known)
            if known is not None:
                if self._run.recalls is not None:
                    self._batch.unit.carry(number, Carried.LISTED)
                self._batch.unit.list_in_sitemap(number, lastmod)

    def end_survey(self, scopes: Sequence[BaseScope]) -> list[str]:
        """The sitemaps of these scopes are read, or are not to be read; after the last one all links are followed.

        With `due_only` the dates of sitemaps must be durable: which pages are due is read from the store. If
        sitemaps are preferred, returns the scopes of which they list nothing.
        """
        if self._run.due_only:
            self._flush()
        self._startup.read(scopes)
        self._batch.surveyed = self._startup.is_over and not self._is_fed
        if not self._policy.rules.prefers_sitemaps:
            return []
        followed = self._rescope.follow_unlisted([scope.base for scope in scopes])
        return [urls.scope(self._bases[base].scope_key) for base in followed]

    @property
    def is_fed_now(self) -> bool:
        """Whether spool lines may be read: base URLs are committed, and the spool has not ended."""
        return self._is_fed and not self._batch.surveyed and self._startup.is_over

    def feed(self, drawn: DrawnLine) -> int | None:
        """Admit the URL of a spool line with its depth, as a link of its referrer; its id, None if it has no URL.

        A queued URL whose line the bookmark was set past is refused when its turn comes.
        """
        line = drawn.line
        self._batch.fed += 1
        target = urls.target(line.url, rules=self._url_rules)
        if target is None:
            return None
        source, parent = Source.SPIDER if line.depth else Source.INITIAL, self._referrer(line, target.key)
        found = FoundUrl(
            target.key, target.url, source, line.depth, 0, parent, fed=True, passed_by=drawn.passed_by
        )
        known = self._frontier.known(target.key)
        number = self._admission.find(found, known)
        if known is None or known.reason == SkipReason.LEFT:
            self._keep_facts(number, line, target.key, parent)
        elif drawn.passed_by is not None and known.reason is None and not self._batch.is_settled(number):
            self.passed[number] = drawn.passed_by
        return number

    def _keep_facts(self, number: int, line: SpoolLine, key: str, parent: Item) -> None:
        """Store what the line says and the run would not know without it."""
        page_type = line.page_type if line.page_type != self._policy.page_type(key) else None
        referrer = line.referrer if not parent.id else None
        if page_type or referrer or line.extra:
            self._batch.unit.add_spool_line(number, page_type, referrer, line.extra or None)

    def _referrer(self, line: SpoolLine, key: str) -> Item:
        """The page that links to the URL, if this run knows it at that depth; else a placeholder."""
        page = urls.target(line.referrer, rules=self._url_rules) if line.referrer else None
        known = self._frontier.known(page.key) if page else None
        if page is None or known is None or known.depth != line.depth - 1:
            scope_key = self._bases[0].scope_key if self._bases else key
            return Item(0, scope_key, "", Source.INITIAL, 0, 0, "", 0, 0, 0)
        owner = self._policy.owner(page.key) or 0
        return Item(known.id, page.key, page.url, Source.SPIDER, known.depth, 0, "", known.hops, 0, owner)

    def end_feed(self) -> None:
        """The spool has ended."""
        self._batch.surveyed = True

    def _save(self, base: Base) -> None:
        self._bases[base.number] = base
        self._batch.unit.save_base(base.number, base.scope_key, base.pages)

    def _check_limit(self, base: int) -> bool:
        """Skip the queued URLs of the base URL if its page limit is reached; True if it is."""
        room = self.page_room(base)
        if room is None or room > 0:
            return False
        rule = self._policy.page_limit_rule()
        self._policy.fill(base)
        self._frontier.drop(base)
        self._batch.unit.skip_base(base, rule)
        self._batch.count(QUEUED, skipped(SkipReason.PAGE_LIMIT.value), self._batch.queued_by_base[base])
        self._batch.queued_by_base[base] = 0
        return True

    def move(self, base: int, key: str) -> None:
        """The base URL redirected: its scope moves to the target."""
        self._policy.move_scope(base, key)
        self._startup.move(base, key)
        moved = self._bases[base]
        self._save(Base(base, moved.url, key, moved.pages))

    def base_committed(self, base: int) -> None:
        """When the last base URL and its redirects are committed, the scope is fixed."""
        self._startup.committed(base)
        if self._startup.all_committed:
            self._rescope.fix_scope()
