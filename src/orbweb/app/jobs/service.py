"""The jobs of a server: what its routes call. Any thread may call.

Long, because one class has everything that routes call; the bodies are in one module per subject.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orbweb.app import ids, listings, overview, reports
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.job_files import EXTENSIONS, export_name, forget_project
from orbweb.app.jobs import remote
from orbweb.app.jobs.follower import CrawlFollower, EventLog, job_at_work, monotonic, state_of
from orbweb.app.jobs.lists import RunLists
from orbweb.app.jobs.reading import RunReader
from orbweb.app.jobs.records import (
    CRAWLS,
    CrawlOrder,
    ExportOrder,
    ExtractOrder,
    JobKind,
    JobState,
    ServerJob,
    job_of,
)
from orbweb.app.jobs.remote import OperatorRules
from orbweb.app.jobs.supervisor import Supervisor, SupervisorSettings
from orbweb.app.listings import PageFilter
from orbweb.app.request import name_of, request_of
from orbweb.app.results.listings import QueueItems, ReadPages, RulePreview, UrlCapture
from orbweb.app.results.plans import CrawlPlan, RecrawlPlan
from orbweb.app.results.record import record, records
from orbweb.app.results.rules import EffectiveSetting
from orbweb.app.results.runs import ProjectOverview, RunHistory, RunningCrawl, RunOutline, RunTotals
from orbweb.app.retry import retry_url
from orbweb.app.setting_sources import new_settings
from orbweb.app.tokens import Permission, fingerprint, new_token, permission_of
from orbweb.errors import Busy, NothingToDo, OrbwebError, UnknownId, UsageError
from orbweb.lifecycle import RunState
from orbweb.store import runs
from orbweb.store.lock import OwnerLock, owner_pid
from orbweb.store.queries import identities
from orbweb.store.rows import moment
from orbweb.store.runs import Project
from orbweb.store.server_rows import TokenRow

STARTS_S = 30.0
LOOK_S = 0.02
TOKEN_NAME = 100
COUNTED = 1_000
"""Runs whose alternates are known."""
ONLY_BASES = {"max_depth": 0, "sitemap": "off"}
"""The options of a batch."""


class ActiveCrawl(Busy):
    """The project has a crawl at work, or one that waits for its turn."""

    def __init__(self, message: str, crawl_id: int | None, job_id: int | None) -> None:
        super().__init__(message)
        self.crawl_id, self.job_id = crawl_id, job_id


class NothingToResume(NothingToDo):
    """The project has no run that could be resumed."""


class NothingQueued(NothingToDo):
    """The latest run of the project is completed: nothing is queued in it."""


class CrawlRefused(OrbwebError):
    """The process of a crawl ended before it had begun."""


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How the jobs of a workspace are run, and what its operator allows clients."""

    path: Path
    environ: Mapping[str, str]
    max_active: int = 1
    autoresume: bool = True
    rules: OperatorRules = field(default_factory=OperatorRules)


@dataclass(frozen=True, slots=True)
class StartedCrawl:
    """A crawl that was accepted. Run and crawl are None as long as it waits for its turn."""

    job: ServerJob
    project_id: int
    run_id: int | None
    crawl_id: int | None


@dataclass(frozen=True, slots=True)
class TokenSummary:
    """A stored token, without anything secret."""

    id: int
    name: str
    scope: str
    created_at: str


class JobService:
    """Jobs, events and tokens of one workspace, which no other server serves meanwhile."""

    def __init__(self, settings: JobSettings) -> None:
        self._settings = settings
        self._submitting = threading.Lock()
        self._counted: dict[str, int] = {}
        self._counted_lock = threading.Lock()
        self._open = ExitStack()
        try:
            self._open.enter_context(_served_alone(settings.path))
            with closing(OpenWorkspace(settings.path, create=True)) as workspace:
                self._store = self._open.enter_context(closing(workspace.server_store()))
        except BaseException:
            self._open.close()
            raise
        environ = settings.rules.environment(settings.environ)
        self.events = EventLog(self._store)
        self.reading = RunReader(settings.path)
        self.lists = self._open.enter_context(closing(RunLists(settings.path)))
        self._supervisor = Supervisor(
            SupervisorSettings(settings.path, environ, settings.max_active, settings.autoresume), self._store
        )
        self._follower = CrawlFollower(settings.path, self._store, self.events, monotonic)

    def start(self) -> None:
        self._supervisor.start()
        self._follower.start()

    def stop(self) -> None:
        """Begin to stop all crawls; returns at once."""
        self._supervisor.stop()

    def close(self) -> None:
        """Stop all crawls and wait for them; they are resumed at the next start."""
        self._supervisor.close()
        self._follower.close()
        self._open.close()

    def _workspace(self) -> closing[OpenWorkspace]:
        return closing(OpenWorkspace(self._settings.path))

    def _order(
        self, verb: str, urls: tuple[str, ...], options: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> CrawlOrder:
        return CrawlOrder(verb, urls, options, settings, self._settings.rules.private_sites)

    # Crawls.

    def crawl(
        self,
        urls: tuple[str, ...],
        *,
        project: str | None = None,
        options: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        wait: bool = True,
    ) -> StartedCrawl:
        """Start a crawl, or resume the paused run of its project; as `Workspace.crawl`. Returns when it has begun
        or, if it is not to `wait`, when its row is stored."""
        order = self._order("crawl", urls, options or {}, settings or {})
        return self._crawled(order, project, JobKind.CRAWL, wait=wait)

    def _known(self, workspace: OpenWorkspace, order: CrawlOrder, project: str | None) -> Project | None:
        request = remote.remote_request(order, project)
        if not order.urls and project is None:
            return None
        return runs.find_project(workspace.db, name_of(workspace, request))

    def resume(self, project: str, options: Mapping[str, Any] | None = None, *, wait: bool = True) -> StartedCrawl:
        """Resume the paused run of a project."""
        order = self._order("resume", (), options or {}, {})
        with self._submitting, self._workspace() as workspace:
            found = runs.project(workspace.db, project)
            self._refuse_active(workspace, found)
            latest = runs.latest_run(workspace.db, found.id)
            if latest is None:
                raise NothingToResume(f"project {project!r} was never crawled; there is nothing to resume")
            if latest.state is RunState.COMPLETED:
                raise NothingQueued(f"run {latest.number} of {project!r} is completed; nothing is queued")
            remote.check_session(workspace, order, found)
            job = self._submit(order, found)
        return self._started(job) if wait else self._at_work(job)

    def recrawl(
        self, project: str, options: Mapping[str, Any] | None = None, *, wait: bool = True
    ) -> StartedCrawl:
        """Start a run that visits the URLs of the latest one first."""
        order = self._order("recrawl", (), options or {}, {})
        with self._submitting, self._workspace() as workspace:
            found = runs.project(workspace.db, project)
            self._refuse_active(workspace, found)
            runs.run_of(workspace.db, found, None)
            remote.check_session(workspace, order, found)
            job = self._submit(order, found)
        return self._started(job) if wait else self._at_work(job)

    def batch(
        self,
        urls: tuple[str, ...],
        *,
        project: str | None = None,
        options: Mapping[str, Any] | None = None,
        wait: bool = True,
    ) -> StartedCrawl:
        """Visit these URLs and no others: a crawl that follows no links and reads no sitemaps."""
        if not urls:
            raise UsageError("`urls`: give at least one URL")
        order = self._order("crawl", urls, {**(options or {}), **ONLY_BASES}, {})
        return self._crawled(order, project, JobKind.BATCH, wait=wait)

    def _crawled(self, order: CrawlOrder, project: str | None, kind: JobKind, *, wait: bool) -> StartedCrawl:
        with self._submitting, self._workspace() as workspace:
            known = self._known(workspace, order, project)
            if known is not None:
                self._refuse_active(workspace, known)
            found = remote.prepare_crawl(workspace, order, project)
            job = self._submit(order, found, kind)
        return self._started(job) if wait else self._at_work(job)

    def _refuse_active(self, workspace: OpenWorkspace, project: Project) -> None:
        crawls = [job for job in self._store.active_jobs(project.id) if job.kind in CRAWLS]
        if not crawls and workspace.owner(project.name) is None:
            return
        latest = runs.latest_run(workspace.db, project.id)
        last = runs.crawls_of(workspace.db, latest.id)[-1:] if latest is not None else []
        words = (
            "has a crawl that waits for its turn" if crawls and crawls[0].state == "queued" else "is being crawled"
        )
        raise ActiveCrawl(
            f"project {project.name!r} {words}", last[0].id if last else None, crawls[0].id if crawls else None
        )

    def _submit(self, order: CrawlOrder, project: Project, kind: JobKind = JobKind.CRAWL) -> ServerJob:
        row = self._store.add_job(kind, project.id, order.text(), now_us())
        self._supervisor.wake()
        return job_of(row)

    def _started(self, job: ServerJob) -> StartedCrawl:
        """Wait until the crawl has begun, unless it waits for its turn; CrawlRefused if it could not."""
        deadline = time.monotonic() + STARTS_S
        while time.monotonic() < deadline:
            found = self.job(job.id)
            if found.state is JobState.FAILED and found.run_id is None:
                raise CrawlRefused(found.error or "the crawl could not begin")
            if found.run_id is not None or found.state not in (JobState.QUEUED, JobState.RUNNING):
                return self._at_work(found)
            if found.state is JobState.QUEUED and self._must_wait(found):
                break
            time.sleep(LOOK_S)
        return self._at_work(self.job(job.id))

    def _at_work(self, job: ServerJob) -> StartedCrawl:
        return StartedCrawl(job, job.project_id, job.run_id, job.crawl_id)

    def _must_wait(self, job: ServerJob) -> bool:
        return self._store.jobs_ahead(job.id, CRAWLS) >= self._settings.max_active

    def plan(
        self, urls: tuple[str, ...], options: Mapping[str, Any], settings: Mapping[str, Any] | None = None
    ) -> CrawlPlan | RecrawlPlan:
        """What a crawl of these URLs would do; for a project, what its next recrawl would."""
        return remote.plan_crawl(self._settings.path, self._order("crawl", urls, options, settings or {}))

    def name_for(self, urls: tuple[str, ...]) -> str:
        """The name that a crawl of these URLs gives its project; UsageError if they are not right."""
        with self._workspace() as workspace:
            return name_of(workspace, remote.remote_request(self._order("crawl", urls, {}, {}), None))

    def save_settings(
        self, urls: tuple[str, ...], project: str | None, options: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> int:
        """Store settings with a project, which is created if it is new; its id."""
        with self._submitting, self._workspace() as workspace:
            return remote.save_settings(workspace, self._order("crawl", urls, options, settings), project).id

    def states(self, project_id: int | None = None) -> list[dict[str, Any]]:
        """The small state of every project, or of one, as events have it."""
        with self._workspace() as workspace:
            if project_id is None:
                return [self._state(workspace, project) for project in runs.projects(workspace.db)]
            found = identities.project_by_id(workspace.db, project_id)
            return [self._state(workspace, found)] if found is not None else []

    def state(self, project: str) -> dict[str, Any]:
        with self._workspace() as workspace:
            return self._state(workspace, runs.project(workspace.db, project))

    def _state(self, workspace: OpenWorkspace, project: Project) -> dict[str, Any]:
        is_running = workspace.owner(project.name) is not None
        snapshot = reports.snapshot(workspace, project.name) if is_running else None
        rate = round(snapshot.rate, 2) if snapshot is not None else 0.0
        said = state_of(workspace, project, snapshot, rate=rate, is_owned=is_running)
        return {**said, "jobID": job_at_work(self._store, project.id, said)}

    # Ids.

    def project(self, word: str) -> ids.ProjectIdentity:
        """The project with this id or name."""
        with self._workspace() as workspace:
            return ids.project(workspace, word)

    def projects(self) -> list[ids.ProjectIdentity]:
        with self._workspace() as workspace:
            return ids.projects(workspace)

    def run(self, number: int) -> ids.RunIdentity:
        with self._workspace() as workspace:
            return ids.run(workspace, number)

    def crawl_of(self, number: int) -> ids.CrawlIdentity:
        with self._workspace() as workspace:
            return ids.crawl(workspace, number)

    def runs_of(self, project_id: int) -> list[ids.RunCrawls]:
        with self._workspace() as workspace:
            return ids.runs_of(workspace, project_id)

    # Overviews, in a time that does not grow with the runs.

    def outline(self, project: str, *, run: int | None = None) -> RunOutline:
        """A run in a few numbers."""
        with self._workspace() as workspace:
            return record(RunOutline, overview.outline(workspace, project, run))

    def running(self) -> list[RunningCrawl]:
        """The crawls at work in the workspace, whichever process they run in."""
        with self._workspace() as workspace:
            return records(RunningCrawl, overview.running(workspace))

    def overviews(self) -> list[ProjectOverview]:
        """Every project with its latest run."""
        with self._workspace() as workspace:
            return records(ProjectOverview, overview.overviews(workspace))

    def histories(self, project: str, *, before: int | None = None, limit: int | None = None) -> list[RunHistory]:
        """The runs of a project with their crawls, the newest first: all, or those before a run, at most
        `limit`."""
        with self._workspace() as workspace:
            return records(RunHistory, overview.histories(workspace, project, before, limit))

    def totals(self, project: str, *, run: int | None = None) -> RunTotals:
        """What no tally counts: alternates, tokens, and the rules that skipped most URLs. Reads the whole run."""
        with self._workspace() as workspace:
            return record(RunTotals, overview.totals(workspace, project, run))

    def new_settings(self) -> list[EffectiveSetting]:
        """Every setting as the first crawl of a new project would use it."""
        with self._workspace() as workspace:
            return records(EffectiveSetting, new_settings(workspace, request_of("settings", {}, (), None)))

    def alternates(self, project: str, run: RunHistory) -> int:
        """How many alternates a run has; counted once, as long as the run stays as it is."""
        with self._counted_lock:
            known = self._counted.get(run.mark)
        if known is None:
            with self._workspace() as workspace:
                known = overview.alternates(workspace, project, run.run)
            with self._counted_lock:
                self._counted[run.mark] = known
                while len(self._counted) > COUNTED:
                    self._counted.pop(next(iter(self._counted)))
        return known

    # Lists that are read in parts.

    def page_list(self, project: str, wanted: PageFilter, *, run: int | None = None) -> ReadPages:
        """Some of the unique pages of a run, from a key on."""
        return listings.pages(self.lists.page_rows, project, run, wanted)

    def queue_items(self, project: str, *, source: str | None, after: str | None, limit: int) -> QueueItems:
        """The queue in its order, from a key on; all of it or that of one source."""
        return listings.queue_items(self.lists.queue, project, source=source, after=after, limit=limit)

    def preview_rules(
        self, project: str, *, include: Sequence[str], exclude: Sequence[str], max_depth: int | None
    ) -> RulePreview:
        """What these further rules would remove from the queue; nothing is changed."""
        with self._workspace() as workspace:
            return listings.preview(workspace, project, include=include, exclude=exclude, max_depth=max_depth)

    def retry_url(self, project: str, url: str) -> int:
        """Queue one failed URL again. NothingToDo if it did not fail."""
        with self._workspace() as workspace:
            return retry_url(workspace, project, url)

    def captures(self, project: str, url: str) -> list[UrlCapture]:
        """One URL in all runs of a project, the latest first."""
        with self._workspace() as workspace:
            return listings.captures(workspace, project, url)

    # Jobs.

    def job(self, number: int) -> ServerJob:
        row = self._store.job(number) if number <= identities.LARGEST else None
        if row is None:
            raise UnknownId(f"there is no job with the id {number}")
        return job_of(row)

    def jobs(self, count: int, *, project_id: int | None = None, before: int | None = None) -> list[ServerJob]:
        """The latest jobs, the newest first."""
        return [job_of(row) for row in self._store.latest_jobs(count, project_id=project_id, before=before)]

    def cancel(self, number: int) -> ServerJob:
        """Take a job out of the queue, or end an export or extraction at work; NothingToDo if it has ended, or is
        a crawl that has begun: that is stopped."""
        row = self._store.job(number) if number <= identities.LARGEST else None
        if row is None:
            raise UnknownId(f"there is no job with the id {number}")
        ends_now = row.state == JobState.RUNNING and row.kind not in CRAWLS
        is_waiting = row.state in (JobState.QUEUED, JobState.INTERRUPTED)
        if not (ends_now or is_waiting) or not self._store.settle_job(row, JobState.CANCELLED, None, now_us()):
            raise NothingToDo(f"job {number} does not wait: it is {row.state}")
        if ends_now:
            self._supervisor.end(number)
        return self.job(number)

    def extract(self, project: str, run: int | None, *, everything: bool = False) -> ServerJob:
        """Extract the stored pages of a run again, as `Workspace.extract`: no requests are sent. Waits while the
        project is being crawled."""
        with self._workspace() as workspace:
            found = runs.project(workspace.db, project)
            number = runs.run_of(workspace.db, found, run).number
        row = self._store.add_job(JobKind.EXTRACT, found.id, ExtractOrder(number, everything).text(), now_us())
        self._supervisor.wake()
        return job_of(row)

    def export(self, project: str, to: str, run: int | None) -> ServerJob:
        """Write the pages of a run to a file that can be downloaded."""
        if to not in EXTENSIONS:
            raise UsageError(f"`to`: unknown format {to!r}; choose one of {', '.join(EXTENSIONS)}")
        with self._workspace() as workspace:
            found = runs.project(workspace.db, project)
            number = runs.run_of(workspace.db, found, run).number
        row = self._store.add_job(JobKind.EXPORT, found.id, ExportOrder(to, number).text(), now_us())
        self._supervisor.wake()
        return job_of(row)

    def exported_file(self, job: ServerJob) -> Path:
        """The file of a completed export; NothingToDo if there is none."""
        if job.kind is not JobKind.EXPORT or job.state is not JobState.COMPLETED:
            raise NothingToDo(f"job {job.id} has no file: it is {job.state.value}")
        path = self._settings.path / export_name(job.id, job.request["to"])
        if not path.is_file() or path.is_symlink():
            raise NothingToDo(f"the file of job {job.id} was deleted")
        return path

    def forget_project(self, project_id: int) -> None:
        """Delete the jobs and events of a project that was deleted."""
        forget_project(self._settings.path, self._store, project_id)
        self.events.forget(project_id)

    @property
    def is_ending(self) -> bool:
        """Whether the server stops."""
        return self._supervisor.is_ending

    # Changes that were looked at.

    def mark_seen(self, project: str, runs_compared: tuple[int, int], url: str, *, seen: bool) -> None:
        """Remember that someone has looked at a change, or forget it."""
        self._store.mark_seen(self.project(project).id, runs_compared, url, seen=seen)

    def seen_urls(self, project: str, runs_compared: tuple[int, int]) -> set[str]:
        """The changes between two runs that someone has looked at."""
        return self._store.seen_urls(self.project(project).id, runs_compared)

    # Tokens.

    def permission_of(self, mark: str) -> Permission | None:
        """What a stored token may do, by its fingerprint."""
        found = self._store.scope_of_token(mark)
        return permission_of(found) if found is not None else None

    def add_token(self, name: str, scope: str) -> tuple[TokenSummary, str]:
        """A new token, and its text, which is not stored."""
        if not 0 < len(name) <= TOKEN_NAME or not name.isprintable():
            raise UsageError(f"`name`: give up to {TOKEN_NAME} printable characters")
        permission_of(scope)
        token, now = new_token(), now_us()
        number = self._store.add_token(name, fingerprint(token), scope, now)
        return _token(TokenRow(number, name, scope, now)), token

    def tokens(self) -> list[TokenSummary]:
        return [_token(row) for row in self._store.tokens()]

    def revoke_token(self, number: int) -> None:
        if number > identities.LARGEST or not self._store.delete_token(number):
            raise UnknownId(f"there is no token with the id {number}")


def _token(row: TokenRow) -> TokenSummary:
    return TokenSummary(row.id, row.name, row.scope, moment(row.created_at) or "")


def _served_alone(path: Path) -> OwnerLock:
    try:
        return OwnerLock(path / "locks", "server", "serve")
    except Busy:
        pid = owner_pid(path / "locks", "server", "serve")
        raise Busy(
            f"process {pid or 'unknown'} serves {path} already: a workspace has one server. Use that one, or stop "
            "it first."
        ) from None
