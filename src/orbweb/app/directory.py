"""An open workspace: its files, database, locks, control files and bodies.

The directory and its databases are readable by their owner only. A database of an earlier version is upgraded
before it is opened.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbweb.app.consent_store import PRIVATE, ConsentStore, folder
from orbweb.engine.control import ControlFiles, ControlKind
from orbweb.errors import CorruptBody, OlderWorkspace, StoreError, UsageError, call, option
from orbweb.frontier.spool import files as spool_files
from orbweb.store import Store, body_rows, runs, workspace_files
from orbweb.store.bodies import BodyStore, Location
from orbweb.store.bodies.files import FileStore
from orbweb.store.bodies.segments import SegmentStore
from orbweb.store.captures import CaptureTerms, StoredCaptures
from orbweb.store.durable import make_home
from orbweb.store.lock import OwnerLock, owner_pid
from orbweb.store.queries.reports import Report
from orbweb.store.runs import DISCOVERY, Project, RequestProfile, Run
from orbweb.store.server_rows import ServerStore
from orbweb.store.sqlite.db import Database
from orbweb.store.sqlite.limiter import SqliteLimiter
from orbweb.store.sqlite.run_store import SqliteStore
from orbweb.store.sqlite.server_store import SqliteServerStore
from orbweb.store.workspace_files import DATABASE

if TYPE_CHECKING:
    from orbweb.store.sqlite.upgrade import UpgradePlan

CONFIG_FILE = "orbweb.yaml"
SEEDS_FILE = "seeds.txt"
SERVER_DATABASE = "server.db"

_log = logging.getLogger("orbweb")


def now_us() -> int:
    """UTC microseconds."""
    return time.time_ns() // 1000


def exists(path: Path) -> bool:
    """Whether there is a workspace."""
    return path.is_dir() and workspace_files.exists(path, DATABASE)


def check_database(path: Path) -> bool:
    """Whether the database file exists; ForeignFile if it, or a file that SQLite puts beside it, is a link."""
    for beside in ("-wal", "-shm", "-journal"):
        workspace_files.check(path.parent, f"{path.name}{beside}")
    return workspace_files.check(path.parent, path.name)


def make_private(path: Path) -> None:
    """Create the database file for its owner only, before SQLite creates it readable by everyone."""
    if not check_database(path):
        with contextlib.suppress(FileExistsError):
            os.close(workspace_files.open_file(path.parent, path.name, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        workspace_files.check(path.parent, path.name)


def _database(path: Path, plan: UpgradePlan | None) -> Database:
    """The database, upgraded first if an earlier version created it."""
    schema = plan.schema if plan else None
    try:
        return Database(path, version=schema)
    except OlderWorkspace:
        upgrade_database(path, plan)
    return Database(path, version=schema)


def upgrade_database(path: Path, plan: UpgradePlan | None) -> None:
    from orbweb.store.sqlite import upgrade

    upgrade.upgrade(path, plan or upgrade.plan(), _log.warning)


def upgrade_if_older(path: Path) -> None:
    """Upgrade the database of a workspace that is not opened otherwise."""
    from orbweb.store.sqlite import upgrade
    from orbweb.store.sqlite.schema import current_schema

    if upgrade.is_older(path / DATABASE, current_schema()):
        upgrade_database(path / DATABASE, None)


class OpenWorkspace:
    """The directory of a workspace with its database open; the caller closes it."""

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
        """`blank`: an empty workspace in memory; no file is created. `limits_of`: use the rate limiter of that
        workspace, if it exists. `bodies_of`: read captured bodies from that workspace. `plan`: how to upgrade an
        earlier version."""
        self.path = path
        self._captured = (bodies_of or path) / "store"
        self._limits = limits_of if limits_of is not None and (limits_of / "limiter.db").exists() else path
        if blank:
            self.db = Database(Path(":memory:"))
            return
        database = path / DATABASE
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is not a directory; choose another: {option('workspace', 'DIR')}")
        if not create and not exists(path):
            raise UsageError(
                f"{path} is not an orbweb workspace. Crawl something into it, or choose another: "
                f"{option('workspace', 'DIR')}"
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
        """The lock of the project; Busy if another process has it."""
        return OwnerLock(self.path / "locks", project)

    def owner(self, project: str) -> int | None:
        return owner_pid(self.path / "locks", project)

    def idle_but_for(self, project_id: int) -> bool:
        """Whether no other project is being crawled."""
        return not any(self.owner(project.name) for project in runs.projects(self.db) if project.id != project_id)

    def control(self, project: str, kind: ControlKind | None = None) -> ControlFiles:
        found = ControlKind.SCRAPER if self.discovery_of(project) else ControlKind.CRAWLER
        return ControlFiles(self.path, project, kind or found)

    def discovery_of(self, project: str) -> Project | None:
        """The project that discovers the pages which this one scrapes; None if this one follows links itself."""
        return runs.find_project(self.db, project + DISCOVERY)

    def role_of(self, project: str) -> str:
        """crawl, discover or scrape."""
        if project.endswith(DISCOVERY):
            return "discover"
        return "scrape" if self.discovery_of(project) else "crawl"

    def backlog(self) -> int:
        """Bytes of the spool that no scraper has read."""
        try:
            return spool_files.unread(self.path, spool_files.read_bookmark(self.path))
        except StoreError:
            return spool_files.unread(self.path, None)

    def spool(self, project: str) -> dict[str, Any] | None:
        """The spool between discovery and scraper; None for a project that is crawled in one go."""
        if self.role_of(project) == "crawl":
            return None
        try:
            bookmark, problem = spool_files.read_bookmark(self.path), None
        except StoreError as error:
            bookmark, problem = None, str(error)
        return {
            "files": len(spool_files.names(self.path / spool_files.DISCOVERIES)),
            "backlog_bytes": self.backlog(),
            "bookmark": bookmark._asdict() if bookmark else None,
            "problem": problem,
        }

    def run(self, project: str, number: int | None = None) -> Run:
        return runs.run_of(self.db, runs.project(self.db, project), number)

    def limiter(self) -> SqliteLimiter:
        make_private(self._limits / "limiter.db")
        return SqliteLimiter(self._limits / "limiter.db")

    def server_store(self) -> ServerStore:
        """The server's own database; the caller closes it."""
        make_private(self.path / SERVER_DATABASE)
        return SqliteServerStore(self.path / SERVER_DATABASE)

    def segment_writer(self, project_id: int) -> SegmentStore:
        """The project's segments, opened at the end of the last commit."""
        return SegmentStore(
            self.path / "store",
            allocate=lambda: self._new_segment(project_id),
            resume=body_rows.latest_segment(self.db, project_id),
        )

    def _new_segment(self, project_id: int) -> int:
        with self.db.transaction():
            return body_rows.new_segment(self.db, project_id)

    def new_segments(self, project_id: int) -> SegmentStore:
        """The segments of a new project, whose rows are added in the transaction of the caller."""
        return SegmentStore(self.path / "store", allocate=lambda: body_rows.new_segment(self.db, project_id))

    def store(self) -> Store:
        """The state of the workspace, as an engine uses it."""
        return SqliteStore(self.db)

    def file_writer(self, project_id: int, *, compress: bool, file_mode: int) -> FileStore:
        return FileStore(
            self.path / "store", writer=f"project-{project_id}", compress=compress, file_mode=file_mode
        )

    def captures(
        self, run: Run, profile: RequestProfile, extractor: int, *, only: int | None = None
    ) -> StoredCaptures:
        """The captures of earlier runs that a run may reuse; with `only`, those of that run."""
        terms = CaptureTerms(
            run.project_id, run.horizon, profile.asked_as, profile.read_with, extractor=extractor, only=only
        )
        return StoredCaptures(self.db, self._captured, terms)

    def body(self, sha256: str) -> bytes:
        """A stored body, verified."""
        with self.reader() as read:
            return read(bytes.fromhex(sha256))

    @contextmanager
    def reader(self) -> Iterator[Callable[[bytes], bytes]]:
        """Reads bodies by their hash, verified, from either layout."""
        segments, files = SegmentStore(self.path / "store"), FileStore(self.path / "store")

        def read(sha256: bytes) -> bytes:
            location = body_rows.location(self.db, sha256)
            if location is None:
                raise StoreError(f"body {sha256.hex()} is not in {self.path}")
            store: BodyStore = files if location.segment is None else segments
            return store.read(sha256, location)

        with closing(segments), closing(files):
            yield read

    def search(self, run: Run, query: str, limit: int, on_progress: Callable[[int, int], None]) -> list[Report]:
        """The pages of a run that match, best first; the index is brought up to date first."""
        from orbweb.store.sqlite.search import search, unwritable_index

        index = self.path / "search.db"
        try:
            make_private(index)
        except OSError as error:
            raise unwritable_index(index, f"cannot be created ({error.strerror})") from error
        return search(index, self.db, run.id, query, limit, on_progress)

    def free_space(self) -> int:
        """Free bytes on the disk."""
        return shutil.disk_usage(self.path).free


@dataclass(frozen=True, slots=True)
class BodyOnDisk:
    """A body in a workspace, read without its database, so that any thread or process may."""

    store: Path
    sha256: bytes
    location: Location | None

    def read(self) -> bytes:
        if self.location is None:
            raise StoreError(f"body {self.sha256.hex()} is not in {self.store.parent}")
        bodies: BodyStore = (FileStore if self.location.segment is None else SegmentStore)(self.store)
        with closing(bodies):
            return bodies.read(self.sha256, self.location)


@contextmanager
def open_workspace(path: Path, *, create: bool = False) -> Iterator[OpenWorkspace]:
    """The workspace, closed afterwards. An error caused by a damaged value is reported as damage."""
    workspace = create_workspace(path) if create else OpenWorkspace(path)
    try:
        yield workspace
    except CorruptBody as error:
        error.add_note(f"Run {call('doctor')} to see what is damaged.")
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        damage = _damage(path)
        if damage is None:
            raise
        raise damage from error
    finally:
        workspace.close()


def create_workspace(path: Path) -> OpenWorkspace:
    """The workspace, created if missing. One in a new or empty directory is the user's own: its base URLs may be
    at private addresses, whichever of its files names them."""
    is_own = _is_empty(path)
    workspace = OpenWorkspace(path, create=True)
    problem = ConsentStore(folder(os.environ)).add(path, [PRIVATE]) if is_own else None
    if problem is not None:
        _log.info(
            "%s cannot be remembered as your own (%s); its settings may need %s", path, problem, option("trust")
        )
    return workspace


def _is_empty(path: Path) -> bool:
    """Whether the directory is missing or empty; one that cannot be read is refused when it is opened."""
    try:
        return not any(path.iterdir())
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _damage(path: Path) -> StoreError | None:
    """The first damage of the database, if any."""
    from orbweb.store.maintenance.row_checks import misfit
    from orbweb.store.sqlite import layout, salvage
    from orbweb.store.sqlite.errors import damaged, explained

    flaws = salvage.flaws(path / DATABASE, layout.main_layout(), misfit)
    return explained(path / DATABASE, damaged(f"{flaws[0].where}: {flaws[0].problem}")) if flaws else None
