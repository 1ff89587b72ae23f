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

METADATA_LINK = Path("metadata", "crawl_metadata.jsonl")
"""A link to the file of the run that was started or resumed last."""
METRICS_ROLES = ("crawler", "scraper")


def label_of(project: str, run_number: int) -> str:
    return f"{project}-{run_number}"


def paths(label: str) -> dict[str, Path]:
    """The paths of the files of a run within a workspace, by name."""
    return {
        "pages": Path("logs", f"pages-{label}.csv"),
        "edges": Path("logs", f"edges-{label}.csv"),
        "metadata": Path("metadata", f"crawl_metadata-{label}.jsonl"),
    }


def metrics_path(role: str, label: str) -> Path:
    """The file of counters of a crawler or a scraper."""
    return Path("logs", f"{role}_metrics-{label}.csv")


def every_path(label: str) -> list[Path]:
    """All files that a run can have, whichever of them exist."""
    return [*paths(label).values(), *(metrics_path(role, label) for role in METRICS_ROLES)]


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """Which files are written, and whether cells are written unescaped."""

    pages: bool = False
    edges: bool = False
    metadata: bool = False
    raw: bool = False


@dataclass(frozen=True, slots=True)
class OutputSubject:
    """The run whose outputs are written. `label` identifies it in file names."""

    db: Queries
    workspace: Path
    project: str
    run_id: int
    run_number: int
    page_type: PageType

    @property
    def label(self) -> str:
        return label_of(self.project, self.run_number)


class OutputFile(NamedTuple):
    """A kind of file: its name, path and header, and the function that derives its lines."""

    name: str
    path: Path
    header: bytes
    derive: Derive


def output_files(subject: OutputSubject, wanted: OutputSettings, visits: VisitPortions) -> list[OutputFile]:
    """The wanted files of a run, not opened yet; their lines are derived from these visits."""
    records = VisitRecords(visits, subject.page_type, subject.workspace / "store")
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

    path = paths(subject.label)
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
    file = AppendFile(subject.workspace / output.path, output.header, cursor)
    if output.name == "metadata":
        lead(subject.workspace / METADATA_LINK, output.path.name)
    return Followed(output.name, file, output.derive)


def lead(link: Path, target: str) -> None:
    """Point the symbolic link to a file in the same folder, atomically."""
    root, folder = link.parent.parent, link.parent.name
    temporary = Path(folder, f".{link.name}.new")
    with writing(link):
        workspace_files.make_directory(root, folder)
        workspace_files.unlink(root, temporary)
        workspace_files.link(root, temporary, target)
        workspace_files.replace(root, temporary, Path(folder, link.name))
