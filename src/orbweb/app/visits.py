"""Committed visits, read from the database for the callback of a crawl."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from orbweb.app.callbacks import VisitWatch
from orbweb.events import Visit
from orbweb.lifecycle import ItemState
from orbweb.model import Role
from orbweb.store import Queries, journal
from orbweb.store.journal import Portion, VisitPortions

PORTION = 256
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class VisitFollower:
    """Calls back for each visit of a run that this crawl commits, once, in order, when it is durable, and never
    while the crawl is on hold."""

    def __init__(self, db: Queries, run_id: int, on_visit: VisitWatch) -> None:
        self._db, self._on_visit = db, on_visit
        self._visits = VisitPortions(db, run_id)
        self._last = journal.latest(db, run_id)
        self._is_held = False

    def hold(self, *, is_held: bool) -> None:
        """Begin or end a hold; what was committed meanwhile is reported when it ends."""
        self._is_held = is_held
        self.follow()

    def follow(self) -> None:
        """Call back for the new visits; do nothing on hold, or during a commit."""
        if self._is_held or self._db.is_writing:
            return
        self._visits.renew()
        while (portion := self._visits.after(self._last, PORTION)) is not None:
            for visit in visits_of(portion):
                self._last = visit.number
                self._on_visit(visit)


def visits_of(portion: Portion) -> Iterator[Visit]:
    for at, number in enumerate(portion.number):
        kind = portion.kind[at]
        yield Visit(
            number=number,
            url=portion.url[at],
            state=ItemState.FAILED.value if kind else ItemState.VISITED.value,
            status=portion.status[at],
            kind=kind,
            error=portion.error[at],
            depth=portion.depth[at],
            source=portion.source[at],
            referrer=portion.referrer[at],
            role=Role(portion.role[at]).value,
            title=portion.title[at],
            content_type=portion.content_type[at],
            final_url=portion.final_url[at] or portion.url[at],
            redirect_to=portion.redirect_to[at],
            bytes=portion.bytes[at],
            latency_ms=portion.latency_ms[at],
            tries=portion.tries[at],
            reused=portion.reuse[at] is not None,
            truncated=bool(portion.truncated[at]),
            at=instant(portion.fetched_at[at]),
        )


def instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
