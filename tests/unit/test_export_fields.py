"""Front matter, JSON lines and CSV hold whatever a page says of itself."""

from __future__ import annotations

import csv
import io
import json

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orbweb.export import csv as csv_export
from orbweb.export.fields import front_matter, json_line
from orbweb.model import Document, Heading
from orbweb.store.documents import Captured

TEXTS = st.text(st.characters(), max_size=30)


def captured(title: str = "", description: str = "", alternates: tuple[str, ...] = ()) -> Captured:
    document = Document(
        markdown="# x",
        text="x",
        title=title,
        description=description,
        language="en",
        author="",
        published="",
        headings=(Heading(1, "x"),),
        words=1,
        tokens=2,
        hidden=0,
        confidence=0.5,
        generator="",
        simhash=0,
    )
    url = "https://example.org/"
    others = tuple((each, each) for each in alternates)
    return Captured(
        url, url, 200, 0, b"\x01" * 32, b"\x02" * 32, 9, "text/html", url, 1_000_000, False, others, b"", document
    )


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
@example("---\n- a: b", "\x85\u2028\ufeff\x00\x9f\uffff 'a' \"b\" # c")
@example("null", "yes")
@example("😀\ud800", "a\ud83d\ude00")
def test_front_matter_is_yaml_that_says_the_same(title: str, description: str) -> None:
    text = front_matter(captured(title, description, ("https://example.org/b",)))
    head, end, rest = text.removeprefix("---\n").partition("\n---\n\n")
    assert (end, rest) == ("\n---\n\n", "")
    known = yaml.safe_load(head)
    assert (known.get("title", ""), known.get("description", "")) == (title, description)
    assert known["alternates"] == ["https://example.org/b"]
    assert known["captured_at"] == "1970-01-01T00:00:01.000+00:00"
    assert known["content_sha256"] == "01" * 32


@given(TEXTS)
@example("\u2028\u2029\x85\r\n\x00")
def test_a_record_is_one_line_of_json(text: str) -> None:
    line = json_line({"text": text}).decode()
    assert line.splitlines(keepends=True) == [line]
    known = json.loads(line)["text"]
    assert known == "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)


# S7.

PAYLOADS = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\u00a0=1",
    "\ufeff=1",
    "\u200b=1",
    "\x00=1",
    "\uff1d1",
    "\ttext",
    "\rtext",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_a_spreadsheet_would_compute_is_text(payload: str) -> None:
    assert csv_export.guarded(payload) == "'" + payload


@pytest.mark.parametrize("text", ["", "a=b", "'=1", "https://example.org/=x", "1", "200", "0.5", "a\t=1", "(-1)"])
def test_other_cells_stay(text: str) -> None:
    assert csv_export.guarded(text) == text


@given(st.lists(TEXTS.map(lambda text: text.replace("\x00", "")), min_size=1, max_size=4))
def test_rows_are_read_back(cells: list[str]) -> None:
    readable = [cell.encode("utf-8", "replace").decode() == cell for cell in cells]
    line = csv_export.row(cells).decode()
    (found,) = csv.reader(io.StringIO(line, newline=""))
    assert [cell for cell, same in zip(found, readable, strict=True) if same] == [
        cell for cell, same in zip(cells, readable, strict=True) if same
    ]
    assert line.endswith("\r\n")
