"""Compiles the Cython modules (the HTML parser and the extraction) for the wheel or an editable install.

Every .pyx under src becomes a module, beside its source (editable install) or in the wheel. Fails with a clear
message if no C compiler is found. Writes only the compiled modules, which contain no path of this machine.
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
    """A build_ext whose modules have no run path.

    An interpreter that was linked with `-rpath` passes it on to everything it links: anyone who can write to that
    directory on a user's machine could place a library there.
    """

    class Portable(build_ext):  # type: ignore[misc]
        def build_extensions(self) -> None:
            self.compiler.linker_so = without_rpath(self.compiler.linker_so)
            super().build_extensions()

    return Portable


def without_rpath(words: list[str]) -> list[str]:
    """A linker command without the arguments of run paths: `-R`, `-Wl,-R`, and `-Wl,-rpath` with its directory
    after a comma, an equals sign or in the next argument."""
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
            "installing orbweb from source needs a C compiler and the Python headers "
            f"(Debian, Ubuntu: apt-get install gcc python3-dev): {error}"
        ) from error
    finally:
        os.chdir(before)
