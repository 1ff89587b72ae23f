"""Main content of the same pages with orbweb and with trafilatura: quality and speed, compared within this run.

Owns the order of the measurements and the report. Always: both are called on the same decoded pages, page by page
in turn, in one process; only the calls are timed; the last line of stdout is one JSON object. Never compares with
figures of another run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import machine
from orbweb import extraction

SHARED = Path(__file__).resolve().parents[2] / "shared"
GOAL = 15.0
Extractor = Callable[[str, str], str]


def main() -> int:
    options = _options()
    scorer = _scorer(options.tools)
    try:
        peers = _peers()
    except ImportError as missing:
        print(f"{missing}: install the bench extra", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        facts = machine.facts(Path(scratch).resolve())
    datasets = {name: _measure(scorer, name, peers, options) for name in scorer.DATASETS}
    if not all(datasets.values()):
        print(f"no pages under {options.corpora}: give --corpora and --tools", file=sys.stderr)
        return 2
    report = {
        "benchmark": "extraction",
        "goal": GOAL,
        "every": options.every,
        "machine": facts,
        "datasets": datasets,
    }
    _print_table(datasets)
    print(json.dumps(report))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--corpora", type=Path, default=SHARED / "corpora", help="folder with the marked pages")
    parser.add_argument("--tools", type=Path, default=SHARED / "tools", help="folder with the scorer")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take one page in N (default 1)")
    return parser.parse_args()


def _scorer(tools: Path) -> Any:
    sys.path.insert(0, str(tools))
    return importlib.import_module("score_extraction")


def _peers() -> dict[str, Extractor]:
    import trafilatura

    return {
        "orbweb": lambda html, url: extraction.extract(html, url).text,
        "trafilatura": lambda html, url: trafilatura.extract(html, url=url) or "",
    }


def _measure(scorer: Any, name: str, peers: dict[str, Extractor], options: argparse.Namespace) -> dict[str, Any]:
    folder, pages, judge, summarize = scorer.DATASETS[name]
    judged: dict[str, list[Any]] = {peer: [] for peer in peers}
    cpu_s = dict.fromkeys(peers, 0.0)
    for url, html, truth in islice(pages(options.corpora / "extraction" / folder), None, None, options.every):
        address = url if url.startswith("http") else "https://example.com/"
        for peer, extract in peers.items():
            start = time.process_time()
            text = extract(html, address)
            cpu_s[peer] += time.process_time() - start
            judged[peer].append(judge(text, truth))
    count = len(judged["orbweb"])
    if not count:
        return {}
    return {
        "pages": count,
        "f1": {peer: round(summarize(found)["f1"], 4) for peer, found in judged.items()},
        "pages_per_cpu_s": {peer: round(count / seconds, 1) for peer, seconds in cpu_s.items()},
        "ratio": round(cpu_s["trafilatura"] / cpu_s["orbweb"], 2),
    }


def _print_table(datasets: dict[str, dict[str, Any]]) -> None:
    print(f"{'data set':<12} {'pages':>6} {'F1':>7} {'peer F1':>8} {'pages/CPU s':>12} {'peer':>8} {'ratio':>6}")
    for name, figures in datasets.items():
        f1, speed = figures["f1"], figures["pages_per_cpu_s"]
        print(
            f"{name:<12} {figures['pages']:>6} {f1['orbweb']:>7.4f} {f1['trafilatura']:>8.4f} "
            f"{speed['orbweb']:>12.1f} {speed['trafilatura']:>8.1f} {figures['ratio']:>6.1f}"
        )


if __name__ == "__main__":
    sys.exit(main())
