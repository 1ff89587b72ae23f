"""Runs in a few numbers: from tallies at once, or by one pass over the rows of a run."""

from __future__ import annotations

from typing import Any

from orbweb.lifecycle import ItemState
from orbweb.model import Role
from orbweb.store import Queries
from orbweb.store.queries import base_outcomes, catalog, reports
from orbweb.store.rows import moment
from orbweb.store.runs import Run, bases_of, crawls_of

Report = dict[str, Any]


def outline(db: Queries, run: Run | None, *, alive: bool) -> Report:
    """A run from tallies alone: no row of a URL or a visit is read."""
    if run is None:
        nothing: Report = {"run": None, "state": None, "skipped": {}, "mark": ""}
        return {**nothing, **dict.fromkeys(("visited", "failed", "queued", "pages"), 0)}
    tallies = {(state, reason): count for state, reason, count in db.all("tallies_of", run_id=run.id)}
    return {
        "run": run.number,
        "state": reports.state_of(run, alive=alive).value,
        "visited": tallies.get((ItemState.VISITED, ""), 0),
        "failed": tallies.get((ItemState.FAILED, ""), 0),
        "queued": tallies.get((ItemState.QUEUED, ""), 0),
        "skipped": {reason: count for (state, reason), count in tallies.items() if state == ItemState.SKIPPED},
        "pages": sum(base.pages for base in bases_of(db, run.id)),
        "mark": " ".join(map(str, (run.id, *catalog.mark(db, run.id)))),
    }


def history(db: Queries, run: Run, *, alive: bool) -> Report:
    """A run with its crawls and base URLs, in a time that does not grow with it."""
    found, crawls = outline(db, run, alive=alive), crawls_of(db, run.id)
    problems = base_outcomes.problems(base_outcomes.base_outcomes(db, run.id), found=found["pages"])
    bases = [
        {"url": base.url, "scope": base.scope_key, "pages": base.pages, "problem": problems.get(base.number)}
        for base in bases_of(db, run.id)
    ]
    ended_badly = reports.has_errors(found, bases)
    return {
        **found,
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "active_at": moment(max((crawl.updated_at for crawl in crawls), default=run.started_at)),
        "seconds": round(sum(crawl.updated_at - crawl.started_at for crawl in crawls) / 1_000_000, 3),
        "bytes": sum(crawl.bytes for crawl in crawls),
        "bases": bases,
        "crawls": [
            reports.crawl_report(
                crawl, alive=alive, failed=bool(crawl.failed) or (crawl is crawls[-1] and ended_badly)
            )
            for crawl in crawls
        ],
    }


def alternates(db: Queries, run_id: int) -> int:
    """The alternates of a run, by a pass over its visits."""
    return int(db.value("count_alternates", run_id=run_id))


def totals(db: Queries, run: Run) -> Report:
    """What no tally counts, by a pass over the rows of a run."""
    numbers = {base.number: base.url for base in bases_of(db, run.id)}
    roles: dict[str, int] = dict(db.all("count_roles", run_id=run.id))
    return {
        "run": run.number,
        "alternates": roles.get(Role.ALTERNATE, 0),
        **reports.tokens(db, run.id),
        "bases": {
            numbers[base]: {"alternates": alternates, "queued": queued}
            for base, alternates, queued in _by_base(db, run.id)
            if base in numbers
        },
        "rules": [
            {"reason": reason, "rule": rule, "count": count}
            for reason, rule, count in db.all("main_skip_rules", run_id=run.id)
        ],
    }


def _by_base(db: Queries, run_id: int) -> list[tuple[int, int, int]]:
    alternates: dict[int, int] = dict(db.all("alternates_by_base", run_id=run_id))
    queued: dict[int, int] = dict(db.all("queued_by_base", run_id=run_id))
    return [(base, alternates.get(base, 0), queued.get(base, 0)) for base in sorted({*alternates, *queued})]
