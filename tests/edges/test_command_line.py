"""What every command has in common: help, projects that are meant, words that a shell completes, -q and -v."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import ORBWEB, Cli, Result
from orbweb.cli import commands, overview
from orbweb.cli.arguments import asks_for_overview, command_first
from orbweb.cli.completion import SCRIPTS, candidates
from orbweb.cli.fetched import file_stem
from orbweb.cli.project_names import chosen
from orbweb.errors import UnknownProject, UsageError
from servers.pages import page
from servers.site import Server, StaticSite, serve

ROOT = Path(__file__).resolve().parents[2]
SITE = {"/": page("start", "/a", "/gone"), "/a": page("a"), "/b": page("b")}


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(StaticSite(SITE)) as made:
        yield made


def crawled(cli: Cli, server: Server, *projects: str) -> None:
    for name in projects:
        cli.crawl(server.url, "--project", name, "--rate", "max").ok(3)


def run(*words: object, stdin: str = "", cwd: Path, env: dict[str, str] | None = None) -> Result:
    done = subprocess.run(
        [*ORBWEB, *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )
    return Result(done.returncode, done.stdout, done.stderr)


# Help.


def test_every_command_is_in_one_group() -> None:
    grouped = [name for names in overview.GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert {line.name for line in commands.lines()} <= set(grouped)


@pytest.mark.parametrize("width", [44, 80, 200])
def test_the_overview_fits_and_says_every_summary_in_full(width: int) -> None:
    lines = commands.lines()
    text = overview.text(lines, width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert all(line.summary.endswith(".") and line.summary in words for line in lines)
    if width >= 80:
        assert len(text.splitlines()) == len(lines) + len(overview.OPTIONS) + 2 * (len(overview.GROUPS) + 1) + 3


def test_help_needs_no_command_and_no_long_option(tmp_path: Path) -> None:
    shown = run("--help", cwd=tmp_path).ok().out
    assert run(cwd=tmp_path).ok().out == run("-h", cwd=tmp_path).ok().out == shown
    assert run("crawl", "-h", cwd=tmp_path).ok().out == run("crawl", "--help", cwd=tmp_path).ok().out
    assert run("--version", cwd=tmp_path).ok().out.startswith("orbweb ")
    assert list(tmp_path.iterdir()) == []


def test_help_loads_neither_rich_nor_a_crawler(tmp_path: Path) -> None:
    listed = "import sys; from orbweb.cli import main; sys.argv = ['orbweb', '-h']; main(); print(*sys.modules)"
    done = subprocess.run([ORBWEB[0], "-c", listed], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"rich", "asyncio", "sqlite3", "pydantic", "pycurl", "orbweb.engine", "orbweb.store"}


def test_the_man_page_has_every_command_and_no_warning() -> None:
    file = ROOT / "docs/reference/orbweb.1"
    text = file.read_text(encoding="utf-8")
    assert all(f".SS orbweb {line.name}".replace("-", "\\-") in text for line in commands.lines())
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", file], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# Words before the command.


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["crawl", "x"], ["crawl", "x"]),
        (["--workspace", "w", "crawl", "x"], ["crawl", "--workspace", "w", "x"]),
        (["--workspace=w", "-q", "crawl", "x"], ["crawl", "--workspace=w", "-q", "x"]),
        (["-v", "crawl"], ["crawl", "-v"]),
        (["--workspace", "w"], []),
        (["--workspace", "w", "--help"], ["--help"]),
        (["--version"], ["--version"]),
        ([], []),
    ],
)
def test_options_may_stand_before_the_command(words: list[str], expected: list[str]) -> None:
    assert command_first(words) == expected
    assert asks_for_overview(expected) == (not expected or expected == ["--help"])


def test_the_workspace_may_be_named_before_or_after_the_command(cli: Cli, server: Server) -> None:
    crawled(cli, server, "site")
    after = run("status", "--workspace", cli.workspace, "--json", cwd=cli.workspace.parent).ok()
    env = {"ORBWEB_WORKSPACE": "nowhere"}
    before = run("--workspace", cli.workspace, "status", "--json", cwd=cli.workspace.parent, env=env).ok()
    assert before == after
    assert run("--workspace", cwd=cli.workspace.parent).err == "orbweb: --workspace needs a directory\n"


# Projects.

NAMES = ("docs", "docs-old", "blog", "data")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("docs", "docs"), ("docs-", "docs-old"), ("b", "blog"), ("da", "data"), ("x", "x"), ("", ""), ("ocs", "ocs")],
)
def test_an_exact_name_wins_and_a_unique_beginning_counts(word: str, meant: str) -> None:
    assert chosen(word, NAMES, Path("w")) == meant


def test_the_discovery_of_a_pipeline_does_not_pass_for_its_scraper() -> None:
    assert chosen("site", ["site.discovery"], Path("w")) == "site"
    assert chosen("si", ["site", "site.discovery"], Path("w")) == "site"
    assert chosen("site.discovery", ["site", "site.discovery"], Path("w")) == "site.discovery"


def test_what_is_not_unique_is_refused_with_the_names() -> None:
    with pytest.raises(UsageError, match=r"^'d' is the beginning of several projects: data, docs, docs-old$"):
        chosen("d", NAMES, Path("w"))
    with pytest.raises(UsageError, match=r"^which project\? w has blog, data, docs, docs-old$"):
        chosen(None, NAMES, Path("w"))
    with pytest.raises(UnknownProject, match=r"^w has no projects yet; start one with `orbweb crawl URL`$"):
        chosen(None, (), Path("w"))
    assert chosen(None, ("one",), Path("w")) == "one"


def test_the_only_project_may_be_omitted_and_is_printed(cli: Cli, server: Server) -> None:
    crawled(cli, server, "site")
    for words in (["runs"], ["pages"], ["failed"], ["queue"], ["manifest"], ["search", "start"], ["retry"]):
        done = cli(*words).ok()
        assert done.err.startswith("project site\n"), words
        assert cli(words[0], "site", *words[1:]).ok().err == ""
    assert cli("diff", "1", "1").ok().err == cli("diff", "si", "1", "1").ok().err == "project site\n"
    assert cli("show", server.url).ok().out == cli("show", "s", server.url).ok().out
    assert (
        cli("diff", "site", "x").code == cli("diff", "site", "1", "1", "1").code == cli("search", "site").code == 2
    )
    assert cli("runs", "--quiet").ok().err == ""


def test_what_cannot_be_undone_takes_the_whole_name(cli: Cli, server: Server) -> None:
    crawled(cli, server, "site")
    cli("retry", "site").ok()
    assert cli("finish").code == 2
    assert "no project 'sit'" in cli("finish", "sit").err
    assert "--clear needs the name of the project" in cli("queue", "--clear").err
    assert "no project 'sit'" in cli("queue", "sit", "--clear").err
    assert cli("queue", "sit", "--json").ok().json["queued"] == 1
    cli("finish", "site").ok()
    assert cli("queue", "site", "--json").ok().json["queued"] == 0


def test_several_projects_are_told_apart(cli: Cli, server: Server) -> None:
    crawled(cli, server, "one", "other", "two")
    assert cli("runs", "tw").ok().err == "project two\n"
    assert cli("runs", "o").err == "orbweb: 'o' is the beginning of several projects: one, other\n"
    assert "which project?" in cli("runs").err
    assert len(cli("status", "--json").ok().json) == 3
    assert cli("status", "tw", "--json").ok().json["project"] == "two"


# Completion.


def completed(*typed: str) -> list[str]:
    return [line.partition("\t")[0] for line in candidates(typed, commands.lines(), commands.built)]


def test_commands_options_and_choices_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(completed("re")) >= {"resume", "recrawl", "replay", "reset"}
    assert completed("--workspace", "w", "-q", "craw") == ["crawl"]
    assert completed("export", "x", "--t") == ["--to"]
    assert completed("export", "x", "--to", "m") == ["markdown"]
    assert completed("export", "x", "--to", "=", "m") == ["markdown"]
    assert completed("completion", "") == ["bash", "zsh", "fish"]
    assert "--no-strict-path" in completed("crawl", "--no")
    assert completed("export", "x", "--out", "") == []
    assert completed("nonsense", "") == []
    assert completed("pages", "") == []
    assert list(tmp_path.iterdir()) == []


def test_projects_are_completed_but_for_names_that_a_shell_would_run(cli: Cli, server: Server) -> None:
    crawled(cli, server, "site", "other")
    with sqlite3.connect(cli.workspace / "orbweb.db") as db:
        db.execute(
            "INSERT INTO projects SELECT 99, '$(touch x)', bases, settings, created_at FROM projects LIMIT 1"
        )
    db.close()
    where = ("--workspace", str(cli.workspace))
    assert sorted(completed("pages", *where, "")) == ["other", "site"]
    assert completed(*where, "show", "s") == ["site"]
    assert completed("pages", *where, "site", "") == []
    assert completed("pages", *where, "--run", "1", "o") == ["other"]


@pytest.mark.parametrize(
    ("words", "expected"), [(["stat"], ["status"]), (["runs", "--workspace", "{w}", "si"], ["site"])]
)
def test_bash_completes(words: list[str], expected: list[str], cli: Cli, server: Server, tmp_path: Path) -> None:
    crawled(cli, server, "site")
    command = tmp_path / "bin" / "orbweb"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {ORBWEB[0]} -m orbweb "$@"\n')
    command.chmod(0o755)
    typed = " ".join(["orbweb", *words]).format(w=cli.workspace)
    script = f"COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _orbweb; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(
        ["bash", "--norc", "-c", f'eval "$(orbweb completion bash)"; {script}'],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"},
    )
    assert (done.stdout.split(), done.stderr) == (expected, "")


@pytest.mark.parametrize("shell", list(SCRIPTS))
def test_the_scripts_are_valid(shell: str, tmp_path: Path) -> None:
    script = run("completion", shell, cwd=tmp_path).ok().out
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert subprocess.run([shell, "-n"], input=script, capture_output=True, text=True).stderr == ""


# Quiet and verbose.


def test_quiet_prints_results_and_errors_only(cli: Cli, server: Server) -> None:
    words = ("crawl", server.url, "--project", "site", "--rate", "max")
    assert cli(*words, "-q").ok(3).err == ""
    done = cli("show", "-q", f"{server.url}nowhere")
    assert (done.code, done.err) == (3, f"orbweb: {server.url}nowhere is not known in this run of site\n")


def test_verbose_prints_each_visit_in_order_and_failures_in_place(cli: Cli, server: Server) -> None:
    done = cli("crawl", server.url, "--project", "site", "--rate", "max", "--workers", 1, "-v").ok(3)
    lines = [line for line in done.err.splitlines() if server.url in line]
    assert [(line.split()[0], line.split()[5]) for line in lines if not line.startswith("FAIL")] == [
        ("200", server.url),
        ("200", f"{server.url}a"),
    ]
    (failed,) = [line for line in lines if line.startswith("FAIL")]
    assert failed.endswith(f"{server.url}gone  http_4xx: HTTP 404")
    assert lines.index(failed) == 2
    assert cli("crawl", server.url, "--project", "q", "--rate", "max", "-v", "-q").ok(3).err == ""


# Standard input, and fetch.


def test_seeds_come_from_standard_input(cli: Cli, server: Server) -> None:
    stdin = f"# two\n{server.url}a  # the first\n\n{server.url}b\n"
    words = ("crawl", "--seeds", "-", "--project", "site", "--rate", "max", "--json", "--workspace", cli.workspace)
    report = run(*words, stdin=stdin, cwd=cli.workspace.parent).ok().json
    assert [base["url"] for base in report["bases"]] == [f"{server.url}a", f"{server.url}b"]
    empty = run(*words, stdin="#\n", cwd=cli.workspace.parent)
    assert (empty.code, empty.err.split(";")[0]) == (2, "orbweb: --seeds -: standard input has no URL")
    assert run(*words, server.url, stdin=stdin, cwd=cli.workspace.parent).code == 2


def test_fetch_takes_several_urls(cli: Cli, server: Server, tmp_path: Path) -> None:
    urls = [f"{server.url}a", f"{server.url}gone", f"{server.url}b"]
    done = cli("fetch", *urls, "--rate", "max")
    assert (done.code, done.out) == (3, "# a\n\n# b\n")
    assert done.err.count("did not return a page") == 1
    done = run("fetch", "-", "--json", "--rate", "max", "--as", "text", stdin="\n".join(urls), cwd=tmp_path)
    rows = json.loads(done.out)
    assert [row["url"] for row in rows] == urls
    assert [row["content"] for row in rows] == ["a", None, "b"]
    assert [bool(row["problem"]) for row in rows] == [False, True, False]
    assert done.code == 3
    assert cli("fetch", urls[0], "--rate", "max").ok().out == "# a"
    assert len([hit for hit in server.whole_log if hit.path == "/robots.txt"]) == 3


def test_fetch_writes_files(cli: Cli, server: Server, tmp_path: Path) -> None:
    one, folder = tmp_path / "made" / "one.md", tmp_path / "pages"
    cli("fetch", f"{server.url}a", "--out", one, "--rate", "max").ok()
    assert one.read_text() == "# a"
    done = cli(
        "fetch", f"{server.url}a", f"{server.url}b", f"{server.url}b#c", "--out", folder, "--rate", "max"
    ).ok()
    assert done.out == ""
    stem = file_stem(server.url)
    assert sorted(path.name for path in folder.iterdir()) == [f"{stem}-a.md", f"{stem}-b-c.md", f"{stem}-b.md"]
    refused = cli("fetch", f"{server.url}a", "--out", one / "below", "--rate", "max")
    assert refused.code == 2
    assert refused.err.startswith(f"orbweb: --out {one / 'below'}: cannot be written: ")


def test_a_wrong_url_is_refused_before_the_first_request(cli: Cli, server: Server) -> None:
    done = cli("fetch", f"{server.url}a", "nonsense", "--rate", "max")
    assert (done.code, done.out) == (2, "")
    assert not server.log


@pytest.mark.parametrize(
    ("url", "stem"),
    [
        ("https://example.org/", "example.org"),
        ("https://example.org/a/../../etc/passwd", "example.org-a-..-..-etc-passwd"),
        ("https://example.org/" + "x" * 500, "example.org-" + "x" * 108),
        ("..", "page"),
    ],
)
def test_names_of_files_stay_in_their_folder(url: str, stem: str) -> None:
    assert file_stem(url) == stem
