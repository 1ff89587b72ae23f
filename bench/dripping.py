"""What a good host loses beside 1,000 connections that drip, in relaxed order.

Owns the crawls and their figures: the good host alone and beside dripping ones, by turns; the rate at which the
server saw its pages requested, and the CPU seconds of the crawl. Always: loopback only, the server in a process of
its own that is not measured. The last line of stdout is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import psutil

import machine

ORBWEB = Path(sys.executable).with_name("orbweb")
SERVER = Path(__file__).with_name("drip_site.py")
WORKERS = 1024
GOAL_LOSS = 0.1
ASKED_EVERY_S = 0.2


class Seen(NamedTuple):
    """A moment of a crawl: CPU seconds spent so far, pages of the good host, connections that drip."""

    at: float
    cpu_s: float
    pages: int
    dripping: int


class Speed(NamedTuple):
    """Pages of the good host per second, CPU milliseconds for each, and how many connections dripped."""

    pages_per_s: float
    cpu_ms: float
    dripping: int


def main() -> int:
    options = _options()
    alone: list[Speed] = []
    beside: list[Speed] = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.scratch) as scratch:
        facts = machine.facts(Path(scratch))
        for _ in range(options.rounds):
            alone.append(_crawl(options, Path(scratch), drips=False))
            beside.append(_crawl(options, Path(scratch), drips=True))
    print(json.dumps({"benchmark": "dripping", "machine": facts, **_figures(alone, beside)}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=10_000, help="of the good host, in each crawl")
    parser.add_argument("--hosts", type=int, default=10, help="that drip")
    parser.add_argument("--every-s", type=float, default=1.0, help="seconds between two bytes of a connection")
    parser.add_argument("--scratch", type=Path, help="directory for the workspaces")
    return parser.parse_args()


def _crawl(options: argparse.Namespace, scratch: Path, *, drips: bool) -> Speed:
    words = [sys.executable, SERVER, "--hosts", str(options.hosts), "--every-s", str(options.every_s)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            hosts = json.loads(server.stdout.readline())
            with tempfile.TemporaryDirectory(dir=scratch) as home:
                return _measured(hosts, options.pages, Path(home), drips=drips)
        finally:
            server.terminate()


def _measured(hosts: dict[str, Any], pages: int, home: Path, *, drips: bool) -> Speed:
    bases = [hosts["good"], *(hosts["dripping"] if drips else ())]
    options = [
        "--order",
        "relaxed",
        "--workers",
        str(WORKERS),
        "--rate",
        "max",
        "--sitemap",
        "off",
        "--project",
        "site",
    ]
    words = [ORBWEB, "crawl", *bases, *options, "--workspace", home / "workspace", "--no-progress"]
    environment = {**os.environ, "ORBWEB_FETCH__TIMEOUT_S": "3600"}
    with (home / "log").open("wb") as log:
        crawl = psutil.Popen([str(word) for word in words], stdout=log, stderr=log, env=environment)
    try:
        first = _await(crawl, hosts["good"], pages // 4)
        last = _await(crawl, hosts["good"], pages)
    finally:
        crawl.kill()
        crawl.wait()
    count = last.pages - first.pages
    return Speed(count / (last.at - first.at), 1000 * (last.cpu_s - first.cpu_s) / count, last.dripping)


def _await(crawl: psutil.Popen, good: str, pages: int) -> Seen:
    """Wait until the good host was asked for so many pages."""
    while True:
        times = _times(good)
        if len(times["at"]) >= pages:
            spent = sum(sum(each.cpu_times()[:2]) for each in (crawl, *crawl.children(recursive=True)))
            return Seen(time.monotonic(), spent, len(times["at"]), times["dripping"])
        if crawl.poll() is not None:
            raise RuntimeError("the crawl ended before it had so many pages")
        time.sleep(ASKED_EVERY_S)


def _times(good: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{good}__times", timeout=60) as answer:
        times: dict[str, Any] = json.load(answer)
    return times


def _figures(alone: list[Speed], beside: list[Speed]) -> dict[str, Any]:
    speeds = [statistics.median(each.pages_per_s for each in turn) for turn in (alone, beside)]
    costs = [statistics.median(each.cpu_ms for each in turn) for turn in (alone, beside)]
    loss = round(1 - speeds[1] / speeds[0], 3)
    return {
        "alone": [each._asdict() for each in alone],
        "beside": [each._asdict() for each in beside],
        "pages_per_s": [round(speed) for speed in speeds],
        "cpu_ms": [round(cost, 3) for cost in costs],
        "loss_per_cpu_second": round(1 - costs[0] / costs[1], 3),
        "goals": [{"goal": "loss", "at_most": GOAL_LOSS, "is": loss, "met": loss <= GOAL_LOSS}],
    }


if __name__ == "__main__":
    sys.exit(main())
