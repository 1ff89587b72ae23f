"""Compiled modules: one library per package, which names no directory of the machine that compiled it."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sysconfig
from collections import defaultdict
from pathlib import Path

import pytest

from release.runpaths import run_paths

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
LIBRARIES = sorted(SOURCES.rglob("*.so"))


def packages() -> dict[Path, set[str]]:
    """The names of the Cython modules of each package."""
    found = defaultdict(set)
    for path in SOURCES.rglob("*.pyx"):
        found[path.parent].add(path.stem)
    return found


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES).parts)


def test_each_package_has_one_library() -> None:
    names = {package: "_compiled" if len(modules) > 1 else min(modules) for package, modules in packages().items()}
    assert sorted(package / f"{name}{SUFFIX}" for package, name in names.items()) == LIBRARIES


@pytest.mark.parametrize("package", [each for each, modules in packages().items() if len(modules) > 1], ids=dotted)
def test_a_library_has_every_module_of_its_package(package: Path) -> None:
    library = importlib.import_module(f"{dotted(package)}._compiled")
    assert set(library.MODULES.split()) == packages()[package]
    for name in packages()[package]:
        module = importlib.import_module(f"{dotted(package)}.{name}")
        assert (module.__name__, module.__file__) == (f"{dotted(package)}.{name}", library.__file__)


def test_a_module_that_no_library_has_is_not_found() -> None:
    assert importlib.util.find_spec("orbweb.extraction.nothing") is None
    with pytest.raises(ModuleNotFoundError, match=r"orbweb\.parsing\.html\.nothing"):
        importlib.import_module("orbweb.parsing.html.nothing")


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf (binutils) is not installed")
def test_modules_name_no_directory_to_search() -> None:
    assert [path for library in LIBRARIES for path in run_paths(library)] == []


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
