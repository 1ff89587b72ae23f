"""Files that follow a crawl: what is in them, and that they are made again whatever happens to them."""

from __future__ import annotations

import csv
import json
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import orbweb
from harness import Cli
from orbweb.export.live.rows import COLUMNS
from servers.pages import page
from servers.site import Answer, StaticSite, Validated, redirect, serve, text

HOSTILE = Answer(
    200,
    (
        ("Content-Type", "text/html; charset=utf-8; =x"),
        ("ETag", '=HYPERLINK("http://x")'),
        ("Last-Modified", "@SUM(A1)"),
    ),
    b'<!doctype html><title>=1+1\n\x0bline \xe2\x80\xa8 two</title><p>bad, "quoted"</p>',
)
SITE: dict[str, Answer] = {
    "/": page("start", "/a", "/r", "/missing", "/h,comma", "/same", "/doc.txt", "/a"),
    "/a": page("a", "/", "/same"),
    "/same": page("a", "/", "/same"),
    "/r": redirect("/a"),
    "/h,comma": HOSTILE,
    "/doc.txt": text("plain"),
}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def count(cli: Cli, what: str) -> int:
    with closing(sqlite3.connect(cli.workspace / "orbweb.db")) as db:
        return int(db.execute(f"SELECT COUNT(*) FROM {what}").fetchone()[0])


@pytest.fixture
def crawled(cli: Cli) -> Cli:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site").ok(3)
    return cli


def files(cli: Cli) -> dict[str, bytes]:
    """What is derived from the database alone."""
    names = ("logs/pages-site-1.csv", "logs/edges-site-1.csv", "metadata/crawl_metadata-site-1.jsonl")
    return {name: (cli.workspace / name).read_bytes() for name in names}


def test_a_row_a_visit_in_seventeen_columns(crawled: Cli) -> None:
    path = crawled.workspace / "logs" / "pages-site-1.csv"
    found = rows(path)
    assert path.read_text().splitlines()[0].split(",") == list(COLUMNS)
    assert len(COLUMNS) == 17
    assert len(found) == count(crawled, "visits") == len(path.read_bytes().splitlines()) - 1
    assert [row["url"] for row in found] == [line[1] for line in crawled.manifest("site")]
    start, by_path = found[0], {row["url"].rpartition("/")[2]: row for row in found}
    assert (start["http_status"], start["depth"], start["referrer"], start["retries"]) == ("200", "0", "", "0")
    assert by_path["a"]["referrer"] == start["url"]
    assert by_path["a"]["page_type"] == "page"
    assert by_path["missing"]["http_status"] == "404"
    assert json.loads(by_path["missing"]["metadata"])["kind"] == "http_4xx"
    assert json.loads(by_path["r"]["metadata"])["redirect_to"] == by_path["a"]["url"]
    assert json.loads(by_path["same"]["metadata"])["role"] == "alternate"


def test_what_a_server_says_stays_a_text_in_its_cell(crawled: Cli) -> None:
    (row,) = [row for row in rows(crawled.workspace / "logs" / "pages-site-1.csv") if "comma" in row["url"]]
    assert row["etag"] == '\'=HYPERLINK("http://x")'
    assert row["last_modified"] == "'@SUM(A1)"
    assert row["metadata"].startswith("{")


def test_raw_cells_are_as_they_are(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site", env={"ORBWEB_OUTPUTS__RAW": "true"}).ok(3)
    (row,) = [row for row in rows(cli.workspace / "logs" / "pages-site-1.csv") if "comma" in row["url"]]
    assert row["etag"] == '=HYPERLINK("http://x")'


@pytest.mark.parametrize("layout", ["segments", "files"])
def test_a_stored_path_leads_to_the_body(cli: Cli, layout: str) -> None:
    import hashlib

    import zstandard

    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site", "--store", layout).ok(3)
    kept = [row for row in rows(cli.workspace / "logs" / "pages-site-1.csv") if row["stored_path"]]
    assert len(kept) == 4
    for row in kept:
        name, _, place = row["stored_path"].partition("#")
        data = (cli.workspace / name).read_bytes()
        if place:
            offset, length = map(int, place.split("+"))
            data = data[offset : offset + length]
        body = zstandard.decompress(data)
        assert hashlib.sha256(body).hexdigest() == row["content_sha256"]
        assert len(body) == int(row["content_bytes"])


def test_metadata_has_the_columns_and_what_a_discovery_says(crawled: Cli) -> None:
    lines = (crawled.workspace / "metadata" / "crawl_metadata.jsonl").read_bytes().split(b"\n")[:-1]
    found = [json.loads(line) for line in lines]
    assert len(found) == count(crawled, "visits")
    assert all(list(record) == list(COLUMNS) for record in found)
    assert found[0]["metadata"]["status_code"] == found[0]["http_status"] == 200
    assert found[0]["metadata"]["content_length"] == found[0]["content_bytes"]
    assert isinstance(found[0]["metadata"]["latency_ms"], int)
    assert all(len(line.decode().splitlines()) == 1 for line in lines)


def test_edges_are_the_links_in_their_order(crawled: Cli) -> None:
    found = rows(crawled.workspace / "logs" / "edges-site-1.csv")
    start = found[0]["source"]
    of_start = [
        (row["target"].removeprefix(start), int(row["position"])) for row in found if row["source"] == start
    ]
    assert of_start == [
        (path, at) for at, path in enumerate(["a", "r", "missing", "h,comma", "same", "doc.txt"], 1)
    ]
    assert (start + "r", start + "a", "1") in [tuple(row.values()) for row in found]
    known = {row["url"] for row in rows(crawled.workspace / "logs" / "pages-site-1.csv")}
    assert {row["target"] for row in found} <= known


def test_pandas_and_duckdb_see_the_types(crawled: Cli) -> None:
    path = crawled.workspace / "logs" / "pages-site-1.csv"
    table = pd.read_csv(path, parse_dates=["timestamp"])
    assert list(table.columns) == list(COLUMNS)
    assert isinstance(table["timestamp"].dtype, pd.DatetimeTZDtype)
    for column in ("depth", "http_status", "content_bytes", "fetch_latency_ms", "retries"):
        assert pd.api.types.is_integer_dtype(table[column]), column
    described = duckdb.sql(f"DESCRIBE SELECT * FROM read_csv('{path}')").fetchall()
    kinds = {name: kind for name, kind, *_ in described}
    assert list(kinds) == list(COLUMNS)
    assert kinds["timestamp"] == "TIMESTAMP WITH TIME ZONE"
    whole = ("depth", "http_status", "content_bytes", "fetch_latency_ms", "retries")
    assert {kinds[column] for column in whole} == {"BIGINT"}
    assert {kinds[column] for column in ("url", "etag", "content_sha256", "stored_path")} == {"VARCHAR"}
    (seen,) = duckdb.sql(f"SELECT COUNT(*) FROM read_csv('{path}')").fetchall()
    assert seen == (count(crawled, "visits"),)
    edges = crawled.workspace / "logs" / "edges-site-1.csv"
    assert pd.api.types.is_integer_dtype(pd.read_csv(edges)["position"])


def test_no_answer_is_an_empty_status(cli: Cli) -> None:
    from harness import deaf_port

    with deaf_port() as port:
        cli.crawl(f"http://127.0.0.1:{port}/", "--rate", "max", "--project", "site",
                  env={"ORBWEB_FETCH__RETRIES": "1", "ORBWEB_FETCH__BACKOFF_S": "0",
                       "ORBWEB_ROBOTS__OBEY": "false"}).ok(6)  # fmt: skip
    (row,) = rows(cli.workspace / "logs" / "pages-site-1.csv")
    assert (row["http_status"], row["content_bytes"], row["stored_path"]) == ("", "0", "")
    assert json.loads(row["metadata"])["kind"] == "connect"
    assert row["retries"] == "1"


def test_an_unchanged_page_has_no_bytes_and_the_earlier_path(cli: Cli) -> None:
    with serve(Validated(StaticSite({"/": page("start", "/a"), "/a": page("a")}))) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site").ok()
        cli("recrawl", "site", "--rate", "max", "--no-progress").ok()
    first = {row["url"]: row for row in rows(cli.workspace / "logs" / "pages-site-1.csv")}
    again = rows(cli.workspace / "logs" / "pages-site-2.csv")
    assert len(again) == 2
    for row in again:
        assert (row["http_status"], row["content_bytes"]) == ("304", "0")
        for column in ("stored_path", "content_sha256", "etag"):
            assert row[column] == first[row["url"]][column] != ""
        assert json.loads(row["metadata"])["reuse"] == "not_modified"
    leads_to = (cli.workspace / "metadata" / "crawl_metadata.jsonl").readlink()
    assert str(leads_to) == "crawl_metadata-site-2.jsonl"


def test_a_retried_url_gets_one_more_row(cli: Cli) -> None:
    site = dict(SITE)
    with serve(StaticSite(site)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site").ok(3)
        site["/missing"] = page("there now")
        cli("retry", "site").ok()
        cli.resume("site").ok()
    found = [
        row["http_status"] for row in rows(cli.workspace / "logs" / "pages-site-1.csv") if "missing" in row["url"]
    ]
    assert found == ["404", "200"]


def test_sessions_write_what_one_crawl_writes(cli: Cli, tmp_path: Path) -> None:
    other = Cli(tmp_path / "other")
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site").ok(3)
        other.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 2).ok(4)
        other.resume("site", "--budget", "none").ok(3)
    changing = ("timestamp", "fetch_latency_ms")
    of_both = [
        [{name: cell for name, cell in row.items() if name not in changing} for row in rows(each)]
        for each in (cli.workspace / "logs" / "pages-site-1.csv", other.workspace / "logs" / "pages-site-1.csv")
    ]
    assert of_both[0] == of_both[1]
    assert files(cli)["logs/edges-site-1.csv"] == files(other)["logs/edges-site-1.csv"]


def test_what_is_not_wanted_is_not_written(cli: Cli) -> None:
    off = {"ORBWEB_OUTPUTS__PAGES": "false", "ORBWEB_OUTPUTS__EDGES": "false", "ORBWEB_OUTPUTS__METADATA": "false",
           "ORBWEB_METRICS__FLUSH_INTERVAL_SEC": "0"}  # fmt: skip
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site", env=off).ok(3)
    assert not (cli.workspace / "logs").exists()
    assert not (cli.workspace / "metadata").exists()


def test_plan_and_fetch_leave_nothing(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli("plan", server.url, "--rate", "max").ok()
        cli("fetch", server.url, "--rate", "max").ok()
    assert not cli.workspace.exists()


# Damage, and what is made of it.


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(max(0, len(data) - 400), len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _torn(data: bytes, chance: random.Random) -> bytes:
    return data + b'"2026-11-16T00:00:00.000+00:00","http://half' + b"\n" * chance.randrange(2)


def _none(_data: bytes, _chance: random.Random) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [_cut, _flip, _torn, _none])
def test_a_damaged_file_is_right_again_after_the_next_crawl(cli: Cli, damage) -> None:
    chance = random.Random(7)
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 4).ok(4)
        for name, data in files(cli).items():
            (cli.workspace / name).write_bytes(damage(data, chance))
        cli.resume("site", "--budget", "none").ok(3)
    after = files(cli)
    cli("replay", "site", "--no-progress").ok()
    assert files(cli) == after
    assert len(rows(cli.workspace / "logs" / "pages-site-1.csv")) == count(cli, "visits")


def test_deleted_files_come_back(cli: Cli) -> None:
    import shutil

    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 4).ok(4)
        shutil.rmtree(cli.workspace / "logs")
        shutil.rmtree(cli.workspace / "metadata")
        cli.resume("site", "--budget", "none").ok(3)
    assert len(rows(cli.workspace / "logs" / "pages-site-1.csv")) == count(cli, "visits")


def test_a_file_that_cannot_be_written_ends_the_crawl_with_its_name(cli: Cli) -> None:
    (cli.workspace / "logs" / "pages-site-1.csv").mkdir(parents=True)
    with serve(StaticSite(SITE)) as server:
        done = cli.crawl(server.url, "--rate", "max", "--project", "site")
    assert done.code == 1
    assert "pages-site-1.csv: is a directory, not a file" in done.err


# Replay.


def test_a_replay_gives_the_same_bytes_without_a_network(crawled: Cli, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        pytest.skip("this system lets nobody give up the network")
    before, out = files(crawled), tmp_path / "out"
    words = crawled.command("replay", "site", "--out", out, "--verify", "--json", "--no-progress")
    done = subprocess.run(["unshare", "-rn", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {name: (out / name).read_bytes() for name in before} == before
    assert (report["visits"], report["pages"], report["damaged"]) == (count(crawled, "visits"), 3, [])
    assert len(list((out / "markdown").rglob("*.md"))) == 3
    assert not list(out.rglob("*.part"))


def test_a_replay_in_place_is_gone_on_with(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 4).ok(4)
        before = files(cli)
        for name in before:
            (cli.workspace / name).unlink()
        cli("replay", "--no-progress").ok()
        assert files(cli) == before
        cli.resume("site", "--budget", "none").ok(3)
    assert len(rows(cli.workspace / "logs" / "pages-site-1.csv")) == count(cli, "visits")
    assert (cli.workspace / "markdown" / "site-1").is_dir()


def test_verify_names_a_damaged_body(crawled: Cli) -> None:
    (segment,) = (crawled.workspace / "store" / "segments").glob("*.seg")
    data = bytearray(segment.read_bytes())
    data[-3] ^= 0xFF
    segment.write_bytes(data)
    done = crawled("replay", "site", "--verify", "--json", "--no-progress").ok(3)
    (damaged,) = done.json["damaged"]
    assert damaged["url"].startswith("http://")
    assert "0001.seg" in damaged["problem"]
    crawled("replay", "site", "--no-progress").ok()


def test_a_replay_needs_a_name_where_there_are_several(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        for name in ("one", "two"):
            cli.crawl(server.url, "--rate", "max", "--project", name).ok(3)
    done = cli("replay")
    assert done.code == 2
    assert f"choose a project: {cli.workspace} has one, two" in done.err


def test_a_replay_takes_the_one_project_that_has_anything_stored(cli: Cli) -> None:
    space, options = orbweb.open(cli.workspace), {"rate": "max", "processes": 0}
    with serve(StaticSite(SITE)) as server:
        space.discover(server.url, project="kept", **options)
        space.crawl(f"{server.url}nowhere", project="empty", **options)
        with pytest.raises(orbweb.UsageError, match=r"choose a project: .* has empty, kept\.discovery"):
            space.replay()
        space.scrape("kept")
    done = cli("replay", "--no-progress").ok()
    assert done.out.startswith("project kept, run 1: ")
    with pytest.raises(orbweb.UsageError, match="choose a project"):
        space.replay(run=2)


def test_a_replay_of_a_pipeline_takes_the_project_that_scrapes(cli: Cli) -> None:
    space, options = orbweb.open(cli.workspace), {"rate": "max", "processes": 0}
    with serve(StaticSite({"/": text("nothing to keep")})) as server:
        space.discover(server.url, project="site", **options)
        space.scrape("site")
    assert space.replay().project == "site"
    with pytest.raises(orbweb.UsageError, match="run 7"):
        space.replay(run=7)


# Counters.


def test_counters_are_written_and_agree_with_the_report(crawled: Cli) -> None:
    found = rows(crawled.workspace / "logs" / "crawler_metrics-site-1.csv")
    last = {row["metric"]: int(row["value"]) for row in found}
    assert {row["timestamp"] for row in found}
    status = crawled.check("site")
    assert last["visits"] == status["visited"] + status["failed"] == last["pages_fetched"]
    assert (last["failed"], last["failed_http_4xx"], last["status_4xx"]) == (1, 1, 1)
    assert (last["status_3xx"], last["alternates"], last["not_html"]) == (1, 1, 1)
    assert last["pages_saved"] == 4
    assert last["bytes_saved"] == status["bytes"]
    assert (last["queued"], last["in_flight"]) == (0, 0)


def test_counters_go_on_after_a_restart(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        cli.crawl(server.url, "--rate", "max", "--project", "site", "--budget", 3).ok(4)
        path = cli.workspace / "logs" / "crawler_metrics-site-1.csv"
        path.write_bytes(path.read_bytes() + b'"2026-11-16T00:00:00')
        cli.resume("site", "--budget", "none").ok(3)
    found = rows(path)
    assert Counter(row["metric"] for row in found)["visits"] == 2
    assert [int(row["value"]) for row in found if row["metric"] == "visits"] == [3, count(cli, "visits")]
    assert pd.api.types.is_integer_dtype(pd.read_csv(path)["value"])


def test_prometheus_reads_the_same_counters(cli: Cli) -> None:
    import re
    import urllib.request

    from prometheus_client.parser import text_string_to_metric_families

    from harness import wait_until
    from servers.pages import Unending

    site = Unending()
    with serve(site) as server:
        process = cli.start("crawl", server.url, "--rate", "max", "--project", "site", "--metrics-port", "0")
        assert process.stderr is not None
        line = next(line for line in process.stderr if "/metrics" in line)
        address = re.search(r"http://127\.0\.0\.1:\d+/metrics", line)
        assert address is not None

        def values() -> dict[str, float]:
            with urllib.request.urlopen(address[0], timeout=5) as answer:
                families = text_string_to_metric_families(answer.read().decode())
                return {sample.name: sample.value for family in families for sample in family.samples}

        wait_until(lambda: values()["orbweb_pages_saved_total"] > 2)
        assert values()["orbweb_status_2xx_total"] >= 2
        assert values()["orbweb_in_flight"] >= 0
        site.end()
        process.communicate(timeout=120)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address[0], timeout=5)


def test_a_port_in_use_is_named(cli: Cli) -> None:
    with serve(StaticSite(SITE)) as server:
        done = cli.crawl(server.url, "--rate", "max", "--metrics-port", server.port)
    assert done.code == 2
    assert f"--metrics-port {server.port}" in done.err
    assert "in use" in done.err


def test_prometheus_is_not_loaded_unless_it_is_asked_for() -> None:
    words = "import sys, orbweb.app, orbweb.export.live.run_outputs; print('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], capture_output=True, text=True).stdout.strip() == "False"
