"""Worker processes that turn bodies into pages: the pool, its wire format, and what is done to a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from orbweb.engine.workers.page import Job


class Pool(Protocol):
    """Takes jobs and reports the result of each once, in any order."""

    def submit(self, job: Job) -> None:
        """Process this body."""

    def close(self) -> None:
        """Stop; results that were not reported are dropped."""
