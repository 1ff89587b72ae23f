"""The verb `validate-policy`: the verdict of the policy on URLs, without crawling.

URLs are judged in order, as if a page in scope linked to each; allowed ones are counted, so caps count down.
Without `policy.hosts` every host is in scope, because there are no base URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from orbweb import urls
from orbweb.app.directory import CONFIG_FILE
from orbweb.app.request import Request, configure
from orbweb.app.settings import policy_rules, url_rules
from orbweb.errors import UsageError, option
from orbweb.frontier import seeds
from orbweb.policy.rules import ANY_HOST, Candidate, Policy
from orbweb.store import workspace_files
from orbweb.urls import UrlRules

Report = dict[str, Any]

EXPECTED = re.compile(r"(allow|deny)\s+(\S.*)")


class PolicyCase(NamedTuple):
    """A URL, its place in a file, and the verdict that the file expects."""

    url: str
    where: str | None = None
    expected: str | None = None


def read_urls(path: Path) -> Iterator[PolicyCase]:
    """The URLs of a file, one per line, each optionally after `allow` or `deny`."""
    for number, text in seeds.lines(path):
        match = EXPECTED.fullmatch(text)
        expected, url = (match[1], match[2]) if match else (None, text)
        yield PolicyCase(url, f"{path}, line {number}", expected)


def validate(request: Request, given: Sequence[str], file: Path | None, *, beside: Path) -> list[Report]:
    """The verdict on each URL, in order: first those of the file, then those given.

    If the request names no settings, those of the workspace at `beside` are used, if it has any.
    """
    own, is_there = (
        beside / CONFIG_FILE,
        beside.is_dir() and workspace_files.check(beside, CONFIG_FILE, writes=False),
    )
    if request.config_file is None and not request.settings and is_there:
        request = replace(request, config_file=own)
    config, _ = configure(None, request)
    rules = policy_rules(config)
    if not rules.hosts:
        rules = replace(rules, hosts=(ANY_HOST,))
    cases = [*(read_urls(file) if file is not None else ()), *map(PolicyCase, given)]
    if not cases:
        raise UsageError(f"give URLs to judge, or a file of them: {option('file', 'FILE')}")
    return list(_rulings(Policy(rules, ()), url_rules(config), cases))


def _rulings(policy: Policy, rules: UrlRules, cases: Iterable[PolicyCase]) -> Iterator[Report]:
    known: dict[str, Report] = {}
    for each in cases:
        target = urls.target(each.url, rules=rules)
        if target is None:
            place = f"{each.where}: " if each.where else ""
            raise UsageError(f"{place}{each.url!r} is not an http(s) URL")
        if target.key not in known:
            known[target.key] = _ruling(policy, target.key)
        ruling = known[target.key]
        wrong = each.expected is not None and each.expected != ruling["verdict"]
        yield {"url": each.url, **ruling, "expected": each.expected, "where": each.where, "wrong": wrong}


def _ruling(policy: Policy, key: str) -> Report:
    verdict = policy.judge(Candidate(key, depth=1, hops=0, base=0))
    if verdict.reason is None:
        policy.admit(key)
    return {
        "key": key,
        "verdict": "deny" if verdict.reason else "allow",
        "reason": verdict.reason.value if verdict.reason else None,
        "rule": verdict.rule,
        "page_type": policy.page_type(key),
        "score": policy.score(key),
        "groups": [{"group": room.group, "name": room.member, "left": room.left} for room in policy.rooms(key)],
    }
