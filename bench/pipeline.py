"""Discovery and scraping together, and Scrapy's CrawlSpider, on the same documentation in the same rounds.

Owns the command lines, the medians and the ratio. Always: pages are 200 text/html URLs counted by the server, each
once, though the two services ask for each twice; times are of whole commands, start-up included; the last line of
stdout is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import machine
import nginx
from run import ORBWEB, PEER_SCRIPTS, Words, measured

GOAL = 5.0
PEERS = ("run", "crawl", "crawl_spider")
OK_EXITS = {"run": (0, 3), "crawl": (0, 3)}


def main() -> int:
    options = _options()
    trees = nginx.find_trees(options.tree)
    with nginx.scratch(options.scratch) as scratch:
        facts = machine.facts(scratch)
        nginx.warm(trees)
        rounds = [
            {peer: _measure(peer, options, trees, scratch / f"{number}-{peer}") for peer in options.peers}
            for number in range(options.rounds)
        ]
    report = {"benchmark": "pipeline", "machine": facts, "tree": options.tree, **_summary(rounds)}
    print(json.dumps(report))
    return 0 if report["goal"]["met"] else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--tree", choices=[*nginx.PACKAGES, nginx.ALL], default=nginx.ALL)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=900.0)
    parser.add_argument("--scratch", type=Path, help="directory for what is written")
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    return options


def _command(peer: str, url: str, directory: Path, workers: int) -> Words:
    if peer == "crawl_spider":
        return [sys.executable, PEER_SCRIPTS / "crawl_spider.py", url, directory, str(workers)]
    words: Words = [ORBWEB, peer, url, "--project", "docs", "--rate", "max", "--workers", str(workers)]
    return [*words, "--workspace", directory / "workspace", "--json", "--no-progress"]


def _measure(peer: str, options: argparse.Namespace, trees: dict[str, Path], home: Path) -> dict[str, float]:
    def command(url: str, directory: Path) -> Words:
        return _command(peer, url, directory, options.workers)

    result = measured(peer, command, trees, home, options.timeout)
    usage, figures = result.usage, result.figures()
    if usage.exit_code not in OK_EXITS.get(peer, (0,)):
        raise SystemExit(f"{peer}: exit {usage.exit_code}\n{usage.complaint()}")
    print(
        f"{peer:13} {figures['pages']:6.0f} pages {figures['requests']:6.0f} requests {figures['wall_s']:7.2f} s "
        f"{figures['cpu_s']:7.2f} CPU s {figures['pages_per_s']:8.1f} pages/s",
        file=sys.stderr,
    )
    return figures


def _summary(rounds: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    ratios = [one["run"]["pages_per_s"] / one["crawl_spider"]["pages_per_s"] for one in rounds]
    ratio = round(median(ratios), 2)
    medians = {
        peer: {name: round(median(one[peer][name] for one in rounds), 2) for name in rounds[0][peer]}
        for peer in rounds[0]
    }
    return {"peers": medians, "goal": {"times_crawl_spider": ratio, "at_least": GOAL, "met": ratio >= GOAL}}


if __name__ == "__main__":
    sys.exit(main())
