"""The state of projects, runs and crawls as text. Pure."""

from __future__ import annotations

from orbweb.cli.output.format import Report, hint, many, size, span, words

ENDINGS = {"stopped_early": "Stopped early", "interrupted": "Interrupted", "failed": "Failed"}
"""How a crawl that left its queue begins to tell, by `state`."""
CAUSES = {
    "budget": "budget",
    "cancelled": "cancelled",
    "crashed": "crashed",
    "drained": "spool drained",
    "error": "error",
}
"""Why a crawl ended before its queue was empty, by `ended_by`."""
IN_PROGRESS = 5
"""URLs in progress that are listed."""


def crawl_text(report: Report) -> str:
    """What a person reads at the end of a crawl."""
    return _ended_text(report, hint("resume", report["project"]))


def _ended_text(report: Report, again: str) -> str:
    project = report["project"]
    lines = [_summary(report), _effort(report), _links(report)]
    if report["tokens"]:
        lines.append(_tokens(report))
    for base in report["bases"]:
        same = base["scope"] in (base["url"], base["url"].rstrip("/"))
        moved = "" if same else f" -> {base['scope']}"
        lines.append(f"  {base['url']}{moved}: {_base_figures(base)}")
    lines.append(f"workspace {report['workspace']}, project {project}, run {report['run']}")
    if report["queued"]:
        lines.append(f"to continue: {again}")
    if report["failed"]:
        lines.append(f"to list failures: {hint('failed', project)}")
    return "\n".join(lines)


def beginning(report: Report) -> str:
    """The first words about a crawl that has ended."""
    ending = ENDINGS.get(report["state"])
    return f"{ending} ({CAUSES[report['ended_by']]}) after" if ending else "Crawled"


def _summary(report: Report) -> str:
    """The counts of the run; those that are zero are left out, except the pages."""
    counts = [many(report["pages"], "page")]
    if report["alternates"]:
        counts.append(many(report["alternates"], "duplicate"))
    counts += [f"{report[name]} {name}" for name in ("failed", "queued") if report[name]]
    if report["skipped"]:
        counts.append(_skips(report["skipped"]))
    return f"{beginning(report)} {many(report['visited'], 'URL')}{_reused(report)}: {', '.join(counts)}."


def _effort(report: Report) -> str:
    """What this crawl did. A page reused from the cache was not requested, so with such pages URLs are counted."""
    unit = "URL" if report["reused"] > report["not_modified"] else "request"
    number = many(report["crawl_visited"] + report["crawl_failed"], unit)
    return f"{number} in {span(report['seconds'])}, {size(report['bytes'])} stored"


def _links(report: Report) -> str:
    """How the URLs of the run were found, and what it took."""
    parts = [f"{many(report['links_found'], 'link')} found, {report['links_known']} already known"]
    parts += [f"{report['refused_by_policy']} refused by policy, {report['refused_by_caps']} by caps"]
    parts += [f"{many(report['retries'], 'retry', 'retries')}, {size(report['transferred'])} transferred"]
    parts += [f"{many(report['discoveries'], 'discovery', 'discoveries')} written"] * bool(report["discoveries"])
    return "; ".join(parts)


def scrape_text(report: Report) -> str:
    """The same for a scraper, which may drain the spool before discovery is completed, or have nothing to do."""
    if report["run"] is None:
        return (
            f"Interrupted (cancelled): nothing was visited, {report['why']}.\nworkspace {report['workspace']}, "
            f"project {report['project']}"
        )
    text = _ended_text(report, hint("scrape", project=report["project"]))
    if report["ended_by"] != "drained":
        return text
    return f"{text}\ndiscovery is not completed; to continue it, then scrape again: {_discover(report)}"


def _discover(report: Report) -> str:
    return hint("discover", project=report["project"])


def _base_figures(base: Report) -> str:
    given = f"{many(base['pages'], 'page')}, {many(base['alternates'], 'duplicate')}"
    if base["limit"] is None:
        return given
    left = f"{base['remaining']} left" if base["remaining"] else "reached"
    return f"{given}, page limit {base['limit']}: {left}"


def status_text(report: Report) -> str:
    head = f"{report['project']}: "
    if report["run"] is None:
        return head + "never crawled"
    role = {"crawl": "crawl", "discover": "discovery", "scrape": "scraper"}[report["role"]]
    activity = f"{role} running in process {report['pid']}" if report["running"] else f"no {role} running"
    if report["held"]:
        activity += f", on hold: {report['held_by']}"
    last = report["crawls"][-1]
    lines = [f"{head}run {report['run']} {words(report['state'])}, {activity}", f"  {_figures(report)}"]
    lines.extend(_in_progress(report["inProgress"]))
    if report["tokens"]:
        lines.append(f"  {_tokens(report)}")
    ended = f" ({words(last['ended_by'])})" if last["ended_by"] else ""
    error = f": {last['error']}" if last["error"] else ""
    lines.append(f"  last crawl: {words(last['state'])}{ended}{error}")
    shells = report["needs_javascript"]
    if shells["count"]:
        lines.append(
            f"  {many(shells['count'], 'page')} without text: JavaScript needed, such as {shells['examples'][0]}"
        )
    if report["spool"] is not None:
        lines.append(f"  {_spool(report['spool'])}")
    return "\n".join(lines)


def _in_progress(found: list[Report]) -> list[str]:
    """The requests that were sent first, with their ages."""
    shown = [f"  in progress for {span(each['age_s'])}: {each['url']}" for each in found[:IN_PROGRESS]]
    more = len(found) - IN_PROGRESS
    return [*shown, *([f"  and {more} more in progress"] if more > 0 else [])]


def one_status_text(report: Report) -> str:
    """The status of one project, and what the workspace holds."""
    return f"{status_text(report)}\n{_stored(report['stored'])}"


def _stored(stored: Report) -> str:
    return (
        f"workspace: {many(stored['bodies'], 'body', 'bodies')}, {size(stored['body_bytes'])}; "
        f"index {size(stored['index_bytes'])}; {many(stored['spool_files'], 'spool file')}"
    )


def _spool(spool: Report) -> str:
    mark = spool["bookmark"]
    place = f"bookmark {mark['file']}, byte {mark['offset']}" if mark else spool["problem"] or "no bookmark yet"
    lines = "" if spool["backlog_lines"] is None else f"{many(spool['backlog_lines'], 'line')}, "
    return f"spool: {lines}{size(spool['backlog_bytes'])} not scraped, {many(spool['files'], 'file')}, {place}"


def statuses_text(found: list[Report]) -> str:
    if not found:
        return "no projects yet"
    return "\n".join([*map(status_text, found), _stored(found[0]["stored"])])


def runs_text(found: list[Report]) -> str:
    lines = []
    for run in found:
        lines.append(
            f"run {run['run']}  {words(run['state'])}  {run['started_at']}  {span(run['seconds'])}, "
            f"{size(run['bytes'])}, {_figures(run)}"
        )
        last = len(run["crawls"])
        lines.extend(_crawl_line("├└"[at == last], crawl) for at, crawl in enumerate(run["crawls"], 1))
    return "\n".join(lines) or "no runs yet"


def _crawl_line(branch: str, crawl: Report) -> str:
    budget = f", budget {crawl['budget']}" if crawl["budget"] else ""
    ended = f" ({words(crawl['ended_by'])})" if crawl["ended_by"] else ""
    return (
        f"{branch} crawl {crawl['crawl']}  {words(crawl['state'])}{ended}  {crawl['started_at']}  "
        f"{span(crawl['seconds'])}, {crawl['visited']} visited, {crawl['failed']} failed, "
        f"{many(crawl['pages'], 'page')}, {size(crawl['bytes'])}{budget}"
    )


def queue_text(report: Report) -> str:
    crawls = ", ".join(str(number) for number in report["crawls"])
    lines = [
        f"run {report['run']} {words(report['state'])} (crawls: {crawls}): {report['visited']} visited, "
        f"{report['failed']} failed, {report['queued']} queued; "
        f"can resume: {'yes' if report['can_resume'] else 'no'}",
        f"visited or failed: {_by_source(report['visited_by_source'])}",
        f"queued: {_by_source(report['by_source'])}",
    ]
    lines.extend(f"  {item['place']:>10}  {item['url']}" for item in report["next"])
    lines.extend(f"parked: {many(trap['parked'], 'URL')} of {trap['pattern']}" for trap in report["traps"])
    return "\n".join(lines)


def _by_source(found: Report) -> str:
    return ", ".join(f"{source} {number}" for source, number in found.items()) or "nothing"


def retry_text(report: Report) -> str:
    if not report["queued"]:
        return "nothing to retry"
    return f"{many(report['queued'], 'URL')} queued again; to visit them: {hint('resume', report['project'])}"


def _figures(report: Report) -> str:
    skips = f", {_skips(report['skipped'])}" if report["skipped"] else ""
    return (
        f"{report['visited']} visited{_reused(report)}, {many(report['pages'], 'page')}, "
        f"{many(report['alternates'], 'duplicate')}, {report['failed']} failed, {report['queued']} queued{skips}"
    )


def _skips(skipped: Report) -> str:
    """How many URLs were skipped, by reason."""
    if len(skipped) == 1:
        ((reason, number),) = skipped.items()
        return f"{number} skipped ({words(reason)})"
    reasons = ", ".join(f"{number} {words(reason)}" for reason, number in sorted(skipped.items()))
    return f"{sum(skipped.values())} skipped ({reasons})"


def _reused(report: Report) -> str:
    cached = report["reused"] - report["not_modified"]
    counts = [f"{report['not_modified']} unchanged"] * bool(report["not_modified"])
    counts += [f"{cached} cached"] * bool(cached)
    return f" ({', '.join(counts)})" if counts else ""


def _tokens(report: Report) -> str:
    return f"{report['tokens']:,} tokens of Markdown ({report['tokenizer']})"
