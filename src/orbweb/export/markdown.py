"""A folder of Markdown files that mirrors the paths of the site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orbweb.export.atomic_file import Out, require_path
from orbweb.export.fields import front_matter, utf8
from orbweb.export.folder import ExportFolder, FileTally
from orbweb.export.links import LinkRewriter
from orbweb.export.source import ExportSource, Files
from orbweb.store.documents import Captured


def rendered(
    source: ExportSource, files: Files, order: Iterable[int] | None = None
) -> Iterator[tuple[str, bytes]]:
    """The file name and bytes of each page."""
    links = LinkRewriter(files.by_key, source.rules)
    for page in source.pages(order):
        file = files.by_key[page.key]
        yield file, _file(page, links, file)


def _file(page: Captured, links: LinkRewriter, file: str) -> bytes:
    text = links.rewrite(page.document.markdown, file)
    end = "" if text.endswith("\n") else "\n"
    return utf8(f"{front_matter(page)}{text}{end}")


class MarkdownExporter:
    name = "markdown"
    extension = None

    def write(self, source: ExportSource, out: Out) -> FileTally:
        """Write the files that differ from those in the folder."""
        with ExportFolder(require_path(out, self.name), source.header(self.name)) as folder:
            for file, data in rendered(source, source.files()):
                folder.put(file, data)
            return folder.finish()
