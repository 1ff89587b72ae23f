"""The bookmark means scraped: it is the first line that is not durable, and it may be set by hand."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, assert_books_balance
from orbweb.app.doctor import doctor
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import SpoolPlace
from servers.pages import chain
from servers.site import Server, StaticSite, serve

FAST: dict[str, Any] = {"rate": "max", "processes": 0, "sitemap": "off"}
PAGES = 10


class Spooled:
    """A site of ten pages, discovered and not scraped."""

    def __init__(self, server: Server, workspace: Path) -> None:
        self.server = server
        self.space = orbweb.open(workspace)
        self.workspace = workspace
        self.space.discover(server.url, project="site", **FAST)
        self.server.reset()

    @property
    def place(self) -> SpoolPlace:
        return spool_files.first_place(self.workspace)

    def starts(self) -> list[int]:
        """Where each line starts, and where the last one ends."""
        (name,) = spool_files.names(self.place)
        found = [0]
        for line in self.place.path(name).read_bytes().splitlines(keepends=True):
            found.append(found[-1] + len(line))
        return found

    def mark(self) -> int:
        """The number of the line that the bookmark is at."""
        return self.starts().index(json.loads((self.workspace / spool_files.BOOKMARK).read_text())["offset"])

    def set_mark(self, line: int) -> None:
        (name,) = spool_files.names(self.place)
        path = self.workspace / spool_files.BOOKMARK
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"file": name, "offset": self.starts()[line]}))

    def unscraped(self) -> int | None:
        spool = self.space.status("site.discovery").spool
        assert spool is not None
        return spool.backlog_lines

    def asked(self) -> Counter[str]:
        return Counter(hit.path for hit in self.server.log if hit.path != "/robots.txt")

    def is_sound(self) -> bool:
        assert_books_balance(self.workspace / "orbweb.db")
        return bool(doctor(self.workspace)["healthy"])


@pytest.fixture
def spooled(tmp_path: Path) -> Iterator[Spooled]:
    with serve(StaticSite(chain(PAGES - 1))) as server:
        yield Spooled(server, tmp_path / "ws")


def test_the_bookmark_is_the_first_line_that_is_not_scraped(spooled: Spooled) -> None:
    assert spooled.unscraped() == PAGES
    for scraped in (4, 5, 8):
        done = spooled.space.scrape(budget=scraped - (spooled.mark() if spooled.unscraped() != PAGES else 0))
        assert (done.visited, spooled.mark(), spooled.unscraped()) == (scraped, scraped, PAGES - scraped)
    assert spooled.space.scrape().exit_code == 0
    assert (spooled.mark(), spooled.unscraped()) == (PAGES, 0)
    assert set(spooled.asked().values()) == {1}
    assert spooled.is_sound()


def test_a_line_that_fails_is_scraped_and_one_of_another_depth_holds_the_bookmark(tmp_path: Path) -> None:
    """Lines are visited by depth: the first of these last."""
    with serve(StaticSite(chain(4))) as server:
        spool = tmp_path / "spool"
        spool.mkdir()
        lines = [{"url": f"{server.url}{n}", "depth": depth} for n, depth in ((1, 5), (2, 0), ("gone", 0), (3, 0))]
        (spool / "discoveries-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        space = orbweb.open(tmp_path / "ws")
        options: dict[str, Any] = {"spool": spool, "trust": [f"private={server.url.split('/')[2]}"], "rate": "max"}
        done = space.scrape("site", budget=3, processes=0, **options)
        assert (done.visited, done.failed) == (2, 1)
        mark = json.loads((tmp_path / "ws" / spool_files.BOOKMARK).read_text())
        assert mark["offset"] == 0, "the first line is not scraped"
        assert space.scrape("site", processes=0, **options).visited == 3
    mark = json.loads((tmp_path / "ws" / spool_files.BOOKMARK).read_text())
    assert mark["offset"] == (spool / "discoveries-1.jsonl").stat().st_size


@pytest.mark.parametrize("back_to", [0, 2])
@pytest.mark.parametrize("scraped", [4, PAGES])
def test_set_back_only_what_was_not_scraped_is(spooled: Spooled, back_to: int, scraped: int) -> None:
    spooled.space.scrape(budget=scraped)
    spooled.set_mark(back_to)
    assert spooled.unscraped() == PAGES - back_to
    done = spooled.space.scrape()
    assert (done.visited, done.run, done.run_state) == (PAGES, 1, "completed")
    assert set(spooled.asked().values()) == {1}
    assert spooled.mark() == PAGES
    assert spooled.is_sound()


@pytest.mark.parametrize("scraped", [0, 4])
def test_set_forward_what_lies_before_is_skipped(spooled: Spooled, scraped: int) -> None:
    if scraped:
        spooled.space.scrape(budget=scraped)
    spooled.set_mark(7)
    done = spooled.space.scrape()
    base = 1 if not scraped else 0
    assert done.skipped == {"before_bookmark": 7 - scraped - base}
    assert (done.visited, done.run_state, done.exit_code) == (scraped + 3 + base, "completed", 0)
    assert spooled.mark() == PAGES
    told = spooled.space.explain("site", f"{spooled.server.url}6")
    assert (told.reason, "state/spool_bookmark.json" in (told.rule or "")) == ("before_bookmark", True)
    assert spooled.is_sound()
    spooled.set_mark(0)
    again = spooled.space.scrape()
    assert (again.visited, again.skipped) == (PAGES, {}), "set back, they are scraped after all"
    assert set(spooled.asked().values()) == {1}
    assert spooled.is_sound()


def test_set_to_the_end_nothing_is_left(spooled: Spooled) -> None:
    spooled.space.scrape(budget=4)
    spooled.set_mark(PAGES)
    done = spooled.space.scrape()
    assert (done.visited, done.skipped) == (4, {"before_bookmark": PAGES - 4})
    assert spooled.unscraped() == 0


@pytest.mark.parametrize("fault", ["group_committed:3", "bookmark_written:1", "crawl_ended:1"])
def test_killed_between_scrape_and_bookmark_nothing_is_skipped_or_doubled(
    spooled: Spooled, tmp_path: Path, fault: str
) -> None:
    config = tmp_path / "small.yaml"
    config.write_text("engine: {group_pages: 1, window: 8}\n")
    cli = Cli(spooled.workspace)
    options = ("--config", config, "--no-progress")
    assert cli("scrape", *options, env={"ORBWEB_FAULT": fault}).code == -signal.SIGKILL
    scraped = spooled.space.status("site").visited
    path = spooled.workspace / spool_files.BOOKMARK
    assert not path.exists() or spooled.mark() <= scraped, "never ahead"
    done = cli("scrape", *options, "--json")
    assert done.code in (0, 2), "complete, or it was complete already"
    status = spooled.space.status("site")
    assert (status.visited, status.state, status.skipped) == (PAGES, "completed", {})
    assert spooled.is_sound()


def test_a_retried_line_before_the_bookmark_is_scraped(tmp_path: Path) -> None:
    site = chain(3)
    with serve(StaticSite(site)) as server:
        spooled = Spooled(server, tmp_path / "ws")
        kept = site.pop("/1")
        assert spooled.space.scrape().failed == 1
        site["/1"] = kept
        spooled.space.retry("site")
        done = spooled.space.scrape()
    assert (done.visited, done.failed, done.skipped) == (4, 0, {})


def test_a_long_spool_is_marked_on_the_way(cli: Cli, tmp_path: Path) -> None:
    """Every hundred lines, though never all that were read are scraped."""
    lines = 260
    with serve(StaticSite(chain(lines))) as server:
        spool = tmp_path / "spool"
        spool.mkdir()
        texts = [json.dumps({"url": f"{server.url}{n}"}) + "\n" for n in range(1, lines + 1)]
        (spool / "discoveries-1.jsonl").write_text("".join(texts))
        config = tmp_path / "small.yaml"
        config.write_text("engine: {group_pages: 20}\n")
        trust = f"private={server.url.split('/')[2]}"
        words = ["scrape", "--project", "site", "--spool", spool, "--rate", "max", "--processes", 0]
        words += ["--config", config, "--trust", trust, "--no-progress"]
        killed = cli(*words, env={"ORBWEB_FAULT": "bookmark_written:3"})
        assert killed.code == -signal.SIGKILL
        mark = json.loads((cli.workspace / spool_files.BOOKMARK).read_text())
        at = (spool / "discoveries-1.jsonl").read_bytes()[: mark["offset"]].count(b"\n")
        assert 200 <= at < lines
        cli(*words).ok(0)
    assert len(cli.manifest("site")) == lines
