"""One row a page, without its text, for spreadsheets and data frames.

Always: every cell is quoted. Unless raw cells are asked for, a text that a spreadsheet would compute gets an
apostrophe in front, so that it stays a text.
"""

from __future__ import annotations

import csv
import io
from typing import IO

from orbweb.export.escaping import guarded
from orbweb.export.fields import METADATA, metadata, utf8
from orbweb.export.source import ExportSource


def write(source: ExportSource, stream: IO[bytes], *, raw: bool) -> int:
    """Write the table; how many bytes."""
    size = stream.write(row(METADATA))
    for page in source.pages():
        known = metadata(page)
        known["alternates"] = " ".join(known["alternates"])
        cells = [_text(known[column]) for column in METADATA]
        size += stream.write(row(cells if raw else [guarded(cell) for cell in cells]))
    return size


def _text(value: object) -> str:
    return "" if value is None else str(value).replace("\x00", "\ufffd")


def row(cells: tuple[str, ...] | list[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return utf8(line.getvalue())
