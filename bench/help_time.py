"""How long `orbweb --help` takes, beside the bare interpreter in the same run.

Owns nothing but the two medians. The runs alternate, so that a busy moment hits both. The last line of
stdout is one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import machine

RUNS = 20
GOAL_MS = 120.0
HELP = [str(Path(sys.executable).with_name("orbweb")), "--help"]
BARE = [sys.executable, "-c", "pass"]


def main() -> int:
    taken: dict[str, list[float]] = {"help": [], "bare": []}
    for _ in range(RUNS):
        taken["help"].append(_milliseconds(HELP))
        taken["bare"].append(_milliseconds(BARE))
    help_ms, bare_ms = median(taken["help"]), median(taken["bare"])
    report = {
        "benchmark": "help_time",
        "machine": machine.facts(Path(tempfile.gettempdir()).resolve()),
        "runs": RUNS,
        "help_ms": round(help_ms, 1),
        "bare_python_ms": round(bare_ms, 1),
        "ratio": round(help_ms / bare_ms, 2),
        "slowest_ms": round(max(taken["help"]), 1),
        "goals": [{"goal": "help_ms", "at_most": GOAL_MS, "is": round(help_ms, 1), "met": help_ms <= GOAL_MS}],
    }
    print(json.dumps(report))
    return 0


def _milliseconds(argv: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
