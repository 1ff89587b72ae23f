"""orbweb from Python: the same verbs, typed records, any thread, and examples that run."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import json
import re
import signal
import subprocess
import sys
import tomllib
from dataclasses import FrozenInstanceError, asdict, fields
from pathlib import Path
from types import FrameType

import pytest

import orbweb
from harness import Cli, assert_conserved, wait_until
from orbweb import errors
from orbweb.app import CrawlOptions, ResumeOptions
from orbweb.app.options import OBJECTS
from orbweb.cli import commands, crawl, demo
from servers.pages import Unending, chain, page
from servers.site import StaticSite, serve

# pycurl warns of a getinfo that the fetcher uses; raised inside a callback of the loop, it would stop the crawl.
ROOT = Path(__file__).resolve().parents[2]
NO_VERBS = {"serve", "demo", "completion"}
OTHER_NAMES = {"index": "page_index", "import_": "import_state", "report": "write_report"}
NO_OPTIONS = {"urls", "project", "quiet", "no_progress", "verbose", "as_json", "workspace"}


def test_a_crawl_and_its_result(tmp_path: Path) -> None:
    with serve(StaticSite({"/": page("start", "/a", "/gone"), "/a": page("a")})) as server:
        result = orbweb.crawl([server.url], workspace=tmp_path / "w", project="site", rate="max")
    assert (result.project, result.visited, result.failed, result.pages, result.exit_code) == ("site", 2, 1, 2, 3)
    assert (result.state, result.run_state, result.ended_by) == ("completed_with_errors", "completed", "exhausted")
    assert result.bases == (orbweb.BaseResult(server.url, server.url, 2, 0, None, None, None),)
    assert_conserved(asdict(result))
    with pytest.raises(FrozenInstanceError):
        result.visited = 3  # type: ignore[misc]


def test_the_result_has_the_fields_of_the_reference_and_of_the_command(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        printed = cli.crawl(server.url, "--rate", "max").ok(0).json
    assert {field.name for field in fields(orbweb.CrawlResult)} == {*printed, "exit_code"}
    meanings = tomllib.loads((ROOT / "docs/reference/meanings.toml").read_text(encoding="utf-8"))
    assert set(printed) == set(meanings["json"]["crawl"]["fields"])


@pytest.mark.parametrize(("command", "options"), [("crawl", CrawlOptions), ("resume", ResumeOptions)])
def test_options_are_those_of_the_command_line(command: str, options: type) -> None:
    named = set(inspect.signature(getattr(crawl, command)).parameters) - NO_OPTIONS
    assert set(options.__annotations__) == named | set(OBJECTS)


def test_every_command_is_a_verb() -> None:
    names = {info.callback.__name__ for info in commands.app.registered_commands if info.callback}
    assert {OTHER_NAMES.get(name, name) for name in names - NO_VERBS} <= set(dir(orbweb.Workspace))


def test_options_are_stored_and_none_takes_a_limit_back(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(5))) as server:
        first = space.crawl(server.url, project="site", rate="max", budget=2, workers=2, exclude=("/5",))
        assert (first.visited, first.queued, first.exit_code) == (2, 3, 4)
        last = space.resume("site", budget=None)
    assert (last.visited, last.crawl_visited, last.skipped, last.exit_code) == (5, 3, {"excluded": 1}, 0)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("wrokers", 3, "unknown option wrokers .did you mean workers"),
        ("xyzzy", 1, "unknown option xyzzy .there are allow_private, budget, config"),
        ("workers", 5000, "limits.workers"),
        ("rate", "fast", "limits.rate"),
        ("include", "(", "scope.include"),
        ("include", ["("], "scope.include"),
        ("include", {"/a"}, "include: set cannot be stored"),
        ("config", "none.yaml", "none.yaml"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, option: str, value: object, words: str) -> None:
    with pytest.raises(orbweb.UsageError, match=words):
        orbweb.crawl("http://127.0.0.1:9/", workspace=tmp_path / "w", **{option: value})  # type: ignore[arg-type]


def test_resume_takes_the_options_of_resume(tmp_path: Path) -> None:
    with pytest.raises(orbweb.UsageError, match="unknown option include"):
        orbweb.open(tmp_path).resume("site", include=["/a"])  # type: ignore[call-arg]


def test_errors_are_exported_and_raised(tmp_path: Path) -> None:
    raised = {
        name for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, Exception)
    }
    assert raised <= set(orbweb.__all__)
    for name in orbweb.__all__:
        assert getattr(orbweb, name) is not None
    with pytest.raises(AttributeError, match="crwal"):
        _ = orbweb.crwal
    space = orbweb.open(tmp_path / "w")
    with pytest.raises(orbweb.UsageError, match="not an orbweb workspace"):
        space.status("site")
    with serve(StaticSite(chain(1))) as server:
        space.crawl(server.url, project="site", rate="max")
    with pytest.raises(orbweb.UnknownProject):
        space.pages("other")
    with pytest.raises(orbweb.NothingToDo):
        space.resume("site")
    with pytest.raises(orbweb.NothingToDo):
        space.stop("site")


def test_reports_are_those_of_the_command_line(cli: Cli) -> None:
    with serve(StaticSite({"/": page("start", "/a", "/gone"), "/a": page("a")})) as server:
        space = orbweb.open(cli.workspace)
        space.crawl(server.url, project="site", rate="max")
        assert space.retry("site", kind="http_4xx") == 1
        assert space.clear_queue("site") == 1
    for verb in ("status", "runs", "queue", "pages", "failed"):
        found = getattr(space, verb)("site")
        plain = [each.report() for each in found] if isinstance(found, list) else found.report()
        assert plain == cli(verb, "site", "--json").ok().json
    assert space.statuses() == [space.status("site")]
    assert list(space.manifest("site", run=1)) == ["\t".join(line) for line in cli.manifest("site")]
    assert space.manifest_hash("site") == cli.manifest_hash("site")
    shown = space.show("site", server.url)
    assert shown is not None
    assert shown.body_sha256
    assert b"<h1>start</h1>" in space.body(shown.body_sha256)
    assert space.show("site", server.url + "never") is None


def test_crawls_follow_each_other_in_one_process_and_signals_are_given_back(tmp_path: Path) -> None:
    def mine(number: int, frame: FrameType | None) -> None: ...

    interrupt = signal.getsignal(signal.SIGINT)
    before = signal.signal(signal.SIGTERM, mine)
    try:
        with serve(StaticSite(chain(3))) as server:
            for number in (1, 2):
                result = orbweb.crawl(
                    server.url, workspace=tmp_path / "w", project="site", rate="max", new_run=True
                )
                assert (result.run, result.visited) == (number, 4)
        assert signal.getsignal(signal.SIGTERM) is mine
        assert signal.getsignal(signal.SIGINT) is interrupt
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_crawl_in_a_thread_is_paused_stopped_and_finished_from_another(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "w")
    snapshots: list[orbweb.Snapshot] = []
    with serve(Unending()) as server:
        crawl = space.start(server.url, project="site", rate="max", workers=2, on_progress=snapshots.append)
        with pytest.raises(orbweb.Busy):
            space.crawl(project="site")
        space.pause("site")
        wait_until(lambda: space.status("site").held)
        space.unpause("site")
        wait_until(lambda: len(server.log) > 5)
        assert space.stop("site")
        stopped = crawl.result(timeout=120)
        assert (stopped.ended_by, stopped.run_state, stopped.exit_code) == ("cancelled", "paused", 4)
        assert snapshots[-1].visited == stopped.visited
        assert space.finish("site").state == "completed"


def test_start_passes_errors_on(tmp_path: Path) -> None:
    crawl = orbweb.open(tmp_path / "w").start("ftp://example.org/")
    with pytest.raises(orbweb.UsageError, match="http"):
        crawl.result(timeout=120)


def test_worker_processes_under_a_thread(tmp_path: Path) -> None:
    with serve(StaticSite(chain(3))) as server:
        crawl = orbweb.open(tmp_path / "w").start(server.url, rate="max", processes=1)
        assert crawl.result(timeout=120).visited == 4


def test_inside_an_event_loop(tmp_path: Path) -> None:
    async def inside(url: str) -> orbweb.CrawlResult:
        assert orbweb.crawl(url, workspace=tmp_path / "w", rate="max", budget=1).visited == 1
        return await asyncio.to_thread(orbweb.crawl, url, workspace=tmp_path / "w", budget=None)

    with serve(StaticSite(chain(2))) as server:
        assert asyncio.run(inside(server.url)).visited == 3


class Enough(Exception):
    """What a watcher may raise."""


def test_what_a_watcher_raises_ends_the_crawl_and_the_run_can_go_on(tmp_path: Path) -> None:
    def watch(now: orbweb.Snapshot) -> None:
        if now.settled:
            raise Enough

    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(30, delay_s=0.02))) as server:
        with pytest.raises(Enough):
            space.crawl(server.url, project="site", rate="max", workers=2, on_progress=watch)
        assert space.status("site").state == "paused"
        assert space.resume("site").visited == 31


def test_notes_go_to_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(3))) as server, caplog.at_level("INFO", "orbweb"):
        space.crawl(server.url, project="site", rate="max", budget=1)
        space.crawl(server.url, project="site")
    assert "resuming run 1 of site, 3 URLs queued" in caplog.messages


def test_importing_is_cheap() -> None:
    code = "import json, sys, orbweb; print(json.dumps([name for name in sys.modules if 'orbweb' in name]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) - {"__editable___orbweb_finder"} == {"orbweb"}


def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page_of = ROOT / "docs/how-to/library.md"
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", page_of.read_text(encoding="utf-8"), re.DOTALL))
    monkeypatch.chdir(tmp_path)
    with demo.serve() as url:
        test = doctest.DocTestParser().get_doctest(examples, {"url": url}, page_of.name, str(page_of), 0)
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        results = runner.run(test, out=told.append)
    assert results.attempted > 10
    assert not results.failed, "".join(told)


def test_the_names_of_the_library_are_listed() -> None:
    assert set(dir(orbweb)) == set(orbweb.__all__)
