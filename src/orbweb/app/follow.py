"""The verbs that follow a crawl: its state and the visits since the last look, and the shares of its queue."""

from __future__ import annotations

from orbweb.app import overview
from orbweb.app.directory import OpenWorkspace
from orbweb.app.reports import snapshot
from orbweb.app.results.live import FollowedRun, FollowedVisit, NextUrl, QueueShares
from orbweb.app.results.record import record
from orbweb.app.results.runs import CrawlSummary, RunOutline
from orbweb.model import Reuse
from orbweb.store import runs
from orbweb.store.queries import live, reports

HEAD = 64
HOSTS = 50
_SECOND = 1_000_000


def follow(workspace: OpenWorkspace, project: str, after: int, limit: int) -> FollowedRun:
    outline = record(RunOutline, overview.outline(workspace, project, None))
    if outline.run is None:
        return FollowedRun(outline, None, None, (), ())
    run, alive = workspace.run(project), workspace.owner(project) is not None
    crawls = runs.crawls_of(workspace.db, run.id)
    found = reports.crawl_report(crawls[-1], alive=alive, failed=bool(crawls[-1].failed)) if crawls else None
    return FollowedRun(
        outline,
        snapshot(workspace, project),
        record(CrawlSummary, found) if found is not None else None,
        tuple(_visit(row) for row in live.visits_after(workspace.db, run.id, after, limit)),
        tuple(NextUrl(*each) for each in live.head(workspace.db, run.id, HEAD)),
    )


def _visit(row: live.VisitRow) -> FollowedVisit:
    number, url, status, kind, error, latency_ms, at, reuse = row
    return FollowedVisit(number, url, status, kind, error, latency_ms, at / _SECOND, reuse == Reuse.CACHED)


def queue_shares(workspace: OpenWorkspace, project: str) -> QueueShares:
    run = workspace.run(project)
    return QueueShares(run.number, *live.shares(workspace.db, run.id, HOSTS))
