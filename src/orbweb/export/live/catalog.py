"""Which files a run has: their names, where they lie in a workspace, and what their lines are made of."""

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
"""Leads to the lines of the run that was begun or resumed last."""


def label_of(project: str, run_number: int) -> str:
    return f"{project}-{run_number}"


def paths(label: str) -> dict[str, Path]:
    """Where the files of a run lie in a workspace, by their names."""
    return {
        "pages": Path("logs", f"pages-{label}.csv"),
        "edges": Path("logs", f"edges-{label}.csv"),
        "metadata": Path("metadata", f"crawl_metadata-{label}.jsonl"),
    }


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """Which files are written, and whether cells are left as they are."""

    pages: bool = False
    edges: bool = False
    metadata: bool = False
    raw: bool = False


@dataclass(frozen=True, slots=True)
class OutputSubject:
    """The run that files tell of. `label` is the part of their names that says which it is."""

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
    """A kind of file: its name, where it lies, its first line, and how its other lines are made."""

    name: str
    path: Path
    header: bytes
    derive: Derive


def forms(subject: OutputSubject, wanted: OutputSettings, visits: VisitPortions) -> list[OutputFile]:
    """The files that are wanted of a run, none of them opened yet; their lines are made of these visits."""
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
    return [form for is_wanted, form in known if is_wanted]


def are_behind(subject: OutputSubject) -> bool:
    """Whether a file that was begun lacks visits that are committed."""
    reached = journal.least_visit(subject.db, subject.run_id)
    return reached is not None and reached < journal.latest(subject.db, subject.run_id)


def opened(subject: OutputSubject, form: OutputFile) -> Followed:
    """The file, repaired and ready to grow."""
    cursor = journal.cursor(subject.db, subject.run_id, form.name)
    tail = AppendFile(subject.workspace / form.path, form.header, cursor)
    if form.name == "metadata":
        lead(subject.workspace / METADATA_LINK, form.path.name)
    return Followed(form.name, tail, form.derive)


def lead(link: Path, target: str) -> None:
    """Let the link lead to the file beside it, at once and for everyone."""
    root, folder = link.parent.parent, link.parent.name
    aside = Path(folder, f".{link.name}.new")
    with writing(link):
        workspace_files.make_directory(root, folder)
        workspace_files.unlink(root, aside)
        workspace_files.link(root, aside, target)
        workspace_files.replace(root, aside, Path(folder, link.name))
