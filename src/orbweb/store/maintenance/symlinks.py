"""Finds symbolic links and other special files in a workspace, which orbweb never creates there.

Only names that belong to orbweb are inspected, not other files of the user, nor the quarantine. No link is
followed; a repair moves the link itself to `quarantine/`, never its target. The only link that orbweb creates, to
the latest metadata, points to a file in the same folder; a crash may leave it under its temporary name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from orbweb.store import workspace_files
from orbweb.store.maintenance.doctor import LIMITER, Damage
from orbweb.store.workspace_paths import RECORD, locate

QUARANTINE = "quarantine"
FOLDERS = ("locks", "control", "logs", "metadata", "spool", "state", "store", "markdown", "backups", QUARANTINE)
FILES = ("orbweb.yaml", ".orbweb.schema.json", "seeds.txt", "identity", RECORD)
DATABASES = (LIMITER, "search.db")

_OURS = ("crawl_metadata.jsonl", ".crawl_metadata.jsonl.new")


def find(root: Path) -> list[Damage]:
    """Every link, pipe or other special file in place of a file or directory."""
    index = locate(root).index
    databases = (*DATABASES, *([] if index.is_outside else [str(index.name)]))
    files = (*FILES, *(f"{name}{beside}" for name in databases for beside in ("", "-wal", "-shm", "-journal")))
    found = [name for name in map(Path, files) if _is_special(root, name, folder=False)]
    for folder in _folders(root):
        if set(found).isdisjoint(folder.parents):
            found += _specials(root, folder)
    return [_damage(root, name) for name in dict.fromkeys(found)]


def _specials(root: Path, folder: Path) -> list[Path]:
    """The directory itself if it is special, else what is special in it."""
    if _is_special(root, folder, folder=True):
        return [folder]
    if workspace_files.exists(root, folder) and str(folder) != QUARANTINE:
        return list(_within(root, folder))
    return []


def _folders(root: Path) -> list[Path]:
    """The directories of orbweb in the workspace. Each component of a path that settings name is one, so that no
    link above it is followed."""
    paths = locate(root)
    places = (paths.store, *paths.output_directories, paths.spool_directory)
    named = [place.name for place in places if not place.is_outside and place.name.parts]
    parts = [Path(*name.parts[:number]) for name in named for number in range(1, len(name.parts) + 1)]
    return list(dict.fromkeys([*parts, *map(Path, FOLDERS)]))


def _is_special(root: Path, name: Path, *, folder: bool) -> bool:
    state = workspace_files.state(root, name)
    return state is not None and not (stat.S_ISDIR if folder else stat.S_ISREG)(state.st_mode)


def _within(root: Path, folder: Path) -> Iterator[Path]:
    """The special files in a directory, at any depth."""
    for above, folders, files, at in os.fwalk(root / folder, follow_symlinks=False):
        for name in (*folders, *files):
            state = os.lstat(name, dir_fd=at)
            path = Path(above, name).relative_to(root)
            if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)) and not _is_ours(path, name, at):
                yield path


def _is_ours(path: Path, name: str, at: int) -> bool:
    return path.name in _OURS and "/" not in os.readlink(name, dir_fd=at)


def _damage(root: Path, name: Path) -> Damage:
    state = os.lstat(root / name)
    problem = f"it is {workspace_files.kind(state)}"
    if stat.S_ISLNK(state.st_mode):
        problem += f" to {str((root / name).readlink())!r}, and links in a workspace are not followed"
    repair = "moved to quarantine as it is; its target is not touched"
    if _is_database(root, name):
        repair = "replace it with the database itself; nothing can be repaired without it"
    return Damage(str(name), "the file", problem, repair=repair)


def _is_database(root: Path, name: Path) -> bool:
    return root / name == locate(root).index.path


def set_aside(root: Path, found: Sequence[Damage], now: int) -> Path | None:
    """Move the files into a folder of the quarantine and return it. The database stays: everything else needs
    it."""
    names = [Path(damage.file) for damage in found if not _is_database(root, Path(damage.file))]
    if not names:
        return None
    if Path(QUARANTINE) in names:
        workspace_files.unlink(root, QUARANTINE)
    folder = Path(QUARANTINE, str(now))
    workspace_files.make_directory(root, folder)
    for number, name in enumerate(name for name in names if name != Path(QUARANTINE)):
        workspace_files.replace(root, name, folder / f"{number}-{name.name}")
    return root / folder
