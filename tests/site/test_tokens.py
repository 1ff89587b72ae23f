"""Tokens of a run and what counted them; an encoding that is not on the machine stops the crawl at once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import orbweb
from harness import Cli
from orbweb.extraction import tokens
from orbweb.store.sqlite.db import Database, load_queries
from servers.pages import page
from servers.site import StaticSite, serve


def test_a_run_has_the_tokens_of_its_pages_and_the_name_of_what_counted(tmp_path: Path) -> None:
    pages = {"/": page("start", "/a", "/copy"), "/a": page("a"), "/copy": page("a")}
    with serve(StaticSite(pages)) as server:
        result = orbweb.crawl([server.url], workspace=tmp_path / "w", project="site", rate="max")
    assert result.tokenizer == "estimate"
    opened = orbweb.open(tmp_path / "w")
    documents = [captured.document for captured in opened.documents("site")]
    status = opened.status("site")
    assert len(documents) == result.pages
    assert {document.tokenizer for document in documents} == {"estimate"}
    assert [document.tokens for document in documents] == [tokens.estimate(each.markdown) for each in documents]
    assert sum(document.tokens for document in documents) == result.tokens == status.tokens > 0


def test_tokens_are_summed_without_reading_the_documents(tmp_path: Path) -> None:
    database = Database(tmp_path / "orbweb.db")
    database.close()
    sql = load_queries("queries.sql")["run_tokens"].sql
    with closing(sqlite3.connect(database.path)) as connection:
        plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", (1,)))
    assert "documents USING COVERING INDEX documents_tokens" in plan


def test_a_run_without_pages_has_no_tokenizer(tmp_path: Path) -> None:
    with serve(StaticSite({})) as server:
        result = orbweb.crawl([server.url], workspace=tmp_path / "w", project="site", rate="max")
    assert (result.pages, result.tokens, result.tokenizer) == (0, 0, None)


def test_an_encoding_that_is_not_there_is_bad_use_and_nothing_is_asked_for(cli: Cli) -> None:
    with serve(StaticSite({"/": page("start")})) as server:
        done = cli.crawl(server.url, env={"ORBWEB_CONTENT__TOKENS": "o999k_base"})
        assert server.stats["requests"] == 0
    assert done.code == 2
    assert "content.tokens" in done.err
