"""The table of behaviours in tests/README.md names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
NAMED = re.findall(r"`(\w+/\w+\.py)::(\w+)`", (TESTS / "README.md").read_text())


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_behaviour_has_a_test_that_exists() -> None:
    rows = [line for line in (TESTS / "README.md").read_text().splitlines() if re.match(r"\| [^*|-]", line)]
    assert len(NAMED) == len(rows) - 1
    assert [f"{path}::{name}" for path, name in NAMED if name not in functions(TESTS / path)] == []
