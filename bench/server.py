"""Server time of every list, of the interface and of the API, on a project of 1,000,000 pages.

Owns the requests and their figures. The workspace is written once by `million_pages.py` and kept in `--cache`; the
served copy of a run is never changed. Always: a real `orbweb serve` on loopback. A time is from the last byte of a
request to the last byte of its response, to the first byte for CSV and JSON twins, on an open connection: what the
server takes and a little more. `cold` is the first request after a start, `warm` the next ones; the processor time
is that of the whole server, passes in the background included. With `exact`, seconds until the page has no count
that is still made. The last line of stdout is one JSON object; the exit code is 1 if a list takes longer.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import million_pages
from million_pages import COMMON, PROJECT, RARE

ORBWEB = Path(sys.executable).with_name("orbweb")
TOKEN = "a-token-of-the-bench"
BAR_MS = 150.0
PATIENCE_S = 900.0
RUN = f"/p/{PROJECT}/runs/latest"
API = f"/api/v1/projects/{PROJECT}"
COUNTING = b"data-counting"
"""What a page has while a count of it is being made."""


@dataclass(frozen=True, slots=True)
class Route:
    """A list, and its route in the application. `is_part`: only its first byte counts. `is_list` False: shown
    beside the lists, and not judged."""

    path: str
    route: str
    is_part: bool = False
    is_list: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    ms: float
    cpu_ms: float
    size: int
    is_counting: bool
    body: bytes


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of a route, in milliseconds; `exact_s` in seconds."""

    path: str
    judged: bool
    cold: float | None
    warm: float
    worst: float
    cpu: float
    kilobytes: float
    exact_s: float

    def is_met(self, judge: str) -> bool:
        took = self.cpu if judge == "cpu" else max(self.cold or 0.0, self.warm)
        return not self.judged or took <= BAR_MS


def routes(pages: int, deep: str) -> list[Route]:
    """Every list; `deep` is where a part far inside the list of pages begins."""
    url = urlencode({"url": million_pages.page_url(pages - 1)})
    common, rare = million_pages.page_url(17).rpartition("/")[2][:6], f"{pages - 1:07}.html"
    lists = "/p/{project}/runs/{run}"
    found = [
        Route("/", "/"),
        Route("/projects.json", "/projects.{suffix}", is_part=True),
        Route(f"/p/{PROJECT}", "/p/{project}"),
        *(Route(f"{RUN}/pages{query}", f"{lists}/pages") for query in (
            "", f"?after={deep}", "?host=docs3.example.org", "?depth=3", "?language=de", "?since=changed",
            "?confidence=low", "?alternates=some", "?host=docs3.example.org&depth=3&language=de", "?sort=tokens",
            "?sort=-tokens", "?sort=-bytes", "?sort=-alternates", "?sort=confidence",
            f"?sort=-tokens&after={deep}",
            f"?q={common}", f"?q={rare}", "?q=nothing+has+these", f"?q={common}&language=fr&sort=-bytes",
        )),
        Route(f"{RUN}/pages.json", f"{lists}/pages.{{suffix}}", is_part=True),
        Route(f"{RUN}/pages.csv?sort=-tokens&language=de", f"{lists}/pages.{{suffix}}", is_part=True),
        *(Route(f"{RUN}/failed{query}", f"{lists}/failed") for query in (
            "", "?kind=http_4xx", "?kind=timeout&host=fails9.example.org", "?since=new", "?since=again",
            "?after=20000",
        )),
        Route(f"{RUN}/failed.json", f"{lists}/failed.{{suffix}}", is_part=True),
        *(Route(f"{RUN}/queue{query}", f"{lists}/queue") for query in (
            "", "?source=redirect", "?source=initial", "?match=/later/11/", "?match=nothing",
        )),
        Route(f"{RUN}/queue.csv", f"{lists}/queue.{{suffix}}", is_part=True),
        *(Route(f"{RUN}/skipped{query}", f"{lists}/skipped") for query in (
            "", "?reason=excluded", "?reason=max_depth", "?reason=trap",
            "?" + urlencode({"reason": "excluded", "rule": "scope.exclude: [?]print=1"}),
        )),
        Route(f"{RUN}/skipped.json?reason=max_depth", f"{lists}/skipped.{{suffix}}", is_part=True),
        *(Route(f"{RUN}/search{query}", f"{lists}/search") for query in (
            "", f"?q={RARE}", f"?q={COMMON}", f"?q={COMMON}+contion", "?q=nothinghasthis",
        )),
        Route(f"{RUN}/search.json?q={RARE}", f"{lists}/search.{{suffix}}", is_part=True),
        Route(f"/search?q={RARE}", "/search"),
        *(Route(f"/p/{PROJECT}/diff/1..2{query}", "/p/{project}/diff/{pair}") for query in ("", "?kind=added")),
        Route(f"/p/{PROJECT}/diff/1..2.json?kind=changed", "/p/{project}/diff/{pair}", is_part=True),
        Route(f"{RUN}/near", f"{lists}/near"),
        Route(f"{RUN}/near.json", f"{lists}/near.{{suffix}}", is_part=True),
        *(Route(f"{RUN}/map{query}", f"{lists}/map") for query in ("", "?section=docs3.example.org/section-4")),
        Route(f"{RUN}/map.json", f"{lists}/map.{{suffix}}", is_part=True),
        *(Route(f"{RUN}/page?{url}{tab}", f"{lists}/page") for tab in (
            "", "&tab=links", "&tab=explain", "&tab=history",
        )),
        Route(f"/p/{PROJECT}/live", "/p/{project}/live"),
        Route(f"/p/{PROJECT}/live.json", "/p/{project}/live.json"),
        Route(f"/p/{PROJECT}/live/rule?kind=exclude&pattern=/later/11/", "/p/{project}/live/rule"),
        Route(f"/p/{PROJECT}/exports", "/p/{project}/exports"),
        Route(f"/p/{PROJECT}/settings", "/p/{project}/settings"),
    ]  # fmt: skip
    below = "/api/v1/projects/{project}"
    found += [
        Route("/api/v1/projects", "/api/v1/projects"),
        Route(API, below),
        Route(f"{API}/status", f"{below}/status", is_list=False),
        Route(f"{API}/state", f"{below}/state"),
        *(
            Route(f"{API}/pages{query}", f"{below}/pages")
            for query in (
                "",
                "?limit=1000",
                "?language=de",
                "?depth=3&status=200",
                "?sort=-tokens",
                "?sort=words",
                "?sort=-bytes",
                "?sort=-depth",
                "?sort=url",
                "?sort=-url",
                "?sort=title",
                f"?q={common}",
                f"?q={rare}",
            )
        ),
        Route(f"{API}/pages.csv", f"{below}/pages.csv", is_part=True),
        Route(f"{API}/failed", f"{below}/failed"),
        Route(f"{API}/failed?kind=timeout&host=fails9.example.org", f"{below}/failed"),
        Route(f"{API}/failed.csv", f"{below}/failed.csv", is_part=True),
        Route(f"{API}/failed/counts", f"{below}/failed/counts"),
        Route(f"/api/v1/queue/{PROJECT}", "/api/v1/queue/{project}"),
        Route(f"/api/v1/queue/{PROJECT}/items", "/api/v1/queue/{project}/items"),
        Route(f"/api/v1/queue/{PROJECT}/items?source=redirect", "/api/v1/queue/{project}/items"),
        Route(f"{API}/runs", f"{below}/runs"),
        Route(f"{API}/crawls", f"{below}/crawls"),
        Route(f"{API}/search?q={RARE}", f"{below}/search"),
        Route(f"{API}/search?q={COMMON}", f"{below}/search"),
        Route(f"{API}/captures?{url}", f"{below}/captures"),
        Route(f"{API}/page?{url}", f"{below}/page"),
        Route(f"{API}/explain?{url}", f"{below}/explain"),
        Route(f"{API}/diff", f"{below}/diff", is_list=False),
        Route("/api/v1/jobs", "/api/v1/jobs"),
        Route("/api/v1/tokens", "/api/v1/tokens"),
    ]
    return found


class Server:
    """A server at work, and an open connection to it."""

    def __init__(self, workspace: Path) -> None:
        environ = {**os.environ, "ORBWEB_TOKEN": TOKEN}
        words = [str(ORBWEB), "serve", "--port", "0", "--workspace", str(workspace)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environ)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("serving "):
            raise SystemExit(f"the server did not start: {line}")
        self.address = line.rpartition("//")[2].strip().rstrip("/")
        self._http = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        while self.get("/api/v1/health").ms > PATIENCE_S:
            pass

    @property
    def cpu_ms(self) -> float:
        """Processor time, to the nanosecond: of all threads that live."""
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1_000_000

    @property
    def rss_mb(self) -> float:
        words = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        return int(words[1]) * os.sysconf("SC_PAGE_SIZE") / 1_000_000

    def get(self, path: str, *, first_byte: bool = False) -> Answer:
        accept = "application/json" if path.startswith("/api/") else "text/html"
        spent = self.cpu_ms
        self._http.request("GET", path, headers={"authorization": f"Bearer {TOKEN}", "accept": accept})
        begun = time.perf_counter()
        response = self._http.getresponse()
        started = time.perf_counter()
        body = response.read()
        ended = time.perf_counter()
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status} {body[:500]!r}")
        took = (started if first_byte else ended) - begun
        return Answer(took * 1000, self.cpu_ms - spent, len(body), COUNTING in body, body)

    def close(self) -> None:
        self._http.close()
        self._process.terminate()
        self._process.wait(60)


@contextmanager
def serving(workspace: Path) -> Iterator[Server]:
    server = Server(workspace)
    try:
        yield server
    finally:
        server.close()


def main() -> int:
    options = _options()
    with _workspace(options) as workspace:
        found = {"benchmark": "server", **facts(workspace), **_measure(workspace, options)}
    print(json.dumps(found))
    return 0 if all(goal["met"] for goal in found["goals"]) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--cache", type=Path, help="directory in which the workspace is kept for the next time")
    parser.add_argument("--times", type=int, default=7, help="warm requests per list")
    parser.add_argument("--only", default="", help="lists whose path has this text")
    parser.add_argument(
        "--judge", choices=("wall", "cpu"), default="wall", help="cpu: where other work keeps the machine busy"
    )
    parser.add_argument("--no-cold", action="store_true", help="do not start the server anew for every list")
    return parser.parse_args()


def facts(workspace: Path) -> dict[str, Any]:
    """The machine; not known without the packages of the extra `bench`, which the smoke test has not."""
    try:
        import machine
    except ModuleNotFoundError:
        return {}
    return {"machine": machine.facts(workspace)}


@contextmanager
def _workspace(options: argparse.Namespace) -> Iterator[Path]:
    if options.cache is None:
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            yield _made(Path(scratch).resolve() / "workspace", options.pages)
        return
    options.cache.mkdir(parents=True, exist_ok=True)
    yield _made(options.cache.resolve() / f"pages-{options.pages}", options.pages)


def _made(path: Path, pages: int) -> Path:
    """The workspace, with its search index, unless an earlier bench made it."""
    done = path.with_suffix(".done")
    if not done.exists():
        shutil.rmtree(path, ignore_errors=True)
        print(f"writing {pages:,} pages to {path}", file=sys.stderr)
        million_pages.make(path, pages)
        print("indexing their text", file=sys.stderr)
        subprocess.run(
            [ORBWEB, "search", PROJECT, RARE, "--workspace", path], check=True, stdout=subprocess.DEVNULL
        )
        done.touch()
    return path


def _measure(workspace: Path, options: argparse.Namespace) -> dict[str, Any]:
    wanted = [each for each in routes(options.pages, str(options.pages * 4 // 5)) if options.only in each.path]
    cold = {} if options.no_cold else {each.path: _cold(workspace, each) for each in wanted}
    rows = []
    print(f"{'cold':>8} {'warm':>8} {'worst':>8} {'cpu':>8} {'kB':>7} {'exact s':>8}")
    with serving(workspace) as server:
        begun_mb = server.rss_mb
        for each in wanted:
            rows.append(_row(server, each, cold.get(each.path), options.times))
            _print(rows[-1], options.judge)
        ended_mb = server.rss_mb
    slow = [row.path for row in rows if not row.is_met(options.judge)]
    return {
        "pages": options.pages,
        "rows": [asdict(row) for row in rows],
        "rss_mb_at_start": round(begun_mb, 1),
        "rss_mb_at_end": round(ended_mb, 1),
        "goals": [{"goal": f"server_{options.judge}_ms", "at_most": BAR_MS, "slow": slow, "met": not slow}],
    }


def _cold(workspace: Path, route: Route) -> float:
    with serving(workspace) as server:
        return server.get(route.path, first_byte=route.is_part).ms


def _row(server: Server, route: Route, cold: float | None, times: int) -> Row:
    begun = time.perf_counter()
    answer = server.get(route.path, first_byte=route.is_part)
    while answer.is_counting and time.perf_counter() - begun < PATIENCE_S:
        time.sleep(0.1)
        answer = server.get(route.path, first_byte=route.is_part)
    exact_s = time.perf_counter() - begun
    warm = [server.get(route.path, first_byte=route.is_part) for _ in range(times)]
    return Row(
        route.path,
        route.is_list,
        None if cold is None else round(cold, 1),
        round(statistics.median(each.ms for each in warm), 1),
        round(max(each.ms for each in warm), 1),
        round(statistics.median(each.cpu_ms for each in warm), 1),
        round(warm[-1].size / 1000, 1),
        round(exact_s, 1),
    )


def _print(row: Row, judge: str) -> None:
    cold = "" if row.cold is None else f"{row.cold:.1f}"
    mark = "" if row.is_met(judge) else "  SLOW"
    print(
        f"{cold:>8} {row.warm:8.1f} {row.worst:8.1f} {row.cpu:8.1f} {row.kilobytes:7.1f} {row.exact_s:8.1f}"
        f"  {row.path}{mark}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
