"""Exports of a project: a job each, with its progress and its file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from orbweb.app.jobs.records import JobKind, JobState, ServerJob
from orbweb.errors import NothingToDo
from orbweb.server.problems import ProblemRaised
from orbweb.server.security import CAPTURED
from orbweb.server.services import Served, Services
from orbweb.server.ui import format as texts
from orbweb.server.ui.frame import project_frame, project_path
from orbweb.server.ui.templating import field_of, now, render
from orbweb.server.ui.toast import Toast, done

router = APIRouter()

LATEST = 100
FORMATS = (
    ("zip", "zip", "Markdown files in folders, as the site has them"),
    ("jsonl", "JSON lines", "one page per line, with its Markdown and metadata"),
    ("csv", "CSV", "one row per page, for a spreadsheet"),
    ("report", "Report", "the run as one HTML file, to read, print or send"),
)
STATES = {
    JobState.QUEUED: "waiting",
    JobState.RUNNING: "in_progress",
    JobState.INTERRUPTED: "interrupted",
    JobState.COMPLETED: "completed",
    JobState.FAILED: "failed",
    JobState.PAUSED: "stopped_early",
    JobState.CANCELLED: "stopped_early",
}


@dataclass(frozen=True, slots=True)
class ExportRow:
    """An export. `share` is how far it is in percent; `file` the path of its file, if there is one."""

    id: int
    format: str
    run: int
    state: str
    done: int
    total: int
    share: int
    started: str
    error: str
    file: str | None
    size: int | None
    active: bool
    cancel: str | None


def export_row(job: ServerJob, path: str, size: int | None, at: datetime) -> ExportRow:
    is_done = job.state is JobState.COMPLETED
    share = 100 if is_done else round(100 * job.done / job.total) if job.total else 0
    return ExportRow(
        id=job.id,
        format=job.request["to"],
        run=job.request["run"],
        state=STATES[job.state],
        done=job.done,
        total=job.total,
        share=share,
        started=texts.when(job.created_at, at),
        error=job.error or ("its file was deleted" if is_done and size is None else ""),
        file=f"{path}/exports/{job.id}/file" if size is not None else None,
        size=size,
        active=job.state in (JobState.QUEUED, JobState.RUNNING),
        cancel=f"{path}/exports/{job.id}/cancel" if job.state is JobState.QUEUED else None,
    )


def _size(served: Services, job: ServerJob) -> int | None:
    try:
        return served.jobs.exported_file(job).stat().st_size
    except (NothingToDo, OSError):
        return None


def _rows(served: Services, project: str) -> list[ExportRow]:
    number = served.jobs.project(project).id
    found = [job for job in served.jobs.jobs(LATEST, project_id=number) if job.kind is JobKind.EXPORT]
    at = now()
    return [export_row(job, project_path(project), _size(served, job), at) for job in found]


@router.get("/p/{project}/exports")
def show(request: Request, served: Served, project: str, to: str = "", run: int | None = None) -> Response:
    frame, outline = project_frame(served, project, "exports")
    rows = _rows(served, project)
    return render(
        request,
        "exports.html",
        frame=frame,
        outline=outline,
        project=project,
        base=project_path(project),
        formats=FORMATS,
        chosen=to if to in {name for name, _, _ in FORMATS} else FORMATS[0][0],
        run=run if run in outline.runs else outline.run,
        rows=rows,
        active=any(row.active for row in rows),
    )


@router.post("/p/{project}/exports")
def start(request: Request, served: Served, project: str) -> Response:
    run = field_of(request, "run")
    job = served.jobs.export(project, field_of(request, "to"), int(run) if run.isdecimal() else None)
    return done(
        f"{project_path(project)}/exports", Toast(f"Run {job.request['run']} is exported as {job.request['to']}")
    )


def _job(served: Services, project: str, number: int) -> ServerJob:
    found = served.jobs.job(number)
    if found.project_id != served.jobs.project(project).id or found.kind is not JobKind.EXPORT:
        raise ProblemRaised(404, "unknown_id", f"project {project!r} has no export with the id {number}")
    return found


@router.post("/p/{project}/exports/{number}/cancel")
def cancel(served: Served, project: str, number: int) -> Response:
    """Take an export out of the queue."""
    job = served.jobs.cancel(_job(served, project, number).id)
    return done(
        f"{project_path(project)}/exports",
        Toast(f"The {job.request['to']} of run {job.request['run']} is cancelled"),
    )


@router.get("/p/{project}/exports/{number}/file")
def download(served: Served, project: str, number: int) -> Response:
    found, known = _job(served, project, number), served.jobs.project(project)
    path = served.jobs.exported_file(found)
    return FileResponse(
        path,
        media_type="application/octet-stream",
        filename=f"{known.name}-run-{found.request['run']}{path.suffix}",
        headers={"content-security-policy": CAPTURED},
    )
