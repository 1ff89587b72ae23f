"""kill -9 of either service while the other runs: no line lost or doubled, each URL visited once."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness import Cli, kill, wait_until
from orbweb.app.doctor import doctor
from orbweb.frontier.spool import files as spool_files
from servers.site import Remote, spawn

CONFIG = """
fetch: {backoff_s: 0.02}
engine: {window: 32, group_ms: 20, group_pages: 8}
spool: {rotate_mb: 0.004}
"""
DISCOVERY = "site.discovery"


@dataclass(frozen=True)
class Reference:
    """A site, and what services that were never killed make of it."""

    remote: Remote
    config: Path
    found: str
    scraped: str
    urls: tuple[str, ...]

    def discover(self) -> list[object]:
        return ["discover", self.remote.url, "--project", "site", *self._pace()]

    def go_on(self) -> list[object]:
        return ["resume", DISCOVERY]

    def _pace(self) -> list[object]:
        return ["--rate", "max", "--workers", 8, "--processes", 0, "--config", self.config]


def _lines(workspace: Path) -> tuple[str, ...]:
    """The URLs of the spool, every line of which must be whole."""
    folder = workspace / spool_files.DISCOVERIES
    texts = [(folder / name).read_bytes() for name in spool_files.names(spool_files.first_place(workspace))]
    assert all(text.endswith(b"\n") for text in texts if text)
    return tuple(json.loads(line)["url"] for text in texts for line in text.splitlines())


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    with spawn("--seed", "17", "--pages", "400", "--max-delay-ms", "8", "--jitter-ms", "4") as remote:
        home = tmp_path_factory.mktemp("reference")
        config = home / "config.yaml"
        config.write_text(CONFIG)
        bare = Reference(remote, config, "", "", ())
        with closing(Cli(home / "whole")) as cli:
            cli(*bare.discover(), "--no-progress").ok(3)
            cli("scrape", "--no-progress").ok(0)
            manifests = cli.manifest_hash(DISCOVERY), cli.manifest_hash("site")
        urls = _lines(home / "whole")
        assert len(urls) == len(set(urls)) > 250
        yield Reference(remote, config, *manifests, urls)


def _state(cli: Cli, project: str) -> str:
    asked = cli.ask("status", project, "--json") if (cli.workspace / "orbweb.db").exists() else None
    return str(asked.json.get("state", "")) if asked is not None and asked.code == 0 else ""


class Services:
    """Two processes that are started again whenever they have gone."""

    def __init__(self, cli: Cli, reference: Reference) -> None:
        self._cli, self._reference = cli, reference
        self.running: dict[str, subprocess.Popen[str]] = {}

    def keep_up(self) -> None:
        for name in ("discover", "scrape"):
            process = self.running.get(name)
            if process is not None and process.poll() is None:
                continue
            if process is not None:
                kill(process)
                assert process.returncode in (-signal.SIGKILL, 0, 2, 3, 4), process.returncode
            self._start(name)

    def _start(self, name: str) -> None:
        self.running.pop(name, None)
        state = _state(self._cli, DISCOVERY)
        if name == "scrape" and state:
            self.running[name] = self._cli.start("scrape")
        elif name == "discover" and state != "completed":
            words = self._reference.go_on() if state else self._reference.discover()
            self.running[name] = self._cli.start(*words)

    def kill(self, name: str) -> None:
        if name in self.running:
            kill(self.running[name])

    def close(self) -> None:
        for process in self.running.values():
            process.communicate(timeout=120)


def _finish(cli: Cli, reference: Reference) -> None:
    if _state(cli, DISCOVERY) != "completed":
        words = reference.go_on() if _state(cli, DISCOVERY) else reference.discover()
        cli(*words, "--no-progress").ok(3)
    if _state(cli, "site") != "completed":
        cli("scrape", "--no-progress").ok(0)
    else:
        cli("scrape", "--no-progress").ok(0, 2)
    with (cli.workspace / "logs" / "pages-site-1.csv").open(newline="", encoding="utf-8") as table:
        assert [row["url"] for row in csv.DictReader(table)] == [line[1] for line in cli.manifest("site")]
    assert _lines(cli.workspace) == reference.urls
    assert cli.manifest_hash(DISCOVERY) == reference.found
    assert cli.manifest_hash("site") == reference.scraped
    mark = spool_files.read_bookmark(spool_files.first_place(cli.workspace))
    assert mark is not None
    assert spool_files.usable(spool_files.first_place(cli.workspace), mark) is None
    assert spool_files.unread(spool_files.first_place(cli.workspace), mark) == 0
    for project in ("site", DISCOVERY):
        cli.check(project)
    assert doctor(cli.workspace)["healthy"]


def _kill_at_random(cli: Cli, reference: Reference, kills: int, seed: int) -> None:
    remote, chance = reference.remote, random.Random(seed)
    remote.reset()
    with closing(Services(cli, reference)) as services:
        for _ in range(kills):
            services.keep_up()
            goal = remote.stats()["requests"] + chance.randint(1, max(2, len(reference.urls) // kills))
            wait_until(lambda goal=goal: _is_over(cli) or remote.stats()["requests"] >= goal)
            services.kill(chance.choice(("discover", "scrape")))
    _finish(cli, reference)


def _is_over(cli: Cli) -> bool:
    return _state(cli, "site") == "completed"


def test_random_kills_of_either_service(reference: Reference, cli: Cli) -> None:
    _kill_at_random(cli, reference, kills=6, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_thirty_random_kills_of_either_service(reference: Reference, cli: Cli, seed: int) -> None:
    _kill_at_random(cli, reference, kills=30, seed=100 + seed)


@pytest.mark.parametrize(
    "fault", ["spool_written:1", "spool_written:4", "spool_synced:2", "crawl_ended:1", "group_committed:5"]
)
def test_discovery_killed_at_a_point(reference: Reference, cli: Cli, fault: str) -> None:
    assert cli(*reference.discover(), env={"ORBWEB_FAULT": fault}).code == -signal.SIGKILL
    _finish(cli, reference)


@pytest.mark.parametrize(
    "fault", ["bookmark_written:1", "bookmark_written:3", "group_committed:4", "crawl_ended:1"]
)
def test_a_scraper_killed_at_a_point(reference: Reference, cli: Cli, fault: str) -> None:
    cli(*reference.discover(), "--no-progress").ok(3)
    assert cli("scrape", env={"ORBWEB_FAULT": fault}).code == -signal.SIGKILL
    _finish(cli, reference)


def test_lines_that_a_killed_discovery_owes_are_written_by_the_next(reference: Reference, cli: Cli) -> None:
    assert cli(*reference.discover(), env={"ORBWEB_FAULT": "crawl_ended:1"}).code == -signal.SIGKILL
    assert len(_lines(cli.workspace)) < len(reference.urls)
    cli(*reference.discover(), "--budget", 3, "--no-progress").ok(4)
    assert len(_lines(cli.workspace)) == len(reference.urls) + 3
    assert cli("scrape", "--json", "--no-progress").ok(4).json["run"] == 2
    assert cli.ask("runs", "site", "--json").json[0]["state"] == "completed"
