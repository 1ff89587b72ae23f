"""P3: a budget of B visits exactly B URLs; N sessions of B equal one session of N*B; page limits are exact."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import orbweb
from harness import Cli
from servers.graph import GraphSite
from servers.pages import framed, page
from servers.site import Answer, StaticSite, redirect, serve

FAST = ("--rate", "max", "--project", "site")


@pytest.mark.parametrize("workers", [1, 16])
def test_three_sessions_equal_one(tmp_path: Path, workers: int) -> None:
    with serve(StaticSite(_wide(149))) as server:
        parts, whole = Cli(tmp_path / "parts"), Cli(tmp_path / "whole")
        codes = []
        for _ in range(3):
            done = parts.crawl(server.url, *FAST, "--workers", workers, "--budget", 50)
            codes.append(done.code)
            assert done.json["crawl_visited"] + done.json["crawl_failed"] == 50
            assert parts.check("site")["visited"] == 50 * len(codes)
        assert codes == [4, 4, 0]
        whole.crawl(server.url, *FAST, "--workers", workers, "--budget", 150).ok(0)
        assert parts.manifest_hash("site") == whole.manifest_hash("site")


def _wide(pages: int) -> dict[str, Answer]:
    leaves = {f"/{number}": page(f"page {number}") for number in range(pages)}
    return {"/": page("start", *leaves), **leaves}


@pytest.mark.parametrize("workers", [1, 16])
def test_any_split_of_a_budget_gives_the_same_visits(tmp_path: Path, workers: int) -> None:
    """Redirects put new places before leased ones, so this also shows that the clamp cannot deadlock."""
    site = GraphSite(3, 200)
    with serve(site) as server:
        whole = Cli(tmp_path / "whole")
        whole.crawl(server.url, *FAST, env={"ORBWEB_FETCH__BACKOFF_S": "0.01"}).ok(3)
        total = whole.check("site")["visited"] + whole.check("site")["failed"]
        parts = Cli(tmp_path / "parts")
        settled = 0
        for budget in (1, 7, 64, 33, 1000):
            server.reset()
            done = parts.crawl(
                server.url,
                *FAST,
                "--workers",
                workers,
                "--budget",
                budget,
                env={"ORBWEB_FETCH__BACKOFF_S": "0.01"},
            )
            settled += done.json["crawl_visited"] + done.json["crawl_failed"]
            expected = min(budget, total - (settled - done.json["crawl_visited"] - done.json["crawl_failed"]))
            assert done.json["crawl_visited"] + done.json["crawl_failed"] == expected
            assert done.code == (4 if settled < total else 3)
            parts.check("site")
        assert parts.manifest_hash("site") == whole.manifest_hash("site")


def test_budget_that_ends_with_the_frontier_counts_as_exhausted(cli: Cli) -> None:
    with serve(StaticSite(_wide(4))) as server:
        done = cli.crawl(server.url, *FAST, "--budget", 5).ok(0)
    assert done.json["ended_by"] == "exhausted"
    assert done.json["run_state"] == "completed"


@pytest.mark.parametrize("workers", [1, 4, 32])
def test_page_limit_is_exact_and_per_base(tmp_path: Path, workers: int) -> None:
    """Alternates do not count; a base URL at its limit skips its queue while the other goes on."""
    answers = {}
    for base in ("a", "b"):
        leaves = {f"/{base}/{number}": page(f"{base} {number // 2}") for number in range(120)}
        answers |= {f"/{base}/": page(f"start {base}", *leaves), **leaves}
    with serve(StaticSite(answers)) as server:
        cli = Cli(tmp_path / "w")
        done = cli.crawl(f"{server.url}a/", f"{server.url}b/", *FAST, "--page-limit", 20, "--workers", workers).ok(
            0
        )
        assert done.json["ended_by"] == "page_limit"
        assert [base["pages"] for base in done.json["bases"]] == [20, 20]
        assert done.json["pages"] == 40
        assert done.json["skipped"]["page_limit"] == done.json["discovered"] - done.json["visited"]
        cli.check("site")
        assert len(server.log) == done.json["visited"], "something was fetched in vain"


def test_page_limit_counts_texts_whatever_stands_around_them(tmp_path: Path) -> None:
    """Two base URLs, each text three times in different bodies, the menus of the alternates lead on."""
    answers: dict[str, Answer] = {}
    for base in ("a", "b"):
        leaves = [f"/{base}/{number}" for number in range(60)]
        answers[f"/{base}/"] = framed(f"start {base}", "top", *leaves[:6])
        for number, leaf in enumerate(leaves):
            more = leaves[6 + 3 * number : 9 + 3 * number]
            delay_s = (number * 7 % 5) / 500
            answers[leaf] = framed(f"{base} {number // 3}", f"menu {leaf}", *more, delay_s=delay_s)
    results = set()
    with serve(StaticSite(answers)) as server:
        bases = [f"{server.url}a/", f"{server.url}b/"]
        for workers, processes in product((1, 4, 32), (0, 1, 2)):
            space = orbweb.open(tmp_path / f"{workers}-{processes}")
            done = space.crawl(
                bases, project="site", rate="max", page_limit=20, workers=workers, processes=processes
            )
            assert [(base.pages, base.limit, base.remaining) for base in done.bases] == [(20, 20, 0)] * 2
            assert sum(base.alternates for base in done.bases) == done.alternates > 60
            assert (done.ended_by, done.exit_code) == ("page_limit", 0)
            results.add("\n".join(space.manifest("site")))
    (manifest,) = results
    lines = [line.split("\t") for line in manifest.splitlines()]
    assert len({line[4] for line in lines}) == sum(line[5] == "primary" for line in lines) == 40
    assert len({line[3] for line in lines}) == len(lines), "every body is of its own"


def test_page_limit_gives_the_same_run_with_any_workers(tmp_path: Path) -> None:
    leaves = {f"/{number}": page(f"page {number // 3}", delay_s=(number % 5) / 1000) for number in range(150)}
    hashes = set()
    with serve(StaticSite({"/": page("start", *leaves), **leaves})) as server:
        for workers in (1, 4, 32):
            cli = Cli(tmp_path / str(workers))
            cli.crawl(server.url, *FAST, "--page-limit", 30, "--workers", workers).ok(0)
            hashes.add(cli.manifest_hash("site"))
    assert len(hashes) == 1


def test_page_limit_with_redirects_inserting_heads(cli: Cli) -> None:
    """A redirect puts its target before deeper places that are already leased."""
    answers = {
        "/": page("start", "/a", "/r", "/b"),
        "/a": page("a", *(f"/deep/{number}" for number in range(50))),
        "/b": page("b"),
        "/r": redirect("/target"),
        "/target": page("target"),
        **{f"/deep/{number}": page(f"deep {number}") for number in range(50)},
    }
    with serve(StaticSite(answers)) as server:
        done = cli.crawl(server.url, *FAST, "--page-limit", 5, "--workers", 32).ok(0)
    assert done.json["pages"] == 5
    paths = [line[1].partition("/")[2] for line in cli.manifest("site")]
    assert [path.split("/", 2)[-1] for path in paths] == ["", "a", "r", "b", "target", "deep/0"]
    cli.check("site")
