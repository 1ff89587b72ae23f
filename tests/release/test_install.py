"""A release on a clean machine: the sdist builds a wheel, and the wheel runs where there is nothing but Python.

`make test` compiles orbweb once more for this, so everything here shares one build.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from release.runpaths import of_wheel

ROOT = Path(__file__).parents[2]
AUDITWHEEL = ROOT / ".venv" / "tools" / "bin" / "auditwheel"
COMPILERS = ("cc", "gcc", "clang", "c++", "g++", "make")
UNREACHABLE = ("NewConnectionError", "Temporary failure in name resolution", "Network is unreachable")
OF_PIP = ("HOME", "LANG", "PIP_", "http", "https", "no_proxy", "HTTP", "NO_PROXY", "SSL_", "REQUESTS_")
"""Environment variables by which pip finds its index and its cache."""

# Compiling takes half a minute on two idle cores, and several on a busy machine.
pytestmark = [pytest.mark.alone, pytest.mark.timeout(1800)]


def run(*words: str | Path, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True)


@dataclass(frozen=True)
class Release:
    sdist: Path
    wheel: Path


def build(source: Path, target: str, out: Path, pattern: str) -> Path:
    done = run(sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", out, cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = out.glob(pattern)
    return made


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The sdist of this tree, and the wheel that is built from what is in it."""
    folder = tmp_path_factory.mktemp("release")
    sdist = build(ROOT, "sdist", folder / "dist", "*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / sdist.name.removesuffix(".tar.gz")
    return Release(sdist, build(source, "wheel", folder / "dist", "*.whl"))


def test_the_sdist_has_what_a_build_needs_and_no_more(release: Release) -> None:
    with tarfile.open(release.sdist) as archive:
        names = {Path(*Path(name).parts[1:]) for name in archive.getnames()}
    assert {name.parts[0] for name in names} <= {
        *("src", "hatch_build.py", "pyproject.toml", "PKG-INFO"),
        *("README.md", "LICENSE", "CHANGELOG.md", ".gitignore"),
    }
    source = ROOT / "src"
    wanted = {path.relative_to(ROOT) for suffix in ("py", "pyx", "pxd") for path in source.rglob(f"*.{suffix}")}
    assert wanted - names == set()
    assert [name for name in names if name.suffix in (".so", ".pyc")] == []
    assert release.sdist.stat().st_size < 2_000_000


def test_the_wheel_has_the_libraries_and_no_sources_of_them(release: Release) -> None:
    with zipfile.ZipFile(release.wheel) as archive:
        names = archive.namelist()
        libraries = [name for name in names if name.endswith(".so")]
        compiled = b"".join(archive.read(name) for name in libraries)
    assert {name.partition(".")[0] for name in libraries} == {
        "orbweb/_hrefs",
        "orbweb/app/column_scan",
        "orbweb/extraction/_compiled",
        "orbweb/parsing/html/_compiled",
    }
    assert [name for name in names if name.endswith((".pyx", ".pxd", ".c"))] == []
    assert "orbweb/py.typed" in names
    assert any(name.startswith("orbweb/cli/demo/site/") for name in names)
    for machine in (ROOT, release.wheel.parents[1]):
        assert f"{machine}/".encode() not in compiled


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf (binutils) is not installed")
def test_libraries_of_the_wheel_name_no_directory_to_search(release: Release) -> None:
    assert [path for paths in of_wheel(release.wheel).values() for path in paths] == []


@pytest.mark.skipif(not AUDITWHEEL.exists(), reason="auditwheel is not installed: make wheels installs it")
def test_the_wheel_is_for_every_recent_linux(release: Release) -> None:
    shown = run(AUDITWHEEL, "show", release.wheel, cwd=ROOT)
    assert shown.returncode == 0, shown.stderr
    assert '"manylinux_2_17_' in shown.stdout.replace("\n", " "), shown.stdout


@dataclass
class CleanMachine:
    """A folder, a Python without packages, and a PATH on which there is no compiler."""

    folder: Path
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def bin(self) -> Path:
        return self.folder / "env" / "bin"

    def command(self, *words: str | Path, codes: tuple[int, ...] = (0,)) -> str:
        kept = {name: text for name, text in os.environ.items() if name.startswith(OF_PIP)}
        env = kept | {"PATH": str(self.bin)}
        start = time.monotonic()
        done = run(*words, cwd=self.folder, env=env)
        self.seconds[" ".join(Path(word).name for word in map(str, words))] = time.monotonic() - start
        said = done.stdout + done.stderr
        if any(sign in said for sign in UNREACHABLE):
            pytest.skip("no package index can be reached")
        assert done.returncode in codes, said
        return said


@pytest.fixture
def machine(tmp_path: Path) -> CleanMachine:
    return CleanMachine(tmp_path)


def test_three_commands_from_the_wheel_to_markdown(
    release: Release, machine: CleanMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    """The goal is a minute. On a busy machine the clock says little, so what is asserted is processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    machine.command(Path(sys.base_prefix, "bin", "python3"), "-m", "venv", "env")
    assert [name for name in COMPILERS if shutil.which(name, path=str(machine.bin))] == []
    machine.command(machine.bin / "pip", "install", release.wheel)
    said = machine.command(machine.bin / "orbweb", "demo", codes=(0, 3))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    pages = sorted((machine.folder / "orbweb-data" / "demo-markdown").rglob("*.md"))
    with capsys.disabled():
        print(f"\nfrom the wheel to {len(pages)} Markdown files: {sum(machine.seconds.values()):.1f} s")
        for command, seconds in machine.seconds.items():
            print(f"  {seconds:5.1f} s  {command}")
        print(f"  {cpu_s:5.1f} s of processor time")
    assert len(pages) >= 10, said
    assert any(page.read_text().lstrip("-").find("\n# ") >= 0 for page in pages)
    assert cpu_s < 60
