"""A compressed body that ends too early is tried again; if it stays so, the page is stored and marked."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest

import orbweb
from harness import Cli
from servers.pages import page
from servers.site import Answer, Ending, Request, StaticSite, html, serve

FAST = ("--rate", "max", "--project", "site")
QUICK = {"ORBWEB_FETCH__BACKOFF_S": "0.01"}
BODY = b"<!doctype html><title>long</title><h1>long</h1><a href=/linked>x</a><p>" + b" ".join(
    b"sentence %d." % number for number in range(3_000)
)
PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}


def half(pack: Callable[[bytes], bytes], coding: str, *, tag: str = "", closes: bool = False) -> Answer:
    """The first half of a compressed page, with the length it has or without any."""
    packed = pack(BODY)
    headers = [("Content-Type", "text/html"), ("Content-Encoding", coding)]
    headers += [("ETag", tag)] * bool(tag) + [("Connection", "close")] * closes
    ending = Ending.CLOSE if closes else Ending.KEEP
    length = () if closes else (("Content-Length", str(len(packed) // 2)),)
    return Answer(200, (*headers, *length), packed[: len(packed) // 2], ending=ending)


def marks(cli: Cli) -> dict[str, tuple[str, str]]:
    return {"/" + line[1].split("/", 3)[3]: (line[2], line[6]) for line in cli.manifest("site")}


@pytest.mark.parametrize("coding", PACKERS)
def test_a_page_without_its_end_is_tried_again_and_marked(cli: Cli, coding: str) -> None:
    site = {
        "/": page("start", "/half", "/whole"),
        "/half": half(PACKERS[coding], coding),
        "/linked": page("linked"),
    }
    whole = Answer(200, (("Content-Type", "text/html"), ("Content-Encoding", coding)), PACKERS[coding](BODY))
    with serve(StaticSite({**site, "/whole": whole})) as server:
        cli.crawl(server.url, *FAST, env=QUICK).ok(0)
        assert [hit.path for hit in server.log].count("/half") == 3
        assert [hit.path for hit in server.log].count("/whole") == 1
    assert marks(cli) == {
        "/": ("200", "-"), "/half": ("200", "truncated"), "/whole": ("200", "-"), "/linked": ("200", "-"),
    }  # fmt: skip
    assert cli.ask("explain", "site", f"{server.url}half").ok().out
    cli.check("site")


def test_the_mark_is_in_every_report_and_export(cli: Cli, tmp_path: Path) -> None:
    with serve(StaticSite({"/": page("start", "/half"), "/half": half(gzip.compress, "gzip")})) as server:
        cli.crawl(server.url, *FAST, env=QUICK).ok(0, 3)
    url = f"{server.url}half"
    pages = {row["url"]: row["truncated"] for row in cli.ask("pages", "site", "--json").ok().json}
    assert pages == {server.url: False, url: True}
    (line,) = [line for line in cli.ask("pages", "site").ok().out.splitlines() if "truncated" in line]
    assert line.startswith(url)
    shown = cli.ask("show", "site", url, "--json").ok().json
    assert (shown["truncated"], shown["links_cut"]) == (True, False)
    assert "truncated: True" in cli.ask("show", "site", url).ok().out
    lines = {row["url"]: row["truncated"] for row in cli.ask("manifest", "site", "--json").ok().json}
    assert lines[url] == "truncated"
    out = tmp_path / "out"
    out.mkdir()
    for form in ("jsonl", "csv", "markdown", "state"):
        cli("export", "site", "--to", form, "--out", out / form).ok()
    records = [json.loads(line) for line in (out / "jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["url"]: row["truncated"] for row in records} == pages
    with (out / "csv").open(newline="", encoding="utf-8") as table:
        assert {row["url"]: row["truncated"] for row in csv.DictReader(table)} == {
            server.url: "False",
            url: "True",
        }
    texts = [path.read_text(encoding="utf-8") for path in (out / "markdown").rglob("*.md")]
    assert sorted("truncated: true" in text for text in texts) == [False, True]
    written = (cli.workspace / "metadata" / "crawl_metadata.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["metadata"].get("truncated", False) for line in written] == [False, True, False]
    index = [
        json.loads(line) for line in (out / "state" / "page_index.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {row["url"]: row["truncated"] for row in index} == {**pages, f"{server.url}linked": False}


def test_a_try_that_is_whole_leaves_no_mark(cli: Cli) -> None:
    def answer(request: Request) -> Answer:
        whole = Answer(200, (("Content-Type", "text/html"), ("Content-Encoding", "gzip")), gzip.compress(BODY))
        return half(gzip.compress, "gzip", closes=True) if request.nth < 3 else whole

    with serve(StaticSite({"/": answer, "/linked": page("linked")})) as server:
        cli.crawl(server.url, *FAST, env=QUICK).ok(0)
    assert marks(cli) == {"/": ("200", "-"), "/linked": ("200", "-")}
    assert cli.ask("show", "site", server.url, "--json").ok().json["tries"] == 3
    assert cli.ask("pages", "site", "--json").ok().json[0]["bytes"] == len(BODY)


def test_where_nothing_can_be_decoded_the_visit_fails(cli: Cli) -> None:
    nothing = Answer(200, (("Content-Type", "text/html"), ("Content-Encoding", "gzip")), gzip.compress(BODY)[:9])
    with serve(StaticSite({"/": nothing})) as server:
        cli.crawl(server.url, *FAST, env=QUICK).ok(6, 3)
    (failed,) = cli.ask("failed", "site", "--json").ok().json
    assert (failed["kind"], failed["tries"]) == ("bad_encoding", 3)
    assert "ends too early" in failed["reason"]
    assert marks(cli) == {"/": ("bad_encoding", "-")}


def test_an_empty_body_is_not_one_that_ends_too_early(cli: Cli) -> None:
    empty = Answer(200, (("Content-Type", "text/html"), ("Content-Encoding", "gzip")))
    with serve(StaticSite({"/": page("start", "/empty"), "/empty": empty})) as server:
        cli.crawl(server.url, *FAST, env=QUICK).ok(0)
        assert [hit.path for hit in server.log].count("/empty") == 1
    assert marks(cli)["/empty"] == ("200", "-")


def test_a_status_counts_more_than_the_end_of_its_body(cli: Cli) -> None:
    gone = half(gzip.compress, "gzip")
    gone = Answer(404, gone.headers, gone.body)
    with serve(StaticSite({"/": page("start", "/gone"), "/gone": gone})) as server:
        cli.crawl(server.url, *FAST, env=QUICK).ok(3)
        assert [hit.path for hit in server.log].count("/gone") == 1
    assert marks(cli)["/gone"] == ("404", "-")


def test_the_same_with_any_number_of_workers_and_processes(tmp_path: Path) -> None:
    links = [f"/{number}" for number in range(12)]
    site: dict[str, Answer] = {path: half(gzip.compress, "gzip") for path in links[::2]}
    site |= {path: page(path) for path in links[1::2]}
    with serve(StaticSite({"/": page("start", *links), "/linked": page("linked"), **site})) as server:
        found, config = set(), tmp_path / "quick.yaml"
        config.write_text("fetch: {backoff_s: 0.01}", encoding="utf-8")
        for number, (workers, processes) in enumerate([(1, 0), (16, 0), (16, 2)]):
            space = orbweb.open(tmp_path / str(number))
            space.crawl(server.url, project="p", rate="max", workers=workers, processes=processes, config=config)
            found.add("\n".join(space.manifest("p")))
    assert len(found) == 1
    assert found.pop().count("\ttruncated") == 6


def test_a_truncated_capture_is_fetched_again_in_full(cli: Cli) -> None:
    conditions: list[str | None] = []

    def answer(request: Request) -> Answer:
        conditions.append(request.headers.get("if-none-match"))
        if conditions[-1] is not None:
            return Answer(304, (("ETag", '"one"'),))
        if len(conditions) <= 3:
            return half(gzip.compress, "gzip", tag='"one"')
        headers = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("ETag", '"one"'))
        return Answer(200, headers, gzip.compress(BODY))

    with serve(StaticSite({"/": answer, "/linked": page("linked")})) as server:
        cli.crawl(server.url, *FAST, env=QUICK).ok(0)
        assert marks(cli)["/"] == ("200", "truncated")
        cli("recrawl", "site", "--no-progress", env={**QUICK, "ORBWEB_CACHE__MAX_AGE_S": "1000"}).ok(0)
        assert marks(cli)["/"] == ("200", "-")
        cli("recrawl", "site", "--no-progress", env={**QUICK, "ORBWEB_CACHE__MAX_AGE_S": "0"}).ok(0)
    assert marks(cli)["/"] == ("304", "-")
    assert conditions == [None, None, None, None, '"one"']


def test_half_of_a_robots_file_allows_nothing(cli: Cli) -> None:
    rules = gzip.compress(b"User-agent: *\nDisallow: /a\n" + b"# \n" * 5_000 + b"Disallow: /\n")
    robots = Answer(200, (("Content-Type", "text/plain"), ("Content-Encoding", "gzip")), rules[:-20])
    env = {**QUICK, "ORBWEB_ROBOTS__RETRY_FOR_S": "0.2"}
    with serve(StaticSite({"/": page("start"), "/robots.txt": robots})) as server:
        cli.crawl(server.url, *FAST, env=env).ok(6)
        assert not server.log
    assert cli.check("site")["skipped"] == {"robots_unavailable": 1}


def test_half_of_a_sitemap_is_asked_for_again(cli: Cli) -> None:
    listed = "".join(f"<url><loc>/listed{number}</loc></url>" for number in range(40))
    packed = gzip.compress(f"<urlset>{listed}</urlset>".encode())

    tries: list[int] = []

    def sitemap(request: Request) -> Answer:
        tries.append(request.nth)
        headers = (("Content-Type", "application/xml"), ("Content-Encoding", "gzip"))
        return Answer(200, headers, packed if request.nth == 2 else packed[:-30])

    with serve(StaticSite({"/": html("<title>start</title>"), "/sitemap.xml": sitemap})) as server:
        done = cli.crawl(server.url, *FAST, env=QUICK).ok(0, 3).json
    assert tries == [1, 2]
    assert done["discovered"] == 41
