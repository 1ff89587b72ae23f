"""A workspace that may not be written can be read: of another account, or on a read-only file system."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import orbweb
from harness import ORBWEB, Result, kill, make_readable, make_writable, wait_until, without_override
from servers.pages import chain, page
from servers.site import StaticSite, serve

SITE = {"/": page("start", "/a", "/b"), "/a": page("apples and pears"), "/b": page("plums")}

Ask = Callable[..., Result]


def as_reader(home: Path, *args: object, out: Path) -> Result:
    """A command by an account that may not write the workspace."""
    done = subprocess.run(
        [*ORBWEB, *map(str, args), "--workspace", str(home)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=out,
        preexec_fn=without_override,
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the reader may write."""
    found = tmp_path / "out"
    found.mkdir()
    return found


@pytest.fixture(params=["another account", "read-only mount"])
def reader(request: pytest.FixtureRequest, tmp_path: Path, place: Path) -> Iterator[tuple[Path, Ask]]:
    """The workspace of two runs, which may only be read, and how to ask it."""
    home = tmp_path / "workspace"
    space = orbweb.open(home)
    with serve(StaticSite(SITE)) as server:
        for _ in range(2):
            space.crawl(server.url, project="site", rate="max", processes=0)
    space.search("site", "apples")
    if request.param == "another account":
        make_readable(home)
        yield home, lambda *args: as_reader(home, *args, out=place)
        make_writable(home)
        return
    mounted = subprocess.run(["mount", "--bind", str(home), str(home)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting needs root")
    subprocess.run(["mount", "-o", "remount,bind,ro", str(home)], check=True)

    def ask(*args: object) -> Result:
        words = [*ORBWEB, *map(str, args), "--workspace", str(home)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=place)
        return Result(done.returncode, done.stdout, done.stderr)

    yield home, ask
    subprocess.run(["umount", "-l", str(home)], check=True)


def contents(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def test_reports_and_exports(reader: tuple[Path, Ask], place: Path) -> None:
    home, ask = reader
    before = contents(home)
    url = ask("pages", "site", "--json").ok().json[1]["url"]
    assert ask("status", "--json").ok().json[0]["run"] == 2
    for words in (
        *(("runs", "site"), ("queue", "site"), ("failed", "site"), ("manifest", "site"), ("rules", "site")),
        *(
            ("show", "site", url),
            ("show", "site", url, "--as", "html"),
            ("explain", "site", url),
            ("diff", "site"),
        ),
        ("index", "site"),
    ):
        ask(*words).ok()
    assert url in ask("search", "site", "apples").ok().out
    for form, out in (("markdown", "folder"), ("jsonl", "pages.jsonl"), ("zip", "pages.zip"), ("state", "state")):
        ask("export", "site", "--to", form, "--out", place / out).ok()
    assert "apples" in (place / "pages.jsonl").read_text()
    assert contents(home) == before


def test_what_would_write_says_so(reader: tuple[Path, Ask]) -> None:
    home, ask = reader
    before = contents(home)
    for words in (
        ("crawl", "http://127.0.0.1:9/", "--no-progress"),
        ("recrawl", "site", "--no-progress"),
        ("retry", "site"),
        ("extract", "site"),
    ):
        refused = ask(*words)
        assert refused.code == 1, refused
        assert str(home) in refused.err
        assert "Traceback" not in refused.err
    assert contents(home) == before


def test_a_search_index_that_would_have_to_grow(tmp_path: Path, place: Path) -> None:
    home = tmp_path / "workspace"
    with serve(StaticSite(SITE)) as server:
        orbweb.crawl(server.url, workspace=home, project="site", rate="max", processes=0)
    make_readable(home)
    refused = as_reader(home, "search", "site", "apples", out=place).ok(1)
    assert "search index" in refused.err
    assert "read-only" in refused.err
    make_writable(home)


def test_a_crawl_of_another_account_at_work(tmp_path: Path, place: Path) -> None:
    """Its commits are seen as they happen, and it is not disturbed. The same after it was killed."""
    home = tmp_path / "workspace"
    with serve(StaticSite(chain(300, delay_s=0.05))) as server:
        words = ("crawl", server.url, "--project", "site", "--rate", "max", "--workers", "4", "--no-progress")
        crawl = subprocess.Popen([*ORBWEB, *words, "--workspace", str(home)], stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: len(server.log) > 20)
            make_readable(home)
            seen = as_reader(home, "status", "site", "--json", out=place).ok().json
            assert seen["running"]
            wait_until(lambda: as_reader(home, "status", "site", "--json", out=place).ok().json["visited"] > 30)
        finally:
            kill(crawl)
    dead = as_reader(home, "status", "site", "--json", out=place).ok().json
    assert (dead["running"], dead["state"], dead["crawls"][-1]["state"]) == (False, "paused", "interrupted")
    assert dead["visited"] > 30, "what is in the log only is read, too"
    make_writable(home)


def test_a_log_that_cannot_be_read_is_not_passed_over(tmp_path: Path, place: Path) -> None:
    """A copy without the shared memory has committed changes that only its log knows."""
    home, copy = tmp_path / "workspace", tmp_path / "copy"
    with serve(StaticSite(chain(50, delay_s=0.05))) as server:
        words = ("crawl", server.url, "--project", "site", "--rate", "max", "--no-progress")
        crawl = subprocess.Popen([*ORBWEB, *words, "--workspace", str(home)], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: len(server.log) > 20)
        kill(crawl)
    shutil.copytree(home, copy)
    (copy / "orbweb.db-shm").unlink()
    make_readable(copy)
    refused = as_reader(copy, "status", out=place).ok(1)
    assert "orbweb.db-wal" in refused.err
    assert "Copy the workspace" in refused.err
    make_writable(copy)
