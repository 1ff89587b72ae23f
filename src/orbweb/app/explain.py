"""The verb `explain`: why a URL was visited, skipped or failed; for one never seen, what the rules decide now."""

from __future__ import annotations

from collections.abc import Sequence

from orbweb import urls
from orbweb.app.directory import OpenWorkspace
from orbweb.app.request import Request, configure
from orbweb.app.rules import policy_of, robots_refusal, stored_robots
from orbweb.app.settings import policy_rules, url_rules
from orbweb.errors import UsageError
from orbweb.model import SkipReason, Verdict
from orbweb.policy.rules import Candidate, Policy
from orbweb.store import runs
from orbweb.store.queries import explain as queries
from orbweb.store.queries import vanished
from orbweb.store.queries.reports import Report
from orbweb.store.rows import moment
from orbweb.store.runs import Base


def explain(
    workspace: OpenWorkspace, project: str, url: str, number: int | None, *, referrers: bool = True
) -> Report:
    known = runs.project(workspace.db, project)
    run = runs.run_of(workspace.db, known, number)
    config, _ = configure(known, Request())
    target = urls.target(url, rules=url_rules(config))
    if target is None:
        raise UsageError(f"{url!r} is not an http(s) URL")
    report = queries.known(workspace.db, run.id, target.key, search=referrers)
    if report is None:
        bases = runs.bases_of(workspace.db, run.id)
        policy = policy_of(workspace, policy_rules(config), run, bases)
        verdict = _verdict_now(policy, bases, target.key)
        line = None if verdict.reason else robots_refusal(workspace, config, target.url)
        if line is not None:
            verdict = verdict._replace(reason=SkipReason.ROBOTS, rule=line)
        report = queries.unseen(target.key, target.url, verdict, bases[verdict.base])
    since = vanished.since(workspace.db, run, target.key)
    file = stored_robots(workspace, target.url) if report["reason"] == SkipReason.ROBOTS else None
    robots_at = moment(file.fetched_at) if file else None
    asked = {"project": project, "run": run.number, "asked": target.url}
    return {**asked, **report, "robots_at": robots_at, "gone": since}


def _verdict_now(policy: Policy, bases: Sequence[Base], key: str) -> Verdict:
    """The verdict if the first base URL linked to it: the best path it could have."""
    limit = policy.rules.page_limit
    for base in bases:
        if limit is not None and base.pages >= limit:
            policy.fill(base.number)
    return policy.judge(Candidate(key, depth=1, hops=0, base=bases[0].number))
