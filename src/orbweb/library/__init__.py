"""orbweb from Python: the verbs of the command line as functions that return typed records.

Owns the names of the options and what a crawl gives back. Always holds: an option has the name it has on the
command line, with underscores, and what is given is stored with the project as it is there. Sync outside, async
inside; any thread may call, and each call opens and closes the workspace for itself. Never prints: what the
command line would note goes to the logger `orbweb`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal, Unpack

from orbweb.app import Request, configure, validate_policy
from orbweb.export import Exported
from orbweb.library.crawls import Crawls, Progress
from orbweb.library.options import (
    CrawlOptions,
    PolicyOptions,
    ResumeOptions,
    check_names,
    config_file,
    settings_of,
)
from orbweb.library.records import Records
from orbweb.library.reports import Reports
from orbweb.library.results import BaseResult, CrawlResult, ExtractResult
from orbweb.library.steering import Steering
from orbweb.store.queries.reports import Report

__all__ = [
    "BaseResult",
    "CrawlOptions",
    "CrawlResult",
    "Exported",
    "ExtractResult",
    "ResumeOptions",
    "Workspace",
    "crawl",
    "open",
]

DEFAULT_WORKSPACE = "orbweb-data"


def crawl(
    urls: str | Sequence[str],
    *,
    workspace: str | PathLike[str] = DEFAULT_WORKSPACE,
    project: str | None = None,
    on_progress: Progress | None = None,
    **options: Unpack[CrawlOptions],
) -> CrawlResult:
    """Crawl a site into the workspace, or go on with a paused run.

    `on_progress` is called several times a second with a Snapshot; what it raises ends the crawl, and the run
    can be resumed.
    """
    return Workspace(Path(workspace)).crawl(urls, project=project, on_progress=on_progress, **options)


def open(workspace: str | PathLike[str] = DEFAULT_WORKSPACE) -> Workspace:  # noqa: A001
    """The verbs of a workspace. The directory is made by the first crawl."""
    return Workspace(Path(workspace))


@dataclass(frozen=True, slots=True)
class Workspace(Crawls, Steering, Reports, Records):
    """A directory that holds everything, with the verbs of the command line. Reports are those of `--json`."""

    def configure(self, *, profile: Literal["docs", "site", "github"] = "docs", force: bool = False) -> Report:
        """Write settings to edit, a file of seeds and the folders of the workspace."""
        return configure.configure(self.path, profile, force=force)

    def validate_policy(
        self,
        urls: str | Sequence[str] = (),
        *,
        file: str | PathLike[str] | None = None,
        **options: Unpack[PolicyOptions],
    ) -> list[Report]:
        """What the policy says of each URL, those of the file first; by orbweb.yaml if no settings are named."""
        given = dict(options)
        check_names(given, PolicyOptions.__optional_keys__)
        asked = (urls,) if isinstance(urls, str) else tuple(urls)
        request = Request((), None, config_file(given), settings_of(given))
        return validate_policy.validate(request, asked, None if file is None else Path(file), beside=self.path)

    def reset(self) -> Report:
        """Wipe everything that crawls left; settings and seeds stay. Busy while one is running."""
        return configure.reset(self.path)
