"""Writes the rows of an imported run: its URLs, visits, pages, bodies and links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orbweb.app.callbacks import Count
from orbweb.app.import_links import ImportedLinks
from orbweb.engine.workers.page import Job, PageProcessor, is_html
from orbweb.export.state.bodies import BodyFolder
from orbweb.export.state.files import StateLine
from orbweb.export.state.places import StateReader, StateUrl, final_status
from orbweb.lifecycle import EndedBy, ItemState
from orbweb.model import Blob, FailKind, Parsed, ProcessedPage, Reuse, Role
from orbweb.policy.rules import Policy
from orbweb.store import RunStore, Store
from orbweb.store.bodies import BodyStore, KnownBodies, new_compressor, pack
from orbweb.store.rows import Ending, Progress, UrlRow, VisitRow
from orbweb.store.runs import RequestProfile
from orbweb.urls import UrlRules

PORTION = 500


@dataclass(frozen=True, slots=True)
class ImportRules:
    """By what the URLs of the new run are written, judged and ordered."""

    urls: UrlRules
    policy: Policy
    lane_of: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The project that is created, the request profile of its crawl, and its body store."""

    project: str
    settings: dict[str, Any]
    profile: RequestProfile
    rules: ImportRules
    store: Store
    bodies: Callable[[int], BodyStore]
    known_bodies: KnownBodies
    now: int


@dataclass(slots=True)
class Imported:
    """Counts of what was imported. `missing`: bodies that a line names and that were not found. `found`: URLs that
    only links of imported pages name."""

    visited: int = 0
    failed: int = 0
    queued: int = 0
    skipped: int = 0
    pages: int = 0
    bodies: int = 0
    missing: int = 0
    found: int = 0
    seen: int = 0
    robots: int = 0


class StateImport:
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
        self._links = ImportedLinks(intake, home.rules.policy, home.rules.lane_of, store.has_mark, self._add_found)
        self._seen_pages: set[bytes] = set()
        self._seen_bodies: set[bytes] = set()
        self._pages_by_base: Counter[int] = Counter()
        self._bytes = 0

    def write(self, progress: Progress, last: int, on_progress: Count) -> Imported:
        self._progress, self._last = progress, last
        self._add_marks()
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

    @property
    def next_url(self) -> int:
        """The next id of a URL, after those that were found in bodies."""
        return self._links.next_url

    def _add_marks(self) -> None:
        for sha256 in self._intake.folder.seen():
            self._unit.add_mark(sha256)
            self._taken.seen += 1
            if len(self._unit.marks) >= PORTION:
                self._write()
        self._write()

    def _add_found(self, row: UrlRow) -> None:
        self._taken.found += 1
        self._add_url(row._replace(run_id=self._run_id))

    def _add_url(self, row: UrlRow) -> None:
        self._unit.add_url(row)
        self._unit.count(None, (row.state, row.reason or ""), 1)
        setattr(self._taken, row.state, getattr(self._taken, row.state) + 1)

    def _add_urls(self) -> None:
        for each in self._intake.urls():
            self._add_url(self._intake.row(each, self._run_id))
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
            next_url=self._links.next_url,
            next_rank=self._links.next_rank,
            visited=taken.visited,
            failed=taken.failed,
            pages=taken.pages,
            bytes=self._bytes,
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
        self._link(found, line, processed.parsed if processed else None)
        self._unit.add_visit(self._row(number, found, line, processed, blob, role))

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
        """Store an imported body, unless the workspace has it undamaged."""
        if blob.sha256 in self._seen_bodies:
            return
        self._seen_bodies.add(blob.sha256)
        location = self._store.body_location(blob.sha256)
        if location is not None and self._home.known_bodies.holds(blob, location):
            return
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
        policy = self._home.rules.policy
        if self._pages_by_base[found.base] == policy.rules.page_limit:
            policy.fill(found.base)
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
        status = final_status(line)
        kind = line.one_of("kind", FailKind)
        if failed and kind is None:
            kind = FailKind.HTTP_4XX.value if (status or 0) < 500 else FailKind.HTTP_5XX.value
        target = line.url("redirect_to", self._home.rules.urls)
        redirect = self._links.id_of(target.key) if target else None
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
            redirect_to=redirect if 300 <= (status or 0) < 400 else None,
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
        """Store the links of the page, or its redirect."""
        if found.state != ItemState.VISITED:
            return
        target = line.url("redirect_to", self._home.rules.urls)
        if parsed is not None:
            packed = self._links.of_page(found, parsed)
        else:
            packed = self._links.of_redirect(found, target) if target else None
        if packed is not None:
            self._unit.add_links(found.id, packed)


def _reuse(line: StateLine, status: int | None, blob: Blob | None) -> str | None:
    """How a visit reused a body that it did not transfer."""
    if blob is None:
        return None
    if status == 304:
        return Reuse.NOT_MODIFIED.value
    return Reuse.CACHED.value if line.one_of("reuse", Reuse) == Reuse.CACHED else None
