"""R22, S5: a page on which the parser crashes, or which is made to be complex, costs itself and nothing else.

The verdict on a page is the same wherever it is read, so the manifest is; a page that kills its worker is a
failure with the signal's name, and the run goes on.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import orbweb
from harness import Cli
from orbweb.config.fetching import FetchSection
from orbweb.extraction.buffer import OUTPUT_BYTES, OUTPUT_PER_BYTE
from orbweb.parsing.page import MAX_BYTES
from servers.pages import page
from servers.site import Answer, StaticSite, html, serve

PLAIN = ("--rate", "max", "--sitemap", "off", "--project", "site")
CRASHING = """
import ctypes, resource
import orbweb.engine.workers.page

processed = orbweb.engine.workers.page.PageProcessor.process
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def crash(self, job):
    if b"crashes the parser" in job.body:
        ctypes.string_at(0)
    return processed(self, job)

orbweb.engine.workers.page.PageProcessor.process = orbweb.engine.workers.page.PageProcessor.attempt = crash
"""
"""What a mistake in compiled code does: it reads memory that is not there."""
SIGNAL = "the worker process died 3 times on this page: SIGSEGV"


@pytest.fixture
def crashing(tmp_path: Path) -> dict[str, str]:
    """The environment of a parser that crashes on pages that say so, in whatever process."""
    home = tmp_path / "crashing"
    home.mkdir()
    (home / "sitecustomize.py").write_text(CRASHING)
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(home), os.environ.get("PYTHONPATH")]))}


def site_that_crashes() -> dict[str, Answer]:
    leaves = {f"/{number}": page(f"page {number}") for number in range(1, 6)}
    leaves["/2"] = page("This page crashes the parser")
    return {"/": page("start", *leaves), **leaves}


def failures(cli: Cli) -> dict[str, tuple[str, str]]:
    rows = cli.ask("failed", "site", "--json").ok().json
    return {row["url"].rpartition("/")[2]: (row["kind"], row["reason"]) for row in rows}


def test_a_page_that_crashes_the_parser_fails_and_the_crawl_goes_on(cli: Cli, crashing: dict[str, str]) -> None:
    with serve(StaticSite(site_that_crashes())) as server:
        done = cli.crawl(server.url, *PLAIN, env=crashing).ok(3)
    assert (done.json["pages"], done.json["failed"], done.json["ended_by"]) == (5, 1, "exhausted")
    assert failures(cli) == {"2": ("unparsable", SIGNAL)}
    cli.check("site")


def test_the_first_page_of_a_crawl_is_read_in_a_worker_too(cli: Cli, crashing: dict[str, str]) -> None:
    with serve(StaticSite({"/": page("This page crashes the parser")})) as server:
        done = cli.crawl(server.url, *PLAIN, env=crashing).ok(6)
    assert (done.json["failed"], done.json["ended_by"]) == (1, "exhausted")
    assert failures(cli) == {"": ("unparsable", SIGNAL)}


def test_a_page_that_crashed_the_parser_does_not_stop_the_resumed_crawl(
    cli: Cli, crashing: dict[str, str]
) -> None:
    with serve(StaticSite(site_that_crashes())) as server:
        cli.crawl(server.url, *PLAIN, "--budget", 3, env=crashing).ok(4)
        assert failures(cli) == {"2": ("unparsable", SIGNAL)}
        done = cli.resume("site", "--budget", 10, env=crashing).ok(3)
        assert [hit.path for hit in server.log].count("/2") == 1
    assert (done.json["ended_by"], done.json["pages"], done.json["failed"]) == ("exhausted", 5, 1)
    assert failures(cli) == {"2": ("unparsable", SIGNAL)}


def formatting(attributes: int, times: int) -> str:
    """Formatting elements with many attributes, each another one, which a parser compares with each other."""
    names = " ".join(f"a{number}" for number in range(attributes))
    return "".join(f"<b {names} b{number}>x" for number in range(times))


COMPLEX = {
    "emphasis": "<main>" + "<b>" * 997 + "<p>x" * 10_000,
    "other-emphasis": "<p>" + "".join(f"<b id={n}>" for n in range(500)) + "<p>x" * 20_000,
    "attributes": formatting(100, 2_000),
    "html": "".join(f"<html a{n}=1>" for n in range(5_000)) + "x",
    "body": "".join(f"<body a{n}=1>" for n in range(5_000)) + "x",
    "headings": "<h1><div>x" * 20_000,
    "quotations": "<blockquote>" * 20 + "<p>x" * 50_000,
    "deep": "<i>" + "<b>" * 400 + "<div>x</div>" * 20_000,
}
TOO_COMPLEX = {"nodes": "<p>x" * 1_100_000, "output": "<blockquote>" * 20 + "<p>x" * 150_000}


def test_the_verdict_on_a_page_is_the_same_wherever_it_is_read(cli: Cli) -> None:
    pages = {f"/{name}": html(f"{body}<p>{name}") for name, body in {**COMPLEX, **TOO_COMPLEX}.items()}
    hashes = {}
    with serve(StaticSite({"/": page("start", *pages), **pages})) as server:
        for processes in ("0", "1", "2"):
            each = Cli(cli.workspace / processes)
            each.workspace.mkdir(parents=True)
            done = each.crawl(server.url, *PLAIN, "--processes", processes).ok(3)
            assert (done.json["pages"], done.json["failed"]) == (1 + len(COMPLEX), len(TOO_COMPLEX))
            kinds = failures(each)
            assert {name: kind for name, (kind, _) in kinds.items()} == dict.fromkeys(TOO_COMPLEX, "unparsable")
            hashes[processes] = each.manifest_hash("site"), kinds
    assert hashes["0"] == hashes["1"] == hashes["2"]
    assert kinds["nodes"][1] == "more than 2,000,000 elements and texts"
    assert kinds["output"][1] == "more than 5.2 MB of extracted text"


@pytest.mark.parametrize("body", COMPLEX.values(), ids=COMPLEX)
def test_what_is_extracted_is_in_proportion_to_the_page(body: str) -> None:
    document = orbweb.extract(body, "https://h/")
    limit = OUTPUT_BYTES + OUTPUT_PER_BYTE * len(body)
    assert len(document.markdown) + len(document.text) <= 2 * limit
    assert sum(len(heading.text) for heading in document.headings) <= limit


@pytest.mark.parametrize("body", [*TOO_COMPLEX.values(), "x" * (MAX_BYTES + 1)], ids=[*TOO_COMPLEX, "size"])
@pytest.mark.parametrize("form", [str, str.encode], ids=["text", "bytes"])
def test_a_page_that_fails_in_a_crawl_cannot_be_extracted(body: str, form: type[str]) -> None:
    with pytest.raises(orbweb.TooComplex):
        orbweb.extract(form(body), "https://h/")


def test_the_size_that_can_be_extracted_is_that_of_a_crawl() -> None:
    assert FetchSection().max_bytes == MAX_BYTES
