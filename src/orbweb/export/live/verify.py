"""Whether files that follow a run are still what was written.

Owns the comparison of a file with the checksum of all its bytes. Always: what lies beyond the cursor, which a
crash leaves, and a file that somebody deleted, which is made again when it is wanted, are no damage. Never changes
anything.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from orbweb.export.live.catalog import paths
from orbweb.store import Queries, journal, workspace_files
from orbweb.store.journal import Cursor

BLOCK = 1 << 20


class Altered(NamedTuple):
    """A file that is not what was written: which of the run, where it lies, and what is wrong."""

    name: str
    path: Path
    problem: str


def altered(db: Queries, run_id: int, label: str, workspace: Path) -> Iterator[Altered]:
    """The files of a run that were changed since, of those whose checksum is known."""
    for name, path in paths(label).items():
        cursor = journal.cursor(db, run_id, name)
        if cursor is not None and cursor.whole is not None and workspace_files.exists(workspace, path):
            problem = _problem(workspace, path, cursor)
            if problem is not None:
                yield Altered(name, path, problem)


def _problem(workspace: Path, path: Path, cursor: Cursor) -> str | None:
    size = workspace_files.size(workspace, path) or 0
    if size < cursor.offset:
        return f"it has {size} bytes, and {cursor.offset} were written"
    checksum, left = 0, cursor.offset
    with workspace_files.stream(workspace, path) as stream:
        while left and (block := stream.read(min(BLOCK, left))):
            checksum, left = zlib.crc32(block, checksum), left - len(block)
    return None if checksum == cursor.whole else f"its {cursor.offset} bytes are not those that were written"
