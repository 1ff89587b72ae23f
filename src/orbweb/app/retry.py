"""The verb `retry`: failed URLs are queued again."""

from __future__ import annotations

from collections.abc import Sequence

from orbweb.app import build
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.failures import failed_ids
from orbweb.app.request import Request, configure
from orbweb.errors import UsageError, option
from orbweb.model import FailKind
from orbweb.store import runs


def retry(workspace: OpenWorkspace, project: str, kinds: Sequence[str], host: str | None = None) -> int:
    """Queue failed URLs again, all or those of some kinds or of a host; how many.

    The output files are brought up to date first: a retried visit is deleted, and its row could not be written
    later.
    """
    for kind in kinds:
        if kind not in list(FailKind):
            raise UsageError(
                f"{option('kind')}: unknown kind of failure {kind!r}; choose one of {', '.join(FailKind)}"
            )
    known = runs.project(workspace.db, project)
    with workspace.own(known.name):
        build.catch_up(workspace, known, configure(known, Request())[0])
        runs.settle_crashed(workspace.db, known.id, now_us())
        run = runs.run_of(workspace.db, known, None)
        if len(kinds) <= 1 and host is None:
            return runs.retry(workspace.db, run, kinds[0] if kinds else None, now_us())
        return runs.retry_urls(workspace.db, run, failed_ids(workspace, run, kinds, host), now_us())
