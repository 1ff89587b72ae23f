"""Files that follow a crawl, killed at any time: afterwards each visit is in each of them once, in order."""

from __future__ import annotations

import csv
import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Cli, kill, wait_until
from servers.site import Remote, spawn

CONFIG = "fetch: {backoff_s: 0.02}\nengine: {window: 64, group_ms: 20, group_pages: 8}\n"
FILES = ("logs/pages-graph-1.csv", "logs/edges-graph-1.csv", "metadata/crawl_metadata-graph-1.jsonl")


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    with spawn("--seed", "5", "--pages", "150", "--max-delay-ms", "2") as found:
        yield found


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


def words(remote: Remote, config: Path) -> list[object]:
    return ["crawl", remote.url, "--project", "graph", "--rate", "max", "--workers", 16, "--config", config]


def check(cli: Cli) -> None:
    """Each file is what the database makes of it, and in the order of the manifest."""
    found = {name: (cli.workspace / name).read_bytes() for name in FILES}
    urls = [line[1] for line in cli.manifest("graph")]
    with (cli.workspace / FILES[0]).open(newline="", encoding="utf-8") as stream:
        assert [row["url"] for row in csv.DictReader(stream)] == urls
    assert [json.loads(line)["url"] for line in found[FILES[2]].splitlines()] == urls
    cli("replay", "graph", "--no-progress").ok()
    assert {name: (cli.workspace / name).read_bytes() for name in FILES} == found


MOMENTS = [
    *((point, hit) for point in ("output_appended", "output_synced", "group_committed") for hit in (1, 2, 5)),
    ("crawl_ended", 1),
]


@pytest.mark.parametrize(("point", "hit"), MOMENTS)
def test_a_kill_at_a_point_leaves_no_row_out_and_none_twice(
    remote: Remote, config: Path, cli: Cli, point: str, hit: int
) -> None:
    asked = words(remote, config)
    done = cli(*asked, "--json", "--no-progress", env={"ORBWEB_FAULT": f"{point}:{hit}"})
    assert done.code == -signal.SIGKILL
    if cli.check("graph")["state"] == "paused":
        cli(*asked, "--json", "--no-progress").ok(3)
    else:
        cli.resume("graph").ok(2)
    check(cli)


def test_kills_at_random(remote: Remote, config: Path, cli: Cli) -> None:
    chance = random.Random(3)
    remote.reset()
    asked = words(remote, config)
    for _ in range(8):
        goal = remote.stats()["requests"] + chance.randint(1, 15)
        process = cli.start(*asked)
        wait_until(lambda goal=goal: remote.stats()["requests"] >= goal)
        kill(process)
        if chance.random() < 0.5:
            path = cli.workspace / chance.choice(FILES)
            if path.exists():
                data = path.read_bytes()
                path.write_bytes(data[: chance.randrange(len(data) + 1)])
    cli(*asked, "--json", "--no-progress").ok(3)
    check(cli)
