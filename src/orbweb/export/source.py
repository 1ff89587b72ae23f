"""The input of an export: the pages of a run and the file name of each.

The pages are those committed when the export began, read one at a time; later ones are left for the next export.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from orbweb import urls
from orbweb.export.filenames import FileNames
from orbweb.store import Queries, alternates, documents
from orbweb.store.documents import Captured
from orbweb.store.queries import outline
from orbweb.store.workspace_paths import AnchoredPath
from orbweb.urls import UrlRules

Watch = Callable[[int, int], None]


class Files(NamedTuple):
    """The file of each key that leads to a page, and the pages with their files, by id, in order."""

    by_key: dict[str, str]
    pages: list[tuple[int, str]]


@dataclass(frozen=True)
class ExportSource:
    """A run to export. `body` reads a stored body by its hash from the directory `store`; `watch` is called with
    the number of pages done and their total; `page_type` returns the type of a page by its key.
    """

    db: Queries
    project: str
    run_id: int
    run_number: int
    rules: UrlRules
    body: Callable[[str], bytes]
    watch: Watch
    store: AnchoredPath
    page_type: Callable[[str], str] = lambda _key: "page"

    def header(self, exporter: str) -> dict[str, object]:
        """The identity of a folder that this project is exported to."""
        return {"project": self.project, "to": exporter}

    @cached_property
    def outline(self) -> list[outline.Outlined]:
        """The pages in order."""
        return list(outline.pages(self.db, self.run_id))

    @cached_property
    def several_sites(self) -> bool:
        return len({urls.scope_site(page.key) for page in self.outline}) > 1

    def files(self) -> Files:
        """The files of all pages. Alternates and redirects have the file of their page."""
        names = FileNames(hosts=self.several_sites)
        of_id: dict[int, str] = {}
        by_key: dict[str, str] = {}
        for page in self.outline:
            path = page.url.partition("?")[0]
            file = names.take(page.key, directory=path.endswith("/"))
            of_id[page.id] = by_key[page.key] = file
        for alternate, key, primary in outline.alternates(self.db, self.run_id):
            if primary in of_id:
                of_id[alternate] = by_key[key] = of_id[primary]
        for redirect in alternates.redirects(self.db, self.run_id):
            if redirect.end in of_id:
                by_key[redirect.key] = of_id[redirect.end]
        return Files(by_key, [(page.id, of_id[page.id]) for page in self.outline])

    def pages(self, order: Iterable[int] | None = None) -> Iterator[Captured]:
        """The pages one by one, in crawl order or in the given order of ids."""
        known = {page.key for page in self.outline}
        total = len(known)
        done = 0
        for page in documents.captured(self.db, self.run_id, order):
            if page.key in known:
                yield page
                done += 1
                self.watch(done, total)
