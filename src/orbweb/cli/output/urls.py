"""What is known about one URL, as text. Pure."""

from __future__ import annotations

from orbweb.cli.output.format import Report, many
from orbweb.cli.output.pages import other_urls, vanished

REFERRERS_SHOWN = 20


def url_text(report: Report) -> str:
    nested = ("links", "document", "gone", "alternates", "redirects")
    lines = [f"{name}: {value}" for name, value in report.items() if value is not None and name not in nested]
    if report["gone"]:
        lines.append(vanished(report["gone"]))
    if report["document"]:
        lines.append("document:")
        facts = report["document"].items()
        lines += [f"  {name}: {value}" for name, value in facts if value != "" and name != "headings"]
        lines += [f"  {'#' * heading['level']} {heading['text']}" for heading in report["document"]["headings"]]
    if report.get("alternates"):
        lines.append("alternates:")
        lines.extend(f"  {other}" for other in other_urls(report))
    if report.get("links"):
        lines.append("links:")
        lines.extend(f"  {link['url']}" for link in report["links"])
    return "\n".join(lines)


def why_no_page(report: Report) -> str:
    """Why nothing is stored for a URL."""
    state: str = report["state"]
    if state == "skipped":
        return f"skipped ({report['reason']}): {report['rule']}"
    if state == "failed":
        return f"failed ({report['kind']}): {report['error']}"
    if state == "visited" and report["redirects_to"]:
        return f"it redirects to {report['redirects_to']}"
    if state == "visited":
        return f"it returned HTTP {report['status']}, {report['content_type'] or 'without a content type'}"
    return state


def explain_text(report: Report) -> str:
    """Why a URL was visited, skipped, failed or is queued."""
    lines = [f"{report['asked']}: {_verdict_text(report)}"]
    if report["asked"] != report["url"]:
        lines.append(f"  same URL as {report['url']}, the first spelling found of the key {report['key']}")
    asked_at = f" (robots.txt as requested {report['robots_at']})" if report["robots_at"] else ""
    lines.append(f"  rule: {report['rule']}{asked_at}")
    if report["state"] != "unknown":
        lines.append(
            f"  found at {_instant(report['found_at'])}, {report['state']} since {_instant(report['changed_at'])}"
        )
    if report["reuse"]:
        lines.append(f"  {_reuse_text(report)}")
    if report["gone"]:
        lines.append(f"  {vanished(report['gone'])}")
    if report["proxy"]:
        lines.append(f"  through proxy {report['proxy']}")
    if report["chain"]:
        lines.append("  how it was found:")
        lines.extend(f"    {step['how']:<8}  {step['url']}" for step in report["chain"])
    if report["referrers"]:
        lines.extend(_referrer_lines(report["referrers"]))
    return "\n".join(lines)


def _instant(at: str | None) -> str:
    return at or "an unknown time"


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


def _deferred(report: Report) -> str:
    return f", deferred until {report['due']}" if report["due"] else ""


def _visit_text(report: Report) -> str:
    if report["redirects_to"]:
        return f"HTTP {report['status']}, redirects to {report['redirects_to']}"
    if report["role"] == "alternate":
        return f"HTTP {report['status']}, an alternate: the same content as {report['primary']}"
    page = "a page" if report["role"] == "primary" else "not a page"
    return f"HTTP {report['status']}, {page}"


def _reuse_text(report: Report) -> str:
    source = report["reused_from"]
    shown = f"run {source['run']} of {source['project']}" if source else "a run that is gone"
    why = "not requested, still fresh" if report["reuse"] == "cached" else "unchanged according to the server"
    return f"{why}; page, text and links are those of {shown}"


def _referrer_lines(found: list[Report]) -> list[str]:
    lines = [f"  linked from {len(found)} URL{'s' if len(found) > 1 else ''}:"]
    lines += [f"    {row['url']}{_link_text(row)}" for row in found[:REFERRERS_SHOWN]]
    left = len(found) - REFERRERS_SHOWN
    return lines if left <= 0 else [*lines, f"    and {left} more (--json lists all)"]


def _link_text(row: Report) -> str:
    words = [row["kind"]] * (row["kind"] != "a") + ["nofollow"] * row["nofollow"]
    return f" ({', '.join(words)})" if words else ""
