"""R2: the end of a run is one transaction. Wherever a kill falls, a paused run has something left to visit.

A filter page links to many URLs with one parameter more. Two of them are followed; the rest waits until nothing
else is queued, and has its turn then. A recrawl that has read everything marks what it cannot reach any more.
"""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

import orbweb
from harness import Cli
from servers.pages import page
from servers.site import Server, StaticSite, serve

TEXTS = {
    "brand": "Kettles of every maker",
    "colour": "Red, green and blue spoons",
    "price": "What a pan costs today",
    "size": "Large pots for soup",
}
FILTERED = {f"/new?{name}=1&sort=one": page(text) for name, text in TEXTS.items()}
GONE = [f"/gone?{name}=1&sort=one" for name in TEXTS]
SITE = {
    "/": page("start", "/new?sort=one", "/gone?sort=one"),
    "/new?sort=one": page("All of them", *FILTERED),
    "/gone?sort=one": page("Gone", *GONE),
    **FILTERED,
}
POINTS = ("page_settled", "rows_written", "waiting_released", "group_committed", "crawl_ended")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(StaticSite(SITE)) as found:
        yield found


def check_left(cli: Cli) -> bool:
    """Whether there is something left; a run without it is completed."""
    status = cli.check("p")
    assert (status["state"], status["queued"] > 0) in (("paused", True), ("completed", False))
    return status["state"] == "paused"


def crawl(path: Path, server: Server, fault: str = "") -> Cli | None:
    """The workspace of a crawl; None if it was not killed where it was to be."""
    with closing(Cli(path)) as cli:
        options = ("--project", "p", "--rate", "max", "--sitemap", "off", "--processes", 0)
        done = cli.crawl(server.url, *options, env={"ORBWEB_FAULT": fault, "ORBWEB_ENGINE__GROUP_PAGES": "4"})
        return cli if done.ok(3, -signal.SIGKILL).code == (-signal.SIGKILL if fault else 3) else None


@pytest.fixture(scope="module")
def whole(server: Server, tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The visits of the run that was never killed."""
    cli = crawl(tmp_path_factory.mktemp("waiting") / "whole", server)
    assert cli is not None
    visits = cli.manifest("p")
    assert len(visits) == len(SITE) + len(GONE)
    assert [line[1].rpartition("/")[2] for line in visits[-2:]] == [path[1:] for path in GONE[2:]]
    return visits


@pytest.mark.parametrize("point", POINTS)
def test_killed_wherever_it_is_what_waited_is_visited(
    tmp_path: Path, server: Server, whole: list[list[str]], point: str
) -> None:
    for hit in count(9 if point == "page_settled" else 1):
        cli = crawl(tmp_path / str(hit), server, f"{point}:{hit}")
        if cli is None:
            break
        if check_left(cli):
            assert orbweb.open(cli.workspace).resume("p").skipped == {}
            cli.check("p")
        assert cli.manifest("p") == whole
    assert hit > 1


@pytest.mark.parametrize("point", ["rows_written", "group_committed"])
def test_a_recrawl_killed_at_its_end_has_not_read_everything_yet(tmp_path: Path, point: str) -> None:
    pages = {"/": page("start", "/1", "/2"), "/1": page("one"), "/2": page("two")}
    with serve(StaticSite(pages)) as server, closing(Cli(tmp_path / "before")) as cli:
        cli.crawl(server.url, "--project", "p", "--rate", "max", "--sitemap", "off", "--processes", 0).ok(0)
        pages["/"] = page("start", "/1")
        for hit in count(1):
            again = Cli(shutil.copytree(cli.workspace, tmp_path / str(hit)))
            done = again("recrawl", "p", "--json", "--no-progress", env={"ORBWEB_FAULT": f"{point}:{hit}"})
            if check_left(again):
                orbweb.open(again.workspace).resume("p")
            with closing(sqlite3.connect(again.workspace / "orbweb.db")) as db:
                unlinked = "SELECT key FROM urls WHERE run_id = 2 AND carried = 'unlinked'"
                assert db.execute(unlinked).fetchall() == [(f"{server.url}2",)]
            if done.code == 0:
                break
    assert hit > 1 or point == "group_committed"
