"""Several pipelines in one workspace, each with a spool and a bookmark of its own; and a bounded backlog."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, assert_books_balance, wait_until
from orbweb.app.doctor import doctor
from orbweb.errors import UsageError
from orbweb.frontier.spool import files as spool_files
from orbweb.frontier.spool.files import SpoolPlace
from servers.pages import chain
from servers.site import StaticSite, serve

FAST: dict[str, Any] = {"rate": "max", "processes": 0, "sitemap": "off"}
OPTIONS = ("--rate", "max", "--processes", 0, "--sitemap", "off", "--no-progress")


def own_place(workspace: Path, project: str) -> SpoolPlace:
    return spool_files.place_of(workspace, project, is_first=False)


def is_sound(workspace: Path) -> bool:
    assert_books_balance(workspace / "orbweb.db")
    return bool(doctor(workspace)["healthy"])


def test_each_pipeline_has_its_spool_and_bookmark(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path)
    with serve(StaticSite(chain(3))) as first, serve(StaticSite(chain(6))) as second:
        space.discover(first.url, project="one", **FAST)
        space.discover(second.url, project="two", **FAST)
        with pytest.raises(UsageError, match=r"has several \(one, two\)"):
            space.scrape()
        assert space.scrape("two").pages == 7
        assert space.scrape("one").pages == 4
        space.discover(project="one", new_run=True)
        assert space.scrape("one").run == 2
    top, below = spool_files.first_place(tmp_path), own_place(tmp_path, "two")
    assert (str(below.discoveries), str(below.bookmark)) == (
        "spool/two/discoveries",
        "state/two/spool_bookmark.json",
    )
    for place, urls in ((top, [first.url] * 8), (below, [second.url] * 7)):
        texts = [line for name in spool_files.names(place) for line in place.path(name).read_text().splitlines()]
        assert len(texts) == len(urls)
        assert all(json.loads(text)["url"].startswith(url) for text, url in zip(texts, urls, strict=True))
        mark = spool_files.read_bookmark(place)
        assert mark is not None
        assert spool_files.unread(place, mark) == 0
    shown = space.status("two").spool
    assert shown is not None
    assert (shown.directory, shown.backlog_lines) == ("spool/two/discoveries", 0)
    assert is_sound(tmp_path)


def test_two_pipelines_work_side_by_side(cli: Cli) -> None:
    with (
        serve(StaticSite(chain(30, delay_s=0.005))) as first,
        serve(StaticSite(chain(40, delay_s=0.005))) as second,
    ):
        words = {name: ("run", server.url, "--project", name) for name, server in (("a", first), ("b", second))}
        both = [cli.start(*each, *OPTIONS) for each in words.values()]
        for process in both:
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
        for name in words:
            cli("scrape", "--project", name, "--no-progress").ok(2)
    assert len(cli.manifest("b")) == 41
    assert is_sound(cli.workspace)


def test_a_pipeline_keeps_its_place_when_the_first_is_deleted_or_it_is_renamed(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path)
    with serve(StaticSite(chain(5))) as server:
        for name in ("one", "two", "three"):
            space.discover(server.url, project=name, **FAST)
        assert space.scrape("two", budget=2).queued == 4
        space.rename("two", "second")
        assert not (tmp_path / "spool" / "two").exists()
        space.delete("one", confirm=lambda _: None)
        assert spool_files.names(spool_files.first_place(tmp_path)) == []
        done = space.scrape("second")
        assert (done.visited, done.exit_code) == (6, 0)
        assert spool_files.read_bookmark(own_place(tmp_path, "second")) is not None
        space.discover(server.url, project="fourth", **FAST)
        assert len(spool_files.names(spool_files.first_place(tmp_path))) == 1, "the top is free again"
        space.delete("three", confirm=lambda _: None)
        assert not (tmp_path / "spool" / "three").exists()
        assert space.scrape("fourth").pages == 6
    assert is_sound(tmp_path)


def test_damage_of_any_spool_is_found_and_repaired(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path)
    with serve(StaticSite(chain(5))) as server:
        for name in ("one", "two"):
            space.discover(server.url, project=name, **FAST)
        place = own_place(tmp_path, "two")
        (name,) = spool_files.names(place)
        whole = place.path(name).read_bytes()
        place.path(name).write_bytes(whole[: whole.index(b"\n") + 1])
        (tmp_path / place.bookmark).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place.bookmark).write_text("{")
        assert {damage["file"] for damage in doctor(tmp_path)["damages"]} == {
            f"spool/two/discoveries/{name}", "state/two/spool_bookmark.json",
        }  # fmt: skip
        assert doctor(tmp_path, repair=True)["healthy"]
        assert place.path(name).read_bytes() == whole
        assert space.scrape("two").pages == 6


@pytest.mark.parametrize("name", ["discoveries", "archive", "spool"])
def test_names_of_projects_do_not_meet_names_of_folders(tmp_path: Path, name: str) -> None:
    space = orbweb.open(tmp_path)
    with serve(StaticSite(chain(2))) as server:
        for project in ("first", name):
            space.discover(server.url, project=project, **FAST)
        assert space.scrape(name).pages == space.scrape("first").pages == 3
    assert is_sound(tmp_path)


# Backpressure.

CAP = 20_000
GROUP = 8
CONFIG = f"spool: {{max_backlog_gb: {CAP / 1e9}}}\nengine: {{group_pages: {GROUP}}}\n"


def longest_line(place: SpoolPlace) -> int:
    return max(
        len(line) for name in spool_files.names(place) for line in place.path(name).read_bytes().splitlines(True)
    )


def test_a_backlog_never_passes_its_cap_by_more_than_one_group(cli: Cli, tmp_path: Path) -> None:
    """A site that is discovered at once and would fill the cap several times; its end waits for room too."""
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    place = spool_files.first_place(cli.workspace)
    with serve(StaticSite(chain(400))) as server:
        found = cli.start("discover", server.url, "--project", "site", *OPTIONS, "--config", config)
        wait_until(lambda: (cli.workspace / "control" / "site.discovery.held").exists())
        wait_until(lambda: spool_files.unread(place, None) > CAP)
        most = CAP + GROUP * longest_line(place)
        assert CAP < spool_files.unread(place, None) <= most
        assert "spool.max_backlog_gb" in cli.ask("status", "site.discovery", "--json").json["held_by"]
        scraper = cli.start("scrape", "--project", "site", "--config", config, "--no-progress")
        seen = 0
        while scraper.poll() is None:
            mark = spool_files.read_bookmark(place)
            unread = spool_files.unread(place, mark)
            if spool_files.read_bookmark(place) == mark:
                seen = max(seen, unread)
        scraper.communicate(timeout=120)
        found.communicate(timeout=120)
        assert (scraper.returncode, found.returncode) == (0, 0)
        assert seen <= most
    assert cli.ask("status", "site", "--json").json["visited"] == 401
    assert is_sound(cli.workspace)


def test_a_discovery_that_is_stopped_while_it_waits_owes_lines_which_the_scraper_writes(
    cli: Cli, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    place = spool_files.first_place(cli.workspace)
    with serve(StaticSite(chain(400))) as server:
        found = cli.start("discover", server.url, "--project", "site", *OPTIONS, "--config", config)
        wait_until(lambda: (cli.workspace / "control" / "site.discovery.held").exists())
        found.send_signal(signal.SIGTERM)
        found.communicate(timeout=120)
        most = CAP + GROUP * longest_line(place)
        assert spool_files.unread(place, None) <= most
        cli("scrape", "--project", "site", "--config", config, "--no-progress").ok(0, 4)
    written = sum(place.path(name).read_bytes().count(b"\n") for name in spool_files.names(place))
    status = cli.ask("status", "site.discovery", "--json").json
    assert written == status["pages"] + status["alternates"]
    assert cli.ask("status", "site", "--json").json["visited"] == written
