"""A program that uses the library as type checkers see it: `make check` checks it strictly, a test runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_type

import orbweb


def summary(space: orbweb.Workspace, project: str) -> list[str]:
    """What somebody might read from a workspace."""
    status = space.status(project)
    assert_type(status.run, int | None)
    assert_type(status.skipped, Mapping[str, int])
    lines = [f"{base.url}: {base.pages}" for base in status.bases]
    for run in space.runs(project):
        assert_type(run.crawls, tuple[orbweb.CrawlSummary, ...])
        lines += [f"{crawl.state} in {crawl.seconds:.0f} s" for crawl in run.crawls]
    for page in space.pages(project, sort="words"):
        assert_type(page.words, int | None)
        lines.append(f"{page.title or page.url.upper()}: {page.words or 0}")
    for failure in space.failed(project):
        lines += [f"{source.url} -> {failure.url}: {source.text}" for source in failure.sources]
    return lines


def link_texts(space: orbweb.Workspace, project: str, url: str) -> list[str]:
    shown = space.show(project, url)
    if shown is None or shown.document is None:
        return []
    assert_type(shown.links, tuple[orbweb.LinkEdge, ...])
    return [heading.text for heading in shown.document.headings] + [link.url for link in shown.links]


def changed(space: orbweb.Workspace, project: str) -> Mapping[str, int]:
    found = space.diff(project)
    assert_type(found.differs, bool)
    return {page.url: page.lines_added - page.lines_removed for page in found.changed}


def planned(space: orbweb.Workspace, what: str) -> int:
    plan = space.plan(what, rate="max")
    if isinstance(plan, orbweb.RecrawlPlan):
        return plan.newly_admitted.count
    return sum(sitemap.urls for sitemap in plan.sitemaps)
