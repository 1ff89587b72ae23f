"""P2: the same site gives the same result with any number of workers and processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Cli
from servers.graph import Expected, GraphSite
from servers.site import Remote, spawn

SEED, PAGES = 7, 2000


@pytest.fixture(scope="module")
def site() -> Iterator[Remote]:
    with spawn("--seed", str(SEED), "--pages", str(PAGES), "--max-delay-ms", "4", "--jitter-ms", "2") as remote:
        yield remote


@pytest.fixture(scope="module")
def expected(site: Remote) -> Expected:
    return GraphSite(SEED, PAGES).expected(site.url)


def crawl(cli: Cli, site: Remote, workers: int, processes: int) -> None:
    site.reset()
    options = ("--project", "graph", "--rate", "max", "--workers", workers, "--processes", processes)
    done = cli.crawl(site.url, *options, env={"ORBWEB_FETCH__BACKOFF_S": "0.05"}).ok(3)
    assert done.json["ended_by"] == "exhausted"
    cli.check("graph")


def test_exact_set_order_and_roles(tmp_path: Path, site: Remote, expected: Expected) -> None:
    cli = Cli(tmp_path / "w")
    crawl(cli, site, 16, 1)
    report = cli.check("graph")
    lines = cli.manifest("graph")
    assert [(line[1], line[5]) for line in lines] == [(visit.url, visit.role) for visit in expected.visits]
    assert report["pages"] == expected.pages
    assert report["alternates"] == expected.alternates
    assert report["discovered"] == expected.discovered
    assert sorted(hit.path for hit in site.log()) == sorted(expected.requests())


COMBINATIONS = ((1, 0), (4, 1), (32, 2), (32, 0), (4, 2), (1, 1))


def _hashes(tmp_path: Path, site: Remote) -> set[str]:
    hashes = set()
    for workers, processes in COMBINATIONS:
        cli = Cli(tmp_path / f"w{workers}-{processes}")
        crawl(cli, site, workers, processes)
        hashes.add(cli.manifest_hash("graph"))
    return hashes


def test_manifest_is_identical_for_any_parallelism(tmp_path: Path, site: Remote) -> None:
    assert len(_hashes(tmp_path, site)) == 1


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_sixty_crawls_are_identical(tmp_path: Path, site: Remote) -> None:
    found = set()
    for round_ in range(10):
        (tmp_path / str(round_)).mkdir()
        found |= _hashes(tmp_path / str(round_), site)
    assert len(found) == 1
