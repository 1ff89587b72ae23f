"""A run becomes files for other tools: the `Exporter` protocol, and one exporter per format module.

Exports read the pages of a run from the store, in one order, one at a time, and change nothing in the workspace.
No file is ever partly written under its name; an interrupted export is completed by repeating it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from orbweb.errors import UsageError, option
from orbweb.export.atomic_file import Out
from orbweb.export.bodies import FilesExporter
from orbweb.export.csv import CsvExporter
from orbweb.export.folder import FileTally
from orbweb.export.jsonl import JsonlExporter
from orbweb.export.llms import LlmsExporter
from orbweb.export.markdown import MarkdownExporter
from orbweb.export.source import ExportSource, Watch
from orbweb.export.state.dump import StateExporter
from orbweb.export.zip import ZipExporter

__all__ = ["EXPORTERS", "ExportSource", "Exported", "Exporter", "Format", "Watch", "export"]


class Exporter(Protocol):
    """One export format."""

    @property
    def name(self) -> str:
        """The value of `--to`."""

    @property
    def extension(self) -> str | None:
        """The extension of the file; None if the format is a folder of files."""

    def write(self, source: ExportSource, out: Out) -> FileTally:
        """Write the run to `out`; a format that needs a path refuses a stream."""


class Format(StrEnum):
    """The names of the exporters."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    CSV = "csv"
    ZIP = "zip"
    LLMS = "llms"
    FILES = "files"
    STATE = "state"


_ALL: tuple[Exporter, ...] = (
    MarkdownExporter(),
    JsonlExporter(),
    CsvExporter(),
    ZipExporter(),
    LlmsExporter(),
    FilesExporter(),
    StateExporter(),
)
EXPORTERS: Mapping[Format, Exporter] = {Format(exporter.name): exporter for exporter in _ALL}


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export: the fields of `orbweb export --json`. `out` is None for a stream."""

    project: str
    run: int
    to: str
    out: str | None
    pages: int
    files: int
    written: int
    unchanged: int
    removed: int
    kept: int
    bytes: int

    def report(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return asdict(self)


def export(source: ExportSource, to: Format, out: Out, *, raw: bool = False) -> Exported:
    """Write the run to `out`: a folder or a file, depending on the format; JSON lines and CSV may go to a stream.

    `raw`: write CSV cells unescaped, also those that a spreadsheet would evaluate as a formula.
    """
    if raw and to is not Format.CSV:
        raise UsageError(f"{option('raw')} applies to {option('to', 'csv')}, not to {to}")
    exporter = CsvExporter(raw=True) if raw else EXPORTERS[to]
    tally = exporter.write(source, out)
    return Exported(
        project=source.project,
        run=source.run_number,
        to=to.value,
        out=str(out) if isinstance(out, Path) else None,
        pages=len(source.outline),
        files=tally.files,
        written=tally.written,
        unchanged=tally.unchanged,
        removed=tally.removed,
        kept=tally.kept,
        bytes=tally.bytes,
    )
