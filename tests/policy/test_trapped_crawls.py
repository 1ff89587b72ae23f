"""Traps beside real pages: every real page is captured, and hardly a request goes into a trap."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import Cli
from servers.pages import page
from servers.site import StaticSite, serve
from servers.traps import REAL, TrapSite, is_trap


def test_filters_that_fail_or_bring_something_new_are_all_followed(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    texts = {
        "brand": "Kettles of every maker",
        "colour": "Red, green and blue spoons",
        "price": "What a pan costs today",
        "size": "Large pots for soup",
    }
    names = list(texts)
    found = {f"/new?{name}=1&sort=one": page(text) for name, text in texts.items()}
    found["/new?sort=one"] = page("All of them", *found)
    gone = [f"/gone?{name}=1&sort=one" for name in names]
    site = {"/": page("start", "/new?sort=one", "/gone?sort=one"), "/gone?sort=one": page("Gone", *gone), **found}
    with serve(StaticSite(site)) as server:
        options = ("--project", "p", "--rate", "max", "--sitemap", "off")
        done = cli.crawl(server.url, *options).ok(3).json
        hits = [hit.path for hit in server.log]
    assert sorted(hits) == sorted([*site, *gone])
    assert done["skipped"] == {}
    cli.check("p")


@pytest.mark.parametrize("workers", [1, 32])
def test_real_pages_are_captured_and_traps_are_parked(tmp_path: Path, workers: int) -> None:
    cli = Cli(tmp_path)
    with serve(TrapSite()) as server:
        done = (
            cli.crawl(server.url, "--project", "p", "--workers", workers, "--rate", "max", "--budget", 3000)
            .ok(0)
            .json
        )
        hits = [hit.path for hit in server.log]
    real = {f"/docs/page-{number}" for number in range(1, REAL)} | {"/"}
    assert real <= set(hits)
    swallowed = [target for target in hits if is_trap(target)]
    assert len(swallowed) <= 0.05 * len(hits), (len(swallowed), sorted(swallowed))
    assert done["ended_by"] == "exhausted"
    assert done["skipped"]["trap"] > 0
    cli.check("p")


@pytest.mark.parametrize("name", ["{}", "part-{}"])
def test_a_tree_of_thin_pages_is_no_trap(tmp_path: Path, name: str) -> None:
    cli = Cli(tmp_path)
    site, level = {}, [""]
    for depth in range(6):
        links = {path: [f"{path}/{name.format(each)}" for each in range(2) if depth < 5] for path in level}
        site |= {path or "/": page("A page of the tree", *below) for path, below in links.items()}
        level = [deeper for below in links.values() for deeper in below]
    with serve(StaticSite(site)) as server:
        done = cli.crawl(server.url, "--project", "p", "--rate", "max", "--sitemap", "off").ok(0).json
        assert sorted(hit.path for hit in server.log if hit.path != "/robots.txt") == sorted(site)
    assert done["skipped"] == {}
