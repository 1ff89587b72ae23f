"""The verbs `delete` and `rename`: a project, or one run of it, is removed or gets another name.

Discovery and scraper of a pipeline are one: both are deleted or renamed, run N with run N. Derived files go
first, because a missing one is not damage, then the rows in one transaction, then what nothing refers to any more.
The lock file of a deleted project goes last: while it is there, the same command finishes a deletion that was
killed.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from orbweb.app import cursors
from orbweb.app.directory import OpenWorkspace
from orbweb.app.job_files import forget_projects
from orbweb.errors import NothingToDo, StoreError, UsageError
from orbweb.export.live.catalog import every_path, lead, led_to
from orbweb.failpoints import failpoint
from orbweb.frontier import seeds
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import SpoolPlace
from orbweb.store import lock, runs, spool_rows, workspace_files, workspace_paths
from orbweb.store.maintenance.delete import Doomed
from orbweb.store.maintenance.delete import delete as delete_rows
from orbweb.store.queries import reports
from orbweb.store.queries.reports import Report
from orbweb.store.runs import DISCOVERY, Project, Run
from orbweb.store.workspace_paths import RunFiles

Confirm = Callable[[Report], None]


@dataclass(frozen=True, slots=True)
class _Target:
    """What is deleted: these projects, or only these runs of them. `names` exist without a row after a kill."""

    stem: str
    place: SpoolPlace
    names: tuple[str, ...]
    projects: tuple[Project, ...]
    runs: tuple[tuple[Project, Run], ...]
    number: int | None


def delete(workspace: OpenWorkspace, name: str, number: int | None, confirm: Confirm) -> Report:
    """Delete a project, or one run of it. `confirm` is called with what will be deleted, before anything is."""
    with _all_owned(workspace):
        report = _report(workspace, name, _target(workspace, name, number))
    confirm(report)
    with _all_owned(workspace) as owned:
        target = _target(workspace, name, number)
        freed = _remove_outputs(workspace, target)
        spooled = _archive_spool(workspace, target)
        failpoint("delete_prepared")
        run_ids = [run.id for _, run in target.runs]
        project_ids = [] if target.number is not None else [project.id for project in target.projects]
        freed += delete_rows(workspace.path, Doomed(run_ids, project_ids, owned))
        freed += sum(_removed(*path) for path in spooled)
        workspace_paths.forget_runs(workspace.path, set(run_ids))
        if target.number is None:
            spool_files.remove_own_place(workspace.path, target.stem)
            forget_projects(workspace, project_ids)
            _remove_names(workspace, target.names)
    return {**report, "freed": freed}


@contextmanager
def _all_owned(workspace: OpenWorkspace) -> Iterator[frozenset[str]]:
    """The names of all projects, each owned by this process; Busy while one is crawled."""
    names = {project.name for project in runs.projects(workspace.db)} | set(lock.names(workspace.path / "locks"))
    with ExitStack() as owned:
        for name in sorted(names):
            owned.enter_context(workspace.own(name))
        yield frozenset(names)


def _pair(name: str) -> tuple[str, str]:
    """A project and its discovery, whichever of them is named."""
    stem = name.removesuffix(DISCOVERY)
    return stem, stem + DISCOVERY


def _target(workspace: OpenWorkspace, name: str, number: int | None) -> _Target:
    """What to delete; UnknownProject if nothing is left of it, NothingToDo if it has no such run."""
    found = [each for each in (runs.find_project(workspace.db, part) for part in _pair(name)) if each is not None]
    left = [part for part in _pair(name) if part in lock.names(workspace.path / "locks")]
    if not found and (number is not None or not left):
        raise runs.unknown(workspace.db, name)
    every = [(project, run) for project in found for run in runs.runs_of(workspace.db, project.id)]
    chosen = [(project, run) for project, run in every if number in (None, run.number)]
    if number is not None and not chosen:
        numbers = ", ".join(map(str, sorted({run.number for _, run in every}))) or "none"
        raise NothingToDo(f"project {name!r} has no run {number} (runs: {numbers})")
    names = tuple(dict.fromkeys((*(project.name for project in found), *left)))
    stem = _pair(name)[0]
    return _Target(stem, workspace.spool_place(stem), names, tuple(found), tuple(chosen), number)


def _report(workspace: OpenWorkspace, name: str, target: _Target) -> Report:
    counts = [reports.counts(workspace.db, run.id) for _, run in target.runs]
    return {
        "workspace": str(workspace.path),
        "project": name,
        "projects": list(target.names),
        "run": target.number,
        "runs": len(target.runs),
        "urls": sum(each["discovered"] for each in counts),
        "pages": sum(each["pages"] for each in counts),
    }


def _remove_outputs(workspace: OpenWorkspace, target: _Target) -> int:
    """Remove the output files of the runs; the bytes removed."""
    return sum(_remove_files(workspace.paths.outputs(project.name, run)) for project, run in target.runs)


def _remove_files(files: RunFiles) -> int:
    gone = every_path(files)
    if led_to(files) in {path.name for path in gone}:
        workspace_files.unlink(files.root, files.link)
    return sum(_removed(files.root, path) for path in gone)


def _removed(root: Path, path: Path) -> int:
    found = workspace_files.state(root, path)
    workspace_files.unlink(root, path)
    return 0 if found is None else found.st_size


def _archive_spool(workspace: OpenWorkspace, target: _Target) -> list[tuple[Path, Path]]:
    """Put the spool files of the runs where no scraper reads them, and forget a bookmark in one of them; their
    paths. They can be removed once no row names them."""
    place, archive = target.place, target.place.archive
    ids = {run.id for _, run in target.runs}
    gone = [file.name for file in spool_rows.files(workspace.db) if file.run_id in ids]
    try:
        mark = spool_files.read_bookmark(place)
    except StoreError:
        mark = None
    is_of_others = workspace.is_scraped(target.stem) and workspace.discovery_of(target.stem) is None
    if mark is not None and (mark.file in gone or is_of_others):
        workspace_files.unlink(place.workspace, place.bookmark)
    if archive is None:
        return []
    for name in gone:
        if workspace_files.exists(place.root, place.discoveries / name):
            workspace_files.make_directory(place.root, archive)
            workspace_files.replace(place.root, place.discoveries / name, archive / name)
    return [(place.root, archive / name) for name in gone]


def _remove_names(workspace: OpenWorkspace, names: Sequence[str]) -> None:
    """Remove the control files, cursors and lock files of projects that are gone."""
    for name in names:
        for command in workspace_files.names(workspace.path, "control"):
            if command.rpartition(".")[0] == name:
                workspace_files.unlink(workspace.path, Path("control", command))
        cursors.remove_all(workspace.path, name)
        lock.remove(workspace.path / "locks", name)


# Renaming.


def rename(workspace: OpenWorkspace, name: str, new: str) -> Report:
    """Give a project another name, and its discovery with it. Busy while one of them is crawled."""
    old = runs.project(workspace.db, name).name.removesuffix(DISCOVERY)
    wanted = _checked(new)
    pairs = [
        (part, renamed)
        for part, renamed in zip(_pair(old), _pair(wanted), strict=True)
        if runs.find_project(workspace.db, part) is not None
    ]
    with ExitStack() as owned:
        for part in sorted({part for pair in pairs for part in pair}):
            owned.enter_context(workspace.own(part))
        _check_free(workspace, wanted)
        for part, renamed in pairs:
            _move_outputs(workspace, runs.project(workspace.db, part), renamed)
            cursors.move_all(workspace.path, part, renamed)
        if workspace.is_scraped(old):
            is_first = workspace.is_first_pipeline(old)
            spool_files.move_place(
                *(spool_files.place_of(workspace.path, each, is_first=is_first) for each in (old, wanted))
            )
        runs.rename(workspace.db, pairs)
        failpoint("rename_committed")
        workspace_paths.rename_runs(workspace.path, dict(pairs))
        _remove_names(workspace, [part for part, _ in pairs])
    return {"workspace": str(workspace.path), "project": wanted, "renamed": dict(pairs)}


def _checked(new: str) -> str:
    """The new name, which must not be that of a discovery."""
    if new.endswith(DISCOVERY):
        raise UsageError(
            f"{new!r} would be the name of a discovery; choose one that does not end with {DISCOVERY}"
        )
    return seeds.check_project_name(new, "NAME")


def _check_free(workspace: OpenWorkspace, new: str) -> None:
    taken = [part for part in _pair(new) if runs.find_project(workspace.db, part) is not None]
    if taken:
        raise UsageError(f"there is a project {taken[0]!r} already; choose another name")


def _move_outputs(workspace: OpenWorkspace, project: Project, new: str) -> None:
    """Rename the output files of a project; those that a killed rename has moved already are left."""
    for run in runs.runs_of(workspace.db, project.id):
        old, renamed = (workspace.paths.outputs(name, run) for name in (project.name, new))
        for old_path, new_path in zip(every_path(old), every_path(renamed), strict=True):
            if old_path == new_path or not workspace_files.exists(old.root, old_path):
                continue
            is_latest = led_to(old) == old_path.name
            _move(old.root, old_path, new_path)
            if is_latest:
                lead(renamed, new_path.name)
            failpoint("rename_moved")


def _move(root: Path, old: Path, new: Path) -> None:
    """Rename a file; its new directory gets the permissions of the old one."""
    mode = stat.S_IMODE((root / old.parent).stat().st_mode)
    workspace_files.make_directory(root, new.parent, mode)
    workspace_files.replace(root, old, new)
