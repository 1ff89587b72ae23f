"""A program that consumes a stream is killed, started again, and gets each page that it has not acknowledged.

It appends each URL to a file, which is its effect, and acknowledges the page. So a kill may double the page
between both, and no other; none is lost, and no run is crawled twice.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import orbweb
from harness import popen
from servers.pages import chain
from servers.site import Server, StaticSite, serve

PAGES = 40
PROGRAM = textwrap.dedent("""
    import os, signal, sys
    import orbweb
    url, home, where, number = sys.argv[1:]
    log = os.open(f"{home}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def die(here, at):
        if (here, at) == (where, int(number)):
            os.kill(os.getpid(), signal.SIGKILL)

    pages = orbweb.crawl_iter(url, workspace=f"{home}/w", project="site", rate="max", cursor="mine")
    for at, page in enumerate(pages, 1):
        die("before", at)
        os.write(log, f"{page.url}\\n".encode())
        die("between", at)
        page.ack()
        die("after", at)
    print("done")
""")
FAILPOINTS = (
    *("run_created:1", "page_settled:3", "blob_written:2", "blob_synced:2", "rows_written:2"),
    *("group_committed:1", "group_committed:3", "crawl_ended:1", "output_synced:1"),
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(StaticSite(chain(PAGES - 1))) as found:
        yield found


def start(url: str, home: Path, where: str = "", at: int = 0, fault: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, url, str(home), where, str(at)]
    return popen(command, cwd=home, env={"ORBWEB_FAULT": fault, "ORBWEB_ENGINE__GROUP_PAGES": "4"})


def finish(url: str, home: Path) -> None:
    """Run the same program again, to its end."""
    out, err = start(url, home).communicate(timeout=120)
    assert (out, err) == ("done\n", "")


def is_ended(home: Path) -> bool:
    """Whether the stream is known to have ended; started once more, the program would begin a new run."""
    stored = home / "w/state/site.mine.cursor"
    return stored.exists() and bool(json.loads(stored.read_bytes())["ended"])


def given(home: Path) -> Counter[str]:
    return Counter((home / "log").read_text().split() if (home / "log").exists() else ())


def check(url: str, home: Path, *, doubled: int) -> None:
    """Every page was given, and no more than so many of them twice; there is one run."""
    found = given(home)
    assert set(found) == {url, *(f"{url}{number}" for number in range(1, PAGES))}
    assert found.total() - PAGES <= doubled, found.most_common(3)
    assert orbweb.open(home / "w").status("site").run == 1


@pytest.mark.parametrize("where", ["before", "between", "after"])
@pytest.mark.parametrize("at", [1, 2, 17, PAGES])
def test_killed_at_a_page(tmp_path: Path, server: Server, where: str, at: int) -> None:
    killed = start(server.url, tmp_path, where, at)
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    finish(server.url, tmp_path)
    check(server.url, tmp_path, doubled=int(where == "between"))


@pytest.mark.parametrize("fault", FAILPOINTS)
def test_killed_where_durability_changes(tmp_path: Path, server: Server, fault: str) -> None:
    killed = start(server.url, tmp_path, fault=fault)
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    finish(server.url, tmp_path)
    check(server.url, tmp_path, doubled=1)


def test_killed_at_random_again_and_again(tmp_path: Path, server: Server) -> None:
    chance, kills = random.Random(18), 0
    for _ in range(12):
        process = start(server.url, tmp_path)
        time.sleep(chance.uniform(0.2, 1.5))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=120)
        if is_ended(tmp_path):
            break
        kills += 1
    else:
        finish(server.url, tmp_path)
    check(server.url, tmp_path, doubled=kills)
