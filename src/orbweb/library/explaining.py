"""Why a URL is where it is; for one that the run never saw, what the rules would say now."""

from __future__ import annotations

from collections.abc import Sequence

from orbweb.app import Request
from orbweb.app.control import Workspace as Directory
from orbweb.app.judging import policy_of, robots_refusal
from orbweb.app.request import configure
from orbweb.app.settings import policy_rules, url_rules
from orbweb.errors import UsageError
from orbweb.model import SkipReason, Verdict
from orbweb.policy.rules import Candidate, Policy
from orbweb.store import runs
from orbweb.store.queries import explain, vanished
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Base, Project, Run
from orbweb.urls import target


def explained(opened: Directory, owner: Project, run: Run, url: str) -> Report:
    config, _ = configure(owner, Request())
    asked = target(url, rules=url_rules(config))
    if asked is None:
        raise UsageError(f"{url!r} is not an http(s) URL")
    report = explain.known(opened.db, run.id, asked.key)
    if report is None:
        bases = runs.bases_of(opened.db, run.id)
        policy = policy_of(opened, policy_rules(config), run, bases)
        verdict = _verdict_now(policy, bases, asked.key)
        line = None if verdict.reason else robots_refusal(opened, config, asked.url)
        if line is not None:
            verdict = verdict._replace(reason=SkipReason.ROBOTS, rule=line)
        report = explain.unseen(asked.key, asked.url, verdict, bases[verdict.base])
    since = vanished.since(opened.db, run, asked.key)
    return {"project": owner.name, "run": run.number, "asked": asked.url, **report, "gone": since}


def _verdict_now(policy: Policy, bases: Sequence[Base], key: str) -> Verdict:
    """The verdict if the first base URL linked to it: the best path it could have."""
    limit = policy.rules.page_limit
    for base in bases:
        if limit is not None and base.pages >= limit:
            policy.fill(base.number)
    return policy.judge(Candidate(key, depth=1, hops=0, base=bases[0].number))
