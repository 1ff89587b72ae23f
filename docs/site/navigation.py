"""What the site lists, and where: read from the README of each directory. Needs no MkDocs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "source"
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")

# A directory stands for its README and the pages that it links to.
TABS: dict[str, list[str]] = {
    "Start": ["README.md", "tutorial.md", "why.md", "troubleshooting.md", "glossary.md"],
    "Recipes": ["recipes"],
    "How to": ["how-to"],
    "Reference": ["reference"],
    "Explanation": ["explanation", "architecture.md", "promises.md", "hostile-servers.md"],
    "Decisions": ["decisions"],
    "Project": ["CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md"],
}


def nav() -> list[dict[str, list[str]]]:
    """The navigation as MkDocs wants it."""
    return [{title: [page for each in entries for page in _pages(each)]} for title, entries in TABS.items()]


def _pages(entry: str) -> list[str]:
    if not entry.endswith(".md"):
        return _listed(entry)
    return [entry if (ROOT / "docs" / entry).exists() else f"{SOURCE}/{entry}"]


def _listed(directory: str) -> list[str]:
    """The README of a directory and the pages it links to, in its order."""
    text = (ROOT / "docs" / directory / "README.md").read_text(encoding="utf-8")
    linked = [target for target in LINK.findall(text) if re.fullmatch(r"[\w.-]+\.md", target)]
    return [f"{directory}/{name}" for name in dict.fromkeys(["README.md", *linked])]


def slug(text: str, separator: str) -> str:
    """The fragment that code hosts give a heading, so that one link serves both."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)
