"""Writes the committed visits of a discovery run to the spool.

Lines are derived from committed visits, in order, so they can be written again: after a crash, complete lines that
the database does not know of are recognized and kept, and a torn one is cut off. So no line is lost or repeated.
File names increase even if the clock does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from orbweb.failpoints import failpoint
from orbweb.frontier.spool.files import SpoolPlace, archived, decode, file_size, line_of, names, order, writing
from orbweb.store import Queries, durable, spool_rows, workspace_files
from orbweb.store.spool_rows import DiscoveredVisit, SpoolFile
from orbweb.store.workspace_files import PRIVATE, FileModes


@dataclass(frozen=True, slots=True)
class SpoolSettings:
    """When a new file is started, how many lines are written at once, and the permissions of files."""

    rotate_bytes: int
    rotate_s: float
    group_lines: int = spool_rows.PORTION
    modes: FileModes = PRIVATE


class SpoolWriter:
    """Writes the lines of one run of discovery, whose project this process owns."""

    def __init__(
        self,
        db: Queries,
        place: SpoolPlace,
        run_id: int,
        settings: SpoolSettings,
        *,
        page_type: Callable[[str], str],
        has_room: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self._db = db
        self._place = place
        self._has_room = has_room
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

    def catch_up(self) -> bool:
        """Write the visits committed since the last call, a group at a time, each if there is room for it; True if
        all of them are written, and durable."""
        most = min(self._settings.group_lines, spool_rows.PORTION)
        while visits := spool_rows.found(self._db, self._run_id, self._visit, most):
            lines = b"".join(line_of(visit, self._page_type).encode() for visit in visits if visit.is_page)
            if lines and not self._has_room():
                return False
            self._visit = visits[-1].visit
            if lines:
                self._append(lines)
        return True

    def _append(self, lines: bytes) -> None:
        file = self._writable()
        path = self._path(file)
        with writing(path):
            done = 0
            while done < len(lines):
                done += os.pwrite(self._fd, lines[done:], file.size + done)
            failpoint("spool_written")
            durable.sync_data(self._fd)
        failpoint("spool_synced")
        self._file = file._replace(visit=self._visit, size=file.size + len(lines))
        spool_rows.advance(self._db, self._file)

    def _writable(self) -> SpoolFile:
        """Open the file for the next lines: the current one, or a new one if it is full, old, shortened or
        missing."""
        file = self._file
        if file is not None and not self._is_done(file):
            if self._fd < 0:
                self._fd = self._opened(file, os.O_WRONLY)
            return file
        self.close()
        self._file = file = SpoolFile(self._next_name(), self._run_id, file.visit if file else 0, 0)
        spool_rows.begin(self._db, file)
        path = self._path(file)
        with writing(path):
            modes, folder = self._settings.modes, self._place.discoveries
            workspace_files.make_directory(self._place.root, folder, modes.folder, take=True)
            self._fd = self._opened(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            workspace_files.sync_directory(self._place.root, self._place.discoveries)
        return file

    def _opened(self, file: SpoolFile, flags: int) -> int:
        fd = workspace_files.open_file(self._place.root, self._place.discoveries / file.name, flags)
        workspace_files.take_mode(fd, self._settings.modes.file)
        return fd

    def _is_done(self, file: SpoolFile) -> bool:
        is_old = self._clock() - order(file.name) >= self._settings.rotate_s
        found = workspace_files.size(self._place.root, self._place.discoveries / file.name)
        is_short = found is None or found < file.size
        return file.size >= self._settings.rotate_bytes or is_old or is_short

    def _next_name(self) -> str:
        known = [*names(self._place), *archived(self._place)]
        known += [file.name for file in spool_rows.files(self._db)]
        newest = max(map(order, known), default=0)
        return f"discoveries-{max(int(self._clock()), newest + 1)}.jsonl"

    def _path(self, file: SpoolFile) -> Path:
        return self._place.path(file.name)

    def _recover(self, file: SpoolFile) -> None:
        """Keep lines that a crash left after the cursor if they are those that come next; cut off the rest."""
        name = self._place.discoveries / file.name
        if file_size(self._place, file.name) <= file.size:
            return
        with writing(self._path(file)), workspace_files.stream(self._place.root, name, os.O_RDWR) as stream:
            stream.seek(file.size)
            size, visit = file.size, file.visit
            for known, line in self._kept(stream, file):
                size, visit = size + len(line), known.visit
            stream.truncate(size)
            durable.sync_data(stream.fileno())
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


class Outbox:
    """The writers of a discovery: what earlier runs, killed or stopped in between, did not write goes first."""

    def __init__(self, writers: Sequence[SpoolWriter]) -> None:
        self._writers = list(writers)

    def catch_up(self) -> bool:
        """Write what is committed, as far as there is room; True if all of it is written."""
        while self._writers[0].catch_up():
            if len(self._writers) == 1:
                return True
            self._writers.pop(0).close()
        return False

    def close(self) -> None:
        for writer in self._writers:
            writer.close()
