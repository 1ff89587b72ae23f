"""The queries behind long lists: each row and each part is found by a key, and nothing is sorted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from orbweb.store.sqlite.db import Database, load_queries

BY_KEY = (
    *(
        "run_mark",
        "visit_number_of",
        "page_at",
        "page_row_at",
        "failure_at",
        "skipped_at",
        "queued_at",
        "queue_from",
    ),
    *(
        "last_lane",
        "pages_from",
        "visits_after",
        "head_of_lane",
        "tallies_of",
        "bases_of",
        "crawls_of",
        "url_by_key",
    ),
    *("explained_url", "captures_of", "failed_in", "document_of", "documents_after"),
)
"""Read on each view of a page."""
ONE_PASS = (
    "page_columns",
    "failure_columns",
    "skipped_columns",
    "queue_columns",
    "count_alternates",
    "queued_keys",
)
"""Read once for a list that is kept: from where the last portion ended, in the order of a key."""


def plan(path: Path, name: str) -> list[str]:
    query = load_queries("queries.sql")[name]
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {query.sql}", [None] * len(query.params)).fetchall()
    return [row[3] for row in rows]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("plans") / "orbweb.db"
    Database(found).close()
    return found


@pytest.mark.parametrize("name", [*BY_KEY, *ONE_PASS])
def test_no_table_is_scanned_and_nothing_is_sorted(path: Path, name: str) -> None:
    sorts = {"queue_columns": ["USE TEMP B-TREE FOR ORDER BY"]}
    steps = plan(path, name)
    assert [step for step in steps if step.startswith("SCAN ") and "CONSTANT" not in step] == []
    assert [step for step in steps if "TEMP B-TREE" in step] in ([], sorts.get(name, []))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("page_columns", "SEARCH visits USING PRIMARY KEY (run_id=? AND number>?)"),
        ("failure_columns", "SEARCH visits USING PRIMARY KEY (run_id=? AND number>?)"),
        ("skipped_columns", "SEARCH urls USING PRIMARY KEY (run_id=? AND id>? AND id<?)"),
        ("documents_after", "SEARCH visits USING PRIMARY KEY (run_id=? AND number>?)"),
        ("queue_from", "SEARCH urls USING INDEX urls_in_order (run_id=? AND lane=? AND (depth,rank)>(?,?))"),
        ("last_lane", "SEARCH urls USING INDEX urls_in_order (run_id=?)"),
        ("page_at", "SEARCH visits USING PRIMARY KEY (run_id=? AND number=?)"),
        ("failure_at", "SEARCH visits USING PRIMARY KEY (run_id=? AND number=?)"),
        ("queued_at", "SEARCH urls USING PRIMARY KEY (run_id=? AND id=?)"),
    ],
)
def test_the_step_that_makes_a_list_fast(path: Path, name: str, step: str) -> None:
    assert step in plan(path, name)
