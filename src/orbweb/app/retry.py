"""The verb `retry`: failed URLs are queued again."""

from __future__ import annotations

from orbweb.app import build
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.request import Request, configure
from orbweb.errors import UsageError, option
from orbweb.model import FailKind
from orbweb.store import runs


def retry(workspace: OpenWorkspace, project: str, kind: str | None) -> int:
    """Queue failed URLs again, all or those of a kind; how many.

    The output files are brought up to date first: a retried visit is deleted, and its row could not be written
    later.
    """
    if kind is not None and kind not in list(FailKind):
        raise UsageError(
            f"{option('kind')}: unknown kind of failure {kind!r}; choose one of {', '.join(FailKind)}"
        )
    known = runs.project(workspace.db, project)
    with workspace.own(known.name):
        build.catch_up(workspace, known, configure(known, Request())[0])
        runs.settle_crashed(workspace.db, known.id, now_us())
        return runs.retry(workspace.db, runs.run_of(workspace.db, known, None), kind, now_us())
