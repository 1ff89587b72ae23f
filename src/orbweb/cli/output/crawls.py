"""Where projects, runs and crawls stand, in words; pure."""

from __future__ import annotations

from orbweb.cli.output.format import Report, many, size, span


def crawl_text(report: Report, *, again: str = "resume") -> str:
    """What a person reads at the end of a crawl."""
    words = {"cancelled": "stopped", "budget": "budget used", "drained": "all scraped so far"}
    word: str = words.get(report["ended_by"]) or report["shown"]
    if word == "completed" and report["failed"]:
        word = "completed, with failures of earlier crawls"
    settled = many(report["crawl_visited"] + report["crawl_failed"], "URL")
    lines = [
        f"{word.replace('_', ' ')}: {_figures(report)}",
        f"this crawl: {settled} in {span(report['seconds'])}, {size(report['bytes'])} kept in the run",
    ]
    if report["tokens"]:
        lines.append(_tokens(report))
    for base in report["bases"]:
        moved = (
            ""
            if base["scope"] == base["url"].rstrip("/") or base["scope"] == base["url"]
            else f" -> {base['scope']}"
        )
        lines.append(f"  {base['url']}{moved}: {_base_figures(base)}")
    lines.append(f"workspace {report['workspace']}, project {report['project']}, run {report['run']}")
    project = report["project"]
    if report["queued"]:
        lines.append(f"URLs are left: orbweb {again} {project}")
    if report["failed"]:
        lines.append(f"what failed: orbweb failed {project}")
    return "\n".join(lines)


def scrape_text(report: Report) -> str:
    """The same of a scraper, which may have done all there is while discovery has not, or had nothing to do."""
    if report["run"] is None:
        return (
            f"stopped, {report['why']}: nothing was visited\nworkspace {report['workspace']}, "
            f"project {report['project']}"
        )
    text = crawl_text(report, again="scrape --project")
    if report["ended_by"] != "drained":
        return text
    return f"{text}\ndiscovery is not completed: orbweb discover --project {report['project']}, then scrape again"


def _base_figures(base: Report) -> str:
    given = f"{many(base['pages'], 'page')}, {many(base['alternates'], 'alternate')}"
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
        activity += f", held: {report['held_by']}"
    last = report["crawls"][-1]
    lines = [f"{head}run {report['run']} {report['state']}, {activity}", f"  {_figures(report)}"]
    if report["tokens"]:
        lines.append(f"  {_tokens(report)}")
    ended = f" ({last['ended_by']})" if last["ended_by"] else ""
    error = f": {last['error']}" if last["error"] else ""
    lines.append(f"  last crawl: {last['shown']}{ended}{error}")
    if report["spool"] is not None:
        lines.append(f"  {_spool(report['spool'])}")
    return "\n".join(lines)


def _spool(spool: Report) -> str:
    mark = spool["bookmark"]
    place = f"bookmark {mark['file']}, byte {mark['offset']}" if mark else spool["problem"] or "no bookmark yet"
    return f"spool: {size(spool['backlog_bytes'])} not scraped, {many(spool['files'], 'file')}, {place}"


def statuses_text(found: list[Report]) -> str:
    return "\n".join(status_text(report) for report in found) or "no projects yet"


def runs_text(found: list[Report]) -> str:
    lines = []
    for run in found:
        lines.append(
            f"run {run['run']}  {run['state']}  {run['started_at']}  {span(run['seconds'])}, "
            f"{size(run['bytes'])}, {_figures(run)}"
        )
        last = len(run["crawls"])
        lines.extend(_crawl_line("├└"[at == last], crawl) for at, crawl in enumerate(run["crawls"], 1))
    return "\n".join(lines) or "no runs yet"


def _crawl_line(branch: str, crawl: Report) -> str:
    budget = f", budget {crawl['budget']}" if crawl["budget"] else ""
    ended = f" ({crawl['ended_by']})" if crawl["ended_by"] else ""
    return (
        f"{branch} crawl {crawl['crawl']}  {crawl['shown']}{ended}  {crawl['started_at']}  "
        f"{span(crawl['seconds'])}, {crawl['visited']} visited, {crawl['failed']} failed, "
        f"{many(crawl['pages'], 'page')}, {size(crawl['bytes'])}{budget}"
    )


def queue_text(report: Report) -> str:
    crawls = ", ".join(str(number) for number in report["crawls"])
    lines = [
        f"run {report['run']} {report['state']} (crawls: {crawls}): {report['visited']} visited, "
        f"{report['failed']} failed, {report['queued']} queued, {report['total']} in all; "
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
    return f"{many(report['queued'], 'URL')} queued again: orbweb resume {report['project']}"


def _figures(report: Report) -> str:
    return (
        f"{report['visited']} visited{_reused(report)}, {many(report['pages'], 'page')}, "
        f"{many(report['alternates'], 'alternate')}, {report['failed']} failed, "
        f"{report['queued']} queued{_skips(report)}"
    )


def _skips(report: Report) -> str:
    skips = report["skipped"]
    if not skips:
        return ""
    return f", {sum(skips.values())} skipped (" + ", ".join(f"{k} {v}" for k, v in sorted(skips.items())) + ")"


def _reused(report: Report) -> str:
    cached = report["reused"] - report["not_modified"]
    words = [f"{report['not_modified']} unchanged"] * bool(report["not_modified"]) + [f"{cached} cached"] * bool(
        cached
    )
    return f" ({', '.join(words)})" if words else ""


def _tokens(report: Report) -> str:
    return f"{report['tokens']:,} tokens of Markdown ({report['tokenizer']})"
