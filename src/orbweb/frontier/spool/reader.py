"""Reads the lines of the spool in order; a line is read only when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from orbweb.frontier.spool.files import DISCOVERIES, Bookmark, SpoolLine, decode, order
from orbweb.store import workspace_files


class SpoolReader:
    """Reads the lines of a run's files in order. `listed` returns the names of the current files."""

    def __init__(
        self,
        directory: Path,
        listed: Callable[[], Sequence[str]],
        start: Bookmark | None,
        on_note: Callable[[str], None],
    ) -> None:
        self._root = directory.parents[1]
        self._listed = listed
        self._on_note = on_note
        self._at = start
        self._stream: BinaryIO | None = None
        if start is not None:
            self._open(start)

    @property
    def position(self) -> Bookmark | None:
        """The position after the last line that was taken."""
        return self._at

    def take(self, most: int) -> list[tuple[SpoolLine, Bookmark]]:
        """The next lines, each with its end; fewer than `most` only if there are no more at present."""
        found: list[tuple[SpoolLine, Bookmark]] = []
        while len(found) < most:
            text = self._next_text()
            if text is None:
                break
            line = decode(text)
            if line is None:
                file, end = self._at or ("", 0)
                self._on_note(f"spool: skipped malformed line ending at byte {end} of {file}")
            elif self._at is not None:
                found.append((line, self._at))
        return found

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _next_text(self) -> bytes | None:
        """The next complete line. A file is left when a later one exists, because then it does not grow any
        more."""
        text = self._complete_line()
        if text is not None:
            return text
        later = self._later()
        if later is None:
            return None
        text = self._complete_line()
        if text is not None:
            return text
        self._open(Bookmark(later, 0))
        return self._next_text()

    def _complete_line(self) -> bytes | None:
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
