"""Jobs: the crawls, exports and extractions that this server runs, its queue of them, and the files of exports."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, NotRequired

from fastapi import APIRouter, Body, Query
from starlette.responses import FileResponse, JSONResponse, Response
from typing_extensions import TypedDict

from orbweb.app.jobs.records import ServerJob
from orbweb.server.api.fields import STRICT, field_name, shape, to_json
from orbweb.server.api.lists import Listing, listed
from orbweb.server.security import CAPTURED
from orbweb.server.services import Served

router = APIRouter(tags=["jobs"])

JOB = {200: {"model": shape(ServerJob)}}


class ExportBody(TypedDict):
    """A format and, by its number, a run."""

    to: Literal["zip", "jsonl", "csv", "report"]
    run: NotRequired[int | None]
    __pydantic_config__ = STRICT  # type: ignore[misc]


class ExtractBody(TypedDict):
    """A run by its number, and whether all of its pages are extracted."""

    run: NotRequired[int | None]
    everything: NotRequired[bool]
    __pydantic_config__ = STRICT  # type: ignore[misc]


def job_view(job: ServerJob) -> ServerJob:
    """A job with the names of the API; without what the operator allows it."""
    request = {name: value for name, value in job.request.items() if name != "private_sites"}
    if "options" in request:
        request["options"] = {field_name(name): value for name, value in request["options"].items()}
    if "headers" in request.get("options", {}):
        request["options"]["headers"] = dict.fromkeys(request["options"]["headers"], "[redacted]")
    result = {field_name(name): value for name, value in job.result.items()} if job.result is not None else None
    return replace(job, request=request, result=result)


def _answer(job: ServerJob, status: int = 200) -> Response:
    return JSONResponse(to_json(job_view(job)), status)


@listed(router, "/jobs", ServerJob, summary="The jobs of this server, the newest first")
def jobs(
    served: Served,
    project: Annotated[str | None, Query(description="A project, by its name or id")] = None,
    after: Annotated[int | None, Query(ge=1, le=2**62, description="`next` of the part before")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Listing:
    found = served.jobs.project(project).id if project is not None else None
    rows = served.jobs.jobs(limit + 1, project_id=found, before=after)
    return Listing([job_view(row) for row in rows[:limit]], str(rows[limit - 1].id) if len(rows) > limit else None)


@router.get("/jobs/{job_id}", summary="A job", responses=JOB)  # type: ignore[arg-type]
def get_job(job_id: int, served: Served) -> Response:
    return _answer(served.jobs.job(job_id))


@router.delete("/jobs/{job_id}", summary="Cancel a job", responses=JOB)  # type: ignore[arg-type]
def cancel_job(job_id: int, served: Served) -> Response:
    """Takes a job out of the queue, or ends an export or extraction at work. 409 if it has ended, or is a crawl
    that has begun: stop that instead."""
    return _answer(served.jobs.cancel(job_id))


@router.post("/projects/{project}/exports", summary="Export a run", status_code=202, responses={202: JOB[200]})
def export(project: str, served: Served, body: Annotated[ExportBody, Body(examples=[{"to": "zip"}])]) -> Response:
    """A job: `done` of `total` pages are written; when it is completed, its file can be downloaded."""
    job = served.jobs.export(served.jobs.project(project).name, body["to"], body.get("run"))
    return _answer(job, 202)


@router.post(
    "/projects/{project}/extract", summary="Extract a run again", status_code=202, responses={202: JOB[200]}
)
def extract(
    project: str, served: Served, body: Annotated[ExtractBody | None, Body(examples=[{}])] = None
) -> Response:
    """A job that reads the stored pages of a run again, without requests: those of another version of the
    extractor, or `everything`. It waits while the project is being crawled; `done` of `total` pages are read."""
    name = served.jobs.project(project).name
    run, everything = (body.get("run"), body.get("everything", False)) if body else (None, False)
    return _answer(served.jobs.extract(name, run, everything=everything), 202)


@router.get("/jobs/{job_id}/file", summary="The file of a completed export", response_class=FileResponse)
def export_file(job_id: int, served: Served) -> Response:
    job = served.jobs.job(job_id)
    path = served.jobs.exported_file(job)
    name = f"{served.jobs.project(str(job.project_id)).name}-run-{job.request['run']}{path.suffix}"
    return FileResponse(
        path, media_type="application/octet-stream", filename=name, headers={"content-security-policy": CAPTURED}
    )
