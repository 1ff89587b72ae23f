"""A process that starts with the modules of orbweb loaded does what one does that starts from nothing."""

from __future__ import annotations

import os
import re
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

import preloaded
from harness import Cli, Result, wait_until
from servers.pages import page
from servers.site import StaticSite, serve

BOTH = pytest.mark.parametrize("start", ["preloaded", "from nothing"])
FAST = ("--rate", "max", "--project", "site")
SITE = {"/": page("stärt", "/gone", "/b"), "/b": page("b")}


@pytest.fixture(autouse=True)
def started(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "start" in request.fixturenames:
        choose(monkeypatch, request.getfixturevalue("start"))


def choose(monkeypatch: pytest.MonkeyPatch, start: str) -> None:
    if start == "preloaded":
        monkeypatch.delenv(preloaded.FROM_NOTHING, raising=False)
    else:
        monkeypatch.setenv(preloaded.FROM_NOTHING, "1")


def alike(result: Result, cli: Cli) -> tuple[int, str, str]:
    """Without what differs from crawl to crawl."""
    name = cli.workspace.parent.name
    out, err = (re.sub(r"[0-9]+", "1", each.replace(name, "HOME")) for each in (result.out, result.err))
    return result.code, out, err


def test_every_command_ends_and_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: dict[str, list[Any]] = {}
    with serve(StaticSite(SITE)) as server:
        commands = (
            ("crawl", server.url, *FAST, "--budget", 1),
            ("resume", "site", "--budget", "none"),
            ("crawl", "--wrong"),
            ("crawl", f"{server.url}gone", "--project", "gone"),
            ("recrawl", "site"),
            ("retry", "site"),
            ("status", "unknown"),
            ("pages", "site"),
            ("export", "site", "--to", "jsonl", "--out", "pages.jsonl"),
            ("discover", server.url, "--rate", "max", "--project", "two"),
            ("scrape", "--project", "two"),
            ("delete", "site", "--yes"),
            ("doctor",),
        )
        for start in ("preloaded", "from nothing"):
            choose(monkeypatch, start)
            cli = Cli(tmp_path / start.replace(" ", "-") / "workspace")
            cli.workspace.parent.mkdir()
            said[start] = [(words[0], *alike(cli(*words), cli)) for words in commands]
    assert said["preloaded"] == said["from nothing"]
    assert {code for _, code, _, _ in said["preloaded"]} >= {0, 2, 3, 4}


@BOTH
def test_it_has_the_environment_and_the_mask_of_the_caller(cli: Cli, start: str) -> None:
    before = os.umask(0o027)
    try:
        with serve(StaticSite(SITE)) as server:
            cli.crawl(server.url, "--project", "site", env={"ORBWEB_LIMITS__RATE": "max"}).ok(3)
            cli("export", "site", "--to", "jsonl", "--out", "pages.jsonl").ok()
            killed = cli.crawl(server.url, *FAST, env={"ORBWEB_FAULT": "page_settled:2"})
    finally:
        os.umask(before)
    assert killed.code == -signal.SIGKILL
    assert stat.S_IMODE((cli.workspace.parent / "pages.jsonl").stat().st_mode) & 0o027 == 0


@BOTH
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_is_a_child_that_signals_end(cli: Cli, start: str, number: signal.Signals) -> None:
    with serve(StaticSite(SITE)) as server:
        process = cli.start("crawl", server.url, "--project", "site", "--rate", "0.2")
        wait_until(lambda: server.whole_log)
        assert parent(process.pid) == os.getpid()
        process.send_signal(number)
        out, err = process.communicate(timeout=90)
    assert process.returncode == (-number if number == signal.SIGKILL else 4), err
    assert bool(out) == (number != signal.SIGKILL)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
