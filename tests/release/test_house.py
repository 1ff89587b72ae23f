"""Rules of the source tree that no linter knows: few rooms, one thing per name, small modules and constructors."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "orbweb"
MODULES = sorted(SOURCE.rglob("*.py"))
COMPILED = sorted(SOURCE.rglob("*.pyx"))

ROOMS, BASE, LAYERS, LINES, PARAMETERS = 13, 7, 9, 400, 7


def test_there_are_few_rooms_and_few_modules_beside_them() -> None:
    rooms = [path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()]
    modules = {path.stem for path in SOURCE.iterdir() if path.suffix in (".py", ".pyx")} - {"__init__", "__main__"}
    assert len(rooms) <= ROOMS, rooms
    assert len(modules) <= BASE, modules


def test_there_are_few_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["id"] == "layers"]
    assert len(layers) <= LAYERS, layers


def test_no_class_name_means_two_things() -> None:
    homes = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    for path in COMPILED:
        for name in re.findall(r"^(?:cdef )?class (\w+)", path.read_text(), re.MULTILINE):
            homes[name].append(str(path.relative_to(SOURCE)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_long_module_says_why(path: Path) -> None:
    text = path.read_text()
    said = re.search(r"\b(long|one table|one subject)\b", (ast.get_docstring(ast.parse(text)) or "").lower())
    assert len(text.splitlines()) <= LINES or said, f"{len(text.splitlines())} lines; its docstring says why"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_constructor_takes_a_record_rather_than_many_parameters(path: Path) -> None:
    many = {
        f"line {node.lineno}": len(node.args.args) + len(node.args.kwonlyargs) - 1
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    }
    assert {line: number for line, number in many.items() if number > PARAMETERS} == {}


def test_no_named_query_is_called_outside_the_store() -> None:
    call = re.compile(r"\.(?:all|one|value|each|run|many|moved)\(\s*\"[a-z_]+\"")
    found = {
        str(path.relative_to(SOURCE)): call.findall(path.read_text())
        for path in MODULES
        if path.relative_to(SOURCE).parts[0] != "store"
    }
    assert {name: calls for name, calls in found.items() if calls} == {}
