"""Two services on one workspace: which run of discovery a scraper works for, and what lies between them.

Owns the agreement of the two projects. `NAME.discovery` finds pages and writes the spool, `NAME` scrapes what is
in it; run N of one belongs to run N of the other. Always holds: each project has one owner, who alone writes its
files: the spool is discovery's, the bookmark the scraper's. Lines that a killed discovery owes are written by
whoever owns its project next. Never fetches.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from orbweb.app.control import Workspace, now_us
from orbweb.engine.control import Command, ControlFiles, signals
from orbweb.errors import Busy, NothingToDo, StoreError, UsageError
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark, SpoolLine, SpoolReader, SpoolSettings, SpoolWriter
from orbweb.frontier.spool.source import Ahead, SpoolSource
from orbweb.lifecycle import RunState
from orbweb.store import runs, spool_rows
from orbweb.store.runs import DISCOVERY, Project, Run

LOOK_S = 0.2

Note = Callable[[str], None]
PageType = Callable[[str], str]


def check_role(workspace: Workspace, name: str) -> None:
    """UsageError where a crawl of this project would get in the way of a pipeline."""
    if workspace.discovery_of(name) is not None:
        raise UsageError(
            f"project {name!r} gets its pages from {name + DISCOVERY!r}: use `orbweb scrape --project {name}`, or "
            "another --project to crawl"
        )
    if not name.endswith(DISCOVERY):
        return
    others = [each for each in pipelines(workspace) if each + DISCOVERY != name]
    if others:
        raise UsageError(
            f"the spool of {workspace.path} is that of project {others[0]!r}; use another --workspace for this one"
        )
    scraped = runs.find_project(workspace.db, name.removesuffix(DISCOVERY))
    if scraped is not None and workspace.discovery_of(scraped.name) is None:
        raise UsageError(
            f"project {scraped.name!r} was crawled in one go, and its runs are not those of a discovery; "
            "use another --project"
        )


def pipelines(workspace: Workspace) -> list[str]:
    """The projects that have a discovery."""
    names = [project.name for project in runs.projects(workspace.db)]
    return [name.removesuffix(DISCOVERY) for name in names if name.endswith(DISCOVERY)]


def scraped_name(workspace: Workspace, given: str | None) -> str:
    """The project to scrape: the one that is named, or the only one there is."""
    if given is not None:
        return given.removesuffix(DISCOVERY)
    found = pipelines(workspace)
    if len(found) != 1:
        raise UsageError(
            "nothing was discovered in this workspace yet: `orbweb discover URL`, or name a --project"
        )
    return found[0]


def due_run(workspace: Workspace, name: str) -> Run | None:
    """The run of discovery whose lines are to be scraped now; None if it has not begun.

    A completed scrape run whose discovery found more since is reopened.
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


def _run(workspace: Workspace, discovery: Project, number: int) -> Run | None:
    try:
        return runs.run_of(workspace.db, discovery, number)
    except NothingToDo:
        return None


def _files(workspace: Workspace, run: Run) -> list[str]:
    """The files of a run that are there. One that the database does not know is of the run at hand."""
    known = {file.name: file.run_id for file in spool_rows.files(workspace.db)}
    there = spool_files.names(workspace.path / spool_files.DISCOVERIES)
    return [name for name in there if known.get(name, run.id) == run.id]


def _has_unread(workspace: Workspace, run: Run) -> bool:
    """Whether there is a whole line behind the bookmark; without one, whether this run wrote the last."""
    files = _files(workspace, run)
    mark = _bookmark(workspace, run, files, _silently)
    known = spool_rows.files(workspace.db)
    if mark is None and (not known or known[-1].run_id != run.id):
        return False
    with closing(SpoolReader(workspace.path / spool_files.DISCOVERIES, lambda: files, mark, _silently)) as reader:
        return bool(reader.take(1))


def _silently(_problem: str) -> None:
    """Whoever reads the line next will tell."""


def _bookmark(workspace: Workspace, run: Run, files: Sequence[str], note: Note) -> Bookmark | None:
    """Where to go on in the files of a run; None at the first of them."""
    try:
        mark = spool_files.read_bookmark(workspace.path)
    except StoreError as error:
        note(f"{error}; the spool is read from its first file, and what is known is not fetched again")
        return None
    known = {file.name: file.run_id for file in spool_rows.files(workspace.db)}
    if mark is None or known.get(mark.file, run.id) != run.id:
        return None
    problem = spool_files.usable(workspace.path, mark)
    if problem is not None:
        note(
            f"the bookmark ({mark.file}, byte {mark.offset}) is of no use: {problem}; reading from the first file"
        )
        return None
    return mark if mark.file in files else None


def outbox(workspace: Workspace, run_id: int, settings: SpoolSettings, page_type: PageType) -> SpoolWriter:
    """What a run of discovery writes its lines with; this process owns the project."""
    return SpoolWriter(workspace.db, workspace.path, run_id, settings, page_type=page_type, clock=time.time)


def write_owed(workspace: Workspace, project: Project, settings: SpoolSettings, page_type: PageType) -> None:
    """Write what earlier runs of a discovery, killed at a bad moment, have left unsaid."""
    for run in runs.runs_of(workspace.db, project.id):
        if spool_rows.is_behind(workspace.db, run.id):
            with closing(outbox(workspace, run.id, settings, page_type)) as owed:
                owed.catch_up()


def feed(
    workspace: Workspace,
    name: str,
    run: Run,
    fed: Run,
    *,
    settings: SpoolSettings,
    page_type: PageType,
    keep: str,
    follows: Callable[[], bool],
    note: Note,
) -> SpoolSource:
    """What the run `fed` of a scraper draws from, for one run of discovery."""
    discovery = runs.project(workspace.db, name + DISCOVERY)

    def write_what_is_owed() -> None:
        try:
            with workspace.own(discovery.name):
                write_owed(workspace, discovery, settings, page_type)
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
        return Ahead.MORE if alive or follows() else Ahead.NOTHING

    def lost() -> list[SpoolLine]:
        found = [spool_files.line_of(each, page_type) for each in spool_rows.unfed(workspace.db, run.id, fed.id)]
        if found:
            note(f"{len(found)} pages that were discovered had no sound line in the spool; the database has them")
        return found

    directory = workspace.path / spool_files.DISCOVERIES
    start = _bookmark(workspace, run, _files(workspace, run), note)
    reader = SpoolReader(directory, lambda: _files(workspace, run), start, note)
    return SpoolSource(workspace.path, reader, ahead=ahead, lost=lost, keep=keep, clock=time.monotonic)


def wait_for(ready: Callable[[], bool], control: ControlFiles) -> bool:
    """Wait until something is ready; False if a signal or a control file came first."""
    return asyncio.run(_wait_for(ready, control))


async def _wait_for(ready: Callable[[], bool], control: ControlFiles) -> bool:
    told: list[Command] = []
    with signals(told.append):
        while not told and control.command() is None:
            if ready():
                return True
            await asyncio.sleep(LOOK_S)
    return False
