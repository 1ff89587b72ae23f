"""Runs a command while processes burn processor time beside it: `python burners.py COMMAND...`; exits as it does.

Always: the burners end with this process, however it ends; the kernel sees to it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PR_SET_PDEATHSIG = 1


@contextmanager
def burning(count: int | None = None) -> Iterator[list[int]]:
    """The processes that burn, one for each core, by their ids."""
    burners = [_burner() for _ in range(count or os.cpu_count() or 2)]
    try:
        yield burners
    finally:
        for burner in burners:
            os.kill(burner, signal.SIGKILL)
            os.waitpid(burner, 0)


def _burner() -> int:
    parent, child = os.getpid(), os.fork()
    if child:
        return child
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    while os.getppid() == parent:
        sum(range(100_000))
    os._exit(0)


def main(command: list[str]) -> int:
    with burning():
        return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
