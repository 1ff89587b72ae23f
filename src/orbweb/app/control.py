"""A workspace: one directory that holds everything, and what can be asked of it.

Every verb that reads or changes a project without crawling is here; crawling is in `app`. This file has those that
change something, `reports` those that ask, `directory` what both stand on. Always holds: what is kept of a project
is changed only while no crawl works on it; a running crawl is told.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from orbweb.app.consent_store import PRIVATE, ConsentStore, folder
from orbweb.app.directory import exists, upgrade_database
from orbweb.app.reports import Reports
from orbweb.engine.control import Command
from orbweb.errors import CorruptBody, NothingToDo, StoreError, UsageError
from orbweb.lifecycle import RunState
from orbweb.model import PackedDocument, ProcessedPage
from orbweb.policy import patterns
from orbweb.store import runs
from orbweb.store.lock import OwnerLock
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Run
from orbweb.urls import DEFAULT_RULES

if TYPE_CHECKING:
    from orbweb.store.maintenance.repair import RepairReport

STOP_WAIT_S = 30.0

_log = logging.getLogger("orbweb")


def now_us() -> int:
    """UTC microseconds."""
    return time.time_ns() // 1000


class Workspace(Reports):
    """An open workspace, with every verb that does not crawl."""

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

    @contextmanager
    def _owned(self, project: str) -> Iterator[Run]:
        """The project's latest run, settled, while no crawl works on it."""
        found = runs.project(self.db, project)
        with self.own(project):
            runs.settle_crashed(self.db, found.id, now_us())
            yield runs.run_of(self.db, found, None)

    @classmethod
    def doctor(
        cls, path: Path, *, mend: bool = False, beyond: Callable[[RepairReport], RepairReport] = lambda done: done
    ) -> Report:
        """Every damage of the workspace at `path`, which need not be sound enough to be opened; or its repair.

        `beyond` looks after what database and bodies know nothing of, while everything is owned.
        """
        from orbweb.export.live.read_back import journals
        from orbweb.store.maintenance import doctor, repair, symlinks
        from orbweb.store.sqlite import schema, upgrade
        from orbweb.store.workspace_files import DATABASE

        if not exists(path):
            raise UsageError(f"{path} is not an orbweb workspace. Name one: --workspace DIR")
        strange = tuple(symlinks.find(path))
        aside = symlinks.set_aside(path, strange, now_us()) if mend else None
        if strange and (left := tuple(symlinks.find(path))):
            return _report(path, repair.RepairReport(strange, left, 0, aside))
        if upgrade.is_older(path / DATABASE, schema.current_schema()):
            upgrade_database(path / DATABASE, None)
        with ExitStack() as owned:
            for name in doctor.project_names(path):
                owned.enter_context(OwnerLock(path / "locks", name))
            if mend:
                done = repair.repair(path, _read_again, journals(path), now_us())
            else:
                done = repair.looked_at(doctor.examine(path))
            done = beyond(done)
        return _report(path, replace(done, damages=(*strange, *done.damages), quarantine=done.quarantine or aside))


def _report(path: Path, done: RepairReport) -> Report:
    return {
        "workspace": str(path),
        "healthy": not done.left,
        "damages": [damage.report() for damage in done.damages],
        "left": [damage.report() for damage in done.left],
        "lost": [loss.report() for loss in done.lost],
        "forgettable": [damage.report() for damage in done.forgettable],
        "requeued": done.requeued,
        "quarantine": str(done.quarantine) if done.quarantine else None,
        "quarantined": sorted(file.name for file in done.quarantine.iterdir()) if done.quarantine else [],
    }


def created(path: Path) -> Workspace:
    """The workspace, created if there is none. In a new or empty directory it is the user's own: its base URLs may
    be at private addresses, whichever of its files names them."""
    is_own = _is_empty(path)
    workspace = Workspace(path, create=True)
    problem = ConsentStore(folder(os.environ)).add(path, [PRIVATE]) if is_own else None
    if problem is not None:
        _log.info("%s is not remembered as your own (%s): what it names may need --trust", path, problem)
    return workspace


def _is_empty(path: Path) -> bool:
    """Whether nothing is there; a place that cannot be looked at is refused when it is opened."""
    try:
        return not any(path.iterdir())
    except FileNotFoundError:
        return True
    except OSError:
        return False


@contextmanager
def opened(path: Path, *, create: bool = False) -> Iterator[Workspace]:
    """The workspace, closed afterwards. What goes wrong because of a damaged value is reported as damage."""
    workspace = created(path) if create else Workspace(path)
    try:
        yield workspace
    except CorruptBody as error:
        error.add_note("Run `orbweb doctor`, which reports what is damaged.")
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        damage = _damage(path)
        if damage is None:
            raise
        raise damage from error
    finally:
        workspace.close()


def _damage(path: Path) -> StoreError | None:
    """The first thing that is wrong with the database, if anything is."""
    from orbweb.store.maintenance import doctor
    from orbweb.store.sqlite import salvage
    from orbweb.store.sqlite.errors import damaged, explained
    from orbweb.store.workspace_files import DATABASE

    flaws = salvage.flaws(path / DATABASE, salvage.main_layout(), doctor.misfit)
    return explained(path / DATABASE, damaged(f"{flaws[0].where}: {flaws[0].problem}")) if flaws else None


def _read_again(url: str, content_type: str | None, body: bytes) -> PackedDocument | None:
    """The document of a stored page; None if it cannot be read any more."""
    from orbweb.engine.workers.page import Job, PageProcessor, ProcessorSettings

    processed = PageProcessor(ProcessorSettings(DEFAULT_RULES, "")).process(Job(0, url, content_type, body))
    return processed.document if isinstance(processed, ProcessedPage) else None
