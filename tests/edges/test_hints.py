"""Every command that a message suggests can be pasted into the shell in which it was printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Cli, Result
from servers.pages import chain, page
from servers.site import StaticSite, serve

HINT = re.compile(r"`(orbweb [^`]+)`|: (orbweb .+)$", re.MULTILINE)
SHELL = f'orbweb() {{ {shlex.quote(sys.executable)} -m orbweb "$@"; }}\n'


def hints(*printed: Result) -> list[str]:
    return [quoted or bare for each in printed for quoted, bare in HINT.findall(each.out + each.err)]


def paste(hint: str, folder: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", SHELL + hint], capture_output=True, text=True, timeout=120, cwd=folder, env=env
    )


def test_hints_are_accepted_as_they_are_printed(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "a place" / "it's")
    cli.workspace.parent.mkdir()
    fast = ("--project", "site", "--rate", "max", "--no-progress")
    with serve(StaticSite({**chain(8), "/": page("start", "/1", "/gone")})) as server:
        printed = [
            cli("crawl", server.url, *fast, "--budget", "2"),
            cli("recrawl", "site"),
            cli("crawl", server.url + "other", *fast),
            cli("resume", server.url),
            cli("settings", "site"),
            cli("resume", "site", "--budget", "none", "--no-progress"),
            cli("resume", "site"),
            cli("retry", "site"),
            cli("crawl", "site"),
            cli("discover", server.url, "--project", "pipe", "--rate", "max", "--budget", "1", "--no-progress"),
            cli("scrape", "--no-progress"),
            cli("crawl", "--project", "pipe"),
            cli("crawl"),
            cli("configure", "--force"),
        ]
        found = hints(*printed)
        verbs = {hint.split()[1] for hint in found}
        assert verbs >= {
            "resume",
            "finish",
            "failed",
            "settings",
            "retry",
            "crawl",
            "discover",
            "scrape",
            "configure",
        }
        assert all(f"--workspace {shlex.quote(str(cli.workspace))}" in hint for hint in found)
        for hint in dict.fromkeys(found):
            pasted = paste(hint, tmp_path)
            assert "Usage:" not in pasted.stderr, (hint, pasted.stderr)
            assert "No such" not in pasted.stderr, (hint, pasted.stderr)
            assert "no project" not in pasted.stderr, (hint, pasted.stderr)
            assert "not an orbweb workspace" not in pasted.stderr, (hint, pasted.stderr)
            assert "Traceback" not in pasted.stderr, (hint, pasted.stderr)


def test_a_damaged_workspace_names_the_doctor(cli: Cli) -> None:
    with serve(StaticSite(chain(2))) as server:
        cli.crawl(server.url, "--project", "site", "--rate", "max").ok()
    (segment,) = (cli.workspace / "store" / "segments").iterdir()
    segment.write_bytes(segment.read_bytes()[:20])
    (hint,) = hints(cli("show", "site", server.url, "--as", "html"))
    assert paste(hint, cli.workspace.parent).returncode == 3
    repaired = cli("doctor", "--repair")
    assert f"to fetch them: orbweb resume site --workspace {cli.workspace}" in repaired.out


@pytest.mark.parametrize("chosen", ["flag", "variable", "default"])
def test_the_workspace_is_named_unless_the_shell_knows_it(tmp_path: Path, chosen: str) -> None:
    place = tmp_path / ("orbweb-data" if chosen == "default" else "w")
    import os

    env = {key: value for key, value in os.environ.items() if key != "ORBWEB_WORKSPACE"}
    if chosen == "variable":
        env["ORBWEB_WORKSPACE"] = str(place)
    flag = f" --workspace {place}" if chosen == "flag" else ""
    with serve(StaticSite(chain(3))) as server:
        crawl = f"orbweb crawl {server.url} --project site --rate max --budget 1 --no-progress{flag}"
        done = paste(crawl, tmp_path, env)
        assert f"to continue: orbweb resume site{flag}\n" in done.stdout
        assert paste(f"orbweb resume site{flag} --no-progress", tmp_path, env).returncode == 4
