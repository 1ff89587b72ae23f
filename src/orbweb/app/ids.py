"""Projects, runs and crawls by their ids: integers that are unique in the workspace. A project's name works
too."""

from __future__ import annotations

from dataclasses import dataclass

from orbweb.app.directory import OpenWorkspace
from orbweb.errors import UnknownProject, UsageError, option
from orbweb.store import runs
from orbweb.store.queries import identities
from orbweb.store.queries.identities import CrawlIdentity, RunIdentity
from orbweb.store.rows import moment
from orbweb.store.runs import Project

__all__ = [
    "CrawlIdentity",
    "ProjectIdentity",
    "RunIdentity",
    "checked_name",
    "crawl",
    "project",
    "projects",
    "run",
    "runs_of",
]


@dataclass(frozen=True, slots=True)
class ProjectIdentity:
    """A project: its id and name, its base URLs and when it was created."""

    id: int
    name: str
    bases: tuple[str, ...]
    created_at: str


@dataclass(frozen=True, slots=True)
class RunCrawls:
    """The id of a run and of its crawls, which are numbered from 1 on."""

    id: int
    number: int
    crawls: tuple[int, ...]


def _identity(found: Project) -> ProjectIdentity:
    return ProjectIdentity(found.id, found.name, found.bases, moment(found.created_at) or "")


def project(workspace: OpenWorkspace, word: str) -> ProjectIdentity:
    """The project with this id or name; UnknownProject if there is none."""
    by_id = identities.project_by_id(workspace.db, int(word)) if _is_number(word) else None
    found = by_id or runs.find_project(workspace.db, word)
    if found is None:
        raise UnknownProject(f"no project {word!r}")
    return _identity(found)


def checked_name(name: str, given: str) -> str:
    """A name that a client gives a project as `given`; UsageError if it could be taken for an id."""
    if _is_number(name):
        raise UsageError(f"{option(given)}: a name of digits alone could be taken for an id; choose another")
    return name


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 20


def projects(workspace: OpenWorkspace) -> list[ProjectIdentity]:
    return [_identity(found) for found in runs.projects(workspace.db)]


def run(workspace: OpenWorkspace, number: int) -> RunIdentity:
    return identities.run_by_id(workspace.db, number)


def crawl(workspace: OpenWorkspace, number: int) -> CrawlIdentity:
    return identities.crawl_by_id(workspace.db, number)


def runs_of(workspace: OpenWorkspace, project_id: int) -> list[RunCrawls]:
    """The runs of a project, the oldest first."""
    return [
        RunCrawls(each.id, each.number, tuple(crawl.id for crawl in runs.crawls_of(workspace.db, each.id)))
        for each in runs.runs_of(workspace.db, project_id)
    ]
