"""`make fuzz`: starts the child with the sanitizers, keeps the input that it died of, and names it."""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
BUILD = TESTS.parent / "build" / "fuzz"


def environment() -> dict[str, str]:
    """That of a Python that loads modules with sanitizers: their library first, and memory from malloc alone."""
    library = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    return os.environ | {
        "LD_PRELOAD": library,
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": os.pathsep.join((str(BUILD / "package"), str(TESTS))),
    }


def main() -> int:
    arguments = argparse.ArgumentParser(prog="make fuzz")
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    arguments.add_argument("--input", type=Path, help="feed this file alone")
    given = arguments.parse_args()
    current = BUILD / "current"
    fed = [str(given.input)] if given.input else [str(given.seed), str(given.seconds), str(current)]
    if not given.input:
        print(f"seed {given.seed}, {given.seconds:g} s", flush=True)
    done = subprocess.run([sys.executable, "-m", "fuzz.feed", *fed], env=environment(), cwd=TESTS)
    if done.returncode and not given.input:
        failed = BUILD / f"failed-{given.seed}.html"
        current.replace(failed)
        print(f"exit code {done.returncode}; make fuzz INPUT={failed.relative_to(TESTS.parent)} repeats it")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
