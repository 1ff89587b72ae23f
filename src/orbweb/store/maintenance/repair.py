"""Repairs the damage that `doctor` finds.

Before anything is removed, a copy is in `quarantine/`. A URL whose record cannot be trusted returns to the queue,
because only fetching it again gives a correct record; no value is guessed. Only a document is extracted again from
its body, of which it is a function. The caller owns every project.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from orbweb.errors import StoreError
from orbweb.model import PackedDocument
from orbweb.store import runs, unit_times
from orbweb.store.bodies import Location
from orbweb.store.bodies.files import FileStore
from orbweb.store.bodies.segments import RECORD_HEADER_BYTES, SegmentStore
from orbweb.store.durable import make_home, sync_directory, sync_file
from orbweb.store.maintenance.doctor import (
    SEARCH,
    BrokenBody,
    Count,
    Damage,
    DoctorQueries,
    Findings,
    UnreadPage,
    body_files,
    database_path,
    examine,
    project_names,
)
from orbweb.store.maintenance.restore import Census, Journal, Loss, census, losses, lost_projects, restore
from orbweb.store.maintenance.row_checks import misfit
from orbweb.store.runs import Base
from orbweb.store.sqlite import search
from orbweb.store.sqlite.db import Database
from orbweb.store.sqlite.rebuild import rebuild, replace_file
from orbweb.store.workspace_files import DATABASE
from orbweb.store.workspace_paths import locate
from orbweb.urls import canonicalize

ROUNDS = 4

Read = Callable[[str, str | None, bytes], PackedDocument | None]

_CORRECTIONS = (
    "forget_stray_visits",
    "forget_stray_pages",
    "forget_documents",
    "forget_heads",
    "forget_stray_outlinks",
    "forget_lost_referrers",
    "forget_tallies",
    "recount_tallies",
    "recount_base_pages",
    "mend_counters",
    "crash_contradicting_crawls",
    "pause_contradicting_runs",
    "complete_empty_runs",
    "recount_crawls",
)
_RUN_TABLES = (
    "forget_run_urls",
    "forget_run_units",
    "forget_run_visits",
    "forget_run_pages",
    "forget_run_outlinks",
    "forget_run_bases",
    "forget_run_crawls",
    "forget_run_tallies",
    "forget_run_spool_lines",
    "forget_run_bookmark",
    "forget_run_outputs",
    "forget_run",
)


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The result of a repair: `left` could not be repaired, `lost` is lost for good, `forgettable` is damage of
    files that can be rebuilt without loss."""

    damages: tuple[Damage, ...]
    left: tuple[Damage, ...]
    requeued: int
    quarantine: Path | None
    forgettable: tuple[Damage, ...] = ()
    lost: tuple[Loss, ...] = ()


def unrepaired(found: Findings) -> RepairReport:
    """The report of an examination without repair."""
    return RepairReport(tuple(found.damages), tuple(found.damages), 0, None, tuple(found.forgettable))


@dataclass(slots=True)
class LossAccount:
    """What the runs had when they were first examined, and the known losses."""

    journals: Sequence[Journal]
    locks: Sequence[str]
    before: Census | None = None
    lost: list[Loss] = field(default_factory=list)

    def open(self, db: Database, root: Path, now: int, *, rebuilt: bool) -> None:
        """Restore and count, once."""
        if self.before is None:
            self.lost += restore(db, root, self.journals, self.locks, now, rebuilt=rebuilt)
            self.before = census(db)

    def close(self, db: Database, requeued: int) -> tuple[Loss, ...]:
        if self.before is None:
            return tuple(self.lost)
        counted = losses(self.before, census(db), self.journals, partial(_keys, db), requeued)
        return (*lost_projects(db, self.locks), *self.lost, *counted)


def _keys(db: Database, project: str, number: int) -> set[str]:
    """The current keys of a run; empty if it is gone."""
    found = runs.find_project(db, project)
    ids = [run.id for run in runs.runs_of(db, found.id) if run.number == number] if found else []
    return {key for run_id in ids for (key,) in db.each("run_keys", run_id=run_id)}


def repair(
    root: Path,
    read: Read,
    journals: Sequence[Journal],
    now: int,
    on_progress: Count = lambda _done, _total: None,
) -> RepairReport:
    """Repair in rounds: each examines again, because a repair may reveal damage that another hid.

    `read` extracts the document of a page from its URL, content type and body.
    """
    quarantine = Quarantine(root, root / "quarantine" / str(now))
    account = LossAccount(journals, project_names(root))
    named: dict[Damage, None] = {}
    requeued: set[tuple[int, int]] = set()
    found = examine(root, on_progress)
    forgettable = tuple(found.forgettable)
    for name in {damage.file for damage in forgettable}:
        quarantine.move(name, f"{name}-wal", f"{name}-shm")
    for _ in range(ROUNDS):
        if not found.damages:
            break
        named.update(dict.fromkeys(found.damages))
        quarantine.note(found.damages)
        requeued |= _repair_round(root, found, quarantine, read, account, now)
        found = examine(root, on_progress)
    lost: tuple[Loss, ...] = ()
    if named:
        search.remove_index(root / SEARCH)
    if named and not found.files:
        with closing(DoctorQueries(database_path(root))) as db:
            lost = account.close(db, len(requeued))
    path = quarantine.path if named or forgettable else None
    return RepairReport(tuple(named), tuple(found.damages), len(requeued), path, forgettable, lost)


def _repair_round(
    root: Path, found: Findings, quarantine: Quarantine, read: Read, account: LossAccount, now: int
) -> set[tuple[int, int]]:
    if DATABASE in found.files:
        return _rebuild(root, quarantine, account, now)
    if account.before is None:
        with closing(DoctorQueries(database_path(root))) as db:
            account.open(db, root, now, rebuilt=False)
        found = examine(root)
    with closing(DoctorQueries(database_path(root))) as db:
        for body in found.bodies:
            quarantine.move_body(body)
        for sha256 in found.documents:
            quarantine.copy_document(sha256, db.value("frame_of", sha256=sha256))
        documents = _extract_again(root, db, found, read)
        with db.transaction():
            for sha256 in found.documents:
                db.run("forget_document", sha256=sha256)
            db.many("add_document", [document for _, document in documents])
            for page, document in documents:
                db.run(
                    "put_document",
                    run_id=page.run_id,
                    content_sha256=page.content_sha256,
                    document=document.sha256,
                )
            for number in found.heads:
                db.run("forget_head", id=number)
            for visit in found.headless:
                db.run("forget_visit_head", run_id=visit.run_id, url_id=visit.url_id)
            for body in found.bodies:
                db.run("forget_body", sha256=body.sha256)
            for number in found.segments:
                db.run("extend_segment", segment=number, committed=0)
            _requeue(db, found.reopened, now)
            _correct(db, now)
        _restart(db, [run_id for run_id, _, _ in db.all("lost_runs")], now)
    return set(found.reopened)


def _extract_again(
    root: Path, db: Database, found: Findings, read: Read
) -> list[tuple[UnreadPage, PackedDocument]]:
    """The lost documents, extracted from their bodies; a page whose body is lost as well returns to the queue."""
    documents = []
    store = locate(root).store
    segments, files = SegmentStore(store), FileStore(store)
    with closing(segments), closing(files):
        for page in found.unread:
            row = db.one("body_location", sha256=page.body_sha256)
            location = Location(*row) if row else Location(None, None, 0, 0)
            try:
                body = (files if location.segment is None else segments).read(page.body_sha256, location)
                document = read(page.final_url or page.url, page.content_type, body)
            except StoreError:
                document = None
            if document is None:
                found.reopened[page.run_id, page.url_id] = page.url
            else:
                documents.append((page, document))
    return documents


def _requeue(db: Database, reopened: Iterable[tuple[int, int]], now: int) -> None:
    """Return URLs to the queue, each with a new rank at the end, as if they had never been visited."""
    db.run("mend_counters")
    ranks: dict[int, int] = {}
    for run_id, url_id in reopened:
        rank = ranks.get(run_id)
        if rank is None:
            rank = db.value("next_rank", run_id=run_id)
            unit_times.record(db, run_id, now)
        db.run("reopen_url", run_id=run_id, id=url_id, rank=rank)
        db.run("forget_visit", run_id=run_id, url_id=url_id)
        db.run("forget_page", run_id=run_id, url_id=url_id)
        db.run("forget_outlinks", run_id=run_id, url_id=url_id)
        ranks[run_id] = rank + 1


def _correct(db: Database, now: int) -> None:
    """Make counters and states agree with the URLs; changes nothing if they do."""
    while (lost := db.one("lost_base_urls")) is not None:
        run_id, number, url, next_url, next_rank = lost
        key = canonicalize(url) or url
        row = runs.initial_url(number, key, url, "")
        unit_times.record(db, run_id, now, next_url=next_url + 1)
        db.many("add_url", [row._replace(run_id=run_id, id=next_url, rank=next_rank)])
        db.run("mend_counters")
    for run_id, _, _ in db.all("lost_crawls"):
        _restore_crawls(db, run_id)
    for name in _CORRECTIONS:
        db.run(name)


def _restore_crawls(db: Database, run_id: int) -> None:
    known = {crawl.id: crawl.number for crawl in runs.crawls_of(db, run_id)}
    numbers = (number for number in range(1, 1 << 31) if number not in known.values())
    for crawl_id, visited, failed, pages, size, first, last in db.all("crawl_totals", run_id=run_id):
        if crawl_id not in known:
            own = _own_crawl(db, run_id, crawl_id)
            _restore_crawl(db, run_id, own, next(numbers), (visited, failed, pages, size, first, last))
    if not runs.crawls_of(db, run_id):
        _restore_crawl(db, run_id, db.value("next_crawl"), 1, (0, 0, 0, 0, 0, 0))


def _own_crawl(db: Database, run_id: int, crawl_id: int) -> int:
    """The id of a restored crawl: a new one if another run has this crawl, by its row or by its visits."""
    if not db.value("crawl_of_another_run", run_id=run_id, crawl_id=crawl_id):
        return crawl_id
    own = int(db.value("next_crawl"))
    db.run("renumber_crawl", run_id=run_id, crawl_id=crawl_id, own=own)
    return own


def _restore_crawl(db: Database, run_id: int, crawl_id: int, number: int, totals: tuple[int, ...]) -> None:
    names = ("visited", "failed", "pages", "bytes", "started_at", "updated_at")
    db.run("restore_crawl", id=crawl_id, run_id=run_id, number=number, **dict(zip(names, totals, strict=True)))


def _restart(db: Database, lost: Iterable[int], now: int) -> None:
    """Drop unusable runs; a project left without a run starts a new one from its base URLs."""
    with db.transaction():
        for run_id in lost:
            for name in _RUN_TABLES:
                db.run(name, run_id=run_id)
    for project in runs.projects(db):
        if runs.latest_run(db, project.id) is None:
            keys = [canonicalize(url) or url for url in project.bases]
            bases = [Base(at, url, key) for at, (url, key) in enumerate(zip(project.bases, keys, strict=True))]
            rows = [runs.initial_url(base.number, base.scope_key, base.url, "") for base in bases]
            runs.start_run(db, project, bases, rows, None, now)
            runs.settle_crashed(db, project.id, now)


def _rebuild(root: Path, quarantine: Quarantine, account: LossAccount, now: int) -> set[tuple[int, int]]:
    """Rebuild the database from every valid row, unless no project is left."""
    database = database_path(root)
    rebuilt = database.with_name(f"{database.name}.rebuilt")
    rebuilt.unlink(missing_ok=True)
    lost = rebuild(database, rebuilt, misfit)
    with closing(DoctorQueries(rebuilt)) as db:
        with_rows = {run_id for (run_id,) in db.all("run_ids")}
        account.open(db, root, now, rebuilt=True)
        is_empty = not runs.projects(db)
        requeued = _correct_rebuilt(db, {flaw.table for flaw in lost}, with_rows, now)
    if is_empty:
        rebuilt.unlink()
        return set()
    quarantine.copy(str(database), f"{database}-wal")
    replace_file(database, rebuilt)
    return requeued


def _correct_rebuilt(db: Database, lost_from: set[str], with_rows: set[int], now: int) -> set[tuple[int, int]]:
    """Lost links leave no trace, so every page without a link record is fetched again, except those of a run that
    was restored from its journal alone, whose visits would be lost."""
    _restart(db, [run_id for run_id, _, _ in db.all("lost_runs")], now)
    requeued: set[tuple[int, int]] = set()
    if "outlinks" in lost_from:
        requeued = {(run_id, url_id) for run_id, url_id in db.all("pages_without_outlinks") if run_id in with_rows}
    with db.transaction():
        _requeue(db, sorted(requeued), now)
    return requeued


class Quarantine:
    """One folder of `quarantine/`: the files that a repair removed, and a note for each damage."""

    def __init__(self, root: Path, path: Path) -> None:
        self._root = root
        self.path = path

    def note(self, damages: Iterable[Damage]) -> None:
        self._make()
        with (self.path / "notes.jsonl").open("a", encoding="utf-8") as notes:
            for damage in damages:
                notes.write(json.dumps(damage.report(), ensure_ascii=False) + "\n")

    def _make(self) -> None:
        make_home(self.path)

    def copy(self, *names: str) -> None:
        """Copy files of the workspace; the copies are durable before anything is removed."""
        self._make()
        for name in names:
            if (self._root / name).exists():
                shutil.copy2(self._root / name, self.path / Path(name).name)
                sync_file(self.path / Path(name).name)
        sync_directory(self.path)

    def move(self, *names: str) -> None:
        self._make()
        for name in names:
            if (self._root / name).exists():
                shutil.move(self._root / name, self.path / Path(name).name)

    def copy_document(self, sha256: bytes, frame: bytes) -> None:
        (self.path / f"{sha256.hex()}.document").write_bytes(frame)

    def move_body(self, body: BrokenBody) -> None:
        """Move a file, so that a new one is written; of a segment, which stays, copy the record."""
        segment, offset, length, _ = body.location
        if segment is None or offset is None:
            for path in body_files(self._root, body.sha256):
                shutil.move(path, self.path / path.name)
            return
        path = locate(self._root).store.path / "segments" / f"{segment:04d}.seg"
        start = max(0, offset - RECORD_HEADER_BYTES)
        end = min(offset + length, path.stat().st_size if path.exists() else 0)
        if start < end:
            with path.open("rb") as stream:
                stream.seek(start)
                (self.path / f"{body.sha256.hex()}.record").write_bytes(stream.read(end - start))
