"""`llms.txt`, a table of contents for language models, and `llms-full.txt`, all pages in one file.

The first follows llmstxt.org: a title, a summary, then sections with lists of links to the site. A section is a
directory below the common directory of all pages. The second has no convention: pages in crawl order, each under
its URL, separated by a rule.
"""

from __future__ import annotations

import re
from typing import IO
from urllib.parse import unquote

from orbweb import urls
from orbweb.export.atomic_file import Out, require_path
from orbweb.export.fields import utf8
from orbweb.export.folder import ExportFolder, FileTally
from orbweb.export.source import ExportSource
from orbweb.store import documents
from orbweb.store.documents import Captured
from orbweb.store.queries.outline import Outlined

CONTENTS = "llms.txt"
FULL = "llms-full.txt"

_BLANKS = re.compile(r"\s+")
_IN_NAME = str.maketrans({"[": "(", "]": ")", "<": "(", ">": ")", "`": "'", "\\": "/"})
_TOP = "Pages"


class LlmsExporter:
    name = "llms"
    extension = None

    def write(self, source: ExportSource, out: Out) -> FileTally:
        with ExportFolder(require_path(out, self.name), source.header(self.name)) as folder:
            first = next(documents.captured(source.db, source.run_id), None)
            head = _head(source.project, first)
            with folder.stream(FULL) as stream:
                tokens = _full(source, stream, head)
            with folder.stream(CONTENTS) as stream:
                _contents(source, stream, head, tokens)
            return folder.finish()


def _head(project: str, first: Captured | None) -> str:
    title = _line(first.document.title if first else "") or project
    summary = _line(first.document.description if first else "")
    return f"# {title}\n" + (f"\n> {summary}\n" if summary else "")


def _full(source: ExportSource, stream: IO[bytes], head: str) -> int:
    """Write all pages; return their number of tokens."""
    stream.write(utf8(head))
    tokens = 0
    for page in source.pages():
        tokens += page.document.tokens
        stream.write(utf8(f"\n---\n\n# {page.url}\n\n{page.document.markdown.strip()}\n"))
    return tokens


def _contents(source: ExportSource, stream: IO[bytes], head: str, tokens: int) -> None:
    pages = len(source.outline)
    about = f"{pages} page{'' if pages == 1 else 's'}, about {tokens} tokens in all; {FULL} has them in one file."
    stream.write(utf8(f"{head}\n{about}\n"))
    for section, members in _sections(source).items():
        stream.write(utf8(f"\n## {section}\n\n"))
        for page in documents.captured(source.db, source.run_id, members):
            stream.write(utf8(_entry(page)))


def _entry(page: Captured) -> str:
    url = page.url.replace("(", "%28").replace(")", "%29")
    name = _line(page.document.title).translate(_IN_NAME) or url
    note = _line(page.document.description)
    return f"- [{name}]({url})" + (f": {note}\n" if note else "\n")


def _line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _sections(source: ExportSource) -> dict[str, list[int]]:
    """The ids of the pages of each section, both in crawl order."""
    common = _common([_directories(page, hosts=source.several_sites) for page in source.outline])
    found: dict[str, list[int]] = {}
    for page in source.outline:
        below = _directories(page, hosts=source.several_sites)[common:]
        name = unquote("/".join(below[: 2 if source.several_sites else 1]))
        found.setdefault(_line(name) or _TOP, []).append(page.id)
    return found


def _directories(page: Outlined, *, hosts: bool) -> list[str]:
    """The directories of a page; a URL that ends in a slash is a directory itself."""
    path = page.url.partition("?")[0].split("/", 3)[3:]
    inside = path[0].split("/")[:-1] if path else []
    return [urls.scope_site(page.key), *inside] if hosts else inside


def _common(found: list[list[str]]) -> int:
    """The number of leading directories that all have in common."""
    if not found:
        return 0
    least, most = min(found), max(found)
    same = 0
    while same < min(len(least), len(most)) and least[same] == most[same]:
        same += 1
    return same
