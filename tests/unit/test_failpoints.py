"""The named points where a test may kill the process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import orbweb
from orbweb import failpoints

PASS_FIVE_TIMES = """
from orbweb.failpoints import failpoint
for turn in range(1, 6):
    failpoint("run_created")
    failpoint("page_settled")
    print(turn, flush=True)
"""


def run(fault: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "ORBWEB_FAULT"}
    if fault is not None:
        environment["ORBWEB_FAULT"] = fault
    return subprocess.run([sys.executable, "-c", PASS_FIVE_TIMES], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("fault", "turns"),
    [("page_settled:1", 0), ("page_settled", 0), ("page_settled:3", 2), ("run_created:5", 4)],
)
def test_the_process_is_killed_at_the_named_turn(fault: str, turns: int) -> None:
    done = run(fault)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == [str(turn) for turn in range(1, turns + 1)]


@pytest.mark.parametrize("fault", [None, "", "page_settled:6", "blob_synced:1"])
def test_a_point_that_is_not_armed_or_not_reached_does_nothing(fault: str | None) -> None:
    done = run(fault)
    assert (done.returncode, len(done.stdout.split())) == (0, 5)


@pytest.mark.parametrize("fault", ["nowhere:1", "page_settled:x", "page_settled:-1", ":3"])
def test_a_fault_that_could_never_strike_is_an_error(fault: str) -> None:
    done = run(fault)
    assert done.returncode == 1
    assert f"ORBWEB_FAULT={fault!r}" in done.stderr


def test_every_point_is_passed_somewhere_and_no_other() -> None:
    source = "\n".join(path.read_text() for path in Path(orbweb.__file__).parent.rglob("*.py"))
    calls = re.findall(r"failpoint\((.+)\)", source.replace("def failpoint(name: str)", ""))
    passed = {name for call in calls for name in re.findall(r'"(\w+)"', call)}
    assert passed == set(failpoints.POINTS)
