"""The verbs `configure` and `reset`: the settings and seeds that a person edits, and what crawls leave.

`configure` can be repeated: it writes what is missing and leaves what was edited. `reset` deletes only names of
orbweb, never settings and seeds, and nothing while a crawl owns a project. It keeps directories, removes links and
never follows them. The rate limiter stays: a host that was just requested still
has its interval.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from orbweb import __version__
from orbweb.app.consent_store import IDENTITY
from orbweb.app.directory import CONFIG_FILE, SEEDS_FILE, SERVER_DATABASE, OpenWorkspace, create_workspace
from orbweb.app.trusted_paths import trusted_paths
from orbweb.config import template
from orbweb.config.template import SCHEMA_FILE
from orbweb.errors import StoreError, UsageError, option
from orbweb.export.live.catalog import every_path
from orbweb.store import lock, workspace_files, workspace_paths
from orbweb.store.lock import OwnerLock
from orbweb.store.runs import DISCOVERY
from orbweb.store.workspace_files import DATABASE
from orbweb.store.workspace_paths import RECORD, AnchoredPath, WorkspacePaths, locate

Report = dict[str, Any]

_OUTCOMES = ("written", "edited", "unchanged")
"""What became of a file: it was missing or replaced, it differs and was left, or it is as it would be written."""

_FILES_OF = ("-wal", "-shm", "-journal", "")
_ORDERS = tuple(f"{order}{role}" for order in ("pause", "stop") for role in ("", ".crawler", ".scraper"))
_KEPT = ("spool", "store", "logs", "metadata", "state")
"""Directories that are emptied; `spool/discoveries` stays as well."""
_DATA = (*_KEPT, "control", "quarantine", "backups", "exports")
WIPED = (*_DATA, *_ORDERS, *(f"{name}{end}" for name in ("search.db", SERVER_DATABASE) for end in _FILES_OF))
_OWN = {
    *WIPED,
    RECORD,
    "locks",
    *(f"{DATABASE}{end}" for end in _FILES_OF),
    IDENTITY,
    CONFIG_FILE,
    SEEDS_FILE,
    SCHEMA_FILE,
    *(f"limiter.db{end}" for end in _FILES_OF),
}

_SEEDS = """\
# Base URLs, one per line: where crawls of this workspace start.
{urls}
"""
_FIRST = {"github": "https://github.com/topics\nhttps://github.com/trending"}
_EXAMPLE = "# https://example.org/docs/"


def check_outside(path: Path, place: Path) -> None:
    """UsageError if a file written to `place` could overwrite one of the workspace."""
    root, wanted = path.resolve(), place.resolve()
    inside = wanted.relative_to(root).parts[:1] if wanted.is_relative_to(root) else ()
    paths = locate(path)
    named = [each.path.resolve() for each in (paths.store, paths.spool_directory)]
    database = paths.index.path.resolve()
    if (
        not _OWN.isdisjoint(inside)
        or any(wanted.is_relative_to(each) for each in named)
        or wanted in {database.with_name(f"{database.name}{end}") for end in _FILES_OF}
    ):
        raise UsageError(
            f"{option('out')} {place}: the workspace stores its own files there; choose another place"
        )


def folders(paths: WorkspacePaths) -> list[AnchoredPath]:
    """The directories that `configure` makes and `reset` keeps."""
    logs = [place for place in paths.output_directories if place.name.parts]
    state = AnchoredPath(paths.workspace, Path("state"))
    return [*logs, paths.spool_directory, paths.spool_directory.at("discoveries"), state, paths.store]


def configure(path: Path, profile: str, *, force: bool = False) -> Report:
    """Write what is missing of settings, seeds and folders into the workspace, which is created if missing. With
    `force`, settings and seeds are written again."""
    texts = {
        CONFIG_FILE: template.settings_text(profile, __version__),
        SEEDS_FILE: _SEEDS.format(urls=_FIRST.get(profile, _EXAMPLE)),
        SCHEMA_FILE: template.shipped_schema(),
    }
    create_workspace(path).close()
    try:
        made = [place for place in folders(trusted_paths(path)) if _made(place)]
        found = {name: _written(path, name, text, force=force) for name, text in texts.items()}
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot write: {error.strerror}") from error
    outcomes = {how: [str(path / name) for name, each in found.items() if each == how] for how in _OUTCOMES}
    return {
        "workspace": str(path),
        "profile": profile,
        "files": [str(path / name) for name in texts],
        **outcomes,
        "folders": [str(place.path) for place in made],
    }


def _made(place: AnchoredPath) -> bool:
    """Create a directory; whether it was missing."""
    if workspace_files.exists(place.root, place.name):
        workspace_files.names(place.root, place.name)
        return False
    workspace_files.make_directory(place.root, place.name)
    return True


def _written(path: Path, name: str, text: str, *, force: bool) -> str:
    """Write a file unless it is there; what became of it. The schema is not edited, and a link is replaced only
    with `force`."""
    if not os.path.lexists(path / name):
        workspace_files.write_whole(path, name, text.encode())
        return "written"
    is_file = (path / name).is_file() and not (path / name).is_symlink()
    if is_file and (path / name).read_bytes() == text.encode():
        return "unchanged"
    if not force:
        workspace_files.check(path, name, writes=False)
    if not force and name != SCHEMA_FILE:
        return "edited"
    workspace_files.write_whole(path, name, text.encode())
    return "written"


def check(path: Path) -> None:
    """UsageError if the directory is not a workspace."""
    if not any(os.path.lexists(path / name) for name in (DATABASE, CONFIG_FILE, RECORD)):
        raise UsageError(
            f"{path} is not an orbweb workspace; nothing was deleted. Choose one: {option('workspace', 'DIR')}"
        )


def reset(path: Path) -> Report:
    """Delete everything that was crawled; directories stay, empty. Busy while a crawl is running."""
    check(path)
    paths = trusted_paths(path)
    with ExitStack() as owned:
        for file in sorted((path / "locks").glob("*.lock")):
            if file.is_symlink() or (path / "locks").is_symlink():
                raise UsageError(f"{file} is reached through a link; nothing was deleted. Remove the link first.")
            project, _, role = file.name.removesuffix(".lock").rpartition(".")
            owned.enter_context(OwnerLock(path / "locks", project, role))
        wiped = [str(name) for name in WIPED if _wiped(path, Path(name))]
        wiped += [place.shown for place in _named(paths) if _wiped(place.root, place.name)]
        if paths.runs:
            workspace_paths.forget_runs(path, set(paths.runs))
    OpenWorkspace(path, create=True).close()
    return {"workspace": str(path), "wiped": wiped}


def _named(paths: WorkspacePaths) -> Iterator[AnchoredPath]:
    """What lies where settings put it: only names of orbweb, since its directories may have other files."""
    database = paths.index
    for end in _FILES_OF:
        yield database._replace(name=database.name.with_name(f"{database.name.name}{end}"))
    yield from map(paths.store.at, ("segments", "html", "tmp"))
    for name in _pipelines(paths):
        for is_first in (True, False):
            yield from map(paths.spool(name, is_first=is_first).at, ("discoveries", "archive"))
            yield paths.bookmark(name, is_first=is_first)
    for place in paths.runs.values():
        files = paths.outputs_at(place)
        for path in (*every_path(files), files.link):
            yield AnchoredPath(files.root, path, files.root != paths.workspace)


def _pipelines(paths: WorkspacePaths) -> set[str]:
    """The projects that may have a spool, by their lock files: the database may be damaged."""
    return {name.removesuffix(DISCOVERY) for name in lock.names(paths.workspace / "locks")} | {""}


def _wiped(root: Path, name: Path) -> bool:
    """Delete it, or empty it if it is a directory that stays; whether it existed. A link itself is removed."""
    found = workspace_files.state(root, name)
    if found is None:
        return False
    path = root / name
    try:
        if not stat.S_ISDIR(found.st_mode):
            path.unlink()
        elif name.name == "discoveries" or str(name) in _KEPT:
            for child in workspace_files.names(root, name):
                _wiped(root, name / child)
        else:
            shutil.rmtree(path)
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot delete: {error.strerror}") from error
    return True
