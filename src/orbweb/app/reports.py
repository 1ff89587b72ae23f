"""The verbs that report what a workspace holds: projects, runs, URLs, pages and their documents.

None of them changes the crawled data; the search index is built from it. Settings are imported only where a report
needs the URL rules of a project, so that `status` starts fast.
"""

from __future__ import annotations

from collections.abc import Iterator

from orbweb import urls
from orbweb.app import javascript
from orbweb.app.callbacks import Count
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.live_progress import read_progress
from orbweb.app.results.record import plain
from orbweb.errors import NothingToDo, UsageError, option
from orbweb.events import Snapshot
from orbweb.model import Document
from orbweb.parsing.http_heads import Exchange
from orbweb.store import alternates, documents, heads
from orbweb.store import runs as store_runs
from orbweb.store.documents import Captured
from orbweb.store.queries import reports, vanished
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Run
from orbweb.urls import Target

PAGE_ORDERS = ("place", "url", "title", "words", "tokens", "bytes", "depth")


def projects(workspace: OpenWorkspace) -> list[str]:
    """The names of all projects."""
    return [project.name for project in store_runs.projects(workspace.db)]


def status(workspace: OpenWorkspace, project: str, stored: Report | None = None) -> Report:
    """The latest run of a project, and the process that works on it. `stored`: what the workspace holds, if
    that is known."""
    found = store_runs.project(workspace.db, project)
    pid = workspace.owner(project)
    report: Report = {"project": found.name, "running": pid is not None, "pid": pid, "run": None}
    held_by = workspace.control(project).hold_reason() if pid is not None else None
    report.update(held=held_by is not None, held_by=held_by, role=workspace.role_of(project))
    at_work = snapshot(workspace, project)
    report["in_progress"] = [] if at_work is None else [plain(each) for each in at_work.in_progress]
    report["spool"] = workspace.spool(project)
    report["stored"] = stored or workspace.stored()
    latest = store_runs.latest_run(workspace.db, found.id)
    if latest is not None:
        report.update(reports.run_report(workspace.db, latest, alive=pid is not None))
        report["needs_javascript"] = javascript.shells(workspace, latest.id)
    return report


def snapshot(workspace: OpenWorkspace, project: str) -> Snapshot | None:
    """The latest snapshot of the crawl of a project, whichever process it runs in; None if none is running."""
    found, pid = store_runs.project(workspace.db, project), workspace.owner(project)
    latest = store_runs.latest_run(workspace.db, found.id) if pid is not None else None
    crawls = store_runs.crawls_of(workspace.db, latest.id) if latest is not None else []
    if pid is None or not crawls:
        return None
    return read_progress(workspace.control(project), owner=pid, crawl_id=crawls[-1].id, now=now_us())


def statuses(workspace: OpenWorkspace) -> list[Report]:
    stored = workspace.stored()
    return [status(workspace, name, stored) for name in projects(workspace)]


def runs(workspace: OpenWorkspace, project: str) -> list[Report]:
    found = store_runs.project(workspace.db, project)
    alive = workspace.owner(project) is not None
    return [
        reports.run_report(workspace.db, run, alive=alive) for run in store_runs.runs_of(workspace.db, found.id)
    ]


def queue(workspace: OpenWorkspace, project: str) -> Report:
    return reports.queue(workspace.db, workspace.run(project), alive=workspace.owner(project) is not None)


def pages(
    workspace: OpenWorkspace,
    project: str,
    number: int | None,
    *,
    match: str | None = None,
    sort: str = "place",
    limit: int | None = None,
) -> list[Report]:
    """The unique pages of a run, those whose URL matches, at most `limit`."""
    if sort not in PAGE_ORDERS:
        raise UsageError(f"{option('sort')}: {sort!r} is not an order; choose {', '.join(PAGE_ORDERS)}")
    if limit is not None and limit < 1:
        raise UsageError(f"{option('limit')}: {limit} is not a number of pages")
    found = reports.pages(workspace.db, workspace.run(project, number).id)
    if match is not None:
        from orbweb.policy import patterns

        finds = patterns.finder(option("match"), match)
        found = [page for page in found if finds(page["url"])]
    return javascript.mark(workspace, _sorted(found, sort)[:limit])


def _sorted(found: list[Report], order: str) -> list[Report]:
    """Pages by one field; the largest first, and texts without a value last."""
    if order == "place":
        return found
    if order in ("words", "tokens", "bytes"):
        return sorted(found, key=lambda page: -(page[order] or 0))
    if order == "depth":
        return sorted(found, key=lambda page: page["depth"])
    return sorted(found, key=lambda page: (not page[order], (page[order] or "").casefold()))


def gone(workspace: OpenWorkspace, project: str, number: int | None) -> list[Report]:
    """The pages that have vanished, as seen from a run."""
    return list(vanished.tombstones(workspace.db, workspace.run(project, number)))


def near_duplicates(
    workspace: OpenWorkspace, project: str, number: int | None, *, within: int
) -> list[list[Report]]:
    """Groups of pages whose fingerprints are linked by steps of at most `within` bits."""
    from orbweb.extraction import simhash

    with_words = [page for page in pages(workspace, project, number) if page["words"]]
    groups = simhash.groups([int(page["simhash"], 16) for page in with_words], within)
    return [[with_words[at] for at in group] for group in groups if len(group) > 1]


def captured(workspace: OpenWorkspace, project: str, number: int | None) -> Iterator[Captured]:
    """The pages of a run with their documents, in order."""
    return documents.captured(workspace.db, workspace.run(project, number).id)


def diff(workspace: OpenWorkspace, project: str, old: int | None, new: int | None, *, keep_noise: bool) -> Report:
    """How two runs differ: the latest and the one before it, unless others are named."""
    from orbweb.store.queries.diff import Comparison

    latest = workspace.run(project, new)
    earlier = store_runs.run_before(workspace.db, latest) if old is None else workspace.run(project, old)
    if earlier is None:
        raise NothingToDo(
            f"project {project!r} has no run before run {latest.number}; there is nothing to compare it with"
        )
    found = Comparison(workspace.db, earlier, latest, keep_noise=keep_noise).report()
    return {"project": project, "old": earlier.number, "new": latest.number, **found}


def page_index(workspace: OpenWorkspace, project: str, number: int | None) -> Iterator[Report]:
    """The validators and hashes of each URL that was fetched in a run, in order."""
    from orbweb.store.queries import page_index

    run = workspace.run(project, number)
    return (entry for _, entry in page_index.entries(workspace.db, run.id, workspace.paths.store))


def search(
    workspace: OpenWorkspace, project: str, query: str, number: int | None, *, limit: int, on_progress: Count
) -> list[Report]:
    """The pages of a run that match, best first. `on_progress` reports indexing."""
    if limit < 1:
        raise UsageError(f"{option('limit')}: {limit} is not a number of results")
    return workspace.search(workspace.run(project, number), query, limit, on_progress)


def manifest(workspace: OpenWorkspace, project: str, number: int | None) -> Iterator[str]:
    return reports.manifest(workspace.db, workspace.run(project, number).id)


def manifest_hash(workspace: OpenWorkspace, project: str, number: int | None) -> str:
    return reports.manifest_hash(workspace.db, workspace.run(project, number).id)


def show(
    workspace: OpenWorkspace, project: str, url: str, number: int | None, *, others: bool = True
) -> Report | None:
    """What is known about a URL, or None if the run has never seen it."""
    target = target_of(workspace, project, url)
    if target is None:
        raise UsageError(f"{url!r} is not an http(s) URL")
    run = workspace.run(project, number)
    report = reports.url_report(workspace.db, run.id, target.key, others=others)
    if report is None:
        return None
    page = report["document"] and {**report["document"], "body_sha256": report.get("body_sha256")}
    why = javascript.evidence(workspace, page) if page else None
    return {**report, "needs_javascript": why, "gone": vanished.since(workspace.db, run, target.key)}


def document(workspace: OpenWorkspace, project: str, url: str, number: int | None) -> Document | None:
    """The document of a page, also by an alternate or a URL that redirects to it. None if there is no page."""
    run = workspace.run(project, number)
    url_id = _url_id(workspace, run, target_of(workspace, project, url))
    if url_id is None:
        return None
    kept = documents.of_url(workspace.db, run.id, alternates.end_of(workspace.db, run.id, url_id))
    return kept.document if kept else None


def head(workspace: OpenWorkspace, project: str, url: str, number: int | None) -> Exchange | None:
    """The heads of the request and of the response; None if none are stored."""
    run = workspace.run(project, number)
    url_id = _url_id(workspace, run, target_of(workspace, project, url))
    return heads.of_url(workspace.db, run.id, url_id) if url_id is not None else None


def target_of(workspace: OpenWorkspace, project: str, url: str) -> Target | None:
    """A URL by the URL rules of the project."""
    from orbweb.app.request import Request, configure
    from orbweb.app.settings import url_rules

    config, _ = configure(store_runs.project(workspace.db, project), Request())
    return urls.target(url, rules=url_rules(config))


def _url_id(workspace: OpenWorkspace, run: Run, target: Target | None) -> int | None:
    known = store_runs.known_url(workspace.db, run.id, target.key) if target else None
    return known.id if known else None
