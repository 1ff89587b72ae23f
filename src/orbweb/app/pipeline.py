"""Discovery and scraper on one workspace: which run belongs to which, and the spool between them.

Project `NAME.discovery` finds pages and writes the spool, `NAME` scrapes them; run N of one belongs to run N of
the other. Each project has one owner, who alone writes its files: the spool is discovery's, the bookmark the
scraper's. Lines that a killed discovery did not write are written by the next owner of its project.

A project without a discovery may be scraped from a spool that another producer writes. It has no base URLs: every
line is visited that the rules allow.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orbweb.app.callbacks import Note, ignore_note
from orbweb.app.directory import SEEDS_FILE, OpenWorkspace, exists, now_us, open_workspace
from orbweb.engine.control import Command, ControlFiles, signals
from orbweb.errors import Busy, NothingToDo, StoreError, UsageError, call, option
from orbweb.frontier import seeds
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark, SpoolLine, SpoolPlace
from orbweb.frontier.spool.reader import SpoolReader
from orbweb.frontier.spool.source import Ahead, Producer, SpoolSource
from orbweb.frontier.spool.writer import Outbox, SpoolSettings, SpoolWriter
from orbweb.lifecycle import RunState
from orbweb.store import runs, spool_rows, workspace_files
from orbweb.store.runs import DISCOVERY, Project, Run
from orbweb.urls import DEFAULT_RULES, UrlRules

LOOK_S = 0.2

PageType = Callable[[str], str]


def check_role(workspace: OpenWorkspace, name: str) -> None:
    """UsageError if a crawl of this project would interfere with a pipeline."""
    if workspace.is_scraped(name):
        source = repr(name + DISCOVERY) if workspace.discovery_of(name) is not None else "a spool"
        raise UsageError(
            f"project {name!r} gets its pages from {source}: use {call('scrape', project=name)}, or "
            f"another {option('project')} to crawl"
        )
    if not name.endswith(DISCOVERY):
        return
    scraped = runs.find_project(workspace.db, name.removesuffix(DISCOVERY))
    if scraped is not None and workspace.discovery_of(scraped.name) is None:
        raise UsageError(
            f"project {scraped.name!r} was crawled without discovery, so its runs do not match those of one; "
            f"use another {option('project')}"
        )


def check_scraped(workspace: OpenWorkspace, name: str, spool: Path | None) -> None:
    """UsageError if a project cannot be scraped from this spool."""
    if workspace.discovery_of(name) is not None and spool is not None:
        raise UsageError(
            f"project {name!r} gets its pages from {name + DISCOVERY!r}: use another {option('project')} for the "
            f"spool {spool}, or leave out {option('spool')}"
        )
    if runs.find_project(workspace.db, name) is not None and not workspace.is_scraped(name):
        raise UsageError(
            f"project {name!r} was crawled, not scraped from a spool; use another {option('project')} to scrape"
        )


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
        return spool_rows.pipelines(workspace.db)


def _seeds(path: Path, file: Path | None) -> Sequence[str]:
    """The URLs of a seeds file, or of the one in the workspace."""
    if file is None and not (path.is_dir() and workspace_files.check(path, SEEDS_FILE, writes=False)):
        return ()
    return seeds.read_seeds(file or path / SEEDS_FILE, DEFAULT_RULES)


# The spool of a scraper.


class Feed(NamedTuple):
    """The spool that a run is scraped from. `discovery` is the run that writes it; None: another producer does."""

    place: SpoolPlace
    discovery: Run | None


def is_spool(path: Path) -> bool:
    """Whether a directory that is not a workspace yet has spool files in it."""
    return path.is_dir() and bool(spool_files.names(spool_files.first_place(path)))


def scraped_name(workspace: OpenWorkspace, given: str | None, spool: Path | None) -> str:
    """The project to scrape: the one given, the only one that has a spool, or one named after the first line."""
    if given is not None:
        return given.removesuffix(DISCOVERY)
    found = spool_rows.pipelines(workspace.db)
    if spool is None and len(found) == 1:
        return found[0]
    if spool is None and found:
        raise UsageError(f"give a {option('project')}: this workspace has several ({', '.join(found)})")
    place = _named_place(spool_files.first_place(workspace.path), spool)
    with closing(SpoolReader(place, lambda: spool_files.names(place), None, ignore_note)) as reader:
        lines = reader.take(1)
    if lines:
        return seeds.project_name(seeds.base_urls([lines[0].line.url], DEFAULT_RULES)[0].key)
    if spool is not None:
        raise NothingToDo(
            f"{spool} has no line to scrape: put a file discoveries-1.jsonl with lines like "
            f'{{"url": "https://example.org/"}} there, or give a {option("project")} to wait for one'
        )
    raise UsageError(
        f"nothing was discovered in this workspace yet: start with {call('discover', 'URL')}, or give a "
        f"{option('project')}"
    )


def _named_place(place: SpoolPlace, spool: Path | None) -> SpoolPlace:
    """The place with the spool that the user named, if any; its `discoveries` folder counts as well."""
    if spool is None:
        return place
    if not spool.is_dir():
        raise UsageError(f"{option('spool')} {spool}: is not a directory; give one with files discoveries-*.jsonl")
    inner = spool / spool_files.DISCOVERIES.name
    return spool_files.elsewhere(place, inner if inner.is_dir() and not inner.is_symlink() else spool)


def due_feed(workspace: OpenWorkspace, name: str, spool: Path | None) -> Feed | None:
    """What is to be scraped now; None if there is nothing.

    A completed run is reopened if its spool has more lines since.
    """
    place = _named_place(workspace.spool_place(name), spool)
    discovery, scraped = workspace.discovery_of(name), runs.find_project(workspace.db, name)
    latest = runs.latest_run(workspace.db, scraped.id) if scraped else None
    if discovery is None:
        return _due_of_others(workspace, Feed(place, None), latest)
    number = latest.number if latest else 1
    if latest is not None and latest.state is RunState.COMPLETED:
        same = _run(workspace, discovery, number)
        if same is not None and _has_unread(workspace, Feed(place, same)):
            runs.reopen(workspace.db, latest, now_us())
            return Feed(place, same)
        number += 1
    found = _run(workspace, discovery, number)
    return Feed(place, found) if found is not None else None


def _due_of_others(workspace: OpenWorkspace, feed: Feed, latest: Run | None) -> Feed | None:
    """The spool of another producer: due if the run is not completed, or if there are more lines."""
    if latest is not None and latest.state is not RunState.COMPLETED:
        return feed
    if not _has_unread(workspace, feed):
        return None
    if latest is not None:
        runs.reopen(workspace.db, latest, now_us())
    return feed


def _run(workspace: OpenWorkspace, discovery: Project, number: int) -> Run | None:
    try:
        return runs.run_of(workspace.db, discovery, number)
    except NothingToDo:
        return None


def _files(workspace: OpenWorkspace, feed: Feed) -> list[str]:
    """The spool files of a run that exist. One that the database does not know belongs to the current run."""
    there = spool_files.names(feed.place)
    if feed.discovery is None:
        return there
    known = {file.name: file.run_id for file in spool_rows.files(workspace.db)}
    return [name for name in there if known.get(name, feed.discovery.id) == feed.discovery.id]


def _has_unread(workspace: OpenWorkspace, feed: Feed) -> bool:
    """Whether there is a complete line after the bookmark; without a bookmark, whether this run wrote the last."""
    files = _files(workspace, feed)
    mark = _bookmark(workspace, feed, files, ignore_note)
    if mark is None and feed.discovery is not None and not _is_latest(workspace, feed.discovery):
        return False
    with closing(SpoolReader(feed.place, lambda: files, mark, ignore_note)) as reader:
        return reader.has_more()


def _is_latest(workspace: OpenWorkspace, run: Run) -> bool:
    """Whether the run wrote the last spool file of its project."""
    ids = {each.id for each in runs.runs_of(workspace.db, run.project_id)}
    own = [file.run_id for file in spool_rows.files(workspace.db) if file.run_id in ids]
    return bool(own) and own[-1] == run.id


def _bookmark(workspace: OpenWorkspace, feed: Feed, files: Sequence[str], note: Note) -> Bookmark | None:
    """Where to continue in the files of a run; None for the first of them."""
    try:
        mark = spool_files.read_bookmark(feed.place)
    except StoreError as error:
        note(f"{error}; reading the spool from its first file (known URLs are not fetched again)")
        return None
    if mark is None or (feed.discovery is not None and _is_of_another(workspace, mark.file, feed.discovery)):
        return None
    problem = spool_files.usable(feed.place, mark)
    if problem is not None:
        note(f"the bookmark ({mark.file}, byte {mark.offset}) is unusable: {problem}; reading from the first file")
        return None
    return mark if mark.file in files else None


def _is_of_another(workspace: OpenWorkspace, file: str, run: Run) -> bool:
    return any(each.name == file and each.run_id != run.id for each in spool_rows.files(workspace.db))


def _begin(workspace: OpenWorkspace, feed: Feed, fed: Run, note: Note) -> tuple[Bookmark | None, Bookmark | None]:
    """Where reading begins, and up to where lines are passed over because the bookmark was set forward by hand."""
    files = _files(workspace, feed)
    mark, stored = _bookmark(workspace, feed, files, note), spool_rows.bookmark(workspace.db, fed.id)
    ours = Bookmark(*stored) if stored is not None else _unstored(workspace, fed, mark)
    if stored is None:
        spool_rows.save_bookmark(workspace.db, fed.id, *ours)
    if mark is None or mark.at <= ours.at:
        return mark, None
    is_there = ours.file in files and spool_files.usable(feed.place, ours) is None
    return ours if is_there else None, mark


def _unstored(workspace: OpenWorkspace, fed: Run, mark: Bookmark | None) -> Bookmark:
    """Before a run is scraped it has no bookmark of ours; one of an earlier version has that of the file."""
    is_new = len(runs.crawls_of(workspace.db, fed.id)) == 1
    return Bookmark("", 0) if is_new or mark is None else mark


# The two ends of the spool.


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """How discovery writes the spool. `has_room`: whether the backlog allows another group of lines."""

    spool: SpoolSettings
    page_type: PageType
    has_room: Callable[[], bool]


def outbox(workspace: OpenWorkspace, project: Project, run: Run, settings: WriteSettings) -> Outbox:
    """The writers of a run of discovery and of earlier ones that are behind; this process owns the project."""
    place = _claimed(workspace, project.name)
    behind = [
        each for each in runs.runs_of(workspace.db, project.id) if spool_rows.is_behind(workspace.db, each.id)
    ]
    ids = dict.fromkeys([*(each.id for each in behind if each.id < run.id), run.id])
    return Outbox([_writer(workspace, place, run_id, settings) for run_id in ids])


def _writer(workspace: OpenWorkspace, place: SpoolPlace, run_id: int, settings: WriteSettings) -> SpoolWriter:
    return SpoolWriter(
        workspace.db,
        place,
        run_id,
        settings.spool,
        page_type=settings.page_type,
        has_room=settings.has_room,
        clock=time.time,
    )


def _claimed(workspace: OpenWorkspace, project: str) -> SpoolPlace:
    """The place of a pipeline, which it keeps from now on."""
    place = workspace.spool_place(project)
    workspace_files.make_directory(place.root, place.discoveries)
    return place


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How a scraper reads the spool. `follows`: whether to wait for a discovery that is not running."""

    writing: WriteSettings
    rules: UrlRules
    keep: str
    follows: Callable[[], bool]
    note: Note


def source(workspace: OpenWorkspace, name: str, feed: Feed, fed: Run, settings: FeedSettings) -> SpoolSource:
    """The source of the run `fed` of a scraper."""
    _claimed(workspace, name)
    start, skip_to = _begin(workspace, feed, fed, settings.note)
    reader = SpoolReader(feed.place, lambda: _files(workspace, feed), start, settings.note, settings.rules)
    producer = (
        _others(workspace, fed, settings)
        if feed.discovery is None
        else _discovery(workspace, name, feed.discovery, fed, settings)
    )
    return SpoolSource(feed.place, reader, producer, skip_to=skip_to, keep=settings.keep, clock=time.monotonic)


def _others(workspace: OpenWorkspace, fed: Run, settings: FeedSettings) -> Producer:
    """A producer of which nothing is known: what is in the spool is all, unless it is followed."""
    return Producer(
        ahead=lambda: Ahead.MORE if settings.follows() else Ahead.OVER,
        lost=list,
        on_mark=lambda mark: spool_rows.save_bookmark(workspace.db, fed.id, *mark),
    )


def _discovery(workspace: OpenWorkspace, name: str, run: Run, fed: Run, settings: FeedSettings) -> Producer:
    discovery = runs.project(workspace.db, name + DISCOVERY)

    def write_what_is_owed() -> None:
        try:
            with (
                workspace.own(discovery.name),
                closing(outbox(workspace, discovery, run, settings.writing)) as owed,
            ):
                owed.catch_up()
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
        found = [spool_files.line_of(each, settings.writing.page_type) for each in unfed]
        if found:
            settings.note(f"{len(found)} discovered pages had no valid line in the spool; taken from the database")
        return found

    return Producer(ahead, lost, lambda mark: spool_rows.save_bookmark(workspace.db, fed.id, *mark))


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
