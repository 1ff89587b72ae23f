"""The folder of Markdown files as one zip, the same bytes for the same pages.

Entries are sorted by name and have no time; nothing about the machine is in them.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from orbweb.export import atomic_file, markdown
from orbweb.export.source import ExportSource

_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_PLAIN_FILE = 0o100644 << 16


def write(source: ExportSource, out: Path) -> int:
    """Write the file; how many bytes it has."""
    files = source.files()
    order = [page for page, _ in sorted(files.pages, key=lambda page: page[1])]
    with atomic_file.replacing(out) as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
            for file, data in markdown.rendered(source, files, order):
                packed.writestr(_entry(file), data)
        return stream.seek(0, 2)


def _entry(file: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(file, _NO_TIME)
    entry.create_system = _UNIX
    entry.external_attr = _PLAIN_FILE
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
