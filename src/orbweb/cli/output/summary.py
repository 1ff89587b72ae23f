"""The end of a crawl as a small table for a terminal; a pipe gets the plain lines of `crawls`.

Only numbers and texts of orbweb are in it, and URLs without control characters.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orbweb.cli.output import one_line
from orbweb.cli.output.crawls import beginning
from orbweb.cli.output.format import Report, hint, many, size, span, words

BESIDE = 26
"""Columns that a name and a number take. A longer hint gets a line of its own, so that it can be copied."""
Row = tuple[str, int, str, str]
"""A name, a number, a remark and a style."""


def crawl_summary(report: Report, *, width: int, colour: bool, again: str) -> str:
    """What a person at a terminal reads at the end of a crawl."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold", style="dim")
    hints = {"failed": hint("failed", report["project"]), "queued": again}
    inside = {name: text for name, text in hints.items() if len(text) <= width - BESIDE}
    for name, number, remark, style in _rows(report):
        table.add_row(f"  {name}", Text(f"{number:,}", style), Text(one_line(inside.get(name, remark))))
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=colour, no_color=not colour, highlight=False, legacy_windows=False
    )
    console.print(Text(_headline(report), "bold"))
    console.print(table)
    whole = [text for name, text in hints.items() if name not in inside and report[name]]
    whole.append(f"workspace {report['workspace']}, project {report['project']}, run {report['run']}")
    return "\n".join([*(line.rstrip() for line in stream.getvalue().splitlines()), *map(one_line, whole)])


def _headline(report: Report) -> str:
    settled = report["crawl_visited"] + report["crawl_failed"]
    rate = f", {settled / report['seconds']:.1f}/s" if report["seconds"] >= 1 else ""
    return f"{beginning(report)} {many(settled, 'URL')} in {span(report['seconds'])}{rate}"


def _rows(report: Report) -> Iterator[Row]:
    """The counts of the run; those that are zero are left out, except the pages."""
    tokens = f", {report['tokens']:,} tokens of Markdown" if report["tokens"] else ""
    yield "pages", report["pages"], f"{size(report['bytes'])} stored{tokens}", "bold green"
    unchanged = report["not_modified"]
    others = (
        ("duplicates", report["alternates"], "same content as another page", ""),
        ("unchanged", unchanged, "not modified since an earlier run", ""),
        ("cached", report["reused"] - unchanged, "reused without a request", ""),
        ("failed", report["failed"], "", "bold red"),
        ("queued", report["queued"], "", "bold yellow"),
        ("skipped", sum(report["skipped"].values()), _reasons(report["skipped"]), ""),
        ("links", report["links_found"], _links(report), ""),
        ("retries", report["retries"], "requests repeated", ""),
        ("discoveries", report["discoveries"], "written to the spool", ""),
    )
    yield from (row for row in others if row[1])
    yield from _bases(report)


def _links(report: Report) -> str:
    refused = f"refused: {report['refused_by_policy']:,} by policy, {report['refused_by_caps']:,} by caps"
    return f"{report['links_known']:,} already known; {refused}"


def _reasons(skipped: Report) -> str:
    return ", ".join(f"{number:,} {words(reason)}" for reason, number in sorted(skipped.items()))


def _bases(report: Report) -> Iterator[Row]:
    """The pages of each base URL, where there are several or one has a limit."""
    bases = report["bases"]
    if len(bases) > 1 or any(base["limit"] is not None for base in bases):
        for base in bases:
            left = "" if base["limit"] is None else f", page limit {base['limit']:,}"
            yield "pages of", base["pages"], f"{base['url']}{left}", ""
