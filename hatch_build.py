"""Compiles the Cython modules (the HTML parser, the extraction, the fast path of URLs) at installation.

The modules of a package become one library, `_compiled`: each keeps its own init function, and
`orbweb/__init__.py` finds it there. A package with a single .pyx gets an ordinary extension module. Libraries go
into the wheel or, for an editable install, beside the sources. They contain no path of this machine.

Fails with a clear message if no C compiler is found. Prints what it does; `pip install -v` shows it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from functools import partial
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, PlatformError

SOURCES = "src"
LIBRARY = "_compiled"
DIRECTIVES = {"language_level": 3, "wraparound": False, "initializedcheck": False, "cdivision": True}
OPTIONS = ["-O2", "-g0", "-D_GNU_SOURCE", "-Wno-unused-function"]
PROCESSORS = os.cpu_count() or 1

Compile = Callable[..., list[str]]

CONTENTS = """\
#include <Python.h>

static int list_modules(PyObject *module) {
    return PyModule_AddStringConstant(module, "MODULES", "@MODULES@");
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, list_modules}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "@LIBRARY@", NULL, 0, NULL, slots, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit_@LIBRARY@(void) { return PyModuleDef_Init(&definition); }
"""
"""The module by which a library is imported: `MODULES` names the others that are in it."""


class CompiledModules(BuildHookInterface[Any]):
    """Compiles the modules and adds them to the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="orbweb-build-")
        sources, made = Path(self.root) / SOURCES, Path(self._scratch.name, "made")
        libraries = compile_packages(sources, made, Path(self._scratch.name))
        if version == "editable":
            replace_libraries(libraries, made, sources)
        else:
            build_data["force_include"] |= {str(library): str(library.relative_to(made)) for library in libraries}
            build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, _version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        self._scratch.cleanup()


def replace_libraries(libraries: list[Path], made: Path, sources: Path) -> None:
    """Put libraries beside their sources, and remove all that were there: a library that is left over would be
    imported instead. A process that has the former one loaded keeps it."""
    for old in sources.rglob("*.so"):
        old.unlink()
    for library in libraries:
        shutil.copy(library, sources / library.relative_to(made))


def compile_packages(sources: Path, made: Path, scratch: Path) -> list[Path]:
    """Compile all modules under `sources` into one library per package, in the same layout under `made`."""
    with chdir(sources):
        try:
            libraries = list(packages(translated(scratch), scratch))
            command = BuildLibraries(Distribution({"name": "orbweb", "ext_modules": libraries}))
            command.build_lib, command.build_temp = str(made), str(scratch)
            command.parallel = PROCESSORS
            command.ensure_finalized()
            command.run()
        except (CCompilerError, PlatformError) as error:
            raise SystemExit(
                "installing orbweb from source needs a C compiler and the Python headers "
                f"(Debian, Ubuntu: apt-get install gcc python3-dev): {error}"
            ) from error
    return sorted(made.rglob("*.so"))


def translated(scratch: Path) -> list[Extension]:
    """Every .pyx under the working directory as an extension module in C."""
    modules = [
        Extension(".".join(path.with_suffix("").parts), [str(path)])
        for path in sorted(Path("orbweb").rglob("*.pyx"))
    ]
    report(f"translating {len(modules)} Cython modules to C")
    # Processes are forked; elsewhere than on Linux that is not safe.
    processes = PROCESSORS if sys.platform == "linux" else 0
    return list(
        cythonize(modules, build_dir=str(scratch), compiler_directives=DIRECTIVES, quiet=True, nthreads=processes)
    )


def packages(modules: list[Extension], scratch: Path) -> Iterator[Extension]:
    """One extension module per package, which has all of its modules."""
    for package, group in groupby(modules, key=lambda module: module.name.rpartition(".")[0]):
        members = list(group)
        if len(members) == 1:
            yield Extension(members[0].name, members[0].sources, extra_compile_args=OPTIONS)
            continue
        names = [member.name.rpartition(".")[2] for member in members]
        contents = scratch / f"{package}.{LIBRARY}.c"
        contents.write_text(CONTENTS.replace("@MODULES@", " ".join(names)).replace("@LIBRARY@", LIBRARY))
        sources = [source for member in members for source in member.sources]
        yield Extension(f"{package}.{LIBRARY}", [*sources, str(contents)], extra_compile_args=OPTIONS)


class BuildLibraries(build_ext):
    """Compiles the sources of a library side by side, and links without run paths.

    An interpreter that was linked with `-rpath` passes it on to everything it links: anyone who can write to that
    directory on a user's machine could place a library there.
    """

    def build_extensions(self) -> None:
        self.compiler.linker_so = without_rpath(self.compiler.linker_so)
        total = sum(len(library.sources) for library in self.extensions)
        report(f"compiling {len(self.extensions)} libraries")
        with ThreadPoolExecutor(PROCESSORS) as pool:
            self.compiler.compile = side_by_side(self.compiler.compile, pool, total)
            super().build_extensions()


def side_by_side(compile_files: Compile, pool: ThreadPoolExecutor, total: int) -> Compile:
    """A compiler's method that compiles several sources at a time, the largest first, and reports each."""
    number = count(1)

    def compile_file(source: str, options: dict[str, Any]) -> list[str]:
        made = compile_files([source], **options)
        report(f"compiled {next(number)} of {total}: {Path(source).stem}")
        return made

    def compile_all(sources: list[str], **options: Any) -> list[str]:
        largest_first = sorted(sources, key=lambda source: Path(source).stat().st_size, reverse=True)
        return list(chain.from_iterable(pool.map(partial(compile_file, options=options), largest_first)))

    return compile_all


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


def report(what: str) -> None:
    """Print a step of the build, at once."""
    print(f"orbweb: {what}", flush=True)  # noqa: T201
