"""The limiter's memory: slots of a host, shared by threads, processes and restarts."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory.limiter import MemoryLimiter
from orbweb.errors import StoreError
from orbweb.store import LONGEST_WAIT, Limiter
from orbweb.store.sqlite import limiter as module
from orbweb.store.sqlite.limiter import SqliteLimiter

INTERVAL = 500_000
SITE = "example.org:443"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "limiter.db"


@pytest.fixture(params=["sqlite", "memory"])
def limiter(request: pytest.FixtureRequest, path: Path) -> Iterator[Limiter]:
    with closing(SqliteLimiter(path) if request.param == "sqlite" else MemoryLimiter()) as opened:
        yield opened


def test_a_slot_is_free_until_it_is_taken_and_again_after_the_interval(limiter: Limiter) -> None:
    assert limiter.take(SITE, 1_000, INTERVAL) == 0
    assert limiter.take(SITE, 1_000, INTERVAL) == 1_000 + INTERVAL
    assert limiter.take(SITE, 999 + INTERVAL, INTERVAL) == 1_000 + INTERVAL
    assert limiter.take(SITE, 1_000 + INTERVAL, INTERVAL) == 0
    assert limiter.take("other:80", 1_000, INTERVAL) == 0


def test_unused_slots_are_not_saved_up(limiter: Limiter) -> None:
    assert limiter.take(SITE, 0, INTERVAL) == 0
    assert limiter.take(SITE, 100 * INTERVAL, INTERVAL) == 0
    assert limiter.take(SITE, 100 * INTERVAL + 1, INTERVAL) == 101 * INTERVAL


def test_a_late_send_moves_the_next_slot_and_an_early_word_does_not_move_it_back(limiter: Limiter) -> None:
    assert limiter.take(SITE, 0, INTERVAL) == 0
    limiter.sent(SITE, 200_000, INTERVAL)
    limiter.sent(SITE, 100_000, INTERVAL)
    assert limiter.take(SITE, INTERVAL, INTERVAL) == 200_000 + INTERVAL
    limiter.sent("never-taken:80", 0, INTERVAL)
    assert limiter.take("never-taken:80", 0, INTERVAL) == 0


def test_the_slower_of_two_processes_with_different_rates_is_not_sped_up(limiter: Limiter) -> None:
    assert limiter.take(SITE, 0, 4 * INTERVAL) == 0
    assert limiter.take(SITE, INTERVAL, INTERVAL) == 4 * INTERVAL


def test_a_due_time_that_cannot_be_right_is_ignored(limiter: Limiter) -> None:
    assert limiter.take(SITE, LONGEST_WAIT + 10, INTERVAL) == 0
    assert limiter.take(SITE, 10, INTERVAL) == LONGEST_WAIT + 10 + INTERVAL
    assert limiter.take(SITE, 9, INTERVAL) == 0
    assert limiter.take(SITE, 9, INTERVAL) == 9 + INTERVAL


def test_a_very_slow_rate_is_kept(limiter: Limiter) -> None:
    hours = 3 * LONGEST_WAIT
    assert limiter.take(SITE, 0, hours) == 0
    assert limiter.take(SITE, 1, hours) == hours


def test_a_host_on_hold_is_left_alone_and_then_asked_at_its_pace(limiter: Limiter) -> None:
    limiter.hold(SITE, 10 * INTERVAL, 3 * INTERVAL)
    assert (limiter.pace(SITE), limiter.due(SITE)) == (3 * INTERVAL, 10 * INTERVAL)
    assert limiter.take(SITE, 0, INTERVAL) == 10 * INTERVAL
    assert limiter.take(SITE, 10 * INTERVAL, INTERVAL) == 0
    assert limiter.due(SITE) == 13 * INTERVAL
    assert limiter.take(SITE, 13 * INTERVAL, 5 * INTERVAL) == 0
    assert limiter.due(SITE) == 18 * INTERVAL


def test_a_shorter_hold_does_not_end_a_longer_one_and_sets_the_pace(limiter: Limiter) -> None:
    limiter.hold(SITE, 10 * INTERVAL, 3 * INTERVAL)
    limiter.hold(SITE, 5 * INTERVAL, 4 * INTERVAL)
    assert (limiter.pace(SITE), limiter.due(SITE)) == (4 * INTERVAL, 10 * INTERVAL)


def test_a_pace_is_changed_for_a_host_that_is_known(limiter: Limiter) -> None:
    assert (limiter.pace(SITE), limiter.due(SITE)) == (0, 0)
    limiter.set_pace(SITE, INTERVAL)
    assert (limiter.pace(SITE), limiter.due(SITE)) == (0, 0)
    assert limiter.take(SITE, 7, INTERVAL) == 0
    limiter.set_pace(SITE, 2 * INTERVAL)
    assert (limiter.pace(SITE), limiter.due(SITE)) == (2 * INTERVAL, 7 + INTERVAL)
    assert limiter.take(SITE, 7 + INTERVAL, INTERVAL) == 0
    assert limiter.due(SITE) == 7 + 3 * INTERVAL


def test_a_restart_remembers_the_slots(path: Path) -> None:
    with closing(SqliteLimiter(path)) as first:
        assert first.take(SITE, 1_000, INTERVAL) == 0
    with closing(SqliteLimiter(path)) as second:
        assert second.take(SITE, 2_000, INTERVAL) == 1_000 + INTERVAL


def test_a_reboot_forgets_the_slots_and_so_does_coming_back(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = tmp_path / "boot_id"
    monkeypatch.setattr(module, "BOOT_ID", boot)
    for number, name in enumerate(("first", "second", "first", "first")):
        boot.write_text(f"{name}\n")
        with closing(SqliteLimiter(path)) as opened:
            assert (opened.take(SITE, 1_000, INTERVAL) == 0) is (number < 3)


def test_without_a_boot_id_slots_are_kept(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BOOT_ID", tmp_path / "absent")
    with closing(SqliteLimiter(path)) as opened:
        assert opened.take(SITE, 1_000, INTERVAL) == 0
    with closing(SqliteLimiter(path)) as opened:
        assert opened.take(SITE, 1_000, INTERVAL) == 1_000 + INTERVAL


def test_a_damaged_file_is_replaced_with_a_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It holds nothing that must survive, so it never stops a crawl."""
    with closing(SqliteLimiter(path)) as opened:
        assert opened.take(SITE, 1_000, INTERVAL) == 0
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    for damaged in (b"this is no database" * 100, bytes(data), b"SQLite format 3\0" + bytes(84)):
        path.write_bytes(damaged)
        caplog.clear()
        with closing(SqliteLimiter(path)) as opened:
            assert opened.take(SITE, 1_000, INTERVAL) == 0
            assert opened.take(SITE, 1_000, INTERVAL) == 1_000 + INTERVAL
        assert f"{path}: damaged" in caplog.text


def test_a_flipped_byte_in_the_statement_of_its_own_table_is_damage(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(SqliteLimiter(path)) as opened:
        opened.take(SITE, 1_000, INTERVAL)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'NULL', 'NULl') WHERE name = 'hosts'")
        db.commit()
    with closing(SqliteLimiter(path)) as opened:
        assert opened.take(SITE, 1_000, INTERVAL) == 0
    assert "table hosts: not as it was created" in caplog.text


def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open") as caught:
        SqliteLimiter(tmp_path / "absent" / "limiter.db")
    assert str(tmp_path / "absent") in str(caught.value)


def grants_of(path: Path, until: float, interval: int, grants: list[int]) -> None:
    with closing(SqliteLimiter(path)) as opened:
        while time.monotonic() < until:
            now = time.monotonic_ns() // 1000
            if not opened.take(SITE, now, interval):
                grants.append(now)


HAMMER = """
import sys, time
from contextlib import closing
from pathlib import Path
from orbweb.store.sqlite.limiter import SqliteLimiter
path, interval, site = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with closing(SqliteLimiter(path)) as limiter:
    print("ready", flush=True)
    until = float(sys.stdin.readline())
    while time.monotonic() < until:
        now = time.monotonic_ns() // 1000
        if not limiter.take(site, now, interval):
            print(now)
"""


def hammering(path: Path, interval: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HAMMER, str(path), str(interval), SITE]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_threads_and_processes_that_hammer_one_host_never_break_the_spacing(path: Path) -> None:
    """Real clock, real contention: no two grants are closer than the interval."""
    interval, grants = 10_000, list[int]()
    processes = [hammering(path, interval) for _ in range(2)]
    until = time.monotonic() + 1.0
    threads = [threading.Thread(target=grants_of, args=(path, until, interval, grants)) for _ in range(2)]
    for thread in threads:
        thread.start()
    outputs = [process.communicate(f"{until}\n")[0] for process in processes]
    for thread in threads:
        thread.join()
    grants += [int(line) for output in outputs for line in output.split()]
    grants.sort()
    assert len(grants) > 3
    assert min(later - earlier for earlier, later in itertools.pairwise(grants)) >= interval


def test_opening_waits_for_a_process_that_prepares_the_same_file(path: Path) -> None:
    """Until the file is in WAL mode, SQLite itself would not wait."""
    opened: list[bool] = []
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA user_version = 0")
        other.execute("VACUUM")
        other.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=open_once, args=(path, opened))
        thread.start()
        time.sleep(0.1)
        assert not opened
        other.execute("COMMIT")
        thread.join()
    assert opened


def open_once(path: Path, opened: list[bool]) -> None:
    with closing(SqliteLimiter(path)) as limiter:
        opened.append(limiter.take(SITE, 1_000, INTERVAL) == 0)
