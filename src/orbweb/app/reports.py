"""What can be asked of a workspace: projects, runs, URLs, pages and their documents.

Nothing here changes what a crawl has left; the search index and exports are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from orbweb import urls
from orbweb.app.directory import WorkspaceDirectory, make_private
from orbweb.errors import NothingToDo, StoreError, UsageError
from orbweb.frontier.spool import files as spool_files
from orbweb.parsing.http_heads import Exchange
from orbweb.store import documents, heads, runs
from orbweb.store.documents import Captured, StoredDocument
from orbweb.store.queries import reports, vanished
from orbweb.store.queries.reports import Report
from orbweb.store.runs import DISCOVERY
from orbweb.urls import DEFAULT_RULES, UrlRules

if TYPE_CHECKING:
    from orbweb.export import Exported, Format, Watch


class Reports(WorkspaceDirectory):
    """A workspace that answers."""

    def status(self, project: str) -> Report:
        """The latest run of a project, and who works on it."""
        found = runs.project(self.db, project)
        pid = self.owner(project)
        report: Report = {"project": found.name, "running": pid is not None, "pid": pid, "run": None}
        held_by = self.control(project).hold_reason() if pid is not None else None
        report.update(held=held_by is not None, held_by=held_by, role=self.role_of(project))
        report["spool"] = self.spool(project)
        latest = runs.latest_run(self.db, found.id)
        if latest is not None:
            report.update(reports.run_report(self.db, latest, alive=pid is not None))
        return report

    def role_of(self, project: str) -> str:
        """crawl, discover or scrape: what is done for this project."""
        if project.endswith(DISCOVERY):
            return "discover"
        return "scrape" if self.discovery_of(project) else "crawl"

    def backlog(self) -> int:
        """Bytes of the spool that no scraper has read."""
        try:
            return spool_files.unread(self.path, spool_files.read_bookmark(self.path))
        except StoreError:
            return spool_files.unread(self.path, None)

    def spool(self, project: str) -> Report | None:
        """What the roles of a separated pipeline have between them."""
        if self.role_of(project) == "crawl":
            return None
        try:
            bookmark, problem = spool_files.read_bookmark(self.path), None
        except StoreError as error:
            bookmark, problem = None, str(error)
        return {
            "files": len(spool_files.names(self.path / spool_files.DISCOVERIES)),
            "backlog_bytes": self.backlog(),
            "bookmark": bookmark._asdict() if bookmark else None,
            "problem": problem,
        }

    def statuses(self) -> list[Report]:
        return [self.status(project.name) for project in runs.projects(self.db)]

    def runs(self, project: str) -> list[Report]:
        found = runs.project(self.db, project)
        alive = self.owner(project) is not None
        return [reports.run_report(self.db, run, alive=alive) for run in runs.runs_of(self.db, found.id)]

    def queue(self, project: str) -> Report:
        return reports.queue(self.db, self.run(project), alive=self.owner(project) is not None)

    def pages(self, project: str, number: int | None = None) -> list[Report]:
        return reports.pages(self.db, self.run(project, number).id)

    def gone(self, project: str, number: int | None = None) -> list[Report]:
        """The pages that have vanished, as seen from a run."""
        return list(vanished.tombstones(self.db, self.run(project, number)))

    def near_duplicates(self, project: str, number: int | None = None, *, within: int) -> list[list[Report]]:
        """Pages with words whose fingerprints are linked by steps of at most `within` bits, in groups."""
        from orbweb.extraction import simhash

        said = [page for page in self.pages(project, number) if page["words"]]
        groups = simhash.groups([int(page["simhash"], 16) for page in said], within)
        return [[said[at] for at in group] for group in groups if len(group) > 1]

    def documents(self, project: str, number: int | None = None) -> Iterator[Captured]:
        """The pages of a run with their documents, in order."""
        return documents.captured(self.db, self.run(project, number).id)

    def export(
        self,
        project: str,
        to: Format,
        out: Path | IO[bytes],
        number: int | None = None,
        *,
        rules: UrlRules = DEFAULT_RULES,
        page_type: Callable[[str], str] = lambda _key: "page",
        raw: bool = False,
        watch: Watch,
    ) -> Exported:
        """Write the pages of a run to a folder, a file or a stream. `rules` and types are those of the project."""
        from orbweb.export import ExportSource, export

        run = self.run(project, number)
        source = ExportSource(self.db, project, run.id, run.number, rules, self.body, watch, page_type)
        return export(source, to, out, raw=raw)

    def diff(
        self, project: str, old: int | None = None, new: int | None = None, *, keep_noise: bool = False
    ) -> Report:
        """What differs between two runs: the latest and the one before it, unless others are named."""
        from orbweb.store.queries import diff

        latest = self.run(project, new)
        if old is None and latest.number == 1:
            raise NothingToDo(f"project {project!r} has one run; there is nothing to compare it with")
        earlier = self.run(project, latest.number - 1 if old is None else old)
        found = diff.Comparison(self.db, earlier, latest, keep_noise=keep_noise).report()
        return {"project": project, "old": earlier.number, "new": latest.number, **found}

    def page_index(self, project: str, number: int | None = None) -> Iterator[Report]:
        """What is known of each URL that was asked for in a run, in the order of commits."""
        from orbweb.store.queries import page_index

        run = self.run(project, number)
        return (entry for _, entry in page_index.entries(self.db, run.id, self.path / "store"))

    def search(
        self, project: str, query: str, number: int | None = None, *, limit: int, watch: Callable[[int, int], None]
    ) -> list[Report]:
        """The pages of a run that match, the best first; `watch` is told how many of how many are indexed."""
        from orbweb.store.sqlite import search

        run, index = self.run(project, number), self.path / "search.db"
        try:
            make_private(index)
        except OSError as error:
            raise StoreError(
                f"{index}: the search index cannot be made ({error.strerror}). Search needs a workspace that may "
                "be written to; copy it to one."
            ) from error
        return search.search(index, self.db, run.id, query, limit, watch)

    def failed(self, project: str, number: int | None = None) -> list[Report]:
        return reports.failures(self.db, self.run(project, number).id)

    def manifest(self, project: str, number: int | None = None) -> Iterator[str]:
        return reports.manifest(self.db, self.run(project, number).id)

    def manifest_hash(self, project: str, number: int | None = None) -> str:
        return reports.manifest_hash(self.db, self.run(project, number).id)

    def show(
        self, project: str, url: str, number: int | None = None, rules: UrlRules = DEFAULT_RULES
    ) -> Report | None:
        """What is known of a URL, or None if the run has never seen it. `rules` are those of the project."""
        target = urls.target(url, rules=rules)
        if target is None:
            raise UsageError(f"{url!r} is not an http(s) URL")
        run = self.run(project, number)
        report = reports.url_report(self.db, run.id, target.key)
        return report and {**report, "gone": vanished.since(self.db, run, target.key)}

    def document(
        self, project: str, url: str, number: int | None = None, rules: UrlRules = DEFAULT_RULES
    ) -> StoredDocument | None:
        """The document of a page; of an alternate, that of its page. None where there is no page."""
        run = self.run(project, number)
        target = urls.target(url, rules=rules)
        row = self.db.one("url_by_key", run_id=run.id, key=target.key) if target else None
        return documents.of_url(self.db, run.id, row[0]) if row else None

    def head(
        self, project: str, url: str, number: int | None = None, rules: UrlRules = DEFAULT_RULES
    ) -> Exchange | None:
        """The heads of the request and of the response; None where there was no response, or none is kept."""
        run = self.run(project, number)
        target = urls.target(url, rules=rules)
        row = self.db.one("url_by_key", run_id=run.id, key=target.key) if target else None
        return heads.of_url(self.db, run.id, row[0]) if row else None
