"""Signals and control files in any order: a crawl is held exactly while a file says so, and ends as it was told.

The services run in this process, whose main thread catches the signals; another thread sends them.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import assert_books_balance
from orbweb.app import CrawlResult
from orbweb.events import Snapshot
from servers.pages import Unending
from servers.site import serve

SEQUENCES = 25
PATIENCE_S = 90.0
CONFIG = "limits: {rate: %s, workers: %d}\nengine: {group_ms: 20}\nsitemap: {mode: 'off'}\n"
HARMLESS = (signal.SIGHUP, signal.SIGUSR1)
ENDINGS: tuple[int | str, ...] = (signal.SIGTERM, signal.SIGINT, "stop", "stop.{own}")


@pytest.fixture(autouse=True)
def _no_signal_ends_the_tests() -> Iterator[None]:
    before = {
        number: signal.signal(number, lambda *_: None) for number in (*HARMLESS, signal.SIGTERM, signal.SIGINT)
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Operator:
    """Does what a sequence says to a service at work, and compares what it sees with what it expects."""

    def __init__(self, workspace: Path, config: Path, own: str, chance: random.Random) -> None:
        self._workspace, self._config, self._own, self._chance = workspace, config, own, chance
        self._now: Snapshot | None = None
        self.problems: list[str] = []

    def watch(self, now: Snapshot) -> None:
        self._now = now

    def work(self) -> None:
        try:
            self._wait("at work", lambda: self._now is not None)
            for _ in range(self._chance.randint(0, 5)):
                self._chance.choice((self._pause, self._unpause, self._others, self._signal))()
                self._wait("as the files say", lambda: self._held() == bool(self._files()))
        finally:
            self._end()

    def _held(self) -> bool:
        return self._now is not None and self._now.held

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                self.problems.append(f"not {what}: {self._now}, files {self._files()}")
                return
            time.sleep(0.005)

    def _files(self) -> list[Path]:
        names = ("pause", f"pause.{self._own}", "control/site.pause")
        return [path for name in names if (path := self._workspace / name).exists()]

    def _pause(self) -> None:
        (self._workspace / self._chance.choice(("pause", f"pause.{self._own}"))).touch()

    def _unpause(self) -> None:
        for path in self._files():
            path.unlink()

    def _others(self) -> None:
        other = {"crawler": "scraper", "scraper": "crawler"}[self._own]
        (self._workspace / self._chance.choice((f"pause.{other}", f"stop.{other}"))).touch()

    def _signal(self) -> None:
        self._config.write_text(CONFIG % (self._chance.choice((500, 700)), self._chance.randint(1, 4)))
        os.kill(os.getpid(), self._chance.choice(HARMLESS))

    def _end(self) -> None:
        how = self._chance.choice(ENDINGS)
        if isinstance(how, int):
            os.kill(os.getpid(), how)
        else:
            (self._workspace / how.format(own=self._own)).touch()


def _play(operator: Operator, serve_on: Callable[[Callable[[Snapshot], None]], CrawlResult]) -> CrawlResult:
    thread = threading.Thread(target=operator.work)
    thread.start()
    try:
        return serve_on(operator.watch)
    finally:
        thread.join()


def _clean(workspace: Path) -> set[str]:
    """Remove what is left at the top of the workspace; what it was."""
    left = [path for kind in ("pause", "stop") for path in workspace.glob(f"{kind}*")]
    for path in left:
        path.unlink()
    return {path.name for path in left}


@pytest.mark.parametrize("role", ["crawl", "discover", "scrape"])
@pytest.mark.parametrize("seed", [1, 2])
def test_random_sequences_end_in_the_right_state(tmp_path: Path, role: str, seed: int) -> None:
    chance, config = random.Random(f"{role} {seed}"), tmp_path / "config.yaml"
    config.write_text(CONFIG % (500, 2))
    there = orbweb.open(tmp_path / "ws")
    own = "scraper" if role == "scrape" else "crawler"
    with serve(Unending(delay_s=0.002)) as server:
        options: dict[str, Any] = {"processes": 0, "config": config}
        if role == "scrape":
            there.discover(server.url, project="site", budget=3, **options)
        verbs: dict[str, Callable[[Any], CrawlResult]] = {
            "crawl": lambda watch: there.crawl(server.url, project="site", on_progress=watch, **options),
            "discover": lambda watch: there.discover(server.url, project="site", on_progress=watch, **options),
            "scrape": lambda watch: there.scrape(follow=True, on_progress=watch, **options),
        }
        for number in range(SEQUENCES):
            operator = Operator(tmp_path / "ws", config, own, chance)
            done = _play(operator, verbs[role])
            assert operator.problems == [], number
            assert (done.ended_by, done.run_state, done.exit_code) == ("cancelled", "paused", 4), number
            left = _clean(tmp_path / "ws")
            assert not left & {"stop", f"stop.{own}"}, number
    assert not list((tmp_path / "ws" / "control").glob("*"))
    assert_books_balance(tmp_path / "ws" / "orbweb.db")
