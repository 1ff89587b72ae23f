"""Discovery and scraping as two services on one workspace: the same pages as one crawl, whoever waits for whom."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, assert_books_balance, trust, wait_until
from orbweb.app import CrawlResult
from orbweb.app.doctor import doctor
from orbweb.errors import NothingToDo, UsageError
from orbweb.frontier.spool import files as spool_files
from servers.graph import GraphSite
from servers.pages import Unending, chain
from servers.site import Answer, Server, StaticSite, Validated, serve

FAST: dict[str, Any] = {"rate": "max", "processes": 0, "sitemap": "off"}
OPTIONS = ("--rate", "max", "--processes", 0, "--sitemap", "off")
SECRETIVE = ("captured_at", "redirects")


def discover(workspace: Path, url: str | tuple[str, ...] = (), **options: Any) -> CrawlResult:
    return orbweb.open(workspace).discover(url, project="site", **{**FAST, **options})


def scrape(workspace: Path, **options: Any) -> CrawlResult:
    return orbweb.open(workspace).scrape(**options)


def pages(workspace: Path, project: str = "site", run: int | None = None) -> list[dict[str, Any]]:
    """Without redirects: in a pipeline they are visits of its discovery."""
    found = [each.report() for each in orbweb.open(workspace).pages(project, run=run)]
    for each in found:
        each["alternates"] = [url for url in each["alternates"] if url not in each["redirects"]]
    return [{key: value for key, value in each.items() if key not in SECRETIVE} for each in found]


def lines(workspace: Path) -> list[dict[str, Any]]:
    folder = workspace / spool_files.DISCOVERIES
    return [
        json.loads(line)
        for name in spool_files.names(spool_files.first_place(workspace))
        for line in (folder / name).read_text().splitlines()
    ]


def bookmark(workspace: Path) -> Path:
    return workspace / spool_files.BOOKMARK


def sound(workspace: Path) -> bool:
    assert_books_balance(workspace / "orbweb.db")
    return bool(doctor(workspace)["healthy"])


@pytest.fixture
def graph() -> Iterator[tuple[GraphSite, Server]]:
    site = GraphSite(21, 250)
    with serve(site) as server:
        yield site, server


@pytest.mark.parametrize("order", ["strict", "relaxed"])
def test_both_modes_give_the_same_pages(graph: tuple[GraphSite, Server], tmp_path: Path, order: str) -> None:
    _, server = graph
    orbweb.open(tmp_path / "one").crawl(server.url, project="site", order=order, **FAST)
    found = discover(tmp_path / "two", server.url, order=order)
    done = scrape(tmp_path / "two")
    assert (done.run_state, done.ended_by, done.queued) == ("completed", "exhausted", 0)
    whole = pages(tmp_path / "one")
    assert len(whole) > 100
    assert any(page["alternates"] for page in whole)
    assert pages(tmp_path / "two") == whole
    assert found.failed > 0
    assert [line["url"] for line in lines(tmp_path / "two")] == list(dict.fromkeys(
        line["url"] for line in lines(tmp_path / "two")
    )), "each page once"  # fmt: skip
    assert done.visited == found.pages + found.alternates == len(lines(tmp_path / "two"))
    assert sound(tmp_path / "two")


def test_discovery_keeps_no_bodies_and_scraping_follows_no_links(tmp_path: Path) -> None:
    site = chain(3)
    with serve(StaticSite(site)) as server:
        discover(tmp_path, server.url)
        assert not any((tmp_path / "store").rglob("*.seg"))
        server.reset()
        site["/"] = Answer(200, site["/"].headers, site["/"].body + b'<a href="/new">new</a>')
        done = scrape(tmp_path)
    assert sorted(hit.path for hit in server.log if hit.path != "/robots.txt") == ["/", "/1", "/2", "/3"]
    assert done.skipped == {"left_to_discovery": 1}
    told = orbweb.open(tmp_path).explain("site", f"{server.url}new")
    assert (told.reason, "discovery" in (told.rule or "")) == ("left_to_discovery", True)
    assert sound(tmp_path)


def test_a_base_url_that_redirects_and_sitemaps_and_depths_survive_the_spool(tmp_path: Path) -> None:
    from servers.pages import page
    from servers.site import redirect, text

    site: dict[str, Any] = {
        "/": redirect("/docs/"),
        "/docs/": page("start", "/docs/a", "/docs/r"),
        "/docs/a": page("a", "/docs/b"),
        "/docs/b": page("b"),
        "/docs/r": redirect("/docs/target"),
        "/docs/target": page("target"),
        "/docs/listed": page("listed"),
    }
    with serve(StaticSite(site)) as server:
        site["/sitemap.xml"] = text(f"{server.url}docs/listed\n")
        orbweb.open(tmp_path / "one").crawl(server.url, project="site", rate="max", processes=0)
        discover(tmp_path / "two", server.url, sitemap="auto")
        done = scrape(tmp_path / "two")
    assert pages(tmp_path / "two") == pages(tmp_path / "one")
    assert done.exit_code == 0
    by_path = {line["url"].rpartition("/")[2]: line for line in lines(tmp_path / "two")}
    assert {name: line["depth"] for name, line in by_path.items()} == {
        "": 0, "a": 1, "b": 2, "target": 1, "listed": 1,
    }  # fmt: skip
    assert by_path["target"]["referrer"] == f"{server.url}docs/"
    assert sound(tmp_path / "two")


def test_a_second_discovery_gives_a_second_run_with_conditional_requests(tmp_path: Path) -> None:
    with serve(Validated(StaticSite(chain(5)))) as server:
        discover(tmp_path, server.url)
        scrape(tmp_path)
        with pytest.raises(NothingToDo):
            scrape(tmp_path)
        server.reset()
        discover(tmp_path, server.url, new_run=True)
        done = scrape(tmp_path)
        assert (done.run, done.not_modified, done.pages) == (2, 6, 6)
        assert Counter(hit.status for hit in server.log if hit.path != "/robots.txt") == {304: 12}
        orbweb.open(tmp_path).recrawl("site.discovery")
        assert scrape(tmp_path).run == 3
    assert pages(tmp_path, run=3) == [{**page, "status": 304} for page in pages(tmp_path, run=1)]
    assert sound(tmp_path)


def test_a_discovery_with_a_budget_is_scraped_portion_by_portion(tmp_path: Path) -> None:
    with serve(StaticSite(chain(9))) as server:
        assert discover(tmp_path, server.url, budget=4).exit_code == 4
        first = scrape(tmp_path)
        assert (first.ended_by, first.run_state, first.visited, first.exit_code) == ("drained", "paused", 4, 4)
        with pytest.raises(UsageError, match=r"use `scrape\(project='site'\)`"):
            orbweb.open(tmp_path).resume("site")
        assert discover(tmp_path, budget=None).exit_code == 0
        assert (again := scrape(tmp_path)).exit_code == 0
    assert (again.run, again.visited, again.crawl_visited) == (1, 10, 6)
    assert sound(tmp_path)


def test_rules_that_are_for_discovery_leave_what_is_fed_alone(tmp_path: Path) -> None:
    config = tmp_path / "rules.yaml"
    config.write_text(
        "limits: {page_limit: 1}\nsitemap: {mode: only}\nscope: {exclude: ['/7$']}\n"
        "policy: {scores: [{pattern: '/9$', score: 9}], groups: [{name: all, pattern: '/', caps: {pages: 1}}]}\n"
    )
    with serve(StaticSite(chain(9))) as server:
        discover(tmp_path / "space", server.url)
        assert scrape(tmp_path / "space", budget=3).queued == 7
        told = orbweb.open(tmp_path / "space").rules("site", config=config)
        assert (told.skipped, told.queued, told.in_force) == ({"excluded": 1}, 6, True)
        first = orbweb.open(tmp_path / "space").queue("site").next[0]
    assert (first.url, first.place) == (f"{server.url}3", "1:3")
    assert sound(tmp_path / "space")


def test_what_discovery_finds_later_for_a_scraped_run_is_scraped_too(tmp_path: Path) -> None:
    site: dict[str, Any] = dict(chain(3))
    page = site.pop("/3")
    with serve(StaticSite(site)) as server:
        discover(tmp_path, server.url)
        assert scrape(tmp_path).pages == 3
        site["/3"] = page
        orbweb.open(tmp_path).retry("site.discovery")
        orbweb.open(tmp_path).resume("site.discovery")
        done = scrape(tmp_path)
    assert (done.run, done.run_state, done.pages) == (1, "completed", 4)
    assert sound(tmp_path)


@pytest.mark.parametrize("damage", ["missing", "broken", "of another file", "inside a line", "beyond the end"])
def test_a_bookmark_that_is_of_no_use_restarts_without_doubling(tmp_path: Path, damage: str) -> None:
    with serve(StaticSite(chain(9))) as server:
        discover(tmp_path, server.url)
        assert scrape(tmp_path, budget=4).exit_code == 4
        mark = json.loads(bookmark(tmp_path).read_text())
        made = {
            "broken": "{",
            "of another file": json.dumps({**mark, "file": "discoveries-1.jsonl"}),
            "inside a line": json.dumps({**mark, "offset": 7}),
            "beyond the end": json.dumps({**mark, "offset": 1 << 40}),
        }
        bookmark(tmp_path).unlink() if damage == "missing" else bookmark(tmp_path).write_text(made[damage])
        done = scrape(tmp_path)
    assert (done.visited, done.crawl_visited, done.exit_code) == (10, 6, 0)
    asked = Counter(hit.path for hit in server.log if hit.path not in ("/robots.txt", "/"))
    assert set(asked.values()) == {2}, "once by each service"
    folder = tmp_path / spool_files.DISCOVERIES
    (name,) = spool_files.names(spool_files.first_place(tmp_path))
    assert json.loads(bookmark(tmp_path).read_text()) == {"file": name, "offset": (folder / name).stat().st_size}
    assert sound(tmp_path)


@pytest.mark.parametrize(
    ("keep", "left", "archived"), [("all", True, False), ("archive", False, True), ("none", False, False)]
)
def test_consumed_files_are_kept_archived_or_deleted(
    tmp_path: Path, keep: str, left: bool, archived: bool
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"spool: {{rotate_mb: 0.0001, keep: {keep}}}\nengine: {{group_pages: 2}}\n")
    with serve(StaticSite(chain(9))) as server:
        discover(tmp_path / "ws", server.url, config=config)
        begun = spool_files.names(spool_files.first_place(tmp_path / "ws"))
        assert len(begun) > 1
        assert scrape(tmp_path / "ws").visited == 10
    there = spool_files.names(spool_files.first_place(tmp_path / "ws"))
    assert there == (begun if left else begun[-1:])
    assert spool_files.archived(spool_files.first_place(tmp_path / "ws")) == (begun[:-1] if archived else [])


@pytest.mark.parametrize("damage", ["flipped", "cut", "deleted"])
def test_a_damaged_spool_costs_no_page(tmp_path: Path, damage: str) -> None:
    with serve(StaticSite(chain(9))) as server:
        discover(tmp_path, server.url)
        (path,) = (tmp_path / spool_files.DISCOVERIES).iterdir()
        text = bytearray(path.read_bytes())
        for place in range(100, len(text), 150):
            text[place] ^= 0x55
        path.unlink() if damage == "deleted" else path.write_bytes(text if damage == "flipped" else text[:500])
        done = scrape(tmp_path)
    assert (done.visited, done.exit_code) == (10, 0)
    assert len(pages(tmp_path)) == 10
    assert sound(tmp_path) == (damage == "deleted")
    assert doctor(tmp_path, repair=True)["left"] == []
    assert sound(tmp_path)


def test_lines_that_are_made_by_hand_are_scraped(tmp_path: Path) -> None:
    with serve(StaticSite(chain(3))) as server:
        discover(tmp_path, server.url, max_depth=0)
        by_hand = "".join(json.dumps({"url": f"{server.url}{n}", "depth": 1}) + "\n" for n in (2, 3))
        (tmp_path / spool_files.DISCOVERIES / "discoveries-9999999999.jsonl").write_text(by_hand)
        config = tmp_path / "deeper.yaml"
        config.write_text("limits: {max_depth: 3}\n")
        done = scrape(tmp_path, config=config)
    assert [page["url"].rpartition("/")[2] for page in pages(tmp_path)] == ["", "2", "3"]
    assert done.exit_code == 0


def test_projects_of_a_pipeline_are_not_crawled_otherwise(tmp_path: Path) -> None:
    with serve(StaticSite(chain(1))) as server:
        there = orbweb.open(tmp_path)
        there.crawl(server.url, project="whole", **FAST)
        with pytest.raises(UsageError, match="crawled without discovery"):
            there.discover(server.url, project="whole", **FAST)
        discover(tmp_path, server.url)
        with pytest.raises(UsageError, match=r"use `scrape\(project='site'\)`"):
            there.crawl(project="site")
        scrape(tmp_path)
        for call in (there.recrawl, there.resume):
            with pytest.raises(UsageError, match=r"use `scrape\(project='site'\)`"):
                call("site")
        with pytest.raises(UsageError, match="stores no page bodies, so there is nothing to re-extract"):
            there.extract("site.discovery")


# Side by side, as processes.


def status(cli: Cli, project: str) -> dict[str, Any]:
    report: dict[str, Any] = cli.ask("status", project, "--json").ok().json
    return report


def ended(process: subprocess.Popen[str], *codes: int) -> str:
    _, err = process.communicate(timeout=120)
    assert process.returncode in codes, f"exit {process.returncode}\n{err}"
    return err


def test_a_backlog_holds_discovery_until_it_is_scraped(cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("spool: {max_backlog_gb: 0.000004}\nengine: {group_ms: 10}\n")
    site = Unending(delay_s=0.005)
    with serve(site) as server:
        found = cli.start("discover", server.url, "--project", "site", *OPTIONS, "--config", config)
        wait_until(lambda: "held" in cli.ask("status", "site.discovery", "--json").out)
        wait_until(lambda: status(cli, "site.discovery")["held"])
        held = status(cli, "site.discovery")
        assert "spool.max_backlog_gb" in held["held_by"]
        assert held["spool"]["backlog_bytes"] > 4_000
        asked = len(server.log)
        time.sleep(0.5)
        assert len(server.log) <= asked + 5, "nothing is asked for while it is held"
        done = cli.start("scrape")
        wait_until(lambda: status(cli, "site.discovery")["visited"] > held["visited"])
        site.end()
        assert "paused: " in ended(found, 0)
        ended(done, 0)
    assert status(cli, "site")["pages"] == status(cli, "site.discovery")["pages"]
    assert sound(cli.workspace)


def test_too_little_disk_holds_and_a_reload_lets_go(cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("store: {reserve_mb: 1000000000000}\n")
    with serve(StaticSite(chain(3))) as server:
        process = cli.start("crawl", server.url, "--project", "site", *OPTIONS, "--config", config)
        wait_until(lambda: (cli.workspace / "control" / "site.held").exists())
        assert "store.reserve_mb" in status(cli, "site")["held_by"]
        assert not server.log
        config.write_text("store: {reserve_mb: [}\n")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert status(cli, "site")["held"], "a broken file changes nothing"
        config.write_text("store: {reserve_mb: 0}\nlimits: {workers: 3}\nscope: {external_hops: 1}\n")
        process.send_signal(signal.SIGHUP)
        err = ended(process, 0)
    assert "previous settings stay in effect" in err
    assert "limits.workers 5 -> 3" in err
    assert "after a restart: scope.external_hops" in err
    assert not (cli.workspace / "control" / "site.held").exists()


def test_a_reload_changes_the_rate(cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("limits: {rate: 0.1}\n")
    with serve(StaticSite(chain(20))) as server:
        process = cli.start("crawl", server.url, "--project", "site", "--sitemap", "off", "--config", config)
        wait_until(lambda: len(server.log) == 1)
        config.write_text("limits: {rate: 1000}\n")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGUSR1)
        err = ended(process, 0)
    assert "limits.rate 0.1 -> 1000" in err
    assert "site: run 1," in err


def test_following_goes_on_to_the_next_run_and_stops_when_told(cli: Cli) -> None:
    with serve(Validated(StaticSite(chain(4)))) as server:
        waiting = cli.start("scrape", "--project", "site", "--follow")
        wait_until(lambda: (cli.workspace / "locks" / "site.crawl.lock").exists())
        for number in (1, 2):
            new = ["--new-run"] if number == 2 else []
            cli("discover", server.url, "--project", "site", *OPTIONS, *new).ok()
            wait_until(lambda number=number: _completed(cli, number))
        assert waiting.poll() is None
        (cli.workspace / "stop.crawler").touch()
        time.sleep(0.5)
        assert waiting.poll() is None, "that was not for a scraper"
        (cli.workspace / "stop.scraper").touch()
        ended(waiting, 0)
    assert [run["run"] for run in cli.ask("runs", "site", "--json").json] == [1, 2]
    assert not (cli.workspace / "stop.scraper").exists()


def _completed(cli: Cli, number: int) -> bool:
    asked = cli.ask("status", "site", "--json")
    return asked.code == 0 and (asked.json["run"], asked.json.get("state")) == (number, "completed")


def _catches(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def test_a_follower_that_is_stopped_with_nothing_to_do_has_done_nothing_wrong(cli: Cli) -> None:
    def stopped(number: signal.Signals) -> dict[str, Any]:
        waiting = cli.start("scrape", "--project", "site", "--follow", "--json")
        wait_until(lambda: _catches(waiting, signal.SIGTERM))
        waiting.send_signal(number)
        out, err = waiting.communicate(timeout=120)
        assert waiting.returncode == 0, err
        told: dict[str, Any] = json.loads(out)
        return told

    assert stopped(signal.SIGTERM)["why"] == "nothing was discovered yet"
    refused = cli("scrape", "--project", "site").ok(2)
    assert "nothing was discovered yet" in refused.err
    with serve(StaticSite(chain(2))) as server:
        cli("discover", server.url, "--project", "site", *OPTIONS).ok()
        cli("scrape", "--project", "site").ok()
    told = stopped(signal.SIGINT)
    assert (told["why"], told["ended_by"], told["run"]) == (
        "everything discovered is scraped",
        "cancelled",
        None,
    )
    assert "everything discovered is scraped" in cli("scrape", "--project", "site").ok(2).err


def test_run_does_both(cli: Cli) -> None:
    site = GraphSite(3, 120)
    with serve(site) as server:
        done = cli("run", server.url, "--project", "site", *OPTIONS, "--json").ok(3)
        cli.crawl(server.url, "--project", "whole", *OPTIONS).ok(3)
    assert done.json["pages"] == cli.check("whole")["pages"]
    assert done.json["discovery"]["project"] == "site.discovery"
    assert done.json["discovery"]["failed"] > 0
    assert pages(cli.workspace) == pages(cli.workspace, "whole")
    assert {report["project"]: report["role"] for report in cli.ask("status", "--json").json} == {
        "site": "scrape", "site.discovery": "discover", "whole": "crawl",
    }  # fmt: skip


@pytest.mark.parametrize("how", ["signal", "stop file", "kill -9"])
def test_run_leaves_nothing_behind_when_it_is_stopped(cli: Cli, how: str) -> None:
    with serve(Unending(delay_s=0.01)) as server:
        process = cli.start("run", server.url, "--project", "site", *OPTIONS)
        wait_until(lambda: _visited(cli, "site") > 3)
        if how == "stop file":
            (cli.workspace / "stop").touch()
        else:
            process.send_signal(signal.SIGTERM if how == "signal" else signal.SIGKILL)
        ended(process, *((-signal.SIGKILL,) if how == "kill -9" else (4,)))
        wait_until(lambda: not status(cli, "site.discovery")["running"])
    assert status(cli, "site.discovery")["state"] == "paused"
    assert status(cli, "site.discovery")["crawls"][-1]["ended_by"] == "cancelled"
    assert sound(cli.workspace)


def test_run_tells_when_its_discovery_was_killed(cli: Cli) -> None:
    with serve(Unending(delay_s=0.01)) as server:
        process = cli.start("run", server.url, "--project", "site", *OPTIONS)
        wait_until(lambda: _visited(cli, "site") > 3)
        os.kill(status(cli, "site.discovery")["pid"], signal.SIGKILL)
        ended(process, 1)
    assert status(cli, "site")["crawls"][-1]["ended_by"] == "drained"
    assert sound(cli.workspace)


def _visited(cli: Cli, project: str) -> int:
    asked = cli.ask("status", project, "--json")
    return int(asked.json.get("visited", 0)) if asked.code == 0 else 0


def test_a_configured_workspace_needs_no_further_words(cli: Cli) -> None:
    with serve(StaticSite(chain(3))) as server:
        cli("configure", "--profile", "docs").ok(0)
        (cli.workspace / "seeds.txt").write_text(f"# where to begin\n{server.url}\n")
        cli("discover", *OPTIONS, *trust(server.url), "--json", "--no-progress").ok(0)
        assert cli("scrape", "--json", "--no-progress").ok(0).json["pages"] == 4
        again = cli("run", "--new-run", *OPTIONS, "--json", "--no-progress").ok(0).json
        assert (again["run"], again["visited"], again["discovery"]["run"]) == (2, 4, 2)


def test_a_service_without_anything_to_find_says_what_to_do(cli: Cli) -> None:
    for verb in ("discover", "run"):
        told = cli(verb, "--no-progress").ok(2)
        assert "--seeds FILE" in told.err
        assert "Traceback" not in told.err


def test_tables_and_counters_of_both_services(cli: Cli) -> None:
    with serve(StaticSite(chain(4))) as server:
        cli("run", server.url, "--project", "site", *OPTIONS, "--json", "--no-progress").ok(0)
    logs = {path.name for path in (cli.workspace / "logs").iterdir()}
    assert logs == {
        "pages-site-1.csv",
        "scraper_metrics-site-1.csv",
        "edges-site.discovery-1.csv",
        "crawler_metrics-site.discovery-1.csv",
    }
    with (cli.workspace / "logs" / "pages-site-1.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 5
    with (cli.workspace / "logs" / "scraper_metrics-site-1.csv").open(newline="") as file:
        last = {row["metric"]: int(row["value"]) for row in csv.DictReader(file)}
    assert (last["pages_saved"], last["backlog_bytes"]) == (5, 0)


def test_a_reload_changes_how_often_counters_are_written(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("metrics: {flush_interval_sec: 3600}\nlimits: {rate: 20}\n")
    with serve(Unending()) as server:
        crawl = cli.start("crawl", server.url, "--project", "site", "--config", file)
        table = cli.workspace / "logs" / "crawler_metrics-site-1.csv"
        wait_until(lambda: len(server.log) > 3)
        written = table.stat().st_size
        file.write_text("metrics: {flush_interval_sec: 0.2}\nlimits: {rate: 20}\n")
        crawl.send_signal(signal.SIGHUP)
        wait_until(lambda: table.stat().st_size > written)
        crawl.send_signal(signal.SIGTERM)
        assert "metrics.flush_interval_sec 3600.0 -> 0.2" in crawl.communicate(timeout=120)[1]


def test_a_scraper_that_leaves_urls_says_how_to_go_on(cli: Cli) -> None:
    with serve(StaticSite(chain(4))) as server:
        cli("discover", server.url, "--project", "site", *OPTIONS, "--json", "--no-progress").ok(0)
        told = cli("scrape", "--budget", 2, "--no-progress").ok(4)
        assert "to continue: orbweb scrape --project site" in told.out


def test_a_scraper_that_has_overtaken_discovery_does_not_call_that_completed(cli: Cli) -> None:
    with serve(StaticSite(chain(4))) as server:
        found = cli("discover", server.url, "--project", "site", *OPTIONS, "--budget", 2, "--no-progress").ok(4)
        told = cli("scrape", "--no-progress").ok(4).out
    assert "tokens" not in found.out
    assert "tokens of Markdown" in told
    assert told.startswith("Stopped early (spool drained) after 2 URLs")
    assert "to continue it, then scrape again: orbweb discover --project site" in told.splitlines()[-1]


def test_a_reload_changes_compression(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("store: {layout: files, compress: true}\nlimits: {rate: 50}\nengine: {group_ms: 50}\n")
    bodies = cli.workspace / "store" / "html"
    with serve(Unending()) as server:
        crawl = cli.start("crawl", server.url, "--project", "site", "--config", file)
        wait_until(lambda: any(bodies.rglob("*.html.zst")))
        assert not any(bodies.rglob("*.html"))
        file.write_text("store: {layout: files, compress: false}\nlimits: {rate: 50}\nengine: {group_ms: 50}\n")
        crawl.send_signal(signal.SIGHUP)
        wait_until(lambda: any(bodies.rglob("*.html")))
        crawl.send_signal(signal.SIGTERM)
        assert "store.compress True -> False" in crawl.communicate(timeout=120)[1]
    assert sound(cli.workspace)


def test_a_reload_lets_a_backlog_grow(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("spool: {max_backlog_gb: 0.000004}\nengine: {group_ms: 10}\n")
    with serve(Unending()) as server:
        found = cli.start("discover", server.url, "--project", "site", *OPTIONS, "--config", file)
        wait_until(lambda: "max_backlog_gb" in cli.ask("status", "site.discovery", "--json").out)
        asked = len(server.log)
        file.write_text("spool: {max_backlog_gb: 1}\nengine: {group_ms: 10}\n")
        found.send_signal(signal.SIGHUP)
        wait_until(lambda: len(server.log) > asked + 50)
        found.send_signal(signal.SIGTERM)
        assert "spool.max_backlog_gb 4e-06 -> 1.0" in found.communicate(timeout=120)[1]
