"""What an import knows, a recrawl builds upon: whichever files of a state are imported, every page is visited."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path

import pytest

import orbweb
from servers.pages import page
from servers.site import Server, StaticSite, Validated, serve

PAGES = 40
FANOUT = 3
FILES = ("state.json", "frontier.jsonl", "skipped.jsonl", "page_index.jsonl", "fetched_urls.txt")
ENOUGH = {"frontier.jsonl", "page_index.jsonl", "fetched_urls.txt"}
"""One of these makes a folder the state of a crawl."""


def paths_of(number: int) -> list[str]:
    return [f"/{each}" for each in range(number * FANOUT + 1, number * FANOUT + FANOUT + 1) if each < PAGES]


def site() -> Validated:
    answers = {f"/{number}": page(f"page {number}", *paths_of(number)) for number in range(1, PAGES)}
    return Validated(StaticSite({"/": page("page 0", *paths_of(0), "https://elsewhere.invalid/"), **answers}))


def subsets() -> list[tuple[str, ...]]:
    every = chain.from_iterable(combinations(FILES, size) for size in range(1, len(FILES) + 1))
    return [each for each in every if ENOUGH & set(each)]


@dataclass(frozen=True)
class Exported:
    """A crawl of the site in plain files."""

    server: Server
    state: Path
    bodies: Path


@pytest.fixture(scope="module", params=[None, 7], ids=["completed", "after 7 pages"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    home = tmp_path_factory.mktemp("exported")
    with serve(site()) as server:
        space = orbweb.open(home / "workspace")
        space.crawl([server.url], project="site", rate="max", processes=0, budget=request.param)
        space.export("site", to="state", out=home / "state")
        space.export("site", to="files", out=home / "bodies")
        yield Exported(server, home / "state", home / "bodies")


@pytest.mark.parametrize("bodies", [True, False], ids=["bodies", "no bodies"])
@pytest.mark.parametrize("files", subsets(), ids="+".join)
def test_a_recrawl_of_imported_files_visits_every_page(
    exported: Exported, tmp_path: Path, files: tuple[str, ...], bodies: bool
) -> None:
    for name in files:
        (tmp_path / "state").mkdir(exist_ok=True)
        shutil.copy(exported.state / name, tmp_path / "state" / name)
    space = orbweb.open(tmp_path / "workspace")
    done = space.import_state(
        tmp_path / "state",
        project="site",
        bases=[] if "state.json" in files else [exported.server.url],
        bodies=exported.bodies if bodies else None,
    )
    assert space.doctor().healthy
    if done.state == "paused":
        space.finish("site")
    result = space.recrawl("site", rate="max", processes=0, budget=None)
    assert (result.pages, result.visited, result.failed) == (PAGES, PAGES, 0)
    assert space.doctor().healthy
