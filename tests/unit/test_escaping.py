"""Cells and lines: whatever a server says, a record is one line, and a cell is a text."""

from __future__ import annotations

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from orbweb.export import escaping
from orbweb.export.live import line_format
from orbweb.export.live.metrics import COUNTERS, named
from orbweb.export.live.rows import COLUMNS, VisitSheet
from orbweb.store.journal import Count

SAID = st.text(max_size=30) | st.sampled_from(
    ["=1+1", "\t=x", "@a", "+1", "-1", "\r\n", '"', "\u2028", "\x00", "\ud800"]
)


def record(etag: str, title: str) -> VisitSheet:
    values = (
        "2026-01-01T00:00:00.000+00:00",
        "http://127.0.0.1/",
        "page",
        0,
        None,
        200,
        etag,
        None,
        None,
        0,
        None,
    )
    columns = tuple((value,) for value in (*values, etag, etag, 1, 0, None))
    return VisitSheet(1, columns, [escaping.unbroken(json.dumps({"title": title}, ensure_ascii=False))], [None])


@given(SAID, SAID)
def test_a_record_is_one_line_of_seventeen_cells(etag: str, title: str) -> None:
    data = line_format.pages(record(etag, title), raw=False)
    text = data.decode("utf-8")
    assert len(text.splitlines()) == 1
    (row,) = csv.reader(io.StringIO(text))
    assert len(row) == len(COLUMNS)
    assert not row[COLUMNS.index("etag")].lstrip().startswith(("=", "+", "-", "@"))
    assert json.loads(row[-1])["title"] == _encodable(title)


def _encodable(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)


@given(SAID, SAID)
def test_a_line_of_json_is_one_line(etag: str, title: str) -> None:
    text = line_format.metadata(record(etag, title)).decode("utf-8")
    assert len(text.splitlines()) == 1
    found = json.loads(text)
    assert list(found) == list(COLUMNS)
    assert found["metadata"]["status_code"] == 200


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=20)


@given(st.lists(st.lists(VALUES, min_size=1, max_size=4), max_size=4))
def test_a_table_is_what_a_writer_of_csv_makes(rows: list[list[str | int | None]]) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerows(rows)
    assert line_format.table(rows) == escaping.utf8(text.getvalue())


@given(VALUES)
def test_a_value_is_what_json_makes_of_it(value: str | int | None) -> None:
    assert escaping.json_value(value) == json.dumps(value, ensure_ascii=False)


@given(st.lists(st.text(max_size=2)))
def test_each_value_of_a_column_is_made_in_its_place(column: list[str]) -> None:
    assert list(escaping.each(str.upper, column)) == list(map(str.upper, column))


@given(st.lists(st.text(max_size=20), max_size=5), st.text(max_size=20))
def test_edges_read_back(targets: list[str], source: str) -> None:
    data = line_format.edges(
        [line_format.cell(source)], [len(targets)], [line_format.cell(target) for target in targets]
    )
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))
    assert [int(row[2]) for row in rows] == list(range(1, len(targets) + 1))
    assert [row[1] for row in rows] == [escaping.one_line(target) for target in targets]


def test_a_page_with_more_links_than_usual_has_all_positions() -> None:
    data = line_format.edges(['"a",'], [1500], ['"b",'] * 1500)
    assert data.splitlines()[-1] == b'"a","b",1500'


def test_each_kind_of_visit_moves_its_counters() -> None:
    values = named(
        [
            Count(200, None, "primary", None, True, 3, 300, 1),
            Count(200, None, "alternate", None, True, 1, 100, 0),
            Count(304, None, "primary", "not_modified", True, 2, 50, 0),
            Count(200, None, "primary", "cached", True, 1, 50, 0),
            Count(200, None, "-", None, False, 1, 0, 0),
            Count(301, None, "-", None, False, 1, 0, 0),
            Count(503, "http_5xx", "-", None, False, 1, 0, 2),
            Count(None, "timeout", "-", None, False, 1, 0, 4),
        ]
    )
    told = {name: value for name, value in values.items() if value}
    assert told == {
        "visits": 11,
        "pages_fetched": 9,
        "pages_saved": 4,
        "bytes_saved": 400,
        "alternates": 1,
        "status_2xx": 5,
        "status_3xx": 3,
        "status_5xx": 1,
        "not_modified_304": 2,
        "cached": 1,
        "not_html": 1,
        "retries_total": 7,
        "failed": 2,
        "failed_http_5xx": 1,
        "failed_timeout": 1,
    }
    assert set(values) == set(COUNTERS)
