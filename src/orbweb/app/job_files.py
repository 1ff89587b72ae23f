"""What jobs leave in a workspace, and how it goes with a project that is deleted."""

from __future__ import annotations

import json
from pathlib import Path

from orbweb.app.directory import SERVER_DATABASE, OpenWorkspace
from orbweb.store import workspace_files
from orbweb.store.server_rows import ServerStore

EXPORTS = "exports"
REPORT = "report"
EXTENSIONS = {"zip": "zip", "jsonl": "jsonl", "csv": "csv", REPORT: "html"}
"""The formats of exports that are one file, which can be downloaded."""
LOGS = "logs/jobs"
EXPORT = "export"
"""The kind of job that has a file."""
_ALL = 1_000_000


def export_name(number: int, to: str) -> str:
    """The file of an export, within the workspace."""
    return f"{EXPORTS}/{number}.{EXTENSIONS[to]}"


def log_name(number: int) -> str:
    """The file with the output of a job, within the workspace."""
    return f"{LOGS}/{number}.log"


def forget_project(path: Path, store: ServerStore, project_id: int) -> None:
    """Delete the jobs of a project with their files, its events, and what was seen of it."""
    for job in store.latest_jobs(_ALL, project_id=project_id):
        if job.kind == EXPORT:
            workspace_files.unlink(path, export_name(job.id, json.loads(job.request)["to"]))
        workspace_files.unlink(path, log_name(job.id))
    store.forget_project(project_id)


def forget_projects(workspace: OpenWorkspace, project_ids: list[int]) -> None:
    """As `forget_project`, in a workspace that perhaps no server has ever served."""
    if not workspace_files.exists(workspace.path, SERVER_DATABASE):
        return
    store = workspace.server_store()
    try:
        for number in project_ids:
            forget_project(workspace.path, store, number)
    finally:
        store.close()
