"""The loader for LangChain, with langchain-core."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore

import orbweb
from examples import run_examples
from orbweb.cli import demo
from orbweb.integrations.langchain import OrbwebLoader
from servers.site import StaticSite, serve

PAGES = 17


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with demo.serve() as found:
        yield found


def loader(url: str, tmp_path: Path, **options: str) -> OrbwebLoader:
    return OrbwebLoader(url, workspace=tmp_path / "w", rate="max", **options)  # type: ignore[arg-type]


def test_pages_are_documents(url: str, tmp_path: Path) -> None:
    first, *others = loader(url, tmp_path).load()
    assert isinstance(first, Document)
    assert first.page_content.startswith("# Larder")
    assert set(first.metadata) == {"source", "title", "description", "language"}
    assert (first.metadata["source"], first.metadata["title"], first.id) == (url, "Larder", url)
    assert len(others) == PAGES - 1
    assert isinstance(loader(url, tmp_path), BaseLoader)


def test_pages_are_loaded_as_they_are_consumed(url: str, tmp_path: Path) -> None:
    documents = loader(url, tmp_path, project="site").lazy_load()
    assert next(iter(documents)).metadata["source"] == url
    documents.close()  # type: ignore[attr-defined]
    assert not orbweb.open(tmp_path / "w").status("site").running


def test_loading_in_an_event_loop(url: str, tmp_path: Path) -> None:
    async def load() -> list[Document]:
        return [document async for document in loader(url, tmp_path).alazy_load()]

    assert len(asyncio.run(load())) == PAGES
    assert len(asyncio.run(loader(url, tmp_path / "other").aload())) == PAGES


def test_a_load_that_was_left_continues_at_its_cursor(url: str, tmp_path: Path) -> None:
    seen = []
    for document in loader(url, tmp_path, cursor="rag").lazy_load():
        seen.append(document.id)
        if len(seen) == 5:
            break
    seen = seen[:4]
    seen += [document.id for document in loader(url, tmp_path, cursor="rag").lazy_load()]
    assert len(seen) == len(set(seen)) == PAGES


def test_an_index_finds_nothing_new_after_a_second_crawl(url: str, tmp_path: Path) -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    records = InMemoryRecordManager(namespace="larder")
    records.create_schema()
    counts = [
        index(
            loader(url, tmp_path),
            records,
            store,
            cleanup="full",
            source_id_key="source",
            key_encoder="sha256",
        )
        for _ in range(2)
    ]
    assert (counts[0]["num_added"], counts[1]["num_added"], counts[1]["num_deleted"]) == (PAGES, 0, 0)
    assert counts[1]["num_skipped"] == PAGES


def test_a_site_without_a_page_is_an_error(tmp_path: Path) -> None:
    with serve(StaticSite({})) as server:
        with pytest.raises(orbweb.NoPage, match=r"1 failed, 0 skipped; see `failed\('site'\)`"):
            loader(server.url, tmp_path, project="site").load()
        with pytest.raises(orbweb.NoPage):
            asyncio.run(loader(server.url, tmp_path / "other").aload())


def test_bad_options_are_named_when_loading_starts(url: str, tmp_path: Path) -> None:
    with pytest.raises(orbweb.UsageError, match="frob"):
        loader(url, tmp_path, frob="x").load()


@pytest.mark.parametrize(
    ("module", "package"), [("langchain", "langchain-core"), ("llamaindex", "llama-index-core")]
)
def test_a_missing_package_is_named_with_its_extra(module: str, package: str) -> None:
    hidden = "import sys; sys.modules.update({'langchain_core': None, 'llama_index': None});"
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden} import orbweb.integrations.{module}"], capture_output=True, text=True
    )
    said = f"ImportError: orbweb.integrations.{module} needs {package}: pip install 'orbweb[{module}]'"
    assert done.stderr.splitlines()[-1] == said


def test_frameworks_are_not_loaded_with_orbweb() -> None:
    loaded = "import orbweb, sys; orbweb.crawl_iter, orbweb.extract; print('langchain_core' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True) == "False\n"


def test_the_examples_of_the_documentation_run(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_examples("integrations.md", url, "LangChain") > 2
