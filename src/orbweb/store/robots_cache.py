"""The workspace's memory of robots.txt files, shared by its projects."""

from __future__ import annotations

from dataclasses import dataclass

from orbweb.store.sqlite.db import Database

KEPT_BYTES = 512_000


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """What an origin answered when it was asked for its robots.txt."""

    origin: str
    fetched_at: int
    status: int
    body: bytes


def load(db: Database, origin: str, since: int) -> RobotsFile | None:
    """The file, if it was fetched after `since`."""
    row = db.one("robots_of", origin=origin, since=since)
    return RobotsFile(*row) if row else None


def save(db: Database, file: RobotsFile) -> None:
    """Keep the newest answer of an origin."""
    with db.transaction():
        db.run(
            "save_robots",
            origin=file.origin,
            fetched_at=file.fetched_at,
            status=file.status,
            body=file.body[:KEPT_BYTES],
        )
