"""The programs of docs/examples: short, typed, shown in the documentation, and they run."""

from __future__ import annotations

import ast
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import orbweb
from orbweb.cli import demo
from servers.pages import Unending
from servers.site import serve

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))
PAGES = 17


def run(name: str, url: str, home: Path, *, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / f"docs/examples/{name}.py"), url],
        capture_output=True,
        text=True,
        cwd=home,
        timeout=timeout,
        env={**os.environ, "ORBWEB_LIMITS__RATE": "max"},
    )


def lines_of(name: str, url: str, home: Path) -> list[str]:
    done = run(name, url, home)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.fixture
def url() -> Iterator[str]:
    with demo.serve() as found:
        yield found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_has_at_most_ten_lines(path: Path) -> None:
    docstring, *statements = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    counted = {
        line for statement in statements for line in range(statement.lineno, (statement.end_lineno or 0) + 1)
    }
    assert len(counted) <= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_is_shown_in_the_documentation(path: Path) -> None:
    code = path.read_text(encoding="utf-8").partition('"""\n\n')[2]
    assert f"```python\n{code}```" in (ROOT / "docs/how-to/library.md").read_text(encoding="utf-8")


def test_they_are_typed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *map(str, EXAMPLES)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout


def test_markdown_of_all_pages(tmp_path: Path, url: str) -> None:
    assert lines_of("markdown_of_all_pages", url, tmp_path) == []
    written = sorted((tmp_path / "pages").iterdir())
    assert [path.name for path in written] == [f"{number:04}.md" for number in range(1, PAGES + 1)]
    assert written[0].read_text(encoding="utf-8").startswith("# Larder")


def test_field_by_selector(tmp_path: Path, url: str) -> None:
    printed = lines_of("field_by_selector", url, tmp_path)
    assert printed[0] == f"{url}\tLarder"
    assert len(printed) == PAGES


def test_first_hundred(tmp_path: Path) -> None:
    with serve(Unending(delay_s=0.0)) as server:
        printed = lines_of("first_hundred", server.url, tmp_path)
    assert printed == [f"200 page {number}" for number in range(100)]
    assert orbweb.open(tmp_path / "orbweb-data").statuses()[0].state == "paused"


def test_own_callback(tmp_path: Path, url: str) -> None:
    printed = lines_of("own_callback", url, tmp_path)
    assert len(printed) == PAGES + 1
    assert printed[-1] == f"{PAGES} pages, 1 failed"


def test_cancel(tmp_path: Path, url: str) -> None:
    assert lines_of("cancel", url, tmp_path) in ([f"{PAGES} pages"], ["not all pages, resume later"])


def test_resume_stream(tmp_path: Path, url: str) -> None:
    assert lines_of("resume_stream", url, tmp_path) == []
    with closing(sqlite3.connect(tmp_path / "index.db")) as index:
        ((pages,),) = index.execute("SELECT COUNT(*) FROM pages")
    assert pages == PAGES
