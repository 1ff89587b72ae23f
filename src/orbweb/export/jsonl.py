"""One JSON object a page, with its Markdown and its text."""

from __future__ import annotations

from typing import IO

from orbweb.export.fields import METADATA, json_line, metadata
from orbweb.export.source import ExportSource

FIELDS = (*METADATA, "headings", "markdown", "text")


def write(source: ExportSource, stream: IO[bytes]) -> int:
    """Write a line a page; how many bytes."""
    size = 0
    for page in source.pages():
        document = page.document
        headings = [{"level": heading.level, "text": heading.text} for heading in document.headings]
        texts = {"headings": headings, "markdown": document.markdown, "text": document.text}
        size += stream.write(json_line({**metadata(page), **texts}))
    return size
