"""The reader for LlamaIndex, with llama-index-core: `make clients`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import orbweb
from examples import run_examples
from orbweb.cli import demo
from servers.site import StaticSite, serve

pytest.importorskip("llama_index.core", reason="llama-index-core is not there: run `make clients`")

from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.readers.base import BasePydanticReader
from llama_index.core.schema import Document

from orbweb.integrations.llamaindex import OrbwebReader

PAGES = 17


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with demo.serve() as found:
        yield found


def reader(tmp_path: Path, **fields: str) -> OrbwebReader:
    return OrbwebReader(workspace=str(tmp_path / "w"), options={"rate": "max"}, **fields)


def test_pages_are_documents(url: str, tmp_path: Path) -> None:
    first, *others = reader(tmp_path).load_data(url)
    assert isinstance(first, Document)
    assert first.text.startswith("# Larder")
    assert set(first.metadata) == {"source", "title", "description", "language"}
    assert (first.metadata["source"], first.metadata["title"], first.id_) == (url, "Larder", url)
    assert len(others) == PAGES - 1
    assert all(node.metadata["source"] for node in MarkdownNodeParser().get_nodes_from_documents([first]))


def test_pages_are_loaded_as_they_are_consumed(url: str, tmp_path: Path) -> None:
    documents = iter(reader(tmp_path, project="site").lazy_load_data([url]))
    assert next(documents).id_ == url
    documents.close()  # type: ignore[attr-defined]
    assert not orbweb.open(tmp_path / "w").status("site").running


def test_loading_in_an_event_loop(url: str, tmp_path: Path) -> None:
    assert len(asyncio.run(reader(tmp_path).aload_data(urls=[url]))) == PAGES


def test_a_second_crawl_gives_documents_with_the_same_hash(url: str, tmp_path: Path) -> None:
    hashes = [{document.id_: document.hash for document in reader(tmp_path).load_data(url)} for _ in range(2)]
    assert hashes[0] == hashes[1]


def test_a_reader_can_be_written_and_read(tmp_path: Path) -> None:
    found = reader(tmp_path, project="site", cursor="rag")
    assert isinstance(found, BasePydanticReader)
    assert found.is_remote
    again = OrbwebReader.from_dict(found.to_dict())
    assert again == found


def test_a_site_without_a_page_is_an_error(tmp_path: Path) -> None:
    with serve(StaticSite({})) as server, pytest.raises(orbweb.NoPage, match="1 failed, 0 skipped"):
        reader(tmp_path).load_data(server.url)


def test_bad_options_are_named_when_loading_starts(url: str, tmp_path: Path) -> None:
    found = OrbwebReader(workspace=str(tmp_path / "w"), options={"frob": "x"})
    with pytest.raises(orbweb.UsageError, match="frob"):
        found.load_data(url)


def test_the_examples_of_the_documentation_run(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_examples("integrations.md", url, "LlamaIndex") > 2
