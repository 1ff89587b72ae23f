"""Finding: what a page links to and loads, what a sitemap lists and what is fed, each new URL with its verdict.

Owns how a target is admitted or refused, with which id and rank, and what an earlier run had found. Always
holds: a URL has one row, and is judged again whenever it is found on a better path; ids and ranks are given in
the order of finding. A page with very many links is followed in portions. Never settles a visit.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from orbweb.engine.batch import Batch
from orbweb.engine.startup import Startup
from orbweb.engine.workers.codec import PackedLinks
from orbweb.errors import StoreError
from orbweb.frontier.sqlite import SqliteFrontier
from orbweb.lifecycle import ItemState
from orbweb.model import Capture, Directives, Item, Known, Link, SkipReason, Source, Verdict
from orbweb.policy import traps
from orbweb.policy.rules import Candidate, Policy
from orbweb.policy.traps import Traps
from orbweb.store import PORTION, QUEUED, ReadmitRow, ShortenRow, Tally, UrlRow, skipped
from orbweb.store import links as packed_links
from orbweb.store.captures import EarlierLinks

# What a link is refused for, and a sitemap that lists it or a page that loads it is not.
NOT_FOR = {
    Source.SITEMAP: (SkipReason.SITEMAP_ONLY, SkipReason.TRAP),
    Source.RESOURCE: (SkipReason.SITEMAP_ONLY, SkipReason.OUT_OF_SCOPE, SkipReason.MAX_DEPTH),
}

MET_AT_ONCE = 512
"""Ids of an earlier run, near to each other, whose URLs are looked up together."""
MOST_STRANGERS = 100_000
"""Keys of URLs of an earlier run that are kept in memory because they are not, or not yet, followed."""
LEFT_RULE = "scrape: what pages link to is for discovery to find"


class FoundUrl(NamedTuple):
    """A target and how it was reached; `nofollow` is the rule by which this link is not to be followed."""

    key: str
    url: str
    source: Source
    depth: int
    redirects: int
    parent: Item
    lastmod: str | None = None
    nofollow: str | None = None
    fed: bool = False


class Admission:
    """Where the URLs of a run come in, but for those it begins with."""

    def __init__(
        self,
        books: Batch,
        *,
        policy: Policy,
        frontier: SqliteFrontier,
        traps: Traps,
        outset: Startup,
        lane_of: Callable[[str], str],
        drop_query: bool,
        is_fed: bool,
    ) -> None:
        self._books = books
        self._run_id = books.run_id
        self._policy = policy
        self._frontier = frontier
        self._traps = traps
        self._outset = outset
        self._lane_of = lane_of
        self._drop_query = drop_query
        self._is_fed = is_fed
        self._heirs: dict[int, array[int]] = {}
        self._met: dict[int, bytearray] = {}
        self._strangers: dict[tuple[int, int], str] = {}

    def forget(self) -> None:
        """What an earlier run had found may not be followed as it was."""
        self._heirs.clear()
        self._met.clear()
        self._strangers.clear()

    def refused(self, key: str) -> None:
        """This URL is not followed as it was."""
        for run_id, heirs in self._heirs.items():
            found = self._books.db.value("known_url", run_id=run_id, key=key)
            if found is not None and found < len(heirs):
                heirs[found] = 0
                self._strangers[run_id, found] = key

    def follow(
        self, item: Item, links: Sequence[Link], resources: Sequence[Link], said: Directives
    ) -> Iterator[None]:
        """Find every link of a page, in document order, then what it loads, with a pause after each portion."""
        if not links and not resources:
            return
        page_rule = self._policy.nofollow_rule(said, item.url)
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
        self._books.group.outlinks.append((self._run_id, item.id, packed_links.pack(targets, flags)))

    def _find_links(
        self, item: Item, links: Sequence[Link], page_rule: str | None, rel_rule: str | None
    ) -> list[int]:
        """The ids of what a page links to. The hottest loop there is."""
        if type(links) is EarlierLinks:
            return self._inherit(
                links,
                lambda link: self._find_links(item, (link,), page_rule, rel_rule)[0],
            )
        recall, targets = self._frontier.known, []
        for link in links:
            known = recall(link.key)
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
            return self._inherit(resources, find)
        return [find(link) for link in resources]

    def _inherit(self, links: EarlierLinks, find: Callable[[Link], int]) -> list[int]:
        """The ids of what an earlier run had found. A target that is followed anyway is looked up once."""
        heirs = self._heirs_of(links.run_id, links.targets)
        targets = list(map(heirs.__getitem__, links.targets))
        if not all(targets):
            for at in [at for at, target in enumerate(targets) if not target]:
                link = links[at]
                targets[at] = find(link)
                known = self._frontier.known(link.key)
                if known is not None and not known.hops and known.reason is None:
                    heirs[links.targets[at]] = known.id
        return targets

    def _heirs_of(self, run_id: int, earlier: Iterable[int]) -> array[int]:
        """What the ids of an earlier run are now, these at least if that is known; 0 where it has to be found."""
        heirs = self._heirs.get(run_id)
        if heirs is None:
            most = self._books.db.value("most_urls", run_id=run_id)
            heirs = self._heirs[run_id] = array("I", bytes(4 * (most + 1)))
            self._met[run_id] = bytearray(most // MET_AT_ONCE + 1)
        met = self._met[run_id]
        for block in {target // MET_AT_ONCE for target in earlier if target < len(heirs) and not heirs[target]}:
            if not met[block]:
                met[block] = 1
                self._meet(run_id, heirs, block * MET_AT_ONCE)
        return heirs

    def _meet(self, run_id: int, heirs: array[int], first: int) -> None:
        """Learn what ids are now that lie near to each other: those of one page do, and those of the next."""
        last = first + MET_AT_ONCE - 1
        for number, key, _ in self._books.db.all("urls_between", run_id=run_id, first=first, last=last):
            known = self._frontier.known(key)
            if known is not None and not known.hops and known.reason is None:
                heirs[number] = known.id
            else:
                self._strangers[run_id, number] = key

    def inherit(self, item: Item, capture: Capture) -> bytes | None:
        """The record of the links of a captured page as one of this run, empty if it has none; None if finding one
        of them would change something, or the record is damaged."""
        run_id, packed = capture.run_id, capture.packed
        if not packed:
            return packed
        try:
            found = packed_links.renumbered(packed, self._heirs.get(run_id, ()))
            if found is None:
                earlier, flags = packed_links.edges(packed)
                targets = self._known_already(item, run_id, earlier, packed_links.followed(flags))
                found = packed_links.pack(targets, flags) if targets is not None else None
        except StoreError:
            return None
        return found

    def _known_already(self, item: Item, run_id: int, earlier: array[int], links: int) -> list[int] | None:
        """The ids of what an earlier run had found on a page, `links` of them before what it loads; None if
        finding one of them there again would change something."""
        heirs, targets = self._heirs_of(run_id, earlier), []
        link = FoundUrl("", "", Source.SPIDER, item.depth + 1, 0, item)
        for at, target in enumerate(earlier):
            now = heirs[target] if target < len(heirs) else 0
            if not now:
                key = self._strangers.get((run_id, target))
                known = self._frontier.known(key) if key is not None else None
                if known is None or at >= links or _is_news(link, known):
                    return None
                now = known.id
            targets.append(now)
        if len(self._strangers) > MOST_STRANGERS:
            self._strangers.clear()
            self._met = {run_id: bytearray(len(met)) for run_id, met in self._met.items()}
        return targets

    def find(self, found: FoundUrl, known: Known | None, *, forced: bool = False) -> int:
        """Admit or refuse a new target; judge a known one again if this path is better. Its id."""
        if self._drop_query:
            found = found._replace(url=found.url.partition("?")[0])
        if known is None:
            return self._add(found, self._judge(found, forced=forced))
        if known.reason is not None:
            if _is_better(found, known, forced=forced):
                self._reconsider(found, known.id, known.reason, self._judge(found, forced=forced))
        elif known.hops > found.parent.hops + 1 and found.nofollow is None:
            hops = found.parent.hops + 1
            self._books.group.changes.append(("shorten_path", ShortenRow(hops, self._run_id, known.id)))
            self._frontier.remember(found.key, known._replace(hops=hops))
        return known.id

    def _judge(self, found: FoundUrl, *, forced: bool) -> Verdict:
        parent = found.parent
        if forced:
            return Verdict(None, None, parent.base, 0)
        candidate = Candidate(found.key, found.depth, parent.hops, parent.base, found.source)
        verdict = self._policy.judge(candidate)
        if found.nofollow is not None:
            return verdict._replace(reason=SkipReason.NOFOLLOW, rule=found.nofollow)
        if verdict.reason is None and self._is_fed and found.source is Source.SPIDER and not found.fed:
            return verdict._replace(reason=SkipReason.LEFT, rule=LEFT_RULE)
        if verdict.reason is None and self._policy.rules.park_traps and found.source in traps.JUDGED:
            pattern, kin = self._traps.judge(found.key, parent.key)
            if pattern is not None:
                return verdict._replace(reason=SkipReason.TRAP, rule=traps.rule(pattern))
            return verdict._replace(kin=kin)
        return verdict

    def _parked(self, found: FoundUrl, verdict: Verdict) -> str | None:
        """What was learned of the URL's family: the pattern, nothing, or None if nobody looked."""
        if verdict.reason is SkipReason.TRAP and verdict.rule is not None:
            return verdict.rule.removeprefix(traps.rule(""))
        looked = verdict.reason is None and self._policy.rules.park_traps and found.source in traps.JUDGED
        return "" if looked else None

    def _add(self, found: FoundUrl, verdict: Verdict) -> int:
        number, reason = self._books.next_url, verdict.reason.value if verdict.reason else None
        self._books.next_url += 1
        rank = self._admit(found, number, verdict) if reason is None else None
        self._books.group.urls.append(
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
                self._lane_of(found.key),
                verdict.hops,
                found.redirects,
                verdict.base,
                found.parent.id or None,
                found.lastmod,
                verdict.kin,
                None,
                found.parent.hops,
                found.parent.base,
                self._parked(found, verdict),
                found.source is Source.SITEMAP,
            )
        )
        self._frontier.remember(found.key, Known(number, found.depth, verdict.hops, reason))
        self._books.count(None, _tally(reason))
        return number

    def _admit(self, found: FoundUrl, number: int, verdict: Verdict) -> int:
        """Give the target its place; the rank."""
        rank = self._policy.rank(found.key, self._books.next_rank, later=found.depth > found.parent.depth)
        self._books.next_rank += 1
        self._policy.admit(found.key)
        self._books.queued_by_base[verdict.base] += 1
        if found.depth == 0 and not self._books.scope_fixed:
            self._outset.admit(verdict.base)
        self._frontier.admit(
            Item(
                number,
                found.key,
                found.url,
                found.source,
                found.depth,
                rank,
                self._lane_of(found.key),
                verdict.hops,
                found.redirects,
                verdict.base,
                verdict.kin,
            )
        )
        self._traps.admitted(found.key, found.parent.key)
        return rank

    def _reconsider(self, found: FoundUrl, number: int, old_reason: str, verdict: Verdict) -> None:
        """A skipped URL was found on a better path. Still refused, it keeps the verdict that is stored.

        But `nofollow` says that nobody asks to look at it, and now someone does: any other verdict is nearer.
        """
        reason = verdict.reason.value if verdict.reason else None
        if reason is not None and old_reason != SkipReason.NOFOLLOW:
            return
        rank = self._admit(found, number, verdict) if reason is None else None
        self._books.group.changes.append(
            (
                "readmit_url",
                ReadmitRow(
                    None if found.url == found.key else found.url,
                    ItemState.SKIPPED.value if reason else ItemState.QUEUED.value,
                    reason,
                    verdict.rule,
                    found.source.value,
                    found.depth,
                    rank,
                    self._lane_of(found.key),
                    verdict.hops,
                    found.redirects,
                    verdict.base,
                    found.parent.id or None,
                    verdict.kin,
                    found.parent.hops,
                    found.parent.base,
                    self._parked(found, verdict),
                    self._run_id,
                    number,
                ),
            )
        )
        self._books.count(skipped(old_reason), _tally(reason))
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
    """Whether finding a known URL again, by a link, may change what is known of it."""
    if known.reason is not None:
        return _is_better(found, known, forced=False)
    return known.hops > found.parent.hops + 1


def _is_better(found: FoundUrl, known: Known, *, forced: bool) -> bool:
    """Whether this path to a skipped URL may lead to another verdict than the one it has."""
    if found.nofollow is not None or known.reason == SkipReason.NOINDEX:
        return False
    if known.reason == SkipReason.LEFT:
        return found.fed or found.source is not Source.SPIDER
    if forced or known.reason in (SkipReason.NOFOLLOW, SkipReason.TRAP):
        return True
    if known.reason in NOT_FOR.get(found.source, ()):
        return True
    return found.depth < known.depth or found.parent.hops + 1 < known.hops


def _tally(reason: str | None) -> Tally:
    return skipped(reason) if reason else QUEUED
