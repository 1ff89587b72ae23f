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
from orbweb.store.workspace_files import DATABASE

QUARANTINE = "quarantine"
FOLDERS = ("locks", "control", "logs", "metadata", "spool", "state", "store", "markdown", "backups", QUARANTINE)
FILES = ("orbweb.yaml", "seeds.txt", "identity")
DATABASES = (DATABASE, LIMITER, "search.db")

_OURS = (Path("metadata", "crawl_metadata.jsonl"), Path("metadata", ".crawl_metadata.jsonl.new"))


def find(root: Path) -> list[Damage]:
    """Every link, pipe or other special file in place of a file or directory."""
    files = (*FILES, *(f"{name}{beside}" for name in DATABASES for beside in ("", "-wal", "-shm", "-journal")))
    found = [name for name in map(Path, files) if _is_special(root, name, folder=False)]
    for folder in map(Path, FOLDERS):
        if _is_special(root, folder, folder=True):
            found.append(folder)
        elif workspace_files.exists(root, folder) and str(folder) != QUARANTINE:
            found += _within(root, folder)
    return [_damage(root, name) for name in found]


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
    return path in _OURS and "/" not in os.readlink(name, dir_fd=at)


def _damage(root: Path, name: Path) -> Damage:
    state = os.lstat(root / name)
    problem = f"it is {workspace_files.kind(state)}"
    if stat.S_ISLNK(state.st_mode):
        problem += f" to {str((root / name).readlink())!r}, and links in a workspace are not followed"
    repair = "moved to quarantine as it is; its target is not touched"
    if str(name) == DATABASE:
        repair = "replace it with the database itself; nothing can be repaired without it"
    return Damage(str(name), "the file", problem, repair=repair)


def set_aside(root: Path, found: Sequence[Damage], now: int) -> Path | None:
    """Move the files into a folder of the quarantine and return it. The database stays: everything else needs
    it."""
    names = [Path(damage.file) for damage in found if damage.file != DATABASE]
    if not names:
        return None
    if Path(QUARANTINE) in names:
        workspace_files.unlink(root, QUARANTINE)
    folder = Path(QUARANTINE, str(now))
    workspace_files.make_directory(root, folder)
    for number, name in enumerate(name for name in names if name != Path(QUARANTINE)):
        workspace_files.replace(root, name, folder / f"{number}-{name.name}")
    return root / folder
