"""A site of 10,000 pages, crawled, crawled again unchanged, and again after some pages changed and all dates did.

With `--docs` the pages are real ones: three editions of the documentation trees, crawled and crawled again.
Owns the site, which nginx serves with its own tags and dates, the runs and their figures. Always: loopback
only, one JSON object as the last line of stdout. Times are of whole commands, start-up included; bodies are
counted by the server.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine
import measure
import nginx
from nginx import Site

EDITIONS = 3
FAN = 10
ACROSS = 15
PARAGRAPHS = 6
WORDS = 90
SEED = 5
GOALS = {"bodies": 0, "transferred_share": 0.02, "times_faster": 5.0}
OLD_DATE, NEW_DATE = "2026-11-16 05:00:07", "2026-11-17 06:10:42"
VOCABULARY = tuple(
    first + second + third
    for first in ("con", "per", "sta", "mo", "re", "tri")
    for second in ("la", "ver", "nis", "to", "qua", "sel")
    for third in ("tion", "ment", "ing", "er", "al", "ous")
)


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.scratch) as name:
        scratch = Path(name).resolve()
        scratch.chmod(0o755)
        pages = scratch / "pages"
        pages.mkdir(mode=0o755)
        trees = _write_editions(pages) if options.docs else {"made": pages}
        if not options.docs:
            _write_site(pages, options.pages, OLD_DATE, frozenset())
        home = scratch / "nginx"
        home.mkdir()
        with nginx.serving(trees, home) as site:
            report = _measure(site, pages, scratch, options)
    print(json.dumps(report))
    return 0 if all(goal["met"] for goal in report["goals"]) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--changed", type=int, default=100)
    parser.add_argument("--docs", action="store_true", help="real pages, without the run after changes")
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--processes", type=int, help="parser processes of orbweb (default: its own)")
    parser.add_argument("--timeout", type=float, default=900.0)
    parser.add_argument("--scratch", type=Path, help="directory for site and workspace")
    return parser.parse_args()


def _write_site(folder: Path, pages: int, date: str, changed: frozenset[int]) -> None:
    for number in range(pages):
        (folder / _name(number)).write_text(_page(number, pages, date, changed=number in changed))


def _write_editions(folder: Path) -> dict[str, Path]:
    """The documentation trees three times, each page with the number of its edition; the rest as links."""
    editions: dict[str, Path] = {}
    for number in range(EDITIONS):
        for name, tree in nginx.find_trees(nginx.ALL).items():
            editions[f"{name}{number}"] = folder / f"{name}{number}"
            for path in filter(Path.is_file, tree.rglob("*")):
                copy = editions[f"{name}{number}"] / path.relative_to(tree)
                copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
                if path.suffix == ".html":
                    copy.write_bytes(path.read_bytes().replace(b"</p>", b" Edition %d.</p>" % number, 1))
                else:
                    copy.symlink_to(path.resolve())
    return editions


def _name(number: int) -> str:
    return f"page-{number}.html" if number else "index.html"


def _page(number: int, pages: int, date: str, *, changed: bool) -> str:
    """A page of a tree with links across it; always the same, apart from the date and one sentence."""
    made = random.Random(SEED + number)
    below = range(number * FAN + 1, min(pages, number * FAN + FAN + 1))
    across = [made.randrange(pages) for _ in range(ACROSS)]
    links = "".join(f'<li><a href="{_name(to)}">Section {to}</a></li>' for to in (*below, *across))
    text = "".join(f"<h2>Part {part}</h2><p>{_sentence(made)}</p>" for part in range(PARAGRAPHS))
    edited = "<p>Somebody has edited this page.</p>" if changed else ""
    return (
        f"<!doctype html><html lang=en><title>Section {number}</title><body><nav><ul>{links}</ul></nav>"
        f"<main><h1>Section {number}</h1><p>Last updated {date}</p>{text}{edited}</main></body></html>"
    )


def _sentence(made: random.Random) -> str:
    return " ".join(made.choices(VOCABULARY, k=WORDS)).capitalize() + "."


def _measure(site: Site, pages: Path, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    facts = machine.facts(scratch)
    measure.compile_orbweb()
    first = _run(["crawl", site.url, "--project", "made", "--rate", "max"], site, scratch, options)
    again = _run(["recrawl", "made"], site, scratch, options)
    share = again["transferred"] / max(1, first["transferred"])
    faster = {what: round(first[what] / again[what], 2) for what in ("wall_s", "cpu_s")}
    goals = [
        _goal("visited", again["visited"], met=again["visited"] == first["visited"]),
        _goal("bodies", again["bodies"], met=again["bodies"] <= GOALS["bodies"]),
        _goal("transferred_share", round(share, 4), met=share <= GOALS["transferred_share"]),
        _goal("times_faster", faster["wall_s"], met=faster["wall_s"] >= GOALS["times_faster"]),
    ]
    report = {
        "benchmark": "recrawl",
        "machine": facts,
        "site": "docs" if options.docs else "made",
        "pages": first["pages"],
        "first": first,
        "unchanged": again,
        "times_faster": faster,
        "goals": goals,
    }
    if not options.docs:
        report["edited"], named = _edit(site, pages, scratch, options)
        goals += named
    return report


def _edit(
    site: Site, pages: Path, scratch: Path, options: argparse.Namespace
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The run after some pages changed, and whether the report of changes names these and no others."""
    changed = frozenset(random.Random(SEED).sample(range(options.pages), options.changed))
    _write_site(pages, options.pages, NEW_DATE, changed)
    edited = _run(["recrawl", "made"], site, scratch, options)
    words = [sys.executable, "-m", "orbweb", "diff", "made", "--json", "--workspace", scratch / "workspace"]
    diff = measure.run(words, scratch, options.timeout).last_json()
    named = {page["url"].rpartition("/")[2] for page in diff.get("changed", [])}
    others = any(diff.get(kind) for kind in ("added", "removed", "failing"))
    return edited, [
        _goal("changed_named", len(named), met=named == {_name(number) for number in changed}),
        _goal("nothing_else_named", 0, met=not others),
    ]


def _goal(name: str, value: float, *, met: bool) -> dict[str, Any]:
    return {"goal": name, "at": GOALS.get(name), "is": value, "met": met}


def _run(words: list[str], site: Site, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    command: list[str | Path] = [sys.executable, "-m", "orbweb", *words, "--workers", str(options.workers)]
    command += ["--workspace", scratch / "workspace", "--json", "--no-progress"]
    if options.processes is not None:
        command += ["--processes", str(options.processes)]
    before = _bodies(site)
    usage = measure.run(command, scratch, options.timeout)
    told = usage.last_json()
    if not told:
        print(usage.complaint(), file=sys.stderr)
    return {
        "exit": usage.exit_code,
        "wall_s": round(usage.wall_s, 2),
        "cpu_s": round(usage.cpu_s, 2),
        "main_rss_mb": round(usage.main_rss_mb, 1),
        "bodies": _bodies(site) - before,
        **{name: told.get(name) for name in ("visited", "pages", "failed", "not_modified", "transferred")},
    }


def _bodies(site: Site) -> int:
    """Answers with a page in them so far."""
    return sum(line.startswith("200|text/html") for line in site.log.read_text().splitlines())


if __name__ == "__main__":
    sys.exit(main())
