"""The files of the spool: their names, their lines (one per page of discovery), and the bookmark of the
scraper."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from orbweb.errors import DiskFull, StoreError, is_disk_full
from orbweb.failpoints import failpoint
from orbweb.store import durable, workspace_files
from orbweb.store.spool_rows import DiscoveredVisit

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
    """The line of a visit of discovery."""
    kind = page_type(found.key)
    return SpoolLine(found.url, kind, found.depth, found.referrer, found.status, found.length, found.latency_ms)


def decode(text: bytes) -> SpoolLine | None:
    """The parsed line, or None if it is malformed. Missing figures are 0: only the URL and its depth matter."""
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
    is_valid = isinstance(line.url, str) and isinstance(line.depth, int) and 0 <= line.depth < 1 << 31
    return line if is_valid and isinstance(line.referrer, str | None) else None


class Bookmark(NamedTuple):
    """The position of the scraper: all files before this one are read, and this many bytes of it."""

    file: str
    offset: int


def names(directory: Path) -> list[str]:
    """The spool files in the DISCOVERIES or ARCHIVE directory of a workspace, in order."""
    there = workspace_files.names(directory.parents[1], Path(*directory.parts[-2:]))
    return sorted(filter(_is_name, there), key=order)


def order(name: str) -> int:
    """The sort key of a file name."""
    match = _is_name(name)
    return int(match[1]) if match else -1


def unread(root: Path, bookmark: Bookmark | None) -> int:
    """The bytes that the scraper has not read yet."""
    total, first = 0, order(bookmark.file) if bookmark else -1
    for name in names(root / DISCOVERIES):
        if order(name) >= first:
            total += file_size(root, name)
    return max(0, total - (bookmark.offset if bookmark else 0))


def file_size(root: Path, name: str) -> int:
    return workspace_files.size(root, DISCOVERIES / name) or 0


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


def read_bookmark(root: Path) -> Bookmark | None:
    """The bookmark; None if there is none, StoreError if it is invalid."""
    path = root / BOOKMARK
    try:
        record = json.loads(workspace_files.read(root, BOOKMARK))
        found = Bookmark(record["file"], record["offset"])
        is_valid = isinstance(found.file, str) and isinstance(found.offset, int) and found.offset >= 0
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{path}: not a valid bookmark ({type(error).__name__})") from None
    if not is_valid or not _is_name(found.file):
        raise StoreError(f"{path}: not a valid bookmark of the spool")
    return found


def write_bookmark(root: Path, bookmark: Bookmark) -> None:
    """Replace the bookmark atomically."""
    path = root / BOOKMARK
    text = json.dumps(bookmark._asdict()).encode() + b"\n"
    with writing(path):
        workspace_files.make_directory(root, BOOKMARK.parent)
        written = BOOKMARK.with_suffix(".tmp")
        fd = workspace_files.open_file(root, written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(fd, text)
            durable.sync_data(fd)
        finally:
            os.close(fd)
        failpoint("bookmark_written")
        workspace_files.replace(root, written, BOOKMARK)


def usable(root: Path, bookmark: Bookmark) -> str | None:
    """Why a bookmark cannot be used; None if it points to the start of a line."""
    try:
        with workspace_files.stream(root, DISCOVERIES / bookmark.file) as stream:
            stream.seek(max(0, bookmark.offset - 1))
            before = stream.read(1)
    except FileNotFoundError:
        return "its file is missing"
    if bookmark.offset and before != b"\n":
        return "it points into a line, or beyond the end of its file"
    return None


def remove_consumed(root: Path, before: Bookmark, keep: str) -> list[str]:
    """Archive or delete the files before the bookmark and return their names; with `keep: all` none."""
    done = (
        [name for name in names(root / DISCOVERIES) if order(name) < order(before.file)] if keep != "all" else []
    )
    for name in done:
        path = root / DISCOVERIES / name
        with writing(path):
            if keep == "archive":
                workspace_files.make_directory(root, ARCHIVE)
                workspace_files.replace(root, DISCOVERIES / name, ARCHIVE / name)
            else:
                workspace_files.unlink(root, DISCOVERIES / name)
    return done
