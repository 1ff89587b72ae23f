"""What goes wrong, as problem+json (RFC 9457) or as a page: one table from exceptions to status and code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from orbweb import errors
from orbweb.app.jobs.remote import for_clients
from orbweb.app.jobs.service import ActiveCrawl, CrawlRefused, NothingQueued, NothingToResume

MEDIA_TYPE = "application/problem+json"

# The first class that matches counts.
_TABLE: tuple[tuple[type[errors.OrbwebError], int, str], ...] = (
    (errors.UnknownProject, 404, "unknown_project"),
    (ActiveCrawl, 409, "crawl_active"),
    (NothingToResume, 409, "nothing_to_resume"),
    (NothingQueued, 409, "nothing_queued"),
    (CrawlRefused, 409, "crawl_refused"),
    (errors.UnknownId, 404, "unknown_id"),
    (errors.NothingToDo, 409, "nothing_to_do"),
    (errors.NotTrusted, 403, "not_trusted"),
    (errors.ConfigError, 422, "invalid_setting"),
    (errors.NewerWorkspace, 503, "newer_workspace"),
    (errors.UsageError, 422, "invalid_request"),
    (errors.NoPage, 409, "no_page"),
    (errors.Busy, 409, "busy"),
    (errors.DiskFull, 507, "disk_full"),
    (errors.CorruptBody, 500, "corrupt_body"),
    (errors.StoreError, 500, "store_error"),
    (errors.OrbwebError, 500, "internal_error"),
)
CODES = {code: status for _, status, code in _TABLE}
"""The codes of exceptions, and their status."""


_WORKSPACE: ContextVar[Path] = ContextVar("workspace")


@contextmanager
def serving(workspace: Path) -> Iterator[None]:
    """Problems within the block do not name the path of this workspace."""
    token = _WORKSPACE.set(workspace)
    try:
        yield
    finally:
        _WORKSPACE.reset(token)


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong. `more` are further members, such as the id of a crawl that is in the way."""

    status: int
    code: str
    detail: str
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return HTTPStatus(self.status).phrase

    def report(self) -> dict[str, Any]:
        named = {"type": f"urn:orbweb:problem:{self.code}", "title": self.title, "status": self.status}
        return {**named, "code": self.code, "detail": self.detail, **self.more}


class ProblemRaised(Exception):
    """Raised by a route that answers with a problem."""

    def __init__(self, status: int, code: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.problem = Problem(status, code, detail, more)


def problem_of(error: errors.OrbwebError) -> Problem:
    status, code = next((status, code) for kind, status, code in _TABLE if isinstance(error, kind))
    more = {"crawlID": error.crawl_id, "jobID": error.job_id} if isinstance(error, ActiveCrawl) else {}
    detail = error.brief if isinstance(error, errors.UnknownProject) else str(error)
    return Problem(status, code, for_clients(detail, _WORKSPACE.get()), more)
