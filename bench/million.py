"""Memory with 1,000,000 URLs discovered: orbweb on a site that only grows.

Owns the synthetic crawl and its figures. A budget of 1 + FAN visits discovers 1 + FAN + FAN * FAN URLs.
Always: loopback only, the server in a process of its own that is not measured. The last line of stdout
is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine
import measure
from wide_site import FAN

ORBWEB = Path(sys.executable).with_name("orbweb")
SERVER = Path(__file__).with_name("wide_site.py")
GOAL_MEMORY_MB = 300.0
BUDGET = FAN + 1
DISCOVERED = 1 + FAN + FAN * FAN
STOPPED_BY_BUDGET = 4


def main() -> int:
    options = _options()
    server = subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory(prefix="bench-", dir=options.scratch) as scratch:
            report = _measure(url, Path(scratch).resolve(), options)
    finally:
        server.terminate()
        server.communicate(timeout=10)
    print(json.dumps(report))
    return 0 if report["complete"] else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--processes", type=int, help="parser processes of orbweb (default: its own)")
    parser.add_argument("--timeout", type=float, default=900.0)
    parser.add_argument("--scratch", type=Path, help="directory for the workspace")
    return parser.parse_args()


def _measure(url: str, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    words: list[str | Path] = [ORBWEB, "crawl", url, "--budget", str(BUDGET), "--rate", "max"]
    words += [
        "--workers",
        str(options.workers),
        "--workspace",
        scratch / "workspace",
        "--json",
        "--no-progress",
    ]
    if options.processes is not None:
        words += ["--processes", str(options.processes)]
    facts = machine.facts(scratch)
    usage = measure.run(words, scratch, options.timeout)
    told = usage.last_json()
    if not told:
        print(usage.complaint(), file=sys.stderr)
    complete = usage.exit_code == STOPPED_BY_BUDGET and told.get("discovered") == DISCOVERED
    worst = round(usage.tree_pss_mb, 1)
    met = complete and worst <= GOAL_MEMORY_MB
    return {
        "benchmark": "million",
        "machine": facts,
        "exit": usage.exit_code,
        "complete": complete,
        "expected_discovered": DISCOVERED,
        "discovered": told.get("discovered"),
        "visited": told.get("visited"),
        "wall_s": round(usage.wall_s, 2),
        "cpu_s": round(usage.cpu_s, 2),
        "main_rss_mb": round(usage.main_rss_mb, 1),
        "tree_rss_mb": round(usage.tree_rss_mb, 1),
        "tree_pss_mb": worst,
        "goals": [{"goal": "tree_pss_mb", "at_most": GOAL_MEMORY_MB, "is": worst, "met": met}],
    }


if __name__ == "__main__":
    sys.exit(main())
