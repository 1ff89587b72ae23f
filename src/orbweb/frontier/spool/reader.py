"""Reads the lines of the spool in order; a line is read only when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple

from orbweb import urls
from orbweb.frontier.spool.files import Bookmark, SpoolLine, SpoolPlace, decode, order
from orbweb.store import workspace_files
from orbweb.urls import UrlRules

LONGEST = 1 << 20
"""Bytes of a line. A longer one is not a line of a spool."""
SHOWN = 80
"""Characters of a URL in a note."""


class PlacedLine(NamedTuple):
    """A line and where it starts."""

    line: SpoolLine
    start: Bookmark


class SpoolReader:
    """Reads the lines of a run's files in order. `listed` returns the names of the current files.

    What is no line, or names no page, is noted and skipped.
    """

    def __init__(
        self,
        place: SpoolPlace,
        listed: Callable[[], Sequence[str]],
        start: Bookmark | None,
        on_note: Callable[[str], None],
        rules: UrlRules = urls.DEFAULT_RULES,
    ) -> None:
        self._place = place
        self._listed = listed
        self._on_note = on_note
        self._rules = rules
        self._at = start
        self._stream: BinaryIO | None = None
        if start is not None:
            self._open(start)

    @property
    def position(self) -> Bookmark | None:
        """The position after the last line that was taken or skipped."""
        return self._at

    def take(self, most: int) -> list[PlacedLine]:
        """The next lines; fewer than `most` only if there are no more at present."""
        found: list[PlacedLine] = []
        while len(found) < most:
            read = self._next_text()
            if read is None or self._at is None:
                break
            text, start = read
            line = decode(text)
            if line is None:
                self._on_note(f"spool: skipped malformed line ending at byte {self._at.offset} of {self._at.file}")
            elif urls.target(line.url, rules=self._rules) is None:
                self._on_note(
                    f"spool: skipped line at byte {start.offset} of {start.file}: {line.url[:SHOWN]!r} is not a "
                    "URL with http:// or https://"
                )
            else:
                found.append(PlacedLine(line, start))
        return found

    def has_more(self) -> bool:
        """Whether there is another complete line, malformed or not; it is passed."""
        return self._next_text() is not None

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _next_text(self) -> tuple[bytes, Bookmark] | None:
        """The next complete line and where it starts; of one that is too long, its beginning. A file is left when
        a later one exists, because then it does not grow any more."""
        while True:
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

    def _complete_line(self) -> tuple[bytes, Bookmark] | None:
        if self._stream is None or self._at is None:
            return None
        start = self._at
        text = part = self._stream.readline(LONGEST)
        size = len(text)
        while part and not part.endswith(b"\n"):
            part = self._stream.readline(LONGEST)
            size += len(part)
        if not part:
            self._stream.seek(start.offset)
            return None
        self._at = start._replace(offset=start.offset + size)
        return text, start

    def _later(self) -> str | None:
        current = order(self._at.file) if self._at else -1
        later = (name for name in self._listed() if order(name) > current)
        place = self._place
        return next((name for name in later if workspace_files.exists(place.root, place.discoveries / name)), None)

    def _open(self, at: Bookmark) -> None:
        self.close()
        self._at = at
        try:
            self._stream = workspace_files.stream(self._place.root, self._place.discoveries / at.file)
        except FileNotFoundError:
            return
        self._stream.seek(at.offset)
