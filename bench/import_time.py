"""How much processor time `import orbweb` takes, beyond that of the bare interpreter in the same run.

Processor time, because a busy machine does not change it. The last line of stdout is one JSON object.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import machine

RUNS = 20
GOAL_MS = 60.0


def main() -> int:
    taken: dict[str, list[float]] = {"import orbweb": [], "pass": []}
    for _ in range(RUNS):
        for code, found in taken.items():
            found.append(_processor_ms(code))
    whole, bare = median(taken["import orbweb"]), median(taken["pass"])
    report = {
        "benchmark": "import_time",
        "machine": machine.facts(Path(tempfile.gettempdir()).resolve()),
        "runs": RUNS,
        "python_with_import_ms": round(whole, 1),
        "bare_python_ms": round(bare, 1),
        "goals": [
            {"goal": "import_ms", "at_most": GOAL_MS, "is": round(whole - bare, 1), "met": whole - bare <= GOAL_MS}
        ],
    }
    print(json.dumps(report))
    return 0


def _processor_ms(code: str) -> float:
    before = _used()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (_used() - before) * 1000


def _used() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


if __name__ == "__main__":
    sys.exit(main())
