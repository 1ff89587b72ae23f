"""Pause, unpause and stop from another terminal, by command and by control file."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import termios
import time

from harness import Cli, wait_until
from servers.pages import Unending
from servers.site import Server, serve

FAST = ("--rate", "max", "--project", "site", "--workers", 2)


def quiet(server: Server) -> bool:
    """Whether nothing was asked for half a second, in which a crawl that goes on asks for many pages."""
    return time.monotonic() - server.log[-1].at > 0.5


def test_pause_holds_and_unpause_goes_on(cli: Cli) -> None:
    site = Unending()
    with serve(site) as server:
        process = cli.start("crawl", server.url, *FAST)
        wait_until(lambda: len(server.log) > 5)
        cli("pause", "site").ok()
        wait_until(lambda: cli.ask("status", "site", "--json").json["held"])
        wait_until(lambda: quiet(server))
        assert process.poll() is None, "a held crawl waits"
        held = len(server.log)
        cli("unpause", "site").ok()
        wait_until(lambda: len(server.log) > held)
        site.end()
        process.communicate(timeout=120)
        assert process.returncode == 0
        assert cli.check("site")["visited"] == len(server.log)


def test_stop_command(cli: Cli) -> None:
    with serve(Unending()) as server:
        process = cli.start("crawl", server.url, *FAST)
        wait_until(lambda: len(server.log) > 5)
        assert "stopped" in cli("stop", "site").ok().out
        process.communicate(timeout=120)
    assert process.returncode == 4
    assert cli("stop", "site").code == 2
    assert cli("pause", "site").code == 2
    assert cli.check("site")["state"] == "paused"


def test_stop_file_and_a_stale_one(cli: Cli) -> None:
    with serve(Unending()) as server:
        process = cli.start("crawl", server.url, *FAST)
        wait_until(lambda: len(server.log) > 5)
        (cli.workspace / "stop").touch()
        process.communicate(timeout=120)
        assert process.returncode == 4
        (cli.workspace / "stop").touch()
        resumed = cli.resume("site", "--budget", 3)
        assert resumed.code == 4
        assert "left over" in resumed.err
        assert resumed.json["crawl_visited"] == 3
    assert not (cli.workspace / "stop").exists()


def test_a_terminal_that_is_closed_stops_the_crawl(cli: Cli) -> None:
    """With which code does not matter: there is nobody left to see it, nor a terminal to write to."""
    with serve(Unending()) as server:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            cli.command("crawl", server.url, *FAST),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        wait_until(lambda: len(server.log) > 5)
        os.close(ours)
        process.wait(timeout=120)
    assert cli.check("site")["state"] == "paused"
