"""One owner per project: the lock goes with its process, and looking at it hinders nobody."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orbweb.errors import Busy, StoreError
from orbweb.store.lock import OwnerLock, owner_pid

HOLD = """
import sys
from pathlib import Path
from orbweb.errors import Busy
from orbweb.store.lock import OwnerLock
sys.stdin.readline()
try:
    with OwnerLock(Path(sys.argv[1]), "docs"):
        print("owner", flush=True)
        sys.stdin.readline()
except Busy as error:
    print(error, flush=True)
"""


class Starter:
    """A process that tries to become the owner when it is told to."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin
        assert self.process.stdout
        self._stdin, self._stdout = self.process.stdin, self.process.stdout

    def go(self) -> None:
        self._stdin.write("\n")
        self._stdin.flush()

    def said(self) -> str:
        return self._stdout.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._stdout.close()
        self._stdin.close()


@contextmanager
def starters(directory: Path, count: int) -> Iterator[list[Starter]]:
    started = [Starter(directory) for _ in range(count)]
    try:
        yield started
    finally:
        for starter in started:
            starter.end()


def test_a_second_owner_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    with OwnerLock(tmp_path / "locks", "docs"):
        with pytest.raises(Busy, match=rf"project 'docs' .* process {os.getpid()}\. .*`stop\('docs'\)`") as caught:
            OwnerLock(tmp_path / "locks", "docs")
        assert caught.value.exit_code == 5
        with OwnerLock(tmp_path / "locks", "blog"), OwnerLock(tmp_path / "locks", "docs", "scrape"):
            pass
    with OwnerLock(tmp_path / "locks", "docs"):
        pass


def test_it_is_released_whatever_ends_the_work(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), OwnerLock(tmp_path, "docs"):
        raise ZeroDivisionError
    with OwnerLock(tmp_path, "docs"):
        pass


def test_the_files_are_for_the_user_alone(tmp_path: Path) -> None:
    directory = tmp_path / "locks"
    with OwnerLock(directory, "docs"):
        (file,) = directory.iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        assert directory.stat().st_mode & 0o777 == 0o700
        assert file.read_text() == str(os.getpid())


def test_kill_9_of_the_owner_frees_the_project(tmp_path: Path) -> None:
    with starters(tmp_path, 1) as (starter,):
        starter.go()
        assert starter.said() == "owner"
        assert owner_pid(tmp_path, "docs") == starter.process.pid
        with pytest.raises(Busy, match=f"process {starter.process.pid}"):
            OwnerLock(tmp_path, "docs")
        starter.process.send_signal(signal.SIGKILL)
        starter.process.wait()
        assert owner_pid(tmp_path, "docs") is None
        with OwnerLock(tmp_path, "docs"):
            assert owner_pid(tmp_path, "docs") == os.getpid()


def test_of_many_starters_exactly_one_wins(tmp_path: Path) -> None:
    with starters(tmp_path, 6) as started:
        for starter in started:
            starter.go()
        said = [starter.said() for starter in started]
        assert said.count("owner") == 1
        winner = started[said.index("owner")].process.pid
        busy = [text for text in said if text != "owner"]
        assert all(re.search(rf"by process ({winner}|unknown)\.", text) for text in busy)


def test_looking_for_an_owner_takes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    assert owner_pid(tmp_path / "locks", "docs") is None
    assert not (tmp_path / "locks").exists()
    with OwnerLock(tmp_path, "docs"):
        assert [owner_pid(tmp_path, "docs") for _ in range(3)] == [os.getpid()] * 3
    assert owner_pid(tmp_path, "docs") is None


def test_readers_never_keep_an_owner_out(tmp_path: Path) -> None:
    with OwnerLock(tmp_path, "docs"):
        pass
    done = threading.Event()
    readers = [threading.Thread(target=read_until, args=(tmp_path, done)) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(30):
            with OwnerLock(tmp_path, "docs"):
                pass
    finally:
        done.set()
        for reader in readers:
            reader.join()


def read_until(directory: Path, done: threading.Event) -> None:
    while not done.is_set():
        assert owner_pid(directory, "docs") in (None, 0, os.getpid())


def test_a_child_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    with OwnerLock(tmp_path, "docs"):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        with OwnerLock(tmp_path, "docs"):
            pass
    finally:
        child.communicate(b"\n")


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file")
    with pytest.raises(StoreError, match=re.escape(str(tmp_path / "locks"))):
        OwnerLock(tmp_path / "locks", "docs")
    (tmp_path / "docs.crawl.lock").mkdir()
    with pytest.raises(StoreError, match="is a directory, not a file"):
        OwnerLock(tmp_path, "docs")
