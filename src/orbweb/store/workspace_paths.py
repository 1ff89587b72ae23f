"""Where the files of a workspace are: the only place that knows.

Without the file `paths.json` everything has its default place. A crawl whose settings name other paths records
them there, so that every later command and process finds the same. A recorded path inside the workspace is
relative, and no link in it is followed; one outside is absolute. Whoever opens a workspace checks first that its
user has allowed the latter (see `app.paths`).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol

from orbweb.errors import StoreError
from orbweb.store import workspace_files
from orbweb.store.workspace_files import DATABASE

RECORD = "paths.json"

STORE, SPOOL, OUTPUTS, INDEX, BOOKMARK = "store.root", "spool.dir", "outputs.dir", "index.path", "bookmark.path"
NAME = "outputs.name"
PATH_KEYS = (STORE, SPOOL, OUTPUTS, INDEX, BOOKMARK)
"""The settings that are paths."""
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    STORE: (),
    INDEX: (),
    SPOOL: ("{project}",),
    BOOKMARK: ("{project}",),
    OUTPUTS: ("{project}", "{run}", "{run_id}"),
    NAME: ("{project}", "{run}", "{run_id}"),
}
"""What may stand in each of them. Bodies and the database belong to all projects, a spool to all runs of one."""
DEFAULTS: Mapping[str, str] = {
    STORE: "store",
    SPOOL: "spool",
    INDEX: DATABASE,
    BOOKMARK: "state/spool_bookmark.json",
    NAME: "{project}-{run}",
}
_METADATA_LINK = "crawl_metadata.jsonl"


class NumberedRun(Protocol):
    """What of a run is in the names of its files."""

    @property
    def id(self) -> int: ...

    @property
    def number(self) -> int: ...

    @property
    def started_at(self) -> int: ...


class AnchoredPath(NamedTuple):
    """A path in two parts: `root`, which the user named, and `name` below it, in which no link is followed."""

    root: Path
    name: Path
    is_outside: bool = False

    @property
    def path(self) -> Path:
        return self.root / self.name

    @property
    def shown(self) -> str:
        """Relative to the workspace, or absolute if it is outside."""
        return str(self.path if self.is_outside else self.name)

    def at(self, name: str | Path) -> AnchoredPath:
        """A path below this one."""
        return self._replace(name=self.name / name)


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Where the output files of a run are: two directories below `root`, which may be the same, and the label that
    is in each name."""

    root: Path
    logs: Path
    metadata: Path
    label: str

    @property
    def link(self) -> Path:
        """A link to the metadata of the run that was started or resumed last."""
        return self.metadata / _METADATA_LINK

    def below(self, out: Path) -> RunFiles:
        """The same files below another directory, as in a workspace without settings."""
        return RunFiles(out, Path("logs"), Path("metadata"), self.label)


@dataclass(frozen=True, slots=True)
class RunPlace:
    """What was recorded for the output files of a run; `twin` is 2 or more if an earlier run has the same name."""

    project: str
    number: int
    started_at: int
    dir: str | None
    name: str
    twin: int = 1


@dataclass(frozen=True, slots=True)
class WorkspacePaths:
    """The paths of one workspace: those that are recorded, and for the rest the defaults."""

    workspace: Path
    given: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[int, RunPlace] = field(default_factory=dict)

    @property
    def store(self) -> AnchoredPath:
        """The directory of bodies."""
        return self._directory(self._text(STORE))

    @property
    def index(self) -> AnchoredPath:
        """The database."""
        return self._file(self._text(INDEX))

    def spool(self, project: str, *, is_first: bool = True) -> AnchoredPath:
        """The directory of a pipeline's spool. Where the path has no {project}, the first pipeline of a workspace
        has the path itself, and any other a directory of its name in it."""
        text = self._text(SPOOL)
        found = self._directory(text, project)
        return found if is_first or "{" in text else found.at(project)

    def bookmark(self, project: str, *, is_first: bool = True) -> AnchoredPath:
        """The bookmark of a pipeline's scraper; of any but the first in a directory of its name, as the spool."""
        text = self._text(BOOKMARK)
        found = self._file(text, project)
        if is_first or "{" in text:
            return found
        return found._replace(name=found.name.parent / project / found.name.name)

    def outputs(self, project: str, run: NumberedRun) -> RunFiles:
        """The output files of a run. `project` is the name they have, or will have after a rename."""
        place = self.runs.get(run.id, RunPlace(project, run.number, run.started_at, None, DEFAULTS[NAME]))
        return self.outputs_at(replace(place, project=project))

    def outputs_at(self, place: RunPlace) -> RunFiles:
        """The output files of a run as recorded."""
        words = {
            "{project}": place.project,
            "{run}": str(place.number),
            "{run_id}": start_minute(place.started_at),
        }
        label = _filled(place.name, words) + (f"-{place.twin}" if place.twin > 1 else "")
        if place.dir is None:
            return RunFiles(self.workspace, Path("logs"), Path("metadata"), label)
        root, name, _ = self._anchored(place.dir, words)
        return RunFiles(root, name, name, label)

    @property
    def spool_directory(self) -> AnchoredPath:
        """The directory that all spools are in."""
        return self._directory(constant_part(self._text(SPOOL)))

    @property
    def output_directories(self) -> list[AnchoredPath]:
        """Every directory that output files may be in, up to its first placeholder."""
        named = [self.given.get(OUTPUTS), *(place.dir for place in self.runs.values())]
        found = dict.fromkeys(constant_part(text) for text in named if text is not None)
        return [self._directory(text) for text in ("logs", "metadata", *found)]

    @property
    def outside(self) -> Iterator[tuple[str, str]]:
        """Each recorded path that is outside of the workspace, with its setting."""
        recorded = [*self.given.items(), *((OUTPUTS, place.dir or "") for place in self.runs.values())]
        return iter(dict.fromkeys((key, text) for key, text in recorded if text.startswith("/") and key != NAME))

    def _text(self, key: str) -> str:
        return self.given.get(key, DEFAULTS[key])

    def _directory(self, text: str, project: str = "") -> AnchoredPath:
        return self._anchored(text, {"{project}": project})

    def _file(self, text: str, project: str = "") -> AnchoredPath:
        above, _, last = text.rpartition("/")
        words = {"{project}": project}
        return self._anchored(above or ("/" if text.startswith("/") else "."), words).at(_filled(last, words))

    def _anchored(self, text: str, words: Mapping[str, str]) -> AnchoredPath:
        """A path outside is anchored at its part without placeholders: what the user named may have links."""
        if not text.startswith("/"):
            return AnchoredPath(self.workspace, Path(_filled(text, words)))
        fixed = constant_part(text)
        below = _filled(text.removeprefix(fixed).lstrip("/"), words)
        return AnchoredPath(Path(fixed), Path(below), is_outside=True)


def constant_part(text: str) -> str:
    """The directories before the first that has a placeholder."""
    whole = PurePosixPath(text)
    parts = list(whole.parts)
    while any("{" in part for part in parts):
        parts.pop()
    return str(PurePosixPath(*parts)) if parts else "."


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def start_minute(at: int) -> str:
    """`{run_id}`: the UTC minute in which a run started, as in file names: 2025-01-09T15-30Z."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%dT%H-%MZ")


# The record.


def locate(workspace: Path) -> WorkspacePaths:
    """The paths of a workspace, which need not exist."""
    try:
        found = workspace_files.state(workspace, RECORD)
    except (FileNotFoundError, NotADirectoryError):
        found = None
    if found is None:
        return WorkspacePaths(workspace)
    return _read(workspace, (found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=64)
def _read(workspace: Path, _version: tuple[int, int, int]) -> WorkspacePaths:
    try:
        record = json.loads(workspace_files.read(workspace, RECORD))
        given = {str(key): _checked(key, text) for key, text in record["paths"].items()}
        runs = {int(number): _place(each) for number, each in record["runs"].items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"{workspace / RECORD}: not a valid record of paths ({error}). Restore it from a copy, "
            "or delete it if everything is at its default place."
        ) from None
    return WorkspacePaths(workspace, given, runs)


def _checked(key: str, text: Any) -> str:
    found = str(text)
    is_text = isinstance(text, str) and found and found.isprintable()
    if key not in PLACEHOLDERS or not is_text or ".." in PurePosixPath(found).parts:
        raise ValueError(f"{key}: {text!r}")
    return found


def _place(each: Mapping[str, Any]) -> RunPlace:
    folder = None if each["dir"] is None else _checked(OUTPUTS, each["dir"])
    name = _checked(NAME, each["name"])
    if "/" in name or "/" in each["project"]:
        raise ValueError(f"{name!r} of {each['project']!r}")
    return RunPlace(each["project"], int(each["run"]), int(each["started_at"]), folder, name, int(each["twin"]))


def write(paths: WorkspacePaths) -> None:
    """Record the paths, durable. The caller holds `changing`."""
    runs = {
        str(number): {
            "project": place.project,
            "run": place.number,
            "started_at": place.started_at,
            "dir": place.dir,
            "name": place.name,
            "twin": place.twin,
        }
        for number, place in sorted(paths.runs.items())
    }
    text = json.dumps({"paths": dict(sorted(paths.given.items())), "runs": runs}, indent=1, ensure_ascii=False)
    try:
        workspace_files.write_whole(paths.workspace, RECORD, text.encode() + b"\n")
    except OSError as error:
        raise StoreError(f"{paths.workspace / RECORD}: cannot be written: {error.strerror}") from error


@contextmanager
def changing(workspace: Path) -> Iterator[WorkspacePaths]:
    """The paths, while no other process changes them."""
    fd = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield locate(workspace)
    finally:
        os.close(fd)


def assign_outputs(workspace: Path, project: str, run: NumberedRun) -> WorkspacePaths:
    """Record where the output files of a new run will be, if the settings name a place. A name that another run
    has gets a number at its end. A run that was started before stays where it is."""
    known, usual = locate(workspace), WorkspacePaths(workspace)
    if run.id in known.runs or known.given.keys().isdisjoint((OUTPUTS, NAME)):
        return known
    if _is_taken(usual, usual.outputs(project, run)):
        return known
    with changing(workspace) as paths:
        name = paths.given.get(NAME, DEFAULTS[NAME])
        wanted = RunPlace(project, run.number, run.started_at, paths.given.get(OUTPUTS), name)
        while _is_taken(paths, paths.outputs_at(wanted)):
            wanted = replace(wanted, twin=wanted.twin + 1)
        chosen = replace(paths, runs={**paths.runs, run.id: wanted})
        write(chosen)
    return chosen


def _is_taken(paths: WorkspacePaths, files: RunFiles) -> bool:
    """Whether a run has this place, or a directory has output files with this label."""
    if files in map(paths.outputs_at, paths.runs.values()):
        return True
    for folder in {files.logs, files.metadata}:
        ends = (f"-{files.label}.csv", f"-{files.label}.jsonl")
        if any(name.endswith(ends) for name in workspace_files.names(files.root, folder)):
            return True
    return False


def forget_runs(workspace: Path, run_ids: set[int]) -> None:
    """Remove what was recorded for deleted runs."""
    if not run_ids & locate(workspace).runs.keys():
        return
    with changing(workspace) as paths:
        write(replace(paths, runs={number: each for number, each in paths.runs.items() if number not in run_ids}))


def rename_runs(workspace: Path, names: Mapping[str, str]) -> None:
    """Record the new names of projects."""
    if not any(place.project in names for place in locate(workspace).runs.values()):
        return
    with changing(workspace) as paths:
        renamed = {
            number: replace(each, project=names.get(each.project, each.project))
            for number, each in paths.runs.items()
        }
        write(replace(paths, runs=renamed))
