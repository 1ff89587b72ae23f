"""R6, R7: damaged tables. A change anywhere in a file that follows a run is found, and the file is made again."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from orbweb.app.doctor import doctor
from orbweb.export.live.file import CHECKED
from servers.pages import page
from servers.site import StaticSite, serve

FILES = ("logs/pages-site-1.csv", "logs/edges-site-1.csv", "metadata/crawl_metadata-site-1.jsonl")
OPTIONS: dict[str, Any] = {"project": "site", "rate": "max", "processes": 0, "sitemap": "off"}
ELSEWHERE = [f"http://127.0.0.1:9/no/page/of/this/site/{number}" for number in range(2_000)]
SITE = {
    "/": page("start", "/a", "/gone", "/b", *ELSEWHERE),
    "/a": page("a"),
    "/b": page("b", "/c"),
    "/c": page("c"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in two sessions, one of its URLs retried, and a second run."""
    path = tmp_path_factory.mktemp("tables") / "workspace"
    space = orbweb.open(path)
    with serve(StaticSite(SITE)) as server:
        space.crawl(server.url, budget=2, **OPTIONS)
        space.resume("site", budget=None)
        assert space.retry("site") == 1
        space.resume("site")
        space.crawl(server.url, new_run=True, **OPTIONS)
    assert (path / FILES[1]).stat().st_size > 2 * CHECKED
    assert doctor(path)["damages"] == []
    return path


@pytest.fixture
def workspace(crawled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled, tmp_path / "workspace", symlinks=True))


def flip(path: Path, at: int) -> bytes:
    """Flip a byte; what was there before."""
    before = path.read_bytes()
    path.write_bytes(before[:at] + bytes([before[at] ^ 0x10]) + before[at + 1 :])
    return before


def test_a_flip_far_from_the_end_is_named_and_the_file_is_made_again(workspace: Path) -> None:
    path = workspace / FILES[1]
    before = flip(path, 500)
    (damage,) = doctor(workspace)["damages"]
    assert (damage["file"], damage["where"]) == (FILES[1], "the file")
    assert damage["problem"] == f"its {len(before)} bytes differ from those that were written"
    done = doctor(workspace, repair=True)
    assert (done["healthy"], done["requeued"]) == (True, 0)
    assert path.read_bytes() == before
    assert (Path(done["quarantine"]) / path.name).read_bytes() != before
    assert doctor(workspace)["damages"] == []


@pytest.mark.parametrize("name", FILES)
def test_changes_anywhere_are_found(workspace: Path, name: str) -> None:
    path, chance = workspace / name, random.Random(name)
    for _ in range(10):
        before = path.read_bytes()
        at = chance.randrange(len(before))
        if chance.random() < 0.7:
            flip(path, at)
        else:
            path.write_bytes(before[:at])
        assert [damage["file"] for damage in doctor(workspace)["damages"]] == [name]
        path.write_bytes(before)


def test_a_file_that_is_made_again_has_one_row_of_what_was_retried(workspace: Path) -> None:
    path, link = workspace / FILES[2], workspace / "metadata" / "crawl_metadata.jsonl"
    before = flip(path, 20).splitlines()
    assert doctor(workspace, repair=True)["healthy"]
    after = path.read_bytes().splitlines()
    assert len([line for line in before if b"/gone" in line]) == 2
    assert [line for line in after if b"/gone" in line] == [line for line in before if b"/gone" in line][1:]
    assert link.readlink().name == "crawl_metadata-site-2.jsonl"


def test_what_is_deleted_or_made_again_is_no_damage(workspace: Path) -> None:
    (workspace / FILES[0]).unlink()
    flip(workspace / FILES[1], 0)
    assert [damage["file"] for damage in doctor(workspace)["damages"]] == [FILES[1]]
    orbweb.open(workspace).replay("site", run=1)
    assert doctor(workspace)["damages"] == []
    with (workspace / FILES[0]).open("ab") as stream:
        stream.write(b"what a crash left")
    assert doctor(workspace)["damages"] == []


def test_the_command_says_so(workspace: Path) -> None:
    flip(workspace / FILES[0], 9)
    cli = Cli(workspace)
    assert f"damaged: {FILES[0]}, the file: its " in cli("doctor").ok(3).out
    told = cli("doctor", "--repair").ok().out
    assert f"repaired: {FILES[0]}" in told
    assert "no page needs to be fetched again" in told
