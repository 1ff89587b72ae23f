"""The output files of a run: their names, their paths in a workspace, and how their lines are derived."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orbweb.export.live import line_format
from orbweb.export.live.file import AppendFile, writing
from orbweb.export.live.follower import Derive, Followed
from orbweb.export.live.rows import COLUMNS, PageType, VisitRecords
from orbweb.store import Queries, journal, workspace_files
from orbweb.store.journal import VisitPortions
from orbweb.store.runs import Run
from orbweb.store.workspace_files import PRIVATE, FileModes
from orbweb.store.workspace_paths import AnchoredPath, RunFiles

METRICS_ROLES = ("crawler", "scraper")


def paths(files: RunFiles) -> dict[str, Path]:
    """The paths of the files of a run below their root, by name."""
    return {
        "pages": files.logs / f"pages-{files.label}.csv",
        "edges": files.logs / f"edges-{files.label}.csv",
        "metadata": files.metadata / f"crawl_metadata-{files.label}.jsonl",
    }


def metrics_path(role: str, files: RunFiles) -> Path:
    """The file of counters of a crawler or a scraper."""
    return files.logs / f"{role}_metrics-{files.label}.csv"


def every_path(files: RunFiles) -> list[Path]:
    """All files that a run can have, whichever of them exist."""
    return [*paths(files).values(), *(metrics_path(role, files) for role in METRICS_ROLES)]


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """Which files are written, and whether cells are written unescaped."""

    pages: bool = False
    edges: bool = False
    metadata: bool = False
    raw: bool = False


@dataclass(frozen=True, slots=True)
class OutputSubject:
    """The run whose outputs are written: where its files are and with which permissions, and the directory of its
    bodies."""

    db: Queries
    run: Run
    project: str
    page_type: PageType
    files: RunFiles
    store: AnchoredPath
    modes: FileModes = PRIVATE

    @property
    def run_id(self) -> int:
        return self.run.id


class OutputFile(NamedTuple):
    """A kind of file: its name, path and header, and the function that derives its lines."""

    name: str
    path: Path
    header: bytes
    derive: Derive


def output_files(subject: OutputSubject, wanted: OutputSettings, visits: VisitPortions) -> list[OutputFile]:
    """The wanted files of a run, not opened yet; their lines are derived from these visits."""
    records = VisitRecords(visits, subject.page_type, subject.store)
    links = journal.LinkPortions(subject.db, subject.run_id, line_format.cell)

    def pages(after: int, count: int) -> tuple[bytes, int]:
        found = records.after(after, count)
        return (line_format.pages(found, raw=wanted.raw), found.last) if found else (b"", after)

    def metadata(after: int, count: int) -> tuple[bytes, int]:
        found = records.after(after, count)
        return (line_format.metadata(found), found.last) if found else (b"", after)

    def edges(after: int, count: int) -> tuple[bytes, int]:
        found = links.after(after, count)
        return line_format.edges(found.sources, found.counts, found.targets), found.last

    path = paths(subject.files)
    known = [
        (wanted.pages, OutputFile("pages", path["pages"], line_format.header(COLUMNS), pages)),
        (wanted.edges, OutputFile("edges", path["edges"], line_format.header(line_format.EDGES), edges)),
        (wanted.metadata, OutputFile("metadata", path["metadata"], b"", metadata)),
    ]
    return [file for is_wanted, file in known if is_wanted]


def are_behind(subject: OutputSubject) -> bool:
    """Whether a file that was started lacks committed visits."""
    reached = journal.least_visit(subject.db, subject.run_id)
    return reached is not None and reached < journal.latest(subject.db, subject.run_id)


def open_output(subject: OutputSubject, output: OutputFile) -> Followed:
    """The file, repaired and open for appending."""
    cursor = journal.cursor(subject.db, subject.run_id, output.name)
    file = AppendFile(AnchoredPath(subject.files.root, output.path), output.header, cursor, subject.modes)
    if output.name == "metadata":
        lead(subject.files, output.path.name, subject.modes)
    return Followed(output.name, file, output.derive)


def lead(files: RunFiles, target: str, modes: FileModes = PRIVATE) -> None:
    """Point the link to the latest metadata to a file in the same folder, atomically."""
    root, link = files.root, files.link
    temporary = link.with_name(f".{link.name}.new")
    with writing(root / link):
        workspace_files.make_directory(root, link.parent, modes.folder)
        workspace_files.unlink(root, temporary)
        workspace_files.link(root, temporary, target)
        workspace_files.replace(root, temporary, link)


def led_to(files: RunFiles) -> str | None:
    """The file that the link to the latest metadata names."""
    link = files.root / files.link
    return link.readlink().name if link.is_symlink() else None
