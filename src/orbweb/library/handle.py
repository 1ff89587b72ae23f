"""The path of a workspace, and what its verbs share: how it is opened, and who looks at the progress.

Always holds: each call opens and closes the workspace for itself, so any thread may call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orbweb.app.control import Workspace as Directory
from orbweb.app.control import opened
from orbweb.errors import UsageError
from orbweb.events import Reading, Snapshot


@dataclass(frozen=True, slots=True)
class Handle:
    """A workspace by its path."""

    path: Path

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[Directory]:
        with opened(self.path, create=create) as directory:
            yield directory


def check_thread() -> None:
    """UsageError if an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        "an event loop is running in this thread, and a crawl needs its own: use Workspace.start, or await "
        "asyncio.to_thread(orbweb.crawl, ...)"
    )


def unread(_now: Reading) -> None:
    """Nobody looks at the progress."""


def unwatched(_now: Snapshot) -> None:
    """Nobody looks at the progress."""


def uncounted(_done: int, _total: int) -> None:
    """Nobody looks at the progress."""
