"""What the policy says about URLs, before anything is crawled.

Judges them in the order given, as if a page of the scope linked to each: those that are allowed are counted, so
caps count down. Always holds: the judge is the very `Policy` that a crawl has. Without `policy.hosts` every host
is in the scope, for there are no base URLs here. Never asks the network and keeps nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from orbweb import urls
from orbweb.app import Request
from orbweb.app.directory import CONFIG_FILE
from orbweb.app.request import configure
from orbweb.app.settings import policy_rules, url_rules
from orbweb.errors import UsageError
from orbweb.frontier import seeds
from orbweb.policy.rules import ANY_HOST, Candidate, Policy
from orbweb.store import workspace_files
from orbweb.urls import UrlRules

Report = dict[str, Any]

EXPECTED = re.compile(r"(allow|deny)\s+(\S.*)")


class Asked(NamedTuple):
    """A URL, where it stands if in a file, and what is said there that its verdict must be."""

    url: str
    where: str | None = None
    expected: str | None = None


def read_urls(path: Path) -> Iterator[Asked]:
    """The URLs of a file, one a line, each alone or after `allow` or `deny`."""
    for number, text in seeds.lines(path):
        said = EXPECTED.fullmatch(text)
        expected, url = (said[1], said[2]) if said else (None, text)
        yield Asked(url, f"{path}, line {number}", expected)


def validate(request: Request, given: Sequence[str], file: Path | None, *, beside: Path) -> list[Report]:
    """The verdict on each URL, in order: first those of the file, then those given.

    By the settings of the workspace at `beside`, which need not exist, if the request names none.
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
    asked = [*(read_urls(file) if file is not None else ()), *map(Asked, given)]
    if not asked:
        raise UsageError("give URLs to judge, or a file of them: --urls FILE")
    return list(_rulings(Policy(rules, ()), url_rules(config), asked))


def _rulings(policy: Policy, rules: UrlRules, asked: Iterable[Asked]) -> Iterator[Report]:
    known: dict[str, Report] = {}
    for each in asked:
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
