"""The verbs that read a run by sections, and the links between them."""

from __future__ import annotations

from orbweb.app.directory import OpenWorkspace
from orbweb.app.results.sections import RunSections, SectionLinks, SectionPart
from orbweb.store.queries import sections

MOST_PAGES = 20_000


def run_sections(workspace: OpenWorkspace, project: str, number: int | None) -> RunSections:
    run = workspace.run(project, number)
    return RunSections(run.number, tuple(SectionPart(*part) for part in sections.parts(workspace.db, run.id)))


def section_links(workspace: OpenWorkspace, project: str, prefix: str, number: int | None) -> SectionLinks:
    """Where the pages link to whose URL, without its scheme, begins with `prefix`."""
    run = workspace.run(project, number)
    pages, targets = sections.links_below(workspace.db, run.id, prefix, MOST_PAGES)
    return SectionLinks(run.number, pages, pages >= MOST_PAGES, targets)
