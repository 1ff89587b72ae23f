"""The verb `import`: the state of a crawl in plain files becomes a new project with a run that can be resumed.

Everything is imported in one transaction, or nothing is. A body is taken only if it has the hash that its line
names.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orbweb.app.callbacks import Count
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.identity import request_profile
from orbweb.app.request import Request, configure
from orbweb.app.settings import lane_of, modes, processor_settings, url_rules
from orbweb.config.schema import Config
from orbweb.engine.workers.page import Job, PageProcessor, is_html
from orbweb.errors import Busy, CorruptBody, UsageError, option
from orbweb.export.state.files import StateFolder, StateLine
from orbweb.export.state.places import StateReader, StateSettings, StateUrl
from orbweb.frontier import seeds
from orbweb.lifecycle import EndedBy, ItemState
from orbweb.model import Blob, FailKind, Parsed, ProcessedPage, Resources, Reuse, Role
from orbweb.store import Queries, RunStore, Store, runs
from orbweb.store import links as packed_links
from orbweb.store.bodies import BodyStore, new_compressor, pack, unpack_foreign
from orbweb.store.queries.reports import Report
from orbweb.store.rows import Ending, Progress, VisitRow
from orbweb.store.runs import Base, RequestProfile
from orbweb.urls import UrlRules

PORTION = 500


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The project that is created, the request profile of its crawl, and its body store."""

    project: str
    settings: dict[str, Any]
    profile: RequestProfile
    rules: UrlRules
    store: Store
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
            settings,
            request_profile(config, bases_found, processor_settings(config), resources, refresh=False),
            url_rules(config),
            workspace.store(),
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
            return workspace.file_writer(project_id, modes(config), compress=store.compress)
        return workspace.new_segments(project_id, modes(config))

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
        project = runs.write_project(
            db, home.project, home.settings, [base.url for base in intake.bases], home.now
        )
        times = [line.instant("timestamp") or home.now for _, line in intake.visits()]
        progress = Progress(
            intake.next_url,
            intake.next_rank,
            len(times) + 1,
            bool(intake.facts("scope_fixed", intake.is_begun)),
            bool(intake.facts("surveyed", intake.is_begun)),
            *(0, 0, 0, 0),
        )
        bases = [Base(number, base.url, base.scope) for number, base in enumerate(intake.bases)]
        run = runs.adopt_run(db, project, bases, progress, min(times, default=home.now), home.profile)
        store = home.bodies(project.id)
        try:
            work = _StateImport(home.store.open_run(run), intake, home, bodies, processor, store)
            return work.write(progress, max(times, default=home.now), on_progress)
        finally:
            store.close()


class _StateImport:
    """One import, inside its transaction."""

    def __init__(
        self,
        store: RunStore,
        intake: StateReader,
        home: ImportTarget,
        bodies: BodyFolder,
        processor: PageProcessor,
        body_store: BodyStore,
    ) -> None:
        self._store, self._intake, self._home = store, intake, home
        self._bodies, self._processor, self._body_store = bodies, processor, body_store
        self._run_id = store.run_id
        self._unit = store.begin()
        self._compressor = new_compressor()
        self._taken = Imported()
        self._seen_pages: set[bytes] = set()
        self._seen_bodies: set[bytes] = set()
        self._pages_by_base: Counter[int] = Counter()
        self._bytes = 0

    def write(self, progress: Progress, last: int, on_progress: Count) -> Imported:
        self._progress, self._last = progress, last
        self._add_urls()
        for number, (found, line) in enumerate(self._intake.visits(), 1):
            self._visit(number, found, line)
            self._write_portion()
            on_progress(number, progress.next_visit - 1)
        for number, base in enumerate(self._intake.bases):
            self._unit.save_base(number, base.scope, self._pages_by_base[number])
        self._body_store.sync()
        self._write()
        left = self._taken.queued or not self._intake.facts("surveyed", default=True)
        self._store.end(Ending(EndedBy.BUDGET if left else EndedBy.EXHAUSTED), last)
        return self._taken

    def _add_urls(self) -> None:
        for each in self._intake.urls():
            self._unit.add_url(self._intake.row(each, self._run_id))
            self._unit.count(None, (each.state, each.reason or ""), 1)
            setattr(self._taken, each.state, getattr(self._taken, each.state) + 1)
            if each.due_at is not None and each.rank is not None and each.state == ItemState.QUEUED:
                self._unit.defer(each.id, each.rank, each.due_at)
            self._write_portion()
        self._unit.families.extend(self._intake.families(self._run_id))

    def _write_portion(self) -> None:
        if len(self._unit.urls) + len(self._unit.visits) >= PORTION:
            self._write()

    def _write(self) -> None:
        taken = self._taken
        progress = self._progress._replace(
            visited=taken.visited, failed=taken.failed, pages=taken.pages, bytes=self._bytes
        )
        self._store.write(self._unit, progress, self._last)
        self._unit = self._store.begin()

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
        self._unit.add_visit(self._row(number, found, line, processed, blob, role))
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
        if blob.sha256 in self._seen_bodies or self._store.has_body(blob.sha256):
            return
        self._seen_bodies.add(blob.sha256)
        self._unit.add_body(blob.sha256, self._body_store.put(blob))
        self._taken.bodies += 1

    def _role(self, found: StateUrl, processed: ProcessedPage | None) -> Role:
        if processed is None or processed.document is None:
            return Role.NONE
        if processed.content_sha256 in self._seen_pages:
            return Role.ALTERNATE
        self._seen_pages.add(processed.content_sha256)
        self._unit.add_document(processed.document)
        self._unit.add_page(processed.content_sha256, found.id, found.base, processed.document.sha256)
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
            crawl_id=self._store.crawl.id,
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
            self._unit.add_links(found.id, packed)


def _reuse(line: StateLine, status: int | None, blob: Blob | None) -> str | None:
    """How a visit reused a body that it did not transfer."""
    if blob is None:
        return None
    if status == 304:
        return Reuse.NOT_MODIFIED.value
    return Reuse.CACHED.value if line.one_of("reuse", Reuse) == Reuse.CACHED else None
