"""Looks the locked versions up among known vulnerabilities, with pip-audit.

Always: exit 0 only if each version was looked up and none is vulnerable. pip-audit by itself calls versions that
its service does not know clean; behind a mirror that does not serve that data, these are all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PIP_AUDIT = Path(sys.executable).with_name("pip-audit")
TIMEOUT_S = "30"
VULNERABLE, NOT_AUDITED = 1, 2


def main(locks: list[str]) -> int:
    return max(map(_audit, locks))


def _audit(lock: str) -> int:
    words = [
        PIP_AUDIT,
        "--disable-pip",
        "--require-hashes",
        "--timeout",
        TIMEOUT_S,
        "--format",
        "json",
        "-r",
        lock,
    ]
    ended = subprocess.run(words, capture_output=True, text=True)
    try:
        found: list[dict[str, Any]] = json.loads(ended.stdout)["dependencies"]
    except ValueError:
        why = (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"{lock}: not audited, the vulnerability service did not answer: {why}", file=sys.stderr)
        return NOT_AUDITED
    return _report(lock, found)


def _report(lock: str, found: list[dict[str, Any]]) -> int:
    vulnerable = [each for each in found if each.get("vulns")]
    skipped = [each["name"] for each in found if "skip_reason" in each]
    for each in vulnerable:
        names = ", ".join(vulnerability["id"] for vulnerability in each["vulns"])
        print(f"{lock}: {each['name']} {each['version']} is vulnerable: {names}", file=sys.stderr)
    if skipped or not found:
        print(
            f"{lock}: not audited, the vulnerability service knows nothing of {len(skipped)} of {len(found)} "
            f"packages: {', '.join(skipped[:3])}... Run this where pypi.org can be reached.",
            file=sys.stderr,
        )
    if vulnerable:
        return VULNERABLE
    if skipped or not found:
        return NOT_AUDITED
    print(f"{lock}: {len(found)} versions, no known vulnerability")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
