"""The measure of work tells what is linear from what is not; what burns beside tests ends with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import burners
from effort import TIMES, assert_linear, best_s
from harness import wait_until

pytestmark = pytest.mark.alone


def squares(size: int) -> int:
    return sum(1 for _ in range(size) for _ in range(size))


def test_linear_work_is() -> None:
    assert_linear(lambda size: sum(range(size)), 2_000_000, 2_000_000 * TIMES)


def test_work_that_grows_with_the_square_is_not() -> None:
    with pytest.raises(AssertionError, match="8 times as much"):
        assert_linear(squares, 600, 600 * TIMES)


def test_the_best_is_found_and_no_more_is_tried() -> None:
    calls: list[int] = []

    def work() -> None:
        calls.append(squares(600 if len(calls) < 2 else 1))

    assert best_s(work, 0.002) < 0.002
    assert len(calls) == 3


def started(parent: int) -> tuple[set[int], set[int]]:
    """The processes that it started: those that burn, and the command."""
    found = map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
    words = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in found}
    command = {child for child, line in words.items() if line.startswith(b"sleep")}
    return words.keys() - command, command


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_burners_end_with_their_process_however_it_ends(number: int) -> None:
    process = subprocess.Popen([sys.executable, burners.__file__, "sleep", "3"], stderr=subprocess.DEVNULL)
    wait_until(lambda: list(map(len, started(process.pid))) == [os.cpu_count() or 2, 1])
    burning, _ = started(process.pid)
    process.send_signal(number)
    process.wait()
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in burning))


def test_the_exit_code_is_that_of_the_command() -> None:
    assert burners.main(["sh", "-c", "exit 3"]) == 3
