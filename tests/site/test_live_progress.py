"""What a running crawl is doing, as its caller and other processes see it, and what a killed one leaves behind."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, kill, wait_until
from orbweb.app.live_progress import ProgressFile, read_progress
from orbweb.engine.control import ControlFiles
from orbweb.events import HostQueue, OpenRequest, Snapshot
from servers.pages import chain, page
from servers.site import StaticSite, serve

OPTIONS = ("--rate", "max", "--project", "site", "--sitemap", "off")
HANGS_S = 120.0
SNAPSHOT = Snapshot(
    visited=3,
    failed=1,
    queued=5,
    pages=2,
    skipped=4,
    settled=4,
    in_flight=1,
    seconds=2.0,
    budget=None,
    held=False,
    stopping=False,
    in_progress=(OpenRequest("http://a.test/slow", 1.5),),
    slowest=(HostQueue("a.test:80", 4, 0.1, 0.5),),
)


def hanging(number: int) -> StaticSite:
    """A page with links to pages that do not respond."""
    slow = [f"/slow{at}" for at in range(number)]
    return StaticSite({"/": page("start", *slow), **{path: page(path, delay_s=HANGS_S) for path in slow}})


def in_progress(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli.ask("status", "site", "--json").ok().json["inProgress"]
    return found


def test_another_process_sees_which_urls_hang_and_for_how_long(cli: Cli) -> None:
    with serve(hanging(2)) as server:
        process = cli.start("crawl", server.url, *OPTIONS)
        hung = [f"{server.url}slow{at}" for at in range(2)]
        wait_until(lambda: (cli.workspace / "orbweb.db").exists() and cli.ask("status", "site").code == 0)
        wait_until(lambda: [each["url"] for each in in_progress(cli)] == hung)
        first = in_progress(cli)
        wait_until(lambda: in_progress(cli)[0]["age_s"] > first[0]["age_s"] + 1.0)
        assert all(set(each) == {"url", "age_s"} for each in first)
        shown = cli.ask("status", "site").ok().out
        assert f": {hung[0]}\n" in shown
        assert "  in progress for " in shown
        (whole,) = cli.ask("status", "--json").ok().json
        assert [each["url"] for each in whole["inProgress"]] == hung
        now = orbweb.open(cli.workspace).snapshot("site")
        assert now is not None
        assert (now.found, now.visited, now.queued, now.in_flight, now.state) == (3, 1, 2, 2, "in_progress")
        kill(process)


def test_what_a_killed_crawl_left_behind_is_not_believed(cli: Cli) -> None:
    left = cli.workspace / "control" / "site.progress"
    with serve(hanging(1)) as server:
        process = cli.start("crawl", server.url, *OPTIONS)
        wait_until(lambda: left.exists() and [each["url"] for each in in_progress(cli)] == [f"{server.url}slow0"])
        kill(process)
        assert b"slow0" in left.read_bytes(), "nobody could remove it"
        status = cli.ask("status", "site", "--json").ok().json
        assert (status["running"], status["state"], status["inProgress"]) == (False, "paused", [])
        assert "in progress" not in cli.ask("status", "site").ok().out.replace("in_progress", "")
        assert orbweb.open(cli.workspace).snapshot("site") is None
        again = cli.start("resume", "site")
        wait_until(lambda: [each["url"] for each in in_progress(cli)] == [f"{server.url}slow0"])
        assert json.loads(left.read_bytes())["pid"] == again.pid
        kill(again)
    cli("finish", "site").ok()
    with serve(StaticSite(chain(2))) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "other").ok(0)
    assert not (cli.workspace / "control" / "other.progress").exists()


def test_a_snapshot_names_every_url_in_progress(tmp_path: Path) -> None:
    space, seen = orbweb.open(tmp_path / "w"), list[orbweb.Snapshot]()
    with serve(hanging(20)) as server:
        crawl = space.start(
            server.url, project="site", rate="max", workers=20, sitemap="off", on_progress=seen.append
        )
        wait_until(lambda: seen and len(seen[-1].in_progress) == 20)
        assert [each.url for each in seen[-1].in_progress] == [f"{server.url}slow{at}" for at in range(20)]
        ages = [each.age_s for each in seen[-1].in_progress]
        assert ages == sorted(ages, reverse=True)
        wait_until(lambda: len(space.status("site").in_progress) == 20)
        assert space.stop("site")
        crawl.result(timeout=120)
    assert space.status("site").in_progress == ()


# The record.


def saved(tmp_path: Path, **changes: Any) -> ControlFiles:
    control = ControlFiles(tmp_path, "site")
    ProgressFile(control, 7, clock=lambda: 1_000_000_000).watch(replace(SNAPSHOT, **changes))
    return control


def read(control: ControlFiles, owner: int | None = None, crawl: int = 7, now: int = 1_000_000_000) -> Any:
    return read_progress(control, owner=owner or os.getpid(), crawl_id=crawl, now=now)


def test_the_record_is_the_whole_snapshot_and_ages(tmp_path: Path) -> None:
    control = saved(tmp_path)
    assert read(control) == SNAPSHOT
    assert (SNAPSHOT.found, SNAPSHOT.rate, SNAPSHOT.state) == (13, 2.0, "in_progress")
    (aged,) = read(control, now=1_000_000_000 + 2_500_000).in_progress
    assert aged == OpenRequest("http://a.test/slow", 4.0)
    assert read(control, now=5) == SNAPSHOT, "a clock that was set back makes nothing younger than it was"
    assert read(saved(tmp_path, held=True, held_by="x")).state == "on_hold"
    assert read(saved(tmp_path, held=True, stopping=True)).state == "stopping"
    assert (tmp_path / "control" / "site.progress").stat().st_mode & 0o777 == 0o600


def test_only_the_record_of_the_crawl_that_runs_is_believed(tmp_path: Path) -> None:
    control = saved(tmp_path)
    assert read(control, owner=os.getpid() + 1) is None
    assert read(control, crawl=8) is None, "the same process id, which was given again"
    control.save_progress(None)
    assert read(control) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "null", "{}", '{"pid": 1}', '{"snapshot": {}}', "\udc80", '{"at": "x"}']
)
def test_a_damaged_record_is_none(tmp_path: Path, text: str) -> None:
    control = saved(tmp_path)
    known = json.loads((control.progress() or b"").decode())
    control.save_progress(text.encode(errors="surrogateescape"))
    assert read(control) is None
    for name in ("at", "snapshot"):
        control.save_progress(json.dumps({**known, name: text.encode(errors="replace").decode()}).encode())
        assert read(control) is None
    control.save_progress(json.dumps({**known, "snapshot": {**known["snapshot"], "unknown": 1}}).encode())
    assert read(control) is None


def test_it_is_written_a_few_times_a_second_and_nothing_depends_on_it(tmp_path: Path) -> None:
    control, times = ControlFiles(tmp_path, "site"), iter([0, 100_000, 240_000, 260_000, 300_000, 520_000, 5])
    now = [0]
    file, written = ProgressFile(control, 7, clock=lambda: 10_000_000 + now[0]), list[int]()
    for at in times:
        now[0] = at
        file.watch(SNAPSHOT)
        written.append(json.loads(control.progress() or b"")["at"] - 10_000_000)
    assert written == [0, 0, 0, 260_000, 260_000, 520_000, 5]
    control.save_progress(None)
    (tmp_path / "control" / "site.progress").mkdir()
    now[0] = 9_000_000
    file.watch(SNAPSHOT)
    control.save_progress(None)
    with pytest.raises(orbweb.ForeignFile, match=r"site\.progress: is a directory"):
        read(control)
