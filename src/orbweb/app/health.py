"""The verb `doctor`: what is damaged in a workspace, and its repair.

Database and bodies come first (see `store.doctor`); what is derived from them is held against a database that is
sound. Always holds: every project is owned by this process.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from orbweb import errata
from orbweb.app.request import stored
from orbweb.app.settings import page_type
from orbweb.errors import ConfigError
from orbweb.store import runs
from orbweb.store.doctor import DATABASE
from orbweb.store.repair import Treatment, Ward
from orbweb.store.reports import Report
from orbweb.workspace import Workspace, now_us


def doctor(path: Path, *, mend: bool = False) -> Report:
    """Every damage of the workspace at `path`, or its repair."""
    return Workspace.doctor(path, mend=mend, beyond=partial(_derived, path, mend=mend))


def _derived(path: Path, done: Treatment, *, mend: bool) -> Treatment:
    """What was made of the database, where that can be trusted."""
    if any(damage.file == DATABASE for damage in done.left):
        return done
    with closing(Workspace(path)) as workspace:
        found = left = tuple(errata.examine(workspace.db, path))
        if found and mend:
            ward = Ward(path, done.quarantine or path / "quarantine" / str(now_us()))
            ward.note(found)
            errata.correct(workspace.db, path, ward, partial(_page_type, workspace))
            left = tuple(errata.examine(workspace.db, path))
            done = replace(done, quarantine=ward.path)
    return replace(done, damages=(*done.damages, *found), left=(*done.left, *left))


def _page_type(workspace: Workspace, run_id: int) -> Callable[[str], str]:
    """The types of pages by the settings of the run's project; with settings that are none today, `page`."""
    for project in runs.projects(workspace.db):
        if any(run.id == run_id for run in runs.runs_of(workspace.db, project.id)):
            try:
                return page_type(stored(project))
            except ConfigError:
                break
    return lambda _key: "page"
