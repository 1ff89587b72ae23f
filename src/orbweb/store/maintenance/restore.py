"""Restores lost rows from other sources: runs, projects and base URLs from the rows of their URLs, the index of
bodies from the body store, whole runs from their metadata files (journals); and reports what is lost.

Restored values come only from a valid row, a body or a line of a journal, and existing rows are not changed. The
settings of a project are stored nowhere else: they are reported as lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.errors import StoreError
from orbweb.lifecycle import ItemState
from orbweb.model import Role
from orbweb.store import runs
from orbweb.store.bodies import segments, unpack_foreign, verified
from orbweb.store.maintenance.doctor import body_files
from orbweb.store.rows import UrlRow
from orbweb.store.sqlite.db import Database
from orbweb.store.workspace_paths import locate
from orbweb.urls import canonicalize

RECOGNISED_BY = 50
"""How many visits of a run are searched for in a journal."""
NAMED = 1000
"""At most this many URLs of a loss are named."""
MOST_BODY = 1 << 30
NO_DOCUMENT = bytes(32)
LOST_ROWS = "rows of its tables; URLs are found again if a page that is fetched again links to them"
LOST_SETTINGS = "its settings; the defaults apply"


class JournalLine(NamedTuple):
    """A visit in a journal. Hashes are of the body and of the content."""

    url: str
    depth: int
    referrer: str | None
    source: str
    status: int | None
    kind: str | None
    error: str | None
    retries: int
    final_url: str | None
    redirect_to: str | None
    content_type: str | None
    encoding: str | None
    etag: str | None
    last_modified: str | None
    title: str | None
    canonical: str | None
    links_cut: bool
    truncated: bool
    body_sha256: bytes | None
    content_sha256: bytes | None
    role: str
    bytes: int
    latency_ms: int
    fetched_at: int
    proxy: str | None
    robots_tags: str | None


@dataclass(frozen=True, slots=True)
class Journal:
    """The metadata file of a run, line by line, without damaged lines."""

    project: str
    run: int
    lines: Callable[[], Iterator[JournalLine]]

    def keys(self) -> dict[str, str]:
        """The URLs of its visits, by their keys."""
        return {key: line.url for line in self.lines() if (key := canonicalize(line.url)) is not None}


@dataclass(frozen=True, slots=True)
class Loss:
    """What a run lost for good: how many URLs, visits and pages at least, and the URLs that are known. `what`
    describes a loss that is not a number."""

    project: str
    run: int | None
    what: str
    urls: int = 0
    visits: int = 0
    pages: int = 0
    named: tuple[str, ...] = ()

    def report(self) -> dict[str, Any]:
        return {
            "project": self.project,
            "run": self.run,
            "what": self.what,
            "urls": self.urls,
            "visits": self.visits,
            "pages": self.pages,
            "named": list(self.named),
        }


class RunContents(NamedTuple):
    urls: int
    visits: int
    pages: int


@dataclass(frozen=True, slots=True)
class Census:
    """Every run by project and number: the rows it has, the rows it had by all counters, and whether it is the
    latest of its project."""

    present: Mapping[tuple[str, int], RunContents]
    expected: Mapping[tuple[str, int], RunContents]
    latest: frozenset[tuple[str, int]]


def census(db: Database) -> Census:
    present, expected, latest = {}, {}, set()
    for _, project, number, urls, all_urls, visits, all_visits, pages, all_pages, is_latest in db.all(
        "counted_runs"
    ):
        run = (project, number)
        present[run] = RunContents(urls, visits, pages)
        expected[run] = RunContents(max(urls, all_urls), max(visits, all_visits), max(pages, all_pages))
        if is_latest:
            latest.add(run)
    return Census(present, expected, frozenset(latest))


def restore(
    db: Database, root: Path, journals: Sequence[Journal], locks: Sequence[str], now: int, *, rebuilt: bool
) -> list[Loss]:
    """Restore what can be restored; return the losses that this shows. `rebuilt`: the database was rebuilt from a
    damaged one, so a journal without a run in the database is that of a lost run."""
    with db.transaction():
        lost = _restore_runs(db, journals, locks, now)
        if rebuilt:
            for journal in journals:
                lost += _restore_from_journal(db, journal, now)
        for run_id, number, url, key in db.all("baseless_runs"):
            db.run("add_base", run_id=run_id, number=number, url=url, scope_key=key)
        _restore_bodies(db, root)
    return lost


# Runs, from their URLs.


def _restore_runs(db: Database, journals: Sequence[Journal], locks: Sequence[str], now: int) -> list[Loss]:
    lost: list[Loss] = []
    for run_id, project_id, number, since in db.all("orphaned_runs"):
        journal = _matching(db, run_id, journals)
        name = (journal.project if journal else _only(locks, db)) or f"recovered-{run_id}"
        owner = runs.find_project(db, name)
        if owner is None:
            owner_id = _add_project(db, project_id, name, _initial(db, run_id), now)
            lost.append(Loss(name, None, LOST_SETTINGS))
        else:
            owner_id = owner.id
        if number is None:
            free = _free_number(db, owner_id, journal.run if journal else 1)
            db.value("restore_run", id=run_id, project_id=owner_id, number=free, started_at=since or now)
    return lost


def _free_number(db: Database, project_id: int, wanted: int) -> int:
    taken = {run.number for run in runs.runs_of(db, project_id)}
    return next(number for number in range(wanted, wanted + len(taken) + 1) if number not in taken)


def _matching(db: Database, run_id: int, journals: Sequence[Journal]) -> Journal | None:
    """The journal that contains most of the first visits of a run."""
    keys = {key for (key,) in db.all("first_visited_keys", run_id=run_id, most=RECOGNISED_BY)}
    found = [(len(keys & journal.keys().keys()), at) for at, journal in enumerate(journals)]
    best = max(found, default=(0, 0))
    return journals[best[1]] if best[0] else None


def _only(names: Sequence[str], db: Database) -> str | None:
    """The project that a run must belong to, if only one is possible."""
    unknown = [name for name in names if runs.find_project(db, name) is None]
    known = runs.projects(db)
    if len(unknown) == 1 and not known:
        return unknown[0]
    return known[0].name if len(known) == 1 and not unknown else None


def _initial(db: Database, run_id: int) -> list[str]:
    return [url for run, _, url, _ in db.all("baseless_runs") if run == run_id] or [
        base.url for base in runs.bases_of(db, run_id)
    ]


def _add_project(db: Database, project_id: int | None, name: str, bases: Sequence[str], now: int) -> int:
    return int(db.value("restore_project", id=project_id, name=name, bases=json.dumps(bases), created_at=now))


# Runs, from their journals.


def _restore_from_journal(db: Database, journal: Journal, now: int) -> list[Loss]:
    """Restore a run without any row from the visits in its journal. Its links and unvisited URLs are not in it."""
    project = runs.find_project(db, journal.project)
    if project is not None and any(run.number == journal.run for run in runs.runs_of(db, project.id)):
        return []
    lines = {key: line for line in journal.lines() if (key := canonicalize(line.url)) is not None}
    bases = [line.url for line in lines.values() if line.source == "initial" and line.depth == 0]
    if not bases:
        return [Loss(journal.project, journal.run, "the run", visits=len(lines), named=_named(lines.values()))]
    lost = [Loss(journal.project, journal.run, "its links and its unvisited URLs")]
    project_id = project.id if project else _add_project(db, None, journal.project, bases, now)
    if project is None:
        lost.append(Loss(journal.project, None, LOST_SETTINGS))
    started = min(line.fetched_at for line in lines.values())
    run_id = int(db.value("restore_run", id=None, project_id=project_id, number=journal.run, started_at=started))
    _write_visits(db, run_id, lines, db.value("next_crawl"))
    return lost


def _named(lines: Iterable[JournalLine]) -> tuple[str, ...]:
    return tuple(line.url for line in lines)[:NAMED]


def _write_visits(db: Database, run_id: int, lines: Mapping[str, JournalLine], crawl_id: int) -> None:
    """Write URLs, visits and pages in the order of visits."""
    ids = {key: number for number, key in enumerate(lines, 1)}
    for rank, (key, line) in enumerate(lines.items()):
        db.many("add_url", [_url_row(run_id, ids, rank, key, line)])
        values = line._asdict()
        del values["url"], values["referrer"], values["source"], values["retries"]
        values["redirect_to"] = _id_of(ids, line.redirect_to)
        db.run(
            "restore_visit",
            run_id=run_id,
            number=rank + 1,
            url_id=ids[key],
            crawl_id=crawl_id,
            rank=rank,
            tries=line.retries + 1,
            **values,
        )
        if line.role == Role.PRIMARY and line.content_sha256 is not None:
            page = (run_id, line.content_sha256, ids[key], 0, NO_DOCUMENT)
            db.many("add_page", [page])


def _url_row(run_id: int, ids: Mapping[str, int], rank: int, key: str, line: JournalLine) -> UrlRow:
    return UrlRow(
        run_id=run_id,
        id=ids[key],
        key=key,
        url=line.url if line.url != key else None,
        state=(ItemState.FAILED if line.kind else ItemState.VISITED).value,
        reason=None,
        rule=None,
        source=line.source,
        depth=line.depth,
        rank=rank,
        lane="",
        hops=0,
        redirects=0,
        base=0,
        referrer=_id_of(ids, line.referrer),
    )


def _id_of(ids: Mapping[str, int], url: str | None) -> int | None:
    key = canonicalize(url) if url else None
    return ids.get(key) if key else None


# The index of bodies, from the body store.


def _restore_bodies(db: Database, root: Path) -> None:
    """Index bodies that visits refer to and that are in the body store."""
    wanted = {sha256 for (sha256,) in db.all("unplaced_bodies")}
    if not wanted:
        return
    for path in sorted((locate(root).store.path / "segments").glob("*.seg")):
        for record in segments.scan(path):
            if isinstance(record, segments.SegmentRecord) and record.sha256 in wanted:
                place = (record.sha256, int(path.stem), record.offset, record.length, record.size)
                db.many("add_body", [place])
                wanted.discard(record.sha256)
    for sha256 in wanted:
        for path in body_files(root, sha256):
            with suppress(StoreError, OSError):
                data = path.read_bytes()
                body = unpack_foreign(data, MOST_BODY, where=str(path)) if path.suffix == ".zst" else data
                verified(body, len(body), sha256, str(path))
                db.many("add_body", [(sha256, None, None, len(data), len(body))])


# Losses.


def losses(
    before: Census, after: Census, journals: Sequence[Journal], keys: Callable[[str, int], set[str]], requeued: int
) -> list[Loss]:
    """What the runs had before and do not have any more. URLs queued again in the latest run of a project are not
    lost: they will be fetched. `keys` returns the current keys of a run."""
    lost = []
    named = {(journal.project, journal.run): journal for journal in journals}
    for (project, number), had in before.expected.items():
        has = after.present.get((project, number), RunContents(0, 0, 0))
        again = requeued if (project, number) in after.latest else 0
        gone = RunContents(
            max(0, had.urls - has.urls),
            max(0, had.visits - has.visits - again),
            max(0, had.pages - has.pages - again),
        )
        if any(gone):
            journal = named.get((project, number))
            missing = _missing(journal, keys(project, number)) if journal else ()
            visits = max(gone.visits, len(missing))
            lost.append(Loss(project, number, LOST_ROWS, gone.urls, visits, gone.pages, missing[:NAMED]))
    return lost


def lost_projects(db: Database, locks: Sequence[str]) -> list[Loss]:
    """Projects of which only the lock file is left."""
    known = {project.name for project in runs.projects(db)}
    what = "everything except its name; bodies in store/ may belong to it"
    return [Loss(name, None, what) for name in locks if name not in known]


def _missing(journal: Journal, known: set[str]) -> tuple[str, ...]:
    """The visited URLs that the run does not have any more."""
    return tuple(url for key, url in journal.keys().items() if key not in known)
