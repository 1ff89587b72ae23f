"""Fixtures shared by all folders, and how tests are spread over processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from harness import Cli

# Hundreds of tests start orbweb. Where bytecode is not kept, each start would compile all of it again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "workspace")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module stay in one process, so that it is made once."""
    for item in items:
        if isinstance(item, pytest.Function) and _shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def _shares_a_fixture(item: pytest.Function) -> bool:
    found = item._fixtureinfo.name2fixturedefs.values()
    return any(definition.scope == "module" for definitions in found for definition in definitions)
