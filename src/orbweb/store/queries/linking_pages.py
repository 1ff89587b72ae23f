"""Which pages link to given URLs. There is no table for this: the packed links of the run are read once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from orbweb.errors import StoreError, call
from orbweb.store import Queries
from orbweb.store.links import edges


class LinkingPage(NamedTuple):
    """A URL that links or redirects to another one, and where its body is; no hash if none is stored."""

    url: str
    final_url: str | None
    content_type: str | None
    body_sha256: bytes | None

    @property
    def base(self) -> str:
        """The URL that its links are relative to."""
        return self.final_url or self.url


@dataclass(slots=True)
class Referrers:
    """The ids of the first URLs that lead to one URL, and how many there are in all."""

    ids: list[int] = field(default_factory=list)
    total: int = 0


def referrers(db: Queries, run_id: int, targets: Collection[int], most: int) -> dict[int, Referrers]:
    """What leads to each of these URLs, in the order of finding; at most `most` of each are named."""
    wanted, found = frozenset(targets), {target: Referrers() for target in targets}
    for url_id, target in _links_to(db, run_id, wanted) if wanted else ():
        referrer = found[target]
        referrer.total += 1
        if len(referrer.ids) < most:
            referrer.ids.append(url_id)
    return found


def _links_to(db: Queries, run_id: int, wanted: frozenset[int]) -> Iterator[tuple[int, int]]:
    for url_id, packed in db.each("graph_records", run_id=run_id):
        ids, _ = edges(packed)
        yield from ((url_id, target) for target in sorted(wanted.intersection(ids)))


def linking_page(db: Queries, run_id: int, url_id: int) -> LinkingPage:
    row = db.one("linking_page", run_id=run_id, id=url_id)
    if row is None:
        raise StoreError(f"run {run_id}: URL {url_id} has links, but is missing; run {call('doctor')}")
    return LinkingPage(*row)
