"""Finds damage of a workspace: within and between database, bodies, links and counters.

A damage names its file and place, the URLs it affects and what a repair does about it (see `repair`). What a crash
leaves, and the next start cleans up, is not damage. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.errors import StoreError
from orbweb.model import PackedDocument
from orbweb.store import documents, heads
from orbweb.store import links as packed_links
from orbweb.store.bodies import BodyStore, Location
from orbweb.store.bodies.files import FileStore
from orbweb.store.bodies.segments import SEGMENT_HEADER, SegmentStore
from orbweb.store.maintenance.row_checks import misfit
from orbweb.store.sqlite import layout, salvage
from orbweb.store.sqlite.db import Database, load_queries
from orbweb.store.sqlite.errors import newer
from orbweb.store.sqlite.schema import SCHEMA_VERSION
from orbweb.store.workspace_files import DATABASE
from orbweb.store.workspace_paths import WorkspacePaths, locate

Count = Callable[[int, int], None]
"""Called with how many are done, of how many."""
Step = Callable[[], None]
LIMITER = "limiter.db"
SEARCH = "search.db"
MOST_VERSION = 9999
"""A higher version means that the header is damaged."""
_LOCK = ".crawl.lock"
CLOCK_SLACK = 86_400_000_000

# Each query finds contradictions in a run: id of the run, table, problem.
_CONTRADICTIONS = (
    "lost_runs",
    "lost_bases",
    "lost_crawls",
    "stray_visits",
    "stray_pages",
    "stray_outlinks",
    "lost_referrers",
    "wrong_tallies",
    "wrong_base_pages",
    "wrong_counters",
    "wrong_run_states",
    "wrong_crawl_states",
    "wrong_crawl_counts",
    "visited_twice",
)


class DoctorQueries(Database):
    """The database with the queries of `doctor`, which read whole tables."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._queries = {**self._queries, **load_queries("doctor.sql")}


@dataclass(frozen=True, slots=True)
class Damage:
    """One problem: `file` in the workspace, `where` in it, and what `--repair` does about it."""

    file: str
    where: str
    problem: str
    urls: tuple[str, ...] = ()
    repair: str = ""

    def report(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "where": self.where,
            "problem": self.problem,
            "urls": list(self.urls),
            "repair": self.repair,
        }


class AffectedUrl(NamedTuple):
    run_id: int
    url_id: int
    url: str


class BrokenBody(NamedTuple):
    """A body that cannot be read."""

    sha256: bytes
    location: Location
    problem: str


class UnreadPage(NamedTuple):
    """A page without a valid document, and how it was captured."""

    run_id: int
    content_sha256: bytes
    url_id: int
    url: str
    final_url: str | None
    content_type: str | None
    body_sha256: bytes


@dataclass(slots=True)
class Findings:
    """All damage found, and what a repair has to work on. `forgettable` is damage of files that are rebuilt at
    their next use: it costs nothing, and a power cut may cause it."""

    damages: list[Damage] = field(default_factory=list)
    forgettable: list[Damage] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    bodies: list[BrokenBody] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)
    documents: list[bytes] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    headless: list[AffectedUrl] = field(default_factory=list)
    unread: list[UnreadPage] = field(default_factory=list)
    reopened: dict[tuple[int, int], str] = field(default_factory=dict)


def database_path(root: Path) -> Path:
    return locate(root).index.path


def project_names(root: Path) -> list[str]:
    """The projects that a repair must own: those with a lock file, and those whose names can be read."""
    locks = [path.name.removesuffix(_LOCK) for path in (root / "locks").glob(f"*{_LOCK}")]
    return sorted({*locks, *salvage.texts(database_path(root), layout.main_layout(), "projects", "name")})


def examine(root: Path, on_progress: Count = lambda _done, _total: None) -> Findings:
    """All damage of the workspace. Rows are examined only if the database file itself is intact. `on_progress`
    counts bodies and documents."""
    found = Findings()
    if _examine_files(root, found):
        with closing(DoctorQueries(database_path(root))) as db:
            step = _steps(on_progress, db.value("number_examined"))
            _examine_segments(root, db, found)
            _examine_bodies(root, db, found, step)
            _examine_visits(db, found)
            _examine_documents(db, found, step)
            _examine_heads(db, found)
            _examine_outlinks(db, found)
            _examine_counters(db, found)
    return found


def _steps(on_progress: Count, total: int) -> Step:
    done = count(1)
    return lambda: on_progress(next(done), total)


def _examine_files(root: Path, found: Findings) -> bool:
    """Examine the database files; whether the main one can be read."""
    flaws = _database_flaws(root)
    repair = "rebuilt from every row that can be read; lost rows are reported, or fetched again"
    found.damages += [Damage(DATABASE, flaw.where, flaw.problem, repair=repair) for flaw in flaws]
    for name, spoiled in ((LIMITER, _limiter_flaws(root)), (SEARCH, _search_flaws(root))):
        repair = "moved to quarantine; it contains no pages and is rebuilt at its next use"
        found.forgettable += [Damage(name, flaw.where, flaw.problem, repair=repair) for flaw in spoiled]
    if flaws:
        found.files.append(DATABASE)
    return not flaws


def _limiter_flaws(root: Path) -> list[salvage.Flaw]:
    if not _has_content(root / LIMITER):
        return []
    return salvage.flaws(root / LIMITER, layout.limiter_layout(), lambda _table, _row: None)


def _search_flaws(root: Path) -> list[salvage.Flaw]:
    """Checks the database pages only; whether the index agrees with the documents is not checked."""
    return salvage.page_flaws(root / SEARCH) if _has_content(root / SEARCH) else []


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _database_flaws(root: Path) -> list[salvage.Flaw]:
    path = database_path(root)
    if not path.stat().st_size:
        return [salvage.Flaw("the whole file", "it is empty")] if locate(root).store.path.exists() else []
    _refuse_newer(path)
    return salvage.flaws(path, layout.main_layout(), misfit)


def _refuse_newer(path: Path) -> None:
    """A plausible higher version is that of a newer orbweb, not damage: only that one can examine it."""
    version = salvage.version(path)
    if version is not None and SCHEMA_VERSION < version <= MOST_VERSION:
        raise newer(path, version, SCHEMA_VERSION)


def _examine_segments(root: Path, db: Database, found: Findings) -> None:
    for number, committed, needed in db.all("open_segments"):
        file = _segment_file(root, number)
        problem = _segment_problem(root / file, committed, needed)
        if problem is not None:
            found.segments.append(number)
            found.damages.append(
                Damage(file, "the file", problem, repair="closed: read from, but never written again")
            )


def _segment_file(root: Path, number: int) -> str:
    """A segment, relative to the workspace unless it is outside."""
    return f"{locate(root).store.shown}/segments/{number:04d}.seg"


def _segment_problem(path: Path, committed: int, needed: int) -> str | None:
    try:
        with path.open("rb") as stream:
            head, length = stream.read(len(SEGMENT_HEADER)), path.stat().st_size
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if head != SEGMENT_HEADER:
        return "it does not have the header of a segment"
    if length < committed:
        return f"it has {length} bytes, but {committed} were committed"
    return f"its committed length is {committed}, but its bodies need {needed}" if committed < needed else None


def _examine_bodies(root: Path, db: Database, found: Findings, step: Step) -> None:
    broken = {body.sha256: body for body in _broken_bodies(locate(root), db, step)}
    affected: dict[bytes, list[AffectedUrl]] = {sha256: [] for sha256 in broken}
    for run_id, url_id, url, sha256 in db.each("body_visits") if broken else ():
        if sha256 in affected:
            affected[sha256].append(AffectedUrl(run_id, url_id, url))
    for body in broken.values():
        found.bodies.append(body)
        _reopen(found, _file_of(root, body), body.problem, affected[body.sha256], f"body {body.sha256.hex()}")


def _broken_bodies(paths: WorkspacePaths, db: Database, step: Step) -> Iterator[BrokenBody]:
    segments, files = SegmentStore(paths.store), FileStore(paths.store)
    with closing(segments), closing(files):
        for sha256, *at in db.each("all_bodies"):
            step()
            location = Location(*at)
            problem = _row_problem(paths.store.path, location) or _body_problem(
                files if location.segment is None else segments, sha256, location
            )
            if problem is not None:
                yield BrokenBody(sha256, location, problem.replace(f"{paths.workspace}/", ""))


def _row_problem(store: Path, location: Location) -> str | None:
    """Checks the location first, because a reader would allocate the length it claims."""
    segment, offset, length, size = location
    if min(offset or 0, length, size) < 0 or (segment is None) != (offset is None):
        return "its row has an impossible location"
    path = store / "segments" / f"{segment or 0:04d}.seg"
    if offset is not None and path.exists() and offset + length > path.stat().st_size:
        return f"{path} at offset {offset}: the segment ends inside the body"
    return None


def _body_problem(store: BodyStore, sha256: bytes, location: Location) -> str | None:
    try:
        store.read(sha256, location)
    except StoreError as error:
        return str(error)
    return None


def _file_of(root: Path, body: BrokenBody) -> str:
    if body.location.segment is not None:
        return _segment_file(root, body.location.segment)
    paths = body_files(root, body.sha256)
    return str(paths[0] if paths else _body_path(root, body.sha256, ".html.zst")).removeprefix(f"{root}/")


def _body_path(root: Path, sha256: bytes, suffix: str) -> Path:
    name = sha256.hex()
    return locate(root).store.path / "html" / name[:2] / name[2:4] / (name + suffix)


def body_files(root: Path, sha256: bytes) -> list[Path]:
    return [path for suffix in (".html.zst", ".html") if (path := _body_path(root, sha256, suffix)).exists()]


def _reopen(found: Findings, file: str, problem: str, affected: list[AffectedUrl], where: str) -> None:
    """A damage whose URLs return to the queue."""
    for each in affected:
        found.reopened[each.run_id, each.url_id] = each.url
    number = "1 URL" if len(affected) == 1 else f"{len(affected)} URLs"
    repair = f"{number} queued again" if affected else "removed; no URL needs it"
    urls = tuple(dict.fromkeys(each.url for each in affected))
    found.damages.append(Damage(file, where, problem, urls, repair))


def _examine_visits(db: Database, found: Findings) -> None:
    for run_id, url_id, url, problem in db.each("damaged_visits", slack=CLOCK_SLACK):
        _reopen(found, DATABASE, problem, [AffectedUrl(run_id, url_id, url)], f"run {run_id}, URL {url_id}")


def _examine_documents(db: Database, found: Findings, step: Step) -> None:
    """Runs after bodies and visits: a URL that they queue again needs no document."""
    broken, valid = {}, set()
    for row in db.each("all_documents"):
        step()
        packed = PackedDocument._make(row)
        problem = documents.problem(packed)
        if problem is None:
            valid.add(packed.sha256)
        else:
            broken[packed.sha256] = problem
    found.documents += broken
    for sha256, *page in db.each("document_pages"):
        if sha256 not in valid:
            _report_document(found, sha256, broken.pop(sha256, "it is missing"), UnreadPage(*page))
    for sha256, problem in broken.items():
        found.damages.append(
            Damage(DATABASE, f"document {sha256.hex()}", problem, repair="removed; no page needs it")
        )


def _report_document(found: Findings, sha256: bytes, problem: str, page: UnreadPage) -> None:
    queued = (page.run_id, page.url_id) in found.reopened
    repair = (
        "its URL is queued again" if queued else "extracted again from its body, or fetched again if that is lost"
    )
    found.damages.append(Damage(DATABASE, f"document {sha256.hex()}", problem, (page.url,), repair))
    if not queued:
        found.unread.append(page)


def _examine_heads(db: Database, found: Findings) -> None:
    """A lost head cannot be fetched again, so only the head is removed."""
    templates = {}
    for number, template, problem in heads.templates(db):
        templates[number] = template
        if template is None:
            found.heads.append(number)
            found.damages.append(Damage(DATABASE, f"head {number}", problem, repair="removed"))
    for run_id, url_id, head, stored, url, etag, modified in db.each("visit_heads"):
        problem = heads.problem(templates.get(head), stored, url, etag, modified)
        if problem:
            found.headless.append(AffectedUrl(run_id, url_id, url))
            where, repair = f"run {run_id}, head of URL {url_id}", "removed; its page and links stay"
            found.damages.append(Damage(DATABASE, where, problem, (url,), repair))


def _examine_outlinks(db: Database, found: Findings) -> None:
    known: tuple[int, frozenset[int]] = (0, frozenset())
    for run_id, url_id, url, packed, redirect_to in db.each("all_outlinks"):
        if run_id != known[0]:
            known = run_id, frozenset(number for (number,) in db.each("url_ids", run_id=run_id))
        problem = _outlinks_problem(packed, redirect_to, known[1])
        if problem is not None:
            _reopen(
                found,
                DATABASE,
                problem,
                [AffectedUrl(run_id, url_id, url)],
                f"run {run_id}, links of URL {url_id}",
            )


def _outlinks_problem(packed: bytes, redirect_to: int | None, known: frozenset[int]) -> str | None:
    try:
        targets = [link.target for link in packed_links.unpack(packed)]
    except StoreError as error:
        return str(error)
    if redirect_to is not None and targets != [redirect_to]:
        return "its link is not the target of its redirect"
    missing = next((target for target in targets if target not in known), None)
    return None if missing is None else f"it links to URL {missing}, which is missing"


def _examine_counters(db: Database, found: Findings) -> None:
    for name in _CONTRADICTIONS:
        for run_id, table, problem in db.each(name):
            repair = "dropped; a new run starts from the base URLs" if name == "lost_runs" else "corrected"
            found.damages.append(Damage(DATABASE, f"run {run_id}, table {table}", problem, repair=repair))
