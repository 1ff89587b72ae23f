"""A terminal for tests: a process on a pty of a given size, and what its screen shows.

The screen knows what orbweb sends: text, new lines, moving up, erasing, colours. Everything else is an error.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.cells import cell_len

TOKEN = re.compile(r"\x1b\[(\d*(?:;\d+)*)([A-Za-z])|(\r\n|\r|\n)|([^\x00-\x1f\x7f])|(.)", re.DOTALL)

BEGUN = re.compile(r"(\x1b(\[[\d;]*)?|\r)$")
"""The beginning of a sequence, whose end is still to come."""


class Screen:
    """What a terminal shows, how often the block was drawn, and how many lines wrapped."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.lines: list[list[str]] = [[]]
        self.row = self.column = 0
        self.wraps: list[str] = []
        self.frames = 0
        self.colours = 0

    def feed(self, text: str) -> None:
        for parameters, command, motion, character, other in TOKEN.findall(text):
            if command:
                self._control(command, parameters)
            elif motion:
                self._move(motion)
            elif character:
                self._put(character)
            else:
                raise AssertionError(f"unexpected control character {other!r}")

    def _control(self, command: str, parameters: str) -> None:
        if command == "A":
            self.frames += 1
            self.row -= int(parameters or 1)
            assert self.row >= 0, "moved above the first line"
        elif command == "K":
            del self.lines[self.row][self.column :]
        elif command == "J":
            del self.lines[self.row][self.column :]
            del self.lines[self.row + 1 :]
        else:
            assert command == "m", f"unexpected sequence {parameters}{command}"
            self.colours += 1

    def _move(self, motion: str) -> None:
        if "\n" in motion:
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append([])
        self.column = 0

    def _put(self, character: str) -> None:
        width = cell_len(character)
        if self.column + width > self.columns:
            self.wraps.append("".join(self.lines[self.row]))
            self._move("\n")
        line = self.lines[self.row]
        line += [" "] * (self.column - len(line))
        line[self.column : self.column + width] = [character, *[""] * (width - 1)]
        self.column += width

    @property
    def text(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self.lines)


class Terminal:
    """A process on a terminal."""

    def __init__(self, process: subprocess.Popen[bytes], master: int, columns: int) -> None:
        self.process, self._master = process, master
        self.screen = Screen(columns)
        self.started_at = time.monotonic()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = ""

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait_for(self, condition: Callable[[str], object], timeout: float = 90.0) -> str:
        """Read until the screen is as wanted; the screen."""
        deadline = time.monotonic() + timeout
        while not condition(self.screen.text):
            assert time.monotonic() < deadline, f"timed out:\n{self.screen.text}"
            assert self._read(0.1), f"ended:\n{self.screen.text}"
        return self.screen.text

    def wait(self) -> int:
        """Read until the process ends; its exit code."""
        while self._read(90.0):
            pass
        return self.process.wait(90.0)

    def _read(self, timeout: float) -> bool:
        """Read what is there; False at the end."""
        if not select.select([self._master], [], [], timeout)[0]:
            return True
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False
        text = self._rest + self._decoder.decode(data)
        begun = BEGUN.search(text)
        end = begun.start() if begun else len(text)
        self.screen.feed(text[:end])
        self._rest = text[end:]
        return bool(data)


@contextmanager
def terminal(
    words: Sequence[str], *, columns: int, rows: int = 24, cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """Run the words on a terminal; what still runs at the end is killed."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    plain = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    process = subprocess.Popen(
        words,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=cwd,
        env={**plain, "TERM": "xterm-256color", **(env or {})},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
    )
    os.close(slave)
    try:
        yield Terminal(process, master, columns)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(master)
