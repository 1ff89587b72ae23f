"""How far a program has consumed the pages of a run, stored in the workspace under a name.

A position names its run by number and start: one of a project that was deleted and crawled again is ignored.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from orbweb.errors import Busy, StoreError, UsageError, option
from orbweb.store import workspace_files
from orbweb.store.lock import OwnerLock
from orbweb.store.runs import Run

SUFFIX = ".cursor"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TEXT = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,18})")
_MOVING = Lock()
"""Threads that acknowledge pages at the same time must not move a cursor back."""


class Position(NamedTuple):
    """The last visit of a run that was consumed. `ended`: the run was completed, and the caller knows it."""

    run: int
    started_at: int
    visit: int
    ended: bool = False

    @classmethod
    def parse(cls, text: str) -> Position:
        found = _TEXT.fullmatch(text)
        if found is None:
            raise UsageError(f"{option('after')}: {text!r} is not the cursor of a page")
        run, started_at, visit = map(int, found.groups())
        return cls(run, started_at, visit)

    def __str__(self) -> str:
        return f"{self.run}.{self.started_at}.{self.visit}"

    def is_in(self, run: Run) -> bool:
        return (self.run, self.started_at) == (run.number, run.started_at)


@dataclass(frozen=True, slots=True)
class NamedCursor:
    """A named cursor of a project."""

    workspace: Path
    project: str
    name: str

    @property
    def _file(self) -> Path:
        return _path(self.project, self.name)

    def own(self) -> OwnerLock:
        """Held by one stream at a time; Busy for a second one."""
        try:
            return OwnerLock(self.workspace / "locks", self.project, f"cursor-{self.name}")
        except Busy:
            raise Busy(f"cursor {self.name!r} of project {self.project!r} is used by another stream") from None

    def read(self) -> Position | None:
        """The stored position; None if there is none."""
        try:
            found = json.loads(workspace_files.read(self.workspace, self._file))
            run, started_at, visit = (int(found[key]) for key in ("run", "started_at", "visit"))
            return Position(run, started_at, visit, bool(found["ended"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{self.workspace / self._file}: is not a cursor ({error}). Delete it: the stream starts again at "
                "the first page."
            ) from error

    def move(self, to: Position) -> None:
        """Store a position, durably; one that is behind the stored position of the same run changes nothing."""
        with _MOVING:
            now = self.read()
            if now is None or now[:2] != to[:2] or now[2:] < to[2:]:
                self._write(to)

    def _write(self, to: Position) -> None:
        try:
            workspace_files.make_directory(self.workspace, "state")
            text = json.dumps(to._asdict()).encode()
            workspace_files.write_whole(self.workspace, self._file, text)
        except OSError as error:
            raise StoreError(f"{self.workspace / self._file}: cannot write: {error.strerror}") from error


def _path(project: str, name: str) -> Path:
    return Path("state", f"{project}.{name}{SUFFIX}")


def names_of(workspace: Path, project: str) -> list[str]:
    """The cursors that are stored for a project. A name has no dot, so that the last one ends the project's."""
    stems = [
        file.removesuffix(SUFFIX) for file in workspace_files.names(workspace, "state") if file.endswith(SUFFIX)
    ]
    return [stem.rpartition(".")[2] for stem in stems if stem.rpartition(".")[0] == project]


def remove_all(workspace: Path, project: str) -> None:
    for name in names_of(workspace, project):
        workspace_files.unlink(workspace, _path(project, name))


def move_all(workspace: Path, project: str, new: str) -> None:
    """Give the cursors of a project to the project with its new name."""
    for name in names_of(workspace, project):
        workspace_files.replace(workspace, _path(project, name), _path(new, name))


def check_name(name: str) -> str:
    """UsageError for a name that cannot be part of a file name."""
    if NAME.fullmatch(name) is None:
        raise UsageError(
            f"{option('cursor')}: {name!r} is not a name; use up to 64 letters, digits, dashes and underscores"
        )
    return name


def cursor_of(workspace: Path, project: str, name: str) -> NamedCursor:
    return NamedCursor(workspace, project, check_name(name))
