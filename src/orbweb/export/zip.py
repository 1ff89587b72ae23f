"""The Markdown files as one zip: the same bytes for the same pages.

Entries are sorted by name, without times or anything about the machine.
"""

from __future__ import annotations

import zipfile

from orbweb.export import markdown
from orbweb.export.atomic_file import Out, replacing, require_path
from orbweb.export.folder import FileTally
from orbweb.export.source import ExportSource

_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_PLAIN_FILE = 0o100644 << 16


class ZipExporter:
    name = "zip"
    extension = ".zip"

    def write(self, source: ExportSource, out: Out) -> FileTally:
        path = require_path(out, self.name)
        files = source.files()
        order = [page for page, _ in sorted(files.pages, key=lambda page: page[1])]
        with replacing(path) as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
                for file, data in markdown.rendered(source, files, order):
                    packed.writestr(_entry(file), data)
            return FileTally(written=1, bytes=stream.seek(0, 2))


def _entry(file: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(file, _NO_TIME)
    entry.create_system = _UNIX
    entry.external_attr = _PLAIN_FILE
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
