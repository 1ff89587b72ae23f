"""A spool that any producer wrote is scraped without a discovery, and its lines are no consent to anything."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, assert_books_balance, wait_until
from orbweb.app import CrawlResult
from orbweb.app.doctor import doctor
from orbweb.errors import ForeignFile, NothingToDo, UsageError
from orbweb.frontier.spool import files as spool_files
from servers.pages import chain, page
from servers.site import Server, StaticSite, redirect, serve

FAST: dict[str, Any] = {"rate": "max", "processes": 0}
FIRST = "discoveries-1.jsonl"


def write(folder: Path, lines: Iterable[Mapping[str, Any] | str], name: str = FIRST) -> Path:
    """Append lines to a file of a spool, as another program would."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    with (folder / name).open("a") as file:
        file.writelines(f"{text}\n" for text in texts)
    return folder


def trusted(server: Server) -> list[str]:
    return [f"private={server.url.split('/')[2]}"]


def scrape(workspace: Path, server: Server, **options: Any) -> CrawlResult:
    return orbweb.open(workspace).scrape(**{"project": "site", "trust": trusted(server), **FAST, **options})


def rows(workspace: Path, project: str = "site") -> list[dict[str, str]]:
    with (workspace / "logs" / f"pages-{project}-1.csv").open(newline="", encoding="utf-8") as table:
        return list(csv.DictReader(table))


def asked(server: Server) -> list[str]:
    return [hit.path for hit in server.log if hit.path != "/robots.txt"]


def is_sound(workspace: Path) -> bool:
    assert_books_balance(workspace / "orbweb.db")
    return bool(doctor(workspace)["healthy"])


def test_a_spool_of_any_producer_is_scraped_with_what_its_lines_say(tmp_path: Path) -> None:
    with serve(StaticSite(chain(4))) as server:
        line = {
            "url": f"{server.url}2",
            "page_type": "repo_root",
            "depth": 3,
            "referrer": "https://example.org/list",
            "metadata": {"status_code": 200, "stars": 7, "title": "not ours"},
            "discovered_by": "another",
        }
        spool = write(tmp_path / "spool", [line, {"url": server.url}])
        done = scrape(tmp_path / "ws", server, spool=spool)
    assert (done.exit_code, done.run_state, done.visited, done.pages) == (0, "completed", 2, 2)
    assert done.skipped == {"left_to_discovery": 3}, "links are not followed"
    first, second = sorted(rows(tmp_path / "ws"), key=lambda row: row["url"], reverse=True)
    assert (first["page_type"], first["depth"], first["referrer"]) == (
        "repo_root",
        "3",
        "https://example.org/list",
    )
    metadata = json.loads(first["metadata"])
    assert (metadata["stars"], metadata["discovered_by"]) == (7, "another")
    assert metadata["title"] != "not ours"
    assert (second["page_type"], second["depth"], second["referrer"]) == ("page", "0", "")
    status = orbweb.open(tmp_path / "ws").status("site")
    assert status.role == "scrape"
    assert (tmp_path / "ws" / "state" / "spool_bookmark.json").exists()
    assert is_sound(tmp_path / "ws")


def test_a_workspace_that_is_nothing_but_a_spool_is_scraped(cli: Cli) -> None:
    with serve(StaticSite(chain(2))) as server:
        write(cli.workspace / spool_files.DISCOVERIES, [{"url": f"{server.url}1"}])
        options = ("--rate", "max", "--processes", 0, "--json", "--no-progress")
        done = cli("scrape", *options, "--trust", trusted(server)[0]).ok(0).json
        assert (done["visited"], done["pages"]) == (1, 1)
        with_port = server.url.split("/")[2]
        assert done["project"].startswith(with_port.split(":")[0])
        write(cli.workspace / spool_files.DISCOVERIES, [{"url": f"{server.url}2"}])
        again = cli("scrape", *options, "--trust", trusted(server)[0]).ok(0).json
        assert (again["project"], again["run"], again["visited"]) == (done["project"], 1, 2)
        assert "every line of its spool is scraped" in cli("scrape", "--no-progress").ok(2).err
    assert asked(server) == ["/1", "/2"]
    assert is_sound(cli.workspace)


def test_a_rule_overrides_the_type_of_a_line_and_both_are_shown(tmp_path: Path) -> None:
    config = tmp_path / "rules.yaml"
    config.write_text("policy: {page_types: [{type: even, pattern: '[02468]$', score: 5}]}\n")
    with serve(StaticSite(chain(3))) as server:
        lines = [{"url": f"{server.url}{n}", "page_type": "theirs"} for n in (1, 2)]
        scrape(tmp_path / "ws", server, spool=write(tmp_path / "spool", lines), config=config)
    found = {row["url"][-1]: row for row in rows(tmp_path / "ws")}
    assert {name: row["page_type"] for name, row in found.items()} == {"1": "theirs", "2": "even"}
    assert json.loads(found["2"]["metadata"])["spooled_page_type"] == "theirs"


def test_what_is_no_line_is_named_and_the_rest_is_scraped(tmp_path: Path) -> None:
    notes: list[str] = []
    with serve(StaticSite(chain(3))) as server:
        odd = ["rubbish", '{"depth": 1}', '{"url": "/relative"}', '{"url": "ftp://127.0.0.1/1"}',
               '{"url": "\\ud800"}',
               '{"url": "http://127.0.0.1/", "depth": -1}', '{"url": "javascript:alert(1)"}', "[" * 9_000,
               '{"url": "http://127.0.0.1/", "x": NaN}', "x" * 2_500_000]  # fmt: skip
        spool = write(tmp_path / "spool", [{"url": f"{server.url}1"}, *odd, {"url": f"{server.url}2"}])
        done = scrape(tmp_path / "ws", server, spool=spool, note=notes.append)
    assert (done.exit_code, done.visited) == (0, 2)
    told = [note for note in notes if note.startswith("spool: skipped")]
    assert len(told) == len(odd)
    assert any("'/relative' is not a URL with http:// or https://" in note for note in told)
    mark = json.loads((tmp_path / "ws" / "state" / "spool_bookmark.json").read_text())
    assert mark == {"file": FIRST, "offset": (spool / FIRST).stat().st_size}


def test_text_of_lines_stays_in_its_cell(tmp_path: Path) -> None:
    with serve(StaticSite(chain(2))) as server:
        line = {"url": f"{server.url}1", "page_type": "=cmd\n2", "referrer": "@x\r\ny", "note": "a\nb"}
        scrape(tmp_path / "ws", server, spool=write(tmp_path / "spool", [line]))
    text = (tmp_path / "ws" / "logs" / "pages-site-1.csv").read_text()
    assert text.count("\n") == 2
    (row,) = rows(tmp_path / "ws")
    assert row["page_type"].startswith("'=cmd")
    assert row["referrer"].startswith("'@x")
    assert json.loads(row["metadata"])["note"] == "a\nb"


def test_a_line_is_no_consent_to_a_private_address(tmp_path: Path) -> None:
    with serve(StaticSite(chain(2))) as server:
        spool = write(tmp_path / "spool", [{"url": f"{server.url}1"}])
        blank = orbweb.open(tmp_path / "ws").scrape("site", spool=spool, **FAST)
        assert (blank.exit_code, blank.failed) == (3, 1)
        (failed,) = orbweb.open(tmp_path / "ws").failed("site")
        assert failed.kind == "blocked_address"
        assert "a line of a spool is no consent" in failed.reason
        assert trusted(server)[0] in failed.reason
        assert not server.log


def test_a_workspace_does_not_open_private_addresses_for_its_spool(tmp_path: Path) -> None:
    workspace = tmp_path / "foreign"
    with serve(StaticSite(chain(2))) as server:
        write(workspace / spool_files.DISCOVERIES, [{"url": f"{server.url}1"}])
        (workspace / "orbweb.yaml").write_text("fetch: {allow_private: true}\n")
        done = orbweb.open(workspace).scrape("site", **FAST)
        assert done.failed == 1
        assert not server.log


def test_a_redirect_from_a_line_is_followed_and_kept_from_private_addresses(tmp_path: Path) -> None:
    with serve(StaticSite({"/secret": page("secret")})) as inside:
        site = {"/a": redirect("/b"), "/b": page("b"), "/c": redirect(f"{inside.url}secret")}
        with serve(StaticSite(site)) as server:
            spool = write(tmp_path / "spool", [{"url": f"{server.url}a"}, {"url": f"{server.url}c"}])
            done = scrape(tmp_path / "ws", server, spool=spool)
        assert not inside.log
    assert (done.pages, done.failed) == (1, 1)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_links_in_a_spool_are_not_followed(tmp_path: Path, kind: str) -> None:
    with serve(StaticSite(chain(2))) as server:
        real = write(tmp_path / "real", [{"url": f"{server.url}1"}])
        spool = tmp_path / "ws" / spool_files.DISCOVERIES
        if kind == "file":
            spool.mkdir(parents=True)
            (spool / FIRST).symlink_to(real / FIRST)
        else:
            spool.parent.mkdir(parents=True)
            spool.symlink_to(real)
        with pytest.raises(ForeignFile, match="symbolic link"):
            scrape(tmp_path / "ws", server)
        linked = tmp_path / "linked"
        linked.mkdir()
        (linked / FIRST).symlink_to(real / FIRST)
        with pytest.raises(ForeignFile, match="symbolic link"):
            scrape(tmp_path / "other", server, spool=linked)
    assert not server.log


def test_files_of_another_producer_elsewhere_stay_where_they_are(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("spool: {keep: none}\n")
    with serve(StaticSite(chain(3))) as server:
        spool = write(tmp_path / "spool", [{"url": f"{server.url}1"}])
        write(spool, [{"url": f"{server.url}2"}], "discoveries-20.jsonl")
        done = scrape(tmp_path / "ws", server, spool=spool, config=config)
    assert done.visited == 2
    assert sorted(path.name for path in spool.iterdir()) == [FIRST, "discoveries-20.jsonl"]
    assert not list((tmp_path / "ws" / "spool").rglob("*.jsonl"))


def test_wrong_uses_say_what_to_do(tmp_path: Path) -> None:
    with serve(StaticSite(chain(1))) as server:
        there = orbweb.open(tmp_path / "ws")
        there.crawl(server.url, project="crawled", sitemap="off", **FAST)
        there.discover(server.url, project="found", sitemap="off", **FAST)
        spool = write(tmp_path / "spool", [{"url": f"{server.url}1"}])
        with pytest.raises(UsageError, match="'crawled' was crawled, not scraped from a spool"):
            there.scrape("crawled", spool=spool)
        with pytest.raises(UsageError, match=r"'found' gets its pages from 'found\.discovery'"):
            there.scrape("found", spool=spool)
        with pytest.raises(UsageError, match="is not a directory; give one with files discoveries-"):
            there.scrape("new", spool=tmp_path / "nowhere")
        (tmp_path / "empty").mkdir()
        with pytest.raises(NothingToDo, match=r"has no line to scrape: put a file discoveries-1\.jsonl"):
            there.scrape(spool=tmp_path / "empty")
        there.scrape("new", spool=spool, trust=trusted(server), **FAST)
        with pytest.raises(UsageError, match=r"'new' gets its pages from a spool: use `scrape\(project='new'\)`"):
            there.crawl(server.url, project="new")


def test_a_follower_scrapes_lines_as_they_come(cli: Cli, tmp_path: Path) -> None:
    with serve(StaticSite(chain(3))) as server:
        spool = write(tmp_path / "spool", [{"url": f"{server.url}1"}])
        options = (
            "--project",
            "site",
            "--follow",
            "--rate",
            "max",
            "--processes",
            0,
            "--trust",
            trusted(server)[0],
        )
        follower = cli.start("scrape", "--spool", spool, *options)
        wait_until(lambda: "/1" in asked(server))
        write(spool, [{"url": f"{server.url}2"}])
        wait_until(lambda: "/2" in asked(server))
        write(spool, [{"url": f"{server.url}3"}], "discoveries-2.jsonl")
        wait_until(lambda: "/3" in asked(server))
        follower.send_signal(signal.SIGTERM)
        follower.communicate(timeout=120)
    assert asked(server) == ["/1", "/2", "/3"]
    assert len(cli.manifest("site")) == 3
