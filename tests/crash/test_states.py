"""R15: whatever is done to a project, in any order, runs, crawls and URLs only move as the tables of `lifecycle`
allow, none is left in a wrong state, and exit codes tell the truth.

The verbs are called in this process; who is killed has one of its own. Triggers of each connection note every
single move in a database beside the workspace, so that no wrong one between two right states is missed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import orbweb
from harness import Cli, assert_books_balance, assert_conserved
from orbweb.app.doctor import check_store
from orbweb.engine.control import Command, ControlFiles
from orbweb.lifecycle import (
    CRAWL_MOVES,
    ENDING_STATE,
    ITEM_MOVES,
    RUN_MOVES,
    EndedBy,
    ItemState,
    shown,
)
from servers.pages import page
from servers.site import Answer, Request, Server, StaticSite, html, redirect, serve

PROJECT = "site"
TRAP = "/again/again/again"
SLOW_S = 0.12
CONFIG = """
fetch: {retries: 0, backoff_s: 0.01}
engine: {window: 8, group_ms: 20, group_pages: 2}
sitemap: {mode: "off"}
"""
PAGES: dict[str, Answer] = {
    "/": page("start", "/1", "/2", "/3", "/gone", "/broken", "/r", TRAP),
    "/1": page("one", "/4", "/5", "/6"),
    "/2": page("two", "/1"),
    "/3": page("two", "/1"),
    "/4": page("four", "/7"),
    "/5": page("five", "/8", "/gone-too"),
    "/6": page("six"),
    "/7": page("seven"),
    "/8": page("eight", f"{TRAP}/again"),
    "/r": redirect("/9"),
    "/9": page("nine"),
    "/broken": html("broken", 500),
    TRAP: page("trap"),
}
POINTS = ("run_created", "page_settled", "blob_synced", "rows_written", "group_committed", "crawl_ended")
BUDGETS = st.one_of(st.none(), st.integers(1, 6))
WORKERS = st.sampled_from((1, 4))
NOTING = """
import os, sqlite3

connect = sqlite3.connect
ids = {"runs": "NEW.id", "crawls": "NEW.id", "urls": "NEW.run_id * 1000 + NEW.id"}

def noting(path, *args, **options):
    db = connect(path, *args, **options)
    if os.path.basename(path) == "orbweb.db":
        db.execute("ATTACH ? AS notes", (os.environ["NOTES_OF_TEST"],))
        for table, number in ids.items():
            db.execute(
                f"CREATE TEMP TRIGGER note_{table} AFTER UPDATE OF state ON main.{table} "
                "WHEN OLD.state <> NEW.state BEGIN "
                f"INSERT INTO noted VALUES ('{table}', {number}, OLD.state, NEW.state); END"
            )
    return db

sqlite3.connect = noting
"""


def item_moves() -> set[tuple[str, str]]:
    """What the database sees of the moves of a URL: there a leased one is still queued."""
    stored = {ItemState.LEASED: ItemState.QUEUED}
    moves = {(stored.get(old, old).value, stored.get(new, new).value) for old, new in ITEM_MOVES}
    return {(old, new) for old, new in moves if old != new}


MOVES = {
    "runs": {(old.value, new.value) for old, new in RUN_MOVES},
    "crawls": {(old.value, new.value) for old, new in CRAWL_MOVES},
    "urls": item_moves(),
}


class Meddled:
    """The site, and what happens amid a crawl: at some request an action is taken, and then all is slow."""

    def __init__(self) -> None:
        self._site = StaticSite(PAGES)
        self._left: int | None = None
        self._act: Callable[[], None] | None = None

    def arm(self, request: int, act: Callable[[], None]) -> None:
        self._left, self._act = request, act

    def disarm(self) -> None:
        self._left = self._act = None

    def answer(self, request: Request) -> Answer:
        found = self._site.answer(request)
        if self._left is None or self._act is None:
            return found
        self._left -= 1
        if self._left == 0:
            self._act()
        if self._left > 0:
            return found
        return Answer(found.status, found.headers, found.body, SLOW_S, found.ending)


class Project(RuleBasedStateMachine):
    """One project, and everything that can be done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        (self.home / "config.yaml").write_text(CONFIG)
        self.path = self.home / "workspace"
        self.space = orbweb.open(self.path)
        self.site = Meddled()
        self._serving = serve(self.site)
        self.server: Server = self._serving.__enter__()
        self.owned = True
        self.noted = 0
        self._note_moves()

    def _note_moves(self) -> None:
        (self.home / "sitecustomize.py").write_text(NOTING)
        with closing(sqlite3.connect(self.home / "notes.db")) as db:
            db.execute("CREATE TABLE noted (of TEXT, id INTEGER, old TEXT, new TEXT)")
            db.execute("PRAGMA journal_mode = WAL")
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(sqlite3, "connect", sqlite3.connect)
        self._patch.setenv("NOTES_OF_TEST", str(self.home / "notes.db"))
        self._patch.setenv("PYTHONPATH", str(self.home))
        exec(NOTING, {})

    def teardown(self) -> None:
        self._patch.undo()
        self._serving.__exit__(None, None, None)
        shutil.rmtree(self.home)

    # Verbs.

    @initialize(budget=BUDGETS)
    def begin(self, budget: int | None) -> None:
        self._judge(self._crawl(budget=budget), budget)

    @rule(budget=BUDGETS, workers=WORKERS, new_run=st.booleans())
    def crawl(self, budget: int | None, workers: int, new_run: bool) -> None:
        before = self._status()
        done = self._crawl(budget=budget, workers=workers, new_run=new_run)
        again = before["state"] == "paused" and not new_run
        assert done.run == before["run"] + (not again)
        self._judge(done, budget)

    @rule(budget=BUDGETS, workers=WORKERS)
    def recrawl(self, budget: int | None, workers: int) -> None:
        before = self._status()
        if before["state"] == "paused":
            with pytest.raises(orbweb.UsageError, match="is paused"):
                self.space.recrawl(PROJECT, budget=budget)
        else:
            done = self.space.recrawl(PROJECT, budget=budget, workers=workers)
            assert (done.run, done.crawl) == (before["run"] + 1, 1)
            self._judge(done, budget)
        self.owned = True

    @rule(limit=st.integers(1, 4), budget=BUDGETS)
    def crawl_with_a_page_limit(self, limit: int, budget: int | None) -> None:
        done = self._crawl(budget=budget, new_run=True, page_limit=limit)
        assert done.pages <= limit
        self._judge(done, budget)
        if done.pages == limit and not done.queued:
            assert done.ended_by == "page_limit"

    @rule(budget=BUDGETS, workers=WORKERS)
    def resume(self, budget: int | None, workers: int) -> None:
        if self._status()["state"] == "completed":
            with pytest.raises(orbweb.NothingToDo):
                self.space.resume(PROJECT, budget=budget)
        else:
            self._judge(self.space.resume(PROJECT, budget=budget, workers=workers), budget)
        self.owned = True

    @rule(request=st.integers(1, 8), how=st.sampled_from(("SIGTERM", "SIGINT", "stop", "finish")), workers=WORKERS)
    def interrupt(self, request: int, how: str, workers: int) -> None:
        done = self._meddle(request, self._interruption(how), workers)
        if done.ended_by != "cancelled":
            assert done.run_state == "completed", "it was over before it could be stopped"
        elif how == "finish":
            assert (done.run_state, done.queued) == ("completed", 0)
        else:
            assert (done.run_state, done.exit_code) == ("paused", 4)

    @rule(request=st.integers(1, 8), workers=WORKERS)
    def hold_for_a_while(self, request: int, workers: int) -> None:
        files = ControlFiles(self.path, PROJECT)
        releases = threading.Timer(0.3, files.write, [Command.UNPAUSE])

        def hold() -> None:
            files.write(Command.PAUSE)
            releases.start()

        done = self._meddle(request, hold, workers)
        if releases.ident is not None:
            releases.join()
        assert (done.ended_by, done.run_state) == ("exhausted", "completed")

    @rule(point=st.sampled_from(POINTS), hit=st.integers(1, 3), budget=st.integers(1, 6))
    def kill(self, point: str, hit: int, budget: int) -> None:
        before = self._status()
        killed = Cli(self.path).crawl(
            self.server.url, *("--project", PROJECT, "--rate", "max", "--page-limit", "none"),
            *("--budget", budget, "--config", self.home / "config.yaml"), env={"ORBWEB_FAULT": f"{point}:{hit}"},
        )  # fmt: skip
        self.owned = killed.code != -signal.SIGKILL
        assert killed.code in (-signal.SIGKILL, 0, 3, 4)
        if not self.owned:
            last = self._status()["crawls"][-1]
            ended = last["ended_by"] if point == "crawl_ended" else "crashed"
            assert (last["ended_by"], last["error"]) == (ended, None)
            assert self._status()["run"] - before["run"] in (0, 1)

    @rule()
    def break_off(self) -> None:
        """What a caller's own callback raises leaves a run that can be resumed."""

        def gives_up(_: orbweb.Snapshot) -> None:
            raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            self._crawl(on_progress=gives_up)
        self.owned = False
        assert self._status()["state"] == "paused"

    @rule()
    def finish(self) -> None:
        assert self.space.finish(PROJECT).state == "completed"
        self.owned = True

    @rule(kind=st.sampled_from((None, "http_4xx", "http_5xx", "timeout")))
    def retry(self, kind: str | None) -> None:
        before, failed = self._status(), self.space.failed(PROJECT)
        chosen = [row for row in failed if kind in (None, row.kind)]
        assert self.space.retry(PROJECT, kind=kind) == len(chosen)
        after = self._status()
        assert after["state"] == ("paused" if chosen else before["state"])
        assert after["queued"] == before["queued"] + len(chosen)
        self.owned = True

    @rule()
    def release(self) -> None:
        before = self._status()
        if before["skipped"].get("trap"):
            freed = self.space.release(PROJECT, "again")
            assert freed == before["skipped"]["trap"]
            assert (self._status()["state"], self._status()["queued"]) == ("paused", before["queued"] + freed)
        else:
            with pytest.raises(orbweb.NothingToDo):
                self.space.release(PROJECT, "again")
        self.owned = True

    @precondition(lambda self: not self.owned)
    @rule()
    def clear(self) -> None:
        """The first verb after a kill settles what the killed one left."""
        paused = self._status()["state"] == "paused"
        if paused:
            self.space.clear_queue(PROJECT)
            assert self._status()["state"] == "completed"
        else:
            with pytest.raises(orbweb.NothingToDo):
                self.space.clear_queue(PROJECT)
        self.owned = True

    # What always holds.

    @invariant()
    def the_books_balance(self) -> None:
        if not (self.path / "orbweb.db").exists():
            return
        assert_books_balance(self.path / "orbweb.db")
        status = self._status()
        assert_conserved(status)
        assert not status["running"]
        assert all(run.state == "completed" for run in self.space.runs(PROJECT)[:-1])

    @invariant()
    def every_move_is_allowed(self) -> None:
        if not (self.path / "orbweb.db").exists():
            return
        with closing(sqlite3.connect(self.home / "notes.db")) as db:
            moves = db.execute("SELECT of, id, old, new FROM noted WHERE rowid > ? ORDER BY rowid", (self.noted,))
            for table, number, old, new in moves.fetchall():
                assert (old, new) in MOVES[table], f"{table} {number}: {old} -> {new}"
                self.noted += 1
        with closing(sqlite3.connect(self.path / "orbweb.db")) as db:
            open_crawls = db.execute("SELECT COUNT(*) FROM crawls WHERE state = 'in_progress'").fetchone()[0]
            open_runs = db.execute("SELECT COUNT(*) FROM runs WHERE state = 'in_progress'").fetchone()[0]
        assert (open_crawls, open_runs) in (((0, 0),) if self.owned else ((0, 0), (1, 1)))

    @invariant()
    def reports_tell_what_the_next_owner_will_settle(self) -> None:
        if not (self.path / "orbweb.db").exists():
            return
        status = self._status()
        assert status["state"] in ("paused", "completed"), "nobody is at work"
        for crawl in status["crawls"]:
            ended_by = EndedBy(crawl["ended_by"])
            words = {shown(ENDING_STATE[ended_by], ended_by, failed=failed) for failed in (False, True)}
            assert crawl["state"] in words
        assert self.space.queue(PROJECT).can_resume == (status["state"] == "paused")

    # The hands.

    def _status(self) -> dict[str, Any]:
        return self.space.status(PROJECT).report()

    def _crawl(self, **options: Any) -> orbweb.CrawlResult:
        self.owned = True
        given = {"page_limit": None, "rate": "max", "config": self.home / "config.yaml", **options}
        return self.space.crawl(self.server.url, project=PROJECT, **given)

    def _meddle(self, request: int, act: Callable[[], None], workers: int) -> orbweb.CrawlResult:
        self.site.arm(request, act)
        try:
            done = self._crawl(budget=None, workers=workers)
        finally:
            self.site.disarm()
        self._judge(done, None)
        return done

    def _interruption(self, how: str) -> Callable[[], None]:
        assert threading.current_thread() is threading.main_thread(), "elsewhere a signal would end the tests"
        if how in ("stop", "finish"):
            return lambda: ControlFiles(self.path, PROJECT).write(Command(how))
        return lambda: os.kill(os.getpid(), signal.Signals[how])

    def _judge(self, done: orbweb.CrawlResult, budget: int | None) -> None:
        """Whether the result of a crawl is true of its run, and its exit code of both."""
        left = done.run_state == "paused"
        assert done.exit_code == (4 if left else 3 if done.failed else 0)
        assert left == bool(done.queued)
        ended_by = EndedBy(done.ended_by)
        assert done.state == shown(ENDING_STATE[ended_by], ended_by, failed=bool(done.failed))
        if done.ended_by == "budget":
            assert (left, done.crawl_visited + done.crawl_failed) == (True, budget)
        if done.ended_by in ("exhausted", "page_limit"):
            assert not left
        assert self._status()["state"] == done.run_state


brief = settings(
    max_examples=6,
    stateful_step_count=8,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def test_no_sequence_leaves_a_wrong_state() -> None:
    run_state_machine_as_test(Project, settings=brief)


@pytest.mark.long
def test_no_long_sequence_leaves_a_wrong_state() -> None:
    run_state_machine_as_test(Project, settings=settings(brief, max_examples=150, stateful_step_count=25))


def test_what_a_machine_left_is_healthy(tmp_path: Path) -> None:
    """A kill, a stop, a retry and a release, one after the other, and `doctor` finds nothing."""
    project = Project()
    try:
        project.begin(3)
        for step in (
            lambda: project.kill("rows_written", 2, 6),
            lambda: project.interrupt(2, "SIGTERM", 1),
            lambda: project.crawl(None, 4, False),
            lambda: project.retry(None),
            project.release,
            lambda: project.resume(None, 1),
        ):
            step()
            for check in (project.the_books_balance, project.every_move_is_allowed):
                check()
        assert project.noted > 30
        assert check_store(project.path)["damages"] == []
        assert [crawl.ended_by for crawl in project.space.runs(PROJECT)[0].crawls] == [
            "budget", "crashed", "cancelled", "exhausted", "exhausted",
        ]  # fmt: skip
    finally:
        project.teardown()
