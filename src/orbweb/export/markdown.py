"""A folder of Markdown files that mirrors the paths of the site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from orbweb.export.fields import front_matter, utf8
from orbweb.export.folder import ExportFolder, FileTally
from orbweb.export.links import LinkRewriter
from orbweb.export.source import ExportSource, Files
from orbweb.store.documents import Captured


def rendered(
    source: ExportSource, files: Files, order: Iterable[int] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Each page as its file and the bytes of it."""
    links = LinkRewriter(files.by_key, source.rules)
    for page in source.pages(order):
        file = files.by_key[page.key]
        yield file, _file(page, links, file)


def _file(page: Captured, links: LinkRewriter, file: str) -> bytes:
    text = links.rewrite(page.document.markdown, file)
    end = "" if text.endswith("\n") else "\n"
    return utf8(f"{front_matter(page)}{text}{end}")


def write(source: ExportSource, out: Path) -> FileTally:
    """Write what differs from what is there."""
    with ExportFolder(out, {"project": source.project, "to": "markdown"}) as folder:
        for file, data in rendered(source, source.files()):
            folder.put(file, data)
        return folder.finish()
