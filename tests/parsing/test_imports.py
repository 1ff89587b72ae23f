"""The parser imports nothing of orbweb but itself, in compiled modules too, which import-linter does not see."""

from __future__ import annotations

import re
from pathlib import Path

import orbweb

HTML = Path(orbweb.__file__).parent / "parsing" / "html"
IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import\b|c?import\s+([\w., ]+))", re.MULTILINE)


def imported(source: str) -> set[str]:
    return {
        name.split(" as ")[0].strip()
        for found in IMPORT.finditer(source)
        for name in (found[1] or found[2]).split(",")
    }


def test_imports_are_found() -> None:
    source = "from orbweb.model import Link\n  import orbweb.urls as u, re\ncimport cython\nfrom a.b cimport (c)"
    assert imported(source) == {"orbweb.model", "orbweb.urls", "re", "cython", "a.b"}


def test_the_parser_imports_nothing_of_orbweb() -> None:
    sources = [path for path in HTML.iterdir() if path.suffix in (".py", ".pyi", ".pyx", ".pxd")]
    assert {path.suffix for path in sources} == {".py", ".pyi", ".pyx", ".pxd"}
    assert {
        (path.name, name)
        for path in sources
        for name in imported(path.read_text())
        if name.partition(".")[0] in ("orbweb", "") and not name.startswith("orbweb.parsing.html.")
    } == set()
