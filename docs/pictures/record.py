"""Record a crawl of the demo site in a terminal, and draw it as an animated SVG. Usage: record.py FILE.

Everything in the picture is what the program printed, at the speed at which it did; only the typing is acted. The
last frame is what a viewer without animations shows, and what remains for readers who want less motion.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape

from orbweb.cli import demo

COLUMNS, ROWS = 84, 44
FRAME_S = 0.125
KEY_S = 0.03
READ_S = 1.2
HOLD_S = 6.0

CELL_W, CELL_H, FONT = 8.4, 19, 14
MARGIN, BAR = 18, 34
FOREGROUND, BACKGROUND, FRAME = "#d7dce2", "#12161c", "#3a4350"
BASIC = ("#3b4252", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d7dce2")
BRIGHT = ("#8b949e", "#ffa198", "#9bf0a3", "#f2cc60", "#a5d6ff", "#e2c5ff", "#83e4ea", "#ffffff")


@dataclass(frozen=True, slots=True)
class Style:
    """How a character looks."""

    color: str = FOREGROUND
    bold: bool = False
    dim: bool = False


PLAIN = Style()
Cell = tuple[str, Style]
Line = tuple[Cell, ...]
BLANK: Cell = (" ", PLAIN)

TOKEN = re.compile(
    r"\x1b\[([0-9;?]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x1f]|[^\x00-\x1f\x1b]+"
)


class Screen:
    """The part of a terminal that progress displays use: a grid, a cursor, colours."""

    def __init__(self) -> None:
        self.lines: list[list[Cell]] = [[BLANK] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0
        self.style = PLAIN

    def feed(self, text: str) -> None:
        for match in TOKEN.finditer(text):
            if match[2]:
                self._control(match[2], match[1])
            elif match[0] >= " ":
                self._write(match[0])
            elif not match[0].startswith("\x1b"):
                self._move(match[0])

    def _write(self, text: str) -> None:
        for letter in text:
            if self.column == COLUMNS:
                self.column = 0
                self._down()
            self.lines[self.row][self.column] = (letter, self.style)
            self.column += 1

    def _move(self, letter: str) -> None:
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self._down()
        elif letter == "\b":
            self.column = max(0, self.column - 1)

    def _down(self) -> None:
        self.row += 1
        if self.row == ROWS:
            self.row -= 1
            self.lines = [*self.lines[1:], [BLANK] * COLUMNS]

    def _control(self, kind: str, given: str) -> None:
        numbers = [int(number or 0) for number in given.strip("?").split(";")]
        count = numbers[0] or 1
        if kind == "m":
            self._dress(numbers)
        elif kind in "AF":
            self.row = max(0, self.row - count)
        elif kind in "BE":
            self.row = min(ROWS - 1, self.row + count)
        elif kind == "C":
            self.column = min(COLUMNS - 1, self.column + count)
        elif kind == "D":
            self.column = max(0, self.column - count)
        elif kind == "G":
            self.column = min(COLUMNS, count) - 1
        elif kind in "JK":
            self._erase(kind, numbers[0])
        if kind in "EF":
            self.column = 0

    def _erase(self, kind: str, what: int) -> None:
        start, end = (0 if what else self.column), (self.column + 1 if what == 1 else COLUMNS)
        self.lines[self.row][start:end] = [BLANK] * (end - start)
        if kind == "J" and what != 1:
            for row in range(0 if what else self.row + 1, ROWS):
                self.lines[row] = [BLANK] * COLUMNS

    def _dress(self, numbers: list[int]) -> None:
        rest = iter(numbers)
        for number in rest:
            if number == 0:
                self.style = PLAIN
            elif number in (1, 2, 22):
                self.style = replace(self.style, bold=number == 1, dim=number == 2)
            elif number == 39:
                self.style = replace(self.style, color=FOREGROUND)
            elif 30 <= number <= 37:
                self.style = replace(self.style, color=BASIC[number - 30])
            elif 90 <= number <= 97:
                self.style = replace(self.style, color=BRIGHT[number - 90])
            elif number in (38, 48):
                color = _extended(rest)
                self.style = replace(self.style, color=color) if number == 38 else self.style

    def picture(self) -> tuple[Line, ...]:
        return tuple(tuple(line) for line in self.lines)


def _extended(rest: Iterator[int]) -> str:
    """The colour of `38;5;N` or `38;2;R;G;B`."""
    if next(rest, 0) == 2:
        red, green, blue = (next(rest, 0) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    number = next(rest, 7)
    if number < 16:
        return (*BASIC, *BRIGHT)[number]
    if number >= 232:
        return f"#{8 + 10 * (number - 232):02x}" + f"{8 + 10 * (number - 232):02x}" * 2
    steps = (0, 95, 135, 175, 215, 255)
    number -= 16
    return f"#{steps[number // 36]:02x}{steps[number // 6 % 6]:02x}{steps[number % 6]:02x}"


@dataclass(frozen=True, slots=True)
class Frame:
    """What the terminal shows from a moment on."""

    at: float
    lines: tuple[Line, ...]


class Recording:
    """A screen, its clock, and what it showed so far."""

    def __init__(self) -> None:
        self.screen = Screen()
        self.now = 0.0
        self.frames: list[Frame] = []

    def show(self, text: str) -> None:
        self.screen.feed(text)
        frame = Frame(self.now, self.screen.picture())
        if self.frames and self.now - self.frames[-1].at < FRAME_S:
            frame = replace(frame, at=self.frames.pop().at)
        self.frames.append(frame)

    def type(self, command: str) -> None:
        self.show("\x1b[38;5;79m$\x1b[0m ")
        for letter in command:
            self.now += KEY_S
            self.show(letter)
        self.now += 0.3
        self.show("\r\n")

    def run(self, words: list[str], directory: Path) -> None:
        """Type a command, run it, and show what it prints when it does."""
        self.type(" ".join(words))
        started, before = time.monotonic(), self.now
        for text in _printed(words, directory):
            self.now = before + time.monotonic() - started
            self.show(text)
        self.now += READ_S
        self.show("\r\n")


def _printed(words: list[str], directory: Path) -> Iterator[str]:
    """What a command writes to a terminal of its own, piece by piece."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("ORBWEB_", "NO_COLOR"))
    }
    environment |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONIOENCODING": "utf-8"}
    argv = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
    process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, cwd=directory, env=environment)
    os.close(theirs)
    pending = b""
    while piece := _read(ours):
        text, pending = _decoded(pending + piece)
        yield text
    os.close(ours)
    if process.wait() not in (0, 3):
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how a terminal without a writer ends
        return b""


def _decoded(data: bytes) -> tuple[str, bytes]:
    """The text of whole characters and control sequences, and what is left of the last one."""
    cut = re.search(rb"(?:\x1b(?:\[[0-9;?]*)?|[\xc0-\xff][\x80-\xbf]{0,2})$", data)
    end = cut.start() if cut else len(data)
    try:
        return data[:end].decode(), data[end:]
    except UnicodeDecodeError:
        return data.decode(errors="replace"), b""


def _spans(line: Line) -> Iterator[str]:
    """The text of a line, one element per run of characters that look the same."""
    start = 0
    while start < COLUMNS:
        style, end = line[start][1], start
        while end < COLUMNS and line[end][1] == style:
            end += 1
        text = "".join(letter for letter, _ in line[start:end])
        if text.strip():
            left = start + len(text) - len(text.lstrip())
            look = f' fill="{style.color}"' if style.color != FOREGROUND else ""
            look += ' font-weight="bold"' if style.bold else ""
            look += ' opacity=".65"' if style.dim else ""
            width = f'{len(text.strip()) * CELL_W:.1f}" lengthAdjust="spacingAndGlyphs'
            yield f'<tspan x="{left * CELL_W:.1f}" textLength="{width}"{look}>{escape(text.strip())}</tspan>'
        start = end


def draw(frames: list[Frame], end: float) -> str:
    """A strip of frames behind a window; CSS moves the strip."""
    rows = max(_used(frame.lines) for frame in frames)
    height = rows * CELL_H
    texts: dict[Line, int] = {}
    strip = []
    for number, frame in enumerate(frames):
        for row, line in enumerate(frame.lines[:rows]):
            if any(letter != " " for letter, _ in line):
                name = texts.setdefault(line, len(texts))
                strip.append(f'<use href="#l{name}" y="{number * height + (row + 1) * CELL_H - 5}"/>')
    names = "\n".join(f'<text id="l{name}">{"".join(_spans(line))}</text>' for line, name in texts.items())
    steps = "\n".join(
        f"{100 * frame.at / end:.3f}% {{ transform: translateY(-{number * height}px) }}"
        for number, frame in enumerate(frames)
    )
    last = (len(frames) - 1) * height
    wide, high = COLUMNS * CELL_W + 2 * MARGIN, height + BAR + MARGIN
    dots = "".join(f'<circle cx="{MARGIN + 4 + 18 * dot}" cy="17" r="5" fill="{FRAME}"/>' for dot in range(3))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" role="img"
  viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}">
<title>A terminal: orbweb crawls the demo site, explains a skipped URL and exports Markdown</title>
<style>
text {{ font: {FONT}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  fill: {FOREGROUND}; white-space: pre }}
.strip {{ transform: translateY(-{last}px); animation: play {end:.2f}s steps(1, end) infinite }}
@keyframes play {{
{steps}
100% {{ transform: translateY(-{last}px) }}
}}
@media (prefers-reduced-motion: reduce) {{ .strip {{ animation: none }} }}
</style>
<defs>
{names}
</defs>
<rect x=".5" y=".5" width="{wide - 1:.0f}" height="{high - 1}" rx="9" fill="{BACKGROUND}" stroke="{FRAME}"/>
{dots}
<svg x="{MARGIN}" y="{BAR}" width="{COLUMNS * CELL_W:.0f}" height="{height}">
<g class="strip">
{chr(10).join(strip)}
</g>
</svg>
</svg>
"""


def _used(lines: tuple[Line, ...]) -> int:
    return max((row + 1 for row, line in enumerate(lines) if any(letter != " " for letter, _ in line)), default=1)


def record() -> str:
    recording = Recording()
    with tempfile.TemporaryDirectory() as directory, demo.serve() as url:
        skipped = url.replace("docs/", "blog/larder-1-4.html")
        for words in (
            ["orbweb", "crawl", url, "--project", "larder", "--rate", "5"],
            ["orbweb", "explain", "larder", skipped],
            ["orbweb", "export", "larder", "--to", "markdown", "--out", "larder-md"],
        ):
            recording.run(words, Path(directory))
    return draw(recording.frames, recording.now + HOLD_S)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(record(), encoding="utf-8")
