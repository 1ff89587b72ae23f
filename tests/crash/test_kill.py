"""R1, R2: kill -9 at any time and at every named point; resume; compare with the run that was never killed."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness import Cli, kill, wait_until
from orbweb.failpoints import POINTS
from servers.graph import GraphSite
from servers.site import Remote, spawn

WINDOW = 64
CONFIG = """
fetch: {backoff_s: 0.02}
engine: {window: 64, group_ms: 50, group_pages: 16}
"""


@dataclass(frozen=True)
class Reference:
    """A site, and the result of the run that was never killed."""

    remote: Remote
    config: Path
    manifest: str
    requests: int

    def crawl(self, *more: object) -> list[object]:
        return [
            "crawl", self.remote.url, "--project", "graph", "--rate", "max", "--workers", 16,
            "--config", self.config, *more,
        ]  # fmt: skip


def _reference(seed: int, pages: int, home: Path, remote: Remote) -> Reference:
    config = home / "config.yaml"
    config.write_text(CONFIG)
    reference = Reference(remote, config, "", len(list(GraphSite(seed, pages).expected(remote.url).requests())))
    cli = Cli(home / "whole")
    cli(*reference.crawl(), "--json", "--no-progress").ok(3)
    cli.check("graph")
    return Reference(remote, config, cli.manifest_hash("graph"), reference.requests)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    with spawn("--seed", "11", "--pages", "2000", "--max-delay-ms", "6", "--jitter-ms", "3") as remote:
        yield _reference(11, 2000, tmp_path_factory.mktemp("large"), remote)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    with spawn("--seed", "5", "--pages", "150", "--max-delay-ms", "2") as remote:
        yield _reference(5, 150, tmp_path_factory.mktemp("small"), remote)


def _finish(cli: Cli, reference: Reference, kills: int, *more: object) -> None:
    """Resume to the end and hold the result against the run that was never killed."""
    status = cli.check("graph")
    assert not status["running"]
    if status["state"] != "completed":
        assert status["state"] == "paused"
        assert status["crawls"][-1]["ended_by"] == "crashed"
        assert status["crawls"][-1]["state"] == "interrupted"
        done = cli(*reference.crawl(*more), "--json", "--no-progress").ok(3)
        assert done.json["ended_by"] == "exhausted"
    status = cli.check("graph")
    assert status["state"] == "completed"
    assert cli.manifest_hash("graph") == reference.manifest
    assert len(reference.remote.log()) <= reference.requests + kills * WINDOW


def _kill_at_random(cli: Cli, reference: Reference, kills: int, seed: int) -> None:
    """Each kill comes after a random number of requests; together they fit into one run."""
    remote = reference.remote
    remote.reset()
    chance = random.Random(seed)
    for _ in range(kills):
        goal = remote.stats()["requests"] + chance.randint(1, reference.requests // kills // 2)
        process = cli.start(*reference.crawl("--processes", chance.choice((0, 1))))
        wait_until(lambda goal=goal: remote.stats()["requests"] >= goal)
        kill(process)
    _finish(cli, reference, kills)


def test_ten_random_kills(large: Reference, cli: Cli) -> None:
    _kill_at_random(cli, large, kills=10, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_two_hundred_random_kills(large: Reference, cli: Cli, seed: int) -> None:
    _kill_at_random(cli, large, kills=10, seed=100 + seed)


def _layouts(point: str) -> tuple[str, ...]:
    return {
        "blob_renamed": ("files",),
        "blob_written": ("segments", "files"),
        "blob_synced": ("segments", "files"),
    }.get(point, ("segments",))


OTHERS = ("documents_", "export_", "rules_", "upgrade_", "spool_", "bookmark_", "waiting_", "delete_", "rename_")
CRAWL_POINTS = [point for point in POINTS if not point.startswith(OTHERS)]
CASES = [(point, layout) for point in CRAWL_POINTS for layout in _layouts(point)]


def _kill_at_point(cli: Cli, reference: Reference, point: str, layout: str, hit: int) -> bool:
    """Whether the point was reached so often."""
    reference.remote.reset()
    crawl = reference.crawl("--store", layout, "--processes", 0)
    killed = cli(*crawl, "--json", "--no-progress", env={"ORBWEB_FAULT": f"{point}:{hit}"})
    if killed.code == -signal.SIGKILL:
        _finish(cli, reference, 1, "--store", layout)
        return True
    killed.ok(3)
    return False


@pytest.mark.parametrize(("point", "layout"), CASES)
def test_killed_at_the_first_hit_of_every_point(small: Reference, cli: Cli, point: str, layout: str) -> None:
    assert _kill_at_point(cli, small, point, layout, 1)


@pytest.mark.long
@pytest.mark.parametrize("hit", [2, 3, 4, 5])
@pytest.mark.parametrize(("point", "layout"), CASES)
def test_killed_at_later_hits_of_every_point(
    small: Reference, cli: Cli, point: str, layout: str, hit: int
) -> None:
    reached = _kill_at_point(cli, small, point, layout, hit)
    assert reached or point in ("run_created", "crawl_ended")


LIMIT = 60


@pytest.fixture(scope="module")
def limited(small: Reference, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The manifest of the run with a page limit that was never killed."""
    cli = Cli(tmp_path_factory.mktemp("limited") / "whole")
    done = cli(*small.crawl("--page-limit", LIMIT), "--json", "--no-progress").ok(0, 3)
    assert (done.json["ended_by"], done.json["pages"]) == ("page_limit", LIMIT)
    assert done.json["alternates"] > 0
    return cli.manifest_hash("graph")


@pytest.mark.parametrize("fault", ["page_settled:30", "rows_written:2", "group_committed:3"])
def test_killed_with_a_page_limit(small: Reference, limited: str, cli: Cli, fault: str) -> None:
    crawl = small.crawl("--page-limit", LIMIT, "--processes", 0)
    small.remote.reset()
    assert cli(*crawl, "--no-progress", env={"ORBWEB_FAULT": fault}).code == -signal.SIGKILL
    done = cli.resume("graph").ok(0, 3)
    assert (done.json["ended_by"], done.json["pages"]) == ("page_limit", LIMIT)
    assert done.json["bases"][0]["remaining"] == 0
    cli.check("graph")
    assert cli.manifest_hash("graph") == limited
