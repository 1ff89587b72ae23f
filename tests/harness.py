"""Driving orbweb as a user does: its command line.

What crawls or changes something has a process of its own, which starts with the modules of orbweb loaded
(`preloaded.py`). What only reports may be asked inside this process (`Cli.ask`), which costs a tenth;
`edges/test_ask.py` proves that it says the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import preloaded
from orbweb import urls
from orbweb.cli import main
from orbweb.store.workspace_paths import locate

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
ORBWEB = [sys.executable, "-m", "orbweb"]
WORK = (
    *("crawl", "discover", "scrape", "run", "resume", "recrawl"),
    *("retry", "finish", "queue", "rules"),
)
REPORTS = (
    *("status", "runs", "queue", "pages", "show", "explain", "failed", "manifest", "rules"),
    *("validate-policy", "index"),
)


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out.splitlines()[-1])

    def ok(self, *codes: int) -> Result:
        assert self.code in (codes or (0,)), f"exit {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.err, self.err
        return self


def popen(
    command: list[str], *, cwd: Path, env: dict[str, str] | None = None, stdin: int | None = None
) -> subprocess.Popen[str]:
    """A process of orbweb, whose output is read by the caller."""
    named, pipe = {**os.environ, **(env or {})}, subprocess.PIPE
    start = preloaded.Started if preloaded.can_start(command, named) else subprocess.Popen
    return start(command, stdin=stdin, stdout=pipe, stderr=pipe, text=True, env=named, cwd=cwd)


def run(
    command: list[str],
    *,
    cwd: Path,
    env: dict[str, str] | None = None,
    typed: str | None = None,
    timeout: float = 120,
) -> Result:
    """What a process of orbweb leaves behind; what is typed is its standard input."""
    with popen(command, cwd=cwd, env=env, stdin=None if typed is None else subprocess.PIPE) as process:
        try:
            out, err = process.communicate(typed, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return Result(process.returncode, out, err)


class Cli:
    """orbweb on one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self._started: list[subprocess.Popen[str]] = []

    def command(self, *args: object) -> list[str]:
        return [*ORBWEB, *map(str, args), "--workspace", str(self.workspace)]

    def __call__(self, *args: object, env: dict[str, str] | None = None, timeout: float = 120) -> Result:
        done = run(self.command(*args), cwd=self.workspace.parent, env=env, timeout=timeout)
        if args[0] in WORK and done.code in (0, 3, 4, 6):
            assert_books_balance(locate(self.workspace).index.path)
        return done

    def ask(self, *args: object) -> Result:
        """A command that only reports, called in this process: the same words, the same exit code."""
        assert args[0] in REPORTS, f"{args[0]} needs a process of its own"
        with _standing_in(self.command(*args)[len(ORBWEB) :], self.workspace.parent) as (out, err):
            code = _exit_code()
        return Result(code, _text(out), _text(err))

    def crawl(self, *args: object, **options: Any) -> Result:
        return self("crawl", *args, "--json", "--no-progress", **options)

    def resume(self, *args: object, **options: Any) -> Result:
        return self("resume", *args, "--json", "--no-progress", **options)

    def start(self, *args: object, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """A crawl in the background; the caller waits for it."""
        process = popen(self.command(*args, "--json", "--no-progress"), cwd=self.workspace.parent, env=env)
        self._started.append(process)
        return process

    def close(self) -> None:
        """End what a test that failed has left, so that no other suffers for it."""
        for process in self._started:
            kill(process)

    def manifest(self, project: str) -> list[list[str]]:
        return [line.split("\t") for line in self.ask("manifest", project).ok().out.splitlines()]

    def manifest_hash(self, project: str) -> str:
        return self.ask("manifest", project, "--hash").ok().out.strip()

    def check(self, project: str) -> dict[str, Any]:
        """Conservation: every URL is in exactly one state, and the counters say so. The status."""
        status = self.ask("status", project, "--json").ok().json
        assert_conserved(status)
        assert_books_balance(locate(self.workspace).index.path)
        return status


@contextlib.contextmanager
def _standing_in(arguments: list[str], home: Path) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """For a while this process has the arguments, the directory and the empty streams of a new one."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before, collecting = sys.argv, gc.isenabled()
    sys.argv = ["orbweb", *arguments]
    try:
        with contextlib.chdir(home), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield out, err
    finally:
        sys.argv = before
        if collecting:
            gc.enable()


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def trust(url: str) -> tuple[str, str]:
    """The option by which a private base URL that came with a workspace is allowed."""
    return "--trust", f"private={urls.site(url)}"


def assert_conserved(report: dict[str, Any]) -> None:
    parts = report["visited"] + report["failed"] + report["queued"] + sum(report["skipped"].values())
    assert report["discovered"] == parts, report


# What must never be found in the books, whatever was crawled, retried, released or killed.
NEVER = {
    "a visited URL without its item": """
        SELECT visits.run_id, visits.url_id FROM visits
        LEFT JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
        WHERE urls.id IS NULL
        OR urls.source NOT IN ('initial', 'sitemap', 'spider', 'redirect', 'resource')""",
    "a URL visited in two crawls of one run": """
        SELECT visits.run_id, urls.key FROM visits
        JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
        GROUP BY visits.run_id, urls.key HAVING COUNT(*) > 1 OR COUNT(DISTINCT visits.crawl_id) > 1""",
    "a settled URL without a visit, or a visit of an unsettled one": """
        SELECT urls.run_id, urls.key FROM urls
        LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
        WHERE (urls.state IN ('visited', 'failed')) <> (visits.number IS NOT NULL)""",
    "a page without its body": """
        SELECT visits.run_id, visits.url_id FROM visits LEFT JOIN bodies ON bodies.sha256 = visits.body_sha256
        JOIN runs ON runs.id = visits.run_id JOIN projects ON projects.id = runs.project_id
        WHERE visits.role <> '-' AND (bodies.sha256 IS NULL) <> (projects.name LIKE '%.discovery')""",
    "a page without its document": """
        SELECT run_id, url_id FROM pages WHERE document NOT IN (SELECT sha256 FROM documents)""",
    "a crawl beyond its budget": "SELECT run_id, number, budget FROM crawls WHERE visited + failed > budget",
    "a crawl that counts fewer visits than it has": """
        SELECT crawls.run_id, crawls.number FROM crawls WHERE crawls.visited + crawls.failed
        < (SELECT COUNT(*) FROM visits WHERE visits.crawl_id = crawls.id)""",
    "a crawl whose state is not that of its ending": """
        SELECT run_id, number, state, ended_by FROM crawls WHERE state <> CASE
        WHEN ended_by IS NULL THEN 'in_progress'
        WHEN ended_by IN ('exhausted', 'budget', 'page_limit', 'drained') THEN 'completed' ELSE 'failed' END""",
    "a completed run with queued URLs, or a paused one without work": """
        SELECT id, number, state FROM runs WHERE (state = 'completed' OR (state = 'paused' AND surveyed))
        AND (state = 'completed') = EXISTS (SELECT 1 FROM urls WHERE run_id = runs.id AND state = 'queued')""",
    "a crawl in progress under a run that is not": """
        SELECT runs.id, crawls.number FROM crawls JOIN runs ON runs.id = crawls.run_id
        WHERE crawls.state = 'in_progress' AND runs.state <> 'in_progress'""",
}


def assert_books_balance(database: Path) -> None:
    """Tallies equal the rows they count, and nothing of what must never be is there; also while a crawl writes."""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("BEGIN")
        counted = "SELECT run_id, state, COALESCE(reason, ''), COUNT(*) FROM urls GROUP BY 1, 2, 3"
        tallies = "SELECT run_id, state, reason, count FROM tallies WHERE count <> 0"
        assert set(db.execute(counted)) == set(db.execute(tallies))
        for what, query in NEVER.items():
            assert db.execute(query).fetchall() == [], what


def wait_until(condition: Any, timeout: float = 90.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)


def kill(process: subprocess.Popen[str]) -> None:
    """kill -9 and wait."""
    process.send_signal(signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()


@contextlib.contextmanager
def deaf_port() -> Iterator[int]:
    """A port of 127.0.0.1 at which nobody listens, and at which nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def make_readable(home: Path) -> None:
    """Everybody may read it, nobody may write it."""
    for directory, _, names in os.walk(home):
        Path(directory).chmod(0o555)
        for name in names:
            Path(directory, name).chmod(0o444)


def make_writable(home: Path) -> None:
    for directory, _, names in os.walk(home):
        Path(directory).chmod(0o755)
        for name in names:
            Path(directory, name).chmod(0o644)


def without_override() -> None:
    """Root obeys the permissions of files, too."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
