"""Rules, verdicts and plans as text. Pure."""

from __future__ import annotations

from typing import Any

from orbweb.cli.output.format import Report, many, span, words

PLANNED_FILES = 20
RULE_SHOWN = 120


def plan_text(report: Report) -> str:
    """What a person reads before a crawl."""
    lines = []
    for base in report["bases"]:
        lines.append(f"{base['url']}: {base['problem'] or 'can be crawled'}")
        lines.append(f"  scope: {base['scope']}")
        asked_at = f" (requested {base['robots_at']})" if base["robots_at"] else ""
        lines.append(f"  robots.txt: {base['robots']}{asked_at}")
        gap = base["seconds_apart"]
        lines.append(f"  rate: {f'one request every {gap:g} s' if gap else 'no limit'} ({base['rate_rule']})")
        if not base["follows_links"]:
            lines.append("  links: not followed, sitemaps decide (sitemap.mode)")
    files = report["sitemaps"]
    lines.append(f"sitemaps: {many(sum(file['urls'] for file in files), 'URL')} in {many(len(files), 'file')}")
    lines += [f"  {file['url']}: {many(file['urls'], 'URL')}" for file in files[:PLANNED_FILES]]
    if len(files) > PLANNED_FILES:
        lines.append(f"  and {len(files) - PLANNED_FILES} more")
    sources = ", ".join(f"{source} {number}" for source, number in sorted(report["by_source"].items()))
    shown = f" ({sources})" if sources else ""
    lines.append(f"known so far: {many(report['would_visit'], 'more URL')} would be visited{shown}")
    lines += [f"  {url}" for url in report["examples"]]
    for reason, refused in sorted(report["would_skip"].items()):
        lines.append(f"{refused['count']} would be skipped ({words(reason)})")
        lines += [f"  {each['url']} ({each['rule']})" for each in refused["examples"]]
    lines.append(f"minimum duration of these: {span(report['at_least_s'])}")
    return "\n".join(lines)


def replan_text(report: Report) -> str:
    """What a recrawl of a project would visit."""
    would = many(report["would_visit"], "URL")
    lines = [f"{report['project']}: {would} would be visited, according to run {report['run']}"]
    lines += [
        f"  {base['url']}: {base['problem'] or many(base['pages'], 'page')}, {base['pages_before']} before"
        for base in report["bases"]
    ]
    for name, what in (
        ("newly_admitted", "newly visited"),
        ("unknown", "never requested, so their links are unknown"),
    ):
        lines.append(f"{report[name]['count']} {what}")
        lines += [f"  {url}" for url in report[name]["examples"]]
    lost = report["newly_refused"]
    reasons = ", ".join(f"{number} {words(reason)}" for reason, number in sorted(lost["by_reason"].items()))
    lines.append(f"{lost['count']} no longer visited" + (f" ({reasons})" if reasons else ""))
    lines += [f"  {each['url']} ({each['rule'] or each['reason']})" for each in lost["examples"]]
    for reason, refused in sorted(report["would_skip"].items()):
        lines.append(f"{refused['count']} would be skipped ({words(reason)})")
        lines += [f"  {each['url']} ({each['rule']})" for each in refused["examples"]]
    return "\n".join(lines)


def rules_text(report: Report) -> str:
    """The rules of a project, and what they have just changed."""
    lines = [f"  {key}: {_setting(value)}" for key, value in report["rules"].items()]
    changes = (("came_back", "queued again"), ("skipped", "skipped"))
    for name, what in changes:
        reasons = ", ".join(f"{number} {words(reason)}" for reason, number in report[name].items())
        if reasons:
            lines.append(f"{many(sum(report[name].values()), 'URL')} {what} ({reasons})")
    state = "never crawled" if report["run"] is None else f"run {report['run']} {words(report['run_state'])}"
    queued = f", {many(report['queued'], 'URL')} queued" if report["queued"] else ""
    who = "running" if report["running"] else "next"
    waits = "" if report["in_force"] else f"; the {who} crawl has not applied these rules yet"
    return "\n".join([f"{report['project']}: {state}{queued}{waits}", *lines])


def _setting(value: Any) -> str:
    return " | ".join(value) or "-" if isinstance(value, list) else "none" if value is None else str(value).lower()


def rulings_text(found: list[Report]) -> str:
    return "\n".join(map(_ruling_text, found))


def _ruling_text(ruling: Report) -> str:
    lines = [f"{ruling['verdict']:5}  {ruling['url']}"]
    if ruling["rule"]:
        lines.append(f"       {ruling['reason']}: {brief(ruling['rule'])}")
    score = f", score {ruling['score']}" if ruling["score"] else ""
    lines.append(f"       type {ruling['page_type']}{score}")
    for group in ruling["groups"]:
        left = ", ".join(f"{number} {cap}" for cap, number in group["left"].items())
        name = f" {group['name']}" if group["name"] else ""
        lines.append(f"       {group['group']}{name}: {left or 'no cap on this type'}{' left' if left else ''}")
    return "\n".join(lines)


def wrong_text(ruling: Report) -> str:
    """How a verdict differs from the expected one."""
    why = f" ({ruling['reason']}: {brief(ruling['rule'])})" if ruling["rule"] else ""
    return f"{ruling['where']}: {ruling['url']} is {ruling['verdict']}{why}, expected {ruling['expected']}"


def brief(rule: str) -> str:
    """A rule; of a long one both ends and its length."""
    if len(rule) <= RULE_SHOWN:
        return rule
    ends = f"{rule[: RULE_SHOWN // 2].rstrip()} ... {rule[-RULE_SHOWN // 4 :].lstrip()}"
    return f"{ends} ({len(rule)} characters; --json prints all)"
