"""The directory of a workspace: its files, and the parts that crawling needs.

Owns the layout of the directory. Always holds: it and its databases are for their owner only, and a database that
an earlier orbweb made is upgraded before it is opened.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orbweb.engine.control import ControlFiles, ControlKind
from orbweb.errors import OlderWorkspace, StoreError, UsageError
from orbweb.store import runs, workspace_files
from orbweb.store.bodies import BodyStore, Location
from orbweb.store.bodies.files import FileStore
from orbweb.store.bodies.segments import SegmentStore
from orbweb.store.captures import CaptureTerms, StoredCaptures
from orbweb.store.durable import make_home
from orbweb.store.lock import OwnerLock, owner_pid
from orbweb.store.runs import DISCOVERY, Project, RequestProfile, Run
from orbweb.store.sqlite.db import Database
from orbweb.store.sqlite.limiter import SqliteLimiter
from orbweb.store.workspace_files import DATABASE

if TYPE_CHECKING:
    from orbweb.store.sqlite.upgrade import UpgradePlan

CONFIG_FILE = "orbweb.yaml"
SEEDS_FILE = "seeds.txt"

_log = logging.getLogger("orbweb")


def exists(path: Path) -> bool:
    """Whether there is a workspace."""
    return path.is_dir() and workspace_files.exists(path, DATABASE)


def check_database(path: Path) -> bool:
    """Whether the file of a database is there; ForeignFile if a link is in its place, or beside it where SQLite
    puts its own files."""
    for beside in ("-wal", "-shm", "-journal"):
        workspace_files.check(path.parent, f"{path.name}{beside}")
    return workspace_files.check(path.parent, path.name)


def make_private(path: Path) -> None:
    """Make the file of a database, for its owner only, before SQLite makes it for everyone."""
    if not check_database(path):
        with contextlib.suppress(FileExistsError):
            os.close(workspace_files.open_file(path.parent, path.name, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        workspace_files.check(path.parent, path.name)


def _database(path: Path, plan: UpgradePlan | None) -> Database:
    """The database, upgraded first if an earlier orbweb made it."""
    schema = plan.schema if plan else None
    try:
        return Database(path, version=schema)
    except OlderWorkspace:
        upgrade_database(path, plan)
    return Database(path, version=schema)


def upgrade_database(path: Path, plan: UpgradePlan | None) -> None:
    from orbweb.store.sqlite import upgrade

    upgrade.upgrade(path, plan or upgrade.plan(), _log.warning)


class WorkspaceDirectory:
    """A workspace as crawling needs it: its database, locks, control files and bodies."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        blank: bool = False,
        limits_of: Path | None = None,
        bodies_of: Path | None = None,
        plan: UpgradePlan | None = None,
    ) -> None:
        """`blank`: as if it were made and empty; nothing is. `limits_of`: another workspace, if it exists, whose
        rate limiter counts. `bodies_of`: another one which has the captured bodies. `plan`: how an earlier version
        becomes today's."""
        self.path = path
        self._captured = (bodies_of or path) / "store"
        self._limits = limits_of if limits_of is not None and (limits_of / "limiter.db").exists() else path
        if blank:
            self.db = Database(Path(":memory:"))
            return
        database = path / DATABASE
        if not create and not exists(path):
            raise UsageError(
                f"{path} is not an orbweb workspace. Crawl something into it, or name one: --workspace DIR"
            )
        try:
            make_home(path)
        except OSError as error:
            raise StoreError(f"{path}: cannot be used as a workspace: {error.strerror}") from error
        check_database(database)
        self.db = _database(database, plan)

    def close(self) -> None:
        self.db.close()

    def own(self, project: str) -> OwnerLock:
        """Become the one owner of the project, or Busy."""
        return OwnerLock(self.path / "locks", project)

    def owner(self, project: str) -> int | None:
        return owner_pid(self.path / "locks", project)

    def idle_but_for(self, project_id: int) -> bool:
        """Whether no crawl of another project is at work."""
        return not any(self.owner(project.name) for project in runs.projects(self.db) if project.id != project_id)

    def control(self, project: str, kind: ControlKind | None = None) -> ControlFiles:
        found = ControlKind.SCRAPER if self.discovery_of(project) else ControlKind.CRAWLER
        return ControlFiles(self.path, project, kind or found)

    def discovery_of(self, project: str) -> Project | None:
        """The project that finds what this one scrapes; None if this one finds its pages itself."""
        return runs.find_project(self.db, project + DISCOVERY)

    def run(self, project: str, number: int | None = None) -> Run:
        return runs.run_of(self.db, runs.project(self.db, project), number)

    def limiter(self) -> SqliteLimiter:
        make_private(self._limits / "limiter.db")
        return SqliteLimiter(self._limits / "limiter.db")

    def segment_writer(self, project_id: int) -> SegmentStore:
        """The project's segments, opened where its last commit left them."""
        latest = self.db.one("latest_segment", project_id=project_id)
        return SegmentStore(
            self.path / "store",
            allocate=lambda: self._new_segment(project_id),
            resume=(latest[0], latest[1]) if latest else None,
        )

    def _new_segment(self, project_id: int) -> int:
        with self.db.transaction():
            return int(self.db.value("add_segment", project_id=project_id))

    def file_writer(self, project_id: int, *, compress: bool, file_mode: int) -> FileStore:
        return FileStore(
            self.path / "store", writer=f"project-{project_id}", compress=compress, file_mode=file_mode
        )

    def captures(
        self, run: Run, manner: RequestProfile, extractor: int, *, only: int | None = None
    ) -> StoredCaptures:
        """What a run may reuse of what earlier ones captured, or that one alone."""
        terms = CaptureTerms(
            run.project_id, run.horizon, manner.asked_as, manner.read_with, extractor=extractor, only=only
        )
        return StoredCaptures(self.db, self._captured, terms)

    def body(self, sha256: str) -> bytes:
        """A stored body, verified."""
        with self.reader() as read:
            return read(bytes.fromhex(sha256))

    @contextmanager
    def reader(self) -> Iterator[Callable[[bytes], bytes]]:
        """Reads bodies by their hash, verified, whichever layout they are in."""
        segments, files = SegmentStore(self.path / "store"), FileStore(self.path / "store")

        def read(sha256: bytes) -> bytes:
            row = self.db.one("body_location", sha256=sha256)
            if row is None:
                raise StoreError(f"body {sha256.hex()} is not in {self.path}")
            location = Location(*row)
            store: BodyStore = files if location.segment is None else segments
            return store.read(sha256, location)

        with closing(segments), closing(files):
            yield read

    def free_space(self) -> int:
        """Bytes that can still be written."""
        return shutil.disk_usage(self.path).free
