"""The files of the spool: their places, their names, their lines (one per page), and the bookmark of the scraper.

The bookmark is the position of the first line that is not scraped: everything before it is.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from orbweb.errors import DiskFull, StoreError, is_disk_full
from orbweb.failpoints import failpoint
from orbweb.store import durable, workspace_files
from orbweb.store.spool_rows import DiscoveredVisit
from orbweb.store.workspace_paths import locate

MEGABYTE = 1_000_000
DISCOVERIES = Path("spool", "discoveries")
ARCHIVE = Path("spool", "archive")
BOOKMARK = Path("state", "spool_bookmark.json")
COUNTED = 1 << 30
"""Lines are counted in at most this many bytes."""

_is_name = re.compile(r"discoveries-(\d{1,15})\.jsonl").fullmatch
_CHUNK = 1 << 20


# Places.


class SpoolPlace(NamedTuple):
    """Where a pipeline has its files. Links below `root` are never followed.

    `bookmark` is relative to `workspace`, `discoveries` and `archive` to `root`; both are the workspace, unless
    the user's settings name paths outside. The files of a spool that the user named for one call stay where they
    are, so it has no archive.
    """

    workspace: Path
    bookmark: Path
    root: Path
    discoveries: Path
    archive: Path | None

    def path(self, name: str) -> Path:
        """The path of a file, for messages."""
        return self.root / self.discoveries / name

    @property
    def is_elsewhere(self) -> bool:
        """Whether the user named the spool."""
        return self.archive is None


def place_of(workspace: Path, project: str, *, is_first: bool) -> SpoolPlace:
    """The place of the pipeline of a project. The first of a workspace has its files at the top."""
    paths = locate(workspace)
    spool, bookmark = (each(project, is_first=is_first) for each in (paths.spool, paths.bookmark))
    return SpoolPlace(
        bookmark.root, bookmark.name, spool.root, spool.name / DISCOVERIES.name, spool.name / ARCHIVE.name
    )


def first_place(workspace: Path) -> SpoolPlace:
    """The place of the first pipeline of a workspace."""
    return place_of(workspace, "", is_first=True)


def elsewhere(place: SpoolPlace, directory: Path) -> SpoolPlace:
    """The place with the spool in a directory that the user named."""
    return place._replace(root=directory, discoveries=Path(), archive=None)


def has_own_place(workspace: Path, project: str) -> bool:
    """Whether the pipeline of a project has a directory of its own."""
    own = place_of(workspace, project, is_first=False)
    return workspace_files.exists(own.root, own.discoveries)


def move_place(old: SpoolPlace, new: SpoolPlace) -> None:
    """Move the files of a pipeline with its project; those that a killed rename has moved are left."""
    _move(old.root, old.discoveries.parent, new.discoveries.parent)
    _move(old.workspace, old.bookmark, new.bookmark)
    if old.bookmark.parent != new.bookmark.parent:
        workspace_files.remove_empty_directory(old.workspace, old.bookmark.parent)


def _move(root: Path, old: Path, new: Path) -> None:
    if old == new or not workspace_files.exists(root, old) or workspace_files.exists(root, new):
        return
    workspace_files.make_directory(root, new.parent, _mode_of(root, old.parent))
    workspace_files.replace(root, old, new)


def _mode_of(root: Path, directory: Path) -> int:
    return stat.S_IMODE((root / directory).stat().st_mode)


def remove_own_place(workspace: Path, project: str) -> None:
    """Remove the directories of a pipeline that is gone; files of other producers in them stay."""
    own = place_of(workspace, project, is_first=False)
    for directory in (own.discoveries, own.archive, own.discoveries.parent):
        if directory is not None and directory.parts:
            workspace_files.remove_empty_directory(own.root, directory)
    if own.bookmark.parent.name == project:
        workspace_files.remove_empty_directory(own.workspace, own.bookmark.parent)


# Lines.


class SpoolLine(NamedTuple):
    """A page to scrape. `extra` has the members that discovery does not write, as a JSON object."""

    url: str
    page_type: str
    depth: int
    referrer: str | None
    status_code: int
    content_length: int
    latency_ms: int
    extra: str = ""

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


_MEMBERS = SpoolLine._fields[:4]
_FIGURES = SpoolLine._fields[4:7]


def line_of(found: DiscoveredVisit, page_type: Callable[[str], str]) -> SpoolLine:
    """The line of a visit of discovery."""
    kind = page_type(found.key)
    return SpoolLine(found.url, kind, found.depth, found.referrer, found.status, found.length, found.latency_ms)


def decode(text: bytes) -> SpoolLine | None:
    """The parsed line, or None if it is malformed. Only the URL is needed."""
    try:
        record = json.loads(text)
        figures = record.get("metadata") or {}
        status_code, content_length, latency_ms = (int(figures.get(name) or 0) for name in _FIGURES)
        line = SpoolLine(
            record["url"],
            record.get("page_type") or "page",
            record.get("depth") or 0,
            record.get("referrer"),
            status_code,
            content_length,
            latency_ms,
            _extra(record, figures),
        )
        "".join((line.url, line.page_type, line.referrer or "")).encode()
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    return line if type(line.depth) is int and 0 <= line.depth < 1 << 31 else None


def _extra(record: dict[str, Any], figures: dict[str, Any]) -> str:
    """The members of a line and of its metadata that discovery does not write."""
    found = {name: value for name, value in figures.items() if name not in _FIGURES}
    found |= {name: value for name, value in record.items() if name not in (*_MEMBERS, "metadata")}
    return json.dumps(found, ensure_ascii=True, separators=(",", ":"), allow_nan=False) if found else ""


# Files.


class Bookmark(NamedTuple):
    """A position in the spool: all files before this one, and this many bytes of it."""

    file: str
    offset: int

    @property
    def at(self) -> tuple[int, int]:
        """The sort key of the position."""
        return order(self.file), self.offset


def names(place: SpoolPlace) -> list[str]:
    """The spool files that are to be scraped, or kept, in order."""
    return _spool_files(place.root, place.discoveries)


def archived(place: SpoolPlace) -> list[str]:
    """The spool files in the archive, in order."""
    return _spool_files(place.root, place.archive) if place.archive is not None else []


def _spool_files(root: Path, directory: Path) -> list[str]:
    return sorted(filter(_is_name, workspace_files.names(root, directory)), key=order)


def order(name: str) -> int:
    """The sort key of a file name."""
    match = _is_name(name)
    return int(match[1]) if match else -1


def unread(place: SpoolPlace, bookmark: Bookmark | None) -> int:
    """The bytes that are not scraped yet."""
    return sum(size - start for _, start, size in _unread_parts(place, bookmark))


def unread_lines(place: SpoolPlace, bookmark: Bookmark | None) -> int | None:
    """The lines that are not scraped yet; None if there are too many bytes to count them."""
    if unread(place, bookmark) > COUNTED:
        return None
    return sum(_lines_from(place, name, start) for name, start, _ in _unread_parts(place, bookmark))


def _unread_parts(place: SpoolPlace, bookmark: Bookmark | None) -> Iterator[tuple[str, int, int]]:
    """Each file with unread bytes, where they start, and its size."""
    first, offset = bookmark.at if bookmark else (-1, 0)
    for name in names(place):
        start = offset if order(name) == first else 0
        size = file_size(place, name)
        if order(name) >= first and size > start:
            yield name, start, size


def _lines_from(place: SpoolPlace, name: str, start: int) -> int:
    try:
        with workspace_files.stream(place.root, place.discoveries / name) as stream:
            stream.seek(start)
            return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(_CHUNK), b""))
    except FileNotFoundError:
        return 0


def file_size(place: SpoolPlace, name: str) -> int:
    return workspace_files.size(place.root, place.discoveries / name) or 0


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an error that names the path and what to do."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise DiskFull(f"disk full: cannot write {path}. Free some space, then resume.") from error
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


# The bookmark.


def read_bookmark(place: SpoolPlace) -> Bookmark | None:
    """The bookmark; None if there is none, StoreError if it is invalid."""
    path = place.workspace / place.bookmark
    try:
        record = json.loads(workspace_files.read(place.workspace, place.bookmark))
        found = Bookmark(record["file"], record["offset"])
        is_valid = isinstance(found.file, str) and type(found.offset) is int and found.offset >= 0
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{path}: not a valid bookmark ({type(error).__name__})") from None
    if not is_valid or not _is_name(found.file):
        raise StoreError(f"{path}: not a valid bookmark of the spool")
    return found


def write_bookmark(place: SpoolPlace, bookmark: Bookmark) -> None:
    """Replace the bookmark atomically."""
    text = json.dumps(bookmark._asdict()).encode() + b"\n"
    with writing(place.workspace / place.bookmark):
        workspace_files.make_directory(place.workspace, place.bookmark.parent)
        written = place.bookmark.with_suffix(".tmp")
        fd = workspace_files.open_file(place.workspace, written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(fd, text)
            durable.sync_data(fd)
        finally:
            os.close(fd)
        failpoint("bookmark_written")
        workspace_files.replace(place.workspace, written, place.bookmark)


def usable(place: SpoolPlace, bookmark: Bookmark) -> str | None:
    """Why a bookmark cannot be used; None if it points to the start of a line."""
    try:
        with workspace_files.stream(place.root, place.discoveries / bookmark.file) as stream:
            stream.seek(max(0, bookmark.offset - 1))
            before = stream.read(1)
    except FileNotFoundError:
        return "its file is missing"
    if bookmark.offset and before != b"\n":
        return "it points into a line, or beyond the end of its file"
    return None


def remove_consumed(place: SpoolPlace, before: Bookmark, keep: str) -> None:
    """Archive or delete the files before the bookmark; with `keep: all`, or in a spool elsewhere, none."""
    if keep == "all" or place.archive is None:
        return
    for name in names(place):
        if order(name) >= order(before.file):
            return
        with writing(place.path(name)):
            if keep == "archive":
                workspace_files.make_directory(place.root, place.archive, _mode_of(place.root, place.discoveries))
                workspace_files.replace(place.root, place.discoveries / name, place.archive / name)
            else:
                workspace_files.unlink(place.root, place.discoveries / name)
