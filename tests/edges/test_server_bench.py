"""The bench of the server, on a small project: it measures every list, and every list answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import orbweb.server.ui
import server as bench
from serving import served

ROOT = Path(bench.__file__).parent
NO_LISTS = {
    "/login",
    "/favicon.ico",
    "/keys",
    "/new",
    "/tokens",
    "/p/{project}/compare",
    "/p/{project}/delete",
    "/p/{project}/finish",
    "/p/{project}/exports/{number}/file",
    "/p/{project}/live/events",
    "/p/{project}/live/rate.json",
    "/p/{project}/web/{url:path}",
    "/p/{project}/runs/{run}/map.svg",
    "/p/{project}/runs/{run}/page/markdown",
    "/p/{project}/runs/{run}/page/original",
}
"""Forms, files, streams and redirects."""


def measured() -> set[str]:
    return {each.route for each in bench.routes(1000, "1")}


def test_every_list_of_the_interface_is_measured() -> None:
    pages = Path(orbweb.server.ui.__file__).parent.glob("*.py")
    found = {path for page in pages for path in re.findall(r'@router.get\("([^"]*)"', page.read_text())}
    assert found - measured() == NO_LISTS & found


def test_every_list_of_the_api_is_measured(tmp_path: Path) -> None:
    with served(tmp_path / "w") as running:
        paths = running.get("/openapi.json")["paths"]
    assert {path.removesuffix(".csv") for path in paths if path.endswith(".csv")} <= measured()


def test_the_bench_measures_a_small_project() -> None:
    words = [sys.executable, ROOT / "server.py", "--pages", "400", "--no-cold", "--times", "1", "--judge", "cpu"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["rows"]) == len(bench.routes(400, "1"))
    assert done.returncode == 0, found["goals"]
