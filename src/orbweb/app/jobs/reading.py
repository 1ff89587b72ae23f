"""What a server reads of the runs for long lists, the live page and the map. Any thread may call."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from orbweb.app import catalog, reports
from orbweb.app.directory import OpenWorkspace
from orbweb.app.follow import follow, queue_shares
from orbweb.app.results.catalog import UrlLinks
from orbweb.app.results.live import FollowedRun, QueueShares
from orbweb.app.results.record import record
from orbweb.app.results.sections import RunSections, SectionLinks
from orbweb.app.results.urls import UrlDetails
from orbweb.app.sections import run_sections, section_links
from orbweb.store.queries.reports import manifest_after


class RunReader:
    """The runs of one workspace. A pass over a run takes a time that grows with it; callers keep what it gives."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _workspace(self) -> closing[OpenWorkspace]:
        return closing(OpenWorkspace(self._path))

    def details(self, project: str, url: str, *, run: int | None = None) -> UrlDetails | None:
        """As `Workspace.show`, without the other URLs of the page: they take a pass over the run (`links_of`)."""
        with self._workspace() as workspace:
            found = reports.show(workspace, project, url, run, others=False)
            return None if found is None else record(UrlDetails, found)

    def linked_from(self, project: str, ids: Sequence[int], *, run: int | None = None) -> dict[int, int]:
        """How many pages link to each of these URLs: a pass over the links of the run."""
        with self._workspace() as workspace:
            return catalog.linked_from(workspace, project, run, ids)

    def links_of(self, project: str, url: str, *, run: int | None = None) -> UrlLinks:
        """What leads to a URL, and the other URLs of its content: a pass over the run."""
        with self._workspace() as workspace:
            return catalog.links_of(workspace, project, run, url)

    def follow(self, project: str, *, after: int = 0, limit: int = 10_000) -> FollowedRun:
        """The latest run of a project as it is now, and its visits after a number: for figures that follow it."""
        with self._workspace() as workspace:
            return follow(workspace, project, after, limit)

    def queue_shares(self, project: str) -> QueueShares:
        """The queue by source and by host. Reads all of it."""
        with self._workspace() as workspace:
            return queue_shares(workspace, project)

    def sections(self, project: str, *, run: int | None = None) -> RunSections:
        """The pages and failures of a run by section and depth. Reads the whole run."""
        with self._workspace() as workspace:
            return run_sections(workspace, project, run)

    def section_links(self, project: str, prefix: str, *, run: int | None = None) -> SectionLinks:
        """Where pages link to whose URL, without its scheme, begins with a prefix."""
        with self._workspace() as workspace:
            return section_links(workspace, project, prefix, run)

    def manifest(self, project: str, after: int, count: int, *, run: int | None = None) -> list[tuple[int, str]]:
        """Lines of the manifest after a visit, with the numbers of their visits."""
        with self._workspace() as workspace:
            run_id = workspace.run(project, run).id
            return list(manifest_after(workspace.db, run_id, after, count))
