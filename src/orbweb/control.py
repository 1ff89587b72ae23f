"""Telling a running crawl what to do: signals and control files become one Command type.

`orbweb pause PROJECT` writes `control/PROJECT.pause` in the workspace; the owner of the project looks for
it several times a second. Files named `pause` and `stop` at the top of the workspace speak to every crawl
in it. A `stop` left over from an earlier crawl is removed at the start, with a note. Only a crawl imports the
event loop: who merely writes a file should not wait for it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path


class Command(StrEnum):
    """What a crawl can be told."""

    PAUSE = "pause"
    UNPAUSE = "unpause"
    STOP = "stop"
    STOP_NOW = "stop_now"
    FINISH = "finish"
    RULES = "rules"


class ControlFiles:
    """The control files of one project."""

    def __init__(self, workspace: Path, project: str) -> None:
        self._top = workspace
        self._directory = workspace / "control"
        self._project = project

    def _file(self, command: Command) -> Path:
        return self._directory / f"{self._project}.{command.value}"

    def write(self, command: Command) -> None:
        """Ask the owner of the project."""
        if command is Command.UNPAUSE:
            self._file(Command.PAUSE).unlink(missing_ok=True)
            return
        self._directory.mkdir(mode=0o700, exist_ok=True)
        self._file(command).touch(mode=0o600)

    def clear(self) -> list[Path]:
        """Remove what an earlier crawl left; the files that were there."""
        stale = [self._file(command) for command in Command if command not in (Command.UNPAUSE, Command.STOP_NOW)]
        found = [path for path in [*stale, self._top / "stop"] if path.exists()]
        for path in found:
            path.unlink(missing_ok=True)
        return found

    def paused(self) -> bool:
        return self._file(Command.PAUSE).exists() or (self._top / "pause").exists()

    def asked(self) -> Command | None:
        """FINISH, STOP, RULES, or nothing."""
        if self._file(Command.FINISH).exists():
            return Command.FINISH
        if self._file(Command.STOP).exists() or (self._top / "stop").exists():
            return Command.STOP
        return Command.RULES if self._file(Command.RULES).exists() else None

    def heeded(self, command: Command) -> None:
        """The owner does what was asked; whoever asks again means it again."""
        self._file(command).unlink(missing_ok=True)


@contextmanager
def signals(tell: Callable[[Command], None]) -> Iterator[None]:
    """SIGINT and SIGTERM stop; a second one stops at once. Afterwards they mean what they meant before.

    In another thread than the main one nothing is caught: there signals belong to the program around us.
    """
    from asyncio import get_running_loop

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = get_running_loop()
    told: list[int] = []

    def on_signal(number: int) -> None:
        tell(Command.STOP_NOW if told else Command.STOP)
        told.append(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
