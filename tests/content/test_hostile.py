"""Markup that is deep, wide or claims much: time and output stay in proportion to the page."""

from __future__ import annotations

import time

import pytest

from content.reading import page_of, rendered

SIZE = 20_000
PAGES = {
    "nested blocks": "<div>" * SIZE + "x",
    "nested formatting": "<b>" * 2_000 + "x",
    "nested lists": "<ul><li>x" * SIZE,
    "nested terms": "<dl><dt>x" * SIZE,
    "nested definitions": "<dl><dt>x<dd>y" * SIZE,
    "nested quotations": "<blockquote>x" * SIZE,
    "nested notes": "<div class=note>x" * SIZE,
    "nested summaries": "<details><summary>x" * SIZE,
    "nested tables": "<table><tr><td>x" * SIZE,
    "nested tables with heads": "<table><tr><td>x<td>y<tr><th>q<td>" * (SIZE // 4),
    "nested headings": "<h1><div>x" * SIZE,
    "nested code": "<pre>" * SIZE + "x",
    "lines in code": "<pre>" + "<div>x" * SIZE,
    "links": "<a href=x>y</a>" * SIZE,
    "links in a heading": "<h1>" + "<a href=#x>y</a>" * SIZE,
    "links in code": "<code>" + "<a href=x>y</a>" * SIZE,
    "links far down": "<div>" * SIZE + "<a href=x>y</a>" * SIZE,
    "buttons far down": "<div>" * SIZE + "<button>x</button>" * SIZE,
    "line breaks": "<br>" * SIZE,
    "one line": "x y " * (50 * SIZE),
    "one word": "x" * (50 * SIZE),
    "signs": "*_`[<&\\" * SIZE,
    "cells": "<table><tr>" + "<td>x" * SIZE,
    "rows": "<table>" + "<tr><td>x<td>y" * SIZE,
    "spans": "<table>" + "<tr><td colspan=1000000000 rowspan=1000000000>x<td>y" * SIZE,
    "spans in one row": "<table><tr>" + "<td colspan=1000000000 rowspan=1000000000>x" * SIZE,
    "one wide row": "<table><tr>" + "<td>x" * 1_000 + "<tr><td>x" * SIZE,
    "listings in rows": "<table>" + "<tr><td><pre>x\ny</pre>" * SIZE,
    "rows that name files": "<table>" + "<tr><th>x" * SIZE + "<tr><td><pre>x\ny</pre>",
    "nested blanks that are kept": "<div style='white-space:pre'>x\ny" * SIZE,
    "formulas": "<math><mi>x</mi></math>" * SIZE,
    "nested formulas": "<math>" + "<msup><mi>x</mi>" * SIZE,
    "nested typesetting": "<span class=MathJax><math><mi>x</mi></math>" * SIZE,
    "nested roles": "<div role=table><div role=row><div role=cell>x" * SIZE,
    "classes": "".join(f"<i class=c{number}>x</i>" for number in range(SIZE)),
    "a long base": f"<base href='/{'x' * 3_000}/'>" + "<a href=y>z</a>" * SIZE,
}
SECONDS = 5.0
"""Far more than any takes; what grows with the square of the page takes minutes."""
GROWTH = 160
"""Links behind a long `<base>` are the worst; then quotations inside each other: each line has the marks of all
around it, up to a few dozen."""


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())
def test_hostile_pages_take_time_and_room_in_proportion(page: str) -> None:
    tree = page_of(page)
    start = time.process_time()
    found = rendered(tree)
    assert time.process_time() - start < SECONDS
    assert len(found.markdown) + len(found.text) < GROWTH * len(page)
