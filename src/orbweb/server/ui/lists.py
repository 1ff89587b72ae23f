"""What the lists of a run share: its number in the URL, links with a changed query, and passes that are kept.

A pass over a run is made in a thread; a page waits for it only a moment, and shows what is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import Response

from orbweb.app import RunOutline
from orbweb.app.listings import check_pattern
from orbweb.app.pictures import host_of, short_hosts
from orbweb.app.results.catalog import ListPart, UrlLinks
from orbweb.app.results.listings import RulePreview
from orbweb.app.results.pages import PageSummary
from orbweb.app.results.sections import RunSections
from orbweb.errors import UsageError
from orbweb.server.problems import ProblemRaised
from orbweb.server.services import Services
from orbweb.server.ui.figures import Figures
from orbweb.server.ui.frame import run_path
from orbweb.server.ui.twins import twin

ROWS = 50
TWIN_ROWS = 1_000
MOST_TWIN_ROWS = 10_000
KEPT = 32


class Lists:
    """Passes over runs. Any thread may ask; None is the answer as long as a pass is not finished."""

    def __init__(self, services: Services) -> None:
        self._jobs = services.jobs
        self._workspace = services.workspace
        self._figures = Figures(services.workspace, services.jobs, KEPT)

    def linked_from(self, outline: RunOutline) -> Mapping[int, int]:
        """How many pages link to each URL that failed; empty as long as it is not known."""
        found = self._figures.ask(
            ("linked", outline.project, outline.run),
            outline.mark,
            lambda: self._count_links(outline),
            at_work=outline.running,
        )
        return found or {}

    def _count_links(self, outline: RunOutline) -> Mapping[int, int]:
        ids = self._jobs.lists.failed_ids(outline.project, run=outline.run)
        return self._jobs.reading.linked_from(outline.project, ids, run=outline.run)

    def matching(self, outline: RunOutline, pattern: str) -> RulePreview | None:
        """How much of the queue matches a pattern. UsageError if it is none."""
        jobs = self._jobs
        check_pattern(pattern)
        found: RulePreview | None = self._figures.ask(
            ("matching", outline.project, pattern),
            outline.mark,
            lambda: jobs.preview_rules(outline.project, include=(), exclude=[pattern], max_depth=None),
            at_work=outline.running,
        )
        return found

    def near(self, outline: RunOutline) -> list[list[PageSummary]] | None:
        """Pages with nearly the same text, in groups."""
        found: list[list[PageSummary]] | None = self._figures.ask(
            ("near", outline.project, outline.run),
            outline.mark,
            lambda: self._workspace.near_duplicates(outline.project, run=outline.run),
            at_work=outline.running,
        )
        return found

    def sections(self, outline: RunOutline) -> RunSections:
        """A run by sections, when they are known."""
        found: RunSections | None = self._figures.ask(
            ("sections", outline.project, outline.run),
            outline.mark,
            lambda: self._jobs.reading.sections(outline.project, run=outline.run),
            at_work=outline.running,
            patience_s=None,
        )
        return found or self._jobs.reading.sections(outline.project, run=outline.run)

    def links_of(self, outline: RunOutline, url: str) -> UrlLinks | None:
        found: UrlLinks | None = self._figures.ask(
            ("links", outline.project, outline.run, url),
            outline.mark,
            lambda: self._jobs.reading.links_of(outline.project, url, run=outline.run),
            at_work=outline.running,
        )
        return found


def lists_of(request: Request) -> Lists:
    found: Lists = request.app.state.lists
    return found


def is_at_work(outline: RunOutline) -> bool:
    """Whether the run that is shown is the one that a crawl is working on."""
    return outline.running and outline.runs[:1] == (outline.run,)


def short_of(urls: Iterable[str]) -> dict[str, str]:
    """The hosts of a list as a narrow screen shows them."""
    return short_hosts({host_of(url) for url in urls})


def row_of(text: str) -> int | None:
    """The row that a part of a list begins after; None for the beginning."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise UsageError(f"`after`: {text[:100]!r} is not a key of this list; use the link to its next part")
    return int(text)


@dataclass(frozen=True, slots=True)
class PartLinks:
    """The links to the parts before and after one."""

    previous: str | None
    next: str | None


def parts_of(part: ListPart[Any] | None, path: str, query: Mapping[str, str]) -> PartLinks:
    before = part.previous if part is not None else None
    after = part.next if part is not None else None
    return PartLinks(
        address(path, query, after=str(before or "")) if before is not None else None,
        address(path, query, after=str(after)) if after is not None else None,
    )


def number_of(run: str) -> int | None:
    """The run that a URL names: None for `latest`."""
    if run == "latest":
        return None
    if not (run.isascii() and run.isdecimal() and len(run) < 10):
        raise ProblemRaised(404, "unknown_run", f"{run!r} is not the number of a run, and not `latest`")
    return int(run)


def address(path: str, query: Mapping[str, str], **changes: str | None) -> str:
    """A list with a changed query; an empty value is left out."""
    given = {**query, **changes}
    kept = [(name, value) for name, value in given.items() if value]
    return f"{path}?{urlencode(kept)}" if kept else path


def query_of(query: Mapping[str, str]) -> str:
    return address("", query)


def page_href(project: str, run: int | str, url: str, tab: str = "") -> str:
    """The page of this interface that shows a URL."""
    return address(f"{run_path(project, run)}/page", {"url": url, "tab": tab})


def twin_of(rows: Iterable[Mapping[str, Any]], suffix: str, name: str, following: str | None) -> Response:
    """The rows of a list as JSON or CSV; a `Link` names the rest."""
    if suffix not in ("json", "csv"):
        raise ProblemRaised(404, "not_found", f"a list is .json or .csv, not .{suffix[:20]}")
    response = twin(list(rows), suffix, name)
    if following is not None:
        response.headers["link"] = f'<{following}>; rel="next"'
    return response
