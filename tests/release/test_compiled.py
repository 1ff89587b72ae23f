"""Compiled modules are for any machine: they name no directory of the one that compiled them."""

from __future__ import annotations

import importlib.util
import shutil
import sysconfig
from pathlib import Path

import pytest

from release.runpaths import run_paths

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"))


def test_every_source_has_its_module() -> None:
    sources = {path.with_suffix("") for path in (ROOT / "src").rglob("*.pyx")}
    assert sources == {module.with_name(module.name.partition(".")[0]) for module in MODULES}


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf (binutils) is not installed")
def test_modules_name_no_directory_to_search() -> None:
    assert {module.name: run_paths(module) for module in MODULES} == {module.name: [] for module in MODULES}


@pytest.mark.parametrize(
    "words",
    [
        ["-Wl,-rpath,/opt/python/lib"],
        ["-Wl,-rpath=/opt/python/lib"],
        ["-Wl,-rpath", "-Wl,/opt/python/lib"],
        ["-Wl,-R/opt/python/lib"],
        ["-R/opt/python/lib"],
        ["-R", "/opt/python/lib"],
    ],
)
def test_run_paths_of_the_interpreter_are_not_passed_on(words: list[str]) -> None:
    found = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert found is not None
    assert found.loader is not None
    build = importlib.util.module_from_spec(found)
    found.loader.exec_module(build)
    linker = ["gcc", "-shared", "-L/opt/python/lib", *words, "-Wl,-O1", "-lm"]
    assert build.without_rpath(linker) == ["gcc", "-shared", "-L/opt/python/lib", "-Wl,-O1", "-lm"]
