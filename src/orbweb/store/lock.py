"""One owner per project and role.

The lock is the kernel's (`flock`): it belongs to an open file and ends with its process, so a crash never leaves
it behind. The file contains the process id of the owner, for messages only. Worker processes do not inherit it.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from orbweb.errors import Busy, StoreError, call
from orbweb.store import workspace_files

PROBES = 10
PROBE_S = 0.02


def _acquire(fd: int) -> bool:
    """Retries: a report that checks for an owner holds the lock for an instant."""
    for probe in range(PROBES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PROBE_S if probe < PROBES - 1 else 0)
        else:
            return True
    return False


class OwnerLock:
    """Held while this object is open."""

    def __init__(self, directory: Path, project: str, role: str = "crawl") -> None:
        path = directory / f"{project}.{role}.lock"
        while True:
            try:
                workspace_files.make_directory(directory.parent, directory.name)
                self._fd = workspace_files.open_file(*_place(directory, project, role), os.O_RDWR | os.O_CREAT)
            except OSError as error:
                raise StoreError(
                    f"{path}: cannot be opened: {error.strerror}. The command has to write it."
                ) from error
            try:
                self._own(path, project)
            except BaseException:
                os.close(self._fd)
                raise
            if self._is_current(*_place(directory, project, role)):
                return
            os.close(self._fd)

    def _is_current(self, root: Path, name: Path) -> bool:
        """Whether the file still has its name: the former owner may have removed it with its project."""
        found = workspace_files.state(root, name)
        return found is not None and os.path.samestat(found, os.fstat(self._fd))

    def _own(self, path: Path, project: str) -> None:
        try:
            if not _acquire(self._fd):
                raise Busy(
                    f"project {project!r} is being crawled by process {self._holder()}. "
                    f"Wait for it, or stop it with {call('stop', project)}."
                )
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, str(os.getpid()).encode(), 0)
        except OSError as error:
            raise StoreError(f"{path}: cannot be locked: {error.strerror}") from error

    def _holder(self) -> str:
        return os.pread(self._fd, 32, 0).decode(errors="replace") or "unknown"

    def __enter__(self) -> OwnerLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)


def _place(directory: Path, project: str, role: str) -> tuple[Path, Path]:
    """The workspace, and the lock file in it."""
    return directory.parent, Path(directory.name, f"{project}.{role}.lock")


def names(directory: Path, role: str = "crawl") -> list[str]:
    """The projects that have a lock file, owned or not."""
    end = f".{role}.lock"
    found = workspace_files.names(directory.parent, directory.name)
    return sorted(name.removesuffix(end) for name in found if name.endswith(end))


def remove(directory: Path, project: str, role: str = "crawl") -> None:
    """Remove the lock file of a project that this process owns and that is gone."""
    workspace_files.unlink(*_place(directory, project, role))


def owner_pid(directory: Path, project: str, role: str = "crawl") -> int | None:
    """The process that owns the project now, if any; 0 if its id cannot be read. Creates no file, and needs no
    permission to write: an account that may not even read the lock cannot tell."""
    try:
        fd = workspace_files.open_file(*_place(directory, project, role), os.O_RDONLY)
    except (FileNotFoundError, PermissionError):
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(fd, 32, 0)
        return int(text) if text.isdigit() else 0
    finally:
        os.close(fd)
    return None
