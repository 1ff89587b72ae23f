"""The pages, alternates and bodies of a run without their content, in commit order, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from orbweb.store import Queries


class Outlined(NamedTuple):
    """A page: the id of its URL, its key, and the URL of the response."""

    id: int
    key: str
    url: str


class StoredBody(NamedTuple):
    """A visit with a stored body."""

    url: str
    final_url: str
    role: str
    status: int
    depth: int
    content_type: str | None
    encoding: str | None
    size: int
    captured_at: int
    sha256: bytes
    content_sha256: bytes | None


def pages(db: Queries, run_id: int) -> Iterator[Outlined]:
    """The primaries of a run."""
    return (Outlined(*row) for row in db.each("outline_pages", run_id=run_id))


def alternates(db: Queries, run_id: int) -> Iterator[tuple[int, str, int]]:
    """Id and key of each alternate, and the id of its primary."""
    return ((number, key, primary) for number, key, primary in db.each("outline_alternates", run_id=run_id))


def bodies(db: Queries, run_id: int) -> Iterator[StoredBody]:
    """Every visit of a run with a stored body; a body may occur more than once."""
    return (StoredBody(*row) for row in db.each("outline_bodies", run_id=run_id))


def count_bodies(db: Queries, run_id: int) -> int:
    return int(db.value("count_bodies_of_run", run_id=run_id))
