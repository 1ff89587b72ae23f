"""Finds and repairs damage of the spool: lines that discovery did not write, and an unusable bookmark.

Each file is compared with its visits. A line is valid if it agrees with its visit, except for the page type, which
is stored nowhere else. What a crash leaves after the cursor, lines of visits that were retracted since, and
scraped files that were archived or deleted are not damage. Valid lines keep their bytes. Files that the database
does not know are not touched. The caller owns every project.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from orbweb.errors import StoreError
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import Bookmark, SpoolPlace
from orbweb.model import SkipReason
from orbweb.store import Queries, durable, runs, spool_rows, workspace_files
from orbweb.store.maintenance.doctor import Damage
from orbweb.store.maintenance.repair import Quarantine
from orbweb.store.spool_rows import DiscoveredVisit, SpoolFile

PageType = Callable[[str], str]
Places = Mapping[str, SpoolPlace]
"""The places of all pipelines, by the names of their projects."""

_CLOSED = 1 << 62
"""The size of a file during its replacement: more than it has, so that no writer continues it."""


class _SpoolText(NamedTuple):
    """A line of text as it is in the file, with its number and offset."""

    number: int
    start: int
    text: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Step(NamedTuple):
    """Texts that belong to no visit, visits without a line, and then the text of a visit; None at the end.

    If visits lack their lines, the other texts are what is left of them.
    """

    others: list[_SpoolText]
    missing: list[DiscoveredVisit]
    matched: _SpoolText | None


@dataclass(frozen=True, slots=True)
class _SpoolSheet:
    """A file of the spool and its visits: those after `after`, up to its last."""

    db: Queries
    place: SpoolPlace
    file: SpoolFile
    after: int

    @property
    def root(self) -> Path:
        return self.place.root

    @property
    def path(self) -> Path:
        """Its path, also if it is missing."""
        return self.root / self.name

    @property
    def name(self) -> Path:
        """Its path relative to the workspace."""
        archived = self.place.archive / self.file.name if self.place.archive else None
        is_archived = archived is not None and workspace_files.exists(self.root, archived)
        return archived if archived and is_archived else self.place.discoveries / self.file.name

    def visits(self) -> Iterator[DiscoveredVisit]:
        """The visits that have a line."""
        at = self.after
        while portion := spool_rows.found(self.db, self.file.run_id, at):
            for visit in portion:
                if visit.visit > self.file.visit:
                    return
                if visit.is_page:
                    yield visit
            at = portion[-1].visit

    def texts(self) -> Iterator[_SpoolText]:
        try:
            with workspace_files.stream(self.root, self.name) as stream:
                start = 0
                for number, text in enumerate(stream, 1):
                    yield _SpoolText(number, start, text)
                    start += len(text)
        except FileNotFoundError:
            return

    def accepted(self, visit: DiscoveredVisit) -> frozenset[int]:
        """The hashes that a line of the visit may have. Its referrer may have been retried, and no longer
        redirect."""
        line = spool_files.line_of(visit, lambda _key: "")
        trail = spool_rows.trail(self.db, self.file.run_id, visit)
        return frozenset(hash(line._replace(referrer=url)) for url in (visit.referrer, *trail))

    def missing(self) -> list[DiscoveredVisit]:
        """The visits without a valid line."""
        found = {_hash(text.text) for text in self.texts()}
        return [
            visit for visit in self.visits() if not _expected(visit) & found and not self.accepted(visit) & found
        ]

    def steps(self, missing: Iterable[DiscoveredVisit]) -> Iterator[_Step]:
        """The file aligned with its visits. A line before the position of its visit is skipped."""
        lost, texts = {visit.visit for visit in missing}, self.texts()
        without: list[DiscoveredVisit] = []
        for visit in self.visits():
            if visit.visit in lost:
                without.append(visit)
                continue
            passed, matched = self._up_to(visit, texts)
            if matched is None:
                texts = iter(passed)
                continue
            yield _Step(passed, without, matched)
            without = []
        yield _Step(list(texts), without, None)

    def _up_to(
        self, visit: DiscoveredVisit, texts: Iterator[_SpoolText]
    ) -> tuple[list[_SpoolText], _SpoolText | None]:
        """The texts before that of the visit, and its own."""
        passed: list[_SpoolText] = []
        accepted = _expected(visit)
        for text in texts:
            found = _hash(text.text)
            if found not in accepted and not passed:
                accepted = self.accepted(visit)
            if found in accepted:
                return passed, text
            passed.append(text)
        return passed, None


def _expected(visit: DiscoveredVisit) -> frozenset[int]:
    """The hash of its line, if nothing has changed since."""
    return frozenset((hash(spool_files.line_of(visit, lambda _key: "")),))


def _hash(text: bytes) -> int | None:
    """The hash of a line without its page type; None if discovery does not write such a line."""
    line = spool_files.decode(text)
    return hash(line._replace(page_type="")) if line is not None and line.encode() == text else None


def _sheets(db: Queries, places: Places) -> Iterator[_SpoolSheet]:
    reached: dict[int, int] = {}
    for file in spool_rows.files(db):
        owner = runs.named(db, file.run_id)
        if owner is not None:
            place = places[owner["project"].removesuffix(runs.DISCOVERY)]
            yield _SpoolSheet(db, place, file, reached.get(file.run_id, 0))
        reached[file.run_id] = file.visit


# Finding.


def examine(db: Queries, places: Places) -> list[Damage]:
    """All damage of the spools and their bookmarks, compared with an intact database."""
    found = [damage for sheet in _sheets(db, places) for damage in _damages(sheet)]
    repair = "moved to quarantine; the scraper reads the spool again from its first file, and refetches nothing"
    for place, problem in _bookmark_problems(db, places):
        found.append(Damage(str(place.bookmark), "the file", problem, repair=repair))
    return found


def _damages(sheet: _SpoolSheet) -> Iterator[Damage]:
    missing = sheet.missing()
    if not missing:
        return
    unfed = _unfed(sheet.db, sheet.file.run_id, missing)
    file = str(sheet.path.relative_to(sheet.root))
    if not sheet.path.exists():
        if unfed:
            yield Damage(file, "the file", f"it is missing, with {_lines(missing)}", *_message(missing, unfed))
        return
    end = _SpoolText(0, sheet.path.stat().st_size, b"")
    for step in sheet.steps(missing):
        if step.missing:
            at = (step.others or [step.matched or end])[0]
            where = f"line {at.number}, byte {at.start}" if at.number else f"its end, byte {at.start}"
            yield Damage(file, where, _problem(step), *_message(step.missing, unfed))


def _problem(step: _Step) -> str:
    lines, is_one = _lines(step.missing), len(step.missing) == 1
    if not step.others:
        return f"{lines} {'is' if is_one else 'are'} missing"
    return f"{lines} {'is not as discovery wrote it' if is_one else 'are not as discovery wrote them'}"


def _lines(visits: Sequence[DiscoveredVisit]) -> str:
    return "1 line" if len(visits) == 1 else f"{len(visits)} lines"


def _message(missing: Sequence[DiscoveredVisit], unfed: frozenset[int]) -> tuple[tuple[str, ...], str]:
    """The URLs, and what a repair does about them."""
    left = sum(visit.visit in unfed for visit in missing)
    scraped = "all of its pages are scraped already"
    if left:
        scraped = f"{left} of {len(missing)} pages not scraped yet; the scraper would take them from there too"
    return tuple(visit.url for visit in missing), f"written again from the database; {scraped}"


def _unfed(db: Queries, run_id: int, visits: Iterable[DiscoveredVisit]) -> frozenset[int]:
    """Those that the run that scrapes this one does not have."""
    scraper = _scraping_run(db, run_id)
    return frozenset(visit.visit for visit in visits if scraper is None or not _knows(db, scraper, visit.key))


def _scraping_run(db: Queries, run_id: int) -> int | None:
    """The run that scrapes a run of discovery; None if there is none yet."""
    for project in runs.projects(db):
        for run in runs.runs_of(db, project.id):
            if run.id == run_id:
                scraper = runs.find_project(db, project.name.removesuffix(runs.DISCOVERY))
                found = runs.runs_of(db, scraper.id) if scraper and scraper.id != project.id else []
                return next((each.id for each in found if each.number == run.number), None)
    return None


def _knows(db: Queries, run_id: int, key: str) -> bool:
    known = runs.known_url(db, run_id, key)
    return known is not None and known.reason != SkipReason.LEFT


def _bookmark_problems(db: Queries, places: Places) -> list[tuple[SpoolPlace, str]]:
    found = (
        (place, _bookmark_problem(place, has_files=runs.find_project(db, name + runs.DISCOVERY) is not None))
        for name, place in places.items()
    )
    return [(place, problem) for place, problem in found if problem is not None]


def _bookmark_problem(place: SpoolPlace, *, has_files: bool) -> str | None:
    """What is wrong with a bookmark. The files of another producer may be elsewhere."""
    try:
        mark = spool_files.read_bookmark(place)
    except StoreError as error:
        return str(error).replace(f"{place.workspace}/", "")
    if mark is None or (not has_files and mark.file not in spool_files.names(place)):
        return None
    problem = spool_files.usable(place, mark)
    return f"{mark.file}, byte {mark.offset}: {problem}" if problem else None


# Correcting.


def correct(db: Queries, places: Places, quarantine: Quarantine, page_type_of: Callable[[int], PageType]) -> None:
    """Repair what `examine` finds. `page_type_of` returns the current page types of a run."""
    for sheet in _sheets(db, places):
        missing = sheet.missing()
        if missing and (sheet.path.exists() or _unfed(db, sheet.file.run_id, missing)):
            quarantine.copy(str(sheet.root / sheet.name))
            _rewrite(sheet, missing, page_type_of(sheet.file.run_id))
    for place, _ in _bookmark_problems(db, places):
        quarantine.move(str(place.workspace / place.bookmark))


def _rewrite(sheet: _SpoolSheet, missing: Sequence[DiscoveredVisit], page_type: PageType) -> None:
    """Add the missing lines to the file, atomically, so that a reader can continue in the old or the new file."""
    name, mark = sheet.name, _mark_in(sheet)
    temporary = name.with_suffix(".new")
    workspace_files.make_directory(sheet.root, name.parent)
    with workspace_files.stream(sheet.root, temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as stream:
        size, moved = _copy(sheet.steps(missing), stream, page_type, mark.offset if mark else 0)
        stream.flush()
        known = workspace_files.state(sheet.root, name)
        workspace_files.take_mode(stream.fileno(), stat.S_IMODE(known.st_mode) if known else 0o600)
        durable.sync_data(stream.fileno())
    spool_rows.advance(sheet.db, sheet.file._replace(size=_CLOSED))
    workspace_files.replace(sheet.root, temporary, name)
    workspace_files.sync_directory(sheet.root, name.parent)
    spool_rows.advance(sheet.db, sheet.file._replace(size=size))
    if mark is not None:
        _move_bookmark(sheet, mark._replace(offset=moved))


def _move_bookmark(sheet: _SpoolSheet, mark: Bookmark) -> None:
    """Write the bookmark, also as that of the scraper, for which it would be one that was set by hand."""
    scraper = _scraping_run(sheet.db, sheet.file.run_id)
    if scraper is not None:
        spool_rows.save_bookmark(sheet.db, scraper, *mark)
    spool_files.write_bookmark(sheet.place, mark)


def _mark_in(sheet: _SpoolSheet) -> Bookmark | None:
    try:
        mark = spool_files.read_bookmark(sheet.place)
    except StoreError:
        return None
    return mark if mark is not None and mark.file == sheet.file.name else None


def _copy(steps: Iterable[_Step], stream: BinaryIO, page_type: PageType, mark: int) -> tuple[int, int]:
    """Write the lines; return the ends of the last line of a visit and of the last copied text before the mark."""
    size = moved = 0
    encode = partial(spool_files.line_of, page_type=page_type)
    for step in steps:
        for visit in step.missing:
            stream.write(encode(visit).encode())
            size = stream.tell()
        copied = [] if step.missing else step.others
        for text in (*copied, *([step.matched] if step.matched else [])):
            stream.write(text.text)
            moved = stream.tell() if text.end <= mark else moved
        size = stream.tell() if step.matched else size
    return size, moved
