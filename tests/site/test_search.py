"""Finding pages by their words: the query, the ranks, the snippets, and an index that is never stale."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orbweb
from harness import Cli
from orbweb import extraction
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.errors import StoreError, UsageError
from orbweb.store import documents, reextraction
from orbweb.store.bodies import new_compressor
from orbweb.store.reextraction import OutdatedPages
from orbweb.store.sqlite.search import expression
from servers.site import StaticSite, html, serve

LINKS = "".join(f'<a href="/{name}">{name}</a> ' for name in ("pipes", "taps", "code", "cafe", "quotes", "blank"))
TEXTS = {
    "/": ("Start", f"<p>All about plumbing.</p>{LINKS}"),
    "/pipes": ("Pipes", "<p>A pipe carries water. Copper pipes last long, and a pipe may burst.</p>"),
    "/taps": ("Taps", f"<p>{'A tap closes a valve. ' * 40}Behind every tap is a pipe.</p>"),
    "/code": ("Code", "<p>Call os.path.join or snake_case_name() in C++; pass --dry-run to see.</p>"),
    "/cafe": (
        "Café",
        "<p>Ein Straßenkaffee für Élodie. 日本語 текст. これは全文検索の試験です。검색은 D言語.</p>",
    ),
    "/quotes": ("Quotes", '<p>He said "never mind" AND left NOT OR NEAR(x).</p>'),
    "/blank": ("Unlabelled", ""),
}


def site(texts: dict[str, tuple[str, str]]) -> StaticSite:
    return StaticSite(
        {path: html(f"<title>{title}</title><main>{text}</main>") for path, (title, text) in texts.items()}
    )


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run, never searched."""
    path = tmp_path_factory.mktemp("search") / "w"
    with serve(site(TEXTS)) as server:
        orbweb.crawl([server.url], workspace=path, project="site", rate="max", processes=0)
    return path


@pytest.fixture
def workspace(crawled: Path, tmp_path: Path) -> orbweb.Workspace:
    return orbweb.open(shutil.copytree(crawled, tmp_path / "w"))


@pytest.fixture(scope="module")
def searched(crawled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[orbweb.Workspace]:
    """A copy that only reads what is there."""
    return orbweb.open(shutil.copytree(crawled, tmp_path_factory.mktemp("searched") / "w"))


def names(found: list[orbweb.SearchHit]) -> list[str]:
    return [row.url.rpartition("/")[2] for row in found]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("pipe", ["pipes", "taps"]),
        ("PIPE water", ["pipes"]),
        ("pipes", ["pipes", ""]),
        ('"copper pipes"', ["pipes"]),
        ('"pipes copper"', []),
        ("pip*", ["pipes", "", "taps"]),
        ("pipe -tap", ["pipes"]),
        ('pipe -"a pipe may"', ["taps"]),
        ("join", ["code"]),
        ("os.path.join", ["code"]),
        ("path.os", []),
        ("snake_case_name", ["code"]),
        ("case", ["code"]),
        ("C++", ["code"]),
        ("--dry-run", ["code"]),
        ("-dry", ["code"]),
        ("cafe", ["cafe", ""]),
        ("elodie", ["cafe"]),
        ("\u0422\u0415\u041a\u0421\u0422", ["cafe"]),
        ("日本語", ["cafe"]),
        ("検索", ["cafe"]),
        ("全文検*", ["cafe"]),
        ("索検", []),
        ("검색", ["cafe"]),
        ("言語 D", ["cafe"]),
        ("unlabelled", ["blank"]),
        ("never AND mind", ["quotes"]),
        ("NEAR(x)", ["quotes"]),
        ('left "never', ["quotes"]),
        ('"', []),
        ("", []),
        ("*", []),
        ("( ^ : {title}", []),
        ("nothing-like-this", []),
    ],
)
def test_a_query_finds(searched: orbweb.Workspace, query: str, found: list[str]) -> None:
    assert names(searched.search("site", query)) == found


def test_a_result_has_what_was_found_and_where(searched: orbweb.Workspace) -> None:
    (best, second) = searched.search("site", "pipe")
    assert set(best.report()) == {"url", "title", "score", "snippet", "marks"}
    assert best.title == "Pipes"
    assert best.score > second.score > 0
    assert {second.snippet[first:last] for first, last in second.marks} == {"pipe"}
    assert second.snippet.startswith("…")
    assert "\n" not in second.snippet
    (inside,) = searched.search("site", "検索")
    assert "これは全文検索の" in inside.snippet
    assert [inside.snippet[first:last] for first, last in inside.marks] == ["検索"]
    (title_only,) = searched.search("site", "unlabelled")
    assert (title_only.snippet, title_only.marks) == ("", ())


def test_limit_and_bad_use(searched: orbweb.Workspace) -> None:
    assert len(searched.search("site", "a", limit=1)) == 1
    with pytest.raises(UsageError, match="limit"):
        searched.search("site", "a", limit=0)
    with pytest.raises(UsageError, match="run"):
        searched.search("site", "a", run=7)


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet=st.sampled_from('ab "*-+^():{}.,\x00\ud800éAND OR NOT NEAR'), max_size=30)
    | st.text(max_size=30)
)
def test_no_query_is_an_error(query: str) -> None:
    asked = expression(query)
    if asked is not None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5 (title, text)")
            connection.execute("SELECT * FROM words WHERE words MATCH ?", (asked,)).fetchall()


def test_only_what_is_new_is_indexed(workspace: orbweb.Workspace) -> None:
    told: list[tuple[int, int]] = []

    def search(query: str) -> list[str]:
        return names(workspace.search("site", query, on_progress=lambda done, total: told.append((done, total))))

    assert search("valve") == ["taps"]
    assert told == [(7, 7)]
    assert search("valve") == ["taps"]
    assert len(told) == 1


def rewrite(workspace: Path, old: str, new: str) -> None:
    """Another extraction of the page that says `old`."""
    (page,) = (page for page in orbweb.open(workspace).documents("site") if old in page.document.text)
    with closing(OpenWorkspace(workspace)) as opened:
        document = replace(page.document, text=page.document.text.replace(old, new))
        packed = documents.pack(document, extraction.VERSION + 1, b"", new_compressor())
        run = opened.run("site")
        pages = OutdatedPages(opened.db, run.id, extraction.VERSION, everything=True)
        (stored,) = (each for each in pages if each.document == page.document_sha256)
        reextraction.replace(opened.db, run.id, [(stored, packed)], now_us())


def test_a_page_that_was_extracted_anew_is_indexed_anew(workspace: orbweb.Workspace) -> None:
    assert names(workspace.search("site", "valve")) == ["taps"]
    rewrite(workspace.path, "valve", "gate")
    assert names(workspace.search("site", "valve")) == []
    assert names(workspace.search("site", "gate")) == ["taps"]
    assert names(workspace.search("site", "copper")) == ["pipes"]


def test_runs_are_searched_apart(workspace: orbweb.Workspace) -> None:
    assert names(workspace.search("site", "copper")) == ["pipes"]
    with serve(site({"/": ("New", "<p>Only a faucet.</p>")})) as server:
        workspace.crawl([server.url], project="site", rate="max", new_run=True, processes=0)
    assert workspace.search("site", "copper") == []
    assert len(workspace.search("site", "faucet")) == 1
    assert names(workspace.search("site", "copper", run=1)) == ["pipes"]


@pytest.mark.parametrize("damage", ["garbage", "cut", "emptied", "other version", "no table", "no format"])
def test_a_damaged_index_is_made_again(workspace: orbweb.Workspace, damage: str) -> None:
    assert names(workspace.search("site", "copper")) == ["pipes"]
    index = workspace.path / "search.db"
    if damage == "garbage":
        index.write_bytes(os.urandom(len(index.read_bytes())))
    elif damage == "cut":
        index.write_bytes(index.read_bytes()[:5000])
    elif damage == "emptied":
        index.write_bytes(b"")
    else:
        change = {
            "other version": "PRAGMA user_version = 99",
            "no table": "DROP TABLE words_1",
            "no format": "DELETE FROM words_1_config",
        }[damage]
        with closing(sqlite3.connect(index)) as connection, connection:
            connection.execute(change)
    assert names(workspace.search("site", "copper")) == ["pipes"]
    index.unlink()
    assert names(workspace.search("site", "copper")) == ["pipes"]


def test_the_index_is_private_and_does_not_keep_the_text(workspace: orbweb.Workspace) -> None:
    workspace.search("site", "copper")
    index = workspace.path / "search.db"
    assert index.stat().st_mode & 0o777 == 0o600
    assert b"Copper pipes last" not in index.read_bytes()


def test_searches_at_once_give_the_same(workspace: orbweb.Workspace) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: workspace.search("site", "pipe"), range(8)))
    assert all(each == found[0] for each in found)
    with closing(sqlite3.connect(workspace.path / "search.db")) as connection:
        assert connection.execute("SELECT COUNT(*), COUNT(DISTINCT document) FROM entries").fetchone() == (7, 7)


def test_an_index_that_cannot_be_written_is_named(workspace: orbweb.Workspace) -> None:
    (workspace.path / "search.db").mkdir()
    with pytest.raises(StoreError, match=r"search\.db: is a directory, not a file"):
        workspace.search("site", "copper")


def test_the_command(workspace: orbweb.Workspace) -> None:
    cli = Cli(workspace.path)
    text = cli("search", "site", "copper", "pipes").ok(0).out
    assert "**Copper** **pipes**" in text
    assert text.startswith("Pipes\n  http://")
    assert cli("search", "site", "tap", "--json", "--limit", "1").ok(0).json == [
        workspace.search("site", "tap")[0].report()
    ]
    nothing = cli("search", "site", "nothing-like-this", "--json")
    assert (nothing.code, nothing.json) == (3, [])
