"""An open workspace: its files, database, locks, control files and bodies.

Directory and databases are readable by their owner only. An older database is upgraded before it is opened.
Long, because one class opens everything that a workspace has.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbweb.app.consent_store import PRIVATE, ConsentStore, folder
from orbweb.app.trusted_paths import trusted_paths
from orbweb.engine.control import ControlFiles, ControlKind
from orbweb.errors import CorruptBody, OlderWorkspace, StoreError, UsageError, call, option
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import SpoolPlace
from orbweb.store import Store, body_rows, runs, spool_rows, workspace_files, workspace_paths
from orbweb.store.bodies import Location, segments
from orbweb.store.bodies.files import FileStore
from orbweb.store.bodies.segments import SegmentStore
from orbweb.store.bodies.stored import StoredBodies
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
from orbweb.store.workspace_files import FileModes
from orbweb.store.workspace_paths import AnchoredPath, WorkspacePaths

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
    if not path.is_dir():
        return False
    database = workspace_paths.locate(path).index
    return workspace_files.exists(database.root, database.name)


def check_database(place: AnchoredPath) -> bool:
    """Whether the database file exists; ForeignFile if it, or a file that SQLite puts beside it, is a link."""
    for beside in ("-wal", "-shm", "-journal"):
        workspace_files.check(place.root, place.name.with_name(f"{place.name.name}{beside}"))
    return workspace_files.check(place.root, place.name)


def make_private(root: Path, name: str) -> Path:
    """Create a database file for its owner only, before SQLite creates it readable by everyone; its path."""
    if not check_database(AnchoredPath(root, Path(name))):
        with contextlib.suppress(FileExistsError):
            os.close(workspace_files.open_file(root, name, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        workspace_files.check(root, name)
    return root / name


def _database(workspace: Path, path: Path, plan: UpgradePlan | None) -> Database:
    """The database, upgraded first if an earlier version created it."""
    schema = plan.schema if plan else None
    try:
        return Database(path, version=schema)
    except OlderWorkspace:
        upgrade_database(workspace, path, plan)
    return Database(path, version=schema)


def upgrade_database(workspace: Path, path: Path, plan: UpgradePlan | None) -> None:
    from orbweb.store.sqlite import upgrade

    upgrade.upgrade(path, plan or upgrade.plan(), _log.warning, workspace=workspace)


def upgrade_if_older(path: Path) -> None:
    """Upgrade the database of a workspace that is not opened otherwise."""
    from orbweb.store.sqlite import upgrade
    from orbweb.store.sqlite.schema import current_schema

    database = trusted_paths(path).index.path
    if upgrade.is_older(database, current_schema()):
        upgrade_database(path, database, None)


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
        paths = WorkspacePaths(path) if blank else trusted_paths(path)
        self._captured = paths.store if bodies_of is None else trusted_paths(bodies_of).store
        self._limits = limits_of if limits_of is not None and (limits_of / "limiter.db").exists() else path
        if blank:
            self.db = Database(Path(":memory:"))
            return
        database = paths.index
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is not a directory; choose another: {option('workspace', 'DIR')}")
        if not create and not exists(path):
            raise UsageError(
                f"{path} is not an orbweb workspace. Crawl something into it, or choose another: "
                f"{option('workspace', 'DIR')}"
            )
        try:
            make_home(path)
            if create:
                workspace_files.make_directory(database.root, database.name.parent)
        except OSError as error:
            raise StoreError(f"{path}: cannot be used as a workspace: {error.strerror}") from error
        check_database(database)
        self.db = _database(path, database.path, plan)

    def close(self) -> None:
        self.db.close()

    @property
    def paths(self) -> WorkspacePaths:
        """Where the files are; another process may have recorded more since this one opened the workspace."""
        return workspace_paths.locate(self.path)

    def own(self, project: str) -> OwnerLock:
        """The lock of the project; Busy if another process has it."""
        return OwnerLock(self.path / "locks", project)

    def owner(self, project: str) -> int | None:
        return owner_pid(self.path / "locks", project)

    def idle_but_for(self, project_id: int) -> bool:
        """Whether no other project is being crawled."""
        return not any(self.owner(project.name) for project in runs.projects(self.db) if project.id != project_id)

    def control(self, project: str, kind: ControlKind | None = None) -> ControlFiles:
        found = ControlKind.SCRAPER if self.is_scraped(project) else ControlKind.CRAWLER
        return ControlFiles(self.path, project, kind or found)

    def discovery_of(self, project: str) -> Project | None:
        """The project that discovers the pages which this one scrapes; None if there is none."""
        return runs.find_project(self.db, project + DISCOVERY)

    def role_of(self, project: str) -> str:
        """crawl, discover or scrape."""
        if project.endswith(DISCOVERY):
            return "discover"
        return "scrape" if self.is_scraped(project) else "crawl"

    def is_scraped(self, project: str) -> bool:
        """Whether the pages of a project come from a spool, of a discovery or of another producer."""
        return project in spool_rows.pipelines(self.db)

    def spool_place(self, project: str) -> SpoolPlace:
        """Where a pipeline has its spool and bookmark: the oldest one without a directory of its own at the top,
        any other below the name of its project."""
        name = project.removesuffix(DISCOVERY)
        return spool_files.place_of(self.path, name, is_first=self.is_first_pipeline(name))

    def is_first_pipeline(self, name: str) -> bool:
        own = [each for each in spool_rows.pipelines(self.db) if not spool_files.has_own_place(self.path, each)]
        return own[0] == name if own else not spool_files.has_own_place(self.path, name)

    def backlog(self, project: str) -> int:
        """Bytes of the spool of a pipeline that are not scraped."""
        place = self.spool_place(project)
        try:
            return spool_files.unread(place, spool_files.read_bookmark(place))
        except StoreError:
            return spool_files.unread(place, None)

    def spool(self, project: str) -> dict[str, Any] | None:
        """The spool between discovery and scraper; None for a project that is crawled in one go."""
        if self.role_of(project) == "crawl":
            return None
        place = self.spool_place(project)
        try:
            bookmark, problem = spool_files.read_bookmark(place), None
        except StoreError as error:
            bookmark, problem = None, str(error)
        return {
            "directory": str(place.discoveries),
            "files": len(spool_files.names(place)),
            "backlog_lines": spool_files.unread_lines(place, bookmark),
            "backlog_bytes": spool_files.unread(place, bookmark),
            "bookmark": bookmark._asdict() if bookmark else None,
            "problem": problem,
        }

    def stored(self) -> Report:
        """How much the workspace holds, all projects together."""
        bodies, size = body_rows.stored(self.db)
        index = self.paths.index
        files = [index.name.with_name(f"{index.name.name}{end}") for end in ("", "-wal")]
        return {
            "bodies": bodies,
            "body_bytes": size,
            "index_bytes": sum(workspace_files.size(index.root, name) or 0 for name in files),
            "spool_files": sum(len(spool_files.names(place)) for place in self._spool_places()),
        }

    def _spool_places(self) -> set[SpoolPlace]:
        return {self.spool_place(name) for name in spool_rows.pipelines(self.db)}

    def run(self, project: str, number: int | None = None) -> Run:
        return runs.run_of(self.db, runs.project(self.db, project), number)

    def limiter(self) -> SqliteLimiter:
        return SqliteLimiter(make_private(self._limits, "limiter.db"))

    def server_store(self) -> ServerStore:
        """The server's own database; the caller closes it."""
        return SqliteServerStore(make_private(self.path, SERVER_DATABASE))

    def segment_writer(self, project_id: int, modes: FileModes, note: Callable[[str], None]) -> SegmentStore:
        """The project's segments, opened at the end of the last commit. A segment that lost some of its bytes is
        closed: it stays as it is, and another one is written."""
        store = self.paths.store
        while (resume := body_rows.latest_segment(self.db, project_id)) is not None:
            problem = segments.loss(store, *resume)
            if problem is None:
                break
            note(
                f"{problem}. A new segment is begun, and a body that is missing is fetched again with its page;"
                f" run {call('doctor')} for details"
            )
            with self.db.transaction():
                body_rows.close_segment(self.db, resume[0])
        return SegmentStore(store, allocate=lambda: self._new_segment(project_id), resume=resume, modes=modes)

    def _new_segment(self, project_id: int) -> int:
        with self.db.transaction():
            return body_rows.new_segment(self.db, project_id)

    def new_segments(self, project_id: int, modes: FileModes) -> SegmentStore:
        """The segments of a new project, whose rows are added in the transaction of the caller."""
        return SegmentStore(
            self.paths.store, allocate=lambda: body_rows.new_segment(self.db, project_id), modes=modes
        )

    def store(self) -> Store:
        """The state of the workspace, as an engine uses it."""
        return SqliteStore(self.db)

    def file_writer(self, project_id: int, modes: FileModes, *, compress: bool) -> FileStore:
        return FileStore(self.paths.store, writer=f"project-{project_id}", compress=compress, modes=modes)

    def let_through(self, modes: FileModes) -> None:
        """Let accounts that may enter the directories of bodies, outputs and spool pass through the workspace."""
        found = self.path.stat()
        wanted = stat.S_IMODE(found.st_mode) | (modes.folder & 0o011)
        if wanted != stat.S_IMODE(found.st_mode) and found.st_uid == os.geteuid():
            self.path.chmod(wanted)

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
        bodies = StoredBodies(self.paths.store)

        def read(sha256: bytes) -> bytes:
            location = body_rows.location(self.db, sha256)
            if location is None:
                raise StoreError(f"body {sha256.hex()} is not in {self.path}")
            return bodies.read(sha256, location)

        with closing(bodies):
            yield read

    def known_bodies(self) -> StoredBodies:
        """The bodies that earlier crawls stored."""
        return StoredBodies(self._captured)

    def search(self, run: Run, query: str, limit: int, on_progress: Callable[[int, int], None]) -> list[Report]:
        """The pages of a run that match, best first; the index is brought up to date first."""
        from orbweb.store.sqlite.search import search, unwritable_index

        try:
            index = make_private(self.path, "search.db")
        except OSError as error:
            raise unwritable_index(self.path / "search.db", f"cannot be created ({error.strerror})") from error
        return search(index, self.db, run.id, query, limit, on_progress)

    def free_space(self) -> int:
        """Free bytes on the disk."""
        return shutil.disk_usage(self.path).free


@dataclass(frozen=True, slots=True)
class BodyOnDisk:
    """A body in a workspace, read without its database, so that any thread or process may."""

    store: AnchoredPath
    sha256: bytes
    location: Location | None

    def read(self) -> bytes:
        if self.location is None:
            raise StoreError(f"body {self.sha256.hex()} is not in {self.store.root}")
        with closing(StoredBodies(self.store)) as bodies:
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
    claim(path)
    return OpenWorkspace(path, create=True)


def claim(path: Path) -> None:
    """Create the directory of a workspace and remember it as the user's own, if it is new or empty."""
    if path.exists() and (not path.is_dir() or not _is_empty(path)):
        return
    try:
        make_home(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be used as a workspace: {error.strerror}") from error
    problem = ConsentStore(folder(os.environ)).add(path, [PRIVATE])
    if problem is not None:
        _log.info(
            "%s cannot be remembered as your own (%s); its settings may need %s", path, problem, option("trust")
        )


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

    database = workspace_paths.locate(path).index.path
    flaws = salvage.flaws(database, layout.main_layout(), misfit)
    return explained(database, damaged(f"{flaws[0].where}: {flaws[0].problem}")) if flaws else None
