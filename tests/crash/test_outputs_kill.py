"""Files that follow a crawl, killed at any time: afterwards each visit is in each of them once, in order."""

from __future__ import annotations

import csv
import json
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness import Cli, kill, wait_until
from orbweb.app.doctor import doctor
from servers.pages import page
from servers.site import Remote, StaticSite, serve, spawn

CONFIG = "fetch: {backoff_s: 0.02}\nengine: {window: 64, group_ms: 20, group_pages: 8}\n"
SLOW = replace(page("slow"), delay_s=1.0)
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
    assert doctor(cli.workspace)["damages"] == []
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
    assert doctor(cli.workspace)["damages"] == []
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


def rows(cli: Cli) -> list[tuple[str, str]]:
    """URL and status of each row of the pages table, which must be the lines of the metadata as well."""
    with (cli.workspace / FILES[0]).open(newline="", encoding="utf-8") as stream:
        found = [(row["url"], row["http_status"]) for row in csv.DictReader(stream)]
    lines = map(json.loads, (cli.workspace / FILES[2]).read_bytes().splitlines())
    assert [(line["url"], str(line["http_status"])) for line in lines] == found
    return found


def killed_behind(cli: Cli, config: Path, url: str, fault: str) -> None:
    """A crawl that is killed when two visits are committed, and no row of them is written."""
    config.write_text("engine: {group_ms: 5000, group_pages: 2}\n")
    words = ("--project", "graph", "--rate", "max", "--sitemap", "off", "--config", config, "--processes", 0)
    done = cli("crawl", url, *words, "--no-progress", env={"ORBWEB_FAULT": fault})
    assert done.code == -signal.SIGKILL
    assert len(cli.manifest("graph")) == 2
    assert rows(cli) == []


@pytest.mark.parametrize(
    ("fault", "links"), [("crawl_ended:1", ["/gone"]), ("group_committed:1", ["/gone", "/slow"])]
)
def test_a_failure_that_is_retried_after_a_kill_has_its_row(
    cli: Cli, config: Path, fault: str, links: list[str]
) -> None:
    with serve(StaticSite({"/": page("start", *links), "/slow": SLOW})) as server:
        killed_behind(cli, config, server.url, fault)
        assert cli("retry", "graph", "--json").ok().json["queued"] == 1
        cli.resume("graph").ok(3)
        gone = (f"{server.url}gone", "404")
        assert [row for row in rows(cli) if "slow" not in row[0]] == [(server.url, "200"), gone, gone]


def test_a_run_that_is_given_up_after_a_kill_has_all_rows(cli: Cli, config: Path) -> None:
    with serve(StaticSite({"/": page("start", "/gone", "/slow"), "/slow": SLOW})) as server:
        killed_behind(cli, config, server.url, "group_committed:1")
        cli("crawl", server.url, "--project", "graph", "--new-run", "--no-progress").ok(3)
        assert rows(cli) == [(server.url, "200"), (f"{server.url}gone", "404")]
