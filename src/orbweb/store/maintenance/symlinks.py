"""What in a workspace is a link, or anything else that orbweb never puts there.

Looks at the names that are orbweb's, and at those only: what a person keeps beside them is theirs, and so is what
lies in quarantine. Always: nothing is followed; a repair moves the thing itself into `quarantine/`, never what it
leads to. The one link of our own, to the latest metadata, leads to a file beside it or is none of ours; a
crash may leave it under the name it is made with.
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
    """Each link, pipe or other thing that is in the place of a file or a directory."""
    files = (*FILES, *(f"{name}{beside}" for name in DATABASES for beside in ("", "-wal", "-shm", "-journal")))
    found = [name for name in map(Path, files) if _is_strange(root, name, folder=False)]
    for folder in map(Path, FOLDERS):
        if _is_strange(root, folder, folder=True):
            found.append(folder)
        elif workspace_files.exists(root, folder) and str(folder) != QUARANTINE:
            found += _within(root, folder)
    return [_damage(root, name) for name in found]


def _is_strange(root: Path, name: Path, *, folder: bool) -> bool:
    state = workspace_files.state(root, name)
    return state is not None and not (stat.S_ISDIR if folder else stat.S_ISREG)(state.st_mode)


def _within(root: Path, folder: Path) -> Iterator[Path]:
    """What is strange in a directory, at any depth."""
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
        problem += f" to {str((root / name).readlink())!r}, and no link in a workspace is followed"
    repair = "set aside as it is; what it leads to is not touched"
    if str(name) == DATABASE:
        repair = "put the database itself in its place; nothing can be repaired without it"
    return Damage(str(name), "the file", problem, repair=repair)


def set_aside(root: Path, found: Sequence[Damage], now: int) -> Path | None:
    """Move what was found into a folder of the quarantine; which. The database stays: all else needs it."""
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
