"""How two runs differ, as text. Pure."""

from __future__ import annotations

from collections import Counter

from orbweb.cli.output.format import Report, many, words

_DIFFERENCES = ("added", "removed", "moved", "redirected", "failing", "changed")
_MARKS = {"added": "+", "removed": "-", "moved": ">", "redirected": ">", "failing": "!", "changed": "~"}


def diff_text(report: Report) -> str:
    """The lists of pages, then the changed lines of each page."""
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
        parts.append(f"{many(len(report['noise']), 'page')} with only noise ({volatile}; --noise shows it)")
    if report["unvisited"]:
        parts.append(f"{report['unvisited']} known to run {report['old']} but not visited")
    if report["pending"]:
        parts.append(f"{report['pending']} not visited yet")
    if report["left_out"]:
        reasons = ", ".join(f"{count} {words(reason)}" for reason, count in report["left_out"].items())
        parts.append(f"not compared, because run {report['new']} skips them: {reasons}")
    return "; ".join(parts)
