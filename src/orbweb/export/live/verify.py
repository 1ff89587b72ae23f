"""Compares the output files of a run with their checksums; changes nothing.

Bytes beyond the cursor, which a crash leaves, and a deleted file, which is rebuilt when needed, are not damage.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from orbweb.export.live.catalog import paths
from orbweb.store import Queries, journal, workspace_files
from orbweb.store.journal import Cursor
from orbweb.store.workspace_paths import RunFiles

BLOCK = 1 << 20


class Altered(NamedTuple):
    """A file that differs from what was written: its name and path, and the problem."""

    name: str
    path: Path
    problem: str


def altered(db: Queries, run_id: int, files: RunFiles) -> Iterator[Altered]:
    """The files of a run that differ from their checksum, if it is known."""
    for name, path in paths(files).items():
        cursor = journal.cursor(db, run_id, name)
        if cursor is not None and cursor.whole is not None and workspace_files.exists(files.root, path):
            problem = _problem(files.root, path, cursor)
            if problem is not None:
                yield Altered(name, files.root / path, problem)


def _problem(root: Path, path: Path, cursor: Cursor) -> str | None:
    size = workspace_files.size(root, path) or 0
    if size < cursor.offset:
        return f"it has {size} bytes, but {cursor.offset} were written"
    checksum, left = 0, cursor.offset
    with workspace_files.stream(root, path) as stream:
        while left and (block := stream.read(min(BLOCK, left))):
            checksum, left = zlib.crc32(block, checksum), left - len(block)
    return None if checksum == cursor.whole else f"its {cursor.offset} bytes differ from those that were written"
