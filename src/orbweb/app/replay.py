"""The verb `replay`: the output files and the Markdown of a run are rebuilt from stored data, without requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from orbweb.app.callbacks import Count, Note, ignore_progress
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.export import source_of
from orbweb.app.reextract import reextract
from orbweb.app.request import Request, configure
from orbweb.app.session import subject
from orbweb.app.settings import url_rules
from orbweb.errors import StoreError, UsageError
from orbweb.export import Format, export
from orbweb.export.live.catalog import OutputSettings
from orbweb.export.live.rebuild import rebuild
from orbweb.store import runs, workspace_files
from orbweb.store.queries import outline, reports
from orbweb.store.queries.reports import Report
from orbweb.store.runs import DISCOVERY, Project, Run


def replay(
    workspace: OpenWorkspace,
    project: str | None,
    *,
    number: int | None,
    out: Path | None,
    verify: bool,
    on_progress: Count,
    note: Note,
) -> Report:
    """Rebuild the output files and the Markdown of a run; with `verify`, check every stored body first."""
    known = runs.project(workspace.db, project or _only_project(workspace, number))
    with workspace.own(known.name):
        config, _ = configure(known, Request((), project))
        if runs.settle_crashed(workspace.db, known.id, now_us()):
            note("the last crawl was killed; nothing it had committed is lost")
        run, started = runs.run_of(workspace.db, known, number), time.monotonic()
        top = workspace.path if out is None else out
        outputs = subject(workspace, known, run, config)
        damaged = list(_damaged(workspace, run, on_progress)) if verify else []
        read = asyncio.run(reextract(workspace, config, run, everything=False, on_progress=ignore_progress))
        everything = OutputSettings(pages=True, edges=True, metadata=True, raw=config.outputs.raw)
        files = rebuild(outputs, everything, out, on_progress)
        markdown = top / "markdown" if out is not None else top / "markdown" / outputs.files.label
        if out is None:
            workspace_files.make_directory(top, markdown.relative_to(top))
        source = source_of(workspace, known.name, run, url_rules(config), on_progress)
        pages = export(source, Format.MARKDOWN, markdown)
        return {
            "project": known.name,
            "run": run.number,
            "out": str(top),
            "visits": reports.settled(workspace.db, run.id),
            "pages": pages.pages,
            "files": [asdict(file) for file in files],
            "markdown": str(markdown),
            "verified": verify,
            "damaged": damaged,
            "failed": [{"url": url, "problem": problem} for url, problem in read.problems],
            "seconds": round(time.monotonic() - started, 3),
            "workspace": str(workspace.path),
        }


def _only_project(workspace: OpenWorkspace, number: int | None) -> str:
    """The only project of the workspace; of a pipeline, the scraped one; else the only one with bodies in the
    run."""
    known = runs.projects(workspace.db)
    discoveries = {each.name + DISCOVERY for each in known}
    final = [each for each in known if each.name not in discoveries]
    filled = [each for each in known if _keeps_bodies(workspace, each, number)]
    for candidates in (known, final, filled):
        if len(candidates) == 1:
            return candidates[0].name
    names = ", ".join(each.name for each in filled or known)
    raise UsageError(f"choose a project: {workspace.path} has {names or 'none yet'}")


def _keeps_bodies(workspace: OpenWorkspace, project: Project, number: int | None) -> bool:
    if project.name.endswith(DISCOVERY):
        return False
    asked = (run for run in runs.runs_of(workspace.db, project.id) if number in (None, run.number))
    return any(outline.count_bodies(workspace.db, run.id) for run in asked)


def _damaged(workspace: OpenWorkspace, run: Run, on_progress: Count) -> Iterator[Report]:
    """Visits whose stored body does not match its hash; each body is read once."""
    total, known = outline.count_bodies(workspace.db, run.id), dict[bytes, str | None]()
    with workspace.reader() as read:
        for done, body in enumerate(outline.bodies(workspace.db, run.id), 1):
            if body.sha256 not in known:
                known[body.sha256] = _problem(read, body.sha256)
            problem = known[body.sha256]
            if problem is not None:
                yield {"url": body.url, "sha256": body.sha256.hex(), "problem": problem}
            on_progress(done, total)


def _problem(read: Callable[[bytes], bytes], sha256: bytes) -> str | None:
    try:
        read(sha256)
    except StoreError as error:
        return str(error)
    return None
