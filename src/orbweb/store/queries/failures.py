"""The URLs of a run that failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from orbweb.store import Queries
from orbweb.store.rows import moment

Report = dict[str, Any]


class Failure(NamedTuple):
    """A URL that failed: why, when, and how it was found."""

    url_id: int
    key: str
    url: str
    kind: str
    status: int | None
    reason: str
    tries: int
    at: int
    source: str

    def report(self) -> Report:
        return {
            "url": self.url,
            "kind": self.kind,
            "status": self.status,
            "reason": self.reason,
            "tries": self.tries,
            "at": moment(self.at),
            "source": self.source,
        }


def failures(db: Queries, run_id: int) -> Iterator[Failure]:
    """The failures of a run in the order of commits."""
    return map(Failure._make, db.each("failures", run_id=run_id))
