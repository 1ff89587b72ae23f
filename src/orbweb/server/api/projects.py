"""Projects: list, create, show, change, delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NotRequired

from fastapi import APIRouter, Body
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from orbweb.app import ProjectOverview, ProjectStatus
from orbweb.app.ids import ProjectIdentity, checked_name
from orbweb.errors import UsageError
from orbweb.server.api.config import ConfigBody, Configured, store_settings
from orbweb.server.api.fields import STRICT, shape, text_of, to_json
from orbweb.server.api.lists import Listing, listed
from orbweb.server.services import ADMIN, Served, Services

router = APIRouter(tags=["projects"])


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project and its latest run."""

    id: int
    name: str
    bases: tuple[str, ...]
    created_at: str
    running: bool
    held: bool
    run_id: int | None
    run: int | None
    state: str | None
    discovered: int
    visited: int
    failed: int
    queued: int
    pages: int
    alternates: int
    bytes: int
    started_at: str | None
    ended_at: str | None


class Deleted(TypedDict):
    """What was deleted with a project. `freed` bytes are free on the disk now."""

    projectID: int
    project: str
    runs: int
    urls: int
    pages: int
    freed: int


class RenameBody(TypedDict):
    """What is changed of a project: its name."""

    name: NotRequired[str]
    __pydantic_config__ = STRICT  # type: ignore[misc]


def project_row(
    served: Services, project: ProjectIdentity, known: ProjectOverview, run_id: int | None
) -> ProjectRow:
    run = known.latest
    counts = (run.visited, run.failed, run.queued) if run is not None else (0, 0, 0)
    return ProjectRow(
        project.id,
        project.name,
        project.bases,
        project.created_at,
        known.running,
        known.held,
        run_id,
        run.run if run is not None else None,
        run.state if run is not None else None,
        sum(counts) + (sum(run.skipped.values()) if run is not None else 0),
        *counts,
        run.pages if run is not None else 0,
        served.jobs.alternates(project.name, run) if run is not None else 0,
        run.bytes if run is not None else 0,
        run.started_at if run is not None else None,
        run.ended_at if run is not None else None,
    )


def _rows(served: Services, projects: Sequence[ProjectIdentity]) -> list[ProjectRow]:
    known = {each.project: each for each in served.jobs.overviews()}
    ids = {each.id: served.jobs.runs_of(each.id) for each in projects}
    return [
        project_row(served, each, known[each.name], ids[each.id][-1].id if ids[each.id] else None)
        for each in projects
        if each.name in known
    ]


def _row(served: Services, project: ProjectIdentity) -> ProjectRow:
    return _rows(served, [project])[0]


@listed(router, "/projects", ProjectRow, summary="All projects")
def projects(served: Served) -> Listing:
    return Listing(_rows(served, served.jobs.projects()))


@router.post("/projects", summary="Create a project", status_code=201)
def create(
    served: Served,
    body: Annotated[ConfigBody, Body(examples=[{"url": "https://example.org/", "project": "example"}])],
) -> Configured:
    """As `PUT /config`, for a project that does not exist yet."""
    name = text_of(body, "project")
    if name is not None:
        checked_name(name, "project")
    if name is not None and any(each.name == name for each in served.jobs.projects()):
        raise UsageError(f"project {name!r} exists already; change it with PATCH")
    number = store_settings(served, body, name)
    return Configured(projectID=number, project=served.jobs.project(str(number)).name)


@router.get("/projects/{project}", summary="A project", responses={200: {"model": shape(ProjectRow)}})
def get_project(project: str, served: Served) -> Response:
    return JSONResponse(to_json(_row(served, served.jobs.project(project))))


@router.get(
    "/projects/{project}/status",
    summary="The latest run of a project and the crawl at work",
    responses={200: {"model": shape(ProjectStatus)}},
)
def get_status(project: str, served: Served) -> Response:
    """As `orbweb status --json`."""
    return JSONResponse(to_json(served.workspace.status(served.jobs.project(project).name)))


@router.get("/projects/{project}/state", summary="The small state that events have")
def get_state(project: str, served: Served) -> dict[str, object]:
    return served.jobs.state(served.jobs.project(project).name)


@router.patch("/projects/{project}", summary="Rename a project", responses={200: {"model": shape(ProjectRow)}})
def patch_project(
    project: str, served: Served, body: Annotated[RenameBody, Body(examples=[{"name": "docs"}])]
) -> Response:
    """Settings are changed with `PUT /config`, rules with `PATCH /rules/{project}`."""
    found, name = served.jobs.project(project), text_of(body, "name")
    if name is not None:
        served.workspace.rename(found.name, checked_name(name, "name"))
    return JSONResponse(to_json(_row(served, served.jobs.project(str(found.id)))))


@router.delete(
    "/projects/{project}",
    summary="Delete a project with all its data",
    dependencies=[ADMIN],
)
def delete_project(project: str, served: Served) -> Deleted:
    """Its runs, pages, bodies that no other project needs, files and jobs. 409 while a crawl runs. Needs the scope
    admin."""
    found = served.jobs.project(project)
    done = served.workspace.delete(found.name)
    served.jobs.forget_project(found.id)
    return Deleted(
        projectID=found.id,
        project=found.name,
        runs=done.runs,
        urls=done.urls,
        pages=done.pages,
        freed=done.freed,
    )
