"""A run becomes files that other tools read: one module a format, and what they share.

Owns the choice of the format. Always: the pages of a run come from the store alone, in one order, one at a time;
no file is ever half written, and an export that was interrupted is finished by repeating it. Never: asks a server,
or changes anything in the workspace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from orbweb.errors import UsageError
from orbweb.export import atomic_file, bodies, jsonl, llms, markdown
from orbweb.export import csv as csv_export
from orbweb.export import zip as zip_export
from orbweb.export.folder import FileTally
from orbweb.export.source import ExportSource, Watch
from orbweb.export.state import dump as state_dump

__all__ = ["ExportSource", "Exported", "Format", "Watch", "export"]


class Format(StrEnum):
    """What a run can be exported to."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"
    CSV = "csv"
    ZIP = "zip"
    LLMS = "llms"
    FILES = "files"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did: the fields of `orbweb export --json`. `out` is None where it went to a stream."""

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


_FOLDERS: dict[Format, Callable[[ExportSource, Path], FileTally]] = {
    Format.MARKDOWN: markdown.write,
    Format.LLMS: llms.write,
    Format.FILES: bodies.write,
    Format.STATE: state_dump.write,
}


def export(source: ExportSource, to: Format, out: Path | IO[bytes], *, raw: bool = False) -> Exported:
    """Write the run to `out`: a folder or a file, by the format; JSON lines and CSV may go to a stream.

    `raw`: cells of a CSV as they are, also those that a spreadsheet would compute.
    """
    if raw and to is not Format.CSV:
        raise UsageError(f"--raw is for --to csv, not for {to}")
    if to in _FOLDERS:
        tally = _FOLDERS[to](source, _place(to, out))
    elif to is Format.ZIP:
        tally = FileTally(written=1, bytes=zip_export.write(source, _place(to, out)))
    else:
        tally = FileTally(written=1, bytes=_streamed(source, to, out, raw=raw))
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


def _place(to: Format, out: Path | IO[bytes]) -> Path:
    if not isinstance(out, Path):
        raise UsageError(f"--to {to} cannot go to a stream: name a place with --out")
    return out


def _streamed(source: ExportSource, to: Format, out: Path | IO[bytes], *, raw: bool) -> int:
    if isinstance(out, Path):
        with atomic_file.replacing(out) as stream:
            return _records(source, to, stream, raw=raw)
    with atomic_file.named(Path("standard output")):
        size = _records(source, to, out, raw=raw)
        out.flush()
        return size


def _records(source: ExportSource, to: Format, stream: IO[bytes], *, raw: bool) -> int:
    return jsonl.write(source, stream) if to is Format.JSONL else csv_export.write(source, stream, raw=raw)
