"""Control of a running crawl: signals and control files become commands.

`orbweb pause PROJECT` writes `control/PROJECT.pause` in the workspace; the crawl polls for it several times a
second. Files named `pause` and `stop` at the top of the workspace apply to every crawl in it, `pause.scraper` and
`stop.scraper` to those that scrape, `pause.crawler` and `stop.crawler` to all others. A `stop` left by an earlier
crawl is removed at the start, with a note. asyncio is imported only where a crawl runs: a command that only writes
a file should not wait for it.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

from orbweb.store import workspace_files


class Command(StrEnum):
    """What a running crawl can be made to do."""

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
"""File descriptor of a pipe whose other end closes when the parent process dies."""


class ControlKind(StrEnum):
    """Which crawls a control file at the top of the workspace can apply to, besides all of them."""

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
        """Send the command to the crawl of the project."""
        if command is Command.UNPAUSE:
            workspace_files.unlink(self._top, self._file(Command.PAUSE))
            return
        self._write(self._file(command), b"")

    def is_given(self, command: Command) -> bool:
        """Whether the project has the file of a command, besides those at the top of the workspace."""
        return self._is_there(self._file(command))

    def _write(self, file: Path, text: bytes) -> None:
        workspace_files.make_directory(self._top, self._directory)
        with workspace_files.stream(self._top, file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as stream:
            stream.write(text)

    def _is_there(self, file: Path) -> bool:
        return workspace_files.exists(self._top, file)

    def _at_top(self, command: Command) -> list[Path]:
        return [Path(command.value), Path(f"{command.value}.{self._kind.value}")]

    def clear(self, *, alone: bool = True) -> list[Path]:
        """Remove the files of an earlier crawl and return them. Unless `alone`, other crawls still need `stop`."""
        stale = [self._file(command) for command in (Command.PAUSE, Command.STOP, Command.FINISH, Command.RULES)]
        found = [path for path in [*stale, *(self._at_top(Command.STOP) if alone else ())] if self._is_there(path)]
        for path in found:
            workspace_files.unlink(self._top, path)
        self.save_hold_reason(None)
        self.save_progress(None)
        return [self._top / path for path in found]

    def paused(self) -> str | None:
        """Which control file pauses the crawl; None if it is not paused."""
        files = [self._file(Command.PAUSE), *self._at_top(Command.PAUSE)]
        found = next(filter(self._is_there, files), None)
        return f"paused by {found}" if found is not None else None

    def save_hold_reason(self, reason: str | None) -> None:
        """Publish why the crawl is on hold, for reports; None: it is not."""
        path = self._directory / f"{self._project}.held"
        if reason is None:
            workspace_files.unlink(self._top, path)
        else:
            self._write(path, reason.encode())

    def hold_reason(self) -> str | None:
        """Why the running crawl is on hold; None if it is not."""
        try:
            return workspace_files.read(self._top, self._directory / f"{self._project}.held").decode(
                errors="replace"
            )
        except FileNotFoundError:
            return None

    def save_progress(self, record: bytes | None) -> None:
        """Publish what the crawl is doing, for reports; None: nothing. Neither durable nor certain to be written:
        nothing depends on it."""
        path = self._directory / f"{self._project}.progress"
        with suppress(OSError):
            if record is None:
                workspace_files.unlink(self._top, path)
            else:
                workspace_files.make_directory(self._top, self._directory)
                workspace_files.write_whole(self._top, path, record, durable=False)

    def progress(self) -> bytes | None:
        """What a crawl has published, perhaps one that was killed; None if there is nothing."""
        try:
            return workspace_files.read(self._top, self._directory / f"{self._project}.progress")
        except FileNotFoundError:
            return None

    def command(self) -> Command | None:
        """The command that the control files give: FINISH, STOP, RULES or None."""
        if self._is_there(self._file(Command.FINISH)):
            return Command.FINISH
        if any(map(self._is_there, (self._file(Command.STOP), *self._at_top(Command.STOP)))):
            return Command.STOP
        return Command.RULES if self._is_there(self._file(Command.RULES)) else None

    def acknowledge(self, command: Command) -> None:
        """Remove the file of a command that is being obeyed, so that it can be given again."""
        workspace_files.unlink(self._top, self._file(command))


@contextmanager
def signals(on_command: Callable[[Command], None], *, more: bool = False) -> Iterator[None]:
    """SIGINT and SIGTERM stop; a second one stops at once. With `more`, SIGHUP reloads settings, or stops if the
    terminal was closed, and SIGUSR1 prints a report. The previous handlers are restored at the end.

    Outside the main thread nothing is caught: there signals belong to the embedding program.
    """
    from asyncio import get_running_loop

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = get_running_loop()
    stops: list[int] = []

    def on_signal(number: int) -> None:
        if number in SIGNALS and not (number == signal.SIGHUP and _terminal_is_gone()):
            on_command(SIGNALS[signal.Signals(number)])
            return
        on_command(Command.STOP_NOW if stops else Command.STOP)
        stops.append(number)

    caught = (signal.SIGINT, signal.SIGTERM, *(SIGNALS if more else ()))
    before = {number: signal.getsignal(number) for number in caught}
    for number in before:
        loop.add_signal_handler(number, on_signal, number)
    line = os.environ.get(LIFELINE)
    if line is not None:
        loop.add_reader(int(line), _on_orphaned, loop.remove_reader, int(line), on_command)
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


def _on_orphaned(remove_reader: Callable[[int], object], line: int, on_command: Callable[[Command], None]) -> None:
    """The parent process is gone: nobody else would stop this one."""
    remove_reader(line)
    on_command(Command.STOP)
