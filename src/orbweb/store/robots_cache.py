"""robots.txt files of a workspace, shared by its projects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orbweb.store import Queries

STORED_BYTES = 512_000


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """The response of an origin to a request for its robots.txt."""

    origin: str
    fetched_at: int
    status: int
    body: bytes


class StoredRobots:
    """The robots.txt files in the database."""

    def __init__(self, db: Queries) -> None:
        self._db = db

    def load(self, origin: str, since: int) -> RobotsFile | None:
        row = self._db.one("robots_of", origin=origin, since=since)
        return RobotsFile(*row) if row else None

    def save(self, file: RobotsFile) -> None:
        """Replace the stored file of its origin."""
        with self._db.transaction():
            self._db.run(
                "save_robots",
                origin=file.origin,
                fetched_at=file.fetched_at,
                status=file.status,
                body=file.body[:STORED_BYTES],
            )


def adopt(db: Queries, file: RobotsFile) -> bool:
    """Store a file from elsewhere, inside a transaction, unless the workspace has a newer one of its origin."""
    if db.one("robots_of", origin=file.origin, since=file.fetched_at - 1) is not None:
        return False
    db.run("save_robots", origin=file.origin, fetched_at=file.fetched_at, status=file.status, body=file.body)
    return True


def known_to(db: Queries, run_id: int) -> Iterator[RobotsFile]:
    """The files of the origins of a run's URLs."""
    for row in db.each("robots_known_to", run_id=run_id):
        yield RobotsFile(*row)
