"""How much memory a process and everything it started take at their worst."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

EVERY_S = 0.02
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def family(pid: int) -> Iterator[int]:
    """The process and its descendants, as far as they are alive."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield from family(int(child))


def resident(pid: int) -> int:
    """Bytes of the whole family; what two of them share is counted twice."""
    total = 0
    with contextlib.suppress(OSError):
        for member in family(pid):
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * PAGE_BYTES
    return total


class Peak:
    """The most that was seen while the block lasted, looked at every 20 ms."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self.bytes = 0

    def _watch(self) -> None:
        while not self._over.is_set():
            self.bytes = max(self.bytes, resident(self._pid))
            time.sleep(EVERY_S)

    def __enter__(self) -> Peak:
        self._watcher.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._watcher.join()
