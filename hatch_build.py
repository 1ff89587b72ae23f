"""Builds the wheel: what reads pages is written in Cython and compiled here.

Owns how it is compiled. Always: every .pyx under src becomes a module, beside its source (an editable install) or
in the wheel; a machine without a C compiler is told so; a module names no directory of this machine. Never:
leaves anything else in the source tree.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = "src"
DIRECTIVES = {"language_level": 3, "wraparound": False, "initializedcheck": False, "cdivision": True}
OPTIONS = ["-O2", "-g0", "-D_GNU_SOURCE", "-Wno-unused-function"]


class NativeModules(BuildHookInterface[Any]):
    """Compiles the modules and adds them to the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="orbweb-build-")
        scratch, sources = Path(self._scratch.name), Path(self.root) / SOURCES
        made = sources if version == "editable" else scratch / "made"
        compile_modules(sources, made, scratch)
        if version != "editable":
            modules = sorted(made.rglob("*.so"))
            build_data["force_include"] |= {str(module): str(module.relative_to(made)) for module in modules}
            build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, _version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        self._scratch.cleanup()


def _portable(build_ext: type[Any]) -> type[Any]:
    """A build whose modules search no directory for libraries.

    An interpreter that was itself linked so hands its `-rpath` on to all that it links: whoever can write to that
    directory on the machine of a user could put a library there.
    """

    class Portable(build_ext):  # type: ignore[misc]
        def build_extensions(self) -> None:
            self.compiler.linker_so = without_rpath(self.compiler.linker_so)
            super().build_extensions()

    return Portable


def without_rpath(words: list[str]) -> list[str]:
    """The words of a linker's command but for those that name run paths: `-R`, `-Wl,-R`, and `-Wl,-rpath` with its
    directory behind a comma, an equals sign or in the next word."""
    kept: list[str] = []
    names_path = False
    for word in words:
        if names_path:
            names_path = False
        elif word in ("-Wl,-rpath", "-Wl,-R", "-R", "-rpath"):
            names_path = True
        elif not word.startswith(("-Wl,-rpath,", "-Wl,-rpath=", "-Wl,-R", "-R")):
            kept.append(word)
    return kept


def compile_modules(sources: Path, made: Path, scratch: Path) -> None:
    """Compile all modules under `sources` into the same layout under `made`."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext
    from setuptools.errors import CCompilerError, PlatformError

    before = Path.cwd()
    os.chdir(sources)
    try:
        modules = [
            Extension(".".join(path.with_suffix("").parts), [str(path)], extra_compile_args=OPTIONS)
            for path in sorted(Path("orbweb").rglob("*.pyx"))
        ]
        command = _portable(build_ext)(
            Distribution(
                {
                    "name": "orbweb",
                    "ext_modules": cythonize(
                        modules, build_dir=str(scratch), compiler_directives=DIRECTIVES, quiet=True
                    ),
                }
            )
        )
        command.build_lib, command.build_temp = str(made), str(scratch)
        command.parallel = os.cpu_count()
        command.ensure_finalized()
        command.run()
    except (CCompilerError, PlatformError) as error:
        raise SystemExit(
            "orbweb needs a C compiler and the headers of Python to be installed from its sources "
            f"(Debian, Ubuntu: apt-get install gcc python3-dev): {error}"
        ) from error
    finally:
        os.chdir(before)
