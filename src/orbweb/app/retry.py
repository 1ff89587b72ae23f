"""The verb `retry`: failed URLs are queued again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orbweb.app import build
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.failures import failed_ids
from orbweb.app.reports import target_of
from orbweb.app.request import Request, configure
from orbweb.errors import NothingToDo, UsageError, option
from orbweb.model import FailKind
from orbweb.store import runs
from orbweb.store.runs import Run


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
    with _owned(workspace, project) as run:
        if len(kinds) <= 1 and host is None:
            return runs.retry(workspace.db, run, kinds[0] if kinds else None, now_us())
        return runs.retry_urls(workspace.db, run, failed_ids(workspace, run, kinds, host), now_us())


def retry_url(workspace: OpenWorkspace, project: str, url: str) -> int:
    """Queue one failed URL again. NothingToDo if it did not fail."""
    target = target_of(workspace, project, url)
    with _owned(workspace, project) as run:
        found = runs.known_url(workspace.db, run.id, target.key) if target else None
        if found is None or found.id not in failed_ids(workspace, run, (), None):
            raise NothingToDo(f"{url} has not failed in run {run.number}")
        return runs.retry_urls(workspace.db, run, [found.id], now_us())


@contextmanager
def _owned(workspace: OpenWorkspace, project: str) -> Iterator[Run]:
    """The latest run, locked, with its output files up to date."""
    known = runs.project(workspace.db, project)
    with workspace.own(known.name):
        build.catch_up(workspace, known, configure(known, Request())[0])
        runs.settle_crashed(workspace.db, known.id, now_us())
        yield runs.run_of(workspace.db, known, None)
