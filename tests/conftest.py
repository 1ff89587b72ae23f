"""Fixtures shared by all folders, and how tests are spread over processes."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from harness import Cli

ROOT = Path(__file__).parents[1]

# Hundreds of tests start orbweb. Where bytecode is not kept, each start would compile all of it again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What tests allow on this machine is kept for as long as they run, and never in the home of whoever runs them.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="orbweb-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with closing(Cli(tmp_path / "workspace")) as made:
        yield made


class Spreading(LoadScopeScheduling):
    """Tests go one by one to where there is nothing to do, the largest modules first.

    Those of a module with fixtures of its own go together, so that these are made once.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return module if _shares_fixtures(module) else nodeid


@cache
def _shares_fixtures(module: str) -> bool:
    return 'scope="module"' in (ROOT / module).read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Spreading:
    return Spreading(config, log)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 20 MB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)
