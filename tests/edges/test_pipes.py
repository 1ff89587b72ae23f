"""A reader that goes away (`orbweb crawl URL | head -1`) changes nothing: the crawl ends as it would have."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from harness import Cli, wait_until
from servers.pages import chain, page
from servers.site import StaticSite, serve


def crawl_into(cli: Cli, url: str, *words: str, both: bool) -> int:
    """The exit code of a crawl whose reader takes nothing; `both`: its stderr goes to the same reader."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        cli.command("crawl", url, "--project", "site", "--rate", "max", "--workers", "2", *words),
        stdout=writing,
        stderr=writing if both else subprocess.DEVNULL,
    )
    os.close(writing)
    os.close(reading)
    return process.wait(timeout=120)


@pytest.mark.parametrize("both", [False, True], ids=["stdout", "stdout and stderr"])
@pytest.mark.parametrize("form", ["--json", "--no-progress"])
def test_the_reader_of_a_crawl_goes_away(cli: Cli, form: str, both: bool) -> None:
    with serve(StaticSite(chain(60))) as server:
        assert crawl_into(cli, server.url, form, both=both) == 0
    status = cli.check("site")
    assert (status["visited"], status["crawls"][-1]["ended_by"]) == (61, "exhausted")


def test_the_exit_code_is_that_of_the_crawl(cli: Cli) -> None:
    with serve(StaticSite({"/": page("start", "/gone")})) as server:
        assert crawl_into(cli, server.url, both=True) == 3
        assert crawl_into(cli, f"{server.url}gone", "--new-run", both=True) == 6
    assert crawl_into(cli, "ftp://127.0.0.1/", both=True) == 2


def test_the_reader_leaves_in_the_middle_of_the_crawl(cli: Cli) -> None:
    """A status line asked for by a signal meets a closed pipe."""
    with serve(StaticSite(chain(150, delay_s=0.05))) as server:
        process = subprocess.Popen(
            cli.command("crawl", server.url, "--project", "site", "--rate", "max", "--workers", "2"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout is not None
        wait_until(lambda: len(server.log) > 10)
        process.stdout.close()
        process.send_signal(signal.SIGUSR1)
        assert process.wait(timeout=120) == 0
    assert cli.check("site")["visited"] == 151
