"""Crawl the same documentation with orbweb and its peers, and compare within this run.

Owns the order of the measurements, the medians, the ratios and the report. Always: pages are 200
text/html URLs counted by the server; a ratio is the median over rounds of figures taken in the same
round; the last line of stdout is one JSON object. Never compares with figures of another run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import machine
import measure
import nginx

PEER_SCRIPTS = Path(__file__).parent / "peers"
ORBWEB = Path(sys.executable).with_name("orbweb")
CRAWLERS = (
    *("orbweb", "crawl_spider", "tuned_spider", "stripped_spider"),
    *("crawlee_files", "crawlee_memory", "wget2"),
)
LIMIT = "fetch_only"
GOALS = {"crawl_spider": 10.0, "tuned_spider": 5.0}
GOAL_MEMORY_MB = 200.0
AGREEMENT = 0.98
WGET2_IGNORED = "img,link,script,input,source,embed,object,audio,video,track,body,table,td,th"
OK_EXITS = {"orbweb": (0, 3), "wget2": (0, 8)}  # with a broken link on the site


@dataclass(frozen=True, slots=True)
class Job:
    """What a peer is asked to do."""

    url: str
    directory: Path
    workers: int
    processes: int | None
    paths: frozenset[str]


@dataclass(frozen=True, slots=True)
class Result:
    """One measured run of one peer."""

    peer: str
    usage: measure.Usage
    answers: nginx.Answers

    @property
    def ok(self) -> bool:
        return self.usage.exit_code in OK_EXITS.get(self.peer, (0,)) and bool(self.answers.pages)

    def figures(self) -> dict[str, float]:
        pages, usage = len(self.answers.pages), self.usage
        return {
            "pages": pages,
            "requests": self.answers.requests,
            "wall_s": usage.wall_s,
            "cpu_s": usage.cpu_s,
            "pages_per_s": pages / usage.wall_s,
            "pages_per_cpu_s": pages / usage.cpu_s,
            "main_rss_mb": usage.main_rss_mb,
            "tree_rss_mb": usage.tree_rss_mb,
            "tree_pss_mb": usage.tree_pss_mb,
        }


Rounds = list[dict[str, Result]]
Words = list[str | Path]


def _orbweb(job: Job) -> Words:
    words: Words = [ORBWEB, "crawl", job.url, "--rate", "max", "--workers", str(job.workers)]
    words += ["--workspace", job.directory / "workspace", "--json", "--no-progress"]
    return words if job.processes is None else [*words, "--processes", str(job.processes)]


def _python(script: str, *more: str) -> Callable[[Job], Words]:
    return lambda job: [sys.executable, PEER_SCRIPTS / script, job.url, job.directory, str(job.workers), *more]


def _wget2(job: Job) -> Words:
    """Only links are followed, as the others do; wget2 would also fetch images, scripts and style sheets."""
    words: Words = ["wget2", "--recursive", "--level=inf", "--no-parent", "--no-robots", "--no-hsts", "--quiet"]
    words += [f"--max-threads={job.workers}", f"--ignore-tags={WGET2_IGNORED}"]
    return [*words, "--directory-prefix", job.directory / "mirror", job.url]


def _fetch_only(job: Job) -> Words:
    urls = job.directory / "urls"
    urls.write_text("\n".join(job.url.rstrip("/") + path for path in sorted(job.paths)))
    return [sys.executable, PEER_SCRIPTS / "fetch_only.py", urls, str(job.workers)]


COMMANDS: dict[str, Callable[[Job], Words]] = {
    "orbweb": _orbweb,
    "crawl_spider": _python("crawl_spider.py"),
    "tuned_spider": _python("tuned_spider.py"),
    "stripped_spider": _python("stripped_spider.py"),
    "crawlee_files": _python("crawlee_parsel.py", "files"),
    "crawlee_memory": _python("crawlee_parsel.py", "memory"),
    "wget2": _wget2,
    LIMIT: _fetch_only,
}


def main() -> int:
    options = _options()
    trees = nginx.find_trees(options.tree)
    with nginx.scratch(options.scratch) as scratch:
        facts = machine.facts(scratch)
        nginx.warm(trees)
        measure.compile_orbweb()
        rounds = _measure(options, trees, scratch)
    report = {"benchmark": "documentation", "options": _shown(options), "machine": facts, **_summary(rounds)}
    _print_table(report)
    print(json.dumps(report))
    return 0 if all(result.ok for figures in rounds for result in figures.values()) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--tree", choices=[*nginx.PACKAGES, nginx.ALL], default=nginx.ALL)
    parser.add_argument("--peers", default=",".join(COMMANDS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=32, help="parallel requests of every peer")
    parser.add_argument("--processes", type=int, help="parser processes of orbweb (default: its own)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_const", const=1, dest="rounds", help="one round")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for one run of one peer")
    parser.add_argument("--scratch", type=Path, help="directory for what the peers write")
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    if "wget2" in options.peers and shutil.which("wget2") is None:
        print("not installed; run: apt-get install wget2 (or leave it out of --peers)", file=sys.stderr)
        raise SystemExit(2)
    if unknown := set(options.peers) - set(COMMANDS):
        parser.error(f"unknown peers: {', '.join(sorted(unknown))}")
    if not set(options.peers) & set(CRAWLERS):
        parser.error("fetch_only fetches what a crawler found: name a crawler too")
    return options


def _shown(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("tree", "peers", "workers", "processes", "rounds")}


def _measure(options: argparse.Namespace, trees: dict[str, Path], scratch: Path) -> Rounds:
    """All peers in turn, round after round; each round begins with another crawler."""
    crawlers = [peer for peer in options.peers if peer in CRAWLERS]
    paths: frozenset[str] = frozenset()
    rounds: Rounds = []
    for number in range(options.rounds):
        turn = number % len(crawlers)
        order = crawlers[turn:] + crawlers[:turn] + [LIMIT] * (LIMIT in options.peers)
        rounds.append({})
        for peer in order:
            home = scratch / f"{number}-{peer}"
            result = _run(peer, options, trees, home, paths)
            rounds[-1][peer] = result
            paths = paths or (result.answers.found if result.ok else paths)
            _print_progress(number, result)
    return rounds


def _run(
    peer: str, options: argparse.Namespace, trees: dict[str, Path], home: Path, paths: frozenset[str]
) -> Result:
    def command(url: str, directory: Path) -> Words:
        return COMMANDS[peer](Job(url, directory, options.workers, options.processes, paths))

    return measured(peer, command, trees, home, options.timeout)


def measured(
    peer: str, command: Callable[[str, Path], Words], trees: dict[str, Path], home: Path, timeout: float
) -> Result:
    """One run of a peer, with a server of its own; its command is made of URL and directory."""
    directory = home / "output"
    for path in (home, home / "nginx", directory):
        path.mkdir(mode=0o755)
    with nginx.serving(trees, home / "nginx") as site:
        usage = measure.run(command(site.url, directory), directory, timeout)
        return Result(peer, usage, site.answers())


def _summary(rounds: Rounds) -> dict[str, Any]:
    good = [{peer: result for peer, result in one.items() if result.ok} for one in rounds]
    peers = sorted({peer for one in good for peer in one})
    figures = {peer: [one[peer].figures() for one in good if peer in one] for peer in peers}
    ratios = _ratios(good)
    return {
        "peers": {peer: _medians(runs) for peer, runs in figures.items()},
        "rounds": {peer: [_rounded(run) for run in runs] for peer, runs in figures.items()},
        "ratios": ratios,
        "goals": _goals(ratios, figures.get("orbweb", [])),
        "agreement": _agreement(good),
        "failed": _failures(rounds),
    }


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return _rounded({name: median(run[name] for run in runs) for name in runs[0]})


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in figures.items()}


def _ratios(good: Rounds) -> dict[str, dict[str, float]]:
    """orbweb divided by each other peer, paired by round."""
    ratios: dict[str, dict[str, list[float]]] = {}
    for one in good:
        if "orbweb" not in one:
            continue
        ours = one["orbweb"].figures()
        for peer in one.keys() - {"orbweb"}:
            theirs = one[peer].figures()
            for name in ("pages_per_s", "pages_per_cpu_s"):
                ratios.setdefault(peer, {}).setdefault(name, []).append(ours[name] / theirs[name])
    return {
        peer: {name: round(median(values), 3) for name, values in by_name.items()}
        for peer, by_name in ratios.items()
    }


def _goals(ratios: dict[str, dict[str, float]], ours: list[dict[str, float]]) -> list[dict[str, Any]]:
    goals = [
        {"goal": f"{name} against {peer}", "at_least": least, "is": value, "met": value >= least}
        for peer, least in GOALS.items()
        for name, value in ratios.get(peer, {}).items()
    ]
    if ours:
        worst = max(run["tree_pss_mb"] for run in ours)
        goals.append(
            {"goal": "tree_pss_mb", "at_most": GOAL_MEMORY_MB, "is": worst, "met": worst <= GOAL_MEMORY_MB}
        )
    return goals


def _agreement(good: Rounds) -> dict[str, Any]:
    """How far the crawlers found the same HTML pages: common to all, divided by found by any."""
    found = [one[peer].answers.pages for one in good for peer in CRAWLERS if peer in one]
    common, union = (frozenset.intersection(*found), frozenset.union(*found)) if found else ((), ())
    share = len(common) / len(union) if union else 0.0
    return {
        "common": len(common),
        "union": len(union),
        "comparable": share >= AGREEMENT,
        "not_common": sorted(set(union) - set(common))[:20],
    }


def _failures(rounds: Rounds) -> list[dict[str, Any]]:
    return [
        {"round": number, "peer": peer, "exit": result.usage.exit_code, "pages": len(result.answers.pages)}
        for number, one in enumerate(rounds)
        for peer, result in one.items()
        if not result.ok
    ]


def _print_progress(number: int, result: Result) -> None:
    figures = result.figures()
    print(
        f"round {number + 1} {result.peer:15} exit {result.usage.exit_code} "
        f"{figures['pages']:6.0f} pages {figures['wall_s']:7.2f} s {figures['cpu_s']:7.2f} CPU s",
        file=sys.stderr,
    )
    if not result.ok:
        print(result.usage.complaint(), file=sys.stderr)


def _print_table(report: dict[str, Any]) -> None:
    columns = ("pages", "requests", "wall_s", "cpu_s", "pages_per_s", "pages_per_cpu_s", "tree_pss_mb")
    lines = [f"{'median':15}" + "".join(f"{name:>16}" for name in columns)]
    for peer, figures in report["peers"].items():
        lines.append(f"{peer:15}" + "".join(f"{figures[name]:16.1f}" for name in columns))
    for peer, ratio in report["ratios"].items():
        lines.append(f"orbweb / {peer}: " + ", ".join(f"{name} {value}" for name, value in ratio.items()))
    lines += [f"{'met' if goal['met'] else 'MISSED'}: {goal}" for goal in report["goals"]]
    lines.append(f"pages in common {report['agreement']['common']} of {report['agreement']['union']}")
    print("\n".join(lines), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
