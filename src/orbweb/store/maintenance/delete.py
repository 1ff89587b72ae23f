"""Deletes runs and projects from the database, and the bodies that nothing refers to any more.

Every step leaves a sound workspace: bodies that other runs need are copied before the transaction that deletes
the rest, and files are removed after it. A killed deletion is continued by the next one. The caller owns every
project, so that no crawl knows a body that is about to go.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from orbweb.errors import Busy
from orbweb.failpoints import failpoint
from orbweb.model import Blob
from orbweb.store import body_rows, runs, workspace_files
from orbweb.store.bodies import Location
from orbweb.store.bodies.segments import SegmentStore
from orbweb.store.sqlite import search
from orbweb.store.sqlite.db import Database, load_queries
from orbweb.store.workspace_files import FileModes
from orbweb.store.workspace_paths import AnchoredPath, locate

SEARCH = "search.db"
COMPACTED_PART = 4
"""The database is compacted if at least one page in this many is free."""

_RUN_TABLES = (
    "delete_urls",
    "delete_units",
    "delete_families",
    "delete_visits",
    "delete_pages",
    "delete_outlinks",
    "delete_marks",
    "delete_tallies",
    "delete_outputs",
    "delete_spool_lines",
    "delete_bookmarks",
    "delete_spools",
    "delete_bases",
    "delete_crawls",
    "delete_runs",
)


class Doomed(NamedTuple):
    """What is deleted: runs by their ids, and projects with all of their runs. `owned`: the projects that this
    process owns, which must be all."""

    run_ids: Sequence[int]
    project_ids: Sequence[int]
    owned: Collection[str]


class DeleteQueries(Database):
    """The database with the queries of `delete`, which read whole tables. What is deleted is overwritten."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._queries = {**self._queries, **load_queries("delete.sql")}
        self._connection.execute("PRAGMA secure_delete = ON").fetchall()

    def compact(self) -> None:
        """Give free pages back to the disk if they are many. Without the space for it the file stays as it is."""
        free, pages = self._pragma("freelist_count"), self._pragma("page_count")
        try:
            if free * COMPACTED_PART >= pages:
                self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError:
            return

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])


def delete(root: Path, doomed: Doomed) -> int:
    """Delete from the database and the body store; the bytes that are free now."""
    before = _database_size(root)
    with closing(DeleteQueries(locate(root).index.path)) as db:
        _mark(db, doomed)
        added = _move_living(root, db)
        _delete_rows(db, doomed)
        failpoint("delete_committed")
        removed = _sweep(root, db, doomed.owned)
        search.forget_deleted(root / SEARCH, {run_id for (run_id,) in db.all("run_ids")})
        failpoint("delete_swept")
        db.compact()
    return max(0, removed - added + before - _database_size(root))


def _database_size(root: Path) -> int:
    places = (locate(root).index, AnchoredPath(root, Path(SEARCH)))
    return sum(
        workspace_files.size(place.root, place.name.with_name(f"{place.name.name}{end}")) or 0
        for place in places
        for end in ("", "-wal")
    )


def _mark(db: DeleteQueries, doomed: Doomed) -> None:
    with db.transaction():
        _check_owned(db, doomed.owned)
        db.run("create_doomed")
        db.many("add_doomed", [(run_id,) for run_id in doomed.run_ids])
        db.run("create_living")
        db.run("find_living")


def _check_owned(db: DeleteQueries, owned: Collection[str]) -> None:
    """A crawl of a new project may have started since the others were locked."""
    new = [project.name for project in runs.projects(db) if project.name not in owned]
    if new:
        raise Busy(f"project {new[0]!r} was started meanwhile. Wait for it, then delete again.")


def _move_living(root: Path, db: DeleteQueries) -> int:
    """Copy bodies that are needed out of segments that have others too; the bytes written."""
    segments = [segment for (segment,) in db.all("mixed_segments")]
    heir = db.value("heir")
    if not segments:
        return 0
    store = locate(root).store
    source = SegmentStore(store)
    modes = _modes(store.path / "segments")
    target = SegmentStore(store, allocate=lambda: _allocated(db, heir), modes=modes)
    written = 0
    with closing(source), closing(target):
        for segment in segments:
            moved = list(_copied(db, segment, source, target))
            target.sync()
            with db.transaction():
                db.many("move_body", [(at.segment, at.offset, sha256) for sha256, at in moved])
            written += sum(at.length for _, at in moved)
            failpoint("delete_moved")
    return written


def _modes(folder: Path) -> FileModes:
    """The permissions of the segments that are there, which those with the rest of their bodies get as well."""
    newest = max(folder.glob("*.seg"))
    return FileModes(stat.S_IMODE(newest.stat().st_mode), stat.S_IMODE(folder.stat().st_mode))


def _allocated(db: DeleteQueries, project_id: int) -> int:
    with db.transaction():
        return body_rows.new_segment(db, project_id)


def _copied(
    db: DeleteQueries, segment: int, source: SegmentStore, target: SegmentStore
) -> Iterator[tuple[bytes, Location]]:
    for sha256, *at in db.all("living_in_segment", segment=segment):
        location = Location(*at)
        yield sha256, target.put(Blob(sha256, source.read_frame(sha256, location), location.size))


def _delete_rows(db: DeleteQueries, doomed: Doomed) -> None:
    with db.transaction():
        _check_owned(db, doomed.owned)
        heir = db.value("heir")
        for name in (*_RUN_TABLES, "forget_reused_run", "forget_recalled_run", "lower_horizons"):
            db.run(name)
        for name in ("delete_bodies", "delete_segments", "forget_documents", "delete_heads"):
            db.run(name)
        for project_id in doomed.project_ids:
            db.run("inherit_segments", project_id=project_id, heir=heir)
            db.run("delete_project", id=project_id)


def _sweep(root: Path, db: DeleteQueries, owned: Collection[str]) -> int:
    """Remove the files of bodies that no row refers to; the bytes removed. In a transaction, so that no crawl of a
    new project can begin meanwhile."""
    with db.transaction():
        _check_owned(db, owned)
        store = locate(root).store
        unused = [*_unused_segments(store, db), *_unused_files(store, db)]
        return sum(_removed(store.root, name) for name in unused)


def _unused_segments(store: AnchoredPath, db: DeleteQueries) -> Iterator[Path]:
    used = {f"{number:04d}.seg" for (number,) in db.all("segment_ids")}
    folder = store.name / "segments"
    return (
        folder / name
        for name in workspace_files.names(store.root, folder)
        if name not in used and name.endswith(".seg")
    )


def _unused_files(store: AnchoredPath, db: DeleteQueries) -> Iterator[Path]:
    root, top = store.root, store.name / "html"
    for first in workspace_files.names(root, top):
        for second in workspace_files.names(root, top / first):
            for name in workspace_files.names(root, top / first / second):
                sha256 = _hash(name)
                if sha256 is not None and db.one("body_exists", sha256=sha256) is None:
                    yield top / first / second / name


def _hash(name: str) -> bytes | None:
    """The hash of the body in a file; None if it is not one of ours."""
    stem, _, end = name.partition(".")
    try:
        return bytes.fromhex(stem) if end in ("html", "html.zst") and len(stem) == 64 else None
    except ValueError:
        return None


def _removed(root: Path, name: Path) -> int:
    size = workspace_files.size(root, name) or 0
    workspace_files.unlink(root, name)
    return size
