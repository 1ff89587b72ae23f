"""What an open live page costs a crawl: the same site crawled by turns with and without one.

Owns the turns and their figures. Always: loopback only; the site in a process of its own that is not measured; a
crawl at full rate in a fresh workspace. With the page, a server has been started on the workspace, and one client
reads the stream of the page to the end. CPU seconds are those of the crawl and its descendants; those of the
server are counted apart. The last line of stdout is one JSON object; the exit code is 1 if the crawl loses more
than the goal.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from server import ORBWEB, TOKEN, Server, facts

SITE = Path(__file__).parent.parent / "tests"
PROJECT = "live"
GOAL_PERCENT = 5.0
SEED = 7


@dataclass(frozen=True, slots=True)
class Turn:
    """A crawl: its URLs, CPU seconds and time; the updates of the page, and the CPU seconds of the server."""

    urls: int
    cpu_s: float
    wall_s: float
    updates: int = 0
    server_cpu_s: float = 0.0
    server_rss_mb: float = 0.0
    largest_update: int = 0

    @property
    def ms_per_url(self) -> float:
        return 1000 * self.cpu_s / self.urls


class LivePage:
    """A client that reads the stream of the live page, as the page does."""

    def __init__(self, server: Server) -> None:
        self.updates = self.largest = 0
        self._http = http.client.HTTPConnection(server.address, timeout=60)
        path, headers = f"/p/{PROJECT}/live/events", {"authorization": f"Bearer {TOKEN}"}
        while True:
            self._http.request("GET", path, headers=headers)
            self._stream = self._http.getresponse()
            if self._stream.status == 200:
                break
            self._stream.read()
            time.sleep(0.02)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for line in self._stream:
                if line.startswith(b"data: "):
                    self.updates += 1
                    self.largest = max(self.largest, len(line))
        except (OSError, http.client.HTTPException, ValueError):
            return


def main() -> int:
    options = _options()
    words = [
        sys.executable,
        "-m",
        "servers.site",
        "--seed",
        str(SEED),
        "--pages",
        str(options.pages),
        "--port",
        "0",
    ]
    site = subprocess.Popen(words, cwd=SITE, stdout=subprocess.PIPE, text=True)
    try:
        assert site.stdout is not None
        url = f"http://127.0.0.1:{int(site.stdout.readline())}/"
        report = _measure(url, options)
    finally:
        site.terminate()
        site.wait(10)
    print(json.dumps(report))
    return 0 if all(goal["met"] for goal in report["goals"]) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=1, help="parser processes of the crawl")
    return parser.parse_args()


def _measure(url: str, options: argparse.Namespace) -> dict[str, Any]:
    alone: list[Turn] = []
    watched: list[Turn] = []
    for number in range(options.rounds):
        for with_page in (False, True) if number % 2 else (True, False):
            with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
                turn = _turn(url, Path(scratch).resolve() / "workspace", options.processes, with_page=with_page)
            (watched if with_page else alone).append(turn)
            print("with a live page:" if with_page else "alone:", turn, file=sys.stderr)
    costs = [100 * (page.ms_per_url / other.ms_per_url - 1) for page, other in zip(watched, alone, strict=True)]
    cost = round(statistics.median(costs), 2)
    seconds = sum(each.wall_s for each in watched)
    return {
        "benchmark": "live",
        **facts(Path(tempfile.gettempdir())),
        "urls": alone[0].urls,
        "alone": [asdict(each) for each in alone],
        "with_live_page": [asdict(each) for each in watched],
        "ms_per_url_alone": round(statistics.median(each.ms_per_url for each in alone), 3),
        "ms_per_url_with_live_page": round(statistics.median(each.ms_per_url for each in watched), 3),
        "urls_per_cpu_s_alone": round(statistics.median(1000 / each.ms_per_url for each in alone), 1),
        "cost_percent_of_each_round": [round(each, 2) for each in costs],
        "updates_per_s": round(sum(each.updates for each in watched) / seconds, 2),
        "server_cpu_share": round(sum(each.server_cpu_s for each in watched) / seconds, 4),
        "server_cpu_ms_per_update": round(
            1000 * sum(each.server_cpu_s for each in watched) / max(1, sum(each.updates for each in watched)), 2
        ),
        "goals": [
            {"goal": "cost_percent", "at_most": GOAL_PERCENT, "is": cost, "met": cost <= GOAL_PERCENT},
        ],
    }


def _turn(url: str, workspace: Path, processes: int, *, with_page: bool) -> Turn:
    words: list[str | Path] = [
        ORBWEB,
        "crawl",
        url,
        "--project",
        PROJECT,
        "--workspace",
        workspace,
        "--rate",
        "max",
    ]
    words += ["--allow-private", "--processes", str(processes), "--no-progress", "--json"]
    if not with_page:
        return _crawl(words, None)
    server = Server(workspace)
    try:
        return _crawl(words, server)
    finally:
        server.close()


def _crawl(words: list[str | Path], server: Server | None) -> Turn:
    spent, begun = server.cpu_ms if server is not None else 0.0, time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    page = LivePage(server) if server is not None else None
    assert process.stdout is not None
    told = json.loads(process.stdout.read().splitlines()[-1])
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    wall_s = time.perf_counter() - begun
    turn = Turn(told["visited"] + told["failed"], usage.ru_utime + usage.ru_stime, wall_s)
    if server is None or page is None:
        return turn
    cpu_s = (server.cpu_ms - spent) / 1000
    return Turn(turn.urls, turn.cpu_s, wall_s, page.updates, cpu_s, server.rss_mb, page.largest)


if __name__ == "__main__":
    sys.exit(main())
