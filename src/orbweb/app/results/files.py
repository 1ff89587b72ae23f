"""What `write_report`, `replay`, `import_state`, `configure`, `reset`, `delete`, `rename` and `doctor` return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orbweb.app.results.record import Record


@dataclass(frozen=True, slots=True)
class WrittenReport(Record):
    """A report of a run, as a file; `out` is None for a stream."""

    project: str
    run: int
    out: str | None
    pages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RebuiltFile(Record):
    """An output file that was rebuilt, with its number of lines, without the header, and of bytes."""

    name: str
    path: str
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class DamagedBody(Record):
    """A visit whose stored body does not match its hash."""

    url: str
    sha256: str
    problem: str


@dataclass(frozen=True, slots=True)
class UnextractedPage(Record):
    """A page that could not be extracted again."""

    url: str
    problem: str


@dataclass(frozen=True, slots=True)
class ReplayResult(Record):
    """What was rebuilt from stored data; `damaged` is empty unless bodies were verified."""

    project: str
    run: int
    out: str
    visits: int
    pages: int
    files: tuple[RebuiltFile, ...]
    markdown: str
    verified: bool
    damaged: tuple[DamagedBody, ...]
    failed: tuple[UnextractedPage, ...]
    seconds: float
    workspace: str


@dataclass(frozen=True, slots=True)
class ImportResult(Record):
    """What was imported. `missing`: bodies that are named and were not found; `repeated`: lines of known URLs;
    `found`: URLs that only links of imported pages name; `seen`: marks of URLs of which only a hash is known;
    `robots`: robots.txt files. `problems` names what was not understood, with `unnamed_problems` more."""

    project: str
    run: int
    state: str
    visited: int
    failed: int
    queued: int
    skipped: int
    pages: int
    bodies: int
    missing: int
    found: int
    seen: int
    robots: int
    repeated: int
    problems: tuple[str, ...]
    unnamed_problems: int
    workspace: str


@dataclass(frozen=True, slots=True)
class ConfiguredWorkspace(Record):
    """The files to be edited: `written` now, `edited` and therefore left, or `unchanged`; and the `folders` that
    were missing."""

    workspace: str
    profile: str
    files: tuple[str, ...]
    written: tuple[str, ...]
    edited: tuple[str, ...]
    unchanged: tuple[str, ...]
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResetWorkspace(Record):
    """The names in the workspace that were deleted."""

    workspace: str
    wiped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deletion(Record):
    """What will be deleted: `runs`, `urls` and `pages` of these projects, or of one run of them."""

    workspace: str
    project: str
    projects: tuple[str, ...]
    run: int | None
    runs: int
    urls: int
    pages: int


@dataclass(frozen=True, slots=True)
class DeletedProject(Deletion):
    """What was deleted, and how many bytes became free."""

    freed: int


@dataclass(frozen=True, slots=True)
class RenamedProject(Record):
    """The new name of a project, and each renamed project by its old name."""

    workspace: str
    project: str
    renamed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WorkspaceDamage(Record):
    """One problem: `file` in the workspace, `where` in it, the URLs concerned, and what a repair does about it."""

    file: str
    where: str
    problem: str
    urls: tuple[str, ...]
    repair: str


@dataclass(frozen=True, slots=True)
class LostData(Record):
    """What a run lost for good: how many URLs, visits and pages at least, and the URLs that are known."""

    project: str
    run: int | None
    what: str
    urls: int
    visits: int
    pages: int
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DoctorReport(Record):
    """Every damage of a workspace, and what a repair has `left` of it, `lost` and queued again.

    `forgettable` are damages of files that nothing reads; `paused` are the projects that can be resumed after a
    repair; `quarantine` is the directory of the files that were set aside.
    """

    workspace: str
    healthy: bool
    damages: tuple[WorkspaceDamage, ...]
    left: tuple[WorkspaceDamage, ...]
    lost: tuple[LostData, ...]
    forgettable: tuple[WorkspaceDamage, ...]
    requeued: int
    paused: tuple[str, ...]
    quarantine: str | None
    quarantined: tuple[str, ...]
