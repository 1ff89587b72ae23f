"""What compiled modules tell the loader: the directories in which it is to look for libraries.

`python runpaths.py WHEEL...` exits with 1 if a module of a wheel names one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

_PATHS = re.compile(r"\((RPATH|RUNPATH)\).*?\[(.*)\]")


def run_paths(module: Path) -> list[str]:
    """The run paths of one compiled module."""
    told = subprocess.run(["readelf", "--dynamic", "--wide", module], capture_output=True, text=True, check=True)
    assert "Dynamic section" in told.stdout, f"{module}: not a shared library"
    return [path for _, path in _PATHS.findall(told.stdout)]


def of_wheel(wheel: Path) -> dict[str, list[str]]:
    """The run paths of each compiled module of a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            modules = [name for name in archive.namelist() if name.endswith(".so")]
            archive.extractall(folder, modules)
        return {module: run_paths(Path(folder, module)) for module in modules}


def main(wheels: list[str]) -> int:
    code = 0
    for wheel in wheels:
        paths = of_wheel(Path(wheel))
        named = {module: found for module, found in paths.items() if found}
        print(f"{wheel}: {len(paths)} compiled modules, {len(named)} with a run path {named or ''}".rstrip())
        code |= bool(named) or not paths
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
