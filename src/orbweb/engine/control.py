"""Telling a running crawl what to do: signals and control files become one Command type.

`orbweb pause PROJECT` writes `control/PROJECT.pause` in the workspace; the owner of the project looks for
it several times a second. Files named `pause` and `stop` at the top of the workspace speak to every crawl
in it, `pause.scraper` and `stop.scraper` to those that scrape, `pause.crawler` and `stop.crawler` to all others. A
`stop` left over from an earlier crawl is removed at the start, with a note. Only a crawl imports the event loop:
who merely writes a file should not wait for it.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from orbweb.store import workspace_files


class Command(StrEnum):
    """What a crawl can be told."""

    PAUSE = "pause"
    UNPAUSE = "unpause"
    STOP = "stop"
    STOP_NOW = "stop_now"
    FINISH = "finish"
    RULES = "rules"
    RELOAD = "reload"
    REPORT = "report"


SIGNALS = {signal.SIGHUP: Command.RELOAD, signal.SIGUSR1: Command.REPORT}


LIFELINE = "ORBWEB_LIFELINE"
"""The number of an open file of this process that ends when the process that started it does."""


class ControlKind(StrEnum):
    """What a control file may be meant for, besides all crawls and those of one project."""

    CRAWLER = "crawler"
    SCRAPER = "scraper"


class ControlFiles:
    """The control files of one project."""

    def __init__(self, workspace: Path, project: str, kind: ControlKind = ControlKind.CRAWLER) -> None:
        self._top = workspace
        self._directory = Path("control")
        self._project = project
        self._kind = kind

    def _file(self, command: Command) -> Path:
        return self._directory / f"{self._project}.{command.value}"

    def write(self, command: Command) -> None:
        """Ask the owner of the project."""
        if command is Command.UNPAUSE:
            workspace_files.unlink(self._top, self._file(Command.PAUSE))
            return
        self._write(self._file(command), b"")

    def _write(self, file: Path, text: bytes) -> None:
        workspace_files.make_directory(self._top, self._directory)
        with workspace_files.stream(self._top, file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as stream:
            stream.write(text)

    def _is_there(self, file: Path) -> bool:
        return workspace_files.exists(self._top, file)

    def _at_top(self, command: Command) -> list[Path]:
        return [Path(command.value), Path(f"{command.value}.{self._kind.value}")]

    def clear(self, *, alone: bool = True) -> list[Path]:
        """Remove what an earlier crawl left; which files. Unless it is alone, others must see `stop`."""
        stale = [self._file(command) for command in (Command.PAUSE, Command.STOP, Command.FINISH, Command.RULES)]
        found = [path for path in [*stale, *(self._at_top(Command.STOP) if alone else ())] if self._is_there(path)]
        for path in found:
            workspace_files.unlink(self._top, path)
        self.say_held(None)
        return [self._top / path for path in found]

    def paused(self) -> str | None:
        """By which file; None if there is none."""
        files = [self._file(Command.PAUSE), *self._at_top(Command.PAUSE)]
        found = next(filter(self._is_there, files), None)
        return f"paused by {found}" if found is not None else None

    def say_held(self, reason: str | None) -> None:
        """Let others know why the crawl is held; None: it is not."""
        path = self._directory / f"{self._project}.held"
        if reason is None:
            workspace_files.unlink(self._top, path)
        else:
            self._write(path, reason.encode())

    def held_by(self) -> str | None:
        """Why the crawl that runs is held, as it said."""
        try:
            return workspace_files.read(self._top, self._directory / f"{self._project}.held").decode(
                errors="replace"
            )
        except FileNotFoundError:
            return None

    def asked(self) -> Command | None:
        """FINISH, STOP, RULES, or nothing."""
        if self._is_there(self._file(Command.FINISH)):
            return Command.FINISH
        if any(map(self._is_there, (self._file(Command.STOP), *self._at_top(Command.STOP)))):
            return Command.STOP
        return Command.RULES if self._is_there(self._file(Command.RULES)) else None

    def heeded(self, command: Command) -> None:
        """The owner does what was asked; whoever asks again means it again."""
        workspace_files.unlink(self._top, self._file(command))


@contextmanager
def signals(tell: Callable[[Command], None], *, more: bool = False) -> Iterator[None]:
    """SIGINT and SIGTERM stop; a second one stops at once. With `more`, SIGHUP reloads settings, or stops where it
    says that the terminal is gone, and SIGUSR1 asks for a report. Afterwards all mean what they meant before.

    In another thread than the main one nothing is caught: there signals belong to the program around us.
    """
    from asyncio import get_running_loop

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = get_running_loop()
    told: list[int] = []

    def on_signal(number: int) -> None:
        if number in SIGNALS and not (number == signal.SIGHUP and _terminal_is_gone()):
            tell(SIGNALS[signal.Signals(number)])
            return
        tell(Command.STOP_NOW if told else Command.STOP)
        told.append(number)

    caught = (signal.SIGINT, signal.SIGTERM, *(SIGNALS if more else ()))
    before = {number: signal.getsignal(number) for number in caught}
    for number in before:
        loop.add_signal_handler(number, on_signal, number)
    line = os.environ.get(LIFELINE)
    if line is not None:
        loop.add_reader(int(line), _cut, loop.remove_reader, int(line), tell)
    try:
        yield
    finally:
        if line is not None:
            loop.remove_reader(int(line))
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _terminal_is_gone() -> bool:
    """Whether standard error was a terminal that has been closed."""
    try:
        os.tcgetpgrp(2)
    except OSError as error:
        return error.errno == errno.EIO
    return False


def _cut(forget: Callable[[int], object], line: int, tell: Callable[[Command], None]) -> None:
    """The process that started this one is gone: nobody would stop it."""
    forget(line)
    tell(Command.STOP)
