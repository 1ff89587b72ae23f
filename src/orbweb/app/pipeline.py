"""Discovery and scraper on one workspace: which run belongs to which, and the spool between them.

Project `NAME.discovery` finds pages and writes the spool, `NAME` scrapes them; run N of one belongs to run N of
the other. Each project has one owner, who alone writes its files: the spool is discovery's, the bookmark the
scraper's. Lines that a killed discovery did not write are written by the next owner of its project.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from orbweb.app.callbacks import Note, ignore_note
from orbweb.app.directory import SEEDS_FILE, OpenWorkspace, exists, now_us, open_workspace
from orbweb.engine.control import Command, ControlFiles, signals
from orbweb.errors import Busy, NothingToDo, StoreError, UsageError, call, option
from orbweb.frontier import seeds
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark, SpoolLine
from orbweb.frontier.spool.reader import SpoolReader
from orbweb.frontier.spool.source import Ahead, SpoolSource
from orbweb.frontier.spool.writer import SpoolSettings, SpoolWriter
from orbweb.lifecycle import RunState
from orbweb.store import runs, spool_rows, workspace_files
from orbweb.store.runs import DISCOVERY, Project, Run
from orbweb.urls import DEFAULT_RULES

LOOK_S = 0.2

PageType = Callable[[str], str]


def check_role(workspace: OpenWorkspace, name: str) -> None:
    """UsageError if a crawl of this project would interfere with a pipeline."""
    if workspace.discovery_of(name) is not None:
        raise UsageError(
            f"project {name!r} gets its pages from {name + DISCOVERY!r}: use {call('scrape', project=name)}, or "
            f"another {option('project')} to crawl"
        )
    if not name.endswith(DISCOVERY):
        return
    others = [each for each in pipelines(workspace) if each + DISCOVERY != name]
    if others:
        raise UsageError(
            f"the spool of {workspace.path} belongs to project {others[0]!r}; use another {option('workspace')}"
        )
    scraped = runs.find_project(workspace.db, name.removesuffix(DISCOVERY))
    if scraped is not None and workspace.discovery_of(scraped.name) is None:
        raise UsageError(
            f"project {scraped.name!r} was crawled without discovery, so its runs do not match those of one; "
            f"use another {option('project')}"
        )


def pipelines(workspace: OpenWorkspace) -> list[str]:
    """The projects that have a discovery."""
    names = [project.name for project in runs.projects(workspace.db)]
    return [name.removesuffix(DISCOVERY) for name in names if name.endswith(DISCOVERY)]


def pipeline_name(path: Path, urls: Sequence[str], project: str | None, seeds_file: Path | None) -> str:
    """The project that is scraped: as given, derived from the first URL, or the pipeline of the workspace."""
    if project is not None:
        return seeds.check_project_name(project.removesuffix(DISCOVERY))
    known = _known_pipelines(path)
    if not urls and seeds_file is None and len(known) == 1:
        return known[0]
    found = urls or _seeds(path, seeds_file)
    if not found:
        raise UsageError(
            f"give a URL to discover, {option('seeds', 'FILE')}, or {option('project', 'NAME')}; "
            f"{call('configure')} writes a seeds file into a workspace"
        )
    first = seeds.base_urls(found[:1], DEFAULT_RULES)[0].key
    former = seeds.former_name(first)
    return former if former in known else seeds.project_name(first)


def _known_pipelines(path: Path) -> list[str]:
    """The pipelines of the workspace, if it exists."""
    if not exists(path):
        return []
    with open_workspace(path) as workspace:
        return pipelines(workspace)


def _seeds(path: Path, file: Path | None) -> Sequence[str]:
    """The URLs of a seeds file, or of the one in the workspace."""
    if file is None and not (path.is_dir() and workspace_files.check(path, SEEDS_FILE, writes=False)):
        return ()
    return seeds.read_seeds(file or path / SEEDS_FILE, DEFAULT_RULES)


def scraped_name(workspace: OpenWorkspace, given: str | None) -> str:
    """The project to scrape: the one given, or the only one that has a discovery."""
    if given is not None:
        return given.removesuffix(DISCOVERY)
    found = pipelines(workspace)
    if len(found) != 1:
        raise UsageError(
            f"nothing was discovered in this workspace yet: start with {call('discover', 'URL')}, or give a "
            f"{option('project')}"
        )
    return found[0]


def due_run(workspace: OpenWorkspace, name: str) -> Run | None:
    """The run of discovery to scrape now; None if it has not started.

    A completed scrape run is reopened if its discovery has found more since.
    """
    discovery, scraped = workspace.discovery_of(name), runs.find_project(workspace.db, name)
    if discovery is None:
        return None
    latest = runs.latest_run(workspace.db, scraped.id) if scraped else None
    number = latest.number if latest else 1
    if latest is not None and latest.state is RunState.COMPLETED:
        same = _run(workspace, discovery, number)
        if same is not None and _has_unread(workspace, same):
            runs.reopen(workspace.db, latest, now_us())
            return same
        number += 1
    return _run(workspace, discovery, number)


def _run(workspace: OpenWorkspace, discovery: Project, number: int) -> Run | None:
    try:
        return runs.run_of(workspace.db, discovery, number)
    except NothingToDo:
        return None


def _files(workspace: OpenWorkspace, run: Run) -> list[str]:
    """The spool files of a run that exist. One that the database does not know belongs to the current run."""
    known = {file.name: file.run_id for file in spool_rows.files(workspace.db)}
    there = spool_files.names(workspace.path / spool_files.DISCOVERIES)
    return [name for name in there if known.get(name, run.id) == run.id]


def _has_unread(workspace: OpenWorkspace, run: Run) -> bool:
    """Whether there is a complete line after the bookmark; without a bookmark, whether this run wrote the last."""
    files = _files(workspace, run)
    mark = _bookmark(workspace, run, files, ignore_note)
    known = spool_rows.files(workspace.db)
    if mark is None and (not known or known[-1].run_id != run.id):
        return False
    with closing(
        SpoolReader(workspace.path / spool_files.DISCOVERIES, lambda: files, mark, ignore_note)
    ) as reader:
        return bool(reader.take(1))


def _bookmark(workspace: OpenWorkspace, run: Run, files: Sequence[str], note: Note) -> Bookmark | None:
    """Where to continue in the files of a run; None for the first of them."""
    try:
        mark = spool_files.read_bookmark(workspace.path)
    except StoreError as error:
        note(f"{error}; reading the spool from its first file (known URLs are not fetched again)")
        return None
    known = {file.name: file.run_id for file in spool_rows.files(workspace.db)}
    if mark is None or known.get(mark.file, run.id) != run.id:
        return None
    problem = spool_files.usable(workspace.path, mark)
    if problem is not None:
        note(f"the bookmark ({mark.file}, byte {mark.offset}) is unusable: {problem}; reading from the first file")
        return None
    return mark if mark.file in files else None


def outbox(workspace: OpenWorkspace, run_id: int, settings: SpoolSettings, page_type: PageType) -> SpoolWriter:
    """The spool writer of a run of discovery; this process owns the project."""
    return SpoolWriter(workspace.db, workspace.path, run_id, settings, page_type=page_type, clock=time.time)


def write_owed(workspace: OpenWorkspace, project: Project, settings: SpoolSettings, page_type: PageType) -> None:
    """Write the lines that earlier runs of a discovery, killed in between, did not write."""
    for run in runs.runs_of(workspace.db, project.id):
        if spool_rows.is_behind(workspace.db, run.id):
            with closing(outbox(workspace, run.id, settings, page_type)) as owed:
                owed.catch_up()


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How a scraper reads the spool. `follows`: whether to wait for a discovery that is not running."""

    spool: SpoolSettings
    page_type: PageType
    keep: str
    follows: Callable[[], bool]
    note: Note


def feed(workspace: OpenWorkspace, name: str, run: Run, fed: Run, settings: FeedSettings) -> SpoolSource:
    """The source of the run `fed` of a scraper, for one run of discovery."""
    discovery, note = runs.project(workspace.db, name + DISCOVERY), settings.note

    def write_what_is_owed() -> None:
        try:
            with workspace.own(discovery.name):
                write_owed(workspace, discovery, settings.spool, settings.page_type)
        except Busy:
            return

    def ahead() -> Ahead:
        state = runs.run_of(workspace.db, discovery, run.number).state
        alive = workspace.owner(discovery.name) is not None
        if not alive and spool_rows.is_behind(workspace.db, run.id):
            write_what_is_owed()
            return Ahead.MORE
        if state is RunState.COMPLETED:
            return Ahead.MORE if alive and spool_rows.is_behind(workspace.db, run.id) else Ahead.OVER
        return Ahead.MORE if alive or settings.follows() else Ahead.NOTHING

    def lost() -> list[SpoolLine]:
        unfed = spool_rows.unfed(workspace.db, run.id, fed.id)
        found = [spool_files.line_of(each, settings.page_type) for each in unfed]
        if found:
            note(f"{len(found)} discovered pages had no valid line in the spool; taken from the database")
        return found

    directory = workspace.path / spool_files.DISCOVERIES
    start = _bookmark(workspace, run, _files(workspace, run), note)
    reader = SpoolReader(directory, lambda: _files(workspace, run), start, note)
    return SpoolSource(workspace.path, reader, ahead=ahead, lost=lost, keep=settings.keep, clock=time.monotonic)


def wait_for(ready: Callable[[], bool], control: ControlFiles) -> bool:
    """Wait until `ready`; False if a signal or a control file came first."""
    return asyncio.run(_wait_for(ready, control))


async def _wait_for(ready: Callable[[], bool], control: ControlFiles) -> bool:
    received: list[Command] = []
    with signals(received.append):
        while not received and control.command() is None:
            if ready():
                return True
            await asyncio.sleep(LOOK_S)
    return False
