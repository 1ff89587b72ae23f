"""The verbs that tell what there is: projects, runs, pages, URLs, differences. None changes what a crawl left."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from orbweb.app import Request
from orbweb.app.request import configure
from orbweb.app.settings import url_rules
from orbweb.errors import UsageError
from orbweb.extraction.simhash import WITHIN
from orbweb.library.explaining import explained
from orbweb.library.handle import Handle, uncounted
from orbweb.model import Document
from orbweb.parsing.http_heads import Exchange
from orbweb.store import runs
from orbweb.store.documents import Captured
from orbweb.store.queries.reports import Report


class Reports(Handle):
    """Verbs that tell what there is."""

    __slots__ = ()

    def status(self, project: str) -> Report:
        """Where a project stands, and whether a crawl is running."""
        with self._opened() as opened:
            return opened.status(project)

    def statuses(self) -> list[Report]:
        """The status of every project."""
        with self._opened() as opened:
            return opened.statuses()

    def runs(self, project: str) -> list[Report]:
        """The runs of a project with their crawls."""
        with self._opened() as opened:
            return opened.runs(project)

    def queue(self, project: str) -> Report:
        """What is queued, by source, and what is next."""
        with self._opened() as opened:
            return opened.queue(project)

    def diff(
        self, project: str, old: int | None = None, new: int | None = None, *, keep_noise: bool = False
    ) -> Report:
        """What differs between two runs: the latest and the one before it, unless others are named."""
        with self._opened() as opened:
            return opened.diff(project, old, new, keep_noise=keep_noise)

    def pages(self, project: str, *, run: int | None = None) -> list[Report]:
        """The unique pages of a run, with their alternates."""
        with self._opened() as opened:
            return opened.pages(project, run)

    def gone(self, project: str, *, run: int | None = None) -> list[Report]:
        """The pages that have vanished, as seen from a run: since which run, why, and which run had them last."""
        with self._opened() as opened:
            return opened.gone(project, run)

    def failed(self, project: str, *, run: int | None = None) -> list[Report]:
        """The URLs that failed, and why."""
        with self._opened() as opened:
            return opened.failed(project, run)

    def manifest(self, project: str, *, run: int | None = None) -> Iterator[str]:
        """One line a visit, in order; read as they are consumed."""
        with self._opened() as opened:
            yield from opened.manifest(project, run)

    def manifest_hash(self, project: str, *, run: int | None = None) -> str:
        """One SHA-256 over the lines of the manifest."""
        with self._opened() as opened:
            return opened.manifest_hash(project, run)

    def show(self, project: str, url: str, *, run: int | None = None) -> Report | None:
        """Everything known about one URL; None if the run has never seen it."""
        with self._opened() as opened:
            config, _ = configure(runs.project(opened.db, project), Request())
            return opened.show(project, url, run, url_rules(config))

    def documents(self, project: str, *, run: int | None = None) -> Iterator[Captured]:
        """The pages of a run with their documents, in order; each is read when its turn comes."""
        with self._opened() as opened:
            yield from opened.documents(project, run)

    def document(self, project: str, url: str, *, run: int | None = None) -> Document | None:
        """What was read out of a page; of an alternate, that of its page. None where there is no page."""
        with self._opened() as opened:
            config, _ = configure(runs.project(opened.db, project), Request())
            kept = opened.document(project, url, run, url_rules(config))
            return kept.document if kept else None

    def head(self, project: str, url: str, *, run: int | None = None) -> Exchange | None:
        """The heads of the request, without secrets, and of the response; None where none are stored."""
        with self._opened() as opened:
            config, _ = configure(runs.project(opened.db, project), Request())
            return opened.head(project, url, run, url_rules(config))

    def near_duplicates(self, project: str, *, run: int | None = None, within: int = WITHIN) -> list[list[Report]]:
        """Groups of pages whose texts differ in few words: in `within` of 64 bits from one to the next."""
        with self._opened() as opened:
            return opened.near_duplicates(project, run, within=within)

    def body(self, sha256: str) -> bytes:
        """A stored body by its `body_sha256`, verified."""
        with self._opened() as opened:
            return opened.body(sha256)

    def page_index(self, project: str, *, run: int | None = None) -> Iterator[Report]:
        """What is known of each URL that was asked for, by which a later run asks conditionally."""
        with self._opened() as opened:
            yield from opened.page_index(project, run)

    def search(
        self,
        project: str,
        query: str,
        *,
        run: int | None = None,
        limit: int = 20,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> list[Report]:
        """The pages that have every word of the query, the best first. `on_progress` is told what is indexed."""
        if limit < 1:
            raise UsageError(f"limit: {limit} is not a number of results")
        with self._opened() as opened:
            return opened.search(project, query, run, limit=limit, watch=on_progress or uncounted)

    def explain(self, project: str, url: str, *, run: int | None = None) -> Report:
        """Why a URL was visited, refused or failed; for one never seen, what the rules would say now."""
        with self._opened() as opened:
            owner = runs.project(opened.db, project)
            return explained(opened, owner, runs.run_of(opened.db, owner, run), url)
