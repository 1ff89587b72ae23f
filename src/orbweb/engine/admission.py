"""Admission of found URLs: links and resources of pages, sitemap entries, spool lines.

A URL has one row. It is judged when it is found first, and again whenever it is found on a better path. Ids and
ranks are given out in the order of finding. A page with very many links is followed in portions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from orbweb.engine.batch import Batch
from orbweb.engine.context import RunContext
from orbweb.engine.earlier_targets import EarlierTargets
from orbweb.engine.workers.codec import PackedLinks
from orbweb.errors import StoreError
from orbweb.lifecycle import ItemState
from orbweb.model import Capture, Directives, Item, Known, Link, SkipReason, Source, Verdict
from orbweb.policy import traps
from orbweb.policy.rules import Candidate
from orbweb.store import links as packed_links
from orbweb.store import marks
from orbweb.store.captures import EarlierLinks
from orbweb.store.rows import QUEUED, ReadmitRow, Tally, UrlRow, skipped

# Reasons that refuse a link, and do not apply to a URL that a sitemap lists or a page loads.
NOT_FOR = {
    Source.SITEMAP: (SkipReason.SITEMAP_ONLY, SkipReason.TRAP),
    Source.RESOURCE: (SkipReason.SITEMAP_ONLY, SkipReason.OUT_OF_SCOPE, SkipReason.MAX_DEPTH),
}

PORTION = 500
"""Links that are followed before the loop gets control."""
LEFT_RULE = "scrape: links are left to discovery"


class FoundUrl(NamedTuple):
    """A target and how it was reached; `nofollow` is the rule that forbids following this link, `passed_by` the
    bookmark that was set past its line."""

    key: str
    url: str
    source: Source
    depth: int
    redirects: int
    parent: Item
    lastmod: str | None = None
    nofollow: str | None = None
    fed: bool = False
    passed_by: str | None = None


class Admission:
    """Admits the URLs that a run finds; those it starts with have their rows already."""

    def __init__(self, context: RunContext, batch: Batch) -> None:
        self._batch = batch
        self._run_id = batch.run_id
        self._policy = context.policy
        self._frontier = context.frontier
        self._traps = context.traps
        self._startup = context.startup
        self._lane_of = context.lane_of
        self._drop_query = context.settings.drop_query
        self._is_fed = context.settings.is_fed
        self._has_mark = context.store.has_mark if context.store.has_marks() else None
        self.earlier = EarlierTargets(context.store, context.frontier)

    def follow(
        self, item: Item, links: Sequence[Link], resources: Sequence[Link], directives: Directives
    ) -> Iterator[None]:
        """Find every link of a page in document order, then its resources; yields after each portion."""
        if not links and not resources:
            return
        page_rule = self._policy.nofollow_rule(directives, item.url)
        rel_rule = page_rule or self._policy.rel_nofollow_rule(item.url)
        targets: list[int] = []
        for at, portion in enumerate(_portions(links)):
            if at:
                yield
            targets += self._find_links(item, portion, page_rule, rel_rule)
        for at, portion in enumerate(_portions(resources)):
            if at:
                yield
            targets += self._find_resources(item, portion)
        flags = _flags(links) + _flags(resources)
        self._batch.unit.add_links(item.id, packed_links.pack(targets, flags))

    def _find_links(
        self, item: Item, links: Sequence[Link], page_rule: str | None, rel_rule: str | None
    ) -> list[int]:
        """The ids of the link targets. The hottest loop of the engine."""
        if type(links) is EarlierLinks:
            return self.earlier.translate(
                links,
                lambda link: self._find_links(item, (link,), page_rule, rel_rule)[0],
            )
        lookup, targets = self._frontier.known, []
        for link in links:
            known = lookup(link.key)
            if known is not None and not known.hops and known.reason is None:
                targets.append(known.id)
            else:
                nofollow = rel_rule if link.nofollow else page_rule
                found = FoundUrl(link.key, link.url, Source.SPIDER, item.depth + 1, 0, item, nofollow=nofollow)
                targets.append(self.find(found, known))
        return targets

    def _find_resources(self, item: Item, resources: Sequence[Link]) -> list[int]:
        depth = item.depth + (item.source is not Source.RESOURCE)

        def find(link: Link) -> int:
            found = FoundUrl(link.key, link.url, Source.RESOURCE, depth, 0, item)
            return self.find(found, self._frontier.known(link.key))

        if type(resources) is EarlierLinks:
            return self.earlier.translate(resources, find)
        return [find(link) for link in resources]

    def inherit(self, item: Item, capture: Capture) -> bytes | None:
        """The packed links of an unchanged page as a record of this run; empty if it has none. None if finding
        one of them would change something, or the record is damaged."""
        packed = capture.packed
        if not packed:
            return packed
        try:
            found = packed_links.renumbered(packed, self.earlier.ids(capture.run_id))
            if found is not None:
                return found
            earlier, flags = packed_links.edges(packed)
        except StoreError:
            return None
        link = FoundUrl("", "", Source.SPIDER, item.depth + 1, 0, item)
        targets = self.earlier.translate_known(
            capture.run_id, earlier, packed_links.followed(flags), lambda known: _is_news(link, known)
        )
        return None if targets is None else packed_links.pack(targets, flags)

    def find(self, found: FoundUrl, known: Known | None, *, forced: bool = False) -> int:
        """Admit or refuse a new target; judge a known one again if this path is better. Returns its id."""
        if self._drop_query:
            found = found._replace(url=found.url.partition("?")[0])
        if known is None:
            return self._add(found, self._judge(found, forced=forced))
        if known.reason is not None:
            if _is_better(found, known, forced=forced):
                self._reconsider(found, known.id, known.reason, self._judge(found, forced=forced))
        elif known.hops > found.parent.hops + 1 and found.nofollow is None:
            hops = found.parent.hops + 1
            self._batch.unit.shorten_path(known.id, hops)
            self._frontier.remember(found.key, known._replace(hops=hops))
        return known.id

    def _judge(self, found: FoundUrl, *, forced: bool) -> Verdict:
        parent = found.parent
        if forced:
            return Verdict(None, None, parent.base, 0)
        if found.passed_by is not None:
            return Verdict(SkipReason.BEFORE_BOOKMARK, found.passed_by, parent.base, 0)
        candidate = Candidate(found.key, found.depth, parent.hops, parent.base, found.source)
        verdict = self._policy.judge(candidate)
        if found.nofollow is not None:
            return verdict._replace(reason=SkipReason.NOFOLLOW, rule=found.nofollow)
        if verdict.reason is None and self._is_fed and found.source is Source.SPIDER and not found.fed:
            return verdict._replace(reason=SkipReason.LEFT, rule=LEFT_RULE)
        if verdict.reason is None and self._has_mark and marks.is_marked(found.key, found.url, self._has_mark):
            return verdict._replace(reason=SkipReason.IMPORTED, rule=marks.RULE)
        if verdict.reason is None and self._policy.rules.park_traps and found.source in traps.JUDGED:
            pattern, family_member = self._traps.judge(found.key, parent.key)
            if pattern is not None:
                return verdict._replace(reason=SkipReason.TRAP, rule=traps.rule(pattern))
            return verdict._replace(family_member=family_member)
        return verdict

    def _parked(self, found: FoundUrl, verdict: Verdict) -> str | None:
        """The pattern of the endless family that the URL belongs to, "" if there is none, None if not checked."""
        if verdict.reason is SkipReason.TRAP and verdict.rule is not None:
            return verdict.rule.removeprefix(traps.rule(""))
        checked = verdict.reason is None and self._policy.rules.park_traps and found.source in traps.JUDGED
        return "" if checked else None

    def _add(self, found: FoundUrl, verdict: Verdict) -> int:
        lane, reason = self._lane_of(found.key), verdict.reason.value if verdict.reason else None
        number = self._batch.numbers.url(lane)
        rank = self._admit(found, number, verdict, lane) if reason is None else None
        self._batch.unit.add_url(
            UrlRow(
                self._run_id,
                number,
                found.key,
                None if found.url == found.key else found.url,
                ItemState.SKIPPED.value if reason else ItemState.QUEUED.value,
                reason,
                verdict.rule,
                found.source.value,
                found.depth,
                rank,
                lane,
                verdict.hops,
                found.redirects,
                verdict.base,
                found.parent.id or None,
                found.lastmod,
                verdict.family_member,
                None,
                found.parent.hops,
                found.parent.base,
                self._parked(found, verdict),
                found.source is Source.SITEMAP,
            )
        )
        self._frontier.remember(found.key, Known(number, found.depth, verdict.hops, reason))
        self._batch.count(None, _tally(reason))
        return number

    def _admit(self, found: FoundUrl, number: int, verdict: Verdict, lane: str) -> int:
        """Give the target its place; returns its rank."""
        later = found.depth > found.parent.depth
        rank = self._policy.rank(found.key, self._batch.numbers.rank(lane), later=later)
        self._policy.admit(found.key)
        self._batch.queued_by_base[verdict.base] += 1
        if found.depth == 0 and not self._batch.scope_fixed:
            self._startup.admit(verdict.base)
        self._frontier.admit(
            Item(
                number,
                found.key,
                found.url,
                found.source,
                found.depth,
                rank,
                lane,
                verdict.hops,
                found.redirects,
                verdict.base,
                verdict.family_member,
            )
        )
        self._traps.admitted(found.key, found.parent.key)
        return rank

    def _reconsider(self, found: FoundUrl, number: int, old_reason: str, verdict: Verdict) -> None:
        """A skipped URL was found on a better path. If still refused it keeps the stored verdict, unless that is
        `nofollow`: this link may be followed, so the new reason is the right one."""
        reason = verdict.reason.value if verdict.reason else None
        if reason is not None and old_reason != SkipReason.NOFOLLOW and found.passed_by is None:
            return
        lane = self._lane_of(found.key)
        rank = self._admit(found, number, verdict, lane) if reason is None else None
        self._batch.unit.readmit(
            ReadmitRow(
                None if found.url == found.key else found.url,
                ItemState.SKIPPED.value if reason else ItemState.QUEUED.value,
                reason,
                verdict.rule,
                found.source.value,
                found.depth,
                rank,
                lane,
                verdict.hops,
                found.redirects,
                verdict.base,
                found.parent.id or None,
                verdict.family_member,
                found.parent.hops,
                found.parent.base,
                self._parked(found, verdict),
                self._run_id,
                number,
            )
        )
        self._batch.count(skipped(old_reason), _tally(reason))
        self._frontier.remember(found.key, Known(number, found.depth, verdict.hops, reason))


def _portions(links: Sequence[Link]) -> Iterator[Sequence[Link]]:
    if len(links) <= PORTION:
        if links:
            yield links
    elif type(links) is PackedLinks:
        unpacked = iter(links)
        while portion := tuple(islice(unpacked, PORTION)):
            yield portion
    else:
        for start in range(0, len(links), PORTION):
            yield links[start : start + PORTION]


def _flags(links: Sequence[Link]) -> bytes:
    if type(links) is EarlierLinks or type(links) is PackedLinks:
        return links.flags
    return bytes([packed_links.FLAGS[link.kind, link.nofollow] for link in links])


def _is_news(found: FoundUrl, known: Known) -> bool:
    """Whether finding a known URL again, by a link, may change its row."""
    if known.reason is not None:
        return _is_better(found, known, forced=False)
    return known.hops > found.parent.hops + 1


def _is_better(found: FoundUrl, known: Known, *, forced: bool) -> bool:
    """Whether this path to a skipped URL may lead to a different verdict."""
    if found.nofollow is not None or known.reason == SkipReason.NOINDEX:
        return False
    if known.reason == SkipReason.LEFT:
        return found.fed or found.source is not Source.SPIDER
    if known.reason == SkipReason.BEFORE_BOOKMARK:
        return found.fed
    if forced or known.reason in (SkipReason.NOFOLLOW, SkipReason.TRAP):
        return True
    if known.reason in NOT_FOR.get(found.source, ()):
        return True
    return found.depth < known.depth or found.parent.hops + 1 < known.hops


def _tally(reason: str | None) -> Tally:
    return skipped(reason) if reason else QUEUED
