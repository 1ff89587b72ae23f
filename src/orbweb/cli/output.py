"""Text for people and JSON for programs, from the same report."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import typer

Report = dict[str, Any]
REFERRERS_SHOWN = 20
DAMAGED_SHOWN = 3
RULE_SHOWN = 120
PLANNED_FILES = 20
MANIFEST_FIELDS = ("place", "url", "status", "body_sha256", "content_sha256", "role")


def emit(report: Any, text: Callable[[Any], str], *, as_json: bool) -> None:
    """Print the report on stdout."""
    typer.echo(json.dumps(report, ensure_ascii=False) if as_json else printable(text(report)))


def printable(text: str) -> str:
    """Without the control characters that a page's title could send to a terminal."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in text)


def write(body: bytes, encoding: str = "utf-8") -> None:
    """What is kept, byte by byte; to a terminal as text, without what could drive it."""
    if sys.stdout.isatty():
        typer.echo(harmless(body.decode(encoding, "replace")), nl=not body.endswith(b"\n"))
        return
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


def harmless(text: str) -> str:
    """As `printable`, with its tabs."""
    return "\t".join(printable(part) for part in text.replace("\r\n", "\n").split("\t"))


def manifest(lines: Iterable[str], *, as_json: bool) -> None:
    """Line by line, however long it is; as JSON one array of objects."""
    if as_json:
        rows = [dict(zip(MANIFEST_FIELDS, line.split("\t"), strict=True)) for line in lines]
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    for line in lines:
        sys.stdout.write(line + "\n")


def size(number: int) -> str:
    """Bytes for people."""
    amount = float(number)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def span(seconds: float) -> str:
    """A duration for people."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def many(number: int, word: str) -> str:
    """A number of things."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _skips(report: Report) -> str:
    skips = report["skipped"]
    if not skips:
        return ""
    return f", {sum(skips.values())} skipped (" + ", ".join(f"{k} {v}" for k, v in sorted(skips.items())) + ")"


def _figures(report: Report) -> str:
    return (
        f"{report['visited']} visited{_reused(report)}, {many(report['pages'], 'page')}, "
        f"{many(report['alternates'], 'alternate')}, {report['failed']} failed, "
        f"{report['queued']} queued{_skips(report)}"
    )


def _reused(report: Report) -> str:
    cached = report["reused"] - report["not_modified"]
    words = [f"{report['not_modified']} unchanged"] * bool(report["not_modified"]) + [f"{cached} cached"] * bool(
        cached
    )
    return f" ({', '.join(words)})" if words else ""


def _tokens(report: Report) -> str:
    return f"{report['tokens']:,} tokens of Markdown ({report['tokenizer']})"


def scrape_text(report: Report) -> str:
    return crawl_text(report, again="scrape --project")


def crawl_text(report: Report, *, again: str = "resume") -> str:
    """What a person reads at the end of a crawl."""
    word: str = {"cancelled": "stopped", "budget": "budget used"}.get(report["ended_by"]) or report["shown"]
    settled = many(report["crawl_visited"] + report["crawl_failed"], "URL")
    lines = [
        f"{word.replace('_', ' ')}: {_figures(report)}",
        f"this crawl: {settled} in {span(report['seconds'])}, {size(report['bytes'])} kept in the run",
    ]
    if report["tokenizer"]:
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


def _base_figures(base: Report) -> str:
    given = f"{many(base['pages'], 'page')}, {many(base['alternates'], 'alternate')}"
    if base["limit"] is None:
        return given
    left = f"{base['remaining']} left" if base["remaining"] else "reached"
    return f"{given}, page limit {base['limit']}: {left}"


def plan_text(report: Report) -> str:
    """What a person reads before a crawl."""
    lines = []
    for base in report["bases"]:
        lines.append(f"{base['url']}: {base['problem'] or 'can be crawled'}")
        lines.append(f"  scope: {base['scope']}")
        lines.append(f"  robots.txt: {base['robots']}")
        gap = base["seconds_apart"]
        lines.append(f"  rate: {f'one request in {gap:g} s' if gap else 'no limit'} ({base['rate_rule']})")
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
        lines.append(f"{refused['count']} would be skipped as {reason}")
        lines += [f"  {each['url']} ({each['rule']})" for each in refused["examples"]]
    lines.append(f"these take at least {span(report['at_least_s'])}")
    return "\n".join(lines)


def rules_text(report: Report) -> str:
    """The rules of a project, and what they have just changed."""
    lines = [f"  {key}: {_setting(value)}" for key, value in report["rules"].items()]
    changes = (("came_back", "came back"), ("skipped", "were skipped"))
    for name, words in changes:
        reasons = ", ".join(f"{reason} {number}" for reason, number in report[name].items())
        if reasons:
            lines.append(f"{many(sum(report[name].values()), 'URL')} {words} ({reasons})")
    state = "never crawled" if report["run"] is None else f"run {report['run']} {report['run_state']}"
    queued = f", {many(report['queued'], 'URL')} queued" if report["queued"] else ""
    who = "running" if report["running"] else "next"
    waits = "" if report["in_force"] else f"; the {who} crawl has yet to judge it by these rules"
    return "\n".join([f"{report['project']}: {state}{queued}{waits}", *lines])


def _setting(value: Any) -> str:
    return " | ".join(value) or "-" if isinstance(value, list) else "none" if value is None else str(value).lower()


def unsaid(_text: str) -> None:
    """A note that would speak of something that is not done."""


def replan_text(report: Report) -> str:
    """What other settings would do to a project."""
    would = many(report["would_visit"], "URL")
    lines = [f"{report['project']}: {would} would be visited, by what run {report['run']} knows"]
    lines += [
        f"  {base['url']}: {base['problem'] or many(base['pages'], 'page')}, {base['pages_before']} before"
        for base in report["bases"]
    ]
    for name, words in (
        ("newly_admitted", "newly visited"),
        ("unknown", "never asked for: what they lead to is unknown"),
    ):
        lines.append(f"{report[name]['count']} {words}")
        lines += [f"  {url}" for url in report[name]["examples"]]
    lost = report["newly_refused"]
    reasons = ", ".join(f"{reason} {number}" for reason, number in sorted(lost["by_reason"].items()))
    lines.append(f"{lost['count']} no longer visited" + (f" ({reasons})" if reasons else ""))
    lines += [f"  {each['url']} ({each['rule'] or each['reason']})" for each in lost["examples"]]
    for reason, refused in sorted(report["would_skip"].items()):
        lines.append(f"{refused['count']} would be skipped as {reason}")
        lines += [f"  {each['url']} ({each['rule']})" for each in refused["examples"]]
    return "\n".join(lines)


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
    """How a ruling differs from what was expected."""
    why = f" ({ruling['reason']}: {brief(ruling['rule'])})" if ruling["rule"] else ""
    return f"{ruling['where']}: {ruling['url']} is judged {ruling['verdict']}{why}, not {ruling['expected']}"


def brief(rule: str) -> str:
    """A rule by which many URLs may be judged; of a long one both ends, and how long it is."""
    if len(rule) <= RULE_SHOWN:
        return rule
    ends = f"{rule[: RULE_SHOWN // 2].rstrip()} ... {rule[-RULE_SHOWN // 4 :].lstrip()}"
    return f"{ends} ({len(rule)} characters; --json has them all)"


def configured_text(report: Report) -> str:
    settings, seeds = report["files"]
    return f"edit {settings} and {seeds}, then: orbweb crawl --workspace {report['workspace']}"


def reset_text(report: Report) -> str:
    wiped = ", ".join(report["wiped"])
    return f"{report['workspace']}: {f'wiped {wiped}' if wiped else 'nothing was there to wipe'}"


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
    if report["tokenizer"]:
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


def pages_text(found: list[Report]) -> str:
    lines = []
    for page in found:
        lines.append(_page_line(page))
        lines.extend(f"    also {url}" for url in page["alternates"])
    return "\n".join(lines) or "no pages"


def _page_line(page: Report) -> str:
    read = "" if page["tokens"] is None else f"  {many(page['words'], 'word')}, {many(page['tokens'], 'token')}"
    return f"{page['url']}  {size(page['bytes'])}{read}  {page['title'] or ''}".rstrip()


def gone_text(found: list[Report]) -> str:
    """Pages that have vanished."""
    return "\n".join(f"{page['url']}  {_gone_text(page)}" for page in found) or "no pages are gone"


def _gone_text(gone: Report) -> str:
    return f"gone since run {gone['since']} ({gone['why']}), last captured by run {gone['last']}"


def near_text(found: list[list[Report]]) -> str:
    """Groups of pages that say nearly the same."""
    groups = [
        "\n".join([many(len(group), "page"), *(f"  {_page_line(page)}" for page in group)]) for group in found
    ]
    return "\n".join(groups) or "no near-duplicates"


_DIFFERENCES = ("added", "removed", "moved", "redirected", "failing", "changed")
_MARKS = {"added": "+", "removed": "-", "moved": ">", "redirected": ">", "failing": "!", "changed": "~"}


def diff_text(report: Report) -> str:
    """Lists first, then the lines of each changed page."""
    lines: list[str] = []
    for kind in _DIFFERENCES:
        lines.extend(f"{_MARKS[kind]} {kind:<10}  {_difference(item)}" for item in report[kind])
    for page in report["changed"]:
        lines.extend(("", *page["diff"]) if "diff" in page else ())
    if lines:
        lines.append("")
    lines.append(_diff_summary(report))
    return "\n".join(lines)


def _difference(item: Report) -> str:
    if "lines_added" in item:
        return f"{item['url']}  +{item['lines_added']} -{item['lines_removed']}"
    if "from" in item:
        return f"{item['url']}  from {item['from']}"
    if "to" in item:
        return f"{item['url']}  to {item['to']}"
    why = item.get("why") or item.get("kind")
    return f"{item['url']}  ({why})" if why else str(item["url"])


def _diff_summary(report: Report) -> str:
    counted = ", ".join(f"{len(report[kind])} {kind}" for kind in _DIFFERENCES)
    noise = Counter(kind for page in report["noise"] for kind in page["noise"])
    volatile = ", ".join(f"{kind} on {many(pages, 'page')}" for kind, pages in noise.items())
    parts = [f"run {report['old']} to run {report['new']}: {counted}; {report['unchanged']} unchanged"]
    if report["noise"]:
        parts.append(f"{many(len(report['noise']), 'page')} with nothing but noise ({volatile}; --noise shows it)")
    if report["pending"]:
        parts.append(f"{report['pending']} not visited yet")
    if report["left_out"]:
        reasons = ", ".join(f"{reason} {count}" for reason, count in report["left_out"].items())
        parts.append(f"not compared, because run {report['new']} skips them: {reasons}")
    return "; ".join(parts)


def search_text(found: list[Report]) -> str:
    return "\n".join(f"{row['title'] or row['url']}\n  {row['url']}\n  {_marked(row)}" for row in found) or (
        "nothing found"
    )


def _marked(row: Report) -> str:
    """The snippet with its matches between stars."""
    text, shown, end = row["snippet"], [], 0
    for first, last in row["marks"]:
        shown += [text[end:first], "**", text[first:last], "**"]
        end = last
    return "".join([*shown, text[end:]])


def failed_text(found: list[Report]) -> str:
    return "\n".join(f"{row['kind']}  {row['url']}  {row['reason']} (tries: {row['tries']})" for row in found) or (
        "nothing failed"
    )


def retry_text(report: Report) -> str:
    if not report["queued"]:
        return "nothing to retry"
    return f"{many(report['queued'], 'URL')} queued again: orbweb resume {report['project']}"


def export_text(report: Report) -> str:
    """What an export did, in a sentence or two."""
    place = report["out"] or "standard output"
    text = f"{many(report['pages'], 'page')} of run {report['run']} as {report['to']}: {place}"
    changes = [f"{report[name]} {name}" for name in ("written", "unchanged", "removed") if report[name]]
    text += f" ({size(report['bytes'])}" + (f", {', '.join(changes)})" if report["files"] > 1 else ")")
    if report["kept"]:
        text += f"\n{many(report['kept'], 'former file')} left there, because somebody has changed them"
    return text


def url_text(report: Report) -> str:
    nested = ("links", "document", "gone")
    lines = [f"{name}: {value}" for name, value in report.items() if value is not None and name not in nested]
    if report["gone"]:
        lines.append(_gone_text(report["gone"]))
    if report["document"]:
        lines.append("document:")
        facts = report["document"].items()
        lines += [f"  {name}: {value}" for name, value in facts if value != "" and name != "headings"]
        lines += [f"  {'#' * heading['level']} {heading['text']}" for heading in report["document"]["headings"]]
    if report.get("links"):
        lines.append("links:")
        lines.extend(f"  {link['url']}" for link in report["links"])
    return "\n".join(lines)


def extract_text(report: Report) -> str:
    """What a person reads at the end of an extraction."""
    lines = [f"failed: {row['url']}: {row['problem']}" for row in report["failed"]]
    if not report["pages"]:
        return f"run {report['run']}: every page was read by extractor {report['extractor']} already"
    lines.append(
        f"run {report['run']}: {report['extracted']} of {many(report['pages'], 'page')} read by extractor "
        f"{report['extractor']} in {span(report['seconds'])}"
    )
    if report["left"]:
        lines.append(f"{many(report['left'], 'page')} left: orbweb extract {report['project']}")
    return "\n".join(lines)


def replay_text(report: Report) -> str:
    """What a person reads at the end of a replay."""
    lines = [f"damaged: {row['url']}: {row['problem']}" for row in report["damaged"]]
    lines += [f"failed: {row['url']}: {row['problem']}" for row in report["failed"]]
    run = f"project {report['project']}, run {report['run']}"
    made = f"{run}: {many(report['visits'], 'visit')} in {span(report['seconds'])}"
    lines.append(f"{made}, every stored body verified" if report["verified"] and not report["damaged"] else made)
    lines += [
        f"  {file['path']}: {many(file['lines'], 'line')}, {size(file['bytes'])}" for file in report["files"]
    ]
    lines.append(f"  {report['markdown']}: {many(report['pages'], 'page')}")
    return "\n".join(lines)


def import_text(report: Report) -> str:
    """What a person reads at the end of an import."""
    lines = [
        f"project {report['project']}, run {report['run']} {report['state']}: {report['visited']} visited, "
        f"{many(report['pages'], 'page')}, {report['failed']} failed, {report['queued']} queued, "
        f"{report['skipped']} skipped"
    ]
    if report["missing"]:
        lines.append(f"bodies that were not found: {report['missing']} (--bodies DIR)")
    if report["repeated"]:
        lines.append(f"{many(report['repeated'], 'line')} left out, because the URL had one already")
    if report["queued"]:
        lines.append(f"go on with it: orbweb resume {report['project']}")
    return "\n".join(lines)


def index_text(found: list[Report]) -> str:
    """The page index, a line a URL."""
    columns = ("url", "status", "timestamp", "etag", "last_modified", "sha256", "stored_path")
    return "\n".join("\t".join(str(entry[name] or "-") for name in columns) for entry in found) or "no visits"


def why_no_page(report: Report) -> str:
    """What became of a URL of which nothing is kept."""
    state: str = report["state"]
    if state == "skipped":
        return f"skipped ({report['reason']}): {report['rule']}"
    if state == "failed":
        return f"failed ({report['kind']}): {report['error']}"
    if state == "visited":
        return f"it answered HTTP {report['status']}, {report['content_type'] or 'of no declared type'}"
    return state


def explain_text(report: Report) -> str:
    """Why a URL is where it is, in sentences."""
    lines = [f"{report['asked']}: {_verdict_text(report)}"]
    if report["asked"] != report["url"]:
        lines.append(f"  the same as {report['url']}, the first spelling found of the key {report['key']}")
    lines.append(f"  rule: {report['rule']}")
    if report["reuse"]:
        lines.append(f"  {_reuse_text(report)}")
    if report["gone"]:
        lines.append(f"  {_gone_text(report['gone'])}")
    if report["proxy"]:
        lines.append(f"  by proxy {report['proxy']}")
    if report["chain"]:
        lines.append("  how it was found:")
        lines.extend(f"    {step['how']:<8}  {step['url']}" for step in report["chain"])
    if report["referrers"]:
        lines.extend(_referrer_lines(report["referrers"]))
    return "\n".join(lines)


def _deferred(report: Report) -> str:
    return f", deferred until {report['due']}" if report["due"] else ""


def _verdict_text(report: Report) -> str:
    state: str = report["state"]
    if state == "unknown":
        would = f"skipped ({report['reason']})" if report["reason"] else "allowed"
        return f"unknown, not found on any visited page of run {report['run']}; would be: {would}"
    if state == "skipped":
        return f"skipped ({report['reason']})"
    if state == "queued":
        return f"queued at place {report['place']}, {many(report['before'], 'URL')} before it{_deferred(report)}"
    if state == "failed":
        return f"failed ({report['kind']}): {report['error']}, tries: {report['tries']}"
    return f"visited, {_visit_text(report)}"


def _visit_text(report: Report) -> str:
    if report["redirects_to"]:
        return f"HTTP {report['status']}, redirects to {report['redirects_to']}"
    if report["role"] == "alternate":
        return f"HTTP {report['status']}, an alternate: the same content as {report['primary']}"
    page = "a page" if report["role"] == "primary" else "no page"
    return f"HTTP {report['status']}, {page}"


def _reuse_text(report: Report) -> str:
    source = report["reused_from"]
    shown = f"run {source['run']} of {source['project']}" if source else "a run that is gone"
    asked = "not asked for: fresh enough" if report["reuse"] == "cached" else "unchanged, says the server"
    return f"{asked}; page, text and links are those of {shown}"


def _referrer_lines(found: list[Report]) -> list[str]:
    lines = [f"  linked from {len(found)} URL{'s' if len(found) > 1 else ''}:"]
    lines += [f"    {row['url']}{_link_text(row)}" for row in found[:REFERRERS_SHOWN]]
    left = len(found) - REFERRERS_SHOWN
    return lines if left <= 0 else [*lines, f"    and {left} more, with --json"]


def _link_text(row: Report) -> str:
    words = [row["kind"]] * (row["kind"] != "a") + ["nofollow"] * row["nofollow"]
    return f" ({', '.join(words)})" if words else ""


def doctor_text(report: Report) -> str:
    """Each damage with what it touches, then what was done."""
    left = [_damage_key(damage) for damage in report["left"]]
    lines = [line for damage in report["damages"] for line in _damage_lines(damage, left)]
    lines += [
        line
        for damage in report["left"]
        if damage not in report["damages"]
        for line in _damage_lines(damage, left)
    ]
    if not lines:
        return f"{report['workspace']}: healthy"
    if report["quarantine"]:
        lines.append(
            f"{many(report['requeued'], 'URL')} queued again; what was taken away is in {report['quarantine']}"
        )
        lines.append("`orbweb resume PROJECT` fetches them" if report["requeued"] else "nothing has to be fetched")
    if report["left"]:
        word = "could not be repaired: restore from a copy, or crawl anew" if report["quarantine"] else "found"
        lines.append(f"{len(report['left'])} damages {word}")
    return "\n".join(lines)


def _damage_key(damage: Report) -> tuple[str, str, str]:
    return damage["file"], damage["where"], damage["problem"]


def _damage_lines(damage: Report, left: list[tuple[str, str, str]]) -> list[str]:
    state = "damaged" if _damage_key(damage) in left else "repaired"
    lines = [
        f"{state}: {damage['file']}, {damage['where']}: {damage['problem']}",
        f"    repair: {damage['repair']}",
    ]
    lines += [f"    {url}" for url in damage["urls"][:DAMAGED_SHOWN]]
    more = len(damage["urls"]) - DAMAGED_SHOWN
    return lines if more <= 0 else [*lines, f"    and {more} more, with --json"]
