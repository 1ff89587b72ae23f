"""A workspace: one directory that holds everything, and what can be asked of it.

Owns the layout of the directory. Every verb that reads or changes a project without crawling is here;
crawling is in `app`.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from orbweb import patterns, spool, urls
from orbweb.control import Command, ControlFiles, Kind
from orbweb.errors import NothingToDo, OlderWorkspace, StoreError, UsageError
from orbweb.lifecycle import RunState
from orbweb.model import Digest, PackedDocument
from orbweb.store import documents, gone, reports, runs
from orbweb.store.blobs import BodyStore, Location
from orbweb.store.captures import Captures
from orbweb.store.db import Database
from orbweb.store.documents import Captured, Kept
from orbweb.store.files import FileStore
from orbweb.store.limiter import Limiter
from orbweb.store.lock import OwnerLock, owner_pid
from orbweb.store.reports import Report
from orbweb.store.runs import DISCOVERY, Manner, Project, Run
from orbweb.store.segments import SegmentStore
from orbweb.urls import DEFAULT_RULES, UrlRules

if TYPE_CHECKING:
    from orbweb.export import Exported, Format, Watch
    from orbweb.store.repair import Treatment
    from orbweb.store.upgrade import Plan

STOP_WAIT_S = 30.0
CONFIG_FILE = "orbweb.yaml"
SEEDS_FILE = "seeds.txt"

_log = logging.getLogger("orbweb")


def now_us() -> int:
    """UTC microseconds."""
    return time.time_ns() // 1000


def _private(path: Path) -> None:
    """Make the file, for its owner only, before a library makes it for everyone."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _read_again(url: str, content_type: str | None, body: bytes) -> PackedDocument | None:
    """The document of a stored page; None if it cannot be read any more."""
    from orbweb.digest import Digester, DigestSettings, Job

    digest = Digester(DigestSettings(DEFAULT_RULES, "")).digest(Job(0, url, content_type, body))
    return digest.document if isinstance(digest, Digest) else None


def _database(path: Path, plan: Plan | None) -> Database:
    """The database, upgraded first if an earlier orbweb made it."""
    schema = plan.schema if plan else None
    try:
        return Database(path, version=schema)
    except OlderWorkspace:
        _upgrade(path, plan)
    return Database(path, version=schema)


def _upgrade(path: Path, plan: Plan | None) -> None:
    from orbweb.store import upgrade

    upgrade.upgrade(path, plan or upgrade.plan(), _log.warning)


class Workspace:
    """An open workspace."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        limits_of: Path | None = None,
        bodies_of: Path | None = None,
        plan: Plan | None = None,
    ) -> None:
        """`limits_of`: another workspace, if it exists, whose rate limiter counts. `bodies_of`: another one which
        has the captured bodies. `plan`: how an earlier version becomes today's."""
        self.path = path
        self._captured = (bodies_of or path) / "store"
        self._limits = limits_of if limits_of is not None and (limits_of / "limiter.db").exists() else path
        database = path / "orbweb.db"
        if not create and not database.exists():
            raise UsageError(
                f"{path} is not an orbweb workspace. Crawl something into it, or name one: --workspace DIR"
            )
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _private(database)
        except OSError as error:
            raise StoreError(f"{path}: cannot be used as a workspace: {error.strerror}") from error
        self.db = _database(database, plan)

    def close(self) -> None:
        self.db.close()

    # Parts that crawling needs.

    def own(self, project: str) -> OwnerLock:
        """Become the one owner of the project, or Busy."""
        return OwnerLock(self.path / "locks", project)

    def owner(self, project: str) -> int | None:
        return owner_pid(self.path / "locks", project)

    def idle_but_for(self, project_id: int) -> bool:
        """Whether no crawl of another project is at work."""
        return not any(self.owner(project.name) for project in runs.projects(self.db) if project.id != project_id)

    def control(self, project: str, kind: Kind | None = None) -> ControlFiles:
        found = Kind.SCRAPER if self.discovery_of(project) else Kind.CRAWLER
        return ControlFiles(self.path, project, kind or found)

    def discovery_of(self, project: str) -> Project | None:
        """The project that finds what this one scrapes; None if this one finds its pages itself."""
        return runs.find_project(self.db, project + DISCOVERY)

    def limiter(self) -> Limiter:
        _private(self._limits / "limiter.db")
        return Limiter(self._limits / "limiter.db")

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

    def captures(self, run: Run, manner: Manner, extractor: int, *, only: int | None = None) -> Captures:
        """What a run may reuse of what earlier ones captured, or that one alone."""
        return Captures(
            self.db,
            self._captured,
            horizon=run.horizon,
            asked_as=manner.asked_as,
            read_with=manner.read_with,
            extractor=extractor,
            only=only,
        )

    def free_space(self) -> int:
        """Bytes that can still be written."""
        return shutil.disk_usage(self.path).free

    # What can be asked.

    def run(self, project: str, number: int | None = None) -> Run:
        return runs.run_of(self.db, runs.project(self.db, project), number)

    def status(self, project: str) -> Report:
        """The latest run of a project, and who works on it."""
        found = runs.project(self.db, project)
        pid = self.owner(project)
        report: Report = {"project": found.name, "running": pid is not None, "pid": pid, "run": None}
        held_by = self.control(project).held_by() if pid is not None else None
        report.update(held=held_by is not None, held_by=held_by, role=self.role_of(project))
        report["spool"] = self.spool(project)
        latest = runs.latest_run(self.db, found.id)
        if latest is not None:
            report.update(reports.run_report(self.db, latest, alive=pid is not None))
        return report

    def role_of(self, project: str) -> str:
        """crawl, discover or scrape: what is done for this project."""
        if project.endswith(DISCOVERY):
            return "discover"
        return "scrape" if self.discovery_of(project) else "crawl"

    def backlog(self) -> int:
        """Bytes of the spool that no scraper has read."""
        try:
            return spool.unread(self.path, spool.read_bookmark(self.path))
        except StoreError:
            return spool.unread(self.path, None)

    def spool(self, project: str) -> Report | None:
        """What the roles of a separated pipeline have between them."""
        if self.role_of(project) == "crawl":
            return None
        try:
            bookmark, problem = spool.read_bookmark(self.path), None
        except StoreError as error:
            bookmark, problem = None, str(error)
        return {
            "files": len(spool.names(self.path / spool.DISCOVERIES)),
            "backlog_bytes": self.backlog(),
            "bookmark": bookmark._asdict() if bookmark else None,
            "problem": problem,
        }

    def statuses(self) -> list[Report]:
        return [self.status(project.name) for project in runs.projects(self.db)]

    def runs(self, project: str) -> list[Report]:
        found = runs.project(self.db, project)
        alive = self.owner(project) is not None
        return [reports.run_report(self.db, run, alive=alive) for run in runs.runs_of(self.db, found.id)]

    def queue(self, project: str) -> Report:
        return reports.queue(self.db, self.run(project), alive=self.owner(project) is not None)

    def pages(self, project: str, number: int | None = None) -> list[Report]:
        return reports.pages(self.db, self.run(project, number).id)

    def gone(self, project: str, number: int | None = None) -> list[Report]:
        """The pages that have vanished, as seen from a run."""
        return list(gone.tombstones(self.db, self.run(project, number)))

    def near_duplicates(self, project: str, number: int | None = None, *, within: int) -> list[list[Report]]:
        """Pages with words whose fingerprints are linked by steps of at most `within` bits, in groups."""
        from orbweb.content import simhash

        said = [page for page in self.pages(project, number) if page["words"]]
        groups = simhash.groups([int(page["simhash"], 16) for page in said], within)
        return [[said[at] for at in group] for group in groups if len(group) > 1]

    def documents(self, project: str, number: int | None = None) -> Iterator[Captured]:
        """The pages of a run with their documents, in order."""
        return documents.captured(self.db, self.run(project, number).id)

    def export(
        self,
        project: str,
        to: Format,
        out: Path | IO[bytes],
        number: int | None = None,
        *,
        rules: UrlRules = DEFAULT_RULES,
        page_type: Callable[[str], str] = lambda _key: "page",
        raw: bool = False,
        watch: Watch,
    ) -> Exported:
        """Write the pages of a run to a folder, a file or a stream. `rules` and types are those of the project."""
        from orbweb.export import Source, export

        run = self.run(project, number)
        source = Source(self.db, project, run.id, run.number, rules, self.body, watch, page_type)
        return export(source, to, out, raw=raw)

    def diff(
        self, project: str, old: int | None = None, new: int | None = None, *, keep_noise: bool = False
    ) -> Report:
        """What differs between two runs: the latest and the one before it, unless others are named."""
        from orbweb.store import compare

        latest = self.run(project, new)
        if old is None and latest.number == 1:
            raise NothingToDo(f"project {project!r} has one run; there is nothing to compare it with")
        earlier = self.run(project, latest.number - 1 if old is None else old)
        found = compare.Comparison(self.db, earlier, latest, keep_noise=keep_noise).report()
        return {"project": project, "old": earlier.number, "new": latest.number, **found}

    def page_index(self, project: str, number: int | None = None) -> Iterator[Report]:
        """What is known of each URL that was asked for in a run, in the order of commits."""
        from orbweb.store import index

        run = self.run(project, number)
        return (entry for _, entry in index.entries(self.db, run.id, self.path / "store"))

    def search(
        self, project: str, query: str, number: int | None = None, *, limit: int, watch: Callable[[int, int], None]
    ) -> list[Report]:
        """The pages of a run that match, the best first; `watch` is told how many of how many are indexed."""
        from orbweb.store import search

        run, index = self.run(project, number), self.path / "search.db"
        try:
            _private(index)
        except OSError as error:
            raise StoreError(
                f"{index}: the search index cannot be made ({error.strerror}). Search needs a workspace that may "
                "be written to; copy it to one."
            ) from error
        return search.search(index, self.db, run.id, query, limit, watch)

    def failed(self, project: str, number: int | None = None) -> list[Report]:
        return reports.failures(self.db, self.run(project, number).id)

    def manifest(self, project: str, number: int | None = None) -> Iterator[str]:
        return reports.manifest(self.db, self.run(project, number).id)

    def manifest_hash(self, project: str, number: int | None = None) -> str:
        return reports.manifest_hash(self.db, self.run(project, number).id)

    def show(
        self, project: str, url: str, number: int | None = None, rules: UrlRules = DEFAULT_RULES
    ) -> Report | None:
        """What is known of a URL, or None if the run has never seen it. `rules` are those of the project."""
        target = urls.target(url, rules=rules)
        if target is None:
            raise UsageError(f"{url!r} is not an http(s) URL")
        run = self.run(project, number)
        report = reports.url_report(self.db, run.id, target.key)
        return report and {**report, "gone": gone.since(self.db, run, target.key)}

    def document(
        self, project: str, url: str, number: int | None = None, rules: UrlRules = DEFAULT_RULES
    ) -> Kept | None:
        """The document of a page; of an alternate, that of its page. None where there is no page."""
        run = self.run(project, number)
        target = urls.target(url, rules=rules)
        row = self.db.one("url_by_key", run_id=run.id, key=target.key) if target else None
        return documents.of_url(self.db, run.id, row[0]) if row else None

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

    # What can be changed.

    @contextmanager
    def _owned(self, project: str) -> Iterator[Run]:
        """The project's latest run, settled, while no crawl works on it."""
        found = runs.project(self.db, project)
        with self.own(project):
            runs.settle_crashed(self.db, found.id, now_us())
            yield runs.run_of(self.db, found, None)

    @classmethod
    def doctor(
        cls, path: Path, *, mend: bool = False, beyond: Callable[[Treatment], Treatment] = lambda done: done
    ) -> Report:
        """Every damage of the workspace at `path`, which need not be sound enough to be opened; or its repair.

        `beyond` looks after what database and bodies know nothing of, while everything is owned.
        """
        from orbweb.store import db, doctor, repair, upgrade

        if not (path / doctor.DATABASE).exists():
            raise UsageError(f"{path} is not an orbweb workspace. Name one: --workspace DIR")
        if upgrade.is_older(path / doctor.DATABASE, db.today()):
            _upgrade(path / doctor.DATABASE, None)
        with ExitStack() as owned:
            for name in doctor.project_names(path):
                owned.enter_context(OwnerLock(path / "locks", name))
            done = repair.repair(path, _read_again, now_us()) if mend else repair.looked_at(doctor.examine(path))
            done = beyond(done)
        return {
            "workspace": str(path),
            "healthy": not done.left,
            "damages": [damage.report() for damage in done.damages],
            "left": [damage.report() for damage in done.left],
            "requeued": done.requeued,
            "quarantine": str(done.quarantine) if done.quarantine else None,
        }

    def tell(self, project: str, command: Command) -> None:
        """Pass a command to the running crawl."""
        runs.project(self.db, project)
        if self.owner(project) is None:
            raise NothingToDo(f"no crawl of project {project!r} is running")
        self.control(project).write(command)

    def stop(self, project: str) -> bool:
        """Stop the running crawl; whether it has ended."""
        self.tell(project, Command.STOP)
        return self._gone(project)

    def _gone(self, project: str) -> bool:
        deadline = time.monotonic() + STOP_WAIT_S
        while self.owner(project) is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def finish(self, project: str) -> Report:
        """Complete the run by hand, stopping its crawl first if one is running."""
        if self.owner(project) is not None:
            self.tell(project, Command.FINISH)
            if not self._gone(project):
                raise StoreError(f"the crawl of project {project!r} did not end within {STOP_WAIT_S:.0f} s")
        with self._owned(project) as run:
            if run.state is RunState.PAUSED:
                runs.finish(self.db, run, "finished by hand", now_us())
        return self.status(project)

    def clear_queue(self, project: str) -> int:
        """Give up what is queued; the run is completed by that. How many URLs."""
        with self._owned(project) as run:
            if run.state is not RunState.PAUSED:
                raise NothingToDo(f"project {project!r} has no queued URLs to clear")
            return runs.finish(self.db, run, "queue cleared by hand", now_us())

    def release(self, project: str, pattern: str) -> int:
        """Queue the parked URLs of the family with this pattern, or those in which it is found; how many."""
        finds = patterns.finder("--release", pattern)
        with self._owned(project) as run:
            chosen = [
                (number, rule.partition(": ")[2])
                for number, url, rule in runs.trapped(self.db, run.id)
                if rule.partition(": ")[2] == pattern or finds(url)
            ]
            if not chosen:
                raise NothingToDo(f"project {project!r} has no parked URLs that match {pattern!r}")
            runs.release(
                self.db, run, [number for number, _ in chosen], {family for _, family in chosen}, now_us()
            )
        return len(chosen)
