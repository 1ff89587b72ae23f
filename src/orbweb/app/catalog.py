"""What leads to the URLs of a run: passes over its links, which callers keep."""

from __future__ import annotations

from collections.abc import Sequence

from orbweb.app.directory import OpenWorkspace
from orbweb.app.reports import target_of
from orbweb.app.results.catalog import UrlLinks
from orbweb.store import runs
from orbweb.store.queries import catalog, explain, linking_pages


def linked_from(workspace: OpenWorkspace, project: str, number: int | None, ids: Sequence[int]) -> dict[int, int]:
    """How many pages link to each of these URLs."""
    found = linking_pages.referrers(workspace.db, workspace.run(project, number).id, ids, 0)
    return {target: each.total for target, each in found.items()}


def links_of(workspace: OpenWorkspace, project: str, number: int | None, url: str) -> UrlLinks:
    """What leads to a URL, and the other URLs of its content, by a pass over the run."""
    run, target = workspace.run(project, number), target_of(workspace, project, url)
    known = runs.known_url(workspace.db, run.id, target.key) if target else None
    if known is None:
        return UrlLinks((), ())
    found = explain.referrers(workspace.db, run.id, known.id)
    content = explain.content_of(workspace.db, run.id, known.id)
    others = catalog.alternates(workspace.db, run.id, content) if content else []
    return UrlLinks(tuple((each["url"], each["kind"]) for each in found), tuple(others))
