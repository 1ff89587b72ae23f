"""Compiled modules: one library per package, which names no directory of the machine that compiled it."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import sysconfig
from collections import defaultdict
from pathlib import Path
from typing import Any

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
    linker = ["gcc", "-shared", "-L/opt/python/lib", *words, "-Wl,-O1", "-lm"]
    assert build_hook().without_rpath(linker) == ["gcc", "-shared", "-L/opt/python/lib", "-Wl,-O1", "-lm"]


def build_hook() -> Any:
    found = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert found is not None
    assert found.loader is not None
    build = importlib.util.module_from_spec(found)
    found.loader.exec_module(build)
    return build


def test_without_a_compiler_the_installation_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    package = tmp_path / "src" / "orbweb"
    package.mkdir(parents=True)
    for name in ("one", "two"):
        (package / f"{name}.pyx").write_text("def answer():\n    return 42\n")
    with pytest.raises(SystemExit, match=r"needs a C compiler and the Python headers \(Debian, Ubuntu: apt-get"):
        build_hook().compile_packages(tmp_path / "src", tmp_path / "made", tmp_path / "scratch")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_build_reports_each_file_and_leaves_no_former_library(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "src" / "orbweb"
    package.mkdir(parents=True)
    for name in ("one", "two"):
        (package / f"{name}.pyx").write_text("def answer():\n    return 42\n")
    (package / "one.cpython-311-x86_64-linux-gnu.so").write_bytes(b"of a former build")
    build = build_hook()
    libraries = build.compile_packages(tmp_path / "src", tmp_path / "made", tmp_path / "scratch")
    build.replace_libraries(libraries, tmp_path / "made", tmp_path / "src")
    assert [path.name for path in package.glob("*.so")] == [f"_compiled{SUFFIX}"]
    said = capfd.readouterr().out
    assert "orbweb: translating 2 Cython modules to C" in said
    assert sorted(re.findall(r"^orbweb: compiled \d of 3: (\S+)$", said, re.MULTILINE)) == [
        *("one", "orbweb._compiled", "two"),
    ]
