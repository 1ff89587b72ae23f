"""A process beside this one. It stops when this process stops, fails or is killed: it watches one end of a pipe of
which only this process has the other.
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
SIGNALS = {
    Command.STOP: signal.SIGTERM,
    Command.STOP_NOW: signal.SIGTERM,
    Command.RELOAD: signal.SIGHUP,
    Command.REPORT: signal.SIGUSR1,
}
INTERNAL_ERROR = 1
EXPECTED = range(7)


class ChildProcess:
    """A running command; `on_line` is called with each line of its standard error."""

    def __init__(self, words: Sequence[str], on_line: Callable[[str], None]) -> None:
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
            threading.Thread(target=self._listen, args=(on_line,), daemon=True),
            threading.Thread(target=self._keep, daemon=True),
        ]
        for listener in self._listeners:
            listener.start()

    def _listen(self, on_line: Callable[[str], None]) -> None:
        for line in self._process.stderr or ():
            on_line(line.decode("utf-8", "replace").rstrip())

    def _keep(self) -> None:
        self._out.extend(self._process.stdout or ())

    def begins(self, has_begun: Callable[[], bool]) -> bool:
        """Wait until it has begun its work; False if it failed before."""
        deadline = time.monotonic() + BEGINS_S
        while self._process.poll() is None and time.monotonic() < deadline:
            if has_begun():
                return True
            time.sleep(LOOK_S)
        return self._process.poll() in (None, 0, 3, 4, 6)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def send(self, command: Command) -> None:
        """Pass a command on, as a signal."""
        if command in SIGNALS and self._process.poll() is None:
            self._process.send_signal(SIGNALS[command])

    @property
    def exit_code(self) -> int:
        """The exit code of the command; an internal error if it was killed or ended in an unexpected way."""
        code = self._process.returncode
        return code if code in EXPECTED else INTERNAL_ERROR

    @property
    def report(self) -> dict[str, Any] | None:
        """The last JSON object that it printed."""
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
        """Stop it and wait for its end."""
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
