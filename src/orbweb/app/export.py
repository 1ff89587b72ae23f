"""The verb `export`: the pages of a run become files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from orbweb.app.callbacks import Count
from orbweb.app.configure import check_outside
from orbweb.app.directory import OpenWorkspace
from orbweb.app.request import Request, configure
from orbweb.app.session import subject
from orbweb.app.settings import url_rules
from orbweb.errors import UsageError, option
from orbweb.export import Exported, ExportSource, Format
from orbweb.export import export as write_files
from orbweb.store import runs
from orbweb.store.runs import Run
from orbweb.urls import UrlRules

ONE_FILE = (Format.JSONL, Format.CSV, Format.ZIP)


def check_format(to: str, out: Path | IO[bytes], workspace: Path) -> Format:
    """The format; UsageError if there is none of that name, or if it would overwrite a file of the workspace."""
    if to not in list(Format):
        raise UsageError(f"{option('to')}: unknown format {to!r}; choose one of {', '.join(Format)}")
    if isinstance(out, Path) and to in ONE_FILE:
        check_outside(workspace, out)
    return Format(to)


def export(
    workspace: OpenWorkspace,
    project: str,
    to: Format,
    out: Path | IO[bytes],
    number: int | None,
    *,
    raw: bool,
    on_progress: Count,
) -> Exported:
    """Write the pages of a run to a folder, a file or a stream."""
    known = runs.project(workspace.db, project)
    run = runs.run_of(workspace.db, known, number)
    config, _ = configure(known, Request())
    page_type = subject(workspace, known, run, config).page_type
    source = source_of(workspace, project, run, url_rules(config), on_progress, page_type)
    return write_files(source, to, out, raw=raw)


def source_of(
    workspace: OpenWorkspace,
    project: str,
    run: Run,
    rules: UrlRules,
    on_progress: Count,
    page_type: Callable[[str], str] = lambda _key: "page",
) -> ExportSource:
    """A run as exporters read it. URL rules and page types are those of the project."""
    return ExportSource(
        workspace.db,
        project,
        run.id,
        run.number,
        rules,
        workspace.body,
        on_progress,
        workspace.paths.store,
        page_type,
    )
