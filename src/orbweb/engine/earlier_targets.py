"""Link targets of an earlier run, translated to this one.

A recrawl takes over the packed links of unchanged pages. Their targets are ids of an earlier run and become ids of
this one, mostly without loading the URL. Only a target that is followed anyway is remembered by its id: any other
has to be found again, because that may change its verdict.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import TypeGuard

from orbweb.frontier import Frontier
from orbweb.model import Known, Link
from orbweb.store import RunStore
from orbweb.store.captures import EarlierLinks

BLOCK = 512
"""Neighboring ids of an earlier run whose keys are read together."""
MOST_OTHERS = 100_000
"""Keys in memory of earlier targets that are not, or not yet, followed."""


class EarlierTargets:
    """Maps ids of earlier runs to ids of this one."""

    def __init__(self, store: RunStore, frontier: Frontier) -> None:
        self._store = store
        self._frontier = frontier
        self._ids: dict[int, array[int]] = {}
        self._read: dict[int, bytearray] = {}
        self._others: dict[tuple[int, int], str] = {}

    def forget(self) -> None:
        """Drop everything: URLs were judged again, and some may not be followed any more."""
        self._ids.clear()
        self._read.clear()
        self._others.clear()

    def refused(self, key: str) -> None:
        """The URL with this key is not followed any more."""
        for run_id, ids in self._ids.items():
            found = self._store.earlier_id(run_id, key)
            if found is not None and found < len(ids):
                ids[found] = 0
                self._others[run_id, found] = key

    def ids(self, run_id: int) -> array[int]:
        """The translation of a run as far as it is in memory, by its ids; 0 where a target has to be found."""
        return self._ids.get(run_id) or array("I")

    def translate(self, links: EarlierLinks, find: Callable[[Link], int]) -> list[int]:
        """The ids of these links; calls `find` for each target that is not known."""
        ids = self._known(links.run_id, links.targets)
        targets = list(map(ids.__getitem__, links.targets))
        if not all(targets):
            for at in [at for at, target in enumerate(targets) if not target]:
                link = links[at]
                targets[at] = find(link)
                known = self._frontier.known(link.key)
                if _is_followed(known):
                    ids[links.targets[at]] = known.id
        return targets

    def translate_known(
        self, run_id: int, earlier: array[int], links: int, is_news: Callable[[Known], bool]
    ) -> list[int] | None:
        """The ids of these targets, the first `links` of which are links; None if finding one of them again would
        change its row."""
        ids, targets = self._known(run_id, earlier), []
        for at, target in enumerate(earlier):
            now = ids[target] if target < len(ids) else 0
            if not now:
                key = self._others.get((run_id, target))
                known = self._frontier.known(key) if key is not None else None
                if known is None or at >= links or is_news(known):
                    return None
                now = known.id
            targets.append(now)
        if len(self._others) > MOST_OTHERS:
            self._others.clear()
            self._read = {number: bytearray(len(read)) for number, read in self._read.items()}
        return targets

    def _known(self, run_id: int, earlier: Iterable[int]) -> array[int]:
        """The translation of a run, with the blocks of these ids read."""
        ids = self._ids.get(run_id)
        if ids is None:
            most = self._store.highest_id(run_id)
            ids = self._ids[run_id] = array("I", bytes(4 * (most + 1)))
            self._read[run_id] = bytearray(most // BLOCK + 1)
        read = self._read[run_id]
        for block in {target // BLOCK for target in earlier if target < len(ids) and not ids[target]}:
            if not read[block]:
                read[block] = 1
                self._look_up(run_id, ids, block * BLOCK)
        return ids

    def _look_up(self, run_id: int, ids: array[int], first: int) -> None:
        """Read a block of ids: the targets of one page are close together, and close to those of the next."""
        for number, key in self._store.earlier_keys(run_id, first, first + BLOCK - 1):
            known = self._frontier.known(key)
            if _is_followed(known):
                ids[number] = known.id
            else:
                self._others[run_id, number] = key


def _is_followed(known: Known | None) -> TypeGuard[Known]:
    """Whether the URL is queued or visited inside the scope, so that finding it again changes nothing."""
    return known is not None and not known.hops and known.reason is None
