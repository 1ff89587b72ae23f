"""robots.txt files of a workspace, shared by its projects."""

from __future__ import annotations

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
