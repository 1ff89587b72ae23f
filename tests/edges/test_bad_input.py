"""Bad input gets a clear message, the right exit code, and nothing is lost. Never a traceback."""

from __future__ import annotations

import hashlib
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import orbweb
from harness import Cli, Result, wait_until
from servers.pages import chain, page
from servers.site import Answer, StaticSite, serve, text

FAST = ("--rate", "max", "--project", "site")


def refused(result: Result, code: int, *words: str) -> None:
    assert result.code == code, result
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err, result.err


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("ftp://example.org/", "http"),
        ("http://", "not a URL"),
        ("http://exa mple.org/", "not a URL"),
        ("http://user:secret@127.0.0.1/", "user name"),
        ("http://127.0.0.1:99999/", "check its host and port"),
        ("http://127.0.0.1/" + "x" * 9_000, "more than 8192 characters"),
        ("mailto:someone@127.0.0.1", "only http and https"),
        ("file:///etc/passwd", "http"),
    ],
)
def test_wrong_url(cli: Cli, url: str, word: str) -> None:
    result = cli.crawl(url)
    refused(result, 2, word)
    assert "secret" not in result.err


@pytest.mark.parametrize("command", ["crawl", "discover", "run"])
@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--budget", "0"), "limits.budget"),
        (("--include", "("), "scope.include[0]"),
        (("--project", "a/b"), "--project 'a/b'"),
        (("--config", "none.yaml"), "none.yaml"),
        (("--header", "Authorization: $NOT_THERE"), "NOT_THERE"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    cli: Cli, command: str, options: tuple[str, ...], word: str
) -> None:
    refused(cli(command, "http://127.0.0.1:9/", "--no-progress", *options), 2, word)
    assert list(cli.workspace.parent.iterdir()) == []


@pytest.mark.parametrize("words", [("nonsense",), ("mailto:me@127.0.0.1",), (), ("--project", "unknown")])
def test_nothing_to_begin_with_leaves_nothing_behind(cli: Cli, words: tuple[str, ...]) -> None:
    for command in ("crawl", "discover", "run"):
        refused(cli(command, *words), 2)
    with pytest.raises(orbweb.UsageError):
        orbweb.crawl("nonsense", workspace=cli.workspace)
    assert list(cli.workspace.parent.iterdir()) == []


@pytest.fixture
def two_projects(cli: Cli) -> Iterator[str]:
    """The URL of a site that was crawled as two projects."""
    with serve(StaticSite(chain(1))) as server:
        for name in ("archive", "python"):
            orbweb.crawl(server.url, workspace=cli.workspace, project=name, rate="max", processes=0)
        yield server.url


def test_a_word_that_is_neither_project_nor_url(cli: Cli, two_projects: str, tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text("limits: {max_depth: 3}")
    known = f"in {cli.workspace} (projects: %s); a URL starts with http:// or https://"
    for command in (("crawl",), ("plan",), ("plan", "--config", tmp_path / "new.yaml")):
        refused(cli(*command, "pyton"), 2, f"no project 'pyton' {known % 'python, archive'}")
        refused(cli(*command, "127.0.0.1-9"), 2, f"no project '127.0.0.1-9' {known % 'archive, python'}")
    refused(cli("resume", "pyton"), 2, "(projects: python, archive)")


def test_a_host_is_no_project_to_plan(cli: Cli, two_projects: str) -> None:
    """Loopback that nobody listens on: a request would end as a problem, with exit code 3."""
    refused(cli("plan", "127.0.0.1"), 2, "no project '127.0.0.1'", "http:// or https://")
    refused(cli("plan", "127.0.0.1:9/docs"), 2, "is not a URL; write it with http:// or https://")
    refused(cli("plan", two_projects, "archive"), 2, "'archive' is a project")
    result = cli("plan", "someone:hunter2@127.0.0.1:9/")
    refused(result, 2, "user name or password")
    assert "hunter2" not in result.err


def test_a_url_in_the_place_of_a_project(cli: Cli, two_projects: str) -> None:
    for verb in ("resume", "recrawl"):
        for url in (two_projects, two_projects.rstrip("/")):
            refused(
                cli(verb, url),
                2,
                f"{verb} takes a project, not a URL",
                f"`orbweb {verb} archive ",
                f"`orbweb {verb} python ",
            )
        refused(cli(verb, "http://127.0.0.1:9/docs"), 2, "takes a project", "(projects: archive, python)")
        refused(cli(verb, "127.0.0.1:9"), 2, "takes a project", "(projects: archive, python)")


def test_two_lists_of_pages_at_once(cli: Cli, two_projects: str) -> None:
    refused(
        cli("pages", "archive", "--gone", "--near-duplicates"), 2, "--gone", "--near-duplicates", "one of them"
    )


def test_a_project_in_the_place_of_a_url(cli: Cli, two_projects: str) -> None:
    refused(cli.crawl("archive"), 2, "'archive' is a project", "--project archive", "orbweb resume archive")
    refused(cli.crawl("archive", "--project", "archive"), 2, "'archive' is not a URL")
    refused(cli("fetch", "archive"), 2, "'archive' is not a URL")
    refused(cli("discover", "archive"), 2, "archive")


@pytest.mark.parametrize("command", ["explain", "show"])
def test_a_url_without_its_project(cli: Cli, two_projects: str, command: str) -> None:
    refused(
        cli.ask(command, two_projects),
        2,
        f"missing project; usage: orbweb {command} PROJECT {two_projects} ({cli.workspace} has archive, python)",
    )
    refused(cli.ask(command, "archive"), 2, f"usage: orbweb {command} archive URL")
    refused(
        cli.ask(command, "archive", two_projects, "more"),
        2,
        f"unexpected argument 'more'; usage: orbweb {command}",
    )
    refused(cli.ask(command, "pyton", two_projects), 2, "no project 'pyton'", "python, archive")


def test_the_only_project_may_be_left_out_before_a_url(cli: Cli) -> None:
    refused(cli.ask("explain", "http://127.0.0.1/"), 2, "is not an orbweb workspace")
    with serve(StaticSite(chain(1))) as server:
        orbweb.crawl(server.url, workspace=cli.workspace, project="site", rate="max", processes=0)
        for command in ("explain", "show"):
            alone, named = cli.ask(command, server.url).ok(), cli.ask(command, "site", server.url).ok()
            assert (alone.out, alone.err) == (named.out, "project site\n")
        assert cli.ask("explain", server.url, "--json").ok().json["project"] == "site"
        refused(cli.ask("explain", "elsewhere"), 2, "'elsewhere' is not an http(s) URL")
        refused(cli.ask("explain"), 2, "[PROJECT] URL")


def test_a_word_without_any_workspace(cli: Cli) -> None:
    refused(cli("plan", "pyton"), 2, "no project 'pyton'", str(cli.workspace), "http:// or https://")
    assert not cli.workspace.exists()
    refused(cli.crawl("pyton"), 2, "no project 'pyton'", "no projects yet", "http:// or https://")


def test_a_host_without_a_scheme_is_crawled_and_found_again(cli: Cli) -> None:
    for _ in range(2):
        done = cli.crawl("127.0.0.1", "--resolve", "127.0.0.1:443:127.0.0.1:9", env={"ORBWEB_FETCH__RETRIES": "0"})
        assert done.ok(6).json["project"] == "127.0.0.1"
        assert done.json["bases"][0]["url"] == "https://127.0.0.1/"


def test_a_file_in_the_place_of_a_url(cli: Cli) -> None:
    (cli.workspace.parent / "README.md").write_text("a file")
    for word, what in (("index.html", "a file name"), ("README.md", "a file")):
        for command in ("crawl", "fetch", "discover"):
            refused(cli(command, word), 2, f"{word!r} is {what}, not a URL", "http:// or https://")
        refused(cli("crawl", word, "--project", "site"), 2, f"{word!r} is {what}, not a URL")


def test_nothing_to_crawl(cli: Cli) -> None:
    refused(cli.crawl(), 2, "URL")
    refused(cli.crawl("--project", "unknown"), 2, "unknown")
    refused(cli.crawl("--project", "../etc"), 2, "--project")


@pytest.mark.parametrize(
    "options",
    [
        ("--wrokers", 3),
        ("--workers", 0),
        ("--workers", 2000),
        ("--rate", "fast"),
        ("--rate", -1),
        ("--budget", 0),
        ("--budget", "9" * 20),
        ("--budget", "9" * 5_000),
        ("--budget", "\N{SUPERSCRIPT TWO}"),
        ("--order", "random"),
        ("--resolve", "nonsense"),
        ("--include", "(?=x)"),
        ("--exclude", "["),
        ("--external-hops", 9),
    ],
)
def test_wrong_option_is_named(cli: Cli, options: tuple[object, ...]) -> None:
    result = cli.crawl("http://127.0.0.1:9/", *options)
    refused(result, 2)
    assert str(options[0]).strip("-").replace("external-", "") in result.err or str(options[1]) in result.err
    assert not cli.workspace.exists()


def test_unknown_command_and_project(cli: Cli) -> None:
    refused(cli("crwal"), 2, "crwal")
    refused(cli("status", "nothing"), 2, "not an orbweb workspace")
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(server.url, *FAST).ok(0)
    refused(cli("pages", "nothing"), 2, "nothing", "site")
    refused(cli("pages", "site", "--run", 7), 2, "run 7")
    refused(cli.resume("site"), 2, "no paused run")
    refused(cli("show", "site", "http://127.0.0.1:9/never"), 3, "not known")
    refused(cli("show", "site", "no url"), 2, "no url")


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("limits: {rte: 3}", ("limits.rte", "limits.rate")),
        ("limits: {workers: many}", ("limits.workers", "many")),
        ("limits: {workers: 5000}", ("limits.workers", "1024")),
        ("limits: [1, 2]", ("limits",)),
        ("- just\n- a list", ("list",)),
        ("limits: {rate: 3", ("YAML", "line")),
    ],
)
def test_wrong_configuration_is_named(cli: Cli, tmp_path: Path, yaml: str, words: tuple[str, ...]) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml)
    refused(cli.crawl("http://127.0.0.1:9/", "--config", file), 2, "wrong.yaml", *words)


def test_unreadable_configuration(cli: Cli, tmp_path: Path) -> None:
    refused(cli.crawl("http://127.0.0.1:9/", "--config", tmp_path / "none.yaml"), 2, "none.yaml", "No such file")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    refused(cli.crawl("http://127.0.0.1:9/", "--config", tmp_path / "bytes.yaml"), 2, "bytes.yaml")
    refused(cli.crawl("http://127.0.0.1:9/", env={"ORBWEB_LIMITS__SPEED": "3"}), 2, "ORBWEB_LIMITS__SPEED")


def test_newer_workspace_is_left_alone(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(server.url, *FAST).ok(0)
        database = cli.workspace / "orbweb.db"
        with sqlite3.connect(database) as db:
            db.execute("PRAGMA user_version = 999")
        db.close()
        before = hashlib.sha256(database.read_bytes()).digest()
        refused(cli.crawl(server.url, *FAST), 2, "newer", "999")
        refused(cli("status"), 2, "newer")
    assert hashlib.sha256(database.read_bytes()).digest() == before


def test_damaged_database_is_named(cli: Cli) -> None:
    cli.workspace.mkdir()
    (cli.workspace / "orbweb.db").write_bytes(b"this is not a database, but long enough to be read" * 100)
    refused(cli("status"), 1, "orbweb.db")


def test_workspace_that_is_a_file_or_unwritable(cli: Cli, tmp_path: Path) -> None:
    cli.workspace.write_text("a file")
    refused(cli.crawl("http://127.0.0.1:9/"), 2, str(cli.workspace), "not a directory")
    under = Cli(Path("/proc/orbweb"))
    result = subprocess.run(
        under.command("crawl", "http://127.0.0.1:9/"), capture_output=True, text=True, cwd=tmp_path
    )
    refused(Result(result.returncode, result.stdout, result.stderr), 1, "/proc/orbweb")


def test_start_page_that_is_no_page(cli: Cli) -> None:
    answers = {
        "/file.pdf": Answer(200, (("Content-Type", "application/pdf"),), b"%PDF-1.4"),
        "/t.txt": text("hello"),
    }
    with serve(StaticSite(answers)) as server:
        for path, kind in (("file.pdf", "application/pdf"), ("t.txt", "text/plain")):
            result = cli.crawl(f"{server.url}{path}", "--rate", "max", "--project", path).ok(6)
            assert (result.json["visited"], result.json["pages"]) == (1, 0)
            assert kind in result.err
            assert "not HTML" in result.err


def test_small_disk_holds_a_crawl_before_the_first_request(small_disk: Path) -> None:
    cli = Cli(small_disk / "workspace")
    with serve(StaticSite(chain(3))) as server:
        process = cli.start("crawl", server.url, *FAST)
        try:
            wait_until(lambda: "reserve_mb" in cli.ask("status", "site", "--json").out)
        finally:
            process.terminate()
            _, err = process.communicate(timeout=120)
        assert process.returncode == 4
        assert "store.reserve_mb" in err
        assert server.log == ()
        assert cli.check("site")["state"] == "paused"
        cli.resume("site", env={"ORBWEB_STORE__RESERVE_MB": "0"}).ok(0)


@pytest.mark.parametrize("layout", ["segments", "files"])
def test_disk_that_fills_up_loses_nothing(small_disk: Path, layout: str) -> None:
    """Bodies that do not compress fill the disk; after space is freed the run goes on to the same end."""
    noise = {f"/{number}": _noise(number) for number in range(60)}
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\0" * 12_000_000)
    cli = Cli(small_disk / "workspace")
    options = (*FAST, "--store", layout)
    env = {"ORBWEB_STORE__RESERVE_MB": "0", "ORBWEB_ENGINE__GROUP_PAGES": "8"}
    with serve(StaticSite({"/": page("start", *noise), **noise})) as server:
        refused(cli.crawl(server.url, *options, env=env), 1, "disk full")
        ballast.unlink()
        status = cli.check("site")
        assert status["state"] == "paused"
        assert 0 < status["visited"] < 61
        cli.resume("site", env=env).ok(0)
    assert cli.check("site")["visited"] == 61
    for row in cli("pages", "site", "--json").ok().json[1:4]:
        shown = subprocess.run(cli.command("show", "site", row["url"], "--as", "html"), capture_output=True)
        assert hashlib.sha256(shown.stdout).hexdigest() == row["body_sha256"]


def _noise(number: int) -> Answer:
    """A page with a comment of 150 kB that cannot be compressed."""
    block = hashlib.shake_256(str(number).encode()).hexdigest(150_000)
    raw = bytes.fromhex(block).replace(b"-", b"(")
    body = b"<!doctype html><!-- %b --><p>Page %d." % (raw, number)
    return Answer(200, (("Content-Type", "text/html; charset=windows-1252"),), body)


@pytest.mark.parametrize("layout", ["segments", "files"])
def test_a_workspace_is_for_its_owner_only(cli: Cli, layout: str) -> None:
    before = os.umask(0)
    try:
        with serve(StaticSite(chain(3))) as server:
            cli.crawl(server.url, *FAST, "--store", layout).ok(0)
    finally:
        os.umask(before)
    for path in (cli.workspace, *cli.workspace.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_title_cannot_speak_to_the_terminal(cli: Cli) -> None:
    with serve(StaticSite({"/": page("clean \x1b]0;owned\x07\x1b[2J")})) as server:
        cli.crawl(server.url, *FAST).ok(0)
    shown = cli("pages", "site").ok().out
    assert "owned" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


@pytest.fixture
def kept(cli: Cli) -> Cli:
    """A workspace with a run whose lines are more than a pipe holds."""
    with serve(StaticSite(chain(500))) as server:
        orbweb.crawl(server.url, workspace=cli.workspace, project="site", rate="max", processes=0)
    return cli


@pytest.mark.parametrize(
    "command", [("manifest", "site"), ("index", "site"), ("export", "site", "--to", "jsonl", "--out", "-")]
)
def test_a_reader_that_has_read_enough_is_no_error(kept: Cli, command: tuple[str, ...]) -> None:
    with subprocess.Popen(kept.command(*command), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(60) == 0, said
    assert b"Traceback" not in said


def test_the_exit_code_of_a_crawl_does_not_depend_on_its_reader(cli: Cli) -> None:
    read, write = os.pipe()
    os.close(read)
    with serve(StaticSite({"/": page("Start", "/gone")})) as server:
        done = subprocess.run(
            cli.command("crawl", server.url, *FAST), stdout=write, stderr=subprocess.PIPE, text=True, timeout=60
        )
    os.close(write)
    refused(Result(done.returncode, "", done.stderr), 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("status",), ("manifest", "site"), ("show", "site", "%s", "--as", "html")])
def test_a_full_disk_behind_standard_output_is_told(cli: Cli, command: tuple[str, ...]) -> None:
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(server.url, *FAST).ok(0)
        words = [word.replace("%s", server.url) for word in command]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(cli.command(*words), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    refused(Result(done.returncode, "", done.stderr), 1, "cannot write to standard output: No space left")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_matter(cli: Cli, closed: str) -> None:
    with serve(StaticSite(chain(2))) as server:
        words = shlex.join(cli.command("crawl", server.url, *FAST))
        assert subprocess.run(["sh", "-c", f"{words} {closed}"], timeout=60).returncode == 0
    assert len(cli("pages", "site", "--json").ok().json) == 3
    words = shlex.join(cli.command("export", "site", "--to", "jsonl", "--out", "-"))
    assert subprocess.run(["sh", "-c", f"{words} {closed}"], timeout=60).returncode == 0


def test_the_index_is_separated_by_tabs(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(server.url, *FAST).ok(0)
    assert [len(line.split("\t")) for line in cli("index", "site").ok().out.splitlines()] == [7, 7]


def test_an_export_does_not_replace_what_the_workspace_lives_by(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(server.url, *FAST).ok(0)
    before = (cli.workspace / "orbweb.db").read_bytes()
    for name in ("orbweb.db", "orbweb.db-wal", "limiter.db", "logs/pages-site-1.csv", "store/x"):
        refused(
            cli("export", "site", "--to", "jsonl", "--out", cli.workspace / name),
            2,
            "the workspace stores its own files there",
        )
    refused(cli("export", "site", "--to", "markdown", "--out", cli.workspace / "store"), 2, "is not empty")
    assert (cli.workspace / "orbweb.db").read_bytes() == before
    cli("export", "site", "--to", "jsonl", "--out", cli.workspace / "site.jsonl").ok()


def test_a_run_that_cannot_be(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(server.url, *FAST).ok(0)
    refused(cli("pages", "site", "--run", "9" * 20), 2, "has no run 99999999999999999999")
    refused(cli("diff", "site", "9" * 20, "1"), 2, "has no run 99999999999999999999")


HEARS_INTERRUPTS = """
import os, signal, sys
from orbweb.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""Those who start tests in the background have them ignored."""


def test_a_report_that_is_interrupted_was_stopped(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(server.url, *FAST).ok(0)
    command = [sys.executable, "-c", f"{HEARS_INTERRUPTS}main()", *cli.command("reset")[3:]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.read(4) == b"This"
        process.send_signal(signal.SIGINT)
        assert b"orbweb: interrupted" in process.stderr.read()
        assert process.wait(60) == 4
    assert cli("status", "site", "--json").ok().json["pages"] == 2


INTERRUPTED = f"""
{HEARS_INTERRUPTS}
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "orbweb.cli.commands":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
main()
"""


def test_a_command_that_is_interrupted_while_it_loads_was_stopped() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, "status"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (4, "orbweb: interrupted\n")
