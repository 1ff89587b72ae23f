"""A block of lines at the bottom of a terminal, which is drawn again and again, and lines above it that stay.

No line of the block is as wide as the terminal, so that none wraps. It is drawn in one write, at most once per
REDRAW_S. The cursor stays visible, below the block: what a user types does not disturb it. When the terminal goes
away, nothing more is drawn.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from orbweb.cli.output import colour

REDRAW_S = 0.1
FALLBACK = (80, 24)

Compose = Callable[[int, int], Sequence[Text]]
"""The lines of the block, for a number of columns and rows."""


def size(stream: TextIO) -> tuple[int, int]:
    """Columns and rows as the terminal reports them; COLUMNS may be out of date."""
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return FALLBACK
    return columns or FALLBACK[0], rows or FALLBACK[1]


class Block:
    """The block on a terminal, which is stderr."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._console = Console(
            file=self._stream,
            width=10_000,
            force_terminal=True,
            no_color=not colour.on(self._stream),
            highlight=False,
            legacy_windows=False,
        )
        self._widths: list[int] = []
        self._above: list[Text] = []
        self._compose: Compose | None = None
        self._drawn_at = -REDRAW_S
        self._is_gone = False

    def show(self, compose: Compose) -> None:
        """Draw these lines, unless the last ones were drawn just now."""
        self._compose = compose
        if self._is_due():
            self._draw()

    def add_above(self, line: Text) -> None:
        """A line that stays; it appears with the next drawing."""
        self._above.append(line)
        if self._is_due():
            self._draw()

    def close(self) -> None:
        """Remove the block; the lines above stay."""
        self._compose = None
        self._draw()

    def _is_due(self) -> bool:
        return self._clock() - self._drawn_at >= REDRAW_S

    def _draw(self) -> None:
        columns, rows = size(self._stream)
        lines = [] if self._compose is None else list(self._compose(columns - 1, rows - 1))
        if not (lines or self._widths or self._above):
            return
        text = "".join(f"{self._ansi(line)}\x1b[K\n" for line in (*self._above, *lines))
        self._write(f"{self._home(columns)}{text}\x1b[J")
        self._above.clear()
        self._widths = [line.cell_len for line in lines]
        self._drawn_at = self._clock()

    def _home(self, columns: int) -> str:
        """To the first line of the block. A terminal that became narrower has wrapped its lines."""
        rows = sum(max(1, -(-width // columns)) for width in self._widths)
        return f"\r\x1b[{rows}A" if rows else "\r"

    def _ansi(self, line: Text) -> str:
        with self._console.capture() as capture:
            self._console.print(line, end="", no_wrap=True, overflow="ignore", crop=False)
        return capture.get()

    def _write(self, text: str) -> None:
        if self._is_gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._is_gone = True


def cut(text: str, width: int, mark: str = "\u2026") -> str:
    """The text, or its two ends with a mark between them if it is too wide. Wide characters count twice."""
    if cell_len(text) <= width:
        return text
    room = width - cell_len(mark)
    if room <= 0:
        return ""
    head, tail = _fitting(text, room - room // 2), _fitting(text[::-1], room // 2)[::-1]
    return f"{head}{mark}{tail}"


def _fitting(text: str, width: int) -> str:
    """As much of the beginning as fits."""
    used = 0
    for at, character in enumerate(text):
        used += cell_len(character)
        if used > width:
            return text[:at]
    return text
