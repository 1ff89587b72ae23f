"""What a recrawl visits first: the URLs that the run before asked for, in the order in which it did.

Pure: rows of the earlier run and the rules of now become rows of the new run. Always holds: a URL keeps the depth,
the source and, if that is still known, the referrer it had, and is judged as if it were found there now; ranks
rise in the old order; a key has one row, also where today's URL rules make one key of two. Never asks the network,
and never looks at links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from orbweb.lifecycle import ItemState
from orbweb.model import Carried, Source
from orbweb.policy.rules import Candidate, Policy
from orbweb.store import Row
from orbweb.store.rows import UrlRow
from orbweb.urls import Resolver, UrlRules

_SOURCES = {source.value: source for source in Source}
_STEPS = {Source.SPIDER: 1, Source.REDIRECT: 0}
"""How much deeper a URL is than what led to it."""
_QUEUED, _SKIPPED, _KNOWN = ItemState.QUEUED.value, ItemState.SKIPPED.value, Carried.KNOWN.value


class KnownUrl(NamedTuple):
    """A URL of the earlier run; a row of `recalled_urls`."""

    id: int
    url: str
    source: str
    depth: int
    redirects: int
    referrer: int | None
    family_member: int
    found_hops: int
    found_base: int


class RecrawlQueue:
    """Makes rows that follow those of the base URLs. `moved`: the number now of a base URL of the earlier run."""

    def __init__(
        self,
        policy: Policy,
        bases: Iterable[UrlRow],
        *,
        moved: Mapping[int, int],
        rules: UrlRules,
        lane_of: Callable[[str], str],
    ) -> None:
        self._policy = policy
        self._moved = moved
        self._resolver = Resolver(rules)
        self._lane_of = lane_of
        self._ids = {row.key: row.id for row in bases}
        self._depths = [0] * (len(self._ids) + 1)
        policy.recount(self._ids)
        self._now = {old + 1: new + 1 for old, new in moved.items()}
        self._next_rank = len(self._ids)

    def rows(self, earlier: Iterable[Row]) -> list[UrlRow]:
        """The rows of what was known, in the order of their places; run ids are 0."""
        found = []
        for known in map(KnownUrl._make, earlier):
            page = self._resolver.page(known.url)
            if page is None:
                continue
            key, url = page.own
            if key not in self._ids:
                found.append(self._row(known, key, url))
            self._now[known.id] = self._ids[key]
        return found

    def _row(self, known: KnownUrl, key: str, url: str) -> UrlRow:
        number = self._ids[key] = len(self._ids) + 1
        self._depths.append(known.depth)
        base, source = self._base(known), _SOURCES[known.source]
        verdict = self._policy.judge(Candidate(key, known.depth, known.found_hops, base, source))
        rank = None
        if verdict.reason is None:
            rank = self._policy.rank(key, self._next_rank, later=True)
            self._next_rank += 1
            self._policy.admit(key)
        return UrlRow(
            run_id=0,
            id=number,
            key=key,
            url=None if url == key else url,
            state=_QUEUED if verdict.reason is None else _SKIPPED,
            reason=verdict.reason.value if verdict.reason else None,
            rule=verdict.rule,
            source=known.source,
            depth=known.depth,
            rank=rank,
            lane=self._lane_of(key),
            hops=verdict.hops,
            redirects=known.redirects,
            base=verdict.base,
            referrer=self._referrer(known, source, base + 1),
            family_member=bool(known.family_member),
            carried=_KNOWN,
            found_hops=known.found_hops,
            found_base=base,
        )

    def _referrer(self, known: KnownUrl, source: Source, base: int) -> int | None:
        """The URL that led to it; None if that has vanished or was not kept, and so is not among what is known."""
        found = self._now.get(known.referrer or 0, base)
        steps = _STEPS.get(source)
        return found if steps is None or known.depth == self._depths[found] + steps else None

    def _base(self, known: KnownUrl) -> int:
        """The base URL of the page that led to it; the first one where that is no base URL any more."""
        return self._moved.get(known.found_base, 0)
