"""A body that is lost is written again by the next visit that fetches it, and no 304 hides that it is missing."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli
from orbweb.app import CrawlResult
from orbweb.app.doctor import check_store
from servers.pages import page
from servers.site import Server, StaticSite, Validated, serve

NAMES = ["a", "b", "c", "d"]
SITE: dict[str, Any] = {
    "/": page("start", *(f"/{name}" for name in NAMES)),
    **{f"/{name}": page(f"the page {name}") for name in NAMES},
    "/b2": page("the page b"),
}
LOST = "a"
FAULTS = ("blob_written:1", "blob_synced:1", "rows_written:1", "rows_written:2", "group_committed:2")


@dataclass(frozen=True)
class Crawled:
    """A crawled site; each test goes on from a copy of its workspace."""

    server: Server
    path: Path
    layout: str


@pytest.fixture(scope="module", params=["segments", "files"])
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    path = tmp_path_factory.mktemp("lost") / "once"
    with serve(Validated(StaticSite(SITE))) as server:
        crawl(path, server.url, store=request.param)
        yield Crawled(server, path, request.param)


@pytest.fixture
def copy(crawled: Crawled, tmp_path: Path) -> Path:
    crawled.server.reset()
    return shutil.copytree(crawled.path, tmp_path / "copy")


def crawl(path: Path, url: str, project: str = "site", **options: Any) -> CrawlResult:
    given = {"rate": "max", "processes": 0, "sitemap": "off", **options}
    return orbweb.open(path).crawl(url, project=project, **given)


def again(path: Path, url: str, **options: Any) -> CrawlResult:
    return crawl(path, url, new_run=True, **options)


def execute(path: Path, statement: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(path / "orbweb.db")) as db, db:
        return db.execute(statement, values).fetchall()


def sha256_of(path: Path, name: str) -> bytes:
    ((found,),) = execute(
        path,
        "SELECT body_sha256 FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id"
        " WHERE visits.run_id = 1 AND urls.key LIKE ?",
        f"%/{name}",
    )
    return bytes(found)


@dataclass(frozen=True)
class StoredBody:
    """The file that has a body, and the bytes of it in the file."""

    file: Path
    offset: int
    length: int


def stored(path: Path, name: str) -> StoredBody:
    sha256 = sha256_of(path, name)
    ((segment, position, length),) = execute(
        path, "SELECT segment, position, length FROM bodies WHERE sha256 = ?", sha256
    )
    if segment is not None:
        return StoredBody(path / "store" / "segments" / f"{segment:04d}.seg", position, length)
    text = sha256.hex()
    return StoredBody(path / "store" / "html" / text[:2] / text[2:4] / f"{text}.html.zst", 0, length)


def unlink(path: Path, name: str) -> None:
    stored(path, name).file.unlink()


def cut(path: Path, name: str) -> None:
    body = stored(path, name)
    os.truncate(body.file, body.offset + body.length // 2)


def overwrite(path: Path, name: str) -> None:
    """Zeros in place of the body and of the header before it: the file keeps its size."""
    body = stored(path, name)
    data = bytearray(body.file.read_bytes())
    start = max(0, body.offset - 20)
    data[start : body.offset + body.length] = bytes(body.offset + body.length - start)
    body.file.write_bytes(data)


def flip(path: Path, name: str) -> None:
    body = stored(path, name)
    data = bytearray(body.file.read_bytes())
    data[body.offset + body.length // 2] ^= 0x55
    body.file.write_bytes(data)


def forget(path: Path, name: str) -> None:
    execute(path, "DELETE FROM bodies WHERE sha256 = ?", sha256_of(path, name))


Loss = Callable[[Path, str], None]
MISSING: list[Loss] = [unlink, cut, forget]
DAMAGED: list[Loss] = [*MISSING, overwrite, flip]


def bodies(path: Path) -> set[bytes]:
    """Every body that a visit of any run names, read and verified."""
    named = {bytes(sha256) for (sha256,) in execute(path, "SELECT DISTINCT body_sha256 FROM visits")}
    workspace = orbweb.open(path)
    return {workspace.body(sha256.hex()) for sha256 in named}


def assert_whole(path: Path) -> None:
    assert len(bodies(path)) == 1 + len(NAMES)
    assert check_store(path)["damages"] == []


def statuses(server: Server) -> dict[str, int]:
    return {hit.path: hit.status for hit in server.log}


def manifest(path: Path, run: int) -> list[list[str]]:
    lines = [line.split("\t") for line in orbweb.open(path).manifest("site", run=run)]
    return [[*line[:2], *line[3:]] for line in lines]


@pytest.mark.parametrize("lose", DAMAGED)
def test_refresh_writes_a_lost_body_again(crawled: Crawled, copy: Path, lose: Loss) -> None:
    lose(copy, LOST)
    again(copy, crawled.server.url, refresh=True)
    assert set(statuses(crawled.server).values()) == {200}
    assert_whole(copy)
    assert manifest(copy, 2) == manifest(copy, 1)


@pytest.mark.parametrize("lose", MISSING)
def test_a_visit_that_finds_the_body_missing_trusts_no_304(crawled: Crawled, copy: Path, lose: Loss) -> None:
    lose(copy, LOST)
    done = again(copy, crawled.server.url)
    asked = statuses(crawled.server)
    assert asked["/a"] == 200
    assert_whole(copy)
    assert manifest(copy, 2) == manifest(copy, 1)
    if crawled.layout == "files" or lose is forget:
        assert {path for path, status in asked.items() if status == 200} == {"/a"}
        assert done.reused == len(NAMES)


def test_a_body_that_was_overwritten_is_missing_too(crawled: Crawled, copy: Path) -> None:
    """In a segment, by its header; a file of zeros has its size, so only a visit that reads it finds out."""
    overwrite(copy, LOST)
    again(copy, crawled.server.url)
    assert statuses(crawled.server)["/a"] == (200 if crawled.layout == "segments" else 304)


@pytest.mark.parametrize("lose", MISSING)
def test_a_fresh_page_whose_body_is_missing_is_requested(
    crawled: Crawled, copy: Path, tmp_path: Path, lose: Loss
) -> None:
    config = tmp_path / "fresh.yaml"
    config.write_text("cache: {max_age_s: 3600}")
    lose(copy, LOST)
    again(copy, crawled.server.url, config=config)
    assert statuses(crawled.server)["/a"] == 200
    assert_whole(copy)


def test_it_is_told_once_and_doctor_is_named(crawled: Crawled, copy: Path) -> None:
    for name in NAMES if crawled.layout == "files" else [LOST]:
        unlink(copy, name)
    done = Cli(copy)("crawl", crawled.server.url, "--project", "site", "--new-run", "--rate", "max").ok(0)
    told = [line for line in done.err.splitlines() if "its stored body" in line]
    assert len(told) == 1
    assert "orbweb doctor" in told[0]
    assert_whole(copy)


@pytest.mark.parametrize("lose", DAMAGED)
def test_another_project_that_fetches_the_same_body_writes_it_again(
    crawled: Crawled, copy: Path, lose: Loss
) -> None:
    lose(copy, LOST)
    crawl(copy, f"{crawled.server.url}a", project="other", user_agent="other/1.0")
    assert statuses(crawled.server)["/a"] == 200
    workspace = orbweb.open(copy)
    assert b"the page a" in workspace.body(sha256_of(copy, "a").hex())


@pytest.mark.parametrize("lose", DAMAGED)
def test_a_body_of_the_other_layout_is_written_in_the_layout_of_now(
    crawled: Crawled, copy: Path, lose: Loss
) -> None:
    lose(copy, LOST)
    other = "files" if crawled.layout == "segments" else "segments"
    again(copy, crawled.server.url, refresh=True, store=other)
    assert len(bodies(copy)) == 1 + len(NAMES)
    sha256 = sha256_of(copy, LOST)
    ((segment,),) = execute(copy, "SELECT segment FROM bodies WHERE sha256 = ?", sha256)
    assert (segment is None) == (other == "files")


def test_a_plain_file_beside_a_damaged_compressed_one_is_read(
    crawled: Crawled, copy: Path, tmp_path: Path
) -> None:
    if crawled.layout != "files":
        pytest.skip("of files alone")
    config = tmp_path / "plain.yaml"
    config.write_text("store: {compress: false}")
    flip(copy, LOST)
    again(copy, crawled.server.url, refresh=True, config=config)
    assert_whole(copy)


def test_what_is_stored_is_not_written_again(crawled: Crawled, copy: Path) -> None:
    def files() -> dict[Path, tuple[int, int]]:
        found = [file for file in (copy / "store").rglob("*") if file.is_file()]
        return {file: (file.stat().st_ino, file.stat().st_size) for file in found}

    before = files()
    again(copy, crawled.server.url, refresh=True)
    assert files() == before


@pytest.mark.parametrize("fault", [*FAULTS, "blob_renamed:1"])
@pytest.mark.parametrize("lose", [unlink, flip])
def test_a_kill_while_it_is_written_again_costs_nothing(
    crawled: Crawled, copy: Path, lose: Loss, fault: str
) -> None:
    if fault == "blob_renamed:1" and crawled.layout == "segments":
        pytest.skip("segments are not renamed")
    lose(copy, LOST)
    cli = Cli(copy)
    killed = cli.crawl(
        crawled.server.url, "--project", "site", "--new-run", "--refresh", "--rate", "max",
        env={"ORBWEB_FAULT": fault, "ORBWEB_ENGINE__GROUP_PAGES": "1"},
    )  # fmt: skip
    assert killed.code == -signal.SIGKILL
    cli.resume("site").ok(0)
    assert_whole(copy)
    assert manifest(copy, 2) == manifest(copy, 1)
