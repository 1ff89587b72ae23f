"""Documents: what is shown of pages, and reading them again with a newer extractor."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import orbweb
from harness import Cli
from orbweb import extraction
from orbweb.app.directory import OpenWorkspace
from orbweb.app.doctor import check_store
from orbweb.cli import output
from orbweb.store import documents, runs
from orbweb.store.bodies import new_compressor
from servers.pages import framed, page
from servers.site import Answer, StaticSite, html, serve

WORDS = " ".join(f"word{number}" for number in range(200))
ANSWERS = {
    "/": framed("start", "top", "/a", "/b", "/near", "/far", "/empty", "/gone", "/file", "/control", "/skip/me"),
    "/a": framed("twice", "one"),
    "/b": framed("twice", "two"),
    "/near": html(f"<title>near</title><main><h1>Near</h1><p>{WORDS}</p></main>"),
    "/far": html(f"<title>far</title><main><h1>Near</h1><p>{WORDS} and this is the end of it</p></main>"),
    "/empty": html("<title>empty</title><main></main>"),
    "/file": Answer(200, (("Content-Type", "text/plain"),), b"no page"),
    "/control": html("<title>control</title><main><pre>a\tb\x1b[31mred</pre></main>"),
}


@dataclass(frozen=True)
class Site:
    """A workspace that was crawled, and where."""

    path: Path
    url: str

    @property
    def cli(self) -> Cli:
        return Cli(self.path)

    def copy(self, path: Path) -> Site:
        return Site(Path(shutil.copytree(self.path, path)), self.url)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    path = tmp_path_factory.mktemp("documents") / "workspace"
    with serve(StaticSite(ANSWERS)) as server:
        done = orbweb.crawl(
            server.url, workspace=path, project="site", rate="max", exclude=["/skip/"], processes=0
        )
    assert (done.pages, done.alternates, done.failed) == (6, 1, 1)
    assert done.bases == (orbweb.BaseResult(server.url, server.url, 6, 1, None, None, None),)
    return Site(path, server.url)


def outdated(site: Site) -> None:
    """Every document as an extractor of version 0 left it."""
    old = [
        (each.document_sha256, documents.pack(each.document, 0, b"", new_compressor()))
        for each in orbweb.open(site.path).documents("site")
    ]
    with closing(OpenWorkspace(site.path)) as workspace, workspace.db.transaction():
        workspace.db.many("add_document", [packed for _, packed in old])
    with sqlite3.connect(site.path / "orbweb.db") as db:
        for sha256, packed in old:
            db.execute("UPDATE pages SET document = ? WHERE document = ?", [packed.sha256, sha256])
        db.execute("DELETE FROM documents WHERE extractor <> 0")
    db.close()


def extractors(site: Site) -> list[int | None]:
    return [row.extractor for row in orbweb.open(site.path).pages("site")]


# Showing.


def test_a_page_is_shown_as_markdown_text_html_and_meta(site: Site) -> None:
    markdown = site.cli("show", "site", f"{site.url}a", "--as", "markdown").ok().out
    assert markdown.startswith("# twice\n")
    assert "footer" not in markdown
    assert site.cli("show", "site", f"{site.url}a", "--as", "text").ok().out.startswith("twice\n")
    assert "<footer>" in site.cli("show", "site", f"{site.url}a", "--as", "html").ok().out
    meta = site.cli("show", "site", f"{site.url}near", "--json").ok().json
    document = meta["document"]
    assert (document["title"], document["words"], document["extractor"]) == ("near", 201, extraction.VERSION)
    assert document["headings"] == [{"level": 1, "text": "Near"}]
    assert {
        "description",
        "language",
        "author",
        "published",
        "tokens",
        "confidence",
        "hidden",
        "generator",
    } <= set(document)
    assert "markdown" not in document
    assert "tokens:" in site.cli("show", "site", f"{site.url}near").ok().out


def test_an_alternate_shows_its_page_and_says_so(site: Site) -> None:
    shown = site.cli("show", "site", f"{site.url}b", "--as", "markdown").ok()
    assert shown.out.startswith("# twice\n")
    assert f"alternate of {site.url}a" in shown.err
    assert "menu" not in shown.err
    assert "The footer of two" in site.cli("show", "site", f"{site.url}b", "--as", "html").ok().out


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("skip/me", "skipped (excluded): "),
        ("gone", "failed (http_4xx): HTTP 404"),
        ("file", "it returned HTTP 200, text/plain"),
        ("never", "is not known in this run"),
    ],
)
def test_a_url_without_a_page_says_why(site: Site, path: str, words: str) -> None:
    shown = site.cli("show", "site", f"{site.url}{path}", "--as", "markdown").ok(3)
    assert (shown.out, words in shown.err) == ("", True), shown.err


def test_a_pipe_gets_control_characters_as_they_are_and_a_terminal_none(site: Site) -> None:
    assert "b\x1b[31mred" in site.cli("show", "site", f"{site.url}control", "--as", "text").ok().out
    assert output.harmless("a\tb\x1b[31m\r\n\xe9\n") == "a\tb\ufffd[31m\n\xe9\n"


def test_json_goes_with_meta_only(site: Site) -> None:
    assert "--json goes with --as meta" in site.cli("show", "site", site.url, "--as", "text", "--json").ok(2).err


def test_pages_have_the_figures_of_their_documents(site: Site) -> None:
    pages = {row.url.removeprefix(site.url): row for row in orbweb.open(site.path).pages("site")}
    assert list(pages) == ["", "a", "near", "far", "empty", "control"]
    near = pages["near"]
    assert (near.title, near.words, near.extractor) == ("near", 201, extraction.VERSION)
    assert near.tokens
    assert near.tokens > 201
    assert near.confidence
    assert 0 <= near.confidence <= 1
    assert pages["a"].alternates == (f"{site.url}b",)
    assert "201 words" in site.cli("pages", "site").ok().out


def test_near_duplicates_are_grouped_and_pages_without_words_are_none(site: Site) -> None:
    (group,) = site.cli("pages", "site", "--near-duplicates", "--within", "8", "--json").ok().json
    assert [row["url"] for row in group] == [f"{site.url}near", f"{site.url}far"]
    assert orbweb.open(site.path).near_duplicates("site", within=0) == []


def test_the_library_gives_documents(site: Site) -> None:
    space = orbweb.open(site.path)
    document = space.document("site", f"{site.url}b")
    assert isinstance(document, orbweb.Document)
    assert document == next(each.document for each in space.documents("site") if each.url == f"{site.url}a")
    assert space.document("site", f"{site.url}gone") is None
    assert orbweb.extract("<main><h1>Hi</h1></main>", "https://h/").headings == ((1, "Hi"),)


# Reading again.


def test_pages_are_read_again_and_nothing_else_changes(site: Site, tmp_path: Path) -> None:
    old = site.copy(tmp_path / "workspace")
    space = orbweb.open(old.path)
    before = space.pages("site"), space.manifest_hash("site")
    outdated(old)
    assert extractors(old) == [0] * 6
    seen = []
    done = space.extract("site", processes=1, on_progress=seen.append)
    assert (done.pages, done.extracted, done.failed, done.left) == (6, 6, {}, 0)
    assert seen[-1].total == 6
    assert (space.pages("site"), space.manifest_hash("site")) == before
    assert check_store(old.path)["damages"] == []
    with sqlite3.connect(old.path / "orbweb.db") as db:
        assert db.execute("SELECT COUNT(*), MIN(extractor) FROM documents").fetchone() == (6, extraction.VERSION)
    db.close()
    assert space.extract("site").pages == 0
    assert space.extract("site", everything=True, processes=0).extracted == 6


def test_two_pages_that_now_have_the_same_text_stay_two(site: Site, tmp_path: Path) -> None:
    old = site.copy(tmp_path / "workspace")
    with sqlite3.connect(old.path / "orbweb.db") as db:
        db.execute("UPDATE pages SET document = (SELECT MIN(document) FROM pages)")
    db.close()
    pages = len(orbweb.open(old.path).pages("site"))
    assert orbweb.open(old.path).extract("site", everything=True).extracted == pages == 6
    assert check_store(old.path)["damages"] == []


@pytest.mark.parametrize(
    ("point", "left"), [("documents_written", [0] * 6), ("documents_committed", [extraction.VERSION] * 6)]
)
def test_killed_while_reading_again(site: Site, tmp_path: Path, point: str, left: list[int]) -> None:
    old = site.copy(tmp_path / "workspace")
    outdated(old)
    killed = old.cli("extract", "site", "--processes", 0, env={"ORBWEB_FAULT": point})
    assert killed.code == -signal.SIGKILL
    assert extractors(old) == left
    done = old.cli("extract", "site", "--json", "--no-progress").ok().json
    assert (done["extracted"], done["left"]) == (left.count(0), 0)
    assert extractors(old) == [extraction.VERSION] * 6
    assert check_store(old.path)["damages"] == []


def test_a_body_that_is_lost_is_named_and_its_document_stays(site: Site, tmp_path: Path) -> None:
    old = site.copy(tmp_path / "workspace")
    outdated(old)
    lost = orbweb.open(old.path).pages("site")[1]
    assert lost.body_sha256
    with sqlite3.connect(old.path / "orbweb.db") as db:
        db.execute("DELETE FROM bodies WHERE sha256 = ?", [bytes.fromhex(lost.body_sha256)])
    db.close()
    done = old.cli("extract", "site", "--json", "--no-progress").ok(3).json
    (failed,) = done["failed"]
    assert (failed["url"], lost.body_sha256 in failed["problem"]) == (lost.url, True)
    assert (done["extracted"], done["left"]) == (5, 0)
    assert extractors(old) == [extraction.VERSION, 0, *[extraction.VERSION] * 4]
    assert "# twice" in old.cli("show", "site", lost.url, "--as", "markdown").ok().out


def test_what_nobody_names_is_kept_while_another_project_is_crawled(site: Site, tmp_path: Path) -> None:
    """That crawl may be about to name it."""

    def kept() -> int:
        with closing(sqlite3.connect(old.path / "orbweb.db")) as db:
            return int(db.execute("SELECT COUNT(*) FROM documents").fetchone()[0])

    old = site.copy(tmp_path / "workspace")
    outdated(old)
    with closing(OpenWorkspace(old.path)) as workspace:
        runs.save_project(workspace.db, "other", {}, [site.url], 1)
        with workspace.own("other"):
            assert orbweb.open(old.path).extract("site").extracted == 6
        assert kept() == 12
    assert check_store(old.path)["damages"] == []
    assert orbweb.open(old.path).extract("site").extracted == 0
    assert kept() == 6


def test_a_running_crawl_keeps_the_project(site: Site, tmp_path: Path) -> None:
    old = site.copy(tmp_path / "workspace")
    with closing(OpenWorkspace(old.path)) as workspace, workspace.own("site"):
        old.cli("extract", "site").ok(5)


# One page.


def test_fetch_prints_one_page_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with serve(StaticSite({"/": page("one")})) as server:
        fetched = Cli(tmp_path / "none")("fetch", server.url, "--as", "markdown").ok()
        assert fetched.out.startswith("# one")
        missing = Cli(tmp_path / "none")("fetch", f"{server.url}no").ok(3)
        assert "HTTP 404" in missing.err
    assert not (tmp_path / "none").exists()
