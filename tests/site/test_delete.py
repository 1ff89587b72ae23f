"""delete and rename: what is gone, what stays, and that everything else works as before."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, assert_books_balance, kill, wait_until
from orbweb.store.lock import OwnerLock
from servers.pages import chain
from servers.site import Answer, Request, StaticSite, html, serve

LAYOUTS = ("segments", "files")
SHARED = html("<title>Shared</title><main><p>The same page in two places, with the same words.</p></main>")


def site(change: str = "") -> StaticSite:
    """Two trees, one of which has a page that both have, and pages of its own."""
    own = html(
        f'<title>One</title><main><p>Only here {change}</p><a href="shared">s</a> <a href="own">o</a></main>'
    )
    other = html('<title>Two</title><main><p>Elsewhere</p><a href="shared">s</a></main>')
    plain = html(f"<title>Own</title><main><p>Private words {change}</p></main>")
    return StaticSite(
        {"/one/": own, "/one/shared": SHARED, "/one/own": plain, "/two/": other, "/two/shared": SHARED}
    )


def crawled(path: Path, layout: Any, *, runs: int = 1) -> orbweb.Workspace:
    space = orbweb.open(path)
    fast: Any = {"rate": "max", "processes": 0}
    with serve(site()) as server:
        space.crawl(f"{server.url}one/", project="one", store=layout, **fast)
        space.crawl(f"{server.url}two/", project="two", store=layout, **fast)
        for _ in range(runs - 1):
            space.recrawl("one")
    return space


def bodies(space: orbweb.Workspace) -> bytes:
    """Everything in the body store, unpacked or not."""
    return b"".join(path.read_bytes() for path in sorted((space.path / "store").rglob("*")) if path.is_file())


def hashes(space: orbweb.Workspace, project: str, **which: Any) -> set[str]:
    return {page.body_sha256 for page in space.pages(project, **which) if page.body_sha256}


def names(space: orbweb.Workspace) -> set[str]:
    return {path.name for path in space.path.rglob("*") if path.is_file() or path.is_symlink()}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_deleted_project_leaves_nothing_and_others_as_they_were(tmp_path: Path, layout: str) -> None:
    space = crawled(tmp_path / "w", layout)
    before = list(space.manifest("two"))
    texts = [page.document.markdown for page in space.documents("two")]
    gone = hashes(space, "one") - hashes(space, "two")
    space.search("one", "private")
    report = space.delete("one")
    assert (report.projects, report.runs, report.pages) == (("one",), 1, 3)
    assert report.freed > 0
    assert space.projects() == ["two"]
    assert space.doctor().healthy
    assert_books_balance(space.path / "orbweb.db")
    assert list(space.manifest("two")) == before
    assert [page.document.markdown for page in space.documents("two")] == texts
    for sha256 in hashes(space, "two"):
        assert space.body(sha256)
    for sha256 in gone:
        with pytest.raises(orbweb.OrbwebError, match="is not in"):
            space.body(sha256)
        assert bytes.fromhex(sha256) not in bodies(space)
    assert not any("one-1" in name or name.startswith("one.") for name in names(space))
    assert b"Private words" not in (space.path / "orbweb.db").read_bytes()
    with serve(site()) as server:
        pages = space.crawl(f"{server.url}one/", project="one", rate="max", processes=0).pages
    assert pages == 3, "the name is free"
    assert space.doctor().healthy


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_other_runs_of_a_project_stay(tmp_path: Path, layout: str, number: int) -> None:
    space = orbweb.open(tmp_path / "w")
    pages: Any = iter(["first", "second", "third", "fourth"])
    answers = dict(site()._answers)
    with serve(StaticSite(answers)) as server:
        for turn in range(3):
            answers["/one/own"] = html(f"<title>Own</title><main><p>Words of the {next(pages)} run</p></main>")
            if not turn:
                space.crawl(f"{server.url}one/", project="one", store=layout, rate="max", processes=0)  # type: ignore[arg-type]
            else:
                space.recrawl("one")
        kept = [each for each in (1, 2, 3) if each != number]
        before = {each: list(space.manifest("one", run=each)) for each in kept}
        assert space.delete("one", run=number).runs == 1
        assert [run.run for run in space.runs("one")] == kept
        assert {each: list(space.manifest("one", run=each)) for each in kept} == before
        assert space.doctor().healthy
        found = space.diff("one")
        assert (found.old, found.new, len(found.changed)) == (*kept, 1)
        answers["/one/own"] = html(f"<title>Own</title><main><p>Words of the {next(pages)} run</p></main>")
        again = space.recrawl("one")
        assert (again.run, again.pages) == (max(kept) + 1, 3)
        assert space.search("one", "fourth")[0].url.endswith("/one/own")
    assert space.doctor().healthy
    assert_books_balance(space.path / "orbweb.db")
    with pytest.raises(orbweb.NothingToDo, match=r"no run 9 \(runs: "):
        space.delete("one", run=9)


def tagged(answer: Answer) -> Callable[[Request], Answer]:
    """A page with a tag, which is not sent again to whoever has it."""

    def answered(request: Request) -> Answer:
        tag = ("ETag", '"one"')
        if request.headers.get("if-none-match") == tag[1]:
            return Answer(304, (tag,))
        return replace(answer, headers=(*answer.headers, tag))

    return answered


def test_a_capture_that_another_project_reused_stays(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite({"/": tagged(SHARED)})) as server:
        space.crawl(server.url, project="first", rate="max", processes=0)
        assert space.crawl(server.url, project="second", rate="max", processes=0).not_modified == 1
        assert space.explain("second", server.url).reused_from == orbweb.RunName("first", 1)
        before = list(space.manifest("second"))
        space.delete("first")
        assert list(space.manifest("second")) == before
        assert space.explain("second", server.url).reused_from is None
        assert space.doctor().healthy
        space.crawl(server.url, project="third", rate="max", processes=0)
        assert space.explain("second", server.url).reused_from is None, "though ids are reused"
        assert space.recrawl("second").not_modified == 1


def test_a_killed_run_of_another_project_does_not_reuse_what_came_later(cli: Cli) -> None:
    """The number of a deleted crawl is given out again, and a run must not take the new crawl for the old one."""
    space = orbweb.open(cli.workspace)
    fast = ("--rate", "max", "--processes", "0")
    with serve(StaticSite({path: tagged(answer) for path, answer in chain(6).items()})) as server:
        cli.crawl(server.url, "--project", "gone", *fast).ok()
        killed = cli.crawl(server.url, "--project", "killed", *fast, env={"ORBWEB_FAULT": "page_settled:2"})
        assert killed.code == -signal.SIGKILL
        before = space.status("killed").reused
        space.delete("gone")
        assert cli.crawl(server.url, "--project", "later", *fast).ok().json["reused"] == 0
        done = cli.resume("killed").ok().json
    assert (done["visited"], done["reused"], done["run_state"]) == (7, before, "completed")
    assert before < 7
    assert space.doctor().healthy


def test_a_pipeline_is_deleted_and_renamed_as_one(cli: Cli) -> None:
    space = orbweb.open(cli.workspace)
    with serve(StaticSite(chain(5))) as server:
        cli("discover", server.url, "--project", "site", "--rate", "max", "--budget", "3", "--no-progress").ok(4)
        cli("scrape", "--budget", "1", "--no-progress").ok(4)
        renamed = cli("rename", "site", "docs", "--json").ok().json["renamed"]
        assert renamed == {"site": "docs", "site.discovery": "docs.discovery"}
        assert space.doctor().healthy
        assert not any("site-" in name or name.startswith("site.") for name in names(space))
        cli("discover", "--project", "docs", "--budget", "none", "--no-progress").ok()
        done = cli("scrape", "--project", "docs", "--no-progress", "--json").ok().json
        assert (done["visited"], done["run_state"]) == (6, "completed")
        report = cli("delete", "docs.discovery", "--yes", "--json").ok().json
        assert report["projects"] == ["docs", "docs.discovery"]
        assert space.projects() == []
        assert not any(name.startswith(("discoveries-", "docs")) for name in names(space))
        assert space.doctor().healthy
        cli("discover", server.url, "--project", "anew", "--rate", "max", "--no-progress").ok()
        again = cli("scrape", "--no-progress", "--json").ok().json
        assert again["visited"] == 6


def test_a_renamed_project_is_resumed_under_its_new_name(tmp_path: Path) -> None:
    space, whole = orbweb.open(tmp_path / "w"), orbweb.open(tmp_path / "whole")
    with serve(StaticSite(chain(6))) as server:
        whole.crawl(server.url, project="site", rate="max", processes=0)
        space.crawl(server.url, project="site", budget=3, rate="max", processes=0)
        assert space.rename("site", "docs").renamed == {"site": "docs"}
        assert (space.path / "metadata" / "crawl_metadata.jsonl").readlink().name == "crawl_metadata-docs-1.jsonl"
        space.resume("docs", budget=None)
        with pytest.raises(orbweb.UnknownProject):
            space.resume("site")
    assert space.manifest_hash("docs") == whole.manifest_hash("site")
    assert not any("site-" in name or name.startswith("site.") for name in names(space))
    pages = (space.path / "logs" / "pages-docs-1.csv").read_text().splitlines()
    assert len(pages) == 8
    assert space.doctor().healthy


def test_names_that_are_taken_or_invalid(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        for name in ("one", "two"):
            cli.crawl(server.url, "--project", name, "--rate", "max").ok()
    assert "there is a project 'two' already" in cli("rename", "one", "two").ok(2).err
    assert "NAME 'a/b'" in cli("rename", "one", "a/b").ok(2).err
    assert "NAME '../x'" in cli("rename", "one", "../x").ok(2).err
    assert "discovery" in cli("rename", "one", "x.discovery").ok(2).err
    assert "there is a project 'one' already" in cli("rename", "one", "one").ok(2).err
    assert "no project 'nix'" in cli("rename", "nix", "three").ok(2).err
    assert "no project 'nix'" in cli("delete", "nix", "--yes").ok(2).err


def test_nothing_is_deleted_while_a_crawl_runs(cli: Cli) -> None:
    with serve(StaticSite(chain(40))) as server:
        cli.crawl(server.url, "--project", "done", "--budget", "1", "--rate", "max").ok(4)
        running = cli.start("crawl", server.url, "--project", "busy", "--rate", "2")
        wait_until(lambda: cli("status", "busy", "--json").code == 0)
        for command in (["delete", "busy", "--yes"], ["delete", "done", "--yes"], ["rename", "busy", "b"]):
            refused = cli(*command).ok(5)
            assert "'busy' is being crawled by process" in refused.err
        kill(running)
    assert orbweb.open(cli.workspace).projects() == ["busy", "done"]


def test_deletion_is_confirmed_on_a_terminal_only(cli: Cli) -> None:
    with serve(StaticSite(chain(1))) as server:
        cli.crawl(server.url, "--project", "site", "--rate", "max").ok()
    refused = subprocess.run(cli.command("delete", "site"), input="site\n", capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert typed(cli, "other\n") == 2
    assert orbweb.open(cli.workspace).projects() == ["site"]
    assert typed(cli, "site\n") == 0
    assert orbweb.open(cli.workspace).projects() == []


def typed(cli: Cli, text: str) -> int:
    """The exit code of `delete site` for a user who types this."""
    main, side = pty.openpty()
    try:
        process = subprocess.Popen(
            cli.command("delete", "site"), stdin=side, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        os.write(main, text.encode())
        process.communicate(timeout=60)
        return process.returncode
    finally:
        os.close(main)
        os.close(side)


def test_an_owner_that_waited_for_a_removed_lock_file_gets_the_new_one(tmp_path: Path) -> None:
    """A process may open the lock file just before the project is deleted, and lock it just after."""
    directory = tmp_path / "locks"
    with OwnerLock(directory, "site"):
        (directory / "site.crawl.lock").unlink()
    with OwnerLock(directory, "site"), pytest.raises(orbweb.Busy):
        OwnerLock(directory, "site")


def test_the_cursors_of_streams_follow_their_project(tmp_path: Path) -> None:
    space = orbweb.open(tmp_path / "w")
    with serve(StaticSite(chain(5))) as server:
        stream = space.crawl_iter(server.url, project="first", cursor="index", rate="max", processes=0)
        seen = [next(stream).url, next(stream).url]
        stream.close()
        space.rename("first", "second")
        rest = [page.url for page in space.crawl_iter(project="second", cursor="index", rate="max", processes=0)]
    assert rest[0] == seen[1], "the page that was given and not acknowledged comes again"
    assert sorted({*seen, *rest}) == sorted(page.url for page in space.pages("second"))
    assert "second.index.cursor" in names(space)
    space.delete("second")
    assert not [name for name in names(space) if name.endswith(".cursor")]
