"""Whole trees of documentation, served by a real web server: every page, every broken link, and nothing else.

The trees are Debian packages. One that is not installed is fetched with apt and unpacked, never installed.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

from harness import Cli
from nginx import serving

ROOT = Path(__file__).parents[2]
TRUTH_FILE = ROOT.parent / "shared" / "corpora" / "crawl-trees" / "truth.json.gz"
PACKAGES = ROOT / "build" / "packages"
SPELLED_TWICE = {"git-doc": 1}
"""External URLs that the truth counts twice: with a slash at the end and without. For us they have one key."""

if not TRUTH_FILE.is_file():
    pytest.skip(f"{TRUTH_FILE} is missing: whole trees are NOT checked", allow_module_level=True)

TRUTH: dict[str, Any] = json.loads(gzip.decompress(TRUTH_FILE.read_bytes()))


class Missing(Exception):
    """Why a tree cannot be crawled, and what to do about it."""


class Served(NamedTuple):
    """Where the trees are, one directory a package, and why some are not there."""

    url: str
    missing: dict[str, str]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not on the PATH (apt-get install nginx): whole trees are NOT checked")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        trees: dict[str, Path] = {}
        missing: dict[str, str] = {}
        for package in TRUTH:
            try:
                trees[package] = tree_of(package, home / "unpacked")
            except Missing as error:
                missing[package] = str(error)
        with serving(trees, home) as site:
            yield Served(site.url, missing)


def tree_of(package: str, unpacked: Path) -> Path:
    """The directory of the tree of the truth: as it is installed, else as it is in the package."""
    truth = TRUTH[package]
    installed = Path("/") / truth["root"]
    if (installed / truth["stats"]["start"]).is_file():
        tree = installed
    else:
        run("dpkg-deb", "-x", package_file(package), unpacked)
        tree = unpacked / truth["root"]
    files = len(list(tree.rglob("*.html")))
    absent = [page for page in truth["pages"] if not (tree / unquote(page)).is_file()]
    if files != truth["stats"]["html_files_on_disk"] or absent:
        raise Missing(
            f"{package} is not the version of the truth: {tree} has {files} HTML files, lacks {absent[:3]}"
        )
    return tree


def package_file(package: str) -> Path:
    PACKAGES.mkdir(parents=True, exist_ok=True)
    if not (found := sorted(PACKAGES.glob(f"{package}_*.deb"))):
        run("apt-get", "download", "-qq", package)
        found = sorted(PACKAGES.glob(f"{package}_*.deb"))
    return found[-1]


def run(*command: object) -> None:
    line = " ".join(map(str, command))
    try:
        done = subprocess.run(
            [str(part) for part in command], cwd=PACKAGES, capture_output=True, text=True, timeout=120
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"`{line}` cannot be run: {error}") from error
    if done.returncode:
        raise Missing(f"`{line}` failed (apt-get update first?): {done.stderr.strip()[-200:]}")


@pytest.mark.parametrize("package", TRUTH)
def test_a_whole_tree_is_crawled_to_the_last_page(package: str, served: Served, cli: Cli) -> None:
    if package in served.missing:
        pytest.skip(f"{served.missing[package]}: the tree of {package} is NOT checked")
    truth, stats = TRUTH[package], TRUTH[package]["stats"]
    base = f"{served.url}{package}/"
    report = cli.crawl(base + stats["start"], "--project", "tree", "--rate", "max", "--workers", 16).ok(0, 3).json
    visits = [
        (place, url.removeprefix(base), status, role) for place, url, status, _, _, role, _ in cli.manifest("tree")
    ]
    pages = {url: place for place, url, _, role in visits if role != "-"}

    assert set(pages) == set(truth["pages"])
    assert {url: status for _, url, status, _ in visits if status != "200"} == dict.fromkeys(
        truth["broken"], "404"
    )
    assert len(visits) == stats["pages"] + stats["non_html"] + stats["broken"]
    assert max(int(place.partition(":")[0]) for place in pages.values()) == stats["max_depth"]
    assert (report["pages"], report["alternates"]) == (
        stats["unique_content"],
        stats["pages"] - stats["unique_content"],
    )
    assert report["skipped"] == {"out_of_scope": stats["external"] - SPELLED_TWICE.get(package, 0)}
    assert (report["failed"], report["queued"], report["ended_by"]) == (stats["broken"], 0, "exhausted")
    cli.check("tree")
