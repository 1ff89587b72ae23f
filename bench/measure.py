"""What one command costs: time, CPU seconds and memory of its whole process tree.

Owns the start, the sampling and the end of a measured process. Always: wall time is from start to
exit, start-up included; CPU is user + system of the command and its descendants, and of nothing else.
Never judges a figure.
"""

from __future__ import annotations

import compileall
import importlib.util
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

SAMPLE_EVERY_S = 0.1
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of one finished command. `tree_*` are sums over the tree at its worst moment."""

    exit_code: int
    wall_s: float
    cpu_s: float
    main_rss_mb: float
    tree_rss_mb: float
    tree_pss_mb: float
    stdout: Path
    stderr: Path

    def last_json(self) -> dict[str, Any]:
        """The last line of stdout as a JSON object; empty if it is none."""
        lines = self.stdout.read_text(errors="replace").strip().splitlines()
        try:
            value = json.loads(lines[-1])
        except (IndexError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def complaint(self) -> str:
        """The end of stderr, for the report of a failure."""
        return self.stderr.read_text(errors="replace")[-2000:]


@dataclass(slots=True)
class Tree:
    """Peaks of a process and its descendants, seen by sampling."""

    root: psutil.Process
    main_rss: int = 0
    tree_rss: int = 0
    tree_pss: int = 0
    cpu_s: dict[int, float] = field(default_factory=dict)

    def sample(self) -> None:
        rss = pss = 0
        for process in self._processes():
            try:
                memory, cpu = process.memory_full_info(), process.cpu_times()
            except psutil.Error:
                continue
            if process.pid == self.root.pid:
                self.main_rss = max(self.main_rss, memory.rss)
            rss, pss = rss + memory.rss, pss + memory.pss
            self.cpu_s[process.pid] = cpu.user + cpu.system
        self.tree_rss, self.tree_pss = max(self.tree_rss, rss), max(self.tree_pss, pss)

    def watch(self, stop: threading.Event) -> None:
        self.sample()
        while not stop.wait(SAMPLE_EVERY_S):
            self.sample()

    def _processes(self) -> list[psutil.Process]:
        try:
            return [self.root, *self.root.children(recursive=True)]
        except psutil.Error:
            return []


def compile_orbweb() -> None:
    """Installed packages are compiled, so a source tree is as well: its processes would do it at every start."""
    package = importlib.util.find_spec("orbweb")
    for folder in (package and package.submodule_search_locations) or ():
        compileall.compile_dir(folder, quiet=1)


def run(argv: Sequence[str | Path], directory: Path, timeout_s: float) -> Usage:
    """Run a command in its own session and measure it; it is killed after `timeout_s`."""
    stdout, stderr = directory / "stdout", directory / "stderr"
    with stdout.open("wb") as out, stderr.open("wb") as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in argv], stdout=out, stderr=err, env=_environment(), start_new_session=True
        )
        tree, stop = Tree(psutil.Process(process.pid)), threading.Event()
        watcher = threading.Thread(target=tree.watch, args=(stop,))
        killer = threading.Timer(timeout_s, os.killpg, (process.pid, signal.SIGKILL))
        watcher.start()
        killer.start()
        try:
            _, status, spent = os.wait4(process.pid, 0)
            wall_s = time.perf_counter() - started
        finally:
            killer.cancel()
            stop.set()
            watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    # The kernel adds a descendant's CPU only when it was waited for; the samples cover the others.
    cpu_s = max(spent.ru_utime + spent.ru_stime, sum(tree.cpu_s.values()))
    return Usage(
        process.returncode,
        wall_s,
        cpu_s,
        tree.main_rss / MEGABYTE,
        tree.tree_rss / MEGABYTE,
        tree.tree_pss / MEGABYTE,
        stdout,
        stderr,
    )


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
