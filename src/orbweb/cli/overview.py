"""What `orbweb --help` prints: every command in one line, in groups. Pure."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from orbweb.cli.output.colour import BOLD, CYAN, styled

INTRODUCTION = "Turn websites into a durable, deduplicated, searchable local archive."
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Crawl": ("crawl", "resume", "recrawl", "plan", "fetch", "demo"),
    "Look": (
        *("status", "runs", "pages", "show", "search", "diff", "explain", "failed", "queue", "settings"),
        *("manifest", "index"),
    ),
    "Change": ("rules", "retry", "pause", "unpause", "stop", "finish", "rename", "delete"),
    "Export": ("export", "report", "extract", "replay", "import"),
    "Services": ("serve", "discover", "scrape", "run"),
    "Workspace": ("configure", "validate-policy", "doctor", "reset", "completion"),
}
OPTIONS = (
    ("-h, --help", "Explain a command, such as orbweb crawl -h."),
    ("-q, --quiet", "Print results and errors only."),
    ("-v, --verbose", "Print each URL as it is visited."),
    ("--workspace DIR", "Directory that holds everything [orbweb-data]."),
    ("--version", "Print the version."),
)
COLUMN = max(len(name) for group in GROUPS.values() for name in group) + 2


class Line(NamedTuple):
    """A command and what it does."""

    name: str
    summary: str


def summary(documentation: str | None) -> str:
    """The first line of a docstring."""
    return inspect.cleandoc(documentation or "").partition("\n")[0]


def ordered(names: Iterable[str]) -> list[str]:
    """The names in the order of the groups."""
    given = set(names)
    return [name for group in GROUPS.values() for name in group if name in given]


def text(lines: Iterable[Line], *, width: int, colour: bool) -> str:
    """The whole text; no line is longer than the width."""
    summaries = dict(lines)
    parts = [
        *textwrap.wrap(INTRODUCTION, width),
        "",
        *textwrap.wrap("Usage: orbweb COMMAND [ARGUMENTS] [OPTIONS]", width),
    ]
    for title, names in GROUPS.items():
        known = [(name, summaries[name]) for name in names if name in summaries]
        parts += _section(title, known, width, colour=colour)
    return "\n".join([*parts, *_section("Options", OPTIONS, width, colour=colour)])


def _section(title: str, rows: Iterable[tuple[str, str]], width: int, *, colour: bool) -> list[str]:
    lines = ["", styled(title, BOLD, colour=colour)]
    for name, about in rows:
        first, *rest = textwrap.wrap(about, max(width - COLUMN - 2, 20)) or [""]
        gap = " " * (COLUMN - len(name))
        lines.append(f"  {styled(name, CYAN, colour=colour)}{gap}{first}")
        lines += [" " * (COLUMN + 2) + line for line in rest]
    return lines
