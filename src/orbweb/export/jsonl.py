"""One JSON object per page, with its Markdown and its text."""

from __future__ import annotations

from typing import IO

from orbweb.export.atomic_file import Out, writing
from orbweb.export.fields import METADATA, json_line, metadata
from orbweb.export.folder import FileTally
from orbweb.export.source import ExportSource

FIELDS = (*METADATA, "headings", "markdown", "text")


class JsonlExporter:
    name = "jsonl"
    extension = ".jsonl"

    def write(self, source: ExportSource, out: Out) -> FileTally:
        with writing(out) as stream:
            return FileTally(written=1, bytes=_lines(source, stream))


def _lines(source: ExportSource, stream: IO[bytes]) -> int:
    size = 0
    for page in source.pages():
        document = page.document
        headings = [{"level": heading.level, "text": heading.text} for heading in document.headings]
        texts = {"headings": headings, "markdown": document.markdown, "text": document.text}
        size += stream.write(json_line({**metadata(page), **texts}))
    return size
