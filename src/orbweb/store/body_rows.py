"""Where bodies lie, and the segments of each project."""

from __future__ import annotations

from orbweb.store import Queries
from orbweb.store.bodies import Location


def location(db: Queries, sha256: bytes) -> Location | None:
    row = db.one("body_location", sha256=sha256)
    return Location(*row) if row else None


def stored(db: Queries) -> tuple[int, int]:
    """How many bodies the workspace has, and their bytes on the disk."""
    number, size = db.all("stored_bodies")[0]
    return number, size


def latest_segment(db: Queries, project_id: int) -> tuple[int, int] | None:
    """The segment that the project wrote last, and its committed end."""
    row = db.one("latest_segment", project_id=project_id)
    return (row[0], row[1]) if row else None


def close_segment(db: Queries, number: int) -> None:
    """The segment is read from, and never written again; inside a transaction."""
    db.run("extend_segment", segment=number, committed=0)


def new_segment(db: Queries, project_id: int) -> int:
    """The number of a new segment, inside a transaction."""
    return int(db.value("add_segment", project_id=project_id))
