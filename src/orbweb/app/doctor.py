"""The verb `doctor`: finds damage in a workspace and repairs it.

Database and bodies come first (see `store.maintenance`). What is derived from them, the spool and the output files
of runs, is checked against a sound database. This process owns every project meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from orbweb.app.callbacks import Count, ignore_count
from orbweb.app.directory import OpenWorkspace, exists, now_us, upgrade_if_older
from orbweb.app.request import stored
from orbweb.app.session import subject
from orbweb.app.settings import page_type
from orbweb.app.trusted_paths import trusted_paths
from orbweb.engine.workers.page import Job, PageProcessor, ProcessorSettings
from orbweb.errors import ConfigError, UsageError, option
from orbweb.export.live import metrics
from orbweb.export.live.catalog import METRICS_ROLES, OutputSettings, lead, led_to, metrics_path
from orbweb.export.live.read_back import journals
from orbweb.export.live.rebuild import rebuild
from orbweb.export.live.verify import Altered, altered
from orbweb.frontier.spool import check as spool_check
from orbweb.frontier.spool.files import SpoolPlace
from orbweb.lifecycle import RunState
from orbweb.model import PackedDocument, ProcessedPage
from orbweb.store import runs, spool_rows
from orbweb.store.lock import OwnerLock
from orbweb.store.maintenance import doctor as store_doctor
from orbweb.store.maintenance import repair as store_repair
from orbweb.store.maintenance import symlinks
from orbweb.store.maintenance.doctor import Damage
from orbweb.store.maintenance.repair import Quarantine, RepairReport
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Project, Run
from orbweb.store.workspace_files import DATABASE
from orbweb.store.workspace_paths import locate
from orbweb.urls import DEFAULT_RULES

LINES_NAMED = 3


class _AlteredFile(NamedTuple):
    """An output file of a run that was altered."""

    project: Project
    run: Run
    file: Altered

    def damage(self, workspace: Path) -> Damage:
        repair = "rebuilt from the database; rows of visits retried since are only in the quarantined copy"
        return Damage(_shown(self.file.path, workspace), "the file", self.file.problem, repair=repair)


def doctor(path: Path, *, repair: bool = False, on_progress: Count = ignore_count) -> Report:
    """Every damage of the workspace at `path`, which need not be sound enough to be opened; or its repair."""
    return check_store(path, repair=repair, on_progress=on_progress, then=partial(_derived, path, repair=repair))


def check_store(
    path: Path,
    *,
    repair: bool = False,
    on_progress: Count = ignore_count,
    then: Callable[[RepairReport], RepairReport] = lambda done: done,
) -> Report:
    """The damage of database and bodies, or its repair. `then` checks derived files while everything is owned."""
    if not exists(path):
        raise UsageError(f"{path} is not an orbweb workspace. Choose one: {option('workspace', 'DIR')}")
    trusted_paths(path)
    strange = tuple(symlinks.find(path))
    aside = symlinks.set_aside(path, strange, now_us()) if repair else None
    if strange and (left := tuple(symlinks.find(path))):
        return _report(path, RepairReport(strange, left, 0, aside))
    upgrade_if_older(path)
    with ExitStack() as owned:
        for name in store_doctor.project_names(path):
            owned.enter_context(OwnerLock(path / "locks", name))
        if repair:
            done = store_repair.repair(path, _extracted, journals(locate(path)), now_us(), on_progress)
        else:
            done = store_repair.unrepaired(store_doctor.examine(path, on_progress))
        done = then(done)
    return _report(path, replace(done, damages=(*strange, *done.damages), quarantine=done.quarantine or aside))


def _report(path: Path, done: RepairReport) -> Report:
    return {
        "workspace": str(path),
        "healthy": not done.left,
        "damages": [damage.report() for damage in done.damages],
        "left": [damage.report() for damage in done.left],
        "lost": [loss.report() for loss in done.lost],
        "forgettable": [damage.report() for damage in done.forgettable],
        "requeued": done.requeued,
        "paused": _paused(path) if done.requeued else [],
        "quarantine": str(done.quarantine) if done.quarantine else None,
        "quarantined": sorted(file.name for file in done.quarantine.iterdir()) if done.quarantine else [],
    }


def _paused(path: Path) -> list[str]:
    """The projects whose latest run can be resumed, after a repair has queued URLs again."""
    with closing(OpenWorkspace(path)) as workspace:
        latest = ((each, runs.latest_run(workspace.db, each.id)) for each in runs.projects(workspace.db))
        return [each.name for each, run in latest if run is not None and run.state is RunState.PAUSED]


def _extracted(url: str, content_type: str | None, body: bytes) -> PackedDocument | None:
    """The document of a stored page; None if it can no longer be extracted."""
    processed = PageProcessor(ProcessorSettings(DEFAULT_RULES, "")).process(Job(0, url, content_type, body))
    return processed.document if isinstance(processed, ProcessedPage) else None


def _derived(path: Path, done: RepairReport, *, repair: bool) -> RepairReport:
    """Check what is derived from the database, unless the database itself is damaged."""
    if any(damage.file == DATABASE for damage in done.left):
        return done
    with closing(OpenWorkspace(path)) as workspace:
        found = left = _damages(workspace)
        spoiled = tuple(_spoiled_counters(workspace))
        if (found or spoiled) and repair:
            ward = Quarantine(path, done.quarantine or path / "quarantine" / str(now_us()))
            ward.note((*found, *spoiled))
            spool_check.correct(workspace.db, _places(workspace), ward, partial(_page_type, workspace))
            for table in _tables(workspace):
                _rebuild(workspace, table, ward)
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


def _damages(workspace: OpenWorkspace) -> tuple[Damage, ...]:
    tables = (table.damage(workspace.path) for table in _tables(workspace))
    return (*spool_check.examine(workspace.db, _places(workspace)), *tables)


def _shown(path: Path, workspace: Path) -> str:
    """A path as damage names it: relative to the workspace, unless it is outside."""
    return str(path).removeprefix(f"{workspace}/")


def _spoiled_counters(workspace: OpenWorkspace) -> Iterator[Damage]:
    """Metrics files with malformed lines. They are not synced, so a power cut tears them. Nothing reads them."""
    paths = workspace.paths
    files = [paths.outputs_at(place) for place in paths.runs.values()]
    named = [each.root / metrics_path(role, each) for each in files for role in METRICS_ROLES]
    for table in metrics.tables(workspace.path, named):
        spoiled = metrics.malformed(table)
        if spoiled:
            first = ", ".join(map(str, spoiled[:LINES_NAMED]))
            where = f"line {first}" if len(spoiled) == 1 else f"{len(spoiled)} lines, from {first}"
            repair = "these lines are removed; a copy of the file is quarantined"
            yield Damage(_shown(table, workspace.path), where, "malformed metrics line", repair=repair)


def _runs(workspace: OpenWorkspace) -> Iterator[tuple[Project, Run]]:
    for project in runs.projects(workspace.db):
        for run in runs.runs_of(workspace.db, project.id):
            yield project, run


def _tables(workspace: OpenWorkspace) -> Iterator[_AlteredFile]:
    for project, run in _runs(workspace):
        for file in altered(workspace.db, run.id, workspace.paths.outputs(project.name, run)):
            yield _AlteredFile(project, run, file)


def _rebuild(workspace: OpenWorkspace, table: _AlteredFile, ward: Quarantine) -> None:
    """Rebuild the file by the settings of its project; it is left if these are no longer valid. The link to the
    latest metadata does not change."""
    try:
        config = stored(table.project)
    except ConfigError:
        return
    outputs = subject(workspace, table.project, table.run, config)
    target = led_to(outputs.files)
    ward.copy(str(table.file.path))
    wanted = OutputSettings(**{table.file.name: True}, raw=config.outputs.raw)
    rebuild(outputs, wanted, None, lambda _done, _all: None)
    if target is not None:
        lead(outputs.files, target, outputs.modes)


def _places(workspace: OpenWorkspace) -> dict[str, SpoolPlace]:
    return {name: workspace.spool_place(name) for name in spool_rows.pipelines(workspace.db)}


def _page_type(workspace: OpenWorkspace, run_id: int) -> Callable[[str], str]:
    """Page types by the settings of the run's project; `page` if these are no longer valid."""
    project = next(project for project, run in _runs(workspace) if run.id == run_id)
    try:
        return page_type(stored(project))
    except ConfigError:
        return lambda _key: "page"
