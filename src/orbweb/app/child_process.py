"""A process beside this one, for as long as this one needs it.

Owns its start, its words and its end. Always holds: it is told to stop when this process stops, fails or is killed
(it holds the end of a pipe that only this process has open), and what it says is passed on line by line. Never
restarts it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from orbweb.engine.control import LIFELINE, Command

BEGINS_S = 60.0
ENDS_S = 60.0
LOOK_S = 0.02
TOLD = {
    Command.STOP: signal.SIGTERM,
    Command.STOP_NOW: signal.SIGTERM,
    Command.RELOAD: signal.SIGHUP,
    Command.REPORT: signal.SIGUSR1,
}
OUR_FAULT = 1
EXPECTED = range(6)


class ChildProcess:
    """A command that was started; `say` is told the lines of its standard error."""

    def __init__(self, words: Sequence[str], say: Callable[[str], None]) -> None:
        end, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, LIFELINE: str(end)},
                pass_fds=(end,),
                start_new_session=True,
            )
        finally:
            os.close(end)
        self._out: list[bytes] = []
        self._listeners = [
            threading.Thread(target=self._listen, args=(say,), daemon=True),
            threading.Thread(target=self._keep, daemon=True),
        ]
        for listener in self._listeners:
            listener.start()

    def _listen(self, say: Callable[[str], None]) -> None:
        for line in self._process.stderr or ():
            say(line.decode("utf-8", "replace").rstrip())

    def _keep(self) -> None:
        self._out.extend(self._process.stdout or ())

    def begins(self, at_work: Callable[[], bool]) -> bool:
        """Wait until it is at work, or was; False if it ended before, and not well."""
        deadline = time.monotonic() + BEGINS_S
        while self._process.poll() is None and time.monotonic() < deadline:
            if at_work():
                return True
            time.sleep(LOOK_S)
        return self._process.poll() in (None, 0, 3, 4)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def tell(self, command: Command) -> None:
        """Pass a command on."""
        if command in TOLD and self._process.poll() is None:
            self._process.send_signal(TOLD[command])

    @property
    def exit_code(self) -> int:
        """That of the command; one that was killed, or ended in no way we know, is our fault."""
        code = self._process.returncode
        return code if code in EXPECTED else OUR_FAULT

    @property
    def report(self) -> dict[str, Any] | None:
        """The JSON object it printed last."""
        try:
            found = json.loads(self._out[-1])
        except (IndexError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for its end, asked for or not."""
        os.close(self._lifeline)
        try:
            self._process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for listener in self._listeners:
            listener.join()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
