"""One row per page, without its text, for spreadsheets and data frames.

Every cell is quoted. Unless raw cells are wanted, text that a spreadsheet would evaluate as a formula gets a
leading apostrophe.
"""

from __future__ import annotations

import csv
import io
from typing import IO

from orbweb.export.atomic_file import Out, writing
from orbweb.export.escaping import guarded
from orbweb.export.fields import METADATA, metadata, utf8
from orbweb.export.folder import FileTally
from orbweb.export.source import ExportSource


class CsvExporter:
    name = "csv"
    extension = ".csv"

    def __init__(self, *, raw: bool = False) -> None:
        self._raw = raw

    def write(self, source: ExportSource, out: Out) -> FileTally:
        with writing(out) as stream:
            return FileTally(written=1, bytes=self._table(source, stream))

    def _table(self, source: ExportSource, stream: IO[bytes]) -> int:
        size = stream.write(row(METADATA))
        for page in source.pages():
            known = metadata(page)
            for name in ("alternates", "redirects"):
                known[name] = " ".join(known[name])
            cells = [_text(known[column]) for column in METADATA]
            size += stream.write(row(cells if self._raw else [guarded(cell) for cell in cells]))
        return size


def _text(value: object) -> str:
    return "" if value is None else str(value).replace("\x00", "\ufffd")


def row(cells: tuple[str, ...] | list[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL).writerow(cells)
    return utf8(line.getvalue())
