"""The verb `import`: the state of a crawl in plain files becomes a new project with a run that can be resumed.

Everything is imported in one transaction, or nothing is. A body is taken only if it has the hash that its line
names.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from orbweb.app.callbacks import Count
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.identity import request_profile
from orbweb.app.request import Request, configure
from orbweb.app.settings import lane_of, processor_settings, url_rules
from orbweb.config.schema import Config
from orbweb.engine.workers.page import Job, PageProcessor, is_html
from orbweb.errors import Busy, CorruptBody, UsageError, option
from orbweb.export.state.files import StateFolder, StateLine
from orbweb.export.state.places import StateReader, StateSettings, StateUrl
from orbweb.frontier import seeds
from orbweb.lifecycle import EndedBy, ItemState
from orbweb.model import Blob, FailKind, Parsed, ProcessedPage, Resources, Reuse, Role
from orbweb.store import Queries, runs
from orbweb.store import links as packed_links
from orbweb.store.bodies import BodyStore, new_compressor, pack, unpack_foreign
from orbweb.store.bodies.segments import SegmentStore
from orbweb.store.queries.reports import Report
from orbweb.store.rows import BaseRow, Ending, VisitRow
from orbweb.store.runs import RequestProfile, end
from orbweb.urls import UrlRules

PORTION = 500


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The project that is created, the request profile of its crawl, and its body store."""

    project: str
    settings: str
    profile: RequestProfile
    rules: UrlRules
    bodies: Callable[[int], BodyStore]
    now: int


@dataclass(slots=True)
class Imported:
    """Counts of what was imported. `missing`: bodies that a line names and that were not found."""

    visited: int = 0
    failed: int = 0
    queued: int = 0
    skipped: int = 0
    pages: int = 0
    bodies: int = 0
    missing: int = 0


class BodyFolder:
    """A folder of bodies by their hash, `aa/bb/<sha256>.html` or `.html.zst`, below it or below its `html`."""

    def __init__(self, folder: Path | None, most: int) -> None:
        self._folder, self._most = folder, most

    def find(self, sha256: bytes) -> bytes | None:
        """The body with that hash; None if there is no file of it."""
        name = sha256.hex()
        for home in (self._folder, self._folder / "html") if self._folder else ():
            stem = home / name[:2] / name[2:4] / f"{name}.html"
            for path in (stem, stem.with_name(f"{stem.name}.zst")):
                if path.is_file():
                    return self._read(path, sha256)
        return None

    def _read(self, path: Path, sha256: bytes) -> bytes:
        try:
            data = path.read_bytes()
            body = unpack_foreign(data, self._most, where=str(path)) if path.suffix == ".zst" else data
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}. Nothing was imported.") from error
        except CorruptBody as error:
            raise UsageError(f"{error}. Nothing was imported.") from error
        if hashlib.sha256(body).digest() != sha256:
            raise UsageError(f"{path}: the body does not match its SHA-256. Nothing was imported.")
        return body


def import_state(
    workspace: OpenWorkspace,
    path: Path,
    *,
    project: str | None,
    bases: Sequence[str],
    bodies: Path | None,
    on_progress: Count,
) -> Report:
    """Import the state of a crawl from plain files, as a new project with a paused run."""
    folder = StateFolder(path)
    state = folder.state()
    fields = state.fields if state is not None else {}
    name = seeds.check_project_name(project or str(fields.get("project") or path.resolve().name))
    given = fields.get("settings")
    config, settings = configure(None, Request(settings=given if isinstance(given, dict) else {}))
    if runs.find_project(workspace.db, name) is not None:
        raise UsageError(
            f"project {name!r} already exists in {workspace.path}. Choose another {option('project', 'NAME')}"
        )
    intake = StateReader(folder, StateSettings(url_rules(config), lane_of(config), tuple(bases)))
    with workspace.own(name):
        if not workspace.idle_but_for(0):
            raise Busy(f"a crawl is running in {workspace.path}; import after it ends, or into another workspace")
        bases_found = [base.url for base in intake.bases]
        resources = Resources(config.resources.mode)
        home = ImportTarget(
            name,
            json.dumps(settings, sort_keys=True),
            request_profile(config, bases_found, processor_settings(config), resources, refresh=False),
            url_rules(config),
            _new_bodies(workspace, config),
            now_us(),
        )
        found = BodyFolder(bodies or path / "bodies", config.fetch.max_bytes)
        processor = PageProcessor(processor_settings(config))
        taken = _import(workspace.db, intake, home, found, processor, on_progress)
    run = workspace.run(name)
    return {
        "project": name,
        "run": run.number,
        "state": run.state.value,
        **asdict(taken),
        "repeated": intake.repeated,
        "workspace": str(workspace.path),
    }


def _new_bodies(workspace: OpenWorkspace, config: Config) -> Callable[[int], BodyStore]:
    """The body store of a new project: a new segment is added in the same transaction."""

    def store_of(project_id: int) -> BodyStore:
        store = config.store
        if store.layout == "files":
            return workspace.file_writer(project_id, compress=store.compress, file_mode=store.file_mode)
        allocate = partial(workspace.db.value, "add_segment", project_id=project_id)
        return SegmentStore(workspace.path / "store", allocate=allocate)

    return store_of


def _import(
    db: Queries,
    intake: StateReader,
    home: ImportTarget,
    bodies: BodyFolder,
    processor: PageProcessor,
    on_progress: Count,
) -> Imported:
    """Create the project, its run and everything in it. `on_progress` counts visits."""
    with db.transaction():
        bases = json.dumps([base.url for base in intake.bases])
        project_id = db.value(
            "add_project", name=home.project, settings=home.settings, bases=bases, created_at=home.now
        )
        store = home.bodies(project_id)
        try:
            return _StateImport(db, intake, home, bodies, processor, store).write(project_id, on_progress)
        finally:
            store.close()


class _StateImport:
    """One import, inside its transaction."""

    def __init__(
        self,
        db: Queries,
        intake: StateReader,
        home: ImportTarget,
        bodies: BodyFolder,
        processor: PageProcessor,
        store: BodyStore,
    ) -> None:
        self._db, self._intake, self._home = db, intake, home
        self._bodies, self._processor, self._store = bodies, processor, store
        self._compressor = new_compressor()
        self._taken = Imported()
        self._run_id = 0
        self._crawl_id = 0
        self._seen_pages: set[bytes] = set()
        self._pages_by_base: Counter[int] = Counter()
        self._bytes = 0
        self._segments: dict[int, int] = {}

    def write(self, project_id: int, on_progress: Count) -> Imported:
        db, intake, now = self._db, self._intake, self._home.now
        times = [line.instant("timestamp") or now for _, line in intake.visits()]
        first, last = min(times, default=now), max(times, default=now)
        begun = intake.is_begun
        self._run_id = db.value(
            "adopt_run",
            project_id=project_id,
            started_at=first,
            next_url=intake.next_url,
            next_rank=intake.next_rank,
            next_visit=len(times) + 1,
            scope_fixed=intake.facts("scope_fixed", begun),
            surveyed=intake.facts("surveyed", begun),
        )
        profile = self._home.profile
        self._crawl_id = db.value(
            "add_crawl",
            run_id=self._run_id,
            budget=None,
            now=first,
            asked_as=profile.asked_as,
            read_with=profile.read_with,
        )
        self._write_urls()
        for number, (found, line) in enumerate(intake.visits(), 1):
            self._visit(number, found, line)
            on_progress(number, len(times))
        self._store.sync()
        self._close(last)
        return self._taken

    def _write_urls(self) -> None:
        db, run_id = self._db, self._run_id
        bases = self._intake.bases
        db.many("add_base", [(run_id, number, base.url, base.scope) for number, base in enumerate(bases)])
        tallies: Counter[tuple[str, str]] = Counter()
        rest = iter(self._intake.urls())
        while portion := list(islice(rest, PORTION)):
            db.many("add_url", [self._intake.row(each, run_id) for each in portion])
            tallies.update((each.state, each.reason or "") for each in portion)
            for each in portion:
                if each.due_at is not None and each.state == ItemState.QUEUED:
                    db.run("postpone_url", run_id=run_id, id=each.id, due_at=each.due_at)
        for (state, reason), count in tallies.items():
            db.run("add_tally", run_id=run_id, state=state, reason=reason, change=count)
            setattr(self._taken, state, getattr(self._taken, state) + count)
        db.many("save_family", list(self._intake.families(run_id)))

    # Visits.

    def _visit(self, number: int, found: StateUrl, line: StateLine) -> None:
        failed = found.state == ItemState.FAILED
        sha256 = None if failed else line.sha256("sha256")
        body = self._body(sha256)
        processed = self._processed(found, line, body) if body is not None else None
        blob = processed.blob if processed else pack(body, self._compressor) if body is not None else None
        if blob is not None:
            self._store_body(blob)
        role = self._role(found, processed)
        self._db.many("add_visit", [self._row(number, found, line, processed, blob, role)])
        self._link(found, line, processed.parsed if processed else None)

    def _body(self, sha256: bytes | None) -> bytes | None:
        body = self._bodies.find(sha256) if sha256 is not None else None
        self._taken.missing += sha256 is not None and body is None
        return body

    def _processed(self, found: StateUrl, line: StateLine, body: bytes) -> ProcessedPage | None:
        """The processed page; None if the body is not a page, or was not one where it was crawled."""
        kind = line.maybe("content_type", str)
        if line.one_of("role", Role) == Role.NONE or not is_html(kind, body):
            return None
        url = line.get("final_url", str, found.url)
        tags = tuple(line.get("robots_tags", str, "").split("\n")) if line.maybe("robots_tags", str) else ()
        processed = self._processor.process(Job(0, url, kind, body, tags))
        return processed if isinstance(processed, ProcessedPage) and processed.document is not None else None

    def _store_body(self, blob: Blob) -> None:
        if self._db.one("body_exists", sha256=blob.sha256) is not None:
            return
        at = self._store.put(blob)
        self._db.many("add_body", [(blob.sha256, *at)])
        self._taken.bodies += 1
        if at.segment is not None and at.offset is not None:
            self._segments[at.segment] = at.offset + at.length

    def _role(self, found: StateUrl, processed: ProcessedPage | None) -> Role:
        if processed is None or processed.document is None:
            return Role.NONE
        if processed.content_sha256 in self._seen_pages:
            return Role.ALTERNATE
        self._seen_pages.add(processed.content_sha256)
        self._db.many("add_document", [processed.document])
        page = (self._run_id, processed.content_sha256, found.id, found.base, processed.document.sha256)
        self._db.many("add_page", [page])
        self._pages_by_base[found.base] += 1
        self._taken.pages += 1
        return Role.PRIMARY

    def _row(
        self,
        number: int,
        found: StateUrl,
        line: StateLine,
        processed: ProcessedPage | None,
        blob: Blob | None,
        role: Role,
    ) -> VisitRow:
        failed = found.state == ItemState.FAILED
        status = line.maybe("status", int)
        kind = line.one_of("kind", FailKind)
        if failed and kind is None:
            kind = FailKind.HTTP_4XX.value if (status or 0) < 500 else FailKind.HTTP_5XX.value
        target = line.url("redirect_to", self._home.rules)
        redirect = self._intake.find(target.key if target else None)
        parsed = processed.parsed if processed else Parsed()
        reuse = None if failed else _reuse(line, status, blob)
        size = blob.size if blob else 0
        self._bytes += size
        return VisitRow(
            run_id=self._run_id,
            number=number,
            url_id=found.id,
            crawl_id=self._crawl_id,
            depth=found.depth,
            rank=found.rank or 0,
            status=status if failed else status or 200,
            kind=kind,
            error=line.get("error", str, f"HTTP {status}" if status else kind or "") if failed else None,
            tries=max(line.get("tries", int, 1), 1),
            final_url=line.maybe("final_url", str),
            redirect_to=redirect.id if redirect and 300 <= (status or 0) < 400 else None,
            content_type=line.maybe("content_type", str),
            encoding=parsed.encoding or line.maybe("encoding", str),
            etag=line.maybe("etag", str),
            last_modified=line.maybe("last_modified", str),
            title=parsed.title if processed else line.maybe("title", str),
            canonical=parsed.canonical if processed else line.maybe("canonical", str),
            noindex=line.get("noindex", bool, parsed.directives.noindex is not None),
            nofollow=line.get("nofollow", bool, parsed.directives.nofollow is not None),
            links_cut=parsed.links_cut,
            truncated=line.get("truncated", bool, False),
            body_sha256=blob.sha256 if blob else None,
            content_sha256=processed.content_sha256 if processed and role is not Role.NONE else None,
            role=role.value,
            bytes=size,
            wire_bytes=line.get("wire_bytes", int, 0),
            latency_ms=line.get("latency_ms", int, 0),
            fetched_at=line.instant("timestamp") or self._home.now,
            proxy=line.maybe("proxy", str),
            robots_tags=line.maybe("robots_tags", str),
            reuse=reuse,
            reused_run=self._run_id if reuse else None,
        )

    def _link(self, found: StateUrl, line: StateLine, parsed: Parsed | None) -> None:
        """Store the links of the page that lead to known URLs, or its redirect."""
        target = line.url("redirect_to", self._home.rules)
        edges = [(target.key, packed_links.FLAGS["redirect", False])] if target else []
        if parsed is not None:
            links = (*parsed.links, *parsed.resources)
            edges = [(link.key, packed_links.FLAGS[link.kind, link.nofollow]) for link in links]
        known = [(self._intake.find(key), flag) for key, flag in edges]
        kept = [(each.id, flag) for each, flag in known if each is not None]
        if kept and found.state == ItemState.VISITED:
            packed = packed_links.pack([number for number, _ in kept], bytes(flag for _, flag in kept))
            self._db.many("add_outlinks", [(self._run_id, found.id, packed)])

    # The end.

    def _close(self, last: int) -> None:
        db, taken = self._db, self._taken
        for segment, committed in self._segments.items():
            db.run("extend_segment", segment=segment, committed=committed)
        for number, base in enumerate(self._intake.bases):
            db.many("save_base", [BaseRow(base.scope, self._pages_by_base[number], self._run_id, number)])
        db.run(
            "count_crawl",
            crawl_id=self._crawl_id,
            visited=taken.visited,
            failed=taken.failed,
            pages=taken.pages,
            bytes=self._bytes,
            now=last,
        )
        left = taken.queued or not self._intake.facts("surveyed", default=True)
        ending = Ending(EndedBy.BUDGET if left else EndedBy.EXHAUSTED)
        end(db, self._run_id, self._crawl_id, ending, last)


def _reuse(line: StateLine, status: int | None, blob: Blob | None) -> str | None:
    """How a visit reused a body that it did not transfer."""
    if blob is None:
        return None
    if status == 304:
        return Reuse.NOT_MODIFIED.value
    return Reuse.CACHED.value if line.one_of("reuse", Reuse) == Reuse.CACHED else None
