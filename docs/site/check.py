"""Check a built site offline: every link, anchor and file it names is there, and nothing is loaded from elsewhere.

Usage: check.py DIRECTORY. Links that a reader may click can lead anywhere; what a browser loads by itself may not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    *(("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")),
    ("link", "href"),
}


class _Page(HTMLParser):
    """What a page names, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value)
            elif name == "href":
                self.links.append(value)


@cache
def page(path: Path) -> _Page:
    return _Page(path.read_text(encoding="utf-8"))


def problems(site: Path) -> Iterator[str]:
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        for link in dict.fromkeys(page(path).loaded):
            if urlsplit(link).netloc:
                yield f"{name}: loads {link}"
        if name.name == "404.html":  # its links are for the root of a server
            continue
        for link in dict.fromkeys(page(path).links + page(path).loaded):
            if why := _broken(path, link, site):
                yield f"{name}: {link}: {why}"


def _broken(path: Path, link: str, site: Path) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()) or not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target.suffix == ".html" and anchor not in page(target).anchors:
        return "no such anchor"
    return None


def main(site: Path) -> int:
    found = list(problems(site.resolve()))
    print(*found, sep="\n", end="\n" if found else "")
    pages = sum(1 for _ in site.rglob("*.html"))
    print(f"{pages} pages, {len(found)} problems")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
