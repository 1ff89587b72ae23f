"""The verb `doctor`: what is damaged in a workspace, and its repair.

Queries and bodies come first (see `store.doctor`); what is derived from them is held against a database that is
sound: the spool, and the files that follow a run. Always holds: every project is owned by this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from orbweb.app.control import Workspace, now_us
from orbweb.app.request import stored
from orbweb.app.session import subject
from orbweb.app.settings import page_type
from orbweb.errors import ConfigError
from orbweb.export.live import metrics
from orbweb.export.live.catalog import METADATA_LINK, OutputSettings, label_of, lead
from orbweb.export.live.rebuild import rebuild
from orbweb.export.live.verify import Altered, altered
from orbweb.frontier.spool import check as spool_check
from orbweb.store import runs
from orbweb.store.maintenance.doctor import Damage
from orbweb.store.maintenance.repair import Quarantine, RepairReport
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Project, Run
from orbweb.store.workspace_files import DATABASE

LINES_NAMED = 3


class _AlteredFile(NamedTuple):
    """A file of a run that is not what was written."""

    project: Project
    run: Run
    file: Altered

    def damage(self) -> Damage:
        repair = "made again from the database; rows of visits that were retried since are in the copy alone"
        return Damage(str(self.file.path), "the file", self.file.problem, repair=repair)


def doctor(path: Path, *, mend: bool = False) -> Report:
    """Every damage of the workspace at `path`, or its repair."""
    return Workspace.doctor(path, mend=mend, beyond=partial(_derived, path, mend=mend))


def _derived(path: Path, done: RepairReport, *, mend: bool) -> RepairReport:
    """What was made of the database, where that can be trusted."""
    if any(damage.file == DATABASE for damage in done.left):
        return done
    with closing(Workspace(path)) as workspace:
        found = left = _damages(workspace)
        spoiled = tuple(_spoiled_counters(path))
        if (found or spoiled) and mend:
            ward = Quarantine(path, done.quarantine or path / "quarantine" / str(now_us()))
            ward.note((*found, *spoiled))
            spool_check.correct(workspace.db, path, ward, partial(_page_type, workspace))
            for table in _tables(workspace):
                _make_again(workspace, table, ward)
            for counters in spoiled:
                ward.copy(counters.file)
                metrics.purge(path / counters.file)
            left = _damages(workspace)
            done = replace(done, quarantine=ward.path)
    return replace(
        done,
        damages=(*done.damages, *found),
        left=(*done.left, *left),
        forgettable=(*done.forgettable, *spoiled),
    )


def _damages(workspace: Workspace) -> tuple[Damage, ...]:
    tables = (table.damage() for table in _tables(workspace))
    return (*spool_check.examine(workspace.db, workspace.path), *tables)


def _spoiled_counters(path: Path) -> Iterator[Damage]:
    """Tables of counters with lines that cannot have been written so. They are not synced: a power cut may leave
    them torn; nothing is read from them."""
    for table in metrics.tables(path):
        spoiled = metrics.malformed(path / table)
        if spoiled:
            first = ", ".join(map(str, spoiled[:LINES_NAMED]))
            where = f"line {first}" if len(spoiled) == 1 else f"{len(spoiled)} lines, from {first}"
            repair = "these lines are taken out; a copy of the file is kept"
            yield Damage(str(table), where, "not a line of counters", repair=repair)


def _runs(workspace: Workspace) -> Iterator[tuple[Project, Run]]:
    for project in runs.projects(workspace.db):
        for run in runs.runs_of(workspace.db, project.id):
            yield project, run


def _tables(workspace: Workspace) -> Iterator[_AlteredFile]:
    for project, run in _runs(workspace):
        for file in altered(workspace.db, run.id, label_of(project.name, run.number), workspace.path):
            yield _AlteredFile(project, run, file)


def _make_again(workspace: Workspace, table: _AlteredFile, ward: Quarantine) -> None:
    """The file anew, by the settings of its project; where these are none today it is left. The link to the
    latest metadata stays as it is."""
    try:
        config = stored(table.project)
    except ConfigError:
        return
    link = workspace.path / METADATA_LINK
    target = link.readlink().name if link.is_symlink() else None
    ward.copy(str(table.file.path))
    wanted = OutputSettings(**{table.file.name: True}, raw=config.outputs.raw)
    rebuild(subject(workspace, table.project, table.run, config), wanted, workspace.path, lambda _done, _all: None)
    if target is not None:
        lead(link, target)


def _page_type(workspace: Workspace, run_id: int) -> Callable[[str], str]:
    """The types of pages by the settings of the run's project; with settings that are none today, `page`."""
    project = next(project for project, run in _runs(workspace) if run.id == run_id)
    try:
        return page_type(stored(project))
    except ConfigError:
        return lambda _key: "page"
