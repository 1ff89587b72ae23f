"""Markup that is deep, wide or claims much: time and output stay in proportion to the page."""

from __future__ import annotations

import pytest

from effort import TIMES, assert_linear
from extraction.reading import page_of, rendered

SIZE = 20_000
PAGES = {
    "nested blocks": lambda size: "<div>" * size + "x",
    "nested formatting": lambda size: "<b>" * 2_000 + "x",
    "nested lists": lambda size: "<ul><li>x" * size,
    "nested terms": lambda size: "<dl><dt>x" * size,
    "nested definitions": lambda size: "<dl><dt>x<dd>y" * size,
    "nested quotations": lambda size: "<blockquote>x" * size,
    "nested notes": lambda size: "<div class=note>x" * size,
    "nested summaries": lambda size: "<details><summary>x" * size,
    "nested tables": lambda size: "<table><tr><td>x" * size,
    "nested tables with heads": lambda size: "<table><tr><td>x<td>y<tr><th>q<td>" * (size // 4),
    "nested headings": lambda size: "<h1><div>x" * size,
    "nested code": lambda size: "<pre>" * size + "x",
    "lines in code": lambda size: "<pre>" + "<div>x" * size,
    "links": lambda size: "<a href=x>y</a>" * size,
    "links in a heading": lambda size: "<h1>" + "<a href=#x>y</a>" * size,
    "links in code": lambda size: "<code>" + "<a href=x>y</a>" * size,
    "links far down": lambda size: "<div>" * size + "<a href=x>y</a>" * size,
    "buttons far down": lambda size: "<div>" * size + "<button>x</button>" * size,
    "line breaks": lambda size: "<br>" * size,
    "one line": lambda size: "x y " * (50 * size),
    "one word": lambda size: "x" * (50 * size),
    "signs": lambda size: "*_`[<&\\" * size,
    "cells": lambda size: "<table><tr>" + "<td>x" * size,
    "rows": lambda size: "<table>" + "<tr><td>x<td>y" * size,
    "spans": lambda size: "<table>" + "<tr><td colspan=1000000000 rowspan=1000000000>x<td>y" * size,
    "spans in one row": lambda size: "<table><tr>" + "<td colspan=1000000000 rowspan=1000000000>x" * size,
    "one wide row": lambda size: "<table><tr>" + "<td>x" * 1_000 + "<tr><td>x" * size,
    "listings in rows": lambda size: "<table>" + "<tr><td><pre>x\ny</pre>" * size,
    "rows that name files": lambda size: "<table>" + "<tr><th>x" * size + "<tr><td><pre>x\ny</pre>",
    "nested blanks that are kept": lambda size: "<div style='white-space:pre'>x\ny" * size,
    "formulas": lambda size: "<math><mi>x</mi></math>" * size,
    "nested formulas": lambda size: "<math>" + "<msup><mi>x</mi>" * size,
    "nested typesetting": lambda size: "<span class=MathJax><math><mi>x</mi></math>" * size,
    "nested roles": lambda size: "<div role=table><div role=row><div role=cell>x" * size,
    "classes": lambda size: "".join(f"<i class=c{number}>x</i>" for number in range(size)),
    "a long base": lambda size: f"<base href='/{'x' * 3_000}/'>" + "<a href=y>z</a>" * size,
}
GROWTH = 160
"""Links behind a long `<base>` are the worst; then quotations inside each other: each line has the marks of all
around it, up to a few dozen."""


@pytest.mark.alone
@pytest.mark.parametrize("kind", PAGES)
def test_hostile_pages_take_time_and_room_in_proportion(kind: str) -> None:
    page = PAGES[kind](SIZE)
    tree = page_of(page)
    assert_linear(rendered, page_of(PAGES[kind](SIZE // TIMES)), tree)
    found = rendered(tree)
    assert len(found.markdown) + len(found.text) < GROWTH * len(page)
