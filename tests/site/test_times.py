"""Every URL has the time at which its run found it, and at which its state last changed."""

from __future__ import annotations

import json
import sqlite3
import tarfile
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import orbweb
from backends import NOW, SqliteBackend
from books import Books
from harness import Cli, kill, trust, wait_until
from orbweb.app.doctor import check_store, doctor
from orbweb.cli.output.urls import explain_text
from servers.pages import chain, page
from servers.site import Server, StaticSite, html, redirect, serve, text

FAST = ("--rate", "max", "--project", "site")
TICK = timedelta(seconds=1)
SITE = {
    "/": page("start", "/a", "/b", "/gone", "/r", "/private/x", "http://elsewhere.example/"),
    "/a": page("a", "/c"),
    "/b": page("b", "/d"),
    "/c": page("c"),
    "/d": page("d"),
    "/r": redirect("/target"),
    "/target": page("target"),
    "/hidden": html('<meta name="robots" content="noindex">hidden'),
    "/robots.txt": text("User-agent: *\nDisallow: /private/"),
}


class Span(NamedTuple):
    found: datetime
    changed: datetime


def explained(cli: Cli, url: str, run: int | None = None) -> dict[str, Any]:
    return orbweb.open(cli.workspace).explain("site", url, run=run).report()


def span(cli: Cli, url: str, run: int | None = None) -> Span:
    report = explained(cli, url, run)
    found, changed = report["found_at"], report["changed_at"]
    assert len(found) == len(changed) == len("2026-11-18T15:42:17.123456+00:00")
    return Span(datetime.fromisoformat(found), datetime.fromisoformat(changed))


def spans(cli: Cli, *urls: str) -> dict[str, Span]:
    return {url: span(cli, url) for url in urls}


def now() -> datetime:
    return datetime.fromtimestamp(time.time()).astimezone()


def test_every_url_of_a_crawl_has_both_times(cli: Cli) -> None:
    began = now()
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, *FAST).ok(3)
    ended = now()
    paths = ("", "a", "b", "gone", "r", "private/x", "c", "d", "target")
    found = spans(cli, "http://elsewhere.example/", *(server.url + path for path in paths))
    for times in found.values():
        assert began - TICK < times.found <= times.changed < ended + TICK
    base = found[server.url]
    assert base.found < base.changed, "it was queued, and visited later"
    assert found[server.url + "a"].found == base.changed, "with the commit of the page that links to it"
    assert found[server.url + "c"].found == found[server.url + "a"].changed
    assert found[server.url + "target"].found == found[server.url + "r"].changed
    elsewhere = found["http://elsewhere.example/"]
    assert elsewhere.found == elsewhere.changed, "it was refused when it was found"
    visit = orbweb.open(cli.workspace).show("site", server.url + "c").report()
    assert datetime.fromisoformat(visit["fetched_at"]) <= found[server.url + "c"].changed


def test_the_command_prints_them_as_text_and_as_json(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, *FAST).ok(3)
    told = cli.ask("explain", "site", server.url + "a", "--json").ok().json
    line = f"  found at {told['found_at']}, visited since {told['changed_at']}"
    assert line in cli.ask("explain", "site", server.url + "a").ok().out.splitlines()
    never = cli.ask("explain", "site", server.url + "never", "--json").ok(3).json
    assert (never["found_at"], never["changed_at"]) == (None, None)
    assert "found at" not in cli.ask("explain", "site", server.url + "never").ok(3).out


def test_the_queue_has_them(cli: Cli) -> None:
    with serve(StaticSite(chain(9))) as server:
        cli.crawl(server.url, *FAST, "--budget", 4).ok(4)
    queued = cli.ask("queue", "site", "--json").ok().json["next"]
    assert len(queued) == 6
    base = explained(cli, server.url)
    for entry in queued:
        known = explained(cli, entry["url"])
        assert (entry["found_at"], entry["changed_at"]) == (known["found_at"], known["changed_at"])
        assert entry["found_at"] == entry["changed_at"] == base["changed_at"]


def test_they_survive_a_kill_and_the_order_does_not_depend_on_them(cli: Cli, tmp_path: Path) -> None:
    names = [f"/{number}" for number in range(40)]
    answers = {"/": page("start", *names), **{path: page(path, f"{path}x", delay_s=0.03) for path in names}}
    with serve(StaticSite(answers)) as server:
        process = cli.start("crawl", server.url, *FAST, env={"ORBWEB_ENGINE__GROUP_MS": "50"})
        wait_until(lambda: (cli.workspace / "orbweb.db").exists() and len(server.log) > 12)
        wait_until(lambda: len(cli.manifest("site")) > 5)
        kill(process)
        stored = [line[1] for line in cli.manifest("site")]
        before = spans(cli, *stored, f"{stored[1]}x")
        killed = now()
        cli.resume("site").ok(3)
        after = spans(cli, *before)
        assert {url: after[url] for url in stored} == {url: before[url] for url in stored}
        child = f"{stored[1]}x"
        assert after[child].found == before[child].found
        assert after[child].changed > killed - TICK
        later = [span(cli, server.url.rstrip("/") + name) for name in names[len(stored) :]]
        assert all(each.changed > before[server.url].changed for each in later)
        whole = Cli(tmp_path / "whole")
        whole.crawl(server.url, *FAST).ok(3)
    assert cli.manifest_hash("site") == whole.manifest_hash("site")


def test_a_retry_moves_the_change_and_keeps_the_finding(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, *FAST).ok(3)
        gone, other = server.url + "gone", server.url + "b"
        first = spans(cli, gone, other)
        cli("retry", "site").ok()
        assert explained(cli, gone)["state"] == "queued"
        queued = span(cli, gone)
        assert queued.found == first[gone].found
        assert queued.changed > first[gone].changed
        cli.resume("site").ok(3)
    failed = span(cli, gone)
    assert explained(cli, gone)["state"] == "failed"
    assert failed.found == first[gone].found
    assert failed.changed > queued.changed
    assert span(cli, other) == first[other]


def test_other_rules_and_the_end_by_hand_move_the_change(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, *FAST, "--budget", 2, "--exclude", "/b$").ok(4)
        excluded, visited = server.url + "b", server.url + "a"
        first = spans(cli, excluded, visited)
        assert explained(cli, excluded)["reason"] == "excluded"
        assert first[excluded].found == first[excluded].changed
        cli.crawl(server.url, *FAST, "--budget", 1, "--exclude", "/never$").ok(4)
    allowed = span(cli, excluded)
    assert explained(cli, excluded)["state"] == "queued"
    assert allowed.found == first[excluded].found
    assert allowed.changed > first[excluded].changed
    cli("finish", "site").ok()
    assert explained(cli, excluded)["reason"] == "finished"
    finished = span(cli, excluded)
    assert finished.found == first[excluded].found
    assert finished.changed > allowed.changed
    assert span(cli, visited) == first[visited]


def test_a_released_url_was_queued_then(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, *FAST, "--budget", 2).ok(4)
        parked = server.url + "b"
        with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db, db:
            db.execute("UPDATE urls SET state='skipped', reason='trap', rule='trap: /b' WHERE key=?", (parked,))
            db.execute("UPDATE tallies SET count = count - 1 WHERE state = 'queued'")
            db.execute("INSERT INTO tallies SELECT run_id, 'skipped', 'trap', 1 FROM tallies LIMIT 1")
        before = span(cli, parked)
        cli("queue", "site", "--release", "/b").ok()
    assert explained(cli, parked)["state"] == "queued"
    assert span(cli, parked).found == before.found
    assert span(cli, parked).changed > before.changed


def test_a_recrawl_finds_everything_anew(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, *FAST).ok(3)
        first = span(cli, server.url + "a")
        cli("recrawl", "site", "--json", "--no-progress").ok(3)
    assert span(cli, server.url + "a", run=1) == first
    second = span(cli, server.url + "a", run=2)
    assert first.changed < second.found < second.changed


def test_they_are_exported_and_imported(cli: Cli, tmp_path: Path) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, *FAST, "--budget", 4).ok(4)
        paths = ("", "a", "b", "gone", "r", "private/x", "c")
        urls = ["http://elsewhere.example/", *(server.url + path for path in paths)]
        before = spans(cli, *urls)
        cli("export", "site", "--to", "state", "--out", tmp_path / "state", "--no-progress").ok()
        other = Cli(tmp_path / "other")
        other("import", tmp_path / "state", "--no-progress").ok()
        assert spans(other, *urls) == before
        assert check_store(other.workspace)["damages"] == []
        other.resume("site", *trust(server.url), "--budget", "none").ok(3)
    assert {url: span(other, url).found for url in urls} == {url: times.found for url, times in before.items()}
    assert span(other, server.url + "target").found > max(times.changed for times in before.values())


def test_what_a_foreign_file_does_not_say_happened_at_the_import(cli: Cli, tmp_path: Path) -> None:
    began = now()
    home = tmp_path / "state"
    home.mkdir()
    line = {"url": "http://127.0.0.1/x", "status": 200, "timestamp": "2020-01-02T03:04:05+00:00"}
    (home / "page_index.jsonl").write_text(json.dumps(line) + "\n")
    queued = [{"url": "http://127.0.0.1/", "depth": 0}, {"url": "http://127.0.0.1/y"}]
    (home / "frontier.jsonl").write_text("".join(json.dumps(each) + "\n" for each in queued))
    cli("import", home, "--project", "site", "--no-progress").ok()
    for path in ("", "x", "y"):
        times = span(cli, f"http://127.0.0.1/{path}")
        assert times.found == times.changed > began - TICK


def test_what_an_earlier_schema_did_not_record_is_unknown(tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).parents[1] / "upgrade" / "schema-3.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    cli = Cli(tmp_path / "workspace")
    for url, state in (("http://site.test/", "visited"), ("http://site.test/listed", "queued")):
        old = explained(cli, url, run=2)
        assert (old["state"], old["found_at"], old["changed_at"]) == (state, None, None)
    assert "  found at an unknown time, queued since an unknown time" in explain_text(old).splitlines()
    assert {entry.found_at for entry in orbweb.open(cli.workspace).queue("site").next} == {None}
    cli("finish", "site").ok()
    new = explained(cli, "http://site.test/listed", run=2)
    assert new["found_at"] is None
    assert datetime.fromisoformat(new["changed_at"]) > now() - timedelta(hours=1)
    assert check_store(cli.workspace)["damages"] == []


def damaged(server: Server, cli: Cli, statement: str) -> None:
    cli.crawl(server.url, *FAST).ok(3)
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db, db:
        assert db.execute(statement).rowcount > 0


def test_damaged_times_are_named_and_forgotten(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        damaged(server, cli, "UPDATE units SET packed = CAST(x'00' || substr(packed, 2) AS BLOB)")
        (found,) = check_store(cli.workspace)["damages"]
        assert (found["where"], found["problem"]) == (
            "table units, row 1, 1",
            "the packed record and the row differ",
        )
        refused = cli.ask("explain", "site", server.url).ok(1)
        assert "doctor --repair" in refused.err
        assert doctor(cli.workspace, repair=True)["left"] == []
        assert check_store(cli.workspace)["damages"] == []
        assert explained(cli, server.url)["found_at"] is None
        cli("retry", "site").ok()
        assert explained(cli, server.url + "gone")["changed_at"] is not None
        cli.resume("site", *trust(server.url)).ok(3)
    assert check_store(cli.workspace)["damages"] == []


def test_a_url_that_a_repair_queues_again_has_changed_then(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        damaged(server, cli, "DELETE FROM visits WHERE number = 2")
        lost = next(iter(check_store(cli.workspace)["damages"]))["urls"][0]
        found = explained(cli, lost)["found_at"]
        repaired_at = now()
        doctor(cli.workspace, repair=True)
    assert explained(cli, lost)["state"] == "queued"
    times = span(cli, lost)
    assert times.found == datetime.fromisoformat(found)
    assert times.changed > repaired_at - TICK


def test_ids_that_are_given_out_again_have_their_own_times(tmp_path: Path) -> None:
    """A repair may lose the last URLs of a run; what is found next gets their ids."""
    with closing(SqliteBackend(tmp_path)) as backend:
        books = Books(backend)
        for at in (10, 20, 30):
            books.find(f"a{at}", f"b{at}")
            books.write(now=NOW + at)
        with closing(sqlite3.connect(tmp_path / "orbweb.db")) as db, db:
            db.execute("DELETE FROM urls WHERE id > 4")
            db.execute("UPDATE runs SET next_url = 5")
        books.open(backend.run_now(books.run))
        books.find("c", "d", "e")
        books.write(now=NOW + 40)
        found = [times.found_at for _, times in sorted(backend.times(books.run).items())]
    assert found == [NOW, NOW + 10, NOW + 10, NOW + 20, NOW + 40, NOW + 40, NOW + 40]


def test_they_cost_less_than_eight_bytes_a_url_where_each_is_found_alone(tmp_path: Path) -> None:
    """A polite crawl writes a unit for each page. In the row of a URL one byte is added."""
    urls = 2_000
    with closing(SqliteBackend(tmp_path)) as backend:
        books = Books(backend)
        for number in range(1, urls):
            books.find(f"p{number}")
            books.visit(number)
            books.write(now=NOW + number * 500_000 + number * 7919 % 50_000)
        with closing(sqlite3.connect(tmp_path / "orbweb.db")) as db:
            query = "SELECT SUM(LENGTH(packed)), COUNT(*), MAX(last) FROM units"
            packed, rows, units = db.execute(query).fetchone()
    assert units == urls
    overhead = rows * 64
    assert packed + overhead + urls < 8 * urls
