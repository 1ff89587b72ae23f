"""The spool: what discovery found, as lines in files, and how far a scraper has read them.

`SpoolWriter` writes, `SpoolReader` reads, a bookmark says where. Always holds: lines are made of committed
visits, in their order, so they can be made again: after a crash whole lines that the database does not know of
are recognised and kept, and a torn one is cut, so none is lost and none is there twice. A line is read only
when it is whole. Names rise, also where the clock does not. Never fetches, admits or judges.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from orbweb.errors import DiskFull, StoreError, is_disk_full
from orbweb.failpoints import failpoint
from orbweb.store import Queries, spool_rows, workspace_files
from orbweb.store.spool_rows import DiscoveredVisit, SpoolFile

MEGABYTE = 1_000_000
DISCOVERIES = Path("spool", "discoveries")
ARCHIVE = Path("spool", "archive")
BOOKMARK = Path("state", "spool_bookmark.json")

_is_name = re.compile(r"discoveries-(\d{1,15})\.jsonl").fullmatch


class SpoolLine(NamedTuple):
    """A page that discovery fetched."""

    url: str
    page_type: str
    depth: int
    referrer: str | None
    status_code: int
    content_length: int
    latency_ms: int

    def encode(self) -> bytes:
        record = {
            "url": self.url,
            "page_type": self.page_type,
            "depth": self.depth,
            "referrer": self.referrer,
            "metadata": {
                "status_code": self.status_code,
                "content_length": self.content_length,
                "latency_ms": self.latency_ms,
            },
        }
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def line_of(found: DiscoveredVisit, page_type: Callable[[str], str]) -> SpoolLine:
    """What is said of a visit of discovery."""
    kind = page_type(found.key)
    return SpoolLine(found.url, kind, found.depth, found.referrer, found.status, found.length, found.latency_ms)


def decode(text: bytes) -> SpoolLine | None:
    """The line, or None if it is not one. Figures that are missing are 0: only the URL and its depth decide."""
    try:
        record = json.loads(text)
        figures = record.get("metadata") or {}
        line = SpoolLine(
            record["url"],
            record.get("page_type") or "page",
            record["depth"],
            record.get("referrer"),
            *(int(figures.get(name) or 0) for name in SpoolLine._fields[4:]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    is_sound = isinstance(line.url, str) and isinstance(line.depth, int) and 0 <= line.depth < 1 << 31
    return line if is_sound and isinstance(line.referrer, str | None) else None


class Bookmark(NamedTuple):
    """What has been read: all files before this one, and so many bytes of it."""

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class SpoolSettings:
    """When a new file is begun."""

    rotate_bytes: int
    rotate_s: float


def names(directory: Path) -> list[str]:
    """The files of DISCOVERIES or ARCHIVE of a workspace that are of the spool, in order."""
    there = workspace_files.names(directory.parents[1], Path(*directory.parts[-2:]))
    return sorted(filter(_is_name, there), key=order)


def order(name: str) -> int:
    """By what names rise."""
    match = _is_name(name)
    return int(match[1]) if match else -1


def unread(root: Path, bookmark: Bookmark | None) -> int:
    """Bytes that no scraper has read."""
    total, first = 0, order(bookmark.file) if bookmark else -1
    for name in names(root / DISCOVERIES):
        if order(name) >= first:
            total += _size(root, name)
    return max(0, total - (bookmark.offset if bookmark else 0))


def _size(root: Path, name: str) -> int:
    return workspace_files.size(root, DISCOVERIES / name) or 0


# The bookmark.


def read_bookmark(root: Path) -> Bookmark | None:
    """The bookmark; None if there is none. StoreError says why one cannot be used."""
    path = root / BOOKMARK
    try:
        record = json.loads(workspace_files.read(root, BOOKMARK))
        found = Bookmark(record["file"], record["offset"])
        sound = isinstance(found.file, str) and isinstance(found.offset, int) and found.offset >= 0
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{path}: is no bookmark ({type(error).__name__})") from None
    if not sound or not _is_name(found.file):
        raise StoreError(f"{path}: is no bookmark of the spool")
    return found


def write_bookmark(root: Path, bookmark: Bookmark) -> None:
    """Replace the bookmark, whole or not at all."""
    path = root / BOOKMARK
    text = json.dumps(bookmark._asdict()).encode() + b"\n"
    with _Writing(path):
        workspace_files.make_directory(root, BOOKMARK.parent)
        written = BOOKMARK.with_suffix(".tmp")
        fd = workspace_files.open_file(root, written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(fd, text)
            os.fdatasync(fd)
        finally:
            os.close(fd)
        failpoint("bookmark_written")
        workspace_files.replace(root, written, BOOKMARK)


def usable(root: Path, bookmark: Bookmark) -> str | None:
    """Why a bookmark leads nowhere; None if it leads to the beginning of a line."""
    try:
        with workspace_files.stream(root, DISCOVERIES / bookmark.file) as stream:
            stream.seek(max(0, bookmark.offset - 1))
            before = stream.read(1)
    except FileNotFoundError:
        return "its file is not there"
    if bookmark.offset and before != b"\n":
        return "it points into a line, or beyond the end of its file"
    return None


class _Writing:
    """OSError as an error that says what to do."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            if is_disk_full(error):
                raise DiskFull(f"disk full: cannot write {self._path}. Free some space, then resume.") from error
            raise StoreError(f"{self._path}: cannot be written: {error.strerror}") from error


# Writing.


class SpoolWriter:
    """Makes lines of what one run of discovery has committed. Its project is owned by this process."""

    def __init__(
        self,
        db: Queries,
        root: Path,
        run_id: int,
        settings: SpoolSettings,
        *,
        page_type: Callable[[str], str],
        clock: Callable[[], float],
    ) -> None:
        self._db = db
        self._root = root
        self._run_id = run_id
        self._settings = settings
        self._page_type = page_type
        self._clock = clock
        self._fd = -1
        self._file = spool_rows.latest(db, run_id)
        self._visit = self._file.visit if self._file else 0
        if self._file is not None:
            self._recover(self._file)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def catch_up(self) -> None:
        """Write what was committed since the last call; it is durable when this returns."""
        while visits := spool_rows.found(self._db, self._run_id, self._visit):
            lines = b"".join(line_of(visit, self._page_type).encode() for visit in visits if visit.is_page)
            self._visit = visits[-1].visit
            if lines:
                self._append(lines)

    def _append(self, lines: bytes) -> None:
        file = self._writable()
        path = self._path(file)
        with _Writing(path):
            done = 0
            while done < len(lines):
                done += os.pwrite(self._fd, lines[done:], file.size + done)
            failpoint("spool_written")
            os.fdatasync(self._fd)
        failpoint("spool_synced")
        self._file = file._replace(visit=self._visit, size=file.size + len(lines))
        spool_rows.advance(self._db, self._file)

    def _writable(self) -> SpoolFile:
        """The file for the next lines, open: the one at hand, or a new one if it is full, old, cut or gone."""
        file = self._file
        if file is not None and not self._is_done(file):
            if self._fd < 0:
                self._fd = workspace_files.open_file(self._root, DISCOVERIES / file.name, os.O_WRONLY)
            return file
        self.close()
        self._file = file = SpoolFile(self._next_name(), self._run_id, file.visit if file else 0, 0)
        spool_rows.begin(self._db, file)
        path = self._path(file)
        with _Writing(path):
            workspace_files.make_directory(self._root, DISCOVERIES)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            self._fd = workspace_files.open_file(self._root, DISCOVERIES / file.name, flags)
            workspace_files.sync_directory(self._root, DISCOVERIES)
        return file

    def _is_done(self, file: SpoolFile) -> bool:
        is_old = self._clock() - order(file.name) >= self._settings.rotate_s
        found = workspace_files.size(self._root, DISCOVERIES / file.name)
        is_short = found is None or found < file.size
        return file.size >= self._settings.rotate_bytes or is_old or is_short

    def _next_name(self) -> str:
        known = [*names(self._root / DISCOVERIES), *names(self._root / ARCHIVE)]
        known += [file.name for file in spool_rows.files(self._db)]
        newest = max(map(order, known), default=0)
        return f"discoveries-{max(int(self._clock()), newest + 1)}.jsonl"

    def _path(self, file: SpoolFile) -> Path:
        return self._root / DISCOVERIES / file.name

    def _recover(self, file: SpoolFile) -> None:
        """Keep the lines that a crash left behind the cursor, if they are what would come now; cut the rest."""
        name = DISCOVERIES / file.name
        if _size(self._root, file.name) <= file.size:
            return
        with _Writing(self._path(file)), workspace_files.stream(self._root, name, os.O_RDWR) as stream:
            stream.seek(file.size)
            size, visit = file.size, file.visit
            for known, line in self._kept(stream, file):
                size, visit = size + len(line), known.visit
            stream.truncate(size)
            os.fdatasync(stream.fileno())
        self._file, self._visit = file._replace(visit=visit, size=size), visit
        spool_rows.advance(self._db, self._file)

    def _kept(self, stream: BinaryIO, file: SpoolFile) -> Iterator[tuple[DiscoveredVisit, bytes]]:
        visit = file.visit
        while visits := spool_rows.found(self._db, self._run_id, visit):
            for known in visits:
                visit = known.visit
                if not known.is_page:
                    continue
                text = stream.readline()
                line = decode(text) if text.endswith(b"\n") else None
                if line is None or line.url != known.url:
                    return
                yield known, text


# Reading.


class SpoolReader:
    """Reads the lines of a run's files in order. `listed` gives their names, as many as there are by now."""

    def __init__(
        self,
        directory: Path,
        listed: Callable[[], Sequence[str]],
        start: Bookmark | None,
        note: Callable[[str], None],
    ) -> None:
        self._root = directory.parents[1]
        self._listed = listed
        self._note = note
        self._at = start
        self._stream: BinaryIO | None = None
        if start is not None:
            self._open(start)

    @property
    def position(self) -> Bookmark | None:
        """Behind the last line that was taken."""
        return self._at

    def take(self, most: int) -> list[tuple[SpoolLine, Bookmark]]:
        """The next lines, each with where it ends; fewer than asked for only where no more is there now."""
        found: list[tuple[SpoolLine, Bookmark]] = []
        while len(found) < most:
            text = self._next_text()
            if text is None:
                break
            line = decode(text)
            if line is None:
                self._note(f"spool: what ends at {self._at} is no line; skipped")
            elif self._at is not None:
                found.append((line, self._at))
        return found

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _next_text(self) -> bytes | None:
        """The next whole line. A file is left when a later one is known, for then nothing is added to it."""
        text = self._whole_line()
        if text is not None:
            return text
        later = self._later()
        if later is None:
            return None
        text = self._whole_line()
        if text is not None:
            return text
        self._open(Bookmark(later, 0))
        return self._next_text()

    def _whole_line(self) -> bytes | None:
        if self._stream is None or self._at is None:
            return None
        text = self._stream.readline()
        if not text.endswith(b"\n"):
            self._stream.seek(self._at.offset)
            return None
        self._at = self._at._replace(offset=self._at.offset + len(text))
        return text

    def _later(self) -> str | None:
        current = order(self._at.file) if self._at else -1
        later = (name for name in self._listed() if order(name) > current)
        return next((name for name in later if workspace_files.exists(self._root, DISCOVERIES / name)), None)

    def _open(self, at: Bookmark) -> None:
        self.close()
        self._at = at
        try:
            self._stream = workspace_files.stream(self._root, DISCOVERIES / at.file)
        except FileNotFoundError:
            return
        self._stream.seek(at.offset)


def put_away(root: Path, before: Bookmark, keep: str) -> list[str]:
    """Archive or delete the files before the bookmark; which. With `keep: all` none."""
    done = (
        [name for name in names(root / DISCOVERIES) if order(name) < order(before.file)] if keep != "all" else []
    )
    for name in done:
        path = root / DISCOVERIES / name
        with _Writing(path):
            if keep == "archive":
                workspace_files.make_directory(root, ARCHIVE)
                workspace_files.replace(root, DISCOVERIES / name, ARCHIVE / name)
            else:
                workspace_files.unlink(root, DISCOVERIES / name)
    return done
