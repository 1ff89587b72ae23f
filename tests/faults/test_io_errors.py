"""R5: the n-th sync, write, truncate or rename fails with EIO or ENOSPC.

The process stops non-zero with one line that names a file, never syncs a file again whose sync has failed, and
what it leaves opens clean and resumes to the manifest of the run without a fault, also if the power is cut then.
"""

from __future__ import annotations

import errno
import random
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import disk
import orbweb
from disk import Call, Disk, Loss, Op
from harness import Cli, Result, assert_books_balance
from orbweb.app.doctor import doctor
from orbweb.errors import StoreError
from orbweb.store.durable import create_database
from orbweb.store.sqlite.db import use_wal
from servers.graph import GraphSite
from servers.site import Server, serve

OPTIONS = ("--rate", "max", "--project", "site", "--workers", "4", "--processes", "0")
QUICK = {"ORBWEB_FETCH__BACKOFF_S": "0.01", "ORBWEB_ENGINE__GROUP_PAGES": "5"}


@dataclass(frozen=True)
class Unfailing:
    """A site, and the manifest of a crawl without a fault."""

    server: Server
    library: Path
    manifest: list[str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unfailing]:
    home = tmp_path_factory.mktemp("whole")
    with serve(GraphSite(5, 40)) as server:
        Cli(home / "workspace").crawl(server.url, *OPTIONS, env=QUICK).ok(3)
        yield Unfailing(server, disk.compiled(home), manifest(home / "workspace"))


def manifest(workspace: Path) -> list[str]:
    return Cli(workspace).ask("manifest", "site").ok().out.splitlines()


def crawl_with_fault(whole: Unfailing, home: Path, layout: str, fault: str) -> tuple[Result, list[Call]]:
    home.mkdir()
    whole.server.reset()
    env = {**disk.environment(whole.library, home, home.with_name("log"), fault), **QUICK}
    done = Cli(home / "workspace").crawl(whole.server.url, *OPTIONS, "--store", layout, env=env)
    return done, disk.calls(home.with_name("log"))


def state(workspace: Path) -> str | None:
    if not (workspace / "orbweb.db").exists():
        return None
    db = sqlite3.connect(workspace / "orbweb.db")
    found = db.execute("SELECT state FROM runs").fetchone()
    db.close()
    return found[0] if found else None


def assert_resumes(whole: Unfailing, workspace: Path, layout: str) -> None:
    if (workspace / "orbweb.db").exists():
        assert doctor(workspace)["damages"] == []
    if state(workspace) != "completed":
        options = {"rate": "max", "workers": 4, "processes": 0, "store": layout}
        whole.server.reset()
        orbweb.crawl(whole.server.url, workspace=workspace, project="site", **options)
    assert manifest(workspace) == whole.manifest
    assert doctor(workspace)["damages"] == []
    assert_books_balance(workspace / "orbweb.db")


def is_harmless(log: list[Call], failed: int) -> bool:
    """Whether the call that failed had nothing to do: SQLite syncs a directory again whose names were made durable
    before, and passes over the error. Files that may be forgotten are not counted on at all."""
    call = log[failed]
    if Path(call.name).name.startswith("limiter.db"):
        return True
    if call.data != b"sync" or call.name != "workspace":
        return False
    then = Disk()
    for each in log[:failed]:
        then.apply(each)
    waiting = {name for change in then.directories[call.name].pending for name in change.names}
    return not waiting & {"orbweb.db", "orbweb.db-wal", "store"}


def assert_stops(whole: Unfailing, home: Path, layout: str, kind: str, number: int, code: int) -> bool:
    """Whether there was such a call at all."""
    fault = f"{kind}:{number}:{code}"
    done, log = crawl_with_fault(whole, home / "disk", layout, fault)
    failed = next((at for at, call in enumerate(log) if call.op is Op.FAILED), None)
    if failed is None:
        done.ok(3)
        return False
    try:
        if not is_harmless(log, failed):
            assert done.code == 1, done.err
            assert re.search(r"orbweb: .*\.(db|seg|zst|csv|jsonl|tmp|lock|db.new)\b|/", done.err.splitlines()[0])
        assert "Traceback" not in done.err
        assert_never_synced_again(log, failed)
        assert_resumes(whole, home / "disk" / "workspace", layout)
        then = Disk()
        for call in log:
            then.apply(call)
        then.after_cut(home / "cut", Loss.NOTHING, random.Random(number))
        assert_resumes(whole, home / "cut" / "workspace", layout)
    except BaseException as error:
        error.add_note(f"{layout}: {fault}, {log[failed].name}: exit {done.code}\n{done.err}")
        raise
    return True


def assert_never_synced_again(log: list[Call], failed: int) -> None:
    if log[failed].data == b"sync" and not is_harmless(log, failed):
        syncs = [call for call in log[failed + 1 :] if call.op in (Op.SYNC, Op.SYNC_DIRECTORY)]
        assert [call.name for call in syncs if call.name == log[failed].name] == []


@pytest.mark.parametrize(
    ("layout", "kind", "number", "code"),
    [
        ("segments", "sync", 1, errno.EIO),
        ("segments", "sync", 4, errno.EIO),
        ("segments", "sync", 5, errno.EIO),
        ("segments", "sync", 6, errno.EIO),
        ("segments", "sync", 9, errno.EIO),
        ("segments", "sync", 20, errno.EIO),
        ("segments", "write", 60, errno.EIO),
        ("segments", "write", 301, errno.ENOSPC),
        ("segments", "truncate", 1, errno.EIO),
        ("files", "sync", 30, errno.EIO),
        ("files", "sync", 61, errno.EIO),
        ("files", "rename", 5, errno.EIO),
    ],
)
def test_a_failed_call_stops_the_crawl(
    whole: Unfailing, tmp_path: Path, layout: str, kind: str, number: int, code: int
) -> None:
    assert assert_stops(whole, tmp_path, layout, kind, number, code)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["segments", "files"])
@pytest.mark.parametrize("kind", ["sync", "write", "truncate", "rename"])
def test_each_of_a_hundred_calls_may_fail(whole: Unfailing, tmp_path: Path, layout: str, kind: str) -> None:
    rng = random.Random(5)
    numbers = list(range(1, 101)) if kind != "write" else sorted(rng.sample(range(1, 560), 100))
    for number in numbers:
        home = tmp_path / str(number)
        home.mkdir()
        if not assert_stops(whole, home, layout, kind, number, rng.choice([errno.EIO, errno.EIO, errno.ENOSPC])):
            break


def test_a_file_system_without_a_write_ahead_log_is_refused(tmp_path: Path) -> None:
    """SQLite does not raise where it cannot switch: it answers with the mode it stays in, as for this database."""
    private = sqlite3.connect("")
    assert private.execute("PRAGMA journal_mode = WAL").fetchall() == [("delete",)]
    with pytest.raises(StoreError, match=r"orbweb\.db: SQLite cannot keep a write-ahead log here"):
        use_wal(private, tmp_path / "orbweb.db", 1.0)
    private.close()


def test_a_database_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (id INTEGER)")
        raise StoreError("no more")

    with pytest.raises(StoreError, match="no more"):
        create_database(tmp_path / "orbweb.db", fill)
    assert list(tmp_path.iterdir()) == []
