"""R9, R10: the wall clock is wrong or jumps. No host is requested before its Retry-After, none much later.

libfaketime moves the wall clock of the crawl alone; the monotonic one stays real.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path

import pytest

from harness import Cli, Result, kill, wait_until
from servers.pages import chain, page
from servers.site import Answer, Hit, Request, StaticSite, serve

pytestmark = pytest.mark.skipif(
    shutil.which("faketime") is None,
    reason="faketime is not on the PATH (apt-get install faketime): clock jumps are NOT checked",
)

FAST = ("--rate", "max", "--sitemap", "off", "--project", "site", "--workers", 1)
PAUSE_S = 2
LATE_S = 30.0
"""Far less than any jump, far more than a busy machine needs."""
JUMPS = ("+1h", "-1h", "+1d", "-1d")


class Clock:
    """The wall clock of a crawl, which a test moves."""

    def __init__(self, home: Path) -> None:
        self._file = home / "clock"
        self.set("+0")
        library = subprocess.run(
            ["faketime", "-f", "+0", "printenv", "LD_PRELOAD"], capture_output=True, text=True, check=True
        )
        self.env: Mapping[str, str] = {
            "LD_PRELOAD": library.stdout.strip(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, offset: str) -> None:
        beside = self._file.with_suffix(".new")
        beside.write_text(offset)
        beside.replace(self._file)


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


def busy_until(_request: Request) -> Answer:
    """Retry-After as a date of this server's clock; dates have whole seconds."""
    now = time.time()
    headers = (
        ("Date", formatdate(now, usegmt=True)),
        ("Retry-After", formatdate(int(now) + PAUSE_S, usegmt=True)),
        ("Content-Type", "text/plain"),
    )
    return Answer(429, headers, b"busy")


def once(first: Callable[[Request], Answer], then: Answer) -> Callable[[Request], Answer]:
    return lambda request: first(request) if request.nth == 1 else then


def pause(hits: tuple[Hit, ...]) -> float:
    return next(after.at - hit.at for hit, after in pairwise(hits) if hit.status == 429)


def test_the_clock_of_the_crawl_is_moved(clock: Clock) -> None:
    """Otherwise the others prove nothing."""
    show = "import time; print(time.time(), time.monotonic())"
    clock.set("+1d")
    shown = subprocess.run(
        ["python3", "-c", show], capture_output=True, text=True, check=True, env={**os.environ, **clock.env}
    )
    wall, monotonic = map(float, shown.stdout.split())
    assert wall - time.time() > 80_000
    assert abs(monotonic - time.monotonic()) < 1_000


@pytest.mark.parametrize("offset", JUMPS)
def test_a_date_is_obeyed_by_a_crawl_whose_clock_is_wrong(cli: Cli, clock: Clock, offset: str) -> None:
    clock.set(offset)
    site = chain(3)
    site["/2"] = once(busy_until, site["/2"])
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, *FAST, env=dict(clock.env)).ok(0)
        waited = pause(server.log)
    assert PAUSE_S <= waited < LATE_S
    assert done.json["visited"] == 4


@pytest.mark.parametrize("offset", JUMPS)
def test_a_jump_changes_no_pause(cli: Cli, clock: Clock, offset: str) -> None:
    """Of a host in strict order, whose URL is deferred meanwhile."""
    site = {"/": page("start", "/busy", "/ok"), "/busy": once(busy_until, page("at last")), "/ok": page("ok")}
    env = {**clock.env, "ORBWEB_ENGINE__DEFER_S": "0.3", "ORBWEB_ENGINE__GROUP_MS": "10"}
    with serve(StaticSite(site)) as server:
        crawl = cli.start("crawl", server.url, *FAST, env=env)
        wait_until(lambda: any(hit.status == 429 for hit in server.log))
        wait_until(lambda: has_deferred(cli))
        clock.set(offset)
        out, err = crawl.communicate(timeout=120)
        waited = pause(server.log)
    assert Result(crawl.returncode, out, err).ok(0).json["visited"] == 3
    assert PAUSE_S <= waited < LATE_S


@pytest.mark.parametrize("offset", ["+1h", "-1h"])
def test_a_jump_between_two_processes_changes_no_pause(cli: Cli, clock: Clock, offset: str) -> None:
    site = {"/": page("start", "/busy", "/ok"), "/busy": once(busy_until, page("at last")), "/ok": page("ok")}
    env = {**clock.env, "ORBWEB_ENGINE__DEFER_S": "0.3", "ORBWEB_ENGINE__GROUP_MS": "10"}
    with serve(StaticSite(site)) as server:
        crawl = cli.start("crawl", server.url, *FAST, env=env)
        wait_until(lambda: has_deferred(cli))
        kill(crawl)
        clock.set(offset)
        cli.resume("site", env=env).ok(0)
        waited = pause(server.log)
    assert PAUSE_S <= waited < LATE_S
    assert cli.check("site")["visited"] == 3


def has_deferred(cli: Cli) -> bool:
    """Whether a URL with a due time is written down."""
    if not (cli.workspace / "orbweb.db").exists():
        return False
    with closing(sqlite3.connect(cli.workspace / "orbweb.db", timeout=10)) as db:
        try:
            return bool(db.execute("SELECT COUNT(*) FROM urls WHERE due_at IS NOT NULL").fetchone()[0])
        except sqlite3.OperationalError:
            return False
