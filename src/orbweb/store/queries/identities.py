"""Projects, runs and crawls by the ids of their rows, by which clients of the server name them."""

from __future__ import annotations

from typing import NamedTuple

from orbweb.errors import UnknownId
from orbweb.store import Queries
from orbweb.store.runs import Project, project_of

LARGEST = 2**63 - 1


class RunIdentity(NamedTuple):
    """A run: its id, its number within the project, and the project."""

    id: int
    number: int
    project_id: int
    project: str


class CrawlIdentity(NamedTuple):
    """A crawl: its id, its number within the run, the run and the project."""

    id: int
    number: int
    run_id: int
    run: int
    project_id: int
    project: str


def project_by_id(db: Queries, number: int) -> Project | None:
    row = db.one("project_by_id", id=number) if 0 <= number <= LARGEST else None
    return project_of(row) if row else None


def run_by_id(db: Queries, number: int) -> RunIdentity:
    row = db.one("run_by_id", id=number) if 0 <= number <= LARGEST else None
    if row is None:
        raise UnknownId(f"there is no run with the id {number}")
    return RunIdentity(*row)


def crawl_by_id(db: Queries, number: int) -> CrawlIdentity:
    row = db.one("crawl_by_id", id=number) if 0 <= number <= LARGEST else None
    if row is None:
        raise UnknownId(f"there is no crawl with the id {number}")
    return CrawlIdentity(*row)


def last_crawl(db: Queries) -> int:
    """The largest id of a crawl; 0 if there is none."""
    return int(db.value("last_crawl"))


def crawls_after(db: Queries, project_id: int, crawl_id: int) -> list[tuple[int, int]]:
    """The crawls of a project with larger ids, each as (id, run id)."""
    return [(row[0], row[1]) for row in db.all("crawls_after", project_id=project_id, id=crawl_id)]


class Standing(NamedTuple):
    """How the latest run of a project stands."""

    project_id: int
    run_id: int | None
    state: str | None
    crawl_id: int | None


def standings(db: Queries) -> list[Standing]:
    """How the latest run of each project stands."""
    return [Standing(*row) for row in db.all("standings")]


def projects_at_work(db: Queries) -> list[int]:
    """The projects with a crawl that has not ended, or was killed."""
    return [row[0] for row in db.all("projects_at_work")]


def data_version(db: Queries) -> int:
    """A number that is another one when another connection has written."""
    return int(db.value("data_version"))
