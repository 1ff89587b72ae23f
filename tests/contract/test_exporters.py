"""The exporters: one suite for every format."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import orbweb
from orbweb.errors import UsageError
from orbweb.export import EXPORTERS, Exporter, ExportSource, Format
from orbweb.export.folder import MANIFEST
from orbweb.store.sqlite.db import Database
from orbweb.store.workspace_paths import AnchoredPath
from orbweb.urls import DEFAULT_RULES
from servers.site import StaticSite, html, serve

PAGES = {
    "/": "<!doctype html><title>Start</title><main><h1>Start</h1><p>first page</p><a href=/b>b</a></main>",
    "/b": "<!doctype html><title>B</title><main><h1>B</h1><p>second page</p><a href=/>start</a></main>",
}
STORE = AnchoredPath(Path("workspace"), Path("store"))
BODIES = {hashlib.sha256(text.encode()).hexdigest(): text.encode() for text in PAGES.values()}

each = pytest.mark.parametrize("exporter", EXPORTERS.values(), ids=lambda exporter: exporter.name)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one crawl in it; the server is gone."""
    path = tmp_path_factory.mktemp("exporters") / "workspace"
    with serve(StaticSite({url: html(text) for url, text in PAGES.items()})) as server:
        done = orbweb.open(path).crawl([server.url], project="site", rate="max", processes=0)
    assert done.pages == 2
    return path


@pytest.fixture
def source(workspace: Path) -> Iterator[ExportSource]:
    with closing(Database(workspace / "orbweb.db")) as db:
        yield ExportSource(db, "site", 1, 1, DEFAULT_RULES, BODIES.__getitem__, lambda _done, _total: None, STORE)


def exported(out: Path) -> dict[str, bytes]:
    """The bytes of a file, or of every file of a folder, by relative path."""
    files = [out] if out.is_file() else sorted(path for path in out.rglob("*") if path.is_file())
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def test_every_format_has_its_exporter() -> None:
    assert set(EXPORTERS) == set(Format)
    assert [(name.value, exporter.name) for name, exporter in EXPORTERS.items() if name != exporter.name] == []


@each
def test_it_writes_a_file_or_a_folder(exporter: Exporter, source: ExportSource, tmp_path: Path) -> None:
    out = tmp_path / f"out{exporter.extension or ''}"
    tally = exporter.write(source, out)
    written = exported(out)
    assert out.is_dir() is (exporter.extension is None)
    assert exporter.extension is None or re.fullmatch(r"\.[a-z]+", exporter.extension)
    assert tally.written == tally.files == len(written) - (MANIFEST in written) > 0
    assert tally.bytes == sum(len(data) for name, data in written.items() if name != MANIFEST) > 0
    assert not list(tmp_path.rglob("*.part"))


@each
def test_the_bytes_are_a_function_of_the_run(exporter: Exporter, source: ExportSource, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    exporter.write(source, first)
    exporter.write(source, second)
    assert exported(first) == exported(second)
    exporter.write(source, first)
    assert exported(first) == exported(second)


@each
def test_a_place_of_another_kind_is_refused(exporter: Exporter, source: ExportSource, tmp_path: Path) -> None:
    """A folder with foreign files is refused by all; a file by a format that is a folder."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    mine = foreign / "mine.txt"
    mine.write_text("mine")
    for out in (foreign, mine) if exporter.extension is None else (foreign,):
        with pytest.raises(UsageError, match=r"^out="):
            exporter.write(source, out)
    assert exported(foreign) == {"mine.txt": b"mine"}


@each
def test_a_folder_of_another_project_is_refused(exporter: Exporter, source: ExportSource, tmp_path: Path) -> None:
    """A format of one file replaces the file; a format of many never mixes two exports."""
    out = tmp_path / "out"
    exporter.write(source, out)
    before = exported(out)
    other = ExportSource(source.db, "other", 1, 1, source.rules, source.body, source.watch, source.store)
    if exporter.extension is not None:
        assert exporter.write(other, out).written == 1
        return
    with pytest.raises(UsageError, match=f"contains project 'site' as {exporter.name}; choose another directory"):
        exporter.write(other, out)
    assert exported(out) == before


@each
def test_a_stream_gets_the_bytes_of_the_file_or_is_refused(
    exporter: Exporter, source: ExportSource, tmp_path: Path
) -> None:
    stream = io.BytesIO()
    if exporter.name in (Format.JSONL, Format.CSV):
        exporter.write(source, stream)
        exporter.write(source, tmp_path / "out")
        assert stream.getvalue() == (tmp_path / "out").read_bytes()
        return
    with pytest.raises(UsageError, match=f"to={exporter.name} cannot write to a stream"):
        exporter.write(source, stream)
    assert stream.getvalue() == b""
