"""orbweb from Python: the verbs of the command line as functions that return typed records.

Owns the names of the options and what a crawl gives back. Always holds: an option has the name it has on the
command line, with underscores, and what is given is stored with the project as it is there. Sync outside, async
inside; any thread may call, and each call opens and closes the workspace for itself. Never prints: what the
command line would note goes to the logger `orbweb`.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import Event
from types import NoneType
from typing import IO, Any, Literal, TypedDict, Unpack

from orbweb import app, layout, trial
from orbweb import plan as planning
from orbweb.app import Request
from orbweb.app.judging import policy_of, robots_refusal
from orbweb.app.request import configure
from orbweb.app.session import subject
from orbweb.app.settings import policy_rules, url_rules
from orbweb.content.simhash import WITHIN
from orbweb.control import Command
from orbweb.errors import UsageError
from orbweb.events import Reading, Snapshot
from orbweb.export import Exported as Exported
from orbweb.export import Format
from orbweb.model import Document, SkipReason, Verdict
from orbweb.policy import Candidate, Policy
from orbweb.store import explain, gone, runs
from orbweb.store.documents import Captured
from orbweb.store.reports import Report
from orbweb.store.runs import DISCOVERY, Base, Project, Run
from orbweb.urls import target
from orbweb.workspace import Workspace as Directory

Progress = Callable[[Snapshot], None]

DEFAULT_WORKSPACE = "orbweb-data"


# Option -> section and key of the setting. `config`, `new_run`, `refresh` and `metrics_port` are no settings.
_SETTINGS = {
    "profile": ("", "profile"),
    "user_agent": ("", "user_agent"),
    "resolve": ("", "resolve"),
    "allow_private": ("fetch", "allow_private"),
    "headers": ("fetch", "headers"),
    "rate": ("limits", "rate"),
    "workers": ("limits", "workers"),
    "budget": ("limits", "budget"),
    "page_limit": ("limits", "page_limit"),
    "max_depth": ("limits", "max_depth"),
    "strict_path": ("scope", "strict_path"),
    "external_hops": ("scope", "external_hops"),
    "include": ("scope", "include"),
    "exclude": ("scope", "exclude"),
    "resources": ("resources", "mode"),
    "sitemap": ("sitemap", "mode"),
    "order": ("engine", "order"),
    "processes": ("engine", "processes"),
    "store": ("store", "layout"),
}
_PLAIN = (str, int, float, list, dict, NoneType)

_log = logging.getLogger("orbweb")


class ResumeOptions(TypedDict, total=False):
    """What may be changed when a run goes on. None takes a stored limit back."""

    workers: int
    processes: int | None
    budget: int | None
    rate: float | Literal["max"]
    config: str | PathLike[str]
    refresh: bool
    metrics_port: int | None


class RuleOptions(TypedDict, total=False):
    """The rules that `orbweb rules` can be given. None takes a stored limit back."""

    page_limit: int | None
    max_depth: int | None
    external_hops: int
    strict_path: bool
    include: Sequence[str]
    exclude: Sequence[str]
    sitemap: Literal["auto", "only", "off"]
    config: str | PathLike[str]


class RecrawlOptions(ResumeOptions, total=False):
    """What `orbweb recrawl` can be given. `due` holds for the run that is started."""

    due: bool


class CrawlOptions(ResumeOptions, total=False):
    """What `orbweb crawl` can be given. Settings stick to the project; `config`, `seeds`, `new_run`, `refresh` and
    `metrics_port` do not."""

    profile: Literal["docs", "site", "github"] | None
    seeds: str | PathLike[str]
    page_limit: int | None
    max_depth: int | None
    external_hops: int
    strict_path: bool
    include: Sequence[str]
    exclude: Sequence[str]
    user_agent: str
    resolve: Sequence[str]
    allow_private: bool
    headers: Mapping[str, str | None]
    resources: Literal["off", "check", "store"]
    sitemap: Literal["auto", "only", "off"]
    order: Literal["strict", "relaxed"]
    store: Literal["segments", "files"]
    new_run: bool


@dataclass(frozen=True, slots=True)
class BaseResult:
    """A base URL of a run, where its scope lies, and what it gave.

    `limit` is the page limit and `remaining` what it leaves, both None without one.
    """

    url: str
    scope: str
    pages: int
    alternates: int
    limit: int | None
    remaining: int | None


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """How a crawl ended: the fields of `orbweb crawl --json`, and the exit code the command would have."""

    project: str
    run: int
    state: str
    started_at: str
    ended_at: str | None
    discovered: int
    visited: int
    failed: int
    queued: int
    skipped: Mapping[str, int]
    pages: int
    alternates: int
    reused: int
    not_modified: int
    bytes: int
    transferred: int
    tokens: int
    tokenizer: str | None
    bases: tuple[BaseResult, ...]
    crawl: int
    run_state: str
    ended_by: str
    shown: str
    crawl_visited: int
    crawl_failed: int
    crawl_pages: int
    seconds: float
    window: int
    workspace: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class ExtractResult:
    """What an extraction did: of `pages`, so many are `extracted` or `left`; `failed` has URL and problem."""

    project: str
    run: int
    extractor: int
    pages: int
    extracted: int
    failed: Mapping[str, str]
    left: int
    seconds: float
    workspace: str


def crawl(
    urls: str | Sequence[str],
    *,
    workspace: str | PathLike[str] = DEFAULT_WORKSPACE,
    project: str | None = None,
    on_progress: Progress | None = None,
    **options: Unpack[CrawlOptions],
) -> CrawlResult:
    """Crawl a site into the workspace, or go on with a paused run.

    `on_progress` is called several times a second with a Snapshot; what it raises ends the crawl, and the run
    can be resumed.
    """
    return Workspace(Path(workspace)).crawl(urls, project=project, on_progress=on_progress, **options)


class PolicyOptions(TypedDict, total=False):
    """Where a policy comes from."""

    config: str | PathLike[str]
    profile: Literal["docs", "site", "github"] | None


def open(workspace: str | PathLike[str] = DEFAULT_WORKSPACE) -> Workspace:  # noqa: A001
    """The verbs of a workspace. The directory is made by the first crawl."""
    return Workspace(Path(workspace))


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory that holds everything, with the verbs of the command line. Reports are those of `--json`."""

    path: Path

    def crawl(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Progress | None = None,
        **options: Unpack[CrawlOptions],
    ) -> CrawlResult:
        """Start a run, or go on with the paused one; returns when the crawl has ended."""
        _check_thread()
        given = dict(options)
        _check_names(given, CrawlOptions.__optional_keys__)
        bases = (urls,) if isinstance(urls, str) else tuple(urls)
        request = Request(
            bases,
            project,
            _config_file(given),
            _settings(given),
            bool(given.get("new_run")),
            refresh=bool(given.get("refresh")),
            seeds=_file(given, "seeds"),
            metrics_port=options.get("metrics_port"),
        )
        with self._opened(create=True) as opened:
            return _result(app.crawl(opened, request, watch=on_progress or _unwatched, note=_log.info))

    def discover(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str,
        on_progress: Progress | None = None,
        **options: Unpack[CrawlOptions],
    ) -> CrawlResult:
        """Find pages and spool a line for each; returns when discovery has ended. Nothing of them is kept."""
        name = project.removesuffix(DISCOVERY) + DISCOVERY
        return self.crawl(urls, project=name, on_progress=on_progress, **options)

    def scrape(
        self,
        project: str | None = None,
        *,
        follow: bool = False,
        on_progress: Progress | None = None,
        **options: Unpack[ResumeOptions],
    ) -> CrawlResult:
        """Visit what was spooled; returns when all of it is scraped, or with `follow` when it is stopped."""
        _check_thread()
        given = dict(options)
        _check_names(given, ResumeOptions.__optional_keys__)
        refresh = bool(given.get("refresh"))
        request = Request((), project, _config_file(given), _settings(given), refresh=refresh)
        with self._opened() as opened:
            watch = on_progress or _unwatched
            return _result(app.scrape(opened, request, follows=lambda: follow, watch=watch, note=_log.info))

    def plan(self, urls: str | Sequence[str], **options: Unpack[CrawlOptions]) -> Report:
        """What a crawl of these URLs would do: visits them and reads robots.txt and sitemaps, keeps nothing.

        For a project: what its next recrawl would visit by these options, told from its latest run.
        """
        _check_thread()
        given = dict(options)
        _check_names(given, CrawlOptions.__optional_keys__)
        bases = (urls,) if isinstance(urls, str) else tuple(urls)
        if planning.names_project(self.path, bases):
            request = Request((), bases[0], _config_file(given), _settings(given))
            return planning.replan(request, of=self.path, note=_log.debug)
        request = Request(bases, None, _config_file(given), _settings(given))
        return planning.plan(request, beside=self.path, note=_log.info)

    def fetch(self, url: str, **options: Unpack[CrawlOptions]) -> planning.Fetched:
        """One page, asked for as a crawl would, or the problem; nothing is kept."""
        _check_thread()
        given = dict(options)
        _check_names(given, CrawlOptions.__optional_keys__)
        return planning.fetch(Request((url,), None, _config_file(given), _settings(given)), beside=self.path)

    def start(
        self,
        urls: str | Sequence[str] = (),
        *,
        project: str | None = None,
        on_progress: Progress | None = None,
        **options: Unpack[CrawlOptions],
    ) -> Future[CrawlResult]:
        """As `crawl`, in a thread; returns when the crawl is at work, so that it can be paused and stopped."""
        at_work = Event()

        def watch(now: Snapshot) -> None:
            at_work.set()
            if on_progress is not None:
                on_progress(now)

        thread = ThreadPoolExecutor(1, thread_name_prefix="orbweb-crawl")
        future = thread.submit(self.crawl, urls, project=project, on_progress=watch, **options)
        future.add_done_callback(lambda _: at_work.set())
        thread.shutdown(wait=False)
        at_work.wait()
        return future

    def resume(
        self, project: str, *, on_progress: Progress | None = None, **options: Unpack[ResumeOptions]
    ) -> CrawlResult:
        """Go on with the paused run; NothingToDo if there is none."""
        _check_thread()
        given = dict(options)
        _check_names(given, ResumeOptions.__optional_keys__)
        refresh = bool(given.get("refresh"))
        port = options.get("metrics_port")
        request = Request((), project, _config_file(given), _settings(given), refresh=refresh, metrics_port=port)
        with self._opened() as opened:
            return _result(app.resume(opened, request, watch=on_progress or _unwatched, note=_log.info))

    def rules(self, project: str, **options: Unpack[RuleOptions]) -> Report:
        """Change which URLs a project visits, also while a crawl is running; without options, show the rules."""
        _check_thread()
        given = dict(options)
        _check_names(given, RuleOptions.__optional_keys__)
        request = Request((), project, _config_file(given), _settings(given))
        with self._opened() as opened:
            return app.rules(opened, request, note=_log.info)

    def recrawl(
        self, project: str, *, on_progress: Progress | None = None, **options: Unpack[RecrawlOptions]
    ) -> CrawlResult:
        """Start a run that visits first what the latest one knew; returns when the crawl has ended."""
        _check_thread()
        given = dict(options)
        _check_names(given, RecrawlOptions.__optional_keys__)
        refresh = bool(given.get("refresh"))
        request = Request(
            (),
            project,
            _config_file(given),
            _settings(given),
            refresh=refresh,
            due=bool(given.get("due")),
            metrics_port=options.get("metrics_port"),
        )
        with self._opened() as opened:
            return _result(app.recrawl(opened, request, watch=on_progress or _unwatched, note=_log.info))

    def pause(self, project: str) -> None:
        """Hold the running crawl: no new request until `unpause`."""
        with self._opened() as opened:
            opened.tell(project, Command.PAUSE)

    def unpause(self, project: str) -> None:
        """Let a held crawl go on."""
        with self._opened() as opened:
            opened.tell(project, Command.UNPAUSE)

    def stop(self, project: str) -> bool:
        """Stop the running crawl; the rest stays queued. Whether it has ended."""
        with self._opened() as opened:
            return opened.stop(project)

    def finish(self, project: str) -> Report:
        """Complete the run by hand: what is queued is skipped. The status."""
        with self._opened() as opened:
            return opened.finish(project)

    def status(self, project: str) -> Report:
        """Where a project stands, and whether a crawl is running."""
        with self._opened() as opened:
            return opened.status(project)

    def statuses(self) -> list[Report]:
        """The status of every project."""
        with self._opened() as opened:
            return opened.statuses()

    def runs(self, project: str) -> list[Report]:
        """The runs of a project with their crawls."""
        with self._opened() as opened:
            return opened.runs(project)

    def queue(self, project: str) -> Report:
        """What is queued, by source, and what is next."""
        with self._opened() as opened:
            return opened.queue(project)

    def release(self, project: str, pattern: str) -> int:
        """Queue the parked URLs of a family, or those in which the RE2 pattern is found. How many URLs."""
        with self._opened() as opened:
            return opened.release(project, pattern)

    def clear_queue(self, project: str) -> int:
        """Give up what is queued, which completes the run. How many URLs."""
        with self._opened() as opened:
            return opened.clear_queue(project)

    def diff(
        self, project: str, old: int | None = None, new: int | None = None, *, keep_noise: bool = False
    ) -> Report:
        """What differs between two runs: the latest and the one before it, unless others are named."""
        with self._opened() as opened:
            return opened.diff(project, old, new, keep_noise=keep_noise)

    def pages(self, project: str, *, run: int | None = None) -> list[Report]:
        """The unique pages of a run, with their alternates."""
        with self._opened() as opened:
            return opened.pages(project, run)

    def gone(self, project: str, *, run: int | None = None) -> list[Report]:
        """The pages that have vanished, as seen from a run: since which run, why, and which run had them last."""
        with self._opened() as opened:
            return opened.gone(project, run)

    def failed(self, project: str, *, run: int | None = None) -> list[Report]:
        """The URLs that failed, and why."""
        with self._opened() as opened:
            return opened.failed(project, run)

    def retry(self, project: str, *, kind: str | None = None) -> int:
        """Queue failed URLs again; `resume` then visits them. How many."""
        with self._opened() as opened:
            return app.retry(opened, project, kind)

    def manifest(self, project: str, *, run: int | None = None) -> Iterator[str]:
        """One line a visit, in order; read as they are consumed."""
        with self._opened() as opened:
            yield from opened.manifest(project, run)

    def manifest_hash(self, project: str, *, run: int | None = None) -> str:
        """One SHA-256 over the lines of the manifest."""
        with self._opened() as opened:
            return opened.manifest_hash(project, run)

    def show(self, project: str, url: str, *, run: int | None = None) -> Report | None:
        """Everything known about one URL; None if the run has never seen it."""
        with self._opened() as opened:
            config, _ = configure(runs.project(opened.db, project), Request())
            return opened.show(project, url, run, url_rules(config))

    def extract(
        self,
        project: str,
        *,
        run: int | None = None,
        everything: bool = False,
        processes: int | None = None,
        on_progress: Callable[[Reading], None] | None = None,
    ) -> ExtractResult:
        """Read stored pages again with the extractor of this version; only documents change."""
        _check_thread()
        request = Request((), project, None, _settings({} if processes is None else {"processes": processes}))
        with self._opened() as opened:
            report = app.extract(
                opened,
                request,
                number=run,
                everything=everything,
                watch=on_progress or _unread,
                note=_log.info,
            )
        failed = {row["url"]: row["problem"] for row in report.pop("failed")}
        return ExtractResult(**report, failed=failed)

    def replay(
        self,
        project: str | None = None,
        *,
        run: int | None = None,
        out: str | PathLike[str] | None = None,
        verify: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Report:
        """Make the files and the Markdown of a run again from what is stored; with `verify`, check every body."""
        _check_thread()
        place, request = None if out is None else Path(out), Request((), project)
        with self._opened() as opened:
            return app.replay(
                opened,
                request,
                number=run,
                out=place,
                verify=verify,
                watch=on_progress or _uncounted,
                note=_log.info,
            )

    def import_state(
        self,
        path: str | PathLike[str],
        *,
        project: str | None = None,
        bases: Sequence[str] = (),
        bodies: str | PathLike[str] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Report:
        """Take over the state of a crawl that is in plain files, as a new project; `resume` goes on with it."""
        folder, place = Path(path), None if bodies is None else Path(bodies)
        with self._opened(create=True) as opened:
            return app.adopt(
                opened, folder, project=project, bases=bases, bodies=place, watch=on_progress or _uncounted
            )

    def documents(self, project: str, *, run: int | None = None) -> Iterator[Captured]:
        """The pages of a run with their documents, in order; each is read when its turn comes."""
        with self._opened() as opened:
            yield from opened.documents(project, run)

    def document(self, project: str, url: str, *, run: int | None = None) -> Document | None:
        """What was read out of a page; of an alternate, that of its page. None where there is no page."""
        with self._opened() as opened:
            config, _ = configure(runs.project(opened.db, project), Request())
            kept = opened.document(project, url, run, url_rules(config))
            return kept.document if kept else None

    def near_duplicates(self, project: str, *, run: int | None = None, within: int = WITHIN) -> list[list[Report]]:
        """Groups of pages whose texts differ in few words: in `within` of 64 bits from one to the next."""
        with self._opened() as opened:
            return opened.near_duplicates(project, run, within=within)

    def body(self, sha256: str) -> bytes:
        """A stored body by its `body_sha256`, verified."""
        with self._opened() as opened:
            return opened.body(sha256)

    def export(
        self,
        project: str,
        *,
        to: Literal["markdown", "jsonl", "csv", "zip", "llms", "files", "state"],
        out: str | PathLike[str] | IO[bytes],
        run: int | None = None,
        raw: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Exported:
        """Write the pages of a run to a folder, a file or, as JSON lines or CSV, a binary stream.

        `on_progress` is called after each page with the pages done and the pages in all.
        """
        if to not in list(Format):
            raise UsageError(f"to: {to!r} is no format; use one of {', '.join(Format)}")
        place = Path(out) if isinstance(out, str | PathLike) else out
        with self._opened() as opened:
            owner = runs.project(opened.db, project)
            config, _ = configure(owner, Request())
            told = subject(opened, owner, runs.run_of(opened.db, owner, run), config)
            rules, page_type, watch = url_rules(config), told.page_type, on_progress or _uncounted
            return opened.export(
                project, Format(to), place, run, rules=rules, page_type=page_type, raw=raw, watch=watch
            )

    def page_index(self, project: str, *, run: int | None = None) -> Iterator[Report]:
        """What is known of each URL that was asked for, by which a later run asks conditionally."""
        with self._opened() as opened:
            yield from opened.page_index(project, run)

    def search(
        self,
        project: str,
        query: str,
        *,
        run: int | None = None,
        limit: int = 20,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> list[Report]:
        """The pages that have every word of the query, the best first. `on_progress` is told what is indexed."""
        if limit < 1:
            raise UsageError(f"limit: {limit} is not a number of results")
        with self._opened() as opened:
            return opened.search(project, query, run, limit=limit, watch=on_progress or _uncounted)

    def explain(self, project: str, url: str, *, run: int | None = None) -> Report:
        """Why a URL was visited, refused or failed; for one never seen, what the rules would say now."""
        with self._opened() as opened:
            owner = runs.project(opened.db, project)
            return _explain(opened, owner, runs.run_of(opened.db, owner, run), url)

    def configure(self, *, profile: Literal["docs", "site", "github"] = "docs", force: bool = False) -> Report:
        """Write settings to edit, a file of seeds and the folders of the workspace."""
        return layout.configure(self.path, profile, force=force)

    def validate_policy(
        self,
        urls: str | Sequence[str] = (),
        *,
        file: str | PathLike[str] | None = None,
        **options: Unpack[PolicyOptions],
    ) -> list[Report]:
        """What the policy says of each URL, those of the file first; by orbweb.yaml if no settings are named."""
        given = dict(options)
        _check_names(given, PolicyOptions.__optional_keys__)
        asked = (urls,) if isinstance(urls, str) else tuple(urls)
        request = Request((), None, _config_file(given), _settings(given))
        return trial.validate(request, asked, None if file is None else Path(file), beside=self.path)

    def reset(self) -> Report:
        """Wipe everything that crawls left; settings and seeds stay. Busy while one is running."""
        return layout.reset(self.path)

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[Directory]:
        opened = Directory(self.path, create=create)
        try:
            yield opened
        finally:
            opened.close()


def _unread(_now: Reading) -> None:
    """Nobody looks at the progress."""


def _unwatched(_now: Snapshot) -> None:
    """Nobody looks at the progress."""


def _uncounted(_done: int, _total: int) -> None:
    """Nobody looks at the progress."""


def _result(report: Report) -> CrawlResult:
    bases = tuple(BaseResult(**base) for base in report["bases"])
    return CrawlResult(**{**report, "bases": bases}, exit_code=app.exit_code(report))


def _check_thread() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        "an event loop is running in this thread, and a crawl needs its own: use Workspace.start, or await "
        "asyncio.to_thread(orbweb.crawl, ...)"
    )


# Options.


def _check_names(given: Mapping[str, object], names: frozenset[str]) -> None:
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(names))}"
            raise UsageError(f"unknown option {name} ({hint})")


def _config_file(given: Mapping[str, Any]) -> Path | None:
    return _file(given, "config")


def _file(given: Mapping[str, Any], name: str) -> Path | None:
    return Path(given[name]) if name in given else None


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as nested settings, plain enough to be stored; their values are checked where they are merged."""
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name in _SETTINGS:
            section, key = _SETTINGS[name]
            (settings.setdefault(section, {}) if section else settings)[key] = _plain(name, value)
    return settings


def _plain(name: str, value: object) -> object:
    plain = list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
    if not isinstance(plain, _PLAIN):
        raise UsageError(f"{name}: {type(value).__name__} cannot be stored; give text, a number, a list or None")
    return plain


# Explaining.


def _explain(opened: Directory, owner: Project, run: Run, url: str) -> Report:
    config, _ = configure(owner, Request())
    asked = target(url, rules=url_rules(config))
    if asked is None:
        raise UsageError(f"{url!r} is not an http(s) URL")
    report = explain.known(opened.db, run.id, asked.key)
    if report is None:
        bases = runs.bases_of(opened.db, run.id)
        policy = policy_of(opened, policy_rules(config), run, bases)
        verdict = _verdict_now(policy, bases, asked.key)
        line = None if verdict.reason else robots_refusal(opened, config, asked.url)
        if line is not None:
            verdict = verdict._replace(reason=SkipReason.ROBOTS, rule=line)
        report = explain.unseen(asked.key, asked.url, verdict, bases[verdict.base])
    since = gone.since(opened.db, run, asked.key)
    return {"project": owner.name, "run": run.number, "asked": asked.url, **report, "gone": since}


def _verdict_now(policy: Policy, bases: Sequence[Base], key: str) -> Verdict:
    """The verdict if the first base URL linked to it: the best path it could have."""
    limit = policy.rules.page_limit
    for base in bases:
        if limit is not None and base.pages >= limit:
            policy.fill(base.number)
    return policy.judge(Candidate(key, depth=1, hops=0, base=bases[0].number))
